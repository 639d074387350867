package noise

import (
	"cmp"
	"encoding/binary"
	"math"

	"github.com/dpsketch/dpsketch/internal/exact"
)

// Laplace is the continuous Laplace distribution: variance 2b², E|X| = b.
type Laplace struct{ symmetric[laplaceFormulas] }

// NewLaplace returns the distribution of scale b.
func NewLaplace(scale float64) (Laplace, error) {
	if err := checkParam("scale", scale); err != nil {
		return Laplace{}, err
	}
	return laplace(scale), nil
}

func laplace(scale float64) Laplace {
	return Laplace{symmetric[laplaceFormulas]{laplaceFormulas{scale}}}
}

// Scale returns b.
func (d Laplace) Scale() float64 { return d.formulas.scale }

// LaplaceScale returns the least float64 b ≥ Δ₁/ε, for Laplace and discrete Laplace noise.
func LaplaceScale(epsilon, sensitivity float64) (float64, error) {
	if err := cmp.Or(checkParam("epsilon", epsilon), checkParam("sensitivity", sensitivity)); err != nil {
		return math.NaN(), err
	}
	return checkScale(exact.QuotientUp(sensitivity, epsilon), sensitivity, "a number with a scale sensitivity/epsilon in [2⁻⁹⁰⁰, 2⁹⁰⁰]")
}

// Sample draws X, NaN unless b/step ≤ 2⁴⁶.
func (d Laplace) Sample(src *Source, step float64) float64 {
	k, unit := d.draw(src, step)
	return float64(k) * unit
}

// SampleSteps is exact also beyond 2⁵³.
func (d Laplace) SampleSteps(src *Source, step float64) (steps int64, ok bool) {
	k, unit := d.draw(src, step)
	return k, unit == step
}

func (d Laplace) draws(step float64) bool {
	_, ok := gridScale(d.formulas.scale, step)
	return ok
}

// The quick path, here and in DiscreteLaplace.SampleInt, is in one piece, without a call. It looks
// at the next words of the Source, and takes them only if a quick logarithm decides the draw. It
// decides all but about 1 in 10,000 draws; the exact sampler makes those from the same words. What
// is decided quickly is what the exact sampler would decide (see quickLog), so a draw is the same,
// word for word, on both paths.

// Bits of a float64, and the fixed point of draw.
const (
	mantissaBits = 52
	fractionMask = 1<<mantissaBits - 1
	exponentBias = 1023
	fixedDigits  = 30      // digits behind the point
	fixedMargin  = 1 << 14 // bounds the error, in units of the last digit
)

// draw returns a draw in steps, and step; NaN for a step that Sample refuses.
//
// With 2b = 2·scale/step in [2²⁰, 2⁴⁷], G is drawn as geometric draws it for 2b: the exponent of 2b
// is that of the quotient, which is exact, as step is a power of two. For the digits that are left,
// c = 2b/2^m in [2¹⁹, 2²⁰) and t = c·(−ln U), the logarithm is within quickMargin·.66 and so t·2³⁰
// within 2¹⁴·.66; its product, below 2⁵⁵, is rounded by 2 at most, and its floor is off by less
// than 1. So ⌊t⌋ is right where the digits behind the point are at least fixedMargin from both
// ends. Where t comes out negative they are not.
func (d Laplace) draw(src *Source, step float64) (k int64, unit float64) {
	unitBits := math.Float64bits(step)
	// Of 2b. If step is negative or no power of two, that is seen by its sign and fraction; if step
	// is 0 or infinite, or scale 0, or 2b out of range, by the exponent, which is modulo 2¹².
	b := math.Float64bits(d.formulas.scale) - unitBits + (exponentBias+1)<<mantissaBits
	if unitBits&(1<<63|fractionMask) != 0 || b-(exponentBias+20)<<mantissaBits > 27<<mantissaBits {
		return d.exactSteps(src, step)
	}
	if src.state == nil {
		return d.exactSteps(src, step)
	}
	st := *src.state
	offset := bufferBytes - uint(st.left)
	if offset > bufferBytes-16 {
		return d.exactSteps(src, step)
	}
	words := st.buf[offset : offset+16 : offset+16]
	w, next := binary.NativeEndian.Uint64(words), binary.NativeEndian.Uint64(words[8:])
	m := (b>>mantissaBits - exponentBias - 19) & 63
	const ones = 1<<19 - 1
	if w<<m >= ones<<45 || next < leastQuick { // see geometric
		return d.exactSteps(src, step)
	}
	c := math.Float64frombits(b&fractionMask | (exponentBias+19+fixedDigits)<<mantissaBits) // c·2³⁰
	t := int64(c * quickLog(next&^3))
	if uint64(t)&(1<<fixedDigits-1)-fixedMargin >= 1<<fixedDigits-2*fixedMargin {
		return d.exactSteps(src, step)
	}
	st.left -= 16
	clear(words)
	g := int64(w>>(64-m)) + t>>fixedDigits<<m
	return withSign((g+1)>>1, next), step
}

// exactSteps is draw without the quick path.
func (d Laplace) exactSteps(src *Source, step float64) (k int64, unit float64) {
	b, ok := gridScale(d.formulas.scale, step)
	if !ok {
		return unbuiltInt(src), math.NaN()
	}
	// ⌊|X| + ½⌋ = ⌊(⌊2|X|⌋ + 1)/2⌋ in steps, and ⌊2|X|⌋ is geometric.
	g, coins := geometric(src, 2*b)
	return withSign((g+1)>>1, coins), step
}

// laplaceFormulas are those of a Laplace of a scale.
type laplaceFormulas struct{ scale float64 }

func (d laplaceFormulas) valid() bool { return d.scale > 0 }

func (d laplaceFormulas) upper(x float64) float64 { return expNeg(divide(x, d.scale)) / 2 }

func (d laplaceFormulas) logUpper(x float64) float64 {
	q, _ := divide(x, d.scale)
	return -q - math.Ln2
}

func (d laplaceFormulas) upperQuantile(p float64) float64 { return -d.scale * exact.Log(2*p) }

func (d laplaceFormulas) density(x float64) float64 { return expNeg(divide(x, d.scale)) / 2 / d.scale }

func (d laplaceFormulas) logDensity(x float64) float64 {
	return -x/d.scale - math.Log(2*d.scale)
}

func (d laplaceFormulas) variance() float64 { return 2 * d.scale * d.scale }

func (d laplaceFormulas) meanAbs() float64 { return d.scale }
