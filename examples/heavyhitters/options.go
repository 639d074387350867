package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/dpsketch/dpsketch/misragries"
)

// options is what the command line asks for.
type options struct {
	params     misragries.Params
	confidence float64
	top        int
	at         float64 // 0 stands for the detection limit
	json       bool
	servers    int
	file       string // empty stands for the embedded text
}

// maxServers is the most sketches that lines are dealt to.
const maxServers = 1000

// flagSet returns the flags, which store what they parse in opts.
func flagSet(opts *options) *flag.FlagSet {
	flags := flag.NewFlagSet("heavyhitters", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // run prints the errors
	flags.Usage = func() {}
	flags.Float64Var(&opts.params.Epsilon, "epsilon", 1, "privacy parameter `ε`")
	flags.Float64Var(&opts.params.Delta, "delta", 1e-9, "privacy parameter `δ`, well below one over the length of the stream")
	flags.IntVar(&opts.params.Counters, "k", 1024, "`counters` of the sketch: what occurs once in k elements or more is found")
	flags.IntVar(&opts.servers, "servers", 1, "deal the lines at random to this `number` of sketches, as of servers, and release their sum")
	flags.IntVar(&opts.top, "top", 20, "print at most this `number` of keys, 0 for all")
	flags.Float64Var(&opts.confidence, "confidence", 0.95, "`probability` with which an interval covers the true count")
	flags.Float64Var(&opts.at, "at", 0, "say which keys occur at least this `often`; 0 picks the least count at which no key is missed")
	flags.BoolVar(&opts.json, "json", false, "print the whole release as JSON, one object a line")
	return flags
}

// parse reads the command line. The sketch checks ε, δ and k itself.
func parse(args []string) (options, error) {
	var opts options
	flags := flagSet(&opts)
	if err := flags.Parse(args); err != nil {
		return opts, err
	}
	switch {
	case flags.NArg() > 1:
		return opts, fmt.Errorf("got the arguments %q, want at most one file, after all flags", flags.Args())
	case flags.NArg() == 1 && flags.Arg(0) == "":
		return opts, errors.New("the name of the file is empty")
	case opts.params.Counters < 1:
		return opts, fmt.Errorf("-k = %d: want 1 or more", opts.params.Counters)
	case opts.servers < 1 || opts.servers > maxServers:
		return opts, fmt.Errorf("-servers = %d: want 1 to %d", opts.servers, maxServers)
	case opts.top < 0:
		return opts, fmt.Errorf("-top = %d: want 0 or more", opts.top)
	case !(opts.confidence > 0 && opts.confidence < 1):
		return opts, fmt.Errorf("-confidence = %v: want a number between 0 and 1, both excluded", opts.confidence)
	case !(opts.at >= 0) || math.IsInf(opts.at, 1):
		return opts, fmt.Errorf("-at = %v: want 0 or a positive number", opts.at)
	}
	opts.file = flags.Arg(0)
	return opts, nil
}

// usage returns the help text.
func usage() string {
	var b strings.Builder
	b.WriteString(`usage: heavyhitters [flags] [file]

Releases the most frequent lines of the file ("-" is standard input) under (ε, δ)-differential
privacy. The unit is one line: the release looks nearly the same with any one of them added or
removed. Without a file it releases the most frequent words of the King James Bible.
Every run on the same data spends ε and δ again.

`)
	var opts options
	flags := flagSet(&opts)
	flags.SetOutput(&b)
	flags.PrintDefaults()
	return b.String()
}
