package quantile

import (
	"math"
	"math/bits"
)

// The exponential mechanism for a quantile (Smith, STOC 2011), in integers.
//
// The score of a candidate r is its distance in ranks from the wanted rank t: with lo = #{x < r}
// and hi = #{x ≤ r}, score(r) = max(lo − t, t − hi, 0). A candidate has the probability
// base(r)·w(score(r)) over the sum of all of these, where base is public and w has positive
// integers as values with
//
//	w(s) ≥ w(s+1) ≥ e^{−c}·w(s).                                                             (1)
//
// Theorem. If neighbouring inputs never change a score by more than u, the release is ρ-zCDP with
// ρ = (2cu)²/8.
//
// Proof. By (1) each ln w(score(r)) changes by at most cu in either direction, so the privacy loss
// ln P(r)/Q(r), which is this change plus the logarithm of a quotient of sums that is the same for
// all r, lies in an interval of length ε = 2cu. Let K(s) = ln E_Q (P/Q)^s. Then K(0) = K(1) = 0,
// and K″(s) is the variance of the loss under some law, at most ε²/4 (Popoviciu). So
// K(s) − ε²·s(s−1)/8 is concave and 0 at s = 0 and 1, hence not positive at s = α > 1, and the
// Rényi divergence K(α)/(α−1) is at most αε²/8. ∎
//
// Neither the base measure nor the axis, nor how the weights fall off, matters to the proof; only
// (1) does, and integers have it exactly.
//
// What u is. Under replacement with t fixed, lo and hi change by at most 1: u = 1 and c = √(2ρ).
// With t = qn, n changing with one row added, lo − t and hi − t change by −q or 1 − q: u = max(q,
// 1−q), c = √(2ρ)/max(q, 1−q), twice as much at the median. Where t = qn and n may stay or change
// (rows of norm 0 do not count, see limit.go), u = 1; and where a number of values above is wanted.
// The maximum of three functions changes by no more than they do.

// Weights is the function w of scores in units of 1/den ranks. table[a] is w(a·2^shift). Between
// these points w is linear, and behind the last it is constant.
type Weights struct {
	table    []uint64
	shift    uint
	num, den int64   // the wanted quantile, if the wanted rank is num/den of all values
	fixed    float64 // the wanted quantile, if the number of values is fixed; else NaN
	above    int64   // if positive, how many values are wanted above the released one
}

// levels is the denominator to which quantiles are rounded where ranks are in proportion, so that
// scores are integers. It is fine enough for the quantiles near 1 at which the published mechanisms
// clip.
const levels = 1 << 16

// Change says how ranks and the wanted rank can change between neighbours.
type Change uint8

const (
	Replaced Change = iota // one row by another, the number of rows fixed
	Added                  // one row more or less, the wanted rank being in proportion
	Either                 // one of the two
)

const (
	topWeight     = 1 << 62
	steepestScore = 44 // the largest exponent: w falls from the top to its end at once
	// the largest exponent of a step of the table that stands for several scores
	finest = 0x1p-10
)

// NewWeights returns the table for one quantile among n values with budget rho.
func NewWeights(rho, quantile float64, ch Change, n int) *Weights {
	w := &Weights{num: int64(math.Round(quantile * levels)), den: levels, fixed: math.NaN()}
	for w.num%2 == 0 && w.den > 1 {
		w.num, w.den = w.num/2, w.den/2
	}
	if ch == Replaced {
		w.num, w.den, w.fixed = 0, 1, quantile
	}
	w.build(w.exponent(rho, ch), n)
	return w
}

// NewAbove returns the table for a value that k of at most n values exceed, with budget rho. The
// wanted rank is #values − k, so the score is max(#{x > r} − k, k − #{x ≥ r}, 0). One row changes
// each of these by at most 1, whether it is replaced, added or removed.
func NewAbove(rho float64, k, n int64) *Weights {
	w := &Weights{den: 1, fixed: math.NaN(), above: k}
	w.build(w.exponent(rho, Either), int(max(k, n)))
	return w
}

// exponent returns c per unit of score, rounded down.
func (w *Weights) exponent(rho float64, ch Change) float64 {
	u := w.den
	if ch == Added {
		u = max(w.num, w.den-w.num)
	}
	return math.Sqrt(2*rho) / float64(u) * (1 - 0x1p-48)
}

// build fills the table up to where w no longer decreases, or up to the largest score of n values.
//
// drop is at most κ·2⁶⁴, κ = 1 − e^{−c}, by a relative 2⁻⁴⁸ that covers the errors of Expm1. Where
// c is large a step of the table is one score, and w(s) − ⌊w(s)·drop/2⁶⁴⌋ ≥ e^{−c}·w(s). Else it is
// B = 2^shift scores, cB ≤ 2⁻¹⁰, over which w falls by the same integer f each: f ≤ κW(1 − κB) with
// W the first value, so f(1 + κB) ≤ κW, which is f ≤ κ(W − Bf), and W − Bf is the last. The table
// has some 2¹⁶ numbers however small c is.
func (w *Weights) build(c float64, n int) {
	drop := uint64(-math.Expm1(-min(c, steepestScore)) * (1 - 0x1p-48) * 0x1p64)
	for w.shift = 0; w.shift < 40 && c*math.Ldexp(2, int(w.shift)) <= finest; {
		w.shift++
	}
	most := int64(n) * w.den >> w.shift
	w.table = append(make([]uint64, 0, min(max(most, 0)+2, 1<<12)), topWeight)
	for last := uint64(topWeight); int64(len(w.table)) <= most+1; {
		fall, _ := bits.Mul64(last, drop)
		if w.shift > 0 {
			less, _ := bits.Mul64(fall, drop<<w.shift)
			fall -= min(less+1, fall)
		}
		if fall == 0 {
			break
		}
		last -= fall << w.shift
		w.table = append(w.table, last)
	}
}

// Target returns the wanted rank among n values, in units.
func (w *Weights) Target(n int64) int64 {
	switch {
	case w.above > 0:
		return n - w.above
	case w.fixed >= 0:
		return int64(math.Round(w.fixed * float64(n)))
	}
	return w.num * n
}

// Score returns the distance, in units, of the wanted rank from the ranks lo to hi.
func (w *Weights) Score(target, lo, hi int64) int64 {
	return max(lo*w.den-target, target-hi*w.den, 0)
}

// At returns w(score).
func (w *Weights) At(score int64) uint64 {
	a := score >> w.shift
	if a >= int64(len(w.table)-1) {
		return w.table[len(w.table)-1]
	}
	first := w.table[a]
	return first - (first-w.table[a+1])>>w.shift*uint64(score&(1<<w.shift-1))
}
