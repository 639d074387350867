package main

import (
	"testing"

	"github.com/dpsketch/dpsketch/examples/internal/cli/clitest"
	"github.com/dpsketch/dpsketch/misragries"
)

func TestProgram(t *testing.T) {
	clitest.Seed(t)
	clitest.Output(t, new(options), []string{"-elements", "30000", "-releases", "1"},
		[]string{"30000 articles sold", "One stream", "Sums of M sketches", "even spread", "64 blocks"})
}

// Upper is next to the truth for what is sold most, where Lower is off by all decrements; the even
// spread is better than Upper for sums.
func TestReadings(t *testing.T) {
	clitest.Seed(t)
	opts := options{elements: 200_000, releases: 2, seed: 1}
	stream := baskets(opts.elements, opts.seed)
	truth := map[uint64]float64{}
	for _, key := range stream {
		truth[key]++
	}
	p := misragries.Params{Counters: 256, Epsilon: 1, Delta: 1e-6}
	one, err := measure(truth, opts.releases, func() (*misragries.Histogram[uint64], error) {
		list, err := opts.sketches(stream, p, 1, false)
		if err != nil {
			return nil, err
		}
		return list[0].Release()
	})
	if err != nil || one.keys < 10 || one.top["Upper"] > 10 || one.top["default"] != one.top["Upper"] || one.top["Lower"] < 300 || one.top["Middle"] < 150 {
		t.Errorf("one stream: %v, %+v", err, one)
	}
	sum, err := measure(truth, opts.releases, func() (*misragries.Histogram[uint64], error) {
		list, err := opts.sketches(stream, p, 16, false)
		if err != nil {
			return nil, err
		}
		all, err := misragries.NewSum[uint64](p)
		if err != nil {
			return nil, err
		}
		for _, b := range list {
			if err := all.Add(b); err != nil {
				return nil, err
			}
		}
		return all.Release()
	})
	if err != nil || sum.keys < 10 || sum.top["default"] > 15 || sum.all["default"] > sum.all["Upper"] || sum.all["Lower"] < 300 {
		t.Errorf("a sum: %v, %+v", err, sum)
	}
}
