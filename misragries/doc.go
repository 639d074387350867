// Package misragries releases the heavy hitters of a stream of any length, from k counters, under (ε, δ)-differential privacy.
//
// It answers: which keys are frequent, and how frequent. Memory is O(k), an element costs O(1), and the noise does
// not grow with k. Use package threshold instead where all keys fit into memory and one user may contribute real values.
//
// # Model
//
// One element of the stream is what is hidden: neighbouring streams differ by adding or removing one
// element anywhere (noise.AddRemove). The length n is private too. Params are public.
//
// # Mechanism
//
// Algorithms 1 and 2 of Lebeda and Tětek, Better Differentially Private Approximate Histograms and Heavy Hitters
// using the Misra-Gries Sketch, TODS 2025 (doi 10.1145/3716375), with discrete Laplace noise: every stored counter c,
// zeros included, is released as c + η + L if that is at least τ; η is shared, every L its own,
// Pr[x] ∝ e^{−ε|x|}. Besides, D − η is released, D being the number of decrements of the sketch.
//
// # Guarantee
//
// The release is (ε, δ)-differentially private exactly for
//
//	δ(τ) = Pr[max(1 + η + L₁, η + L₂) ≥ τ]   (k = 1: Pr[1 + η + L ≥ τ]),
//
// for every k and with no factor in front; τ is the least integer with δ(τ) ≤ δ. At ε = 1, δ = 1e-6 that
// is 17 where the paper's Lemma 11 gives 31 and 33.
//
// Proof. By Lemma 8 the sketches (T, c), (T′, c′) of a stream and of one with one element less are in one of six
// states: (S1) T = T′, c = c′ − 1; (S2) the same on T ∩ T′, and one key on either side only, at 0 and at 1; (S3)
// T = T′, one counter one higher; (S4) T ∩ T′ equal, one key on either side only, at 1 and at 0; (S5) one common counter one
// higher, one key on either side only, at 0 both; (S6) T ∩ T′ equal, two keys on either side only, at 1, 0 and at 0, 0. Since n = Σc + (k+1)D, D is one
// higher in S1 and S2 and equal in the others. An output shows some noisy counts and D − η. If it shows a key of
// one side only, the other side has probability 0: such outputs have mass Pr[a key of that side ≥ τ],
// the largest of which, in S6, is δ(τ) (S4 for k = 1). On all other outputs o, P(o) = Σ_x p(x)·A(o|x)·Π F(τ − c_i − x), where p is
// the law of η, A covers the common keys and D, the product is over the keys of one side only, F(t) = Pr[L < t], and F(t−1) ≤ F(t) ≤ e^ε F(t−1).
// S1, S2: the other side at x + 1 has the same A, since D − η shows the same and all common counters moved by one, and the
// same F (S2: τ − 0 − x = τ − 1 − (x − 1)); the ratio is p(x)/p(x±1), within e^{±ε}. S3, S5: one common counter moved by one, the silent factors are equal:
// e^{±ε} for every x. S4, S6: A is equal and the silent factors are F(τ−1−x) and F(τ−x), once each, times equal ones: within e^{±ε}.
// So only the escape counts, and it is attained. ∎ The argument compares sums term by term over x, so D − η, which
// fixes x for a given D, costs nothing. An exact enumeration over short streams in the tests confirms all of it.
//
// # Accuracy
//
// The sketch counts f − D ≤ c ≤ f, D ≤ n/(k+1); the noise has standard deviation about 2/ε, and a key whose
// noisy counter is below τ ≈ ln(1/δ)/ε is not shown. [Histogram.Interval] has both errors in one bound, with the noise of D − η cancelled.
//
// # Not covered
//
// Timing, and whoever reads the memory of the process. A Builder is for one goroutine.
package misragries
