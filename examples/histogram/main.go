// Command histogram releases in how many verses of the King James Bible each word occurs, with a verse as the user.
//
//	histogram [flags]
//
// A verse is what is hidden: the release looks nearly the same with any one verse added or removed. A verse touches many
// counts at once, so it is bounded first: of its distinct words at most -m are kept, chosen at random, each counted once.
// The program prints which mechanism the library chose for that, and what the rejected ones would have needed.
//
// The text is public, so the true counts can stand beside the released ones. The exit code is 0, 1 when writing failed, or 2 for a
// wrong flag or parameter.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/dpsketch/dpsketch/examples/kjv"
	"github.com/dpsketch/dpsketch/threshold"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// options is what the command line asks for.
type options struct {
	params     threshold.Params
	top        int
	confidence float64
}

// parse reads the command line. The Builder checks the parameters of the mechanism itself.
func parse(args []string, out io.Writer) (opts options, err error) {
	flags := flag.NewFlagSet("histogram", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.Float64Var(&opts.params.Epsilon, "epsilon", 1, "privacy parameter `ε`")
	flags.Float64Var(&opts.params.Delta, "delta", 1e-6, "privacy parameter `δ`")
	flags.IntVar(&opts.params.MaxKeys, "m", 20, "`words` kept of a verse, which has up to 53 different ones")
	flags.IntVar(&opts.params.Stored, "stored", 0, "promise that no text has more than this `number` of different words; 0 promises nothing")
	flags.IntVar(&opts.top, "top", 15, "print this `number` of words")
	flags.Float64Var(&opts.confidence, "confidence", 0.95, "`probability` with which an interval covers the bounded count")
	name := flags.String("mechanism", "Auto", "`name` of the mechanism, such as Gaussian; Auto chooses the least threshold")
	if err := flags.Parse(args); err != nil {
		return opts, err
	}
	for opts.params.Mechanism.String() != *name {
		if opts.params.Mechanism++; opts.params.Mechanism > threshold.DenseLaplace {
			return opts, fmt.Errorf("-mechanism = %q: want one of those the program prints", *name)
		}
	}
	switch {
	case flags.NArg() > 0:
		return opts, fmt.Errorf("unexpected arguments %q", flags.Args())
	case opts.params.MaxKeys < 1:
		return opts, fmt.Errorf("-m = %d: want at least 1", opts.params.MaxKeys)
	case opts.top < 0:
		return opts, fmt.Errorf("-top = %d: want 0 or more", opts.top)
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
		fmt.Fprintf(stderr, "histogram: %v (-h lists the flags)\n", err)
		return 2
	}
	text, err := kjv.Load()
	if err != nil {
		fmt.Fprintf(stderr, "histogram: %v\n", err)
		return 1
	}
	r, err := release(text, opts.params)
	if err != nil {
		fmt.Fprintf(stderr, "histogram: %v\n", err)
		return 2
	}
	if _, err := io.WriteString(stdout, r.text(opts)); err != nil {
		fmt.Fprintf(stderr, "histogram: %v\n", err)
		return 1
	}
	return 0
}

// result is a release, with the truth beside it.
type result struct {
	vector *threshold.Vector[string]
	truth  map[string]int // in how many verses each word occurs
	verses int
}

// release counts every verse as a user and releases the counts.
func release(text *kjv.Text, p threshold.Params) (*result, error) {
	b, err := threshold.New[string](p)
	if err != nil {
		return nil, err
	}
	r := &result{truth: map[string]int{}}
	words := text.Words()
	for basket := range text.Baskets() {
		verse := make([]string, len(basket))
		for i, w := range basket {
			verse[i] = words[w]
			r.truth[words[w]]++
		}
		b.AddUser(verse...)
		r.verses++
	}
	r.vector, err = b.Release()
	return r, err
}

// text prints the release.
func (r *result) text(opts options) string {
	var b strings.Builder
	fmt.Fprintf(&b, "In how many of %d verses does each of %d words occur? Of a verse %d words are counted.\n\n", r.verses, len(r.truth), opts.params.MaxKeys)
	fmt.Fprintf(&b, "Guarantee: %v; the unit is one verse, added or removed\n\n", r.vector.Guarantee())
	for line := range strings.Lines(opts.params.Explain()) {
		b.WriteString("  " + line)
	}
	fmt.Fprintf(&b, "\nReleased: %d words. The %d most frequent:\n\n", r.vector.Len(), opts.top)
	fmt.Fprintf(&b, "  %-12s %10s   %-19s %10s\n", "word", "estimate", fmt.Sprintf("%g %% interval", 100*opts.confidence), "all verses")
	for word, estimate := range r.vector.Top(opts.top) {
		lo, hi := r.vector.Interval(word, opts.confidence)
		fmt.Fprintf(&b, "  %-12s %10.1f   %8.1f – %8.1f %10d\n", word, estimate, lo, hi, r.truth[word])
	}
	hidden, most := 0, ""
	for word, n := range r.truth {
		if r.vector.Estimate(word) != 0 {
			continue
		}
		hidden++
		if n > r.truth[most] || n == r.truth[most] && word < most {
			most = word
		}
	}
	fmt.Fprintf(&b, "\nThe intervals cover the counts after each verse was cut to %d words; the last column is before.\n", opts.params.MaxKeys)
	if hidden > 0 {
		fmt.Fprintf(&b, "Hidden: %d words, the most frequent of them %q, in %d verses.\n", hidden, most, r.truth[most])
	}
	return b.String()
}
