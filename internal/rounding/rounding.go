// Package rounding is the release of one integer at a time with discrete Laplace noise and a
// threshold, where small values are rounded at random first. Packages threshold and misragries
// share it.
//
// A [Kernel] is a law M. Let L be discrete Laplace noise of scale b, Pr[L = x] ∝ q^|x| with q =
// e^{−1/b}. M(v) for v ≥ 0 shows v + L if that is at least T, for v ≥ R; for v < R it does with
// probability g(v) what M(R) does, and else shows nothing. M(−v) is M(v) with the sign turned. All
// numbers are integers: steps of a grid. With η = Pr[R + L ≥ T] = q^{T−R}/(1+q) < ½:
//
//   - Exponential rounding, g(v) = (q^{−v}−1)/(q^{−R}−1). One step, v to v ± 1, is within e^{±1/b}
//     except for a mass of δ₁ = η·(q^{−1}−1)/(q^{−R}−1) upwards and q·δ₁ downwards, and 0 for v ≥
//     R. So vectors at ℓ₁ distance d, any number of coordinates, are (d/b, δ)-close with δ =
//     η·(q^{−d}−1)/(q^{−R}−1): [Kernel.LogDelta]. One coordinate at 0 and at d ≤ R attains it.
//   - Linear rounding, g(v) = v/R. Vectors at ℓ₁ distance d ≤ R are (d/b, ηd/R)-close:
//     [Kernel.LogDeltaLinear].
//
// The proofs are in rounding_proof.md; TestStepsExactly and TestDistanceExactly check the
// statements over all pairs and outputs.
package rounding

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/exact"
)

// Kernel holds the numbers of M, in steps.
type Kernel struct {
	Scale     float64 // b
	From      int64   // R ≥ 1; 1 rounds nothing
	Threshold int64   // T > R
}

// Show draws M(v): what is shown, or false for nothing. Its randomness comes from two functions
// that each draw anew and independently: tail returns L if it is at least least, else false; and
// small, called for |v| < R alone, returns for exponential rounding a geometric number, Pr[small()
// ≥ n] = q^n, and for linear rounding a uniform one below R.
//
// With G geometric, the remainder G mod R is j < R with probability proportional to q^j, so it is
// at least R − v with probability (q^{R−v} − q^R)/(1 − q^R) = g(v). A uniform number below R is
// with probability v/R.
func (k Kernel) Show(v int64, tail func(least int64) (int64, bool), small func() int64) (shown int64, ok bool) {
	size := max(v, -v)
	base := max(size, k.From)
	x, ok := tail(k.Threshold - base)
	if !ok || size < k.From && small()%k.From < k.From-size {
		return 0, false
	}
	if v < 0 {
		return -(base + x), true
	}
	return base + x, true
}

// LogReach returns ln η.
func (k Kernel) LogReach() float64 { return exact.LogLaplaceTail(k.Scale, k.Threshold-k.From) }

// LogDelta returns ln(η·(e^loss − 1)/(e^{R/b} − 1)): ln δ of exponential rounding at distance
// b·loss. Its error is covered by [Below].
func (k Kernel) LogDelta(loss float64) float64 {
	return k.LogReach() - exact.LogExpm1(float64(k.From)/k.Scale) + exact.LogExpm1(loss)
}

// LogDeltaLinear returns ln(η·d/R): ln δ of linear rounding at distance d ≤ R. Its error is covered
// by [Below].
func (k Kernel) LogDeltaLinear(d float64) float64 {
	return k.LogReach() + math.Log(d/float64(k.From))
}

// Below returns ln δ, lowered by more than the errors in what is compared with it.
func Below(delta float64) float64 {
	logDelta := math.Log(delta)
	return logDelta - 0x1p-40*max(1, -logDelta)
}

// Share is the R/b to take where T is all that counts: no larger one lowers T by as much as
// b·e^{−5}.
const Share = 5

// Exponential returns the Kernel of scale b with R = share·b, rounded, and the least T at which
// LogDelta(loss) ≤ logDelta. Where that T would not exceed R, R is smaller: the one with the least
// T.
func Exponential(b, share, loss, logDelta float64) Kernel {
	least := func(from int64) Kernel {
		return Kernel{b, from, exact.LeastInt(from+1, func(t int64) bool { return Kernel{b, from, t}.LogDelta(loss) <= logDelta })}
	}
	k := least(max(1, int64(math.Round(share*b))))
	if k.Threshold > k.From+1 || k.From == 1 {
		return k
	}
	// T(R) is R + 1 from some R on, and falls before: that R has the least T, or the one
	// before.
	k = least(exact.LeastInt(1, func(from int64) bool { return least(from).Threshold == from+1 }))
	if k.From > 1 {
		if before := least(k.From - 1); before.Threshold < k.Threshold {
			return before
		}
	}
	return k
}

// Linear returns the Kernel of scale b with the least T at which LogDeltaLinear(d) ≤ logDelta,
// which is at R = b where R ≥ d allows that.
func Linear(b, d, logDelta float64) Kernel {
	from := int64(math.Ceil(max(d, math.Round(b))))
	return Kernel{b, from, exact.LeastInt(from+1, func(t int64) bool { return Kernel{b, from, t}.LogDeltaLinear(d) <= logDelta })}
}
