package thresholds

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/internal/rounding"
	"github.com/dpsketch/dpsketch/noise"
)

// Sums of trimmed sketches. Each server draws, once, N discrete Laplace of scale β and T = o_T +
// N_T with N_T of scale 1/ε, and reduces its sketch by the mean of its j smallest counters, in
// units of 1/j (package sketch, Trimmed): with the k numbers c, zeros included, and D decrements
//
//	A = Σ of the j smallest min(c, T),  n = max(0, A + N + o),  r = max(0, j·c − n),  W = j·D + n
//
// The units r are added key by key, and each key of the sum is released by the kernel M of scale b;
// the W are released as they are.
//
// Theorem 2′. With 1/β + j/b ≤ ε that is (ε, δ)-private for one element of all streams, with
//
//	δ = max(δ_j, Pr[N < −o] + Pr[T ≤ 0]).
//
// trimmed_proof.md has the proof, and TestTrimmedIsPrivateExactly and TestTrimmedSensitivity check
// it. In (A) W and all keys but one are equal, in (B) all is equal unless N < −o or T ≤ 0: so only
// N and the noise of the keys share ε, and the W cost nothing.

// Least returns j, the number of counters that are averaged.
func Least(k int) int { return min(k, max(16, (k+3)/4)) }

// planned is the number of sketches for which ε is divided between N and the noise of the keys. For
// 2, 4, 8, 32 and 100 sketches, at ε = 1, δ = 1e-6, k = 1024, that costs 1.0, .5, 0, 1.1 and 10
// counts of o for all of them and τ.
const planned = 16

// TrimmedDelta returns ln δ of Theorem 2′.
func (n Noise) TrimmedDelta(j int, epsilon float64) float64 {
	above := func(x float64) float64 { return math.Nextafter(x, math.Inf(1)) }
	if !(n.Shift > 0) || n.Offset < 0 || above(above(1/n.Shift)+above(float64(j)/n.Scale)) > epsilon {
		return 0
	}
	escape := logAdd(exact.LogLaplaceTail(n.Shift, n.Offset+1), exact.LogLaplaceTail(n.CapScale, n.Cap))
	return min(max(n.logEscape(j), escape), 0)
}

// SetCap sets the noise of T: the scale of N_T, and the least o_T with Pr[T ≤ 0] ≤ δ/2. It is not
// ok if that noise is out of range.
func (n *Noise) SetCap(epsilon, delta float64) (ok bool) {
	scale, err := noise.LaplaceScale(epsilon, 1)
	if err != nil {
		return false
	}
	n.CapScale = scale
	n.Cap = leastReach(scale, Inward(delta)-math.Ln2)
	return true
}

// Trimmed returns the noise with the least planned·o + max(τ, 0) + b·ln 10, about what a key needs
// to be released with a probability of 95 %, by the scale β of N, with o and τ as if they were
// real: with εβ = 1 + y, o falls with y and τ with 1 + 1/y, so y is near √(j/planned). To minimise
// without b·ln 10 would not do: τ falls below 0 with a large b, where every key is shown with some
// probability and none with much. It is not ok if the noise is out of the range of its sampler.
func Trimmed(j int, epsilon, delta float64) (n Noise, ok bool) {
	units, want := float64(j), Inward(delta)
	scales := func(x float64) (shift, scale float64) {
		y := math.Exp(x)
		shift = (1 + y) / epsilon
		return shift, (1 + 0x1p-40) * units / (epsilon - 1/shift)
	}
	hidden := func(x float64) float64 {
		shift, b := scales(x)
		tau := b * (exact.LogExpm1(units/b) - logRounded(b, rounding.Share) - want)
		offset := -shift*(want-math.Ln2+math.Log1p(math.Exp(-1/shift))) - 1
		return planned*max(offset, 0) + max(tau, 0) + b*math.Log(10)
	}
	const reach, step = 6, 0.25
	middle := math.Log(units/planned) / 2
	at := middle
	for x, least := middle-reach, math.Inf(1); x <= middle+reach; x += step {
		if h := hidden(x); h < least {
			at, least = x, h
		}
	}
	at, _ = exact.Minimum(at-step, at+step, sections, hidden)
	n.Shift, n.Scale = scales(at)
	if !n.SetCap(epsilon, delta) || !n.Valid() {
		return Noise{}, false
	}
	n.Offset = max(leastReach(n.Shift, want-math.Ln2)-1, 0)
	n.setRounding(j, want, rounding.Share)
	n.settle(func(n Noise) bool { return n.TrimmedDelta(j, epsilon) <= want })
	return n, true
}
