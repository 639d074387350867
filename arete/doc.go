// Package arete releases a number, or the sum of many parties' numbers when nobody is trusted with
// it. Its noise is infinitely divisible, so parties can share it, and it is small for large ε.
//
//	m, err := arete.New(arete.Params{Epsilon: 4, Sensitivity: 1})
//	if err != nil {
//		log.Fatal(err)
//	}
//	v, err := m.Release(number) // v.Estimate(), v.Interval(0.95)
//
// With [Mechanism.Share] n parties release their sum with the error of one trusted party, also if
// some drop out. [Calibrate] finds parameters for the Arete distribution of the paper. For
// one number, noise.Staircase is optimal, but cannot be shared.
//
// # Guarantee
//
// Neighbouring inputs change the number by at most Params.Sensitivity, Δ: the unit is one row
// ([budget.Row]), and in a sum of shares one party ([budget.Party]). Which parties take part is
// public. Under AddRemove a party's number is in [−Δ, Δ] and cannot be told from 0; under Replace
// it is in [0, Δ] and cannot be told from any other. A release is ε-differentially private; with
// Gaussian noise it is (ε, δ)-DP or ρ-zCDP. The noise is certified when it is calibrated: a bound
// on the ratio of probabilities is computed for the exact parameters of the sampler. The proofs are
// in jump_proof.md, discrete.go, continuous_certificate.go and gaussian.go.
//
// If the d numbers of a party change by Δ together, in ℓ₁, noise for Δ on each is not enough: use
// [DiscreteLaplace], or ε/d for each. If at most one of them changes, as in a histogram, use ε for
// each under AddRemove, and ε/2 under Replace, where two change.
//
// The guarantee holds for the floating-point implementation: numbers are rounded exactly to a
// lattice with H steps per Δ, and the noise is an integer, drawn with the certified probabilities.
//
// # Accuracy
//
// The mean absolute error is [Plan].MeanAbs, about 1.15·Δ·exp(−ε/2) for ε ≥ 4; [Value.Interval]
// covers the true value. Rounding adds at most half a step, 0.4 % of the variance. For sums
// Params.Parties makes the lattice finer: then the error for 10⁶ parties is 1.37, 1.25, 1.18, 1.15,
// 1.14 times the optimum at ε = 3, 4, 6, 8, 12.
//
// # Choosing the noise
//
//	Law              what it is                                       E|X| over the optimum
//	Jump             Skellam core, and rare jumps of nearly any size  1.23, 1.21, 1.17, 1.15, 1.13
//	DiscreteArete    negative binomial differences, discrete Laplace  –, 1.77, 2.49, 2.91, 3.21
//	DiscreteLaplace  two-sided geometric; below ε = 2 the least       1.42, 1.81, 3.34, 6.82, 33.6
//	Gaussian         discrete Gaussian, Delta or Rho: gaussian.go     none for ε alone
//
// The columns are ε = 3, 4, 6, 8, 12. For integers with Δ = 1, discrete Laplace noise is optimal.
// With Objective = MeanSquare, E X² over its optimum is 1.42, 1.38, 1.34, 1.31, 1.27. If Δ may be
// exceeded by a few percent, increase Sensitivity by as much: see jump_proof.md.
//
// # Cost
//
// New takes up to 80 ms, and microseconds again with the same Params. From ε = 36 on
// the noise is constant (DiscreteArete 20, integers 30). A draw takes 30 to 150 ns, a share of a
// thousandth 20 to 40 ns (Gaussian 200 to 300 ns); none allocates. A [Value] has 118 B.
//
// # Not covered
//
// The protocol that adds up the shares (examples/prio3 has one). Timing: rare jumps take longer. An
// adversary who reads the memory of the process. A party that sends a wrong share spoils the sum,
// not the privacy of the others.
//
// Sources: Pagh and Stausholm, The Arete Distribution for Differentially Private Noise Addition, in
// Stausholm's thesis (ITU 2021), chapter 5; Geng, Kairouz, Oh, Viswanath, The Staircase Mechanism
// (2015), for the optimum; Goryczka and Xiong (2017), for shares of Laplace noise; Harrison and
// Manurangsi (arXiv 2504.05202), for another divisible noise; Canonne, Kamath, Steinke (arXiv
// 2004.00010) and Kairouz, Liu, Steinke (2021) for discrete Gaussian noise and its sums. Jump noise
// and all certificates are this package's own.
package arete
