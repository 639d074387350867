// Package threshold releases sparse vectors and histograms over key spaces far too large to list,
// under (ε, δ)- or pure ε-differential privacy.
//
// It answers: which keys have large values, and how large. Values are real or integer, of one sign
// or of both. You say how much one user can change; the library picks the mechanism with the
// smallest threshold and calibrates it exactly ([Params.Plan] shows all).
//
// For a stream that does not fit into memory use package misragries. A vector of few coordinates,
// all of interest, can do without a threshold: DenseLaplace. A single number takes noise from
// package noise. Where the keys are public, of whatever type, [NewListed] releases every one of
// them.
//
// # Model
//
// The input is a vector x with few non-zero coordinates, built in one of two ways:
//
//   - [Builder] sums values by key, and the caller has bounded how far neighbours differ. Two
//     lists of added values are neighbours if their vectors have ‖x − x′‖₁ ≤ Δ = Sensitivity
//     ([budget.L1]). That protects neither a user nor an element as such: with Δ = 1 it protects
//     somebody who contributes at most 1 in total, over all keys and all calls of Add.
//   - [NewBounded] makes a Builder for neighbours that differ in one user, added or removed, or
//     replaced ([budget.User]), who changes at most MaxKeys keys, by at most MaxValue each and
//     Sensitivity in total. The caller promises that, and nothing enforces it. It is for users
//     bounded elsewhere, and for vectors that are no sums of users' values.
//
// For users with any number of keys, listed or not, take package threshold/groupby. Params are
// public.
//
// # Mechanisms
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
// in internal/sparse. LinearRounding is Algorithm 9 with its least threshold. Algorithms are those
// of Lebeda, Differentially Private Release of Sparse and Skewed Data (ITU 2023); TODS is Lebeda
// and Tětek, Better Differentially Private Approximate Histograms and Heavy Hitters using the
// Misra-Gries Sketch, 2025 (doi 10.1145/3716375).
//
// # Guarantee
//
// The release promises [Params.Guarantee], and does so on the machine as on paper. Values are
// rounded to a grid, a power of two, before they are summed, so sums are exact integers. Noise is
// drawn exactly on the grid, and rounding probabilities are exact. Scales and thresholds are
// rounded to the safe side. Where δ > 0 a key without a value is never released.
//
// # Accuracy
//
// [Params.Plan] says it before any data is seen. A released value has noise of standard deviation
// StdDev, about √2·Δ/ε for Laplace noise; a key below Threshold is mostly hidden, and its estimate
// is 0. [Plan.ErrorBound] holds for all keys at once, [Vector.Interval] for one.
//
// # Cost
//
// Add is one look into a hash table. Release sorts the keys and draws one number for each, about
// 0.1 µs a key. A hidden key costs no memory in the Vector. PureLaplace draws nothing for
// coordinates without a value, even if there are 2⁶⁴ − 1 of them. New takes microseconds; with
// normal noise some milliseconds, 0.1 s at most, and microseconds again with the same Params.
//
// # Not covered
//
// Timing, and whoever reads the memory of the process. A Builder is for one goroutine.
package threshold
