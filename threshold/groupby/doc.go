// Package groupby is the private GROUP BY over keys that nobody lists: which keys do at least some
// tens of users have, how many users has each, and what are the sum, the mean and the percentiles
// of their values. A user may have one key or thousands, and no bound on that has to be guessed.
//
//	rows, err := groupby.NewRows[string, string](groupby.Params{Epsilon: 1, Delta: 1e-9})
//	// for each event, in any order: rows.Add(user, page)
//	groups, err := rows.Release()
//	for page, users := range groups.All() {
//		low, high := groups.Interval(page, 0.95)
//		fmt.Printf("%s: %.0f users, between %.0f and %.0f\n", page, users, low, high)
//	}
//
// # Which package
//
//	wanted                                                        take
//	users for each value of a column, keys not known beforehand   groupby
//	users for each key of a public list, such as countries        groupby, NewListed
//	… where each user has one key, ε·δ of one element             threshold, with less noise
//	a vector whose change by one user the caller has bounded      threshold
//	frequent keys of a stream that does not fit into memory       misragries
//	the number of different keys                                  kor/distinct
//	statistics of one column, without keys                        elliptical/column
//
// # Rows or users
//
// [Rows] take events in any order, from any machine, and keep who has which key. Where the data
// come user by user, a [Builder] of [New] keeps sums alone: all keys of a user go into one call of
// [Builder.AddUser], of one of the Builders that are merged.
//
// # Model and guarantee
//
// Neighbours differ in one user with all keys and values of that user, added or removed (or
// replaced: Params.Relation). The package bounds what one user changes, so the guarantee is for a
// user with any number of keys: (ε, δ) for [budget.User](0, …), which is stronger than one for at
// most MaxKeys of them (Guarantee.For converts). Somebody who comes in k calls of
// AddUser is a group of k users; in Rows he is one.
//
// A user of l keys gives each of them, or MaxKeys random ones, the weight 1/√l, so ‖·‖₂ ≤ 1. A
// total weight below R counts as R with probability (v/R)², else as nothing; then normal noise is
// added and a key is shown where T is reached. The square makes l new keys as likely to escape as
// one: T hardly grows with MaxKeys. A count is the noisy weight times (C+1)/2 and a rest of half
// the length that counts have, with noise of its own. (ε, δ) is proved in internal/rounding,
// quadratic_proof.md, jointly for the keys with their noisy weights and all that has Gaussian noise
// beside them: each takes its share of 1/σ², where (σ, δ) belong to a Gaussian mechanism of ε.
// Weights, rests and values are integers and noise is drawn exactly; no float touches a release.
//
// # Accuracy
//
// A key of users who have l keys each is shown with probability ½ at T·√l users (Plan.Threshold). A
// count has noise of about σ·C (Plan.StdDev), unbiased but for users with more than C² = FullKeys
// keys, who count √(C²/l): [Groups.Shortfall] says, privately, what that can have cost, and every
// interval includes it. δ = 1e-6:
//
//	ε =         T: KeysOnly    with counts, a third    noise of a count
//	0.1         175.7          215.1                   225
//	1            21.7           26.3                    26.2
//	2            11.9           14.4                    13.8
//	4             6.8            8.1                     7.4
//
// FullKeys is chosen from the data by [AutoFullKeys], the default of Rows without values: 36 has 36
// times the variance that users of one key need, and is short by thousands of users where they have
// hundreds of keys. It takes at most a quarter of what the counts have, mostly some per cent
// (fullkeys_proof.md), and an error within 1.3 times that of the best is typical.
//
// # Many releases
//
// Releases of the same users compose like their Gaussian noise, with each other and with whatever a
// [budget.Ledger] holds: 30 of (1, 1e-9) are (4.87, 1e-6) together. With Params.Releases n of them
// share ε and δ: a month of daily reports under (1, 1e-6) has a threshold of 131 (KeysOnly) and a
// deviation of 148, a quarter of what 1/30 of the budget each would have. What is asked may depend
// on what was shown, such as the cities of the countries that are; see the example of Params.
//
// # Two passes
//
// Most of a user's weight goes to keys that would be found with less. With Params.Passes = 2 a
// first pass finds those by an eighth of the keys' budget, and in the second one users give their
// weight to the others: more keys, the more keys users have, by the theorem in twopass_proof.md,
// which allows what users give in the second pass to depend on the first. Counts have 1.8 times the
// noise then, and are clipped by the number of shown keys. It needs the users in memory ([NewRows],
// where it is the default, and [New]) or the data twice ([NewDiscovery]).
//
// # Public keys
//
// Where the keys are a public list ([NewListed]) there is nothing to find: no weights, no threshold
// and no δ for them. Every listed key is released with its count, by the whole budget: a standard
// deviation of 4.4·C at ε = 1 and δ = 1e-6, or 1.5·C² without any δ, C² = FullKeys.
//
// # Cost
//
// New takes about 5 ms, for two passes or many Releases 20 ms, once for each Params. A distinct key
// takes some 100 bytes, with a chosen FullKeys of one pass 90 more; adding and releasing a new one
// takes about 0.1 µs with [Builder.Grow]. Rows take 11 bytes for each distinct pair of a user and
// a key, 20 with values, and less time than a Go map of the pairs. Merge adds tables. Release draws
// a normal number or two for each key that rounding leaves, and sorts those that are shown.
//
// # Not covered
//
// Timing, and whoever reads the memory of the process. AddUser is given all of a user in one call.
// A key is shown only if enough users have it: that one is absent says little.
//
// Sources: Gopi, Gulhane, Kulkarni, Shen, Shokouhi, Yekhanin, Differentially Private Set Union
// (ICML 2020), for weights 1/√l; Lebeda and Tětek (TODS 2025, Theorem 23, corrected) for the exact
// joint δ; Balle and Wang (ICML 2018) for σ; Kaplan, Schnapp, Stemmer (ICML 2022) for quantiles.
// Quadratic rounding, the adaptive second pass, counts from weights and rests, quantiles beside
// them (quantile_proof.md), and the intervals are this package's own.
package groupby
