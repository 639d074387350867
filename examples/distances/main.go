// Command distances finds the verse of the King James Bible that is nearest to a given one, from
// private sketches alone.
//
//	distances [flags]
//
// Each verse is the vector of its word counts, held by a party of its own. All parties share a
// public seed, and each publishes one private sketch: the release looks nearly the same with any
// one word more or less. From the sketches the program estimates the distances of all candidates to
// the first verse, with intervals, and picks the nearest; beside it stands the truth. It does so
// for ε = 1, 2, 4, 8 and 16, each with the number of rows that the planning function finds best,
// and prints the planning function's warning where the distances are too small for the noise.
//
// The intervals are those that hold for any vectors. A few words (and, the, of) dominate these, and
// where two of them meet in one row of the sketch, all distances from the first verse are off in
// the same direction.
//
// The exit code is 0, 1 when writing failed, or 2 for a wrong flag or parameter.
package main

import (
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/examples/kjv"
	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/jl"
)

func main() {
	cli.Main(new(options))
}

// options is what the command line asks for, and the command.
type options struct {
	verse, candidates int
	merge             int
	confidence        float64
	epsilon           float64
	rows              int
}

func (opts *options) Flags() *flag.FlagSet {
	flags := flag.NewFlagSet("distances", flag.ContinueOnError)
	flags.IntVar(&opts.verse, "verse", 0, "`number` of the verse to which the others are compared, or of the first of its block; the first of all is 0")
	flags.IntVar(&opts.candidates, "candidates", 20, "compare it to this `number` of verses that follow")
	flags.IntVar(&opts.merge, "merge", 1, "a party holds a block of this `number` of verses, which makes distances longer")
	flags.Float64Var(&opts.confidence, "confidence", 0.95, "`probability` with which an interval covers the distance")
	flags.IntVar(&opts.rows, "rows", 512, "at most this `number` of rows, where the plan has more: sketches stay small, and estimates fast")
	flags.Float64Var(&opts.epsilon, "epsilon", 0, "only this privacy parameter `ε`; 0 is 1, 2, 4, 8 and 16")
	return flags
}

func (opts *options) Check() error {
	switch {
	case opts.verse < 0:
		return fmt.Errorf("-verse = %d: want 0 or more", opts.verse)
	case opts.candidates < 1 || opts.candidates > 10_000:
		return fmt.Errorf("-candidates = %d: want 1 to 10000", opts.candidates)
	case opts.merge < 1 || opts.merge > 10_000:
		return fmt.Errorf("-merge = %d: want 1 to 10000", opts.merge)
	case opts.rows < 1:
		return fmt.Errorf("-rows = %d: want 1 or more", opts.rows)
	}
	return cli.Probability("confidence", opts.confidence)
}

// Run compares the verses at every ε.
func (opts *options) Run(out io.Writer) error {
	text, err := kjv.Load()
	if err != nil {
		return err
	}
	parties, err := blocks(text, *opts)
	if err != nil {
		return cli.Usage(err)
	}
	var b strings.Builder
	if opts.merge == 1 {
		fmt.Fprintf(&b, "Which of the %d verses after verse %d is nearest to it?", opts.candidates, opts.verse)
	} else {
		fmt.Fprintf(&b, "Which of %d blocks of %d verses is nearest to the one before them, from verse %d on?", opts.candidates, opts.merge, opts.verse)
	}
	fmt.Fprintf(&b, " Vectors of %d word counts.\n", len(text.Words()))
	sweep := []float64{1, 2, 4, 8, 16}
	if opts.epsilon != 0 {
		sweep = []float64{opts.epsilon}
	}
	for _, epsilon := range sweep {
		c, err := compare(parties, uint64(len(text.Words())), epsilon, *opts)
		if err != nil {
			return cli.Usage(err)
		}
		b.WriteString(c.text(*opts))
	}
	_, err = io.WriteString(out, b.String())
	return err
}

// counts is a vector of word counts, by the index of the word.
type counts map[int]int

// blocks returns the vectors of the first block of verses and of the candidates.
func blocks(text *kjv.Text, opts options) ([]counts, error) {
	parties := make([]counts, opts.candidates+1)
	index := map[string]int{}
	for i, word := range text.Words() {
		index[word] = i
	}
	verse := 0
	for tokens := range text.Verses() {
		if i := verse - opts.verse; i >= 0 && i/opts.merge < len(parties) {
			block := &parties[i/opts.merge]
			if *block == nil {
				*block = counts{}
			}
			for _, word := range tokens {
				(*block)[index[word]]++
			}
		}
		verse++
	}
	if needed := len(parties) * opts.merge; opts.verse > verse-needed {
		return nil, fmt.Errorf("-verse, -candidates and -merge ask for verse %d: there are %d", uint64(opts.verse)+uint64(needed), verse)
	}
	return parties, nil
}

// squaredDistance returns the truth.
func squaredDistance(x, y counts) (sum int) {
	for word, n := range x {
		sum += (n - y[word]) * (n - y[word])
	}
	for word, n := range y {
		if _, both := x[word]; !both {
			sum += n * n
		}
	}
	return sum
}

// candidate is a block by what the sketches say of it, and the truth.
type candidate struct {
	estimate, lo, hi float64
	truth            int
}

// comparison is the outcome at one ε.
type comparison struct {
	plan       jl.Plan
	stdErr     float64    // of the estimate of a typical squared distance, with the rows there are
	sketch     *jl.Sketch // of the first block
	candidates []candidate
	nearest    int // by the estimates
	best       int // by the truth
}

// compare sketches all parties' vectors and estimates the distances to the first.
func compare(parties []counts, dim uint64, epsilon float64, opts options) (*comparison, error) {
	c := &comparison{candidates: make([]candidate, len(parties)-1)}
	typical := 0.0
	for i, y := range parties[1:] {
		c.candidates[i].truth = squaredDistance(parties[0], y)
		typical += float64(c.candidates[i].truth) / float64(len(parties)-1)
	}
	var err error
	p := jl.Params{Dim: dim, Epsilon: epsilon, Integers: true, Seed: hashing.NewSeed()}
	if c.plan, err = p.Plan(max(typical, 1)); err != nil {
		return nil, err
	}
	p = c.plan.Params
	p.Rows = min(p.Rows, opts.rows)
	fewer, err := p.Plan(c.plan.SquaredLength)
	if err != nil {
		return nil, err
	}
	c.stdErr = fewer.StdErr
	first, err := jl.New(p)
	if err != nil {
		return nil, err
	}
	if c.sketch, err = sketch(first, parties[0]); err != nil {
		return nil, err
	}
	for i := range c.candidates {
		y, err := sketch(first, parties[i+1])
		if err != nil {
			return nil, err
		}
		d := &c.candidates[i]
		if d.estimate, err = c.sketch.SquaredDistance(y); err != nil {
			return nil, err
		}
		d.estimate = max(d.estimate, 0)
		if d.lo, d.hi, err = c.sketch.SquaredDistanceInterval(y, opts.confidence); err != nil {
			return nil, err
		}
		if d.estimate < c.candidates[c.nearest].estimate {
			c.nearest = i
		}
		if d.truth < c.candidates[c.best].truth {
			c.best = i
		}
	}
	return c, nil
}

// sketch is what one party does.
func sketch(first *jl.Builder, vector counts) (*jl.Sketch, error) {
	b, err := first.Sibling()
	if err != nil {
		return nil, err
	}
	for word, n := range vector {
		b.Add(uint64(word), float64(n))
	}
	return b.Release()
}

// covered returns the share of the intervals that hold the truth.
func (c *comparison) covered() float64 {
	n := 0
	for _, d := range c.candidates {
		if d.lo <= float64(d.truth) && float64(d.truth) <= d.hi {
			n++
		}
	}
	return float64(n) / float64(len(c.candidates))
}

// text prints the comparison.
func (c *comparison) text(opts options) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%v; the unit is one word more or less\n", c.sketch.Guarantee())
	fmt.Fprintf(&b, "  planned: %d rows, relative error of a typical squared distance %.2g", c.plan.Params.Rows, c.plan.RelativeError)
	if rows := c.sketch.Params().Rows; rows < c.plan.Params.Rows {
		fmt.Fprintf(&b, "; with %d rows %.2g", rows, c.stdErr/c.plan.SquaredLength)
	}
	b.WriteByte('\n')
	if w := c.plan.Warning(); w != "" {
		fmt.Fprintf(&b, "  warning: %s\n", w)
	}
	line := func(name string, i int) {
		d := c.candidates[i]
		from := opts.verse + (i+1)*opts.merge
		fmt.Fprintf(&b, "  %-24s verse %-6d ‖x−y‖² about %8.1f in [%.1f, %.1f], true %d\n", name, from, d.estimate, d.lo, d.hi, d.truth)
	}
	line("nearest by the sketches:", c.nearest)
	line("nearest in truth:", c.best)
	fmt.Fprintf(&b, "  intervals of %.10g %% that cover the truth: %.0f %%\n", 100*opts.confidence, 100*c.covered())
	return b.String()
}
