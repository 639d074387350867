// Package arete adds infinitely divisible noise that is small where ε is large: one number released by one party, or the sum of the numbers of many
// parties, none of whom is trusted with it.
//
// It answers: what is the least noise for ε above 2.4 that can be split into shares ([Best], [New]); how do n parties release their sum with the error of one
// trusted party, also if some drop out ([Mechanism.ShareWithDropouts]); and what does the Arete distribution of the paper need ([Calibrate]).
//
// For ε ≤ 2.4 this is Laplace noise, and package noise has it on finer grids. For vectors, histograms and sketches use the other packages.
//
// # Model and guarantee
//
// Neighbouring inputs change the number by at most Params.Sensitivity, Δ; among parties, Params.Relation says whether one party comes or goes (AddRemove) or changes
// its number (Replace). A release is ε-differentially private, with no δ. The law of the noise is certified when it is calibrated: a bound on the ratio of
// probabilities, for all points and all shifts, is computed for the parameters as they are drawn with. The proofs stand in jump_certificate.go,
// discrete.go and certificate.go.
//
// On the machine as on paper: numbers are rounded to a lattice of H steps to the Δ, exactly, and the noise is an integer drawn exactly, every probability as the
// certified law has it. Rates of shares are rational numbers, so n shares add up to exactly that law.
//
// # Laws
//
//	law              what it is                                             E|X| in units of the optimum Δ·e^{ε/2}/(e^ε−1), ε = 4, 6, 8, 12
//	Jump             Skellam core, rare jumps of nearly uniform size        1.21, 1.17, 1.15, 1.13
//	DiscreteArete    negative binomials' difference and discrete Laplace    1.77, 2.49, 2.91, 3.21
//	DiscreteLaplace  two-sided geometric                                    1.81, 3.34, 6.82, 33.6; below ε = 2.4 the least
//
// For integers of Δ = 1 discrete Laplace noise is the optimum; for a larger Δ and ε the core of the jump law goes, and it is within some percent of
// the optimum of all noise, divisible or not. [Best] has the table.
//
// # Accuracy
//
// The error is that of the noise, [Params.MeanAbs], about 1.15·Δ·e^{−ε/2} for ε ≥ 4; [Value.Interval] covers the true value with a given
// confidence. Rounding to the lattice adds at most half a step, 0.2 % of the variance of the noise's core, also for each party of a sum.
//
// # Cost
//
// New takes some milliseconds to ε = 12 and up to a second at ε = 20; above 20 the noise stays that of 20. A draw takes 50 to 200 ns, a share of a
// thousandth 20 to 40 ns, without allocation. A [Value] travels in 89 bytes.
//
// # Not covered
//
// The protocol that adds up the shares without showing them, which is for a library of secure aggregation; timing, as rare jumps take longer; whoever reads the memory
// of the process. A party that sends a wrong share spoils the sum, not the privacy of the others.
//
// Sources: Pagh and Stausholm, The Arete Distribution for Differentially Private Noise Addition, in Stausholm's thesis (ITU 2021), chapter 5; Geng, Kairouz,
// Oh, Viswanath, The Staircase Mechanism (2015), for the optimum; Goryczka and Xiong (2017), for shares of Laplace noise; Harrison and Manurangsi (arXiv 2504.05202), for
// another divisible law. The jump law and all certificates are this package's own.
package arete
