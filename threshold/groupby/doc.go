// Package groupby is the private GROUP BY over keys that nobody lists: which keys have at least a
// few dozen users, how many users has each, and what are the sum, the mean and the percentiles of
// their values? A user may have one key or thousands, and no bound on that has to be guessed.
//
//	rows, err := groupby.NewRows[string, string](groupby.Params{Epsilon: 1, Delta: 1e-9})
//	// for each event, in any order: rows.Add(user, page)
//	groups, err := rows.Release()
//	for page, users := range groups.All() {
//		low, high := groups.Interval(page, 0.95)
//		fmt.Printf("%s: %.0f users, between %.0f and %.0f\n", page, users, low, high)
//	}
//
// # Guarantee
//
// Neighbours differ in one user, with all keys and values of that user, added or removed (or
// replaced: Params.Relation). The package bounds what one user changes, so (ε, δ) holds for a user
// with any number of keys: [budget.User](0, …). That is stronger than a guarantee for users of at
// most m keys (Guarantee.For converts). In [Rows] a person is one user, and each row without a
// user is one more. In a [Builder] each call of [Builder.AddUser] is one: k calls are k users.
//
// A user of l keys gives each of them the weight 1/√l, so ‖·‖₂ ≤ 1; of more than MaxKeys keys,
// MaxKeys random ones count. A total weight v below a constant R counts as R with probability
// (v/R)², else as 0. Then normal noise is added, and a key is shown if the sum reaches T. A count
// is the noisy weight times (C+1)/2, plus a remainder with noise of its own. The proof of (ε, δ),
// in internal/rounding/quadratic_proof.md, covers keys and everything with Gaussian noise jointly.
// Weights, remainders and values are integers and noise is drawn exactly: a release has no floats.
//
// # Accuracy
//
// A key whose users have l keys each is shown with probability ½ at T·√l users (Plan.Threshold). A
// count has noise proportional to C (Plan.StdDev). It is unbiased, except that a user with more
// than C² = FullKeys keys counts √(C²/l) in each of them. [Groups.Shortfall] bounds, privately,
// what a count loses by this, and every interval includes it. At δ = 1e-6, with FullKeys = 36:
//
//	ε =         T with KeysOnly    T with counts    standard deviation of a count
//	1            21.7               26.3             26.2
//	2            11.9               14.4             13.8
//
// # Choosing: rows or users, one pass or two, public keys
//
// [Rows] take events in any order and remember which user has which key. If the data come user by
// user, a Builder of [New] keeps only sums: pass all keys of a user in one call of AddUser.
//
// With Params.Passes = 2 a first pass finds keys with an eighth of the keys' budget. In the second
// pass users give their weight to their other keys. The more keys users have, the more keys this
// adds (internal/rounding/twopass_proof.md). Counts have 1.8 times the noise; clipping counts only
// the shown keys of a user. Rows (by default) and New keep the users in memory for this;
// [NewDiscovery] reads the data twice.
//
// Keys of a public list ([NewListed], [NewListedRows]) are all released. The whole budget pays for
// their counts: a standard deviation of 4.4·C at ε = 1 and δ = 1e-6, or of 1.5·C² with δ = 0.
//
// FullKeys is chosen from the users' numbers of keys by default in Rows and with two passes: users
// of one key each have a sixth of the noise of FullKeys 36, counts and sums alike.
//
// # Choosing: values, many releases
//
// Sums and means are of what each user has in a key: the sum of the values or, with Params.Average,
// their average. They need Min and Max, or Params.Values, which learns a scale for each key and one
// radius for all users within the same budget. Over 100,000 users of a shop, sums of the 10 (100)
// largest keys are then off by 3 % (19 %) at ε = 1; by 5 (20) times as much with the exact 99.9 %
// quantile as Max. Values needs many users (Plan.Blind). Intervals hold the true sums if values
// thin out like a tail of index Params.TailIndex, or are infinite: see [Groups.SumInterval].
//
// Releases about the same users compose as Gaussian noise does: 30 of (1, 1e-9) are (4.87, 1e-6)
// together. With Params.Releases = n, n releases share ε and δ: 30 under (1, 1e-6) have a quarter
// of the noise that 1/30 of the budget would give each. Later questions may depend on earlier
// answers: see the example.
//
// # Cost and what is not covered
//
// New takes 5 ms, or 20 ms with two passes, once for each Params. A distinct key takes about 100
// bytes, or 190 if FullKeys is chosen in one pass. Rows take 11 bytes per pair of user and key, 20
// with values (Values: 30). Not covered: timing, and anyone who reads the memory of the process.
//
// Sources: Gopi et al., Differentially Private Set Union (ICML 2020), for weights 1/√l; Lebeda and
// Tětek (TODS 2025, Theorem 23, corrected) for the exact joint δ; Balle and Wang (ICML 2018) for σ;
// Kaplan, Schnapp, Stemmer (ICML 2022) for quantiles. This package's own: quadratic rounding, the
// second pass, counts with remainders, quantiles (quantile_proof.md) and intervals.
package groupby
