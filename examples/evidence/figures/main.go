// Package figures draws the figures of the papers with this library's curves beside theirs, as SVG
// and PNG.
//
//	evidence figures                                      all, some minutes
//	evidence figures -only 'kor|jl' -out /tmp/pictures    some
//	evidence figures -quick                               fewer repetitions, to see that all works
//
// A curve of the papers' mechanisms comes from a simulation of the algorithm as printed or from its
// formula; this library's come from its public API, from real releases where there is no formula.
// Some figures print a table besides.
//
// The exit code is 0, 1 when drawing or writing failed, or 2 for a wrong flag.
package figures

import (
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
)

// Main runs the command on the command line.
func Main() {
	cli.Main(&command{progress: os.Stderr})
}

// figure is one picture.
type figure struct {
	name  string // of the files
	draw  func(e effort, step func()) (*picture, error)
	steps func(e effort) int // calls of step
}

// effort is how much to simulate.
type effort struct {
	runs  int // trials of a point of a simulated curve
	means int // runs of a mean
	scale int // by which data sets for means are smaller than the papers'
}

var (
	full  = effort{runs: 20_000, means: 3, scale: 1}
	brief = effort{runs: 300, means: 1, scale: 32}
)

var figures = []figure{
	{"alp-bound", alphaBound, always(5)},
	{"alp-alpha", alpAlpha, always(114)},
	{"alp-errors", alpErrors, always(21)},
	{"alp-integers", alpIntegers, always(27)},
	{"alp-bits", alpBits, always(105)},
	{"elliptical-gaussian", ellipses, always(3)},
	{"elliptical-laplace", diamonds, always(3)},
	{"arete-6", densities(6), always(4)},
	{"arete-8", densities(8), always(4)},
	{"arete-error", divisible, always(38)},
	{"column-range", columnRange, always(8)},
	{"plan-dimensions", planDimensions, func(e effort) int { return 3 * len(e.dimensions()) * e.means }},
	{"plan-skew", planSkew, func(e effort) int { return 15 * e.means }},
	{"plan-skewed", planSkewed, func(e effort) int { return 3 * len(e.dimensions()) * e.means }},
	{"plan-binary", planBinary, func(e effort) int { return 15 * e.means }},
	{"plan-baskets", planBaskets, func(e effort) int { return 20 * e.means }},
	{"misragries-threshold", thresholds, always(1)},
	{"misragries-counters", counters, always(3)},
	{"series-stationary", topErrors("A stationary stream", false, false), always(3)},
	{"series-diurnal", topErrors("A diurnal stream", false, true), always(3)},
	{"series-drifting", topErrors("A drifting stream", true, true), always(3)},
	{"kor-error", korError, func(e effort) int { return 7 * e.sketches() }},
	{"jl-variance", jlVariance, always(30)},
	{"budget-releases", releases, always(4)},
}

func always(steps int) func(effort) int { return func(effort) int { return steps } }

// command is what the command line asks for.
type command struct {
	out, only string
	quick     bool
	progress  io.Writer // where bars go, if it is a terminal
}

func (c *command) Flags() *flag.FlagSet {
	flags := flag.NewFlagSet("figures", flag.ContinueOnError)
	flags.StringVar(&c.out, "out", "figures/pictures", "`folder` for the pictures")
	flags.StringVar(&c.only, "only", "", "draw only figures whose name matches the `pattern`")
	flags.BoolVar(&c.quick, "quick", false, "few repetitions")
	return flags
}

func (c *command) Check() error {
	pattern, err := regexp.Compile(c.only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	for _, f := range figures {
		if pattern.MatchString(f.name) {
			return nil
		}
	}
	return fmt.Errorf("-only %q matches no figure", c.only)
}

// Run draws the figures and prints the names of the files.
func (c *command) Run(stdout io.Writer) error {
	if err := os.MkdirAll(c.out, 0o755); err != nil {
		return err
	}
	e, wanted := full, regexp.MustCompile(c.only)
	if c.quick {
		e = brief
	}
	for _, f := range figures {
		if !wanted.MatchString(f.name) {
			continue
		}
		b := newBar(c.progress, f.name, f.steps(e))
		p, err := f.draw(e, b.step)
		b.clear()
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		files, err := p.save(c.out, f.name)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(stdout, strings.Join(append([]string{files}, p.table...), "\n")); err != nil {
			return err
		}
	}
	return nil
}
