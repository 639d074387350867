package quantile

import (
	"math"
	"sort"

	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/noise"
)

// Cell is an occupied cell of a public axis, with the total weight of the values in it.
type Cell struct {
	Index  uint32
	Weight int64 // ≥ 0
}

// Places is J of most axes: each cell is so many places, each with 1/J of the cell's weight.
const Places = 1 << 20

// Spread draws quantiles of weighted values by the exponential mechanism, exactly. The values of a
// cell are spread evenly over its places, so an atom is cut at any rank and no value needs
// randomness of its own. spread_proof.md says what a draw costs and why the arithmetic keeps it.
//
// A Spread is for one goroutine. Its zero value holds no values.
type Spread struct {
	cells    []Cell
	below    []int64 // weight of the cells before each, and the total
	places   int64   // J
	segments []segment
}

// Set takes the cells of the values, in ascending order, each of so many places: 2³² at most, and
// 2⁶² of the axis. The Spread keeps the slice, and takes from the last cells what is beyond 2⁶¹.
func (s *Spread) Set(cells []Cell, places int64) {
	s.places, s.cells, s.below = places, cells, append(s.below[:0], 0)
	total := int64(0)
	for i := range cells {
		cells[i].Weight = min(cells[i].Weight, 1<<61-total)
		total += cells[i].Weight
		s.below = append(s.below, total)
	}
}

// Cells returns the weight of the cells before the given one.
func (s *Spread) Cells(before uint32) int64 { return s.below[s.index(before)] }

// index returns the number of occupied cells before the given one.
func (s *Spread) index(cell uint32) int {
	return sort.Search(len(s.cells), func(i int) bool { return s.cells[i].Index >= cell })
}

// before returns the weight before a place, times J.
func (s *Spread) before(x int64) exact.Int128 {
	i := s.index(uint32(x / s.places))
	b := exact.Product128(s.below[i], s.places)
	if i < len(s.cells) && int64(s.cells[i].Index) == x/s.places {
		b = b.Plus(exact.Product128(s.cells[i].Weight, x%s.places))
	}
	return b
}

// levelBits is how levels are rounded: they are multiples of 2⁻²⁴, so that scores are integers.
const (
	levelBits = 24
	whole     = 1 << levelBits
)

// least is the smallest weight of a place. Where the exponential is less a place has this weight:
// a maximum with a constant changes by no larger factor.
const (
	leastBits = 130
	least     = 0x1p-130
)

// Choice is one draw: of a place in [From, To) with about Level of the weight in there before it,
// and Shift more. Everything in it is public.
type Choice struct {
	From, To int64
	Level    float64 // in [0, 1]
	Shift    int64
	Loss     float64 // ε of the draw for a unit of weight: see Loss
	// Whole says that a cell is as near to the target as its best place.
	// Without it a cell of a great weight has few places that come out, but
	// cuts it at the right rank.
	Whole bool
	Fall  Fall
	// Steep says by how much probabilities fall faster on the side of the
	// level's tail, and slower on the other: 0 or from 1 on, and 2·max(Level,
	// 1 − Level) at most.
	Steep float64
}

// Fall is a base measure: places from From on have half the weight of those before it, and half as
// much again every Every places; for Every < 0 places below From have, downwards. The zero Fall has
// the same for all.
type Fall struct{ From, Every int64 }

// mostFalls is how often the base measure falls. 2³⁷ places of 2³⁶ times the least fit a mass.
const mostFalls = 36

// falls returns how often the base measure has fallen at a place.
func (f Fall) falls(x int64) uint {
	d := x - f.From
	if f.Every < 0 {
		d = -1 - d
	}
	if f.Every == 0 || d < 0 {
		return 0
	}
	return uint(min(d/max(f.Every, -f.Every)+1, mostFalls))
}

// end returns the end of the run of places from x on where it has fallen as often.
func (f Fall) end(x int64) int64 {
	n := int64(f.falls(x))
	switch {
	case f.Every > 0 && n < mostFalls:
		return f.From + n*f.Every
	case f.Every < 0 && n > 0:
		return f.From + (n-1)*f.Every
	}
	return math.MaxInt64
}

// Loss returns the Loss of a Choice whose ε is epsilon·x for a contributor of the weight x, of any
// x ≥ smallest: what the arithmetic is off by, 2⁻⁴² a draw, is taken off. It is 0 where that is
// all.
func Loss(epsilon float64, smallest int64) float64 {
	return max(epsilon-0x1p-42/float64(smallest), 0) * exact.Down
}

// target is a Choice in numbers.
type target struct {
	from, to     int64
	begin, end   exact.Int128 // the weights before these
	want         exact.Int128 // the wanted weight before a place, times 2²⁴·J
	above, below float64      // κ of places above and below, for a unit of that
	whole        bool
	nearest      float64 // no place has a smaller exponent
	fall         Fall
}

func (s *Spread) target(c Choice) target {
	level := int64(math.Round(min(max(c.Level, 0), 1) * whole))
	base, end := s.before(c.From), s.before(c.To)
	all := end.Minus(base)
	want := base.Shl(levelBits).Plus(all.Times(level)).Plus(exact.Product128(c.Shift, s.places).Shl(levelBits))
	share := float64(max(level, whole-level)) // of 2²⁴
	kappa := c.Loss / 2 * exact.Down / (share * float64(s.places))
	steep := min(max(c.Steep, 1), 2*share/whole)
	t := target{from: c.From, to: c.To, begin: base, end: end, want: want, above: kappa * steep, below: kappa * (2 - steep), whole: c.Whole, fall: c.Fall}
	if 2*level < whole {
		t.above, t.below = t.below, t.above
	}
	t.nearest = t.outside(base, all)
	return t
}

// outside returns κ times by how much the wanted weight is outside of [b, b + w], both times J.
func (t *target) outside(b, w exact.Int128) float64 {
	b = b.Shl(levelBits)
	if t.want.Less(b) {
		return t.above * number(b.Minus(t.want))
	}
	if b = b.Plus(w.Shl(levelBits)); b.Less(t.want) {
		return t.below * number(t.want.Minus(b))
	}
	return 0
}

// number returns w ≥ 0 to a relative 2⁻⁵².
func number(w exact.Int128) float64 { return float64(w.Hi)*0x1p64 + float64(w.Lo) }

// weight returns that of a place with the exponent x: e^(−x), and 2⁻¹³⁰ at least.
func weight(x float64) float64 {
	if x > 91 { // e^−91 is less
		return least
	}
	return max(math.Exp(-x), least)
}

// exponents returns the smallest exponent that a place from ≤ x < to can have, where before and
// upTo are the weights before these ends; and, roughly, the largest.
func (s *Spread) exponents(t *target, from, to int64, before, upTo exact.Int128) (near, far float64) {
	one := to-from == 1
	if t.whole && s.places > 1 { // the cells that they are in, as far as these are in the part
		first, last := from/s.places, (to-1)/s.places
		before, upTo, one = t.begin, t.end, first == last
		if x := first * s.places; x > t.from {
			before = s.before(x)
		}
		if x := (last + 1) * s.places; x < t.to {
			upTo = s.before(x)
		}
	}
	near = t.outside(before, upTo.Minus(before))
	if one {
		return near, near
	}
	return near, max(t.outside(before, exact.Int128{}), t.outside(upTo, exact.Int128{}))
}

// Weight returns the weight of a place that a Choice has.
func (s *Spread) Weight(c Choice, x int64) float64 {
	t := s.target(c)
	return math.Ldexp(s.weight(&t, x), -int(t.fall.falls(x)))
}

// weight returns that of a place, without the base measure.
func (s *Spread) weight(t *target, x int64) float64 {
	exponent, _ := s.exponents(t, x, x+1, s.before(x), s.before(x+1))
	return weight(exponent)
}

// Draw draws a place with probability in proportion to its weight; c.From if there is none.
func (s *Spread) Draw(c Choice, src *noise.Source) int64 {
	if c.From >= c.To {
		return c.From
	}
	t := s.target(c)
	s.cut(&t)
	total := s.segments[len(s.segments)-1].sum
	for {
		u := total.below(src)
		g := &s.segments[sort.Search(len(s.segments), func(i int) bool { return u.less(s.segments[i].sum) })]
		x := g.from + int64(src.Uint64N(uint64(g.length)))
		if bound := massOf(g.bound, 1); bound.below(src).less(massOf(s.weight(&t, x), 1)) {
			return x
		}
	}
}

// cut sets the segments of a target: where the base measure is the same, those of divide.
func (s *Spread) cut(t *target) {
	s.segments = s.segments[:0]
	for from := t.from; from < t.to; {
		to := min(t.fall.end(from), t.to)
		s.divide(t, from, to, s.before(from), s.before(to))
		from = to
	}
}

// segment is a run of places with a bound on their weights.
type segment struct {
	from, length int64
	bound        float64
	sum          mass // of length·bound by the base measure, of all segments up to here
}

// divide divides the places from ≤ x < to, with the weights before and upTo before these ends, into
// segments, with bounds above most of the weights by a factor of at most e in the nearest ones; in
// others by one that grows as their weights fall, which costs little. So they are some dozens
// however many cells there are.
func (s *Spread) divide(t *target, from, to int64, before, upTo exact.Int128) {
	near, far := s.exponents(t, from, to, before, upTo)
	g := segment{from: from, length: to - from, bound: weight(near)}
	if g.length > 1 && g.bound > least && far-near > 1+near-t.nearest {
		middle := from + g.length/2
		if i, j := s.index(uint32(from/s.places)), s.index(uint32(to/s.places)); j-i > 1 {
			middle = max(int64(s.cells[i+(j-i)/2].Index)*s.places, from+1)
		}
		b := s.before(middle)
		s.divide(t, from, middle, before, b)
		s.divide(t, middle, to, b, upTo)
		return
	}
	g.bound *= 1 + 0x1p-40 // for Exp, which need not be monotone to the last bit
	g.sum = massOf(g.bound, g.length)
	if t.fall != (Fall{}) {
		g.sum = g.sum.times(mostFalls - t.fall.falls(from))
	}
	if n := len(s.segments); n > 0 {
		g.sum = g.sum.plus(s.segments[n-1].sum)
	}
	s.segments = append(s.segments, g)
}
