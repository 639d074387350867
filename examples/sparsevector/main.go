// Command sparsevector releases how many requests each URL got, for URLs hashed to 64 bits, and
// compares four ways to do it.
//
//	sparsevector [flags]
//
// The vector has 2⁶⁴ entries of which a few are not zero; one request more or less is what is
// hidden. The program makes up counts with a heavy tail, releases them in four ways under the same
// ε (and δ), and prints the mean absolute error on a sample of URLs by the size of their true
// counts, with what each release takes:
//
//   - columns, which is what package alp does by itself;
//   - the ALP mechanism as the thesis has it, combined with a list, at the same number of bits and
//     read by its own estimator;
//   - package threshold alone, which tells nothing of small counts;
//   - Laplace noise on every count, which no one could store: 2⁶⁴ numbers. It is drawn for the
//     sample only, as the best there is.
//
// The exit code is 0, 1 when writing failed, or 2 for a wrong flag or parameter.
package main

import (
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/dpsketch/dpsketch/alp"
	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/dpsketch/dpsketch/threshold"
)

func main() {
	cli.Main(new(options))
}

// options is what the command line asks for, and the command.
type options struct {
	epsilon, delta, bits float64
	urls, sample         int
}

func (opts *options) Flags() *flag.FlagSet {
	flags := flag.NewFlagSet("sparsevector", flag.ContinueOnError)
	flags.Float64Var(&opts.epsilon, "epsilon", 1, "privacy parameter `ε`")
	flags.Float64Var(&opts.delta, "delta", 1e-9, "privacy parameter `δ`; 0 is pure ε-privacy")
	flags.Float64Var(&opts.bits, "bits", 100, "size of a table in `bits` for each requested URL")
	flags.IntVar(&opts.urls, "urls", 100_000, "`number` of URLs with requests")
	flags.IntVar(&opts.sample, "sample", 20_000, "`number` of URLs that errors are measured on, and of as many without requests")
	return flags
}

// Check leaves the parameters of the mechanisms to their Builders.
func (opts *options) Check() error {
	switch {
	case opts.urls < 1 || opts.urls > 5_000_000:
		return fmt.Errorf("-urls = %d: want 1 to 5,000,000", opts.urls)
	case opts.sample < 1:
		return fmt.Errorf("-sample = %d: want at least 1", opts.sample)
	}
	opts.sample = min(opts.sample, opts.urls)
	return nil
}

// Run compares the ways.
func (opts *options) Run(out io.Writer) error {
	c, err := compare(*opts)
	if err != nil {
		return cli.Usage(err)
	}
	_, err = io.WriteString(out, c.text())
	return err
}

// ranges are the sizes of counts that errors are told apart by.
var ranges = []struct {
	name  string
	least float64
}{{"0", 0}, {"1–3", 1}, {"4–10", 4}, {"11–30", 11}, {"31–100", 31}, {"over 100", 101}}

// way is one way to release the vector, with the errors of its estimates.
type way struct {
	name      string
	guarantee string
	bytes     string
	estimate  func(index uint64) float64
	sum, n    []float64 // of absolute errors, and how many, by range
}

// measure adds the error of one estimate.
func (w *way) measure(index uint64, truth float64) {
	at := 0
	for i, r := range ranges {
		if truth >= r.least {
			at = i
		}
	}
	w.sum[at] += math.Abs(w.estimate(index) - truth)
	w.n[at]++
}

// mean returns the mean absolute error in a range, NaN if no count lies there.
func (w *way) mean(at int) float64 { return w.sum[at] / w.n[at] }

// comparison is the result.
type comparison struct {
	opts     options
	requests float64
	ways     []*way
}

// compare makes up the counts and releases them in all ways.
func compare(opts options) (*comparison, error) {
	counts := requests(opts.urls)
	c := &comparison{opts: opts}
	builders, err := newBuilders(opts)
	if err != nil {
		return nil, err
	}
	for i, n := range counts {
		builders.add(index(i), n)
		c.requests += n
	}
	if c.ways, err = builders.release(opts); err != nil {
		return nil, err
	}
	for i := range opts.sample {
		for _, w := range c.ways {
			w.measure(index(i), counts[i])
			w.measure(index(opts.urls+i), 0)
		}
	}
	return c, nil
}

// requests makes up the counts of n URLs: a heavy tail, most have a few and some have thousands.
// They are the same in each run.
func requests(n int) []float64 {
	random := rand.New(rand.NewPCG(1, 2))
	counts := make([]float64, n)
	for i := range counts {
		counts[i] = min(math.Ceil(2*math.Pow(random.Float64(), -1/0.9)-1), 1e6)
	}
	return counts
}

// index hashes the URL number i.
func index(i int) uint64 {
	return hashing.Fingerprint(hashing.Seed{}, fmt.Sprintf("https://example.com/%d", i))
}

// builders take the counts, each for its own release.
type builders struct {
	columns, thesis *alp.Builder
	list            *threshold.Builder[uint64]
}

func newBuilders(opts options) (b builders, err error) {
	p := alp.Params{Epsilon: opts.epsilon, Delta: opts.delta, Dim: math.MaxUint64, Sparsity: opts.urls, Integers: true, Bits: opts.bits}
	if b.columns, err = alp.New(p); err != nil {
		return b, err
	}
	p.Structure, p.Linear, p.Split, p.Independent = alp.Composition, true, 0.5, true
	if b.thesis, err = alp.New(p); err != nil {
		return b, err
	}
	b.list, err = threshold.New[uint64](threshold.Params{Epsilon: opts.epsilon, Delta: opts.delta, Dim: math.MaxUint64, Integers: true})
	return b, err
}

func (b *builders) add(index uint64, n float64) {
	b.columns.Add(index, n)
	b.thesis.Add(index, n)
	b.list.Add(index, n)
}

// release releases all. Each of these spends the whole budget: in earnest one would do one of them.
func (b *builders) release(opts options) ([]*way, error) {
	columns, err := b.columns.Release()
	if err != nil {
		return nil, err
	}
	thesis, err := b.thesis.Release()
	if err != nil {
		return nil, err
	}
	list, err := b.list.Release()
	if err != nil {
		return nil, err
	}
	laplace, err := noise.NewLaplace(1 / opts.epsilon)
	if err != nil {
		return nil, err
	}
	truth := map[uint64]float64{}
	for i, n := range requests(opts.urls) {
		truth[index(i)] = n
	}
	var src noise.Source
	ways := []*way{
		{name: "columns", guarantee: columns.Guarantee().String(), bytes: size(columns.MarshalBinary()), estimate: columns.Estimate},
		{name: "thesis's ALP", guarantee: thesis.Guarantee().String(), bytes: size(thesis.MarshalBinary()), estimate: thesis.Argmax},
		{name: "threshold", guarantee: list.Guarantee().String(), bytes: size(list.MarshalBinary()), estimate: list.Estimate},
		{name: "dense Laplace", guarantee: budget.PureDP(opts.epsilon, budget.L1(1)).String(), bytes: "2⁶⁷", estimate: func(index uint64) float64 {
			return max(truth[index]+laplace.Sample(&src, 0x1p-10), 0)
		}},
	}
	for _, w := range ways {
		w.sum, w.n = make([]float64, len(ranges)), make([]float64, len(ranges))
	}
	return ways, nil
}

// size returns the length of an encoding.
func size(data []byte, err error) string {
	if err != nil {
		return "–"
	}
	return fmt.Sprint(len(data))
}

// text prints the comparison.
func (c *comparison) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%.0f requests of %d URLs out of 2⁶⁴. One request more or less is hidden. Mean absolute error by the true count:\n\n", c.requests, c.opts.urls)
	fmt.Fprintf(&b, "  %-14s", "true count")
	for _, w := range c.ways {
		fmt.Fprintf(&b, " %14s", w.name)
	}
	fmt.Fprintf(&b, " %10s\n", "in sample")
	for i, r := range ranges {
		fmt.Fprintf(&b, "  %-14s", r.name)
		for _, w := range c.ways {
			if w.n[i] == 0 {
				fmt.Fprintf(&b, " %14s", "–")
				continue
			}
			fmt.Fprintf(&b, " %14.2f", w.mean(i))
		}
		fmt.Fprintf(&b, " %10.0f\n", c.ways[0].n[i])
	}
	fmt.Fprintf(&b, "  %-14s", "bytes")
	for _, w := range c.ways {
		fmt.Fprintf(&b, " %14s", w.bytes)
	}
	b.WriteString("\n\n")
	for _, w := range c.ways {
		fmt.Fprintf(&b, "  %-14s %s\n", w.name, w.guarantee)
	}
	return b.String()
}
