// Package distinct counts distinct keys under pure ε-differential privacy: of one set in which keys
// come any number of times, and of the union and the overlap of sets whose holders show each other
// only their releases.
//
// It answers: how many different users, words, addresses were there; how many do two parties have
// together, in common, or one of them alone; how many keys were there up to each day, or in the
// last 1, 7 and 30. Keys are uint64; [AddKey] takes strings.
//
// # Which package
//
//	wanted                                                take
//	one count of distinct keys, with duplicates, any size kor/distinct, CountShare 1
//	the same over many servers of one owner               the same: Merge before Release
//	union, overlap of 2 to 12 parties that do not share   kor/distinct, CountShare 0.05
//	totals after every slot; windows of 1, 7, 30 days     its RunningBuilder, WindowBuilder
//	|A∆B| far below |A∪B|, two versions of a set          kor: its error is relative to |A∆B|
//	keys are removed again; weights in (0, 1]             kor
//	how often, not how many; values of keys               misragries, threshold
//
// # Model and guarantee
//
// The data are a set of keys; neighbours differ in one key with all its occurrences, added or
// removed, in all builders that are merged ([budget.Key]([budget.AddRemove])). Every key sets one
// bit of a table, and none clears one. So the number of ones T moves by at most 1 with a key, and T
// + Z with discrete Laplace noise Z of scale 1/ε₂ is ε₂-private; the table with every bit flipped
// with probability at least 1/(e^ε₁ + 1) is ε₁-private. A release is T + Z, and with CountShare < 1
// the flipped bits too: ε₁ + ε₂ ≤ ε together (params.go), for every choice of the hash functions.
// Noise is drawn exactly; no float touches a release. k releases of one table cost exactly kε.
//
// Running totals of any number of slots cost ε together, with whole histories: a key moves at most
// two of the increments, each by one, so each has noise of scale 2/ε (running.go). Windows cost ε
// each day: a key moves one cell from one class to another (classes_proof.md). Both compose as two
// releases of ε/2. A user with m keys has mε: bound m, or make the user the key.
//
// # Accuracy
//
// With n cells in each of L levels the relative standard error of a count is
//
//	√((ln² 2/n)·(1 + Var Z/n)) ≈ 0.693/√n    for sizes from 2n to 2^L·n/4,
//
// and √2/ε keys for small sets; [Plan.StdErr] has the number for all sizes. In percent at n =
// 2048, L = 22 (5.6 KB in memory; a release without bits is 70 bytes), ε = 1:
//
//	keys                        10    100   1000    10⁴    10⁵   10⁶ to 10⁹
//	CountShare 1              13.6   1.65    .95   1.21   1.50   1.53
//	CountShare 0.05            283   28.8   3.44   1.56   1.78   1.81
//	kor, a stream                –      –      –    5.5    5.5   5.5
//	kor, a set                   –      –   11.6    7.7    7.7   7.7
//	HyperLogLog, not private     –      –      –   1.20   1.20   1.20   (6 bits a register)
//
// Unions of k releases (with bits, CountShare 0.05; times √n): their price is exponential in k, so
// [Union] has an estimate only where its error is below 0.3. Merge before the release is exact.
//
//	ε =                        0.5      1      2      4
//	k = 2, Compare             7.8    2.1    .85    .61    the error of A∩B, A∖B and B∖A, in keys,
//	k = 12                       –     70    2.7    .83    is that of A∪B or less
//
// Over time only the noise grows: in the number of ones its standard deviation is 2√(2d)/ε after d
// slots, and 2.4, 2.8, 2.4 /ε for windows of 1, 7, 30 days, where a Sketch has √2/ε. At n = 2048, ε
// = 1 that is 1.62 % after 30 slots and 2.37 % after 365 in place of 1.53 %.
//
// Flipped bits alone are no match for a count: no law of levels has fewer than √(6.29·N − N) keys
// at ε = 1. 64 bytes (n = 64, L = 8) are off by 1.35, 1.5, 2.2, 6.1 users at 0, 10, 30, 100: enough
// for each of many groups, whose list is public or comes from package threshold.
//
// # Cost
//
// Add takes 2 ns a key, 1.1 in slices; Merge moves memory; an estimate takes 3 µs, an
// interval 30 µs, Compare 25 µs, Union of 12 releases 0.6 ms.
//
// # Not covered
//
// Timing, and whoever reads the memory of the process. Whoever knows the Seed can choose keys that
// spoil an estimate, though not the privacy of others. A Builder is for one goroutine.
//
// Sources: Flajolet and Martin (1985) for the table; Kreuter et al., Privacy-Preserving Secure
// Cardinality and Frequency Estimation (2020), for a noisy count of it; Hehir, Ting, Cormode,
// Sketch-Flip-Merge (ICML 2023, arXiv 2302.02056) for flipped tables. The estimators, the intervals
// and the joint release are this package's own.
package distinct
