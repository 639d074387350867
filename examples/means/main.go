// Command means compares private means: the methods of package plan with each other and with what was published.
//
//	means [flags]
//
// The tables are Gaussian rows without skew (A) and with skew (C), binary rows, the baskets of words of the King James Bible, and speed.
// Every number is a mean over several releases, each of fresh data where data are generated. Progress goes to standard error.
//
// The exit code is 0, 1 when a release or writing failed, or 2 for a wrong flag.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// options is what the command line asks for.
type options struct {
	tables  []string
	runs    int
	scale   int
	slow    bool
	workers int
}

// tables are the names of all tables, and what makes them.
var tables = []struct {
	name string
	make func(*report) error
}{{"A", gaussianA}, {"C", gaussianC}, {"binary", binary}, {"text", baskets}, {"speed", speed}}

// parse reads the command line.
func parse(args []string, out io.Writer) (opts options, err error) {
	var names []string
	for _, t := range tables {
		names = append(names, t.name)
	}
	flags := flag.NewFlagSet("means", flag.ContinueOnError)
	flags.SetOutput(out)
	list := flags.String("tables", strings.Join(names, ","), "`names` of the tables, separated by commas")
	flags.IntVar(&opts.runs, "runs", 10, "`number` of releases that each figure is the mean of")
	flags.IntVar(&opts.scale, "scale", 1, "divide the number of rows and coordinates of generated data by this `number`, for a quick look")
	flags.BoolVar(&opts.slow, "baselines", false, "also run the published method and the rotation, which take minutes on large data")
	flags.IntVar(&opts.workers, "workers", 1, "`number` of goroutines of a release")
	if err := flags.Parse(args); err != nil {
		return opts, err
	}
	opts.tables = strings.Split(*list, ",")
	for _, name := range opts.tables {
		if !slices.Contains(names, name) {
			return opts, fmt.Errorf("-tables = %q: want some of %s", *list, strings.Join(names, ","))
		}
	}
	switch {
	case flags.NArg() > 0:
		return opts, fmt.Errorf("unexpected arguments %q", flags.Args())
	case opts.runs < 1:
		return opts, fmt.Errorf("-runs = %d: want at least 1", opts.runs)
	case opts.scale < 1 || opts.scale > 64:
		return opts, fmt.Errorf("-scale = %d: want a number from 1 to 64", opts.scale)
	case opts.workers < 1 || opts.workers > 1024:
		return opts, fmt.Errorf("-workers = %d: want a number from 1 to 1024", opts.workers)
	}
	return opts, nil
}

// run is the program: it returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	opts, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintf(stderr, "means: %v (-h lists the flags)\n", err)
		return 2
	}
	r := &report{ctx: ctx, options: opts, out: stdout, progress: stderr}
	for _, t := range tables {
		if !slices.Contains(opts.tables, t.name) {
			continue
		}
		if err := t.make(r); err != nil {
			fmt.Fprintf(stderr, "\nmeans: %v\n", err)
			return 1
		}
	}
	return 0
}
