package main

import (
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
)

// once sketches each shard, adds the states of the shards up with that of a shard without elements,
// and gives the one release of all.
//
// The budget pays for one release, and Beam knows two ways to more. Elements in windows, or with a
// trigger that fires early, lead to a result for each window or firing, and with accumulating panes
// count in several: so all go into the global window, with its one firing at the end of the input,
// before they are counted. And a runner may repeat steps, after a failure or because a worker is
// slow, which draws the noise again: of what crosses a shuffle it keeps one result, so the release
// crosses one before anybody sees it. What other attempts have drawn stays inside the pipeline like
// all the private data there, whatever fails in printing and writing.
func once(s beam.Scope, shard, nothing, total any, elements beam.PCollection) beam.PCollection {
	elements = beam.WindowInto(s, window.NewGlobalWindows(), elements, beam.PanesDiscard())
	shards := beam.DropKey(s, beam.CombinePerKey(s, shard, elements))
	all := beam.Flatten(s, shards, beam.ParDo(s, nothing, beam.Impulse(s)))
	return beam.Reshuffle(s, beam.Combine(s, total, all))
}
