// Package dptest is the test kit of the library. Only test files import it; a test in
// internal/audit/layering enforces that.
//
// A statistical check is a pair. The pure function returns a p-value or a bound, so that a test can
// assert that a wrong sampler is caught. The wrapper takes a [testing.TB] and falseReject, the
// probability that the assertion fails though the claim is true; the sum of a package's is kept
// below a budget ([Alarm]). A p-value that is NaN says that the check was not possible (bad
// arguments, too little data), and a wrapper fails on it: a check that cannot fail is worse than
// none.
//
//	is the sampler's law the claimed one?    [ChiSquare] (masses), [KS] (continuous), [Moments],
//	                                         [Tail]
//	do two inputs give one law?              [Homogeneity]
//	is a mechanism (ε, δ)-private?           [ApproxDP], exact, from masses; [Audit], from samples
//	does it refuse Params out of range?      [Params]
//	does a Builder keep what all promise?    [Builder]
//	… and its private state?                 [Restores]
//	does a private object print its data?    [Redacted]
//	does a decoder stand hostile bytes?      [Codec]
//	… and the bytes of a fuzz test?          [Decoded], with [Seeds]
//	… and a number at the edge of its type?  [Edges]
//	does it refuse what no release gives?    [Spoiled]
//	does it accept what a release gives?     [RoundTrip]
//	has the format of the bytes changed?     [GoldenDumps], [Golden] (any text), [Stored]
//	may many goroutines read an object?      [Readers]
//	how likely is a false alarm in all?      [Alarm], [Control], [FalseAlarms]
//	what does a call return, no error?       [OK], [Err], [Refused]
//	what is repeated at full size?           [Long], [NeedsLong], [NotShort], [Full], [Deep]
package dptest
