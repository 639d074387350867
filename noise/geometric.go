package noise

import (
	"math"
	"math/big"

	"github.com/dpsketch/dpsketch/internal/exact"
)

// Geometric is the distribution with Pr[X ≥ k] = e^{−k/b} for integers k ≥ 0: the exponential
// distribution of mean b rounded down. It is memoryless.
type Geometric struct{ integer[geometricFormulas] }

// NewGeometric returns the distribution of scale b.
func NewGeometric(scale float64) (Geometric, error) {
	return made(Geometric{integer[geometricFormulas]{geometricFormulas{scale}}}, checkDiscrete("scale", scale))
}

// Scale returns b.
func (d Geometric) Scale() float64 { return d.formulas.scale }

// SampleInt draws X.
func (d Geometric) SampleInt(src *Source) int64 {
	if !d.formulas.valid() {
		return unbuiltInt(src)
	}
	k, _ := geometric(src, d.formulas.scale)
	return k
}

// Sample draws X, NaN unless b ≤ 2⁴⁶·max(step, 1).
func (d Geometric) Sample(src *Source, step float64) float64 {
	if !integerGrid(d.formulas.scale, step) {
		return math.NaN()
	}
	return roundInt(d.SampleInt(src), step)
}

func (d Geometric) draws(step float64) bool { return integerGrid(d.formulas.scale, step) }

// geometric draws G ≥ 0 with Pr[G ≥ g] = e^{−g/b} exactly, for the float64 b itself, 0 ≤ b ≤ 2⁵²,
// and two fair coins besides, in the lowest bits of coins.
func geometric(src *Source, b float64) (g int64, coins uint64) { return geometricBy(src, b, 0) }

// geometricRate draws G with Pr[G ≥ g] = e^{−g·rate} exactly, for a rate in [2⁻³⁰, 2⁹].
func geometricRate(src *Source, rate float64) int64 {
	g, _ := geometricBy(src, 1/rate, rate)
	return g
}

// geometricBy is both: b is exact where rate is 0, and else 1/rate, which may not be a float64; the
// two logarithms allow for that rounding.
//
// For b ≥ 2²⁰ write G = u + 2^m·v with 2^m ≤ b/2¹⁹ < 2^{m+1}. The distribution factors: u in [0,
// 2^m) has Pr ∝ e^{−u/b}, drawn by rejection from the uniform distribution, and v is geometric with
// b/2^m < 2²⁰ in place of b. So the digits that a float64 logarithm could not settle are drawn as
// integers.
func geometricBy(src *Source, b, rate float64) (g int64, coins uint64) {
	if b < 0x1p20 {
		w := src.Uint64()
		return geometricLog(src, w, b, rate), w
	}
	const mantissa, bias = 52, 1023 // of a float64
	m := uint(math.Float64bits(b)>>mantissa) - bias - 19
	rest := 64 - m
	for {
		w, next := src.pair()
		u := int64(w >> rest)
		// The other digits of w are the first of U, and u is accepted if U < e^{−u/b}. As u/b <
		// 2⁻¹⁹ that holds unless U ≥ 1 − 2⁻¹⁹.
		const ones = 1<<19 - 1
		w &= 1<<rest - 1
		if w>>(rest-19) == ones && !newLazy(w, rest).belowExp(src, ratioBy(u, b, rate)) {
			continue
		}
		// b/2^m
		v := geometricLog(src, next, math.Float64frombits(math.Float64bits(b)-uint64(m)<<mantissa), rate*float64(uint64(1)<<m))
		return u + v<<m, next
	}
}

// negligible is a b below which geometric is 0, except with probability e^{−2^1000}; 1/b may
// overflow there.
const negligible = 0x1p-1000

// geometricLog is geometricBy for b < 2²⁰: the integer part of b·(−ln U), U with all digits of w
// except the last two, and more. A quick logarithm decides it unless b·(−ln U) is within its error
// of an integer, then math.Log likewise; then U is compared exactly.
func geometricLog(src *Source, w uint64, b, rate float64) int64 {
	if b < negligible {
		return 0
	}
	if floor, decided := quickFloor(w, b, 0); decided {
		return floor
	}
	if floor, decided := floorLog(w, b, 0); decided {
		return floor
	}
	return geometricExact(src, newLazy(w>>2, 62), b, rate)
}

// geometricExact returns the largest v with U < e^{−v/b}.
func geometricExact(src *Source, uniform *lazy, b, rate float64) int64 {
	return exact.LeastInt(1, func(v int64) bool { return !uniform.belowExp(src, ratioBy(v, b, rate)) }) - 1
}

// ratio returns n/b.
func ratio(n int64, b float64) *big.Rat {
	x := new(big.Rat).SetFloat64(b)
	return x.Quo(new(big.Rat).SetInt64(n), x)
}

// ratioBy returns n/b for the b of geometricBy.
func ratioBy(n int64, b, rate float64) *big.Rat {
	if rate == 0 {
		return ratio(n, b)
	}
	return new(big.Rat).Mul(new(big.Rat).SetInt64(n), exact.Rat(rate))
}

// geometricFormulas are those of a Geometric.
type geometricFormulas struct{ scale float64 }

func (d geometricFormulas) valid() bool { return d.scale > 0 }

// decay returns q = e^{−1/b}, the ratio of neighbouring masses.
func (d geometricFormulas) decay() float64 { return expNeg(divide(1, d.scale)) }

// zero returns Pr[X = 0] = 1 − q.
func (d geometricFormulas) zero() float64 { return -math.Expm1(-1 / d.scale) }

func (d geometricFormulas) atMost(j float64) float64 {
	if j < 0 {
		return 0
	}
	return -math.Expm1(-(j + 1) / d.scale)
}

func (d geometricFormulas) above(j float64) float64 {
	if j < 0 {
		return 1
	}
	return expNeg(divide(j, d.scale)) * d.decay() // j + 1 may not be a float64
}

func (d geometricFormulas) logAbove(j float64) float64 {
	if j < 0 {
		return 0
	}
	return -(j + 1) / d.scale
}

func (d geometricFormulas) quantile(p float64) float64 {
	if p == 0 {
		return 0
	}
	// e^{−(k+1)/b} ≤ 1 − p: a guess that is off by rounding only.
	guess := math.Ceil(-d.scale*math.Log1p(-p)) - 1
	return settleQuantile(max(guess, 0), p, d)
}

func (d geometricFormulas) mean() float64 { return d.decay() / d.zero() }

func (d geometricFormulas) variance() float64 { return d.mean() / d.zero() }

func (d geometricFormulas) meanAbs() float64 { return d.mean() }

func (d geometricFormulas) mass(j float64) float64 {
	if j < 0 {
		return 0
	}
	return expNeg(divide(j, d.scale)) * d.zero()
}

func (d geometricFormulas) logMass(j float64) float64 {
	if j < 0 {
		return math.Inf(-1)
	}
	return -j/d.scale + math.Log(d.zero())
}
