// Package noise says how much noise a guarantee needs, and draws it exactly. It holds the
// randomness and the noise distributions that all mechanisms of this library share.
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
// [LaplaceScale], [GaussianSigma] and [GaussianSigmaZCDP] say how much noise a guarantee needs.
// Package noise/budget composes several releases and says what a budget still allows. Package
// noise/approx has noise for randomized estimators.
//
// # Randomness
//
// [Source] is secret, cryptographic and seeded by the operating system; nobody can replace or seed
// it. Public randomness is in package hashing.
//
// # Exact sampling
//
// A float64 sampler leaks: which low bits x + noise can have depends on x (Mironov 2012; Jin et al.
// 2022). Here Sample(src, step) returns a multiple of step, a power of two, and each multiple has
// exactly the probability that the ideal real-valued distribution, for the exact float64 parameter,
// gives to the numbers that round to it. So for x on the grid, x + Sample is the ideal mechanism
// followed by rounding: post-processing. A float64 comparison with a proven error bound decides
// nearly every draw; more random digits and exact rational arithmetic decide the rest.
//
// The caller must clamp each contribution, round it to the grid before it is summed, and sum in
// integers.
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
// Where only noise at or above a threshold matters, [DiscreteLaplace.SampleTail] draws just that,
// and [DiscreteLaplace.CountTail] counts it among up to 2⁶⁴ draws without making them.
// [Source.Uint64N] is a uniform integer. [CorrelatedGaussian] is Gaussian noise with a part that
// all keys share.
//
// Bits and tables: [Bernoulli] is exact in k/2⁶⁴ and draws 64 bits at a time; [RandomizedResponse]
// and [RandomizedRound] use it.
//
// # Formulas
//
// All methods but the draws take and return public numbers; they are NaN for a NaN, outside [0, 1]
// for Quantile, and on a zero value. In the tails CDF, Survival and LogSurvival have a relative
// error of at most 2e-13, LogSurvival also where Survival underflows or rounds to 1. Quantile is
// the infimum of the support at 0 and +Inf at 1; of integers, beyond 2⁵², it is a float64 next to
// one. MeanAbs is E|X|.
//
// # A distribution that was not built
//
// With an error, a constructor returns the zero value, and a calibration NaN. Its draws hide any
// value that they are added to: NaN for a float64, an integer that is uniform over all int64 (added
// with wrap-around a one-time pad), a fair coin for a bit. So a program that ignores an error
// releases garbage, and nothing about the data. unbuilt.go has the proofs.
//
// A draw takes about 0.02 to 0.3 µs on any grid, and allocates only for a new key in 1,024 words.
//
// # Not covered
//
// Timing: some draws take longer. An adversary who reads the memory of the process.
//
// Sources: Canonne, Kamath, Steinke, The Discrete Gaussian for Differential Privacy (arXiv
// 2004.00010); Marsaglia, Tsang, The Ziggurat Method (Journal of Statistical Software 5, 2000);
// Geng, Viswanath, The Optimal Noise-Adding Mechanism in Differential Privacy (arXiv 1212.1186);
// Tětek, Additive Noise Mechanisms for Making Randomized Approximation Algorithms Differentially
// Private (2022); Balle, Wang, Improving the Gaussian Mechanism (arXiv 1805.06530).
package noise
