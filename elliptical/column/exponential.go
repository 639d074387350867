package column

import (
	"math"
	"math/big"
	"math/bits"

	"github.com/dpsketch/dpsketch/internal/round"
	"github.com/dpsketch/dpsketch/noise"
)

// One quantile of the rows in a part of the axis is chosen by the exponential mechanism: place x
// with probability in proportion to exp(−κ·|d|), where d = (rows before x) − q·(rows). A row more
// changes d by 1 − q or −q, so each weight by a factor of at most exp(κ·max(q, 1−q)), and κ·max(q,
// 1−q) = loss/2. On the machine:
//
//   - q is a multiple of 2⁻²⁴, so that 2²⁴·d is an integer, and exact;
//   - the weight is the float64 that math.Exp returns, to a relative 2⁻⁴⁵ of the exact one, and at
//     least 2⁻¹³⁰: a maximum with a constant keeps the factors. The loss is reduced by 2⁻⁴³ for the
//     former;
//   - κ is at most 8, which costs no accuracy: so the best place, with |d| ≤ 1, weighs 2⁻¹² or
//     more, and the at most 2⁶² places that weigh 2⁻¹³⁰ have a probability below 2⁻⁵⁶;
//   - a float64 of at least 2⁻¹³⁰ is an integer times 2⁻¹⁸², so the sums of weights times numbers
//     of places are exact integers, and the draw is exact.
//
// Where |d| is so large that the weight is 2⁻¹³⁰ places count alike, so of all rows only those near
// the quantile are looked at, 184/κ of them.

const (
	levelBits   = 24
	floorBits   = 130
	leastWeight = 0x1p-130
	maxKappa    = 8
	unitBits    = floorBits + 52
)

// ordered are rows in the order of their places.
type ordered interface {
	place(rank int64) int64
	below(x int64) int64
}

// part is an interval of places with the rows in it, of which a quantile is wanted.
type part struct {
	from, to    int64 // places from ≤ x < to
	first, last int64 // rows of rank first ≤ r < last
	level       int64 // q·2²⁴, in (0, 2²⁴)
	kappa       float64
}

// newPart returns the part for a level q in (0, 1).
func newPart(from, to, first, last int64, q, loss float64) part {
	const whole = 1 << levelBits
	a := min(max(int64(math.Round(q*whole)), 1), whole-1)
	share := float64(max(a, whole-a)) / whole
	return part{from, to, first, last, a, min((loss/2-0x1p-43)/share*round.Down, maxKappa)}
}

// segment are places next to each other with the same weight.
type segment struct {
	from, length int64
	weight       float64
}

// mass returns the sum of the weights, in units of 2⁻¹⁸².
func (s segment) mass() *big.Int {
	x := integer(s.weight)
	return x.Mul(x, big.NewInt(s.length))
}

// weight returns that of a place with so many rows of the part before it.
func (p part) weight(before int64) float64 {
	// |before·2²⁴ − level·rows|, exactly
	h1, l1 := bits.Mul64(uint64(before), 1<<levelBits)
	h2, l2 := bits.Mul64(uint64(p.level), uint64(p.last-p.first))
	if h1 < h2 || h1 == h2 && l1 < l2 {
		h1, l1, h2, l2 = h2, l2, h1, l1
	}
	lo, borrow := bits.Sub64(l1, l2, 0)
	d := math.Ldexp(float64(h1-h2-borrow), 64-levelBits) + math.Ldexp(float64(lo), -levelBits)
	return max(math.Exp(-p.kappa*d), leastWeight)
}

// integer returns a weight in units of 2⁻¹⁸².
func integer(weight float64) *big.Int {
	fraction, exp := math.Frexp(weight)
	x := big.NewInt(int64(math.Ldexp(fraction, 53)))
	return x.Lsh(x, uint(exp-53+unitBits))
}

// segments returns the weights of all places of the part.
func (p part) segments(rows ordered) (all []segment) {
	n := p.last - p.first
	add := func(from, to int64, weight float64) { // from ≤ x ≤ to
		if to >= from {
			all = append(all, segment{from, to - from + 1, weight})
		}
	}
	// Place x has j rows before it where (row j−1) < x ≤ (row j).
	target := float64(p.level) / (1 << levelBits) * float64(n)
	reach := 92/p.kappa + 2 // e⁻⁹² < 2⁻¹³⁰
	least, most := int64(0), n
	if target-reach > 0 {
		least = int64(target - reach)
	}
	if target+reach < float64(n) {
		most = int64(target + reach)
	}
	next := p.from
	if least > 0 {
		end := rows.place(p.first + least - 1)
		add(next, end, leastWeight)
		next = end + 1
	}
	for j := least; j <= most; j++ {
		end := p.to - 1
		if j < n {
			end = rows.place(p.first + j)
		}
		add(next, end, p.weight(j))
		next = max(next, end+1)
	}
	add(next, p.to-1, leastWeight)
	return all
}

// choose draws a place, each with probability in proportion to its weight.
func choose(all []segment, src *noise.Source) int64 {
	total := new(big.Int)
	for _, s := range all {
		total.Add(total, s.mass())
	}
	u := below(total, src)
	for _, s := range all {
		whole := s.mass()
		if u.Cmp(whole) < 0 {
			return s.from + u.Div(u, integer(s.weight)).Int64()
		}
		u.Sub(u, whole)
	}
	return all[0].from // not reached
}

// below returns a uniform integer in [0, n), by rejection.
func below(n *big.Int, src *noise.Source) *big.Int {
	length := new(big.Int).Sub(n, big.NewInt(1)).BitLen()
	for {
		u := new(big.Int)
		for range (length + 63) / 64 {
			u.Lsh(u, 64)
			u.Or(u, new(big.Int).SetUint64(src.Uint64()))
		}
		u.Rsh(u, uint((length+63)/64*64-length))
		if u.Cmp(n) < 0 {
			return u
		}
	}
}

// chooser draws a place of a part.
type chooser func(part) int64

// quantiles finds the levels in ascending order: the middle one first, then those of the rows on
// its either side (Kaplan, Schnapp, Stemmer, ICML 2022). It returns their places.
func quantiles(rows ordered, places, n int64, levels []float64, loss float64, draw chooser) []int64 {
	found := make([]int64, len(levels))
	var within func(from, to int, lo, hi, first, last int64, below, above float64)
	within = func(from, to int, lo, hi, first, last int64, below, above float64) {
		if from == to {
			return
		}
		middle := (from + to) / 2
		x := lo
		if lo < hi {
			x = draw(newPart(lo, hi, first, last, (levels[middle]-below)/(above-below), loss))
		}
		cut := first
		if lo < hi {
			cut = rows.below(x)
		}
		found[middle] = x
		within(from, middle, lo, x, first, cut, below, levels[middle])
		within(middle+1, to, x, hi, cut, last, levels[middle], above)
	}
	within(0, len(levels), 0, places, 0, n, 0, 1)
	return found
}
