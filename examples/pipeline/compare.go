package main

import (
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/kor/distinct"
	"github.com/dpsketch/dpsketch/misragries"
)

// sketched is a stream that was counted over shards: a sketch of each, and of all.
type sketched[B any] struct {
	shards []*B
	whole  *B
}

// newSketched returns empty sketches.
func newSketched[B any](shards int, empty func() (*B, error)) (s sketched[B], err error) {
	s.shards = make([]*B, shards)
	for i := range s.shards {
		if s.shards[i], err = empty(); err != nil {
			return s, err
		}
	}
	s.whole, err = empty()
	return s, err
}

// compare prints, for several numbers of shards, what each way to put them together hides and how
// far it is off.
func compare(o options, r releases, stdout io.Writer) error {
	var frequent, keys []string
	for _, shards := range []int{1, 2, 8, 64} {
		c, err := countOver(shards, o, r)
		if err != nil {
			return err
		}
		rows, err := c.frequentRows()
		if err != nil {
			return err
		}
		frequent = append(frequent, rows...)
		if rows, err = c.distinctRows(); err != nil {
			return err
		}
		keys = append(keys, rows...)
	}
	fmt.Fprintf(stdout, "%d elements, Zipf(1.1)\n", o.elements)
	if p := r.frequent; p != nil {
		fmt.Fprintf(stdout, "\nFrequent keys, k = %d, (%g, %g)-DP for one element. Errors are those of the released keys; n/(k+1) = %.0f.\n\n",
			p.Counters, p.Epsilon, p.Delta, float64(o.elements)/float64(p.Counters+1))
		fmt.Fprintln(stdout, "shards  way                        threshold  noise sd   keys  mean error  largest")
		for _, row := range frequent {
			fmt.Fprintln(stdout, row)
		}
		fmt.Fprint(stdout, `
All three lose at most n/(k+1) of a key before the noise, or n/k where sketches are trimmed: what each shard takes off then
grows with what its rare keys had. The noise and the threshold of that sum are nearly those of one sketch, for any number of
shards; those of a merged sketch grow with √k as soon as there are two.
`)
	}
	if p := r.distinct; p != nil {
		fmt.Fprintf(stdout, "\nDistinct keys, %d levels of %d cells, %g-DP for one key with all its elements.\n\n", p.Levels, p.Cells, p.Epsilon)
		fmt.Fprintln(stdout, "shards  way                          std error     error   estimate      truth")
		for _, row := range keys {
			fmt.Fprintln(stdout, row)
		}
		fmt.Fprint(stdout, `
Merged before the noise, the shards are one sketch, whose error does not know their number. Releases of each shard have each their own noise,
and their union has all of it: that way is for parties who trust nobody, and for few of them. Where there is no estimate, there is still an interval.
`)
	}
	return nil
}

// counted is a stream that both kinds of sketches have seen.
type counted struct {
	releases
	elements map[string]float64 // the truth
	frequent sketched[misragries.Builder[string]]
	distinct sketched[distinct.Builder]
	parties  sketched[distinct.Builder] // that publish bits, so that their releases have a union
}

// countOver counts the stream over so many shards.
func countOver(shards int, o options, r releases) (c counted, err error) {
	c.releases, c.elements = r, map[string]float64{}
	if r.frequent != nil {
		if c.frequent, err = newSketched(shards, func() (*misragries.Builder[string], error) { return misragries.New[string](*r.frequent) }); err != nil {
			return c, err
		}
	}
	if r.distinct != nil {
		if c.distinct, err = newSketched(shards, func() (*distinct.Builder, error) { return distinct.New(*r.distinct) }); err != nil {
			return c, err
		}
		bits := *r.distinct
		bits.CountShare = 0.05
		if c.parties, err = newSketched(shards, func() (*distinct.Builder, error) { return distinct.New(bits) }); err != nil {
			return c, err
		}
	}
	for i := range shards {
		for key := range stream(i, shards, o.elements) {
			c.elements[key]++
			if r.frequent != nil {
				c.frequent.shards[i].Add(key)
				c.frequent.whole.Add(key)
			}
			if r.distinct != nil {
				for _, b := range []*distinct.Builder{c.distinct.shards[i], c.distinct.whole, c.parties.shards[i]} {
					distinct.AddKey(b, key)
				}
			}
		}
	}
	return c, nil
}

// frequentRows releases the frequent keys in three ways. The shards are merged last, as a merged
// sketch can no longer be reduced.
func (c *counted) frequentRows() (rows []string, err error) {
	if c.releases.frequent == nil {
		return nil, nil
	}
	p, s := *c.releases.frequent, c.frequent
	sum, err := misragries.NewSum[string](p)
	if err != nil {
		return nil, err
	}
	for _, b := range s.shards {
		copied, err := copyOf(b, p)
		if err != nil {
			return nil, err
		}
		if err := sum.Add(copied); err != nil {
			return nil, err
		}
	}
	for _, b := range s.shards[1:] {
		if err := s.shards[0].Merge(b); err != nil {
			return nil, err
		}
	}
	for _, way := range []struct {
		name, constructor string
		servers           int
		release           func() (*misragries.Histogram[string], error)
	}{
		{"sum of trimmed sketches", "NewSum", len(s.shards), sum.Release}, {"merged sketch", "Builder.Merge", 2, s.shards[0].Release},
		{"one sketch of all", "New", 1, s.whole.Release},
	} {
		h, err := way.release()
		if err != nil {
			return nil, err
		}
		plan, err := p.Plan(way.servers)
		if err != nil {
			return nil, err
		}
		row := plan.Rows[slices.IndexFunc(plan.Rows, func(r misragries.Row) bool { return r.Constructor == way.constructor })]
		mean, largest := c.errors(h)
		rows = append(rows, fmt.Sprintf("%6d  %-25s  %9.1f  %8.1f  %5d  %10.1f  %7.1f",
			len(s.shards), way.name, row.Threshold, row.StdDev, h.Len(), mean, largest))
	}
	return rows, nil
}

// copyOf returns another Builder with the same content.
func copyOf(b *misragries.Builder[string], p misragries.Params) (*misragries.Builder[string], error) {
	state, err := b.AppendPrivateState(nil)
	if err != nil {
		return nil, err
	}
	copied, err := misragries.New[string](p)
	if err != nil {
		return nil, err
	}
	return copied, copied.RestorePrivateState(state)
}

// errors returns how far the released counts are off.
func (c *counted) errors(h *misragries.Histogram[string]) (mean, largest float64) {
	for key, estimate := range h.All() {
		off := math.Abs(estimate - c.elements[key])
		mean, largest = mean+off/float64(h.Len()), max(largest, off)
	}
	return mean, largest
}

// distinctRows releases the number of distinct keys in three ways.
func (c *counted) distinctRows() (rows []string, err error) {
	if c.releases.distinct == nil {
		return nil, nil
	}
	whole, err := c.distinct.whole.Release()
	if err != nil {
		return nil, err
	}
	var releases []*distinct.Sketch
	for i, b := range c.parties.shards {
		each, err := b.Release()
		if err != nil {
			return nil, err
		}
		releases = append(releases, each)
		if i > 0 {
			if err := c.distinct.shards[0].Merge(c.distinct.shards[i]); err != nil {
				return nil, err
			}
		}
	}
	merged, err := c.distinct.shards[0].Release()
	if err != nil {
		return nil, err
	}
	union, err := distinct.Union(releases...)
	if err != nil {
		return nil, err
	}
	truth := float64(len(c.elements))
	for _, way := range []struct {
		name string
		of   interface {
			Estimate() float64
			StdErr() float64
		}
	}{{"merged before the noise", merged}, {"one sketch of all", whole}, {"union of a release of each", union}} {
		estimate := math.Round(way.of.Estimate()) + 0 // no −0
		rows = append(rows, fmt.Sprintf("%6d  %-26s %11s  %+6.1f %%  %9.0f  %9.0f",
			len(releases), way.name, percent(way.of.StdErr()/truth), 100*(estimate-truth)/truth, estimate, truth))
	}
	return rows, nil
}

// percent returns the text of a relative error.
func percent(relative float64) string {
	if relative > 0.3 {
		return "> 30 %"
	}
	return fmt.Sprintf("%.1f %%", 100*relative)
}
