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
// Out come [Groups]: keys, with their noisy numbers of users and what else the [Params] ask for.
// NaN stands for what is unknown. An interval holds the true number with at least the given
// confidence, over the noise, for any one key fixed before the release.
//
// # Choosing
//
// [Rows] take events in any order and hold the users. If the data come user by user, a [Builder]
// needs less memory; a [Discovery] is for data that can be read twice. With a public list of keys
// ([NewListed], [NewListedRows]) the whole budget pays for counts.
//
// Do not use it for keys of a few users, which are not shown; for data that are not of users
// (package threshold); for a stream that does not fit into memory (misragries); or for values
// without keys (elliptical/column).
//
// # Guarantee
//
// Neighbours differ in one user with all keys and values, added or removed (Params.Relation):
// [budget.User](0, …). In Rows that is one person, or one row without a user; in a Builder, one
// call of [Builder.AddUser]. Releases about the same users compose as Gaussian noise does, or share
// ε and δ: Params.Releases. Not covered: timing, and anyone who reads the memory of the process.
//
// A user of l keys gives each the weight 1/√l, and a key is shown if the noisy sum reaches a
// threshold. The proof is in internal/rounding/quadratic_proof.md.
//
// # Accuracy
//
// [Params.Plan] says it before any data is seen. At ε = 1 and δ = 1e-6, with FullKeys = 36, the
// threshold is 26.3 users with one key each (21.7 with KeysOnly), 26.3·√l users with l keys each,
// and a count has a standard deviation of 26.2.
//
// Sources: Gopi et al. (ICML 2020) for weights 1/√l; Lebeda and Tětek (TODS 2025, Theorem 23,
// corrected) for the joint δ; Balle and Wang (ICML 2018) for σ; Kaplan, Schnapp, Stemmer (ICML
// 2022) for quantiles.
package groupby
