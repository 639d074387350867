// Package approx releases the result of a randomized approximation algorithm under pure
// ε-differential privacy.
//
//	m, err := approx.New(approx.Params{Epsilon: 1, Sensitivity: 1, Error: 20, Moment: 3})
//	if err != nil {
//		log.Fatal(err)
//	}
//	v, err := m.Release(estimate) // (E|estimate − g|³)^⅓ ≤ 20
//	if err != nil {
//		log.Fatal(err)
//	}
//	fmt.Println(v.Estimate())
//
// It answers how much noise makes A(x) private, for a randomized estimator A of a number g(x) of
// small sensitivity. The error of A may be concentrated but not bounded: a sample, a sketch, a
// median of runs.
//
// Use this when the estimator's error has a known moment or subexponential diameter. If g itself
// can be computed, add noise of package noise to g: that is less noise. If the error is bounded
// with certainty, |A − g| ≤ E, use the sensitivity Δ₁ + 2E.
//
// # Guarantee
//
// Neighbours x, x′ have |g(x) − g(x′)| ≤ Δ₁; [Params].Protects says who the neighbours are. You
// promise that on every input the error A − g satisfies one of
//
//	Pr[|A−g| ≥ t] ≤ 2e^{−t/Δ₂}  subexponential of diameter Δ₂  Laplace noise, many queries
//	(E|A−g|^α)^{1/α} ≤ Δ₂       a moment α > 1                 Pareto or Student noise, one query
//
// These promises are not checked, and the guarantee rests on them. The estimator's own randomness
// must stay secret.
//
// Under these promises all queries together are ε-differentially private for the unit, at the least
// scale s for which this can be proved:
//
//	Laplace, k = 1    ε = Δ₁/s + ln(4^d·(1+d)/(1−d)), d = Δ₂/s
//	Laplace, k > 1    ε = kΔ₁/s + (1 + 2·ln 2)·D − ln(1−D), D = kΔ₂/s
//	Pareto(α, s)      s = (Δ₁+2Δ₂)/(e^{ε/α} − 1)
//	Student(α, s)     s = (Δ₁+2Δ₂)/(2·sinh(ε/α)), α ≥ 2
//
// All except the second are the best possible. scale.go has the theorems, and a table that compares
// them with the constants of the paper, some of which are not private; scale_proof.md has the
// proofs.
//
// # Accuracy
//
// [Plan].MeanAbs and StdDev describe the noise; [Plan.ErrorBound] covers noise and estimator
// together. For Δ₁ = 0, Δ₂ = 1:
//
//	E|Y| at ε =       0.1    0.5    1      2      4
//	Laplace, k = 1    33.9   6.80   3.45   1.82   1.13    (never below Δ₂)
//	Pareto, α = 3     59.0   11.0   5.06   2.11   0.716
//	Student, α = 3    30.0   5.97   2.95   1.39   0.567
//
// # Choosing
//
// [New] returns a [Mechanism], whose Release adds the noise to an estimate and returns a [Value].
// [MedianMoment] and [MedianRuns] say what the median of several runs is worth: five runs of an
// estimator with a bounded variance have six moments, and then the noise has a variance too.
// [Params.Fit] says how good an estimator must be. [Search] is for estimators that need a
// guess of g: it finds one privately.
//
// # Cost
//
// A Release takes about 0.1 to 0.3 µs; a Value is 93 bytes encoded.
//
// # Not covered
//
// Errors without any bounded moment above 1; an estimator whose running time depends on the data.
//
// Source: Tětek, Additive Noise Mechanisms for Making Randomized Approximation Algorithms
// Differentially Private (2022).
package approx
