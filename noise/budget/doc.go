// Package budget says what a release costs and whom it protects, adds costs up, and keeps a budget.
//
//	user := budget.User(0, budget.AddRemove)         // one user, with any number of keys
//	ledger, err := budget.NewLedger(10, 1e-6, user)  // all releases together: ε = 10 at δ = 1e-6
//	…
//	list, err := budget.Release(ledger, builder)     // spends first, then releases
//
// # Whom a guarantee protects
//
// A [Guarantee] is one or two numbers and a [Unit]. "ε = 1" says nothing by itself: for one element
// of a stream it hides one page view, for one user all views of a person. Units differ in who is
// added or removed, or replaced ([Relation]):
//
//	Element     one element of a stream, one event
//	User        one user with at most m keys or elements
//	Key         one key with all its occurrences
//	Row, Party  one row of a table, one party of many
//	L1, L2      vectors at a distance: a person who moves the vector by at most that
//
// Guarantees of different units do not add up: [Compose] and [Ledger.Spend] return [ErrMismatch].
// [Guarantee.For] converts where that is possible for all data, by the rules in the table there;
// [Guarantee.Group] is for several units at once; [Guarantee.Stable] is for callers who know how
// much one user can change: a count of distinct users has Stable(user, 1).
//
// # What is promised
//
// (ε, δ)-DP: for neighbouring inputs x, x′ and every set E of outputs, Pr[M(x) ∈ E] ≤ e^ε·Pr[M(x′)
// ∈ E] + δ. Pure DP is δ = 0. ρ-zCDP bounds the Rényi divergences by αρ (Bun and Steinke), μ-GDP is
// what Gaussian noise of σ = 1/μ gives (Dong, Roth, Su). All are kept as they are, and
// [Guarantee.EpsilonAt] and [Guarantee.DeltaAt] answer for the whole: many small releases cost far
// less than the sum of their ε. Daily releases of ε = 0.1, at δ = 1e-6:
//
//	releases                        30      365     3650
//	sum of ε                        3       36.5    365
//	zCDP, as ρ = ε·tanh(ε/2)        2.67    11.1    48.5
//	here: exact, rounded up         2.346   10.31   46.1
//
// Every rounding goes up, and every bound has its proof where it is computed, at δ down to 1e-300.
//
// # Dominating pairs
//
// Releases at the same (ε, δ) compose differently: Gaussian noise calibrated to (1, 1e-8) has ε =
// 7.12 after 50 days; where only (1, 1e-8) is known, 47.9. So each mechanism of this library passes
// on the law of its noise. It prints the ε and δ it was asked for, and a Ledger adds up the pair:
//
//	mechanism                                          pair
//	jl, elliptical with Laplace noise                  Laplace
//	jl of integers, threshold.Laplace, PureLaplace of  DiscreteLaplace of all steps neighbours
//	  integers or users, elliptical/column by ε          move together, and what escapes
//	jl, elliptical with normal noise                   Gaussian; ZCDP with the pair of GDP
//	threshold.Gaussian; groupby of listed keys         GDP beside what escapes; GDP
//	elliptical/column, a count by ρ                    DiscreteGaussian
//	kor/distinct with bits                             PureDP of the bits and of the count
//	groupby of keys that nobody listed                 their own, of package internal/loss
//	others: random rounding, shared noise, quantiles   PureDP, ApproxDP, ZCDP: no better is proved
//
// # Cost
//
// Spend takes some microseconds while plain sums decide, and a millisecond or a few where the
// accountant does; 40 ms after 1,000 releases at as many different ε.
//
// # Budgets for years
//
// [NewLedger] charges least, but guarantees must not depend on results; with a [Rule] they may.
// [Ledger.Part] is for disjoint parts of the data: only the part that spends most counts.
// [Ledger.All] and the JSON say what was spent on what. [OpenFile] keeps the ledger in a file of
// one process, written before the release is made; [OpenJournal] keeps it in other storage.
// [Ledger.SpendOnce] pays for a named release once, however often a service that crashed asks. For
// many machines, examples/budget keeps one row in a database.
//
// # Not covered
//
// A guarantee is a claim: the caller is responsible for one that is made by hand, decoded, or
// converted by Stable. Releases are made one after the other: interleaved protocols of several
// rounds are not covered. A journal does not stop anyone who can write its file.
//
// An introduction to composition, with a picture, is in composition.md. Sources: Bun, Steinke (TCC
// 2016) for zCDP; Canonne, Kamath, Steinke (arXiv 2004.00010); Kairouz, Oh, Viswanath (ICML 2015);
// Dong, Roth, Su, Gaussian Differential Privacy (JRSS-B 2022).
package budget
