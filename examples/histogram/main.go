// Command histogram releases in how many verses of the King James Bible each word occurs, with a
// verse as the user.
//
//	histogram [flags]
//
// A verse is what is hidden, with all its words: the release looks nearly the same with any one
// verse added or removed. Nobody lists the words beforehand, nor says how many a verse has: each
// word of a verse gets a part of the verse's weight, and words of enough weight are shown, with an
// estimate of their count.
//
// With -words the counts are kept in 64 bytes or more for each word, by package kor/distinct, while
// the text is read: for words that are listed, which is public, or with "-words shown" for those
// that threshold/groupby shows (words.go).
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
	"github.com/dpsketch/dpsketch/threshold/groupby"
)

func main() {
	cli.Main(new(options))
}

// options is what the command line asks for, and the command.
type options struct {
	params     groupby.Params
	words      string
	top        int
	most       int
	confidence float64
}

func (opts *options) Flags() *flag.FlagSet {
	flags := flag.NewFlagSet("histogram", flag.ContinueOnError)
	flags.Float64Var(&opts.params.Epsilon, "epsilon", 1, "privacy parameter `ε`")
	flags.Float64Var(&opts.params.Delta, "delta", 1e-6, "privacy parameter `δ`")
	flags.IntVar(&opts.most, "m", 20, "with -words, a verse is protected up to this `number` of listed words")
	flags.IntVar(&opts.params.FullKeys, "full", 0, "a verse of more than this `number` of words counts less than 1 in each; 0 stands for 36")
	flags.Float64Var(&opts.params.CountShare, "share", 0, "`fraction` of the budget that only counts use; 0 chooses")
	flags.IntVar(&opts.params.Passes, "passes", 1, "`number` of passes, 1 or 2: the second finds more words, and counts have more noise")
	flags.IntVar(&opts.top, "top", 15, "print this `number` of words")
	flags.Float64Var(&opts.confidence, "confidence", 0.95, "`probability` with which an interval covers the count")
	flags.StringVar(&opts.words, "words", "", "count these `words` only, such as king,lord,god, or shown, in 64 bytes or more each")
	return flags
}

// Check leaves the Params to the Builder, which checks them itself.
func (opts *options) Check() error {
	if opts.top < 0 {
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
	if opts.words != "" {
		return opts.runGroups(text, out)
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
	groups *groupby.Groups[string]
	plan   groupby.Plan
	truth  map[string]int // in how many verses each word occurs
	verses int
}

// release counts every verse as a user and releases the counts.
func release(text *kjv.Text, p groupby.Params) (*result, error) {
	b, err := groupby.New[string](p)
	if err != nil {
		return nil, err
	}
	r := &result{truth: map[string]int{}}
	if r.plan, err = p.Plan(); err != nil {
		return nil, err
	}
	words := text.Words()
	for basket := range text.Baskets() {
		verse := make([]string, len(basket))
		for i, w := range basket {
			verse[i] = words[w]
			r.truth[words[w]]++
		}
		b.AddUser(verse)
		r.verses++
	}
	r.groups, err = b.Release()
	return r, err
}

// text prints the release.
func (r *result) text(opts options) string {
	var b strings.Builder
	p := r.groups.Params()
	fmt.Fprintf(&b, "In how many of %d verses does each of %d words occur?\n\n", r.verses, len(r.truth))
	fmt.Fprintf(&b, "Guarantee: %v; a user is a verse\n", r.groups.Guarantee())
	fmt.Fprintf(&b, "Threshold: %.1f verses, times √l for words of verses of l words\n", r.plan.Threshold)
	fmt.Fprintf(&b, "Noise of a count: %.1f\n", r.plan.StdDev)
	lo, hi := r.groups.Shortfall(opts.confidence)
	fmt.Fprintf(&b, "Verses of more than %d words count less than 1 in each: %.0f to %.0f in all are missing\n", p.FullKeys, lo, hi)
	shown := min(opts.top, r.groups.Len())
	fmt.Fprintf(&b, "\nReleased: %d words.", r.groups.Len())
	if shown > 0 {
		fmt.Fprintf(&b, " The %d most frequent:\n\n  %-12s %10s   %-19s %10s", shown, "word", "estimate", fmt.Sprintf("%.10g %% interval", 100*opts.confidence), "verses")
	}
	b.WriteByte('\n')
	for word, estimate := range r.groups.Top(shown) {
		lo, hi := r.groups.Interval(word, opts.confidence)
		fmt.Fprintf(&b, "  %-12s %10.1f   %8.1f – %8.1f %10d\n", word, estimate, lo, hi, r.truth[word])
	}
	hidden, most := 0, ""
	for word, n := range r.truth {
		if r.groups.Has(word) {
			continue
		}
		hidden++
		if n > r.truth[most] || n == r.truth[most] && word < most {
			most = word
		}
	}
	if hidden > 0 {
		fmt.Fprintf(&b, "\nHidden: %d words, the most frequent of them %q, in %d verses.\n", hidden, most, r.truth[most])
	}
	return b.String()
}
