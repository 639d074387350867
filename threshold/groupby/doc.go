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
// Neighbours differ in one user with all keys and values, added or removed (or replaced:
// Params.Relation): [budget.User](0, …), which is stronger than a guarantee for users of at most m
// keys (Guarantee.For converts). In [Rows] a person is one user, and each row without a user is one
// more; in a [Builder] a person added in k calls of [Builder.AddUser] counts as k users.
//
// A user of l keys gives each of them the weight 1/√l; of more than MaxKeys keys, MaxKeys random
// ones count. Small total weights are rounded at random, normal noise is added, and a key is shown
// if the sum reaches T. All sums are of integers, and noise is drawn exactly. The proof of (ε, δ)
// is in internal/rounding/quadratic_proof.md.
//
// # Accuracy
//
// A key whose users have l keys each is shown with probability ½ at T·√l users (Plan.Threshold). A
// count has noise proportional to C (Plan.StdDev). It is unbiased, except that a user with more
// than C² = FullKeys keys counts √(C²/l) in each; intervals include what this may cost
// ([Groups.Shortfall]). At δ = 1e-6, with FullKeys = 36:
//
//	ε =         T with KeysOnly    T with counts    standard deviation of a count
//	1            21.7               26.3             26.2
//	2            11.9               14.4             13.8
//
// # Choosing
//
// [Rows] take events in any order and hold the users. If the data come user by user, a Builder of
// [New] needs less memory. Keys of a public list ([NewListed], [NewListedRows]) are all released,
// and the whole budget pays for their counts.
//
// With two passes (the default of Rows) a first pass finds keys with an eighth of the keys' budget.
// In the second users give their weight to their other keys. The more keys users have, the more
// keys this adds (internal/rounding/twopass_proof.md). Counts have 1.8 times the noise; clipping
// counts only the shown keys of a user. The users are held in memory for this, or [NewDiscovery]
// reads the data twice.
//
// Rows and two passes choose FullKeys from the users' numbers of keys (Plan.OneKeyStdDev).
//
// A user's value in a key is the sum of the user's values there or, with Params.Average, their
// average. Sums and means need Min and Max, or Params.Values, which learns a range within the same
// budget. Over 100,000 users of a shop, sums of the 10 (100) largest keys are then off by 3 % (19
// %) at ε = 1; by 5 (20) times as much with the exact 99.9 % quantile as Max. Values needs many
// users (Plan.Blind), and its intervals an assumption ([Groups.SumInterval]).
//
// Releases about the same users compose as Gaussian noise does: 30 of (1, 1e-9) are (4.87, 1e-6)
// together. With Params.Releases they share ε and δ: 30 under (1, 1e-6) have a quarter of the noise
// that 1/30 of the budget would give each.
//
// # Cost and what is not covered
//
// New takes 3 to 30 ms, once for each Params. A distinct key takes about 100
// bytes, or 190 if FullKeys is chosen in one pass; for pairs of a user and a key see [Rows]. Not
// covered: timing, and anyone who reads the memory of the process.
//
// Sources: Gopi et al., Differentially Private Set Union (ICML 2020), for weights 1/√l; Lebeda and
// Tětek (TODS 2025, Theorem 23, corrected) for the exact joint δ; Balle and Wang (ICML 2018) for σ;
// Kaplan, Schnapp, Stemmer (ICML 2022) for quantiles. The rest is this package's own.
package groupby
