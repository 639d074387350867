// Command distinct compares the vocabularies of two books of the King James Bible, held by two
// parties that show each other nothing but private sketches.
//
//	distinct [flags]
//
// Each party sketches the words of its book, as they come, and sends the encoded sketch, some
// kilobytes. Whoever has both, here a third one, computes how many words are in one book only, in
// either, in both. A word of a book is what is hidden: each sketch looks nearly the same with any
// one word added to the set or removed from it.
//
// With -cohorts it counts the first books as if each were a day, and a word a user: how many are
// new in each, and of these in a later one or after it, from one release; -svg draws all of that.
//
// The text is public, so the true numbers can stand beside the estimates. The exit code is 0, 1
// when writing failed, or 2 for a wrong flag or parameter.
package main

import (
	"flag"
	"fmt"
	"io"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/examples/kjv"
	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/kor/distinct"
)

func main() {
	cli.Main(new(options))
}

// options is what the command line asks for, and the command.
type options struct {
	params        distinct.Params
	confidence    float64
	names         [2]string
	first, second book
	cohorts       int
	svg           string
}

func (opts *options) Flags() *flag.FlagSet {
	flags := flag.NewFlagSet("distinct", flag.ContinueOnError)
	flags.Float64Var(&opts.params.Epsilon, "epsilon", 2, "privacy parameter `ε` of each party")
	flags.IntVar(&opts.params.Cells, "cells", 4096, "`bits` of each level of a sketch")
	flags.IntVar(&opts.params.Levels, "levels", 12, "`number` of levels")
	flags.Float64Var(&opts.params.CountShare, "share", 0.1, "`fraction` of ε for a noisy count beside the sketch")
	flags.Float64Var(&opts.confidence, "confidence", 0.95, "`probability` with which an interval covers the true number")
	flags.StringVar(&opts.names[0], "a", "Genesis", "`book` of the first party; any of the 66, in short: 1Samuel")
	flags.StringVar(&opts.names[1], "b", "Exodus", "`book` of the second party")
	flags.IntVar(&opts.cohorts, "cohorts", 0, "`number` of books, 2 to 31, whose new words are followed; 0 compares two")
	flags.StringVar(&opts.svg, "svg", "", "draw the cohorts to this `file`")
	return flags
}

// Check finds the books. The Builder checks the parameters of the sketch itself.
func (opts *options) Check() error {
	if err := cli.Probability("confidence", opts.confidence); err != nil {
		return err
	}
	if opts.cohorts < 0 || opts.cohorts > 31 || opts.cohorts == 0 && opts.svg != "" {
		return fmt.Errorf("-cohorts = %d: want a number in [2, 31], with -svg too", opts.cohorts)
	}
	if share := opts.params.CountShare; !(share > 0 && share < 1) {
		return fmt.Errorf("-share = %v: want a number in (0, 1), which leaves bits to compare", share)
	}
	var ok bool
	if opts.first, ok = find(opts.names[0]); !ok {
		return fmt.Errorf("-a = %q: want one of %v", opts.names[0], names())
	}
	if opts.second, ok = find(opts.names[1]); !ok {
		return fmt.Errorf("-b = %q: want one of %v", opts.names[1], names())
	}
	return nil
}

// Run lets both parties send what they want, and compares what they sent.
func (opts *options) Run(out io.Writer) error {
	text, err := kjv.Load()
	if err != nil {
		return err
	}
	if opts.cohorts > 0 {
		return opts.showCohorts(out, text)
	}
	opts.params.Seed = hashing.NewSeed() // public: one party draws it and tells the other
	first, second := words(text, opts.first), words(text, opts.second)
	sent, err := party(opts.params, occurrences(text, opts.first))
	if err != nil {
		return cli.Usage(err)
	}
	received, err := party(opts.params, occurrences(text, opts.second))
	if err != nil {
		return err
	}
	r, err := compare(sent, received)
	if err != nil {
		return err
	}
	r.tell(first, second)
	_, err = io.WriteString(out, r.text(*opts, len(sent)))
	return err
}
