package rank

import (
	"math"
	"math/big"

	"github.com/dpsketch/dpsketch/internal/round"
	"github.com/dpsketch/dpsketch/internal/wide"
	"github.com/dpsketch/dpsketch/noise"
)

// One quantile of the rows in a part of the axis is chosen by the exponential mechanism: place x
// with probability in proportion to exp(−κ·d), where d = max(lo − t, t − hi, 0) is the distance of
// the wanted rank t = q·(rows) + shift from the ranks at x, lo rows being before x and hi up to it.
// A row more changes lo − t and t − hi by 1 − q, q or their negatives, so d by at most max(q, 1−q)
// and each weight by a factor of at most exp(κ·max(q, 1−q)), and κ·max(q, 1−q) = loss/2. On the
// machine:
//
//   - q is a multiple of 2⁻²⁴, so that 2²⁴·d is an integer, and exact;
//   - the weight is the float64 that math.Exp returns, to a relative 2⁻⁴⁵ of the exact one, and at
//     least 2⁻¹³⁰: a maximum with a constant keeps the factors. The loss is reduced by 2⁻⁴³ for the
//     former;
//   - κ is at most 8, which costs no accuracy; a place with d = 0, of which there is one at least,
//     weighs 1, so the at most 2⁶² places that weigh 2⁻¹³⁰ have a probability below 2⁻⁶⁷;
//   - a float64 of at least 2⁻¹³⁰ is an integer times 2⁻¹⁸², so the sums of weights times numbers
//     of places are exact integers, and the draw is exact.
//
// Where d is so large that the weight is 2⁻¹³⁰ places count alike, so of all rows only those near
// the quantile are looked at, 184/κ of them.

const (
	levelBits   = 24
	floorBits   = 130
	leastWeight = 0x1p-130
	maxKappa    = 8
	unitBits    = floorBits + 52
)

// Ordered are rows in the order of their places.
type Ordered interface {
	Place(rank int64) int64 // of the row of a rank
	Below(x int64) int64    // the number of rows before place x
}

// Part is an interval of places with the rows in it, of which a quantile is wanted.
type Part struct {
	from, to    int64 // places from ≤ x < to
	first, last int64 // rows of rank first ≤ r < last
	level       int64 // q·2²⁴, in (0, 2²⁴)
	of, shift   int64 // the wanted rank, counted from first, is q·of + shift
	kappa       float64
}

// NewPart returns the part for a level q in (0, 1).
func NewPart(from, to, first, last int64, q, loss float64) Part {
	const whole = 1 << levelBits
	a := min(max(int64(math.Round(q*whole)), 1), whole-1)
	share := float64(max(a, whole-a)) / whole
	return Part{from, to, first, last, a, last - first, 0, min((loss/2-0x1p-43)/share*round.Down, maxKappa)}
}

// Off returns by how many rows the wanted rank is off at most, but for a probability of miss: as d
// is 0 at one place at least, Pr[d > s] ≤ places·(e^−κs + 2⁻¹³⁰).
func (p Part) Off(miss float64) float64 {
	places := float64(p.to - p.from)
	return math.Log(places/(miss-places*leastWeight)) / p.kappa * round.Up
}

// Segment are places next to each other with the same weight.
type Segment struct {
	From, Length int64
	Weight       float64
}

// Mass returns the sum of the weights, in units of 2⁻¹⁸².
func (s Segment) Mass() *big.Int {
	x := integer(s.Weight)
	return x.Mul(x, big.NewInt(s.Length))
}

// weight returns that of a place with lo rows of the part before it, and hi up to it.
func (p Part) weight(lo, hi int64) float64 {
	t := wide.Product(p.level, p.of).Plus(wide.Product(p.shift, 1<<levelBits))
	d := wide.Product(lo, 1<<levelBits).Minus(t)
	if below := t.Minus(wide.Product(hi, 1<<levelBits)); d.Less(below) {
		d = below
	}
	return max(math.Exp(-p.kappa*math.Ldexp(max(d.Float64(), 0), -levelBits)), leastWeight)
}

// integer returns a weight in units of 2⁻¹⁸².
func integer(weight float64) *big.Int {
	fraction, exp := math.Frexp(weight)
	x := big.NewInt(int64(math.Ldexp(fraction, 53)))
	return x.Lsh(x, uint(exp-53+unitBits))
}

// window returns the ranks, counted from first, beyond which all weights are the least: from 0 to
// the number of rows.
func (p Part) window() (least, most int64) {
	t := float64(p.level)/(1<<levelBits)*float64(p.of) + float64(p.shift)
	reach := 92/p.kappa + 2 // e⁻⁹² < 2⁻¹³⁰
	n := p.last - p.first
	least, most = 0, n
	if t-reach > 0 {
		least = int64(t - reach)
	}
	if t+reach < float64(n) {
		most = int64(t + reach)
	}
	return least, most
}

// Segments returns the weights of all places of the part.
func (p Part) Segments(rows Ordered) (all []Segment) {
	add := func(from, to int64, weight float64) { // from ≤ x < to
		if to > from {
			all = append(all, Segment{from, to - from, weight})
		}
	}
	n := p.last - p.first
	least, most := p.window()
	next, weight := p.from, leastWeight // of the places up to the next row
	if least == 0 {
		weight = p.weight(0, 0)
	}
	for j := least; j <= most && j < n; {
		x := rows.Place(p.first + j)
		add(next, x, weight)
		lo, hi := max(rows.Below(x), p.first)-p.first, min(rows.Below(x+1), p.last)-p.first
		add(x, x+1, p.weight(lo, hi))
		next, weight, j = x+1, leastWeight, hi
		if j <= most {
			weight = p.weight(j, j)
		}
	}
	add(next, p.to, weight)
	return all
}

// Choose draws a place of the part, each with probability in proportion to its weight.
func (p Part) Choose(rows Ordered, src *noise.Source) int64 {
	all, total := p.Segments(rows), new(big.Int)
	for _, s := range all {
		total.Add(total, s.Mass())
	}
	u := below(total, src)
	for _, s := range all {
		whole := s.Mass()
		if u.Cmp(whole) < 0 {
			return s.From + u.Div(u, integer(s.Weight)).Int64()
		}
		u.Sub(u, whole)
	}
	return all[0].From // not reached
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

// Many finds the levels in ascending order among n rows: the middle one first, then those of the
// rows on its either side (Kaplan, Schnapp, Stemmer, ICML 2022). It returns their places, each as
// draw chooses it.
func Many(rows Ordered, places, n int64, levels []float64, loss float64, draw func(Part) int64) []int64 {
	found := make([]int64, len(levels))
	var within func(from, to int, lo, hi, first, last int64, below, above float64)
	within = func(from, to int, lo, hi, first, last int64, below, above float64) {
		if from == to {
			return
		}
		middle := (from + to) / 2
		x, cut := lo, first
		if lo < hi {
			x = draw(NewPart(lo, hi, first, last, (levels[middle]-below)/(above-below), loss))
			cut = rows.Below(x)
		}
		found[middle] = x
		within(from, middle, lo, x, first, cut, below, levels[middle])
		within(middle+1, to, x, hi, cut, last, levels[middle], above)
	}
	within(0, len(levels), 0, places, 0, n, 0, 1)
	return found
}
