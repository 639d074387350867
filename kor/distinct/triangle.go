package distinct

import (
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/kor"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// Cohorts are released numbers of the keys that were new on each day, and of those that came back.
// Estimates are unbiased and can be negative. The zero Cohorts answer NaN, and so do days outside 1
// to Days.
type Cohorts struct {
	release // as cohortState.classes has them
	days    int
}

// Days returns the number of days.
func (c *Cohorts) Days() int { return c.days }

// Guarantee returns the guarantee of the release.
func (c *Cohorts) Guarantee() budget.Guarantee { return c.params.cohortGuarantee(c.days) }

// seen returns the set of the keys that were seen on day until or before, or on day from or later:
// the classes of their cells.
func (c *Cohorts) seen(until, from int) func(class int) bool {
	in := make([]bool, len(c.numbers))
	for last, class := 1, 0; last <= c.days; last++ {
		for first := 1; first <= last; first++ {
			in[class] = first <= until || last >= from
			class++
		}
	}
	return func(class int) bool { return in[class] }
}

// or returns the set of the keys that were seen on day until or before, or on a day between the
// first and the last.
func (c *Cohorts) or(until, day int) func(class int) bool {
	in := make([]bool, len(c.numbers))
	for last, class := 1, 0; last <= c.days; last++ {
		for first := 1; first <= last; first++ {
			in[class] = first <= until || first == day
			class++
		}
	}
	for first := until + 1; first < day; first++ {
		in[visitOf(c.days, first, day)] = true
	}
	return func(class int) bool { return in[class] }
}

// count returns the number of keys of a set.
func (c *Cohorts) count(in func(class int) bool) kor.Cardinality {
	n, _ := c.params.cohorts(c.days) // of a release, so no error
	u := n.byPair.union(c.numbers[:pairsOf(c.days)+1], in)
	return kor.Cardinality{Source: &u}
}

// sum returns a sum of sizes.
func (c *Cohorts) sum(terms []term, within ...func(class int) bool) kor.Cardinality {
	n, _ := c.params.cohorts(c.days) // of a release, so no error
	pairs := pairsOf(c.days) + 1
	return kor.Cardinality{Source: n.byPair.sumOf(c.numbers[:pairs], c.numbers[pairs:], n.visit, terms, within...)}
}

// New returns the number of keys first seen on the day; on day 1, of all keys seen.
func (c *Cohorts) New(day int) kor.Cardinality {
	switch never := c.days + 1; {
	case day < 1 || day > c.days:
		return kor.Cardinality{}
	case day == 1:
		return c.count(c.seen(1, never))
	default:
		until := c.seen(day, never)
		return c.sum([]term{{-1, c.seen(day-1, never), 0}, {1, until, 0}}, until)
	}
}

// Returned returns how many keys that were new on the day were seen on day since or later; all with
// since = day. NaN if since is before day.
func (c *Cohorts) Returned(day, since int) kor.Cardinality {
	never := c.days + 1
	until, from := c.seen(day, never), c.seen(0, since)
	switch {
	case day < 1 || since < day || since > c.days:
		return kor.Cardinality{}
	case since == day:
		return c.New(day)
	case day == 1:
		return c.sum([]term{{1, until, 0}, {1, from, 0}, {-1, c.seen(1, since), 0}}, until, from)
	default:
		return c.sum([]term{{-1, c.seen(day-1, never), 0}, {1, until, 0}, {1, c.seen(day-1, since), 0}, {-1, c.seen(day, since), 0}}, until, from)
	}
}

// On returns how many keys that were new on the day first were seen on the day, with day = first
// all. NaN if day is before first. Between the first day and the last its error grows with the
// number of days.
func (c *Cohorts) On(first, day int) kor.Cardinality {
	if first < 1 || day <= first || day >= c.days {
		return c.Returned(first, day) // on the last day is on that day or later
	}
	until, either := c.seen(first, c.days+1), c.or(first, day)
	if first == 1 {
		// |U| + |S| − |U ∪ S|, where S has the keys of the day
		return c.sum([]term{{1, until, 0}, {1, c.or(0, day), 0}, {-1, either, 0}}, until)
	}
	return c.sum([]term{{-1, c.seen(first-1, c.days+1), 0}, {1, until, 0}, {1, c.or(first-1, day), 0}, {-1, either, 0}}, until)
}

// Since returns the number of keys seen on the day or later; for day 1, of all keys.
func (c *Cohorts) Since(day int) kor.Cardinality {
	if day < 1 || day > c.days {
		return kor.Cardinality{}
	}
	return c.count(c.seen(0, day))
}

// String says what was released.
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

// MarshalBinary returns the encoding.
func (c *Cohorts) MarshalBinary() ([]byte, error) { return c.AppendBinary(nil) }

// UnmarshalBinary decodes the encoding.
func (c *Cohorts) UnmarshalBinary(data []byte) error { return decode(c, data) }
