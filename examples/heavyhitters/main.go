// Command heavyhitters releases the most frequent keys of a stream under differential privacy.
//
//	heavyhitters [flags] [file]
//
// Without a file it releases the most frequent words of the King James Bible, which is public, so
// that the true counts can stand beside the released ones. With a file, or "-" for standard input,
// it releases the most frequent lines of that: one key a line, of at most 4096 bytes. A carriage
// return at the end of a line is dropped, and an empty line is no key. A stream of any length takes
// the memory of one sketch.
//
// With -servers 8 the lines are dealt to eight sketches, as if so many servers had counted them,
// and the sum of these is released, which one server makes that all trust.
//
// The unit of privacy is one element of the stream: the release looks nearly the same with any one
// line added or removed. Somebody who wrote m lines is protected m times less. Every run on the
// same data spends ε and δ again.
//
// Standard output gets what the guarantee covers and nothing else. How many lines there were, and
// how long they took, is not covered and goes to standard error.
//
// The exit code is 0, 1 when reading or writing failed, or 2 for a wrong flag or parameter.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/misragries"
)

func main() {
	cli.Main(&options{stdin: os.Stdin, stderr: os.Stderr})
}

// options is what the command line asks for, and the command.
type options struct {
	params     misragries.Params
	confidence float64
	top        int
	json       bool
	servers    int
	file       string // empty stands for the embedded text
	stdin      io.Reader
	stderr     io.Writer
}

// maxServers is the most sketches that lines are dealt to.
const maxServers = 1000

func (opts *options) Flags() *flag.FlagSet {
	flags := flag.NewFlagSet("heavyhitters", flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), "usage: heavyhitters [flags] [file]\n\nReleases the most frequent lines of the file, - being standard input. The unit is one line.\n"+
			"Without a file it releases words of the King James Bible. Every run on the same data spends ε and δ again.\n\n")
		flags.PrintDefaults()
	}
	flags.Float64Var(&opts.params.Epsilon, "epsilon", 1, "privacy parameter `ε`")
	flags.Float64Var(&opts.params.Delta, "delta", 1e-9, "privacy parameter `δ`, well below one over the length of the stream")
	flags.IntVar(&opts.params.Counters, "k", 1024, "`counters` of the sketch: what occurs once in k elements or more is found")
	flags.IntVar(&opts.servers, "servers", 1, "deal the lines at random to this `number` of sketches, as of servers, and release their sum")
	flags.IntVar(&opts.top, "top", 20, "print at most this `number` of keys, 0 for all")
	flags.Float64Var(&opts.confidence, "confidence", 0.95, "`probability` with which an interval covers the true count")
	flags.BoolVar(&opts.json, "json", false, "print the whole release as JSON")
	return flags
}

// Take takes the name of a file.
func (opts *options) Take(args []string) error {
	switch {
	case len(args) > 1:
		return fmt.Errorf("got the arguments %q, want at most one file, after all flags", args)
	case len(args) == 1 && args[0] == "":
		return errors.New("the name of the file is empty")
	case len(args) == 1:
		opts.file = args[0]
	}
	return nil
}

func (opts *options) Check() error {
	switch {
	case opts.servers < 1 || opts.servers > maxServers:
		return fmt.Errorf("-servers = %d: want 1 to %d", opts.servers, maxServers)
	case opts.params.Counters < 1:
		return fmt.Errorf("-k = %d: want 1 or more", opts.params.Counters)
	case opts.top < 0:
		return fmt.Errorf("-top = %d: want 0 or more", opts.top)
	}
	if _, err := opts.params.Plan(opts.servers); err != nil {
		return err
	}
	return cli.Probability("confidence", opts.confidence)
}

// Run releases the words of the text, or the lines of a file.
func (opts *options) Run(out io.Writer) error {
	if opts.file == "" {
		return opts.releaseText(out)
	}
	in := opts.stdin
	if opts.file != "-" {
		f, err := os.Open(opts.file)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	sketch, err := newStream(opts)
	if err != nil {
		return err
	}
	keys, start := newReader(in), time.Now()
	for {
		key, err := keys.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		sketch.Add(key)
	}
	r, err := release(sketch, opts, start)
	if err != nil {
		return err
	}
	if err := r.print(out, nil); err != nil {
		return err
	}
	fmt.Fprintf(opts.stderr, "heavyhitters: read %s lines in %v; this message is not covered by the guarantee\n", grouped(keys.lines), r.took.Round(time.Millisecond))
	return nil
}

// print prints the release, as JSON if that is asked for.
func (r *report) print(out io.Writer, truth map[string]int) error {
	if r.opts.json {
		return json.NewEncoder(out).Encode(r.hist)
	}
	return r.write(out, truth)
}
