// Package noise says how much noise a guarantee needs, and draws it exactly.
//
//	scale, err := noise.LaplaceScale(1, 20) // ε, sensitivity
//	if err != nil {
//		log.Fatal(err)
//	}
//	laplace, err := noise.NewLaplace(scale)
//	if err := errors.Join(err, noise.CheckStep(laplace, 1)); err != nil { // number has steps of 1
//		log.Fatal(err)
//	}
//	var secret noise.Source
//	released := number + laplace.Sample(&secret, 1)
//
// Package noise/budget composes several releases. Package noise/approx has noise for randomized
// estimators.
//
// # Distributions
//
//	distribution          Pr or density at x           guarantee with sensitivity Δ
//	Laplace(b)            e^{−|x|/b}/(2b)              ε = Δ₁/b
//	DiscreteLaplace(b)    ∝ e^{−|x|/b}, x integer      ε = Δ₁/b
//	Gaussian(σ)           ∝ e^{−x²/(2σ²)}              ρ = Δ₂²/(2σ²); (ε, δ) by GaussianSigma
//	DiscreteGaussian(σ)   the same, x integer          ρ = Δ₂²/(2σ²)
//	Geometric(b)          ∝ e^{−x/b}, x ≥ 0 integer    none by itself: the tail of DiscreteLaplace
//	Staircase(ε, Δ, γ)    steps of Δ, ratio e^{−ε}     ε, with the least error of all noise
//	Pareto(α, s)          ∝ (1 + |x|/s)^{−α}           private approximation: noise/approx
//	Student(α, s)         ∝ (1 + (x/s)²)^{−α/2}        private approximation: noise/approx
//
// Δ₁ and Δ₂ are the ℓ₁ and the ℓ₂ sensitivity of a release with independent noise in every
// coordinate. Scales, standard deviations and sensitivities are in the units of the data. Where no
// other range is given these, ε and ρ, as arguments and results, must be in [2⁻⁹⁰⁰, 2⁹⁰⁰]; b and σ
// of a distribution on the integers in [2⁻⁹⁰⁰, 2⁵⁰]. Errors wrap [ErrParams].
//
// # Exact sampling
//
// A float64 sampler leaks: which low bits x + noise can have depends on x (Mironov 2012; Jin et al.
// 2022). Here Sample(src, step) returns a multiple of step, a power of two, each with exactly the
// probability that the ideal distribution, for the exact float64 parameter, gives to the numbers
// that round to it (of integers, halves up). So for x on the grid, x + Sample is the ideal
// mechanism followed by rounding: post-processing. The caller must clamp each contribution, round
// it to the grid before it is summed, and sum in integers.
//
// Where step is no power of two, or smaller than a Sample needs, the result is NaN. SampleSteps is
// Sample in steps; instead of NaN it returns false and a draw that is uniform over all int64. A
// draw takes about 0.02 to 0.3 µs, and allocates only for a new key in 1,024 words.
//
// # Formulas
//
// Prob is the density, or on the integers Pr[X = x]. Quantile is the least x with CDF(x) ≥ p, the
// infimum of the support at 0 and +Inf at 1; of integers, beyond 2⁵², a float64 next to one.
// Moments that diverge are +Inf. In the tails CDF, Survival and LogSurvival have a relative error
// of at most 2e-13, LogSurvival also where Survival underflows or rounds to 1.
//
// All methods but the draws take and return public numbers. They are NaN for a NaN, outside [0, 1]
// for Quantile, and on a zero value.
//
// # A distribution that was not built
//
// With an error, a constructor returns the zero value, and a calibration NaN. Draws from a zero
// value hide what they are added to: a float64 is NaN, an integer uniform over all int64 (added
// with wrap-around a one-time pad), a bit a fair coin. So a program that ignores an error releases
// garbage, and nothing about the data.
//
// # Not covered
//
// Timing: some draws take longer. An adversary who reads the memory of the process.
//
// Sources: Dwork, McSherry, Nissim, Smith (TCC 2006); Ghosh, Roughgarden, Sundararajan (STOC 2009);
// Bun, Steinke (TCC 2016, Proposition 1.6); Canonne, Kamath, Steinke (arXiv 2004.00010, Theorem 4);
// Balle, Wang (arXiv 1805.06530); Geng, Viswanath (arXiv 1212.1186); Tětek (2022, see
// noise/approx); Marsaglia, Tsang (Journal of Statistical Software 5, 2000).
package noise
