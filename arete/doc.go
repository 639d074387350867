// Package arete adds infinitely divisible noise that is small where ε is large: one number released
// by one party, or the sum of the numbers of many parties, none of whom is trusted with it.
//
// It answers: what is the least noise for ε above 2.4 that can be split into shares ([Best],
// [New]); how do n parties release their sum with the error of one trusted party, also if some drop
// out ([Mechanism.ShareWithDropouts]); and what does the Arete distribution of the paper need
// ([Calibrate]).
//
// For ε ≤ 2.4 this is Laplace noise, and package noise has it on finer grids. For vectors,
// histograms and sketches use the other packages.
//
// # Model and guarantee
//
// Neighbouring inputs change the number by at most Params.Sensitivity, Δ: the unit is one row
// (budget.Row), and in a sum of shares one party (budget.Party). Among parties, who takes part is
// public, and Params.Relation says what a party's number is protected against: under AddRemove it
// is in [−Δ, Δ] and protected against 0, under Replace in [0, Δ] and protected against any other. A
// release is ε-differentially private, with no δ; Gaussian noise is (ε, δ) or ρ. Each further
// release of the same data costs the same again. The law of the noise is certified when it is
// calibrated: a bound on the ratio of probabilities, for all points and all shifts, is computed for
// the parameters as they are drawn with. The proofs stand in jump_certificate.go, discrete.go,
// certificate.go and gaussian.go.
//
// On the machine as on paper: numbers are rounded to a lattice of H steps to the Δ, exactly, and
// the noise is an integer drawn exactly, every probability as the certified law has it. Rates of
// shares are rational numbers, so n shares add up to exactly that law.
//
// # Laws
//
//	law              what it is                                             E|X| in units of the optimum Δ·e^{ε/2}/(e^ε−1), ε = 4, 6, 8, 12
//	Jump             Skellam core, rare jumps of nearly uniform size        1.21, 1.17, 1.15, 1.13
//	DiscreteArete    negative binomials' difference and discrete Laplace    1.77, 2.49, 2.91, 3.21
//	DiscreteLaplace  two-sided geometric                                    1.81, 3.34, 6.82, 33.6; below ε = 2.4 the least
//	Gaussian         discrete Gaussian, for Delta or Rho; gaussian.go       none for ε alone; shares add up to it within a factor of 1 ± 10⁻³⁰⁰
//
// For integers of Δ = 1 discrete Laplace noise is the optimum; for a larger Δ and ε the core of the
// jump law goes, and it is within some percent of the optimum of all noise, divisible or not.
// [Best] has the table.
//
// # Accuracy
//
// The error is that of the noise, [Params.MeanAbs], about 1.15·Δ·e^{−ε/2} for ε ≥ 4;
// [Value.Interval] covers the true value with a given confidence. Rounding to the lattice adds at
// most half a step, 0.4 % of the variance of the noise's core. In a sum each of n parties rounds,
// at random and without bias, with a variance of at most a quarter of a step squared: set
// Params.Parties, which makes the lattice finer, and it stays within a tenth of the core for 1000
// parties.
//
// # Cost
//
// New takes one or two milliseconds to ε = 10 and some 30 at ε = 20 or for 1000 parties; above 20
// the noise stays that of 20. A draw takes 30 to 150 ns, a share of a thousandth 20 to 40 ns
// (Gaussian 200 to 300 ns), without allocation. A [Value] travels in 109 bytes.
//
// # Not covered
//
// The protocol that adds up the shares without showing them, which is for a library of secure
// aggregation; timing, as rare jumps take longer; whoever reads the memory of the process. A party
// that sends a wrong share spoils the sum, not the privacy of the others.
//
// Sources: Pagh and Stausholm, The Arete Distribution for Differentially Private Noise Addition, in
// Stausholm's thesis (ITU 2021), chapter 5; Geng, Kairouz, Oh, Viswanath, The Staircase Mechanism
// (2015), for the optimum; Goryczka and Xiong (2017), for shares of Laplace noise; Harrison and
// Manurangsi (arXiv 2504.05202), for another divisible law; Canonne, Kamath, Steinke (arXiv
// 2004.00010) and Kairouz, Liu, Steinke (2021) for discrete Gaussian noise and its sums. The jump
// law and all certificates are this package's own.
package arete
