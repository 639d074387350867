// Command approx makes four randomized approximation algorithms differentially private, each by one wrapper, noise.Approximator or noise.AdviceSearch.
//
//	approx [flags]
//
//	problem                           data                            hidden is     algorithm                            what is known of its error
//	second frequency moment F₂        tokens of the King James Bible  one token     AMS sketch, 5 rows                   standard deviation
//	rank of places in the alphabet    tokens of the King James Bible  one token     sketch of compactors (KLL), queries  subexponential diameter
//	number of connected components    random graph of 200,000         one edge      sampling and search                  subexponential diameter
//	average degree                    implicit graph of 2⁴⁰ vertices  one edge      sampling with advice                 standard deviation, relative
//
// None of them has a small sensitivity itself: one record more may change the sketch's or the sample's answer completely. The function they approximate has, and
// their error is concentrated, which is all that the noise needs. Each file derives the two numbers it declares.
//
// The data are public, so the true answers stand beside the released ones. The exit code is 0, 1 when the data or writing failed, or 2 for a wrong flag.
//
// Not here is maximum matching (Tětek, section 5.4). The algorithm behind it approximates a (1+ρ)-matching by local search for augmenting paths of length
// O(1/ρ) in an oracle that recurses on random ranks: d^{O(1/ρ²)} vertices are read for one answer, beyond any graph for the ρ ≈ ε/10 that privacy
// asks for. What is fast, greedy matching by random ranks, is off by a factor of two on some graphs; with an error of n/2 nothing is left under the noise.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"github.com/dpsketch/dpsketch/examples/kjv"
	"github.com/dpsketch/dpsketch/noise"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// options is what the command line asks for.
type options struct {
	epsilon, searchEpsilon, confidence float64
}

func parse(args []string, out io.Writer) (opts options, err error) {
	flags := flag.NewFlagSet("approx", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.Float64Var(&opts.epsilon, "epsilon", 1, "privacy parameter `ε` of F₂, of all rank queries together, and of the components")
	flags.Float64Var(&opts.searchEpsilon, "search-epsilon", 1, "privacy parameter `ε` of the average degree; the sample grows with 1/ε²")
	flags.Float64Var(&opts.confidence, "confidence", 0.95, "`probability` with which an interval covers the true answer")
	if err := flags.Parse(args); err != nil {
		return opts, err
	}
	valid := func(epsilon float64) bool { return epsilon >= 1.0/16 && epsilon <= 64 }
	switch {
	case flags.NArg() > 0:
		return opts, fmt.Errorf("unexpected arguments %q", flags.Args())
	case !valid(opts.epsilon):
		return opts, fmt.Errorf("-epsilon = %v: want a number in [1/16, 64]", opts.epsilon)
	case !(valid(opts.searchEpsilon) && opts.searchEpsilon >= 0.5):
		return opts, fmt.Errorf("-search-epsilon = %v: want a number in [½, 64]", opts.searchEpsilon)
	case !(opts.confidence > 0 && opts.confidence < 1):
		return opts, fmt.Errorf("-confidence = %v: want a number between 0 and 1, both excluded", opts.confidence)
	}
	return opts, nil
}

// run is the program: it returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	opts, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintf(stderr, "approx: %v (-h lists the flags)\n", err)
		return 2
	}
	text, err := kjv.Load()
	if err != nil {
		fmt.Fprintf(stderr, "approx: %v\n", err)
		return 1
	}
	parts := []func() (*result, error){
		func() (*result, error) { return frequencyMoment(text, opts) },
		func() (*result, error) { return ranks(text, opts) },
		func() (*result, error) { return components(newRandomGraph(200_000, 80_000), opts) },
		func() (*result, error) { return averageDegree(opts) },
	}
	for _, part := range parts {
		r, err := part()
		if err == nil {
			_, err = io.WriteString(stdout, r.text())
		}
		if err != nil {
			fmt.Fprintf(stderr, "approx: %v\n", err)
			return 1
		}
	}
	return 0
}

// result is what one algorithm released, with the truth beside it.
type result struct {
	title, method string
	guarantee     noise.Guarantee
	answers       []answer
}

// answer is one released number. scale is what its error is to be measured against.
type answer struct {
	name                 string
	truth, value, lo, hi float64
	estimate, scale      float64 // the estimate before the noise, which is not private; NaN where it is not known
}

// answerOf releases one estimate with the Approximator.
func answerOf(name string, truth, estimate, scale float64, a *noise.Approximator, confidence float64) (answer, error) {
	released, err := a.Release(estimate)
	if err != nil {
		return answer{}, err
	}
	lo, hi := released.Interval(confidence)
	return answer{name: name, truth: truth, value: released.Value(), lo: lo, hi: hi, estimate: estimate, scale: scale}, nil
}

// text prints the result.
func (r *result) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n  %s\n  Guarantee: %v\n", r.title, r.method, r.guarantee)
	fmt.Fprintf(&b, "  %-14s %14s %14s %14s %32s %8s\n", "", "truth", "without noise", "released", "interval", "error")
	for _, a := range r.answers {
		estimate := "?"
		if !math.IsNaN(a.estimate) {
			estimate = fmt.Sprintf("%.6g", a.estimate)
		}
		interval := fmt.Sprintf("[%.5g, %.5g]", a.lo, a.hi)
		fmt.Fprintf(&b, "  %-14s %14.6g %14s %14.6g %32s %7.2f%%\n", a.name, a.truth, estimate, a.value, interval, 100*math.Abs(a.value-a.truth)/a.scale)
	}
	b.WriteString("\n")
	return b.String()
}
