package column

import (
	"math"

	"github.com/dpsketch/dpsketch/elliptical/column/internal/rank"
	"github.com/dpsketch/dpsketch/elliptical/column/internal/tail"
	"github.com/dpsketch/dpsketch/internal/quantile"
	"github.com/dpsketch/dpsketch/noise"
)

// A range is learned in three steps, each of which may use what those before released:
//
//  1. the centre μ, the median by the exponential mechanism, with 0 as likely as all else together
//     if there were no data;
//  2. the number of rows in each of 2K + 1 bins by their distance from μ, with noise, and from
//     these numbers alone the ends lo and hi, and what is added back for rows beyond them;
//  3. the sum of the rows, clamped to [lo, hi], and their number.
//
// Privacy. Given μ each row is in one bin, and in which depends on that row and μ alone. So a row
// more changes the numbers of step 2 by one unit vector, whatever K is, and step 3 is [Params.law]
// for a public interval. Steps compose adaptively: losses, and ρ, add up to at most the guarantee,
// as the shares add up to 1 and are rounded down. (Step 1 is a draw of internal/quantile among
// public places, see candidates.) All else is a function of what was released: package tail has no
// access to rows, nor to their number, and neither has anything that decides. (NaN is no row, so in
// no step.) ∎ TestChainIsPrivate enumerates it.

// share is a part of ε, or of ρ.
type share struct{ epsilon, rho float64 }

var (
	centreShare    = share{.05, .02}
	histogramShare = share{.25, .2}
	sumShare       = share{.7, .78}
)

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

// counted returns the noise of a number of rows.
func (p Params) counted() drawn {
	n, _ := p.spending(histogramShare).drawn(1) // valid, as p is
	return n
}

// at returns what is learned around the centre of a cell, with an empty histogram; sum is the noise
// of the released sum.
func (p Params) at(cell int, sum law) *learned {
	axis, last := p.widest(), sum.noises[len(sum.noises)-1]
	deviation := last.StdDev() * math.Ldexp(1./half, int(last.shift))
	if !p.gaussian() { // an end is 2H steps away from the other
		deviation /= 2
	}
	n := tail.Noise{Laplace: !p.gaussian(), Scale: p.counted().Scale}
	return &learned{cell: cell, centre: axis.Value(int64(cell)), histogram: tail.NewHistogram(tail.NewBins(p.bound()), n, deviation)}
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
	l := s.params.at(int(of.cell(rows.Draw(centre, &src))), s.law)
	l.count(&s.kept)
	n := s.params.counted()
	for _, x := range l.numbers() {
		*x += n.Sample(&src)
	}
	l.chosen = l.histogram.Choose(l.least())
	t := s.kept.total(l.grid(half))
	return &Summary{params: s.params, law: s.law, found: l, values: s.law.release(&t)}
}
