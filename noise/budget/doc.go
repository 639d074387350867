// Package budget says what a release costs and whom it protects, adds up costs, and keeps a budget.
//
//	user := budget.User(0, budget.AddRemove)         // one user, with any number of keys
//	ledger, err := budget.NewLedger(10, 1e-6, user)  // all releases together: ε = 10 at δ = 1e-6
//	…
//	list, err := budget.Release(ledger, builder)     // spends first, then releases
//
// # Whom a guarantee protects
//
// A [Guarantee] is for a [Unit]: what is added or removed, or replaced. "ε = 1" for one element of
// a stream hides one page view, for one user all views of a person. Guarantees of different units
// do not add up: [Guarantee.For] and [Guarantee.Stable] convert.
//
// # What is promised
//
// (ε, δ)-DP: for neighbouring inputs x, x′ and every set E of outputs, Pr[M(x) ∈ E] ≤ e^ε·Pr[M(x′)
// ∈ E] + δ. Pure DP is δ = 0. ρ-zCDP bounds the Rényi divergence of order α by αρ. μ-GDP is the
// guarantee of Gaussian noise of σ = 1/μ at sensitivity 1. Budgets that hardly protect are accepted
// for experiments, and String says so.
//
// Many small releases cost far less than Σε: 365 of ε = .1, ε = 10.31 at δ = 1e-6. They cost less
// still if the noise is known: a Guarantee prints the given ε and δ, and a Ledger composes a
// dominating pair for its noise; random rounding, shared noise and quantiles compose by ε, δ or ρ
// alone. Every rounding goes up, at δ down to 1e-300. Spend takes microseconds, and where plain
// sums do not decide at most 40 milliseconds. composition.md introduces this.
//
// # Budgets for years
//
// [OpenFile] stores the ledger in a file, [OpenJournal] elsewhere, each record before its release.
// [Ledger.Part] is for disjoint parts of the data, [ReleaseOnce] for an output drawn once. Many
// machines lease slices of one budget: examples/budget/fleet.
//
// Errors wrap the variable named for them. Decoders refuse bytes that nothing here encodes by
// [ErrFormat], and leave the receiver as it was; AppendBinary has a nil error. In JSON the member
// data is the encoding; the others are for reading.
//
// # Not covered
//
// The caller is responsible for guarantees that are made by hand, decoded, or converted by Stable.
// Interleaved protocols of several rounds. Anyone who can write the file of a journal.
//
// Sources: Bun, Steinke (TCC 2016); Canonne, Kamath, Steinke (arXiv 2004.00010); Kairouz, Oh,
// Viswanath (ICML 2015); Dong, Roth, Su (JRSS-B 2022).
package budget
