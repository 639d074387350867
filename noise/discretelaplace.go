package noise

import (
	"encoding/binary"
	"math"
	"math/big"

	"github.com/dpsketch/dpsketch/internal/exact"
)

// DiscreteLaplace is the two-sided geometric distribution on the integers, Pr[X = k] =
// tanh(1/(2b))·e^{−|k|/b}, b the scale. Noise of scale Δ₁/ε makes an integer release of ℓ₁
// sensitivity Δ₁ ε-differentially private (Ghosh, Roughgarden, Sundararajan, STOC 2009).
//
// With q = e^{−1/b} the variance is 2q/(1−q)² = 1/(2·sinh²(1/(2b))), a little below 2b², and E|X| =
// 2q/(1−q²) = 1/sinh(1/b), a little below b. In the tails CDF, Survival and LogSurvival have a
// relative error of 1e-15.
//
// All methods take and return public numbers. They return NaN for a NaN and on the zero
// DiscreteLaplace, which [NewDiscreteLaplace] returns only with an error.
type DiscreteLaplace struct {
	integer[discreteLaplaceFormulas]
}

// NewDiscreteLaplace returns the discrete Laplace distribution of the given scale, in units of the
// integer grid. The error wraps [ErrParams] unless scale is in [2⁻⁹⁰⁰, 2⁵⁰].
func NewDiscreteLaplace(scale float64) (DiscreteLaplace, error) {
	if err := checkDiscrete("scale", scale); err != nil {
		return DiscreteLaplace{}, err
	}
	return discreteLaplace(scale), nil
}

// discreteLaplace is the only way to make one: shift is ln(2/(1+q)) to within 2⁻⁴⁹, q = e^{−1/b},
// of which SampleInt makes use.
func discreteLaplace(scale float64) DiscreteLaplace {
	return DiscreteLaplace{integer[discreteLaplaceFormulas]{discreteLaplaceFormulas{scale, -math.Log1p(math.Expm1(-1/scale) / 2)}}}
}

// Scale returns b.
func (d DiscreteLaplace) Scale() float64 { return d.formulas.scale }

// SampleInt draws X. Every integer k has probability exactly tanh(1/(2·scale))·e^{−|k|/scale}, for
// the scale given as a float64. For the zero DiscreteLaplace, which is no distribution, the draw is
// uniform over all int64.
func (d DiscreteLaplace) SampleInt(src *Source) int64 {
	// the quick path (see laplace.go): quickFloor in one piece
	if src.state == nil || !(d.formulas.valid() && d.formulas.scale < 0x1p20) {
		return d.exactInt(src)
	}
	st := *src.state
	offset := bufferBytes - uint(st.left)
	if offset > bufferBytes-8 {
		return d.exactInt(src)
	}
	word := st.buf[offset : offset+8 : offset+8]
	w := binary.NativeEndian.Uint64(word)
	if w < leastQuick {
		return d.exactInt(src)
	}
	t, err := d.formulas.scale*(quickLog(w&^3)+d.formulas.shift), d.formulas.scale*quickMargin
	k := int64(t - err)
	if k != int64(t+err) {
		return d.exactInt(src)
	}
	st.left -= 8
	binary.NativeEndian.PutUint64(word, 0)
	return withSign(k, w)
}

// exactInt is SampleInt without the quick path.
func (d DiscreteLaplace) exactInt(src *Source) int64 {
	if !d.formulas.valid() {
		return unbuiltInt(src)
	}
	if d.formulas.scale < 0x1p20 {
		return twoSided(src, d.formulas.scale, d.formulas.shift)
	}
	for {
		// 0 comes with either sign: keep it half the time.
		if k, coins := geometric(src, d.formulas.scale); k != 0 || coins&2 != 0 {
			return withSign(k, coins)
		}
	}
}

// Sample draws X, an integer, and rounds it to a multiple of step, halves up. Where step ≤ 1
// nothing is rounded. The draw is exact (see [DiscreteLaplace.SampleInt]).
//
// step must be a power of two and scale ≤ 2⁴⁶·max(step, 1), so that the result is exact in a
// float64; otherwise the result is NaN.
func (d DiscreteLaplace) Sample(src *Source, step float64) float64 {
	if !integerGrid(d.formulas.scale, step) {
		return math.NaN()
	}
	return roundInt(d.SampleInt(src), step)
}

func (d DiscreteLaplace) draws(step float64) bool { return integerGrid(d.formulas.scale, step) }

// twoSided draws from the discrete Laplace distribution of scale b < 2²⁰ without rejection,
// exactly.
//
// With q = e^{−1/b}, Pr[|K| ≥ n] = 2qⁿ/(1+q) for n ≥ 1, and for n = 0 that is at least 1. So |K| is
// the largest n ≥ 0 with U < 2qⁿ/(1+q), which is ⌊b·(−ln U + shift)⌋, shift = ln(2/(1+q)) ≥ 0, and
// its sign is a fair coin, which does nothing to 0.
func twoSided(src *Source, b, shift float64) int64 {
	w := src.Uint64() // U without the last two digits; the last is the coin
	if b < negligible {
		return 0
	}
	if k, decided := quickFloor(w, b, shift); decided {
		return withSign(k, w)
	}
	if k, decided := floorLog(w, b, shift); decided {
		return withSign(k, w)
	}
	return withSign(twoSidedExact(src, newLazy(w>>2, 62), b), w)
}

// twoSidedExact returns the largest n ≥ 0 with U < 2qⁿ/(1+q).
func twoSidedExact(src *Source, uniform *lazy, b float64) int64 {
	return exact.LeastInt(1, func(n int64) bool { return !uniform.belowTwoSided(src, n, b) }) - 1
}

// belowTwoSided decides U·(1+q) < 2qⁿ.
func (l *lazy) belowTwoSided(src *Source, n int64, b float64) bool {
	for {
		if below, decided := l.compareTwoSided(n, b); decided {
			return below
		}
		l.refine(src)
	}
}

// compareTwoSided compares U·(1+q) with 2qⁿ.
func (l *lazy) compareTwoSided(n int64, b float64) (below, decided bool) {
	const guard = 64
	prec := l.bits + guard
	one, q, power := exact.One(prec), exact.ExpNeg(ratio(1, b), prec), exact.ExpNeg(ratio(n, b), prec)
	// In units of 2^−(prec + bits).
	least := new(big.Int).Add(one, q.Lo)
	if least.Mul(least, l.n).Cmp(new(big.Int).Lsh(power.Hi, l.bits+1)) >= 0 {
		return false, true
	}
	most := new(big.Int).Add(l.n, big.NewInt(1))
	most.Mul(most, one.Add(one, q.Hi))
	return true, most.Cmp(new(big.Int).Lsh(power.Lo, l.bits+1)) <= 0
}

// discreteLaplaceFormulas are those of a DiscreteLaplace.
type discreteLaplaceFormulas struct{ scale, shift float64 }

func (d discreteLaplaceFormulas) valid() bool { return d.scale > 0 }

// decay returns q = e^{−1/b}, the ratio of neighbouring masses.
func (d discreteLaplaceFormulas) decay() float64 { return expNeg(divide(1, d.scale)) }

// atLeast returns Pr[X ≥ k] = e^{−k/b}/(1+q) for an integer k ≥ 1.
func (d discreteLaplaceFormulas) atLeast(k float64) float64 {
	return expNeg(divide(k, d.scale)) / (1 + d.decay())
}

// over returns Pr[X > j] = e^{−j/b}·q/(1+q) for an integer j ≥ 0.
func (d discreteLaplaceFormulas) over(j float64) float64 {
	q := d.decay()
	return expNeg(divide(j, d.scale)) * (q / (1 + q))
}

func (d discreteLaplaceFormulas) atMost(j float64) float64 {
	if j < 0 {
		return d.atLeast(-j)
	}
	return 1 - d.over(j)
}

func (d discreteLaplaceFormulas) above(j float64) float64 {
	if j < 0 {
		return 1 - d.atLeast(-j)
	}
	return d.over(j)
}

func (d discreteLaplaceFormulas) logAbove(j float64) float64 {
	if j < 0 {
		return math.Log1p(-d.atLeast(-j))
	}
	return -(j+1)/d.scale - math.Log1p(d.decay())
}

func (d discreteLaplaceFormulas) quantile(p float64) float64 {
	// With n = −k, Pr[X ≤ k] = e^{−n/b}/(1+q) for n ≥ 1: a guess that is off by rounding only.
	tail := d.scale * (exact.Log(min(p, 1-p)) + math.Log1p(d.decay()))
	if p <= 0.5 {
		return settleQuantile(math.Ceil(min(tail, 0)), p, d)
	}
	return settleQuantile(math.Ceil(max(-tail-1, 0)), p, d)
}

func (d discreteLaplaceFormulas) mean() float64 { return 0 }

func (d discreteLaplaceFormulas) variance() float64 {
	h := 1 / math.Sinh(0.5/d.scale)
	return h * h / 2
}

func (d discreteLaplaceFormulas) meanAbs() float64 { return 1 / math.Sinh(1/d.scale) }

func (d discreteLaplaceFormulas) mass(j float64) float64 {
	return expNeg(divide(math.Abs(j), d.scale)) * math.Tanh(0.5/d.scale)
}

func (d discreteLaplaceFormulas) logMass(j float64) float64 {
	return -math.Abs(j)/d.scale + math.Log(math.Tanh(0.5/d.scale))
}
