// Command figures draws the figures of the papers with this library's curves beside theirs, as SVG and PNG.
//
//	cd examples/figures && go run .               all, some minutes
//	go run . -only 'kor|jl' -out /tmp/pictures     some
//	go run . -quick                                fewer repetitions, to see that all works
//
// A curve of the papers' mechanisms comes from a simulation of the algorithm as printed or from its formula; this library's come from its public
// API, from real releases where there is no formula.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
)

// figure is one picture.
type figure struct {
	name string // of the files
	draw func(e effort, step func()) (*picture, error)
}

// effort is how much to simulate.
type effort struct {
	runs  int // trials of a point of a simulated curve
	means int // runs of a mean
	scale int // by which data sets for means are smaller than the papers'
}

var (
	full  = effort{runs: 20_000, means: 3, scale: 4}
	brief = effort{runs: 300, means: 1, scale: 32}
)

var figures = []figure{
	{"alp-alpha", alpAlpha},
	{"alp-errors", alpErrors},
	{"alp-integers", alpIntegers},
	{"alp-bits", alpBits},
	{"elliptical", ellipses},
	{"arete", densities},
	{"arete-error", divisible},
	{"plan-gaussian", planGaussian},
	{"plan-skewed", planSkewed},
	{"plan-binary", planBinary},
	{"misragries-threshold", thresholds},
	{"kor-error", korError},
	{"jl-variance", jlVariance},
}

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "figures:", err)
		os.Exit(1)
	}
}

func run(args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("figures", flag.ContinueOnError)
	flags.SetOutput(stderr)
	out := flags.String("out", "pictures", "folder for the pictures")
	only := flags.String("only", "", "draw only figures whose name matches")
	quick := flags.Bool("quick", false, "few repetitions")
	if err := flags.Parse(args); err != nil {
		return err
	}
	wanted, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(*out, 0o755); err != nil {
		return err
	}
	e := full
	if *quick {
		e = brief
	}
	for _, f := range figures {
		if !wanted.MatchString(f.name) {
			continue
		}
		bar := newBar(stderr, f.name)
		p, err := f.draw(e, bar.step)
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		files, err := p.save(*out, f.name)
		if err != nil {
			return err
		}
		bar.done()
		fmt.Fprintf(stdout, "%s\n", files)
	}
	return nil
}

// bar shows on a terminal that work goes on.
type bar struct {
	out   io.Writer
	name  string
	steps int
}

func newBar(out io.Writer, name string) *bar { return &bar{out: out, name: name} }

func (b *bar) step() {
	b.steps++
	fmt.Fprintf(b.out, "\r%-22s %s", b.name, dots[:min(b.steps, len(dots))])
}

func (b *bar) done() { fmt.Fprintf(b.out, "\r%-22s done%60s\n", b.name, "") }

const dots = "................................................................"
