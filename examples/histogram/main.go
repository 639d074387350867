// Command histogram releases in how many verses of the King James Bible each word occurs, with a
// verse as the user.
//
//	histogram [flags]
//
// A verse is what is hidden: the release looks nearly the same with any one verse added or removed.
// A verse touches many counts at once, so it is bounded first: of its distinct words at most -m are
// kept, chosen at random, each counted once. The program prints which mechanism the library chose
// for that, and what the rejected ones would have needed.
//
// The text is public, so the true counts can stand beside the released ones. The exit code is 0, 1
// when writing failed, or 2 for a wrong flag or parameter.
package main

import (
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/examples/kjv"
	"github.com/dpsketch/dpsketch/threshold"
)

func main() {
	cli.Main(new(options))
}

// options is what the command line asks for, and the command.
type options struct {
	params     threshold.Params
	mechanism  string
	top        int
	confidence float64
}

func (opts *options) Flags() *flag.FlagSet {
	flags := flag.NewFlagSet("histogram", flag.ContinueOnError)
	flags.Float64Var(&opts.params.Epsilon, "epsilon", 1, "privacy parameter `ε`")
	flags.Float64Var(&opts.params.Delta, "delta", 1e-6, "privacy parameter `δ`")
	flags.IntVar(&opts.params.MaxKeys, "m", 20, "`words` kept of a verse, which has up to 53 different ones")
	flags.IntVar(&opts.params.Stored, "stored", 0, "promise that no text has more than this `number` of different words; 0 promises nothing")
	flags.IntVar(&opts.top, "top", 15, "print this `number` of words")
	flags.Float64Var(&opts.confidence, "confidence", 0.95, "`probability` with which an interval covers the bounded count")
	flags.StringVar(&opts.mechanism, "mechanism", "Auto", "`name` of the mechanism, such as Gaussian; Auto chooses the least threshold")
	return flags
}

// Check finds the mechanism. The Builder checks its parameters itself.
func (opts *options) Check() error {
	for opts.params.Mechanism.String() != opts.mechanism {
		if opts.params.Mechanism++; opts.params.Mechanism > threshold.DenseLaplace {
			return fmt.Errorf("-mechanism = %q: want one of those the program prints", opts.mechanism)
		}
	}
	switch {
	case opts.params.MaxKeys < 1:
		return fmt.Errorf("-m = %d: want at least 1", opts.params.MaxKeys)
	case opts.top < 0:
		return fmt.Errorf("-top = %d: want 0 or more", opts.top)
	}
	return cli.Probability("confidence", opts.confidence)
}

// Run counts, releases and prints.
func (opts *options) Run(out io.Writer) error {
	text, err := kjv.Load()
	if err != nil {
		return err
	}
	r, err := release(text, opts.params)
	if err != nil {
		return cli.Usage(err)
	}
	_, err = io.WriteString(out, r.text(*opts))
	return err
}

// result is a release, with the truth beside it.
type result struct {
	vector *threshold.Vector[string]
	truth  map[string]int // in how many verses each word occurs
	verses int
}

// release counts every verse as a user and releases the counts.
func release(text *kjv.Text, p threshold.Params) (*result, error) {
	b, err := threshold.NewUserBuilder[string](p)
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
	fmt.Fprintf(&b, "Guarantee: %v; a user is a verse\n\n", r.vector.Guarantee())
	for line := range strings.Lines(opts.params.Explain()) {
		b.WriteString("  " + line)
	}
	shown := min(opts.top, r.vector.Len())
	fmt.Fprintf(&b, "\nReleased: %d words.", r.vector.Len())
	if shown > 0 {
		fmt.Fprintf(&b, " The %d most frequent:\n\n  %-12s %10s   %-19s %10s", shown, "word", "estimate", fmt.Sprintf("%.10g %% interval", 100*opts.confidence), "all verses")
	}
	b.WriteByte('\n')
	for word, estimate := range r.vector.Top(shown) {
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
