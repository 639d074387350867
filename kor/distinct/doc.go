// Package distinct counts distinct keys under pure ε-differential privacy: how many users there
// were, how many came back, how often they came, and in which weeks.
//
//	b, err := distinct.New(distinct.Params{Epsilon: 1, Seed: hashing.NewSeed()}) // 1.5 %, 6 KB
//	if err != nil {
//		log.Fatal(err)
//	}
//	distinct.AddKey(b, "a user", "another user", "a user") // as often as they come
//	s, err := b.Release()
//	// …
//	fmt.Println(s.Estimate(), "±", s.StdErr())
//
// # Guarantee
//
// Neighbours differ in one key with all its occurrences, added or removed, in all merged builders
// ([budget.Key]); a user with m keys has mε. Every key sets one bit of a table. A release is the
// number of ones with discrete Laplace noise Z of scale 1/ε₂ and, with CountShare < 1, the bits,
// each flipped with probability at least 1/(e^ε₁ + 1): together ε₁ + ε₂ ≤ ε, for every choice of
// the hash functions. No float touches a release. k releases of one table cost kε.
//
// Pairs, cohorts, frequencies, windows, and all running totals together cost ε, composed as two
// releases of ε/2 (classes_proof.md). The clock is public: call Advance without looking at the
// data, on days without keys too.
//
// # Accuracy
//
// With n cells in each of L levels the relative standard error of a count is √((ln² 2/n)·(1 + Var
// Z/n)) ≈ 0.693/√n for sizes from 2n to 2^L·n/4, and √2/ε keys for small sets. If the noise, of
// standard deviation √2/(CountShare·ε), is at most n/5, the bias is at most 0.07 standard errors
// up to 2^L·n/4; if it is as large as n, rely on the interval, whose coverage at .95 is .94 to
// .994. In percent at n = 2048, L = 22, ε = 1, with 70 bytes per release:
//
//	keys              10    100   1000    10⁴    10⁵   10⁶ to 10⁹
//	CountShare 1    13.6   1.65    .95   1.21   1.50   1.53
//	CountShare .05   283   28.8   3.44   1.56   1.78   1.81
//
// ReleasePair of two days of 20,000 users has a standard error of 230 on the 10,000 of both. At ε =
// 1, 2, 4, Compare has the error 2.1, .85, .61 divided by √n, relative to the union; Union of 12
// releases has 89, 3, .86 at CountShare .05: with many parties merge, or agree on ε ≥ 2.
//
// Intervals are about the numbers of keys in the data, over hash functions and noise. Zero
// releases, and intervals for a confidence outside [0, 1), are NaN.
//
// # Choosing
//
// One owner of all data, on any number of servers, calls Merge before the release.
//
//	distinct users                                    New
//	who came back, who is new: two days, two weeks    ReleasePair
//	new on each day, back on or after a later one     NewCohortBuilder
//	how many came once, twice, …                      NewFrequencyBuilder
//	the total after every slot                        NewRunningBuilder
//	the last 1, 7, 30 days, every day                 NewWindowBuilder
//	users of each of many public groups               New, Cells 64, Levels 8: 64 bytes
//	how many of each key, sums of values              not here: groupby, misragries
//
// Several owners, 2 to 12, show each other only releases:
//
//	union, overlap                                    New, CountShare .05; Compare, Union
//	|A∆B| far below |A∪B|; removed keys; weights      not here: kor
//
// # Use
//
// Builders hold private data, which they never print. Each is for one goroutine at a time; a call
// panics if it sees another. A released one, except a WindowBuilder, has given up its data and
// takes none; a zero one promises nothing. After an error nothing has changed. Releases are public,
// immutable, safe for concurrent readers; computing on them costs no budget. JSON shows the
// guarantee and intervals at .95; only its member data, the encoding, is read.
//
// Private state is for machines as trusted as this one, and every release of it spends ε again. Of
// a RunningBuilder or a WindowBuilder only one copy may go on: write its state after each Step or
// Release, in one atomic record with what that returned, before you publish that.
//
// Not covered: timing, readers of the process's memory, and keys chosen by anyone who knows the
// Seed, which spoil an estimate, not the privacy of others.
//
// Sources: Flajolet and Martin (1985), the table; Kreuter et al. (2020), its noisy count; Hehir,
// Ting, Cormode (ICML 2023, arXiv 2302.02056), flipped tables. The rest is this package's own.
package distinct
