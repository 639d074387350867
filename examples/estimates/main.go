// Command estimates shows what the readings of a Misra-Gries release are off by, on generated
// baskets of a shop whose assortment drifts.
//
//	estimates [flags]
//
// The first table counts the baskets as one stream, in their order: the mean error of the lower
// reading (the estimate of the paper), of the middle one and of the upper one, which is the
// default, over the released keys, and in brackets over those of the ten most frequent that are
// released. The second deals the baskets to several sketches, at random or in blocks of time, and
// releases their sum: its default takes it that a key is spread evenly.
//
// The exit code is 0, 1 when writing failed, or 2 for a wrong flag or parameter.
package main

import (
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/misragries"
)

func main() {
	cli.Main(new(options))
}

// options is what the command line asks for, and the command.
type options struct {
	elements, releases int
	seed               uint64
}

func (opts *options) Flags() *flag.FlagSet {
	flags := flag.NewFlagSet("estimates", flag.ContinueOnError)
	flags.IntVar(&opts.elements, "elements", 900_000, "`number` of articles in all baskets")
	flags.IntVar(&opts.releases, "releases", 5, "`number` of releases that errors are averaged over")
	flags.Uint64Var(&opts.seed, "seed", 1, "of the baskets; the noise is fresh each time")
	return flags
}

func (opts *options) Check() error {
	switch {
	case opts.elements < 1000 || opts.elements > 100_000_000:
		return fmt.Errorf("-elements = %d: want 1000 to 100000000", opts.elements)
	case opts.releases < 1 || opts.releases > 10_000:
		return fmt.Errorf("-releases = %d: want 1 to 10000", opts.releases)
	}
	return nil
}

// baskets returns articles in the order of the sales: a core of Zipf-distributed ones, and one sale
// in three of an article of the season, of which there are sixteen.
func baskets(n int, seed uint64) []uint64 {
	rng := rand.New(rand.NewPCG(seed, 0))
	core, season := rand.NewZipf(rng, 1.1, 5, 9_999), rand.NewZipf(rng, 1.05, 20, 2_999)
	stream := make([]uint64, n)
	for i := range stream {
		if rng.IntN(3) > 0 {
			stream[i] = core.Uint64()
		} else {
			stream[i] = uint64(1+16*i/n)<<32 + season.Uint64()
		}
	}
	return stream
}

// errors are the mean absolute errors of readings over the released keys, and over those of the ten
// most frequent that are released.
type errors struct {
	all, top map[string]float64
	keys     int
}

var sides = []string{"Lower", "Middle", "Upper", "default"}

// measure releases so often.
func measure(truth map[uint64]float64, releases int, release func() (*misragries.Histogram[uint64], error)) (errors, error) {
	var top []uint64
	for key := range truth {
		top = append(top, key)
	}
	slices.SortFunc(top, func(a, b uint64) int {
		if truth[a] != truth[b] {
			return int(truth[b] - truth[a])
		}
		return int(a) - int(b)
	})
	top = top[:min(10, len(top))]
	sum := errors{all: map[string]float64{}, top: map[string]float64{}}
	shown, heavy := 0.0, 0.0
	for range releases {
		h, err := release()
		if err != nil {
			return sum, err
		}
		sum.keys += h.Len()
		for key, estimate := range h.All() {
			readings := []float64{
				h.EstimateAs(key, misragries.Lower), h.EstimateAs(key, misragries.Middle), h.EstimateAs(key, misragries.Upper), estimate,
			}
			shown++
			isTop := slices.Contains(top, key)
			if isTop {
				heavy++
			}
			for i, v := range readings {
				off := math.Abs(v - truth[key])
				sum.all[sides[i]] += off
				if isTop {
					sum.top[sides[i]] += off
				}
			}
		}
	}
	for _, side := range sides {
		sum.all[side] /= max(shown, 1)
		sum.top[side] /= max(heavy, 1)
	}
	sum.keys /= releases
	return sum, nil
}

// sketches returns Builders of so many parts of the stream, dealt at random or in blocks of time.
func (opts *options) sketches(stream []uint64, p misragries.Params, parts int, blocks bool) ([]*misragries.Builder[uint64], error) {
	list := make([]*misragries.Builder[uint64], parts)
	for i := range list {
		var err error
		if list[i], err = misragries.New[uint64](p); err != nil {
			return nil, err
		}
	}
	rng := rand.New(rand.NewPCG(opts.seed, 1))
	for i, key := range stream {
		at := rng.IntN(parts)
		if blocks {
			at = i * parts / len(stream)
		}
		list[at].Add(key)
	}
	return list, nil
}

// Run prints both tables.
func (opts *options) Run(out io.Writer) error {
	stream := baskets(opts.elements, opts.seed)
	truth := map[uint64]float64{}
	for _, key := range stream {
		truth[key]++
	}
	if _, err := fmt.Fprintf(out, "%d articles sold, %d of them distinct; ε = 1, δ = 1e-6.\n\nOne stream: mean |error| of the released keys [of the true top 10]\n\n%6s %9s %6s %22s %22s %22s\n",
		len(stream), len(truth), "k", "n/(k+1)", "keys", sides[0], sides[1], sides[2]); err != nil {
		return err
	}
	for _, k := range []int{64, 256, 1024, 4096} {
		p := misragries.Params{Counters: k, Epsilon: 1, Delta: 1e-6}
		e, err := measure(truth, opts.releases, func() (*misragries.Histogram[uint64], error) {
			list, err := opts.sketches(stream, p, 1, false)
			if err != nil {
				return nil, err
			}
			return list[0].Release()
		})
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "%6d %9.0f %6d %s %s %s\n", k, float64(len(stream))/float64(k+1), e.keys, e.cell("Lower"), e.cell("Middle"), e.cell("Upper")); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintf(out, "\nSums of M sketches\n\n%6s %4s %-7s %9s %6s %22s %22s %22s %22s\n", "k", "M", "dealt", "n/(k+1)", "keys", sides[0], sides[1], sides[2], "even spread"); err != nil {
		return err
	}
	for _, k := range []int{256, 1024} {
		for _, parts := range []int{8, 64} {
			for _, dealt := range []string{"random", "blocks"} {
				p := misragries.Params{Counters: k, Epsilon: 1, Delta: 1e-6}
				e, err := measure(truth, opts.releases, func() (*misragries.Histogram[uint64], error) {
					list, err := opts.sketches(stream, p, parts, dealt == "blocks")
					if err != nil {
						return nil, err
					}
					sum, err := misragries.NewSum[uint64](p)
					if err != nil {
						return nil, err
					}
					for _, b := range list {
						if err := sum.Add(b); err != nil {
							return nil, err
						}
					}
					return sum.Release()
				})
				if err != nil {
					return err
				}
				if _, err := fmt.Fprintf(out, "%6d %4d %-7s %9.0f %6d %s %s %s %s\n", k, parts, dealt, float64(len(stream))/float64(k+1), e.keys,
					e.cell("Lower"), e.cell("Middle"), e.cell("Upper"), e.cell("default")); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// cell prints the errors of one reading.
func (e errors) cell(side string) string {
	return fmt.Sprintf("%22s", fmt.Sprintf("%.3g [%.3g]", e.all[side], e.top[side]))
}
