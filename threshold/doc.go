// Package threshold says which keys of a sparse vector or histogram have large values, and how
// large, where there are far too many possible keys to list, under (ε, δ)- or pure ε-differential
// privacy.
//
//	b, err := threshold.New[string](threshold.Params{Epsilon: 1, Delta: 1e-6, Sensitivity: 1})
//	if err != nil {
//		log.Fatal(err)
//	}
//	b.Add("a key", 2.5) // for each value; values of one key are summed
//	v, err := b.Release()
//	if err != nil {
//		log.Fatal(err)
//	}
//	for key, value := range v.All() { // the keys above the threshold
//		lo, hi := v.Interval(key, 0.95)
//		fmt.Println(key, value, lo, hi)
//	}
//
// You say how much one user can change. The package chooses the mechanism with the smallest
// threshold and calibrates it exactly.
//
// Use threshold/groupby for data of users, package misragries for a stream that does not fit into
// memory, [NewListed] for public keys, and package noise for a single number.
//
// # Guarantee
//
// The input is a vector x with few non-zero coordinates, built in one of two ways:
//
// - [New]: two lists of added values are neighbours if their vectors have ‖x − x′‖₁ ≤ Δ =
// Sensitivity ([budget.L1]). Δ = 1 protects a person who contributes at most 1 in total, over all
// keys and all calls of Add. - [NewBounded]: neighbours differ in one user, added or removed, or
// replaced ([budget.User]), who changes at most MaxKeys keys, by at most MaxValue each and
// Sensitivity in total. It is for users who were bounded elsewhere, and for vectors that are not
// sums of users' values.
//
// The caller must guarantee this; it is not checked. Then [Params.Guarantee] holds for the
// floating-point implementation: sums are exact integers on a grid of a power of two, noise is
// drawn exactly on the grid, and scales and thresholds are rounded to the safe side. If δ > 0 a key
// without a value is never released.
//
// # Accuracy
//
// [Params.Plan] says how accurate a release will be, before any data is seen. A released value has
// noise of standard deviation StdDev, about √2·Δ/ε for Laplace noise; a key below Threshold is
// mostly hidden, and its estimate is 0. [Plan.ErrorBound] holds for all keys at once,
// [Vector.Interval] for one.
//
// # Choosing a mechanism
//
//	mechanism            needs                   threshold at Δ = 1                   source
//	ExponentialRounding  δ                       ln((e^ε−1)/(2δ(1−e^{−εR})))/ε        Theorem 1
//	LinearRounding       δ                       R + ln(1/(2δR))/ε, R = max(1, 1/ε)   Theorem 2
//	Laplace              δ, MaxKeys or Integers  w + b·ln(1/(2(1−(1−δ)^{1/m})))       Theorem 3
//	Gaussian             δ, MaxKeys              1 + τ, solved with σ                 TODS, Thm 23
//	CorrelatedGaussian   δ, MaxKeys, Stored      1 + τ, about half the Gaussian's
//	PureLaplace          Dim                     ln(d/(2·FalseKeys))/ε                Algorithm 6
//	DenseLaplace         Dim ≤ 2²⁶, or a list    none                                 Algorithm 1
//
// The proofs are in the files *_proof.md: of Theorems 1 and 2 in internal/rounding, of the others
// in internal/sparse. Algorithms are those of Lebeda, Differentially Private Release of Sparse and
// Skewed Data (ITU 2023); TODS is Lebeda and Tětek, Better Differentially Private Approximate
// Histograms and Heavy Hitters using the Misra-Gries Sketch, 2025 (doi 10.1145/3716375).
//
// # Cost and what is not covered
//
// Release sorts the keys and draws one number for each, about 0.1 µs per key. PureLaplace draws
// nothing for coordinates without a value. New takes microseconds; with normal noise some
// milliseconds, at most 0.1 s, and microseconds again with the same Params. Not covered: timing,
// and anyone who reads the memory of the process.
package threshold
