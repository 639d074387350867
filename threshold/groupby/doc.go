// Package groupby is the private GROUP BY over keys that nobody lists: which keys have at least a
// few dozen users, how many does each have, and what are the sum, the mean and the percentiles of
// their values. A user may have one key or thousands, and no bound on that has to be guessed.
//
//	rows, err := groupby.NewRows[string, string](groupby.Params{Epsilon: 1, Delta: 1e-9})
//	// for each event, in any order: rows.Add(user, page)
//	groups, err := rows.Release()
//	for page, users := range groups.All() {
//		low, high := groups.Interval(page, 0.95)
//		fmt.Printf("%s: %.0f users, between %.0f and %.0f\n", page, users, low, high)
//	}
//
// # Rows or users
//
// [Rows] take events in any order and keep who has which key. Where the data come user by user, a
// [Builder] of [New] keeps sums alone: all keys of a user go into one call of [Builder.AddUser].
//
// # Model and guarantee
//
// Neighbours differ in one user with all keys and values of that user, added or removed (or
// replaced: Params.Relation). The package bounds what one user changes, so the guarantee is for a
// user with any number of keys: (ε, δ) for [budget.User](0, …), which is stronger than one for at
// most MaxKeys of them (Guarantee.For converts). A person added in k calls of AddUser counts as k
// users; in Rows, as one.
//
// A user of l keys gives each of them, or MaxKeys random ones, the weight 1/√l, so ‖·‖₂ ≤ 1. A
// total weight v below a constant R counts as R with probability (v/R)², else as nothing; then
// normal noise is added and a key is shown where T is reached. A count is the noisy weight times
// (C+1)/2 and a rest with noise of its own. (ε, δ) is proved in internal/rounding,
// quadratic_proof.md, jointly for the keys and all that has Gaussian noise beside them. Weights,
// rests and values are integers and noise is drawn exactly; no float touches a release.
//
// # Accuracy
//
// A key of users who have l keys each is shown with probability ½ at T·√l users (Plan.Threshold). A
// count has noise of about σ·C (Plan.StdDev), and is unbiased, except that users with more
// than C² = FullKeys keys count √(C²/l): [Groups.Shortfall] says, privately, what that can have
// cost, and every interval includes it. δ = 1e-6:
//
//	ε =         T: KeysOnly    with counts, a third    noise of a count
//	1            21.7           26.3                    26.2
//	2            11.9           14.4                    13.8
//
// FullKeys is chosen from the data by [AutoFullKeys], the default of Rows without values.
//
// # Values
//
// Sums and means take Min and Max, or Params.Values: a scale for each key and one radius for all
// users are learned within the same budget. Of 100,000 users of a shop, sums of the 10 (100)
// largest keys are then off by 3 % (19 %) at ε = 1; by 5 (20) times as much with the exact 99.9 %
// quantile as Max, and ten times that with a Max ten times too large. It takes large data, and what
// clipping took of a key is not known: see Plan.Blind and [Groups.Lost].
//
// # Many releases
//
// Releases of the same users compose like their Gaussian noise: 30 of (1, 1e-9) are (4.87, 1e-6)
// together. With Params.Releases n of them share ε and δ: 30 under (1, 1e-6) have a quarter of the
// noise of 1/30 of the budget each. What is asked may depend on what was shown: see the example.
//
// # Two passes, public keys
//
// With Params.Passes = 2 a first pass finds keys by an eighth of the keys' budget, and in the
// second users give their weight to the others: more keys, the more users have (twopass_proof.md).
// Counts have 1.8 times the noise, and are clipped by the number of shown keys. It needs the users
// in memory ([NewRows], where it is the default, and [New]) or the data twice ([NewDiscovery]).
//
// Keys of a public list ([NewListed]) are all released, by the whole budget: a standard deviation
// of 4.4·C at ε = 1 and δ = 1e-6, or 1.5·C² without any δ, C² = FullKeys.
//
// # Cost and what is not covered
//
// New takes 5 ms, with two passes 20 ms, once for each Params; a distinct key some 100 bytes, with
// FullKeys chosen in one pass 190. Rows take 11 bytes for each pair of a user and a key, 20 with
// values (Values: 30). Not covered: timing, and anyone who reads the memory of the process.
//
// Sources: Gopi et al., Differentially Private Set Union (ICML 2020), for weights 1/√l; Lebeda and
// Tětek (TODS 2025, Theorem 23, corrected) for the exact joint δ; Balle and Wang (ICML 2018) for σ;
// Kaplan, Schnapp, Stemmer (ICML 2022) for quantiles. Quadratic rounding, the second pass, counts
// from rests, quantiles beside them (quantile_proof.md) and intervals are this package's own.
package groupby
