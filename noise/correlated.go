package noise

import (
	"cmp"
	"math"
	"math/big"
	"math/bits"

	"github.com/dpsketch/dpsketch/internal/exact"
)

// CorrelatedGaussian is noise that is partly the same for all keys: Z + Nᵢ for key i, with one Z ~
// N(0, s²) and an own Nᵢ ~ N(0, σ²) each, independent. A release whose neighbours differ by v ∈ ℝᵈ
// is ρ-zCDP with
//
//	ρ = (‖v‖₂² − s²·(v₁ + … + v_d)²/(σ² + d·s²))/(2σ²).
//
// If all changes have one sign and a size of at most 1, s² = σ²/√d needs, for large d, half the
// standard deviation of independent noise (Lebeda, arXiv 2408.07853; for sparse histograms Lebeda
// and Retschmeier, arXiv 2412.10357).
type CorrelatedGaussian struct{ shared, own float64 }

// NewCorrelatedGaussian returns the distribution with s = shared, which may be 0, and σ = own.
func NewCorrelatedGaussian(shared, own float64) (CorrelatedGaussian, error) {
	return made(CorrelatedGaussian{shared + 0, own}, cmp.Or(checkOrZero("shared", shared), checkParam("own", own)))
}

// Marginal returns the distribution of one key's noise, N(0, s² + σ²).
func (d CorrelatedGaussian) Marginal() Gaussian { return gaussian(math.Hypot(d.shared, d.own)) }

// Sampler draws Z and returns a function that draws Z + Nᵢ for one key after the other, rounded to
// the nearest multiple of step; all results together are exact. Each release needs its own Sampler,
// for all its keys. The function holds Z, which is secret, and reads src; it serves one goroutine
// at a time. All results are NaN unless s/step and σ/step are at most 2⁴⁶.
func (d CorrelatedGaussian) Sampler(src *Source, step float64) func() float64 {
	sample, _ := d.SamplerBeside(src, step, d.own)
	return sample
}

// SamplerBeside is [CorrelatedGaussian.Sampler] for keys and for other numbers: the second function
// draws Z + M with the same Z, M of standard deviation otherOwn, otherOwn/step at most 2⁴⁶.
func (d CorrelatedGaussian) SamplerBeside(src *Source, step, otherOwn float64) (key, other func() float64) {
	own, ok := gridScale(d.own, step)
	second, secondOK := gridScale(otherOwn, step)
	shared, sharedOK := 0.0, true
	if d.shared != 0 {
		shared, sharedOK = gridScale(d.shared, step)
	}
	if !ok || !secondOK || !sharedOK {
		none := func() float64 { return math.NaN() }
		return none, none
	}
	toShared := newGridUnits(shared)
	var z normalDraw
	if d.shared != 0 {
		z = drawNormal(src)
	}
	least, most := toShared.interval(&z)
	sampler := func(own float64) func() float64 {
		toOwn := newGridUnits(own)
		return func() float64 {
			n := drawNormal(src)
			if n.m < stripEnd && z.m < stripEnd {
				lo, hi := toOwn.interval(&n)
				if v, decided := roundSum(least.Plus(lo), most.Plus(hi)); decided {
					return float64(v) * step
				}
			}
			return float64(roundSumLazily(src, shared, &z, own, &n)) * step
		}
	}
	return sampler(own), sampler(second)
}

// gridUnits multiplies by a scale b in [0, 2⁴⁶], in units of 2⁻⁷⁴.
type gridUnits struct {
	mantissa    uint64
	left, right uint // b = mantissa·2^(left−right−16), one of the two 0
}

func newGridUnits(b float64) gridUnits {
	frac, exp := math.Frexp(b)
	shift := exp - 53 + 74 - fractions // at most 10
	return gridUnits{uint64(frac * (1 << 53)), uint(max(shift, 0)), uint(max(-shift, 0))}
}

// interval returns the ends of an interval that holds b times the number, whatever the digits after
// those of m, for m < stripEnd.
func (u gridUnits) interval(z *normalDraw) (least, most exact.Int128) {
	// [m, m+1]/2⁵⁸·b in units of 2⁻⁷⁴ is [product, product + mantissa]·2^(left−right), product <
	// 2¹¹⁴ and all at most 2¹²³: the sum of two of them fits. The shift to the right takes off less
	// than 1 at each end.
	hi, lo := bits.Mul64(z.m, u.mantissa)
	width := u.mantissa << u.left
	if u.right > 0 && u.mantissa > 0 {
		width = u.mantissa>>u.right + 2
	}
	least = exact.Int128{Hi: int64(hi<<u.left | lo>>(64-u.left)), Lo: lo << u.left}
	if u.right >= 64 {
		least = exact.Int128{Lo: hi >> (u.right - 64)}
	} else if u.right > 0 {
		least = exact.Int128{Hi: int64(hi >> u.right), Lo: hi<<(64-u.right) | lo>>u.right}
	}
	most = least.Plus(exact.Int128{Lo: width})
	if z.negative {
		return exact.Int128{}.Minus(most), exact.Int128{}.Minus(least)
	}
	return least, most
}

// roundSum returns ⌊x/2⁷⁴ + ½⌋ if it is the same for both ends x of an interval.
func roundSum(least, most exact.Int128) (v int64, decided bool) {
	const half = 1 << 9 // of 2⁻⁷⁴·2⁷³, in the upper word
	first, last := (least.Hi+half)>>10, (most.Hi+half)>>10
	return first, first == last
}

// roundSumLazily is roundSum in rational arithmetic: ⌊b·Z + c·N + ½⌋, drawing more digits of both
// until it is decided. Z keeps what was drawn of it.
func roundSumLazily(src *Source, b float64, z *normalDraw, c float64, n *normalDraw) int64 {
	return settle(src, func() (int64, bool) {
		// Ends on a boundary have probability 0: at worst one more digit is asked for.
		zLeast, zMost := z.bounds(b)
		nLeast, nMost := n.bounds(c)
		least, most := roundRat(zLeast.Add(zLeast, nLeast)), roundRat(zMost.Add(zMost, nMost))
		return least.Int64(), least.Cmp(most) == 0
	}, n.known(), z.known())
}

// bounds returns the ends of the interval that b times the number is known to lie in.
func (z *normalDraw) bounds(b float64) (least, most *big.Rat) {
	scale := new(big.Rat).SetFloat64(b)
	least, most = z.known().lower(), z.known().upper()
	least.Mul(least, scale)
	most.Mul(most, scale)
	if z.negative {
		return most.Neg(most), least.Neg(least)
	}
	return least, most
}
