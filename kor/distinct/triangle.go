package distinct

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/kor"
	"github.com/dpsketch/dpsketch/kor/internal/sets"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// Cohorts count keys new on each day, and those that came back; NaN for days outside 1 to Days. No
// number is below 0, no part above the whole, and parts add up; StdErr and Interval are those of
// each number by itself, of On also by Returned.
type Cohorts struct {
	release // as cohortState.classes has them
	days    int
}

// Days returns the number of days.
func (c *Cohorts) Days() int { return c.days }

// Guarantee returns what was spent.
func (c *Cohorts) Guarantee() budget.Guarantee { return c.params.cohortGuarantee(c.days) }

// seen returns the set of the keys that were seen on day until or before, or on day from or later,
// or on the day on, if that is not 0: the classes of their cells, and the visits between the first
// day and the last.
func (c *Cohorts) seen(until, from, on int) func(class int) bool {
	in := make([]bool, len(c.numbers))
	for last, class := 1, 0; last <= c.days; last++ {
		for first := 1; first <= last; first++ {
			in[class] = first <= until || last >= from || first == on
			class++
		}
	}
	for first := until + 1; first < on; first++ {
		in[visitOf(c.days, first, on)] = true
	}
	return func(class int) bool { return in[class] }
}

// count returns the number of keys that were seen on day until or before, or on day from or later.
func (c *Cohorts) count(until, from int) *count {
	n, _ := c.params.cohorts(c.days) // of a release, so no error
	return n.byPair.union(c.numbers[:pairsOf(c.days)+1], c.seen(until, from, 0))
}

// sum returns a sum of sizes.
func (c *Cohorts) sum(terms []term, within ...func(class int) bool) sets.Size {
	n, _ := c.params.cohorts(c.days) // of a release, so no error
	pairs := pairsOf(c.days) + 1
	return n.byPair.sumOf(c.numbers[:pairs], c.numbers[pairs:], n.visit, terms, within...)
}

// alone returns what the numbers of cells say of one answer, whatever the others are.
func (c *Cohorts) alone(first, day int, on bool) sets.Size {
	from, visit, never := day, 0, c.days+1
	before, until := c.seen(first-1, never, 0), c.seen(first, never, 0)
	within := []func(class int) bool{until, c.seen(0, day, 0)}
	switch {
	case day == 1:
		return c.count(1, never)
	case day == first:
		return c.sum([]term{{-1, before, 0}, {1, until, 0}}, until)
	case on && day < c.days: // on the last day is on that day or later
		from, visit, within = never, day, within[:1]
	}
	return c.sum([]term{{-1, before, 0}, {1, until, 0}, {1, c.seen(first-1, from, visit), 0}, {-1, c.seen(first, from, visit), 0}}, within...)
}

// agreed returns, by first day and by a day since, how many keys Returned says.
//
// The keys seen on a day or before are numbers that do not fall from one day to the next, and those
// seen on a day or later do not rise: they are projected on such numbers. Of these the former say
// how many keys were new on each day. Then, day by day, those who came back are the nearest numbers
// that are at least 0, at most as many as since the day before, and in all as many as are seen on
// the day or later and not new since then.
func (c *Cohorts) agreed() [][]float64 {
	never := c.days + 1
	ever, later := make([]count, c.days), make([]count, c.days)
	for i := range ever {
		ever[i], later[i] = *c.count(i+1, never), *c.count(0, c.days-i)
	}
	until, since, fit := append([]float64{0}, ascendingSizes(ever)...), ascendingSizes(later), make([][]float64, never)
	for day := range fit {
		fit[day], until[day] = make([]float64, never+1), max(until[day], 0)
		fit[day][day] = until[day] - until[max(day-1, 0)]
	}
	for day := 2; day < never; day++ {
		newer, last := until[c.days]-until[day-1], -later[c.days-day].Estimate()
		raw, most := make([]float64, day-1), make([]float64, day-1)
		for i := range raw {
			// −(keys of the day or later that were not there by day i + 1)
			gone := ever[i].Estimate() - c.count(i+1, day).Estimate()
			raw[i], most[i], last = gone-last, fit[i+1][day-1], gone
		}
		for i, x := range nearestOfSum(raw, most, min(max(since[c.days-day]-newer, 0), until[day-1])) {
			fit[i+1][day] = x
		}
	}
	return fit
}

// answer returns how many keys that were new on day first were seen on the day, or on that or
// later. On a day are at least those whose last day it is: of the numbers that this leaves, the
// estimate is the mean given the noise.
func (c *Cohorts) answer(fit [][]float64, first, day int, on bool) kor.Cardinality {
	if first < 1 || day < first || day > c.days {
		return kor.Cardinality{}
	}
	size, estimate := c.alone(first, day, on), fit[first][day]
	if on && day > first && day < c.days {
		later, visits, stdErr := fit[first][day+1], size.Estimate(), size.StdErr()
		size = visitors{size, c.alone(first, day, false), later}
		estimate = mean(estimate-later, estimate, func(t float64) float64 { return (visits - t) / stdErr })
	}
	return kor.Cardinality{Source: fitted{size, estimate}}
}

// visitors is the number of keys of a cohort on a day, by their visits, and by those who were there
// on that day or later, of whom all but some who were there later were there on the day.
type visitors struct {
	sets.Size
	back  sets.Size
	later float64
}

// StdErr is that of the visits, or if that is less what the estimates leave: half of the range, and
// the error of those who were there on the day or later.
func (v visitors) StdErr() float64 {
	return min(v.Size.StdErr(), math.Hypot(v.later/2, v.back.StdErr()))
}

// Interval is that of the visits, which takes four fifths of the errors, cut off at the upper end
// of that of those who were there on the day or later.
func (v visitors) Interval(confidence float64) (lo, hi float64) {
	lo, hi = v.Size.Interval(min(1-0.8*(1-confidence), 1-0x1p-53))
	_, most := v.back.Interval(min(1-0.4*(1-confidence), 1-0x1p-53))
	return min(lo, most), min(hi, most)
}

// New returns how many keys were first seen on the day; on day 1, all seen.
func (c *Cohorts) New(day int) kor.Cardinality { return c.Returned(day, day) }

// Returned returns how many keys of New(day) were seen on day since or later, all if since = day,
// NaN before.
func (c *Cohorts) Returned(day, since int) kor.Cardinality {
	return c.answer(c.agreed(), day, since, false)
}

// On returns how many keys of New(first) were seen on the day, all if day = first, NaN before.
// Between the first day and the last its interval grows with Days.
func (c *Cohorts) On(first, day int) kor.Cardinality { return c.answer(c.agreed(), first, day, true) }

// Since returns how many keys were seen on the day or later; for day 1, all.
func (c *Cohorts) Since(day int) kor.Cardinality { return c.since(c.agreed(), day) }

func (c *Cohorts) since(fit [][]float64, day int) kor.Cardinality {
	if day < 1 || day > c.days {
		return kor.Cardinality{}
	}
	sum := 0.0
	for first := range c.days {
		sum += fit[first+1][max(first+1, day)]
	}
	return kor.Cardinality{Source: fitted{c.count(0, day), sum}}
}

// String describes the release.
func (c *Cohorts) String() string {
	return c.text("distinct.Cohorts", c.Guarantee(), "keys by first and last of %d days", c.days)
}

// The encoding of Cohorts, little-endian, version 2; floating-point numbers are IEEE 754 bits:
//
//	bytes  field
//	6      header: "dpsk", kind 24, version 2
//	40     Epsilon, CountShare (1), Cells, Levels, Seed, as in a Sketch
//	4      days, 2 to 31
//	8·k    noisy numbers of cells: for each last day, for each first day up to that; then the
//	       empty ones; then for each day from 2 to the last but one, for each first day before
//	       it; two's complement
//
// No other bytes decode to the same Cohorts.
func (c *Cohorts) layout() layout {
	law := func(p Params) (noise.DiscreteLaplace, error) {
		n, err := p.cohorts(c.days)
		return n.pair, err
	}
	return layout{wire.KindCohorts, 2, &c.release, []wire.Field{wire.Int(&c.days, mostDays)}, law, func() int {
		if c.days < 2 {
			return 0
		}
		return pairsOf(c.days) + 1 + visitsOf(c.days)
	}}
}

// AppendBinary appends the encoding.
func (c *Cohorts) AppendBinary(dst []byte) ([]byte, error) { return c.layout().append(dst) }

// MarshalBinary encodes.
func (c *Cohorts) MarshalBinary() ([]byte, error) { return c.AppendBinary(nil) }

// UnmarshalBinary decodes.
func (c *Cohorts) UnmarshalBinary(data []byte) error { return decode(c, data) }
