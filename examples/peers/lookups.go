package main

import (
	"fmt"
	"math"
	"testing"

	"github.com/dpsketch/dpsketch/alp"
)

// lookups compares package alp, ε = 1, δ = 1e-6 and 100 bits an entry, on the counts of
// [histograms], a unit being an entry. A look-up stands against one in a Go map of the exact
// counts, which has no privacy. The release stands against [thresholded], which publishes the
// counts above a threshold and nothing of those below, while alp keeps them all. No peer: another
// structure that has small entries too.
func lookups(n int) ([]comparison, error) {
	entries := counts(n)
	filled := func() (*alp.Builder, error) {
		b, err := alp.New(alp.Params{Epsilon: 1, Delta: 1e-6, Sparsity: n, Integers: true})
		if err != nil {
			return nil, err
		}
		for index, count := range entries {
			b.Add(index, float64(count))
		}
		return b, nil
	}
	builder, err := filled()
	if err != nil {
		return nil, err
	}
	projection, err := builder.Release()
	if err != nil {
		return nil, err
	}
	indices := make([]uint64, n) // in no order
	for i := range indices {
		indices[i] = mix(uint64(i))
	}
	// The mean absolute error of an entry is below 1.7, and its root mean square below 3. Estimates
	// are not unbiased.
	check := func() error {
		total, keys := frequent(entries)
		return near("alp", sum(entries, projection.Estimate), total, 1.7*keys+sure*3*math.Sqrt(keys))
	}
	return []comparison{{
		work: fmt.Sprintf("sparse vector of %d entries, Estimate", n), peer: "map, exact count", units: n, check: check,
		ours: repeat(func() error {
			for _, index := range indices {
				projection.Estimate(index)
			}
			return nil
		}),
		theirs: func(b *testing.B) {
			total := int64(0)
			for b.Loop() {
				for _, index := range indices {
					total += entries[index]
				}
			}
		},
	}, {
		work: fmt.Sprintf("sparse vector of %d entries, Release", n), peer: "Google AddNoiseInt64", target: 0.093, units: n, check: check,
		ours: releases(filled),
		theirs: repeat(func() error {
			_, err := thresholded(entries)
			return err
		}),
	}}, nil
}
