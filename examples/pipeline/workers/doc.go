// Package workers runs a Beam pipeline on this machine in several processes.
//
// Beam's local runner, Prism, gives all bundles to one worker, and fails the pipeline if that one
// dies. [Execute] stands between: to Prism it is the one worker, and it starts as many processes of
// the running program as it is told. A bundle is cut into a piece for each process, between
// elements; what a piece puts out counts when it is finished, and only then; a piece whose process
// died is given to another one, from its beginning. That is what a runner on a cluster does.
//
// The program calls flag.Parse and beam.Init before anything else, as all Beam programs do: with
// the flags of a worker, beam.Init does not return. Steps with user state, timers, side inputs or
// bundle finalization are not supported, and fail.
package workers
