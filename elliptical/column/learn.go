package column

import (
	"math"

	"github.com/dpsketch/dpsketch/elliptical/column/internal/rank"
	"github.com/dpsketch/dpsketch/elliptical/column/internal/tail"
	"github.com/dpsketch/dpsketch/internal/quantile"
	"github.com/dpsketch/dpsketch/noise"
)

// A range is learned in four steps, each of which may use what those before released:
//
//  1. the centre μ, the median by the exponential mechanism, with 0 as likely as all else together
//     if there were no data;
//  2. under ρ the number of rows aside, farther from μ than its own resolution, with much noise:
//     if they are few, step 3 spends 2.5 times as much, and step 4 the less;
//  3. the number of rows in each of 2K + 1 bins by their distance from μ, with noise, and from
//     these numbers alone the ends lo and hi, and what is added back for rows beyond them;
//  4. the sum of the rows, clamped to [lo, hi], and their number.
//
// Privacy. Given μ each row is aside or not, and in one bin, and in which depends on that row and μ
// alone. So a row more changes the number of step 2 by at most 1 and those of step 3 by one unit
// vector, whatever K is, and step 4 is [Params.law] for a public interval. Given what steps 1 and 2
// released, steps 3 and 4 spend the same together, whatever it was. Steps compose adaptively:
// losses, and ρ, add up to at most the guarantee, as the shares add up to 1 and are rounded down.
// (Step 1 is a draw of internal/quantile among public places, see candidates.) All else is a
// function of what was released: package tail has no access to rows, nor to their number, and
// neither has anything that decides. (NaN is no row, so in no step.) ∎ TestChainIsPrivate
// enumerates it.

// share is a part of ε, or of ρ.
type share struct{ epsilon, rho float64 }

var (
	centreShare    = share{.05, .02}
	asideShare     = share{0, .005}
	histogramShare = share{.25, .2}
	sumShare       = share{.7, .775}
	fewShare       = share{.25, .5} // the same two, where few rows are aside
	fewSumShare    = share{.7, .475}
)

// fewAside is how many rows are few, in units of the histogram's noise: they could be lost in it.
// More are seen, and it is the noise of their sum that matters.
const fewAside = 27

// spending returns the Params with a share of the budget.
func (p Params) spending(s share) Params {
	p.Epsilon *= s.epsilon * (1 - 0x1p-48)
	p.Rho *= s.rho * (1 - 0x1p-48)
	return p
}

// learned is what was found of the range: public numbers.
type learned struct {
	cell      int // of the centre
	centre    float64
	aside     int64 // the number of rows that are not at the centre, with noise; 0 under ε
	noise     drawn // of a number of the histogram
	histogram tail.Histogram
	chosen    tail.Range
}

// candidates are the places among which the centre is drawn: the cells of an axis, except that 0 is
// as many of them as all other cells together. A column that is mostly 0 has that centre then, and
// not one of the millions of cells between 0 and its next value.
//
// What 0 weighs is dealt out to parts of its places, evenly: of a weight W part i of k has ⌊(W +
// i)/k⌋. A row more adds 1 to one part, so it is in one place still, as the proof of the draw asks.
type candidates struct{ zero, extra int64 }

const zeroParts = 1 << 12

// candidatesOf returns those of an axis.
func candidatesOf(axis *rank.Axis) candidates { return candidates{axis.Cell(0), axis.Cells()} }

// spread returns the places of rows that are in cells.
func (c candidates) spread(cells []quantile.Cell) (places []quantile.Cell) {
	parts := min(zeroParts, c.extra+1)
	for _, at := range cells {
		switch index := int64(at.Index); {
		case index < c.zero:
			places = append(places, at)
		case index > c.zero:
			places = append(places, quantile.Cell{Index: uint32(index + c.extra), Weight: at.Weight})
		default:
			for i := range parts {
				part := c.zero + (2*i+1)*(c.extra+1)/(2*parts)
				places = append(places, quantile.Cell{Index: uint32(part), Weight: (at.Weight + i) / parts})
			}
		}
	}
	return places
}

// cell returns the cell of a place.
func (c candidates) cell(place int64) int64 {
	if place > c.zero {
		place = max(place-c.extra, c.zero)
	}
	return place
}

// choice returns how a centre is drawn from the candidates.
func (p Params) choice(axis *rank.Axis) quantile.Choice {
	return quantile.Choice{To: 2 * axis.Cells(), Level: .5, Loss: p.spending(centreShare).lossOf(1)}
}

// at returns what is learned around the centre of a cell, with an empty histogram.
func (p Params) at(cell int) *learned {
	axis := p.widest()
	return &learned{cell: cell, centre: axis.Value(int64(cell)), histogram: tail.NewHistogram(tail.NewBins(p.bound()), tail.Noise{}, 0)}
}

// split sets the noise of the histogram, which the number of rows aside decides, and returns that
// of the sum, for τ in {−h, …, h}.
func (l *learned) split(p Params, h int64) law {
	ofSum := sumShare
	l.noise, _ = p.spending(histogramShare).drawn(1) // valid, as p is
	if p.gaussian() && float64(l.aside) < fewAside*l.noise.Scale {
		l.noise, _ = p.spending(fewShare).drawn(1)
		ofSum = fewSumShare
	}
	sum, _ := p.lawOf(h, ofSum)
	last := sum.noises[len(sum.noises)-1]
	l.histogram.Noise = tail.Noise{Laplace: !p.gaussian(), Scale: l.noise.Scale}
	l.histogram.Sum = last.StdDev() * math.Ldexp(1/float64(h), int(last.shift))
	if !p.gaussian() { // an end is 2H steps away from the other
		l.histogram.Sum /= 2
	}
	return sum
}

// atCentre is a distance that makes no row one aside, as a part of the centre.
const atCentre = 0x1p-16

// countAside counts the rows that are not at the centre, of a histogram without noise.
func (l *learned) countAside() {
	for side := range l.histogram.Rows {
		for _, n := range l.histogram.Rows[side][l.near(atCentre)+1:] {
			l.aside += n
		}
	}
}

// count adds the rows to the histogram.
func (l *learned) count(rows *kept) {
	h, numbers := &l.histogram, [2][tail.Count + 1]int64{}
	bins, centre := h.Bins, l.centre
	for _, list := range rows.lists() {
		for _, x := range list {
			side, b := bins.Of(x - centre)
			numbers[side][b]++
		}
	}
	for side := range h.Rows {
		h.Middle += numbers[side][0]
		for b := range h.Rows[side] {
			h.Rows[side][b] += numbers[side][b+1]
		}
	}
}

// numbers returns those of the histogram: the central bin, those below and those above it.
func (l *learned) numbers() []*int64 {
	h := &l.histogram
	all := []*int64{&h.Middle}
	for side := range h.Rows {
		for b := range h.Rows[side] {
			all = append(all, &h.Rows[side][b])
		}
	}
	return all
}

// least returns what an end is at least away from the centre: there are numbers enough between.
func (l *learned) least() float64 { return math.Abs(l.centre) * 0x1p-40 }

// ends returns those of the range.
func (l *learned) ends() (lo, hi float64) {
	return l.centre - l.histogram.Edge(l.chosen.End[0]), l.centre + l.histogram.Edge(l.chosen.End[1])
}

// grid returns the map of the values in the range: around the centre for Gaussian noise, for which
// the scheme has little of the count.
func (l *learned) grid(half int64) grid {
	lo, hi := l.ends()
	if l.histogram.Laplace {
		return across(lo, hi, half)
	}
	return around(l.centre, lo, hi, half)
}

// learn finds the range and releases the rows on it.
func (s *state) learn() *Summary {
	var src noise.Source
	var rows quantile.Spread
	axis := s.params.widest()
	centre, of := s.params.choice(&axis), candidatesOf(&axis)
	rows.Set(of.spread(axis.Nearest(centre, s.kept.lists())), 1)
	l := s.params.at(int(of.cell(rows.Draw(centre, &src))))
	l.count(&s.kept)
	if s.params.gaussian() {
		l.countAside()
		n, _ := s.params.spending(asideShare).drawn(1)
		l.aside += n.Sample(&src)
	}
	sum := l.split(s.params, half)
	for _, x := range l.numbers() {
		*x += l.noise.Sample(&src)
	}
	l.chosen = l.histogram.Choose(l.least())
	t := s.kept.total(l.grid(half))
	return &Summary{params: s.params, law: sum, found: l, values: sum.release(&t)}
}
