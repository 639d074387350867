package quantile

import (
	"math"
	"slices"
	"sort"

	"github.com/dpsketch/dpsketch/internal/round"
	"github.com/dpsketch/dpsketch/internal/wide"
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
	i, _ := slices.BinarySearchFunc(s.cells, cell, func(c Cell, cell uint32) int { return int(c.Index) - int(cell) })
	return i
}

// before returns the weight before a place, times J.
func (s *Spread) before(x int64) wide.Int {
	i := s.index(uint32(x / s.places))
	b := wide.Product(s.below[i], s.places)
	if i < len(s.cells) && int64(s.cells[i].Index) == x/s.places {
		b = b.Plus(wide.Product(s.cells[i].Weight, x%s.places))
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
// and Shift more.
type Choice struct {
	From, To int64
	Level    float64 // in [0, 1]
	Shift    int64
	Loss     float64 // ε of the draw for a unit of weight: see Loss
}

// Loss returns the Loss of a Choice whose ε is epsilon·x for a contributor of the weight x, of any
// x ≥ smallest: what the arithmetic is off by, 2⁻⁴² a draw, is taken off. It is 0 where that is
// all.
func Loss(epsilon float64, smallest int64) float64 {
	return max(epsilon-0x1p-42/float64(smallest), 0) * round.Down
}

// target is a Choice in numbers.
type target struct {
	from, to int64
	want     wide.Int // the wanted weight before a place, times 2²⁴·J
	kappa    float64  // for a unit of that
	nearest  float64  // no place has a smaller score
}

func (s *Spread) target(c Choice) target {
	level := int64(math.Round(min(max(c.Level, 0), 1) * whole))
	base := s.before(c.From)
	all := s.before(c.To).Minus(base)
	want := base.Shl(levelBits).Plus(all.Times(level)).Plus(wide.Product(c.Shift, s.places).Shl(levelBits))
	share := float64(max(level, whole-level)) // of 2²⁴
	t := target{from: c.From, to: c.To, want: want, kappa: c.Loss / 2 * round.Down / (share * float64(s.places))}
	t.nearest = t.score(base, all)
	return t
}

// score returns by how much the wanted weight is outside of [b, b + w], both times J.
func (t *target) score(b, w wide.Int) float64 {
	b = b.Shl(levelBits)
	if t.want.Less(b) {
		return number(b.Minus(t.want))
	}
	if b = b.Plus(w.Shl(levelBits)); b.Less(t.want) {
		return number(t.want.Minus(b))
	}
	return 0
}

// number returns w ≥ 0 to a relative 2⁻⁵².
func number(w wide.Int) float64 { return float64(w.Hi)*0x1p64 + float64(w.Lo) }

// weight returns that of a place with the score d: e^(−κd), and 2⁻¹³⁰ at least.
func (t *target) weight(d float64) float64 {
	x := t.kappa * d
	if x > 91 { // e^−91 is less
		return least
	}
	return max(math.Exp(-x), least)
}

// Weight returns the weight of a place that a Choice has.
func (s *Spread) Weight(c Choice, x int64) float64 {
	t := s.target(c)
	return s.weight(&t, x)
}

func (s *Spread) weight(t *target, x int64) float64 {
	b := s.before(x)
	return t.weight(t.score(b, s.before(x+1).Minus(b)))
}

// Draw draws a place with probability in proportion to its weight; c.From if there is none.
func (s *Spread) Draw(c Choice, src *noise.Source) int64 {
	if c.From >= c.To {
		return c.From
	}
	t := s.target(c)
	s.segments = s.segments[:0]
	s.divide(&t, c.From, c.To, s.before(c.From), s.before(c.To))
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

// segment is a run of places with a bound on their weights.
type segment struct {
	from, length int64
	bound        float64
	sum          mass // of length·bound, of all segments up to here
}

// divide divides the places from ≤ x < to, with the weights before and upTo before these ends, into
// segments, with bounds above most of the weights by a factor of at most e in the nearest ones; in
// others by one that grows as their weights fall, which costs little. So they are some dozens
// however many cells there are.
func (s *Spread) divide(t *target, from, to int64, before, upTo wide.Int) {
	near := t.score(before, upTo.Minus(before))
	far := max(t.score(before, wide.Int{}), t.score(upTo, wide.Int{}))
	g := segment{from: from, length: to - from, bound: t.weight(near)}
	if g.length > 1 && g.bound > least && t.kappa*(far-near) > 1+t.kappa*(near-t.nearest) {
		middle := from + g.length/2
		if i, j := s.index(uint32(from/s.places)), s.index(uint32(to/s.places)); j-i > 1 {
			middle = int64(s.cells[i+(j-i)/2].Index) * s.places
		}
		b := s.before(middle)
		s.divide(t, from, middle, before, b)
		s.divide(t, middle, to, b, upTo)
		return
	}
	g.bound *= 1 + 0x1p-40 // for Exp, which need not be monotone to the last bit
	g.sum = massOf(g.bound, g.length)
	if n := len(s.segments); n > 0 {
		g.sum = g.sum.plus(s.segments[n-1].sum)
	}
	s.segments = append(s.segments, g)
}
