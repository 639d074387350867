package main

import (
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/misragries"
)

// keyed is a released key.
type keyed struct {
	Key      string
	Estimate float64
}

// top returns the n keys with the largest estimates.
func top(h *misragries.Histogram[string], n int) []keyed {
	var all []keyed
	for key, estimate := range h.All() {
		all = append(all, keyed{key, estimate})
	}
	slices.SortStableFunc(all, func(a, b keyed) int {
		switch {
		case a.Estimate > b.Estimate:
			return -1
		case a.Estimate < b.Estimate:
			return 1
		}
		return 0
	})
	return all[:min(max(n, 0), len(all))]
}

// way is one way to make a release out of shards.
type way struct {
	name    string
	release func(shards []*misragries.Builder[string], whole *misragries.Builder[string], p misragries.Params) (*misragries.Histogram[string], error)
}

var ways = []way{
	{"sum of reduced sketches", func(shards []*misragries.Builder[string], _ *misragries.Builder[string], p misragries.Params) (*misragries.Histogram[string], error) {
		sum, err := misragries.NewSum[string](p)
		if err != nil {
			return nil, err
		}
		for _, b := range shards {
			if err := sum.Add(b); err != nil {
				return nil, err
			}
		}
		return sum.Release()
	}},
	{"merged sketch", func(shards []*misragries.Builder[string], _ *misragries.Builder[string], _ misragries.Params) (*misragries.Histogram[string], error) {
		for _, b := range shards[1:] {
			if err := shards[0].Merge(b); err != nil {
				return nil, err
			}
		}
		return shards[0].Release()
	}},
	{"one sketch of all", func(_ []*misragries.Builder[string], whole *misragries.Builder[string], _ misragries.Params) (*misragries.Histogram[string], error) {
		return whole.Release()
	}},
}

// compare prints, for several numbers of shards, what each way hides and how far it is off.
func compare(o options, stdout io.Writer) error {
	fmt.Fprintf(stdout, "%d elements, Zipf(1.1), k = %d, ε = %g, δ = %g\n\n", o.elements, o.counters, o.epsilon, o.delta)
	fmt.Fprintln(stdout, "shards  way                       threshold   noise sd   keys   largest error   mean error")
	for _, shards := range []int{1, 8, 64} {
		for _, w := range ways {
			r, err := measure(o, w, shards)
			if err != nil {
				return err
			}
			fmt.Fprintf(stdout, "%6d  %-24s  %9.1f  %9.1f  %5d  %14.1f  %11.1f\n", shards, w.name, r.threshold, r.stdDev, r.keys, r.largest, r.mean)
		}
	}
	fmt.Fprintln(stdout, "\nErrors are those of the released keys. All three undercount by at most n/(k+1) before the noise.")
	return nil
}

// measured is a row of the comparison.
type measured struct {
	threshold, stdDev, largest, mean float64
	keys                             int
}

// measure counts the stream over shards and releases it in one way.
func measure(o options, w way, shards int) (m measured, err error) {
	truth := map[string]float64{}
	builders := make([]*misragries.Builder[string], shards)
	whole, err := misragries.New[string](o.params())
	if err != nil {
		return m, err
	}
	for i := range builders {
		if builders[i], err = misragries.New[string](o.params()); err != nil {
			return m, err
		}
		for key := range stream(i, shards, o.elements) {
			builders[i].Add(key)
			whole.Add(key)
			truth[key]++
		}
	}
	h, err := w.release(builders, whole, o.params())
	if err != nil {
		return m, err
	}
	m = measured{threshold: h.Threshold(), stdDev: h.StdDev(), keys: h.Len()}
	for key, estimate := range h.All() {
		off := math.Abs(estimate - truth[key])
		m.largest, m.mean = max(m.largest, off), m.mean+off/float64(h.Len())
	}
	return m, nil
}
