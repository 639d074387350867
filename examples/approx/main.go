// Command approx makes five randomized approximation algorithms differentially private, each by one
// wrapper, approx.Mechanism or approx.Search.
//
//	approx [flags]
//
//	problem               data                     hidden is  algorithm             known of it
//	frequency moment F₂   tokens of the Bible      one token  AMS sketch, 5 rows    SD
//	rank in the alphabet  tokens of the Bible      one token  KLL sketch, queries   diameter
//	connected components  random graph of 200,000  one edge   sampling and search   diameter
//	average degree        implicit graph of 2⁴⁰    one edge   sampling with advice  SD, relative
//	maximum matching      implicit graph of 2⁴⁰    a vertex   greedy, local oracle  diameter
//
// The Bible is the King James Bible; a graph's number is that of its vertices. F₂ is the second
// frequency moment, and KLL a sketch of compactors. What is known of an algorithm's error is its
// standard deviation (SD) or its subexponential diameter.
//
// Two are simpler than in the paper, on purpose. The average degree supposes a public bound on the
// degrees, so that the mean over random vertices will do; without one, Seshadhri's estimator takes
// its place (see degree.go). The sketch of ranks has the levels of KLL, but not the sampler below
// them.
//
// None of them has a small sensitivity itself: one record more may change the sketch's or the
// sample's answer completely. The function they approximate has, and their error is concentrated,
// which is all that the noise needs. Each file derives the two numbers it declares.
//
// The data are public, so the true answers stand beside the released ones. The exit code is 0, 1
// when the data or writing failed, or 2 for a wrong flag.
//
// Maximum matching is not as in the paper (Tětek, section 5.4), whose algorithm approximates a
// (1+ρ)-matching by augmenting paths of up to 2/ρ edges, in an oracle that recurses on random
// ranks. At a mean degree of 4 an answer read 512 vertices on average for ρ = ⅓, and more than
// 100,000 for ρ = ¼, while noise of 1 % of n takes ρ = 1/50. So what is released here is the size G
// of the greedy matching, ρ = 1, which one vertex with all its edges changes by at most 1
// (matching.go has the proof): only the sample costs noise, and the size of a maximum matching lies
// in [G, 2G].
//
// The estimators stay in this program: each is written for the data that it shows, and a program
// with other data would write its own. What carries over is noise/approx.
package main

import (
	"flag"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/examples/kjv"
	"github.com/dpsketch/dpsketch/noise/approx"
	"github.com/dpsketch/dpsketch/noise/budget"
)

func main() {
	cli.Main(new(options))
}

// options is what the command line asks for, and the command.
type options struct {
	epsilon, searchEpsilon, confidence float64
}

func (opts *options) Flags() *flag.FlagSet {
	flags := flag.NewFlagSet("approx", flag.ContinueOnError)
	flags.Float64Var(&opts.epsilon, "epsilon", 1, "privacy parameter `ε` of F₂, of all rank queries together, and of the components")
	flags.Float64Var(&opts.searchEpsilon, "search-epsilon", 1, "privacy parameter `ε` of the average degree; the sample grows with 1/ε²")
	flags.Float64Var(&opts.confidence, "confidence", 0.95, "`probability` with which an interval covers the true answer")
	return flags
}

func (opts *options) Check() error {
	valid := func(epsilon float64) bool { return epsilon >= 1.0/16 && epsilon <= 64 }
	switch {
	case !valid(opts.epsilon):
		return fmt.Errorf("-epsilon = %v: want a number in [1/16, 64]", opts.epsilon)
	case !(valid(opts.searchEpsilon) && opts.searchEpsilon >= 0.5):
		return fmt.Errorf("-search-epsilon = %v: want a number in [½, 64]", opts.searchEpsilon)
	}
	return cli.Probability("confidence", opts.confidence)
}

// Run prints each result as soon as it is there.
func (opts *options) Run(out io.Writer) error {
	text, err := kjv.Load()
	if err != nil {
		return err
	}
	for _, release := range []func() (*result, error){
		func() (*result, error) { return frequencyMoment(text, *opts) },
		func() (*result, error) { return ranks(text, *opts) },
		func() (*result, error) { return components(newRandomGraph(200_000, 80_000), *opts) },
		func() (*result, error) { return averageDegree(*opts) },
		func() (*result, error) { return matching(*opts) },
	} {
		r, err := release()
		if err != nil {
			return err
		}
		if _, err := io.WriteString(out, r.text()); err != nil {
			return err
		}
	}
	return nil
}

// result is what one algorithm released, with the truth beside it.
type result struct {
	title, method string
	guarantee     budget.Guarantee
	answers       []answer
}

// answer is one released number. scale is what its error is to be measured against.
type answer struct {
	name                 string
	truth, value, lo, hi float64
	// the estimate before the noise, which is not private; as truth and value, NaN where it is not
	// known
	estimate, scale float64
}

// scaleOf returns the scale of the noise.
func scaleOf(a *approx.Mechanism) float64 {
	plan, err := a.Params().Plan()
	if err != nil {
		return math.NaN() // not for Params of a Mechanism
	}
	return plan.Scale
}

// answerOf releases one estimate with the Mechanism.
func answerOf(name string, truth, estimate, scale float64, a *approx.Mechanism, confidence float64) (answer, error) {
	released, err := a.Release(estimate)
	if err != nil {
		return answer{}, err
	}
	lo, hi := released.Interval(confidence)
	return answer{name: name, truth: truth, value: released.Estimate(), lo: lo, hi: hi, estimate: estimate, scale: scale}, nil
}

// text prints the result.
func (r *result) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n  %s\n  Guarantee: %v\n", r.title, r.method, r.guarantee)
	fmt.Fprintf(&b, "  %-14s %14s %14s %14s %32s %8s\n", "", "truth", "without noise", "released", "interval", "error")
	for _, a := range r.answers {
		interval := fmt.Sprintf("[%.6g, %.6g]", a.lo, a.hi)
		off := known("%.2f%%", 100*math.Abs(a.value-a.truth)/a.scale)
		fmt.Fprintf(&b, "  %-14s %14s %14s %14s %32s %8s\n", a.name, known("%.6g", a.truth), known("%.6g", a.estimate), known("%.6g", a.value), interval, off)
	}
	b.WriteString("\n")
	return b.String()
}

// known prints a number, or ? for NaN.
func known(format string, x float64) string {
	if math.IsNaN(x) {
		return "?"
	}
	return fmt.Sprintf(format, x)
}
