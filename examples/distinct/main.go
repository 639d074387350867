// Command distinct compares the vocabularies of two books of the King James Bible, held by two parties that show each other nothing
// but private sketches.
//
//	distinct [flags]
//
// Each party sketches the set of the words of its book and sends the encoded sketch, some kilobytes. Whoever has both, here a third one, computes how many
// words are in one book only, in either, in both. A word of a book is what is hidden: each sketch looks nearly the same with any
// one word added to the set or removed from it.
//
// The text is public, so the true numbers can stand beside the estimates. The exit code is 0, 1 when writing failed, or 2 for
// a wrong flag or parameter.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/dpsketch/dpsketch/examples/kjv"
	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/kor"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// options is what the command line asks for.
type options struct {
	params     kor.Params
	first      book
	second     book
	confidence float64
}

// parse reads the command line. The Builder checks the parameters of the sketch itself.
func parse(args []string, out io.Writer) (opts options, err error) {
	flags := flag.NewFlagSet("distinct", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.Float64Var(&opts.params.Epsilon, "epsilon", 2, "privacy parameter `ε` of each party")
	flags.IntVar(&opts.params.Cells, "cells", 4096, "`bits` of each level of a sketch")
	flags.IntVar(&opts.params.Levels, "levels", 12, "`number` of levels")
	flags.Float64Var(&opts.params.CountShare, "share", 0.1, "`fraction` of ε for a noisy count beside the sketch")
	flags.Float64Var(&opts.confidence, "confidence", 0.95, "`probability` with which an interval covers the true number")
	first := flags.String("a", "Genesis", "`book` of the first party; any of the 66, in short: 1Samuel")
	second := flags.String("b", "Exodus", "`book` of the second party")
	if err := flags.Parse(args); err != nil {
		return opts, err
	}
	var ok bool
	switch {
	case flags.NArg() > 0:
		return opts, fmt.Errorf("unexpected arguments %q", flags.Args())
	case !(opts.confidence > 0 && opts.confidence < 1):
		return opts, fmt.Errorf("-confidence = %v: want a number between 0 and 1, both excluded", opts.confidence)
	}
	if opts.first, ok = find(*first); !ok {
		return opts, fmt.Errorf("-a = %q: want one of %v", *first, names())
	}
	if opts.second, ok = find(*second); !ok {
		return opts, fmt.Errorf("-b = %q: want one of %v", *second, names())
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
		fmt.Fprintf(stderr, "distinct: %v (-h lists the flags)\n", err)
		return 2
	}
	text, err := kjv.Load()
	if err != nil {
		fmt.Fprintf(stderr, "distinct: %v\n", err)
		return 1
	}
	opts.params.Seed = hashing.NewSeed() // public: one party draws it and tells the other
	first, second := words(text, opts.first), words(text, opts.second)
	sent, err := party(opts.params, first)
	if err != nil {
		fmt.Fprintf(stderr, "distinct: %v\n", err)
		return 2
	}
	received, err := party(opts.params, second)
	if err != nil {
		fmt.Fprintf(stderr, "distinct: %v\n", err)
		return 2
	}
	r, err := compare(sent, received)
	if err != nil {
		fmt.Fprintf(stderr, "distinct: %v\n", err)
		return 1
	}
	r.tell(first, second)
	if _, err := io.WriteString(stdout, r.text(opts, len(sent))); err != nil {
		fmt.Fprintf(stderr, "distinct: %v\n", err)
		return 1
	}
	return 0
}
