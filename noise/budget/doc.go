// Package budget says what a release costs and whom it protects, adds up costs, and keeps a budget.
//
//	user := budget.User(0, budget.AddRemove)         // one user, with any number of keys
//	ledger, err := budget.NewLedger(10, 1e-6, user)  // all releases together: ε = 10 at δ = 1e-6
//	…
//	list, err := budget.Release(ledger, builder)     // spends first, then releases
//
// # Whom a guarantee protects
//
// A [Guarantee] is one or two numbers and a [Unit]. "ε = 1" says nothing by itself: for one element
// of a stream it hides one page view, for one user all views of a person. A Unit says what is added
// or removed, or replaced ([Relation]):
//
//	Element     one element of a stream, one event
//	User        one user with at most m keys; UserElements, with m elements
//	Key         one key with all its occurrences
//	Row, Party  one row of a table, one party of many
//	L1, L2      vectors at a distance: a person who moves the vector by at most that
//
// Guarantees of different units do not add up: [Compose] and [Ledger.Spend] return [ErrMismatch].
// [Guarantee.For] converts by rules that hold for all data. [Guarantee.Group] is for several units
// at once. [Guarantee.Stable] is for callers who know how much one user can change: a count of
// distinct users has Stable(user, 1).
//
// # What is promised
//
// (ε, δ)-DP: for neighbouring inputs x, x′ and every set E of outputs, Pr[M(x) ∈ E] ≤ e^ε·Pr[M(x′)
// ∈ E] + δ. Pure DP is δ = 0. ρ-zCDP bounds the Rényi divergence of order α by αρ (Bun and
// Steinke). μ-GDP is the guarantee of Gaussian noise of σ = 1/μ at sensitivity 1 (Dong, Roth, Su).
// [Guarantee.EpsilonAt] and [Guarantee.DeltaAt] answer for compositions of all these. Many small
// releases cost far less than the sum of their ε. Daily releases of ε = 0.1, at δ = 1e-6:
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
// Releases at the same (ε, δ) compose differently: 50 days of (1, 1e-8) have ε = 7.12 if the
// accountant knows that the noise is Gaussian, else 47.9. So a Guarantee prints the given ε and δ,
// and also carries the law of the noise, a dominating pair, which a Ledger composes:
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
// Spend takes some microseconds if plain sums decide, some milliseconds if the accountant does, and
// 40 ms after 1,000 releases at 1,000 different ε, or where samples have nearly spent a budget.
//
// # Budgets for years
//
// [NewLedger] charges least, but guarantees must not depend on results; with a [Rule] they may.
// [Ledger.Part] is for disjoint parts of the data: only the part that spends most counts.
// [Ledger.All] and the JSON list what was spent. [OpenFile] keeps the ledger in a file for one
// process, written before each release; [OpenJournal] keeps it in other storage. [ReleaseOnce]
// draws a named release once, and returns the same object if a service crashes and asks again;
// [Ledger.SpendOnce] only pays once. For many machines, examples/budget keeps a row in a database.
//
// # Not covered
//
// A guarantee is a claim: the caller is responsible for guarantees that are made by hand, decoded,
// or converted by Stable. Interleaved protocols of several rounds are not covered: releases must be
// made one after the other. A journal does not stop anyone who can write its file.
//
// An introduction to composition, with a picture, is in composition.md. Sources: Bun, Steinke (TCC
// 2016) for zCDP; Canonne, Kamath, Steinke (arXiv 2004.00010); Kairouz, Oh, Viswanath (ICML 2015);
// Dong, Roth, Su, Gaussian Differential Privacy (JRSS-B 2022).
package budget
