// Package means compares private means: the methods of package plan with each other and with what
// was published.
//
//	evidence means [flags]
//
// The tables are Gaussian rows without skew (A) and with skew (C), binary rows, the baskets of
// words of the King James Bible, three sets of sparse rows with what Shrunk makes of them, a suite
// of 14 laws against the best fixed clipping of each, eight laws that the rule of clipping was not
// made with, and speed. Every number is the mean error of several releases, each of fresh data
// where data are generated; the last column counts those with more than twice the median error, and
// how many the Plan expects at most. Rows that are quoted from papers have none. Each row is
// printed when it is done; progress goes to standard error. The default is a quick look of twenty
// seconds: the figures of ../figures/README.md are made with -scale 1, which takes minutes.
//
// The exit code is 0, 1 when a release or writing failed, or 2 for a wrong flag.
package means

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
)

// Main runs the command on the command line.
func Main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	cli.Main(&options{ctx: ctx, progress: os.Stderr})
}

// options is what the command line asks for, and the command.
type options struct {
	names    string // of the tables
	runs     int
	scale    int
	slow     bool
	ctx      context.Context
	progress io.Writer
}

// tables are the names of all tables, and what makes them.
var tables = []struct {
	name string
	make func(*report) error
}{{"A", gaussianA}, {"C", gaussianC}, {"binary", binary}, {"text", baskets}, {"sparse", sparse}, {"suite", suite}, {"others", others}, {"speed", speed}}

// all names all tables.
func all() string {
	var names []string
	for _, t := range tables {
		names = append(names, t.name)
	}
	return strings.Join(names, ",")
}

func (opts *options) Flags() *flag.FlagSet {
	flags := flag.NewFlagSet("means", flag.ContinueOnError)
	flags.StringVar(&opts.names, "tables", "A,C,binary,text,sparse,others,speed", "`names` of the tables, separated by commas; there is suite as well")
	flags.IntVar(&opts.runs, "runs", 3, "`number` of releases that each figure is the mean of")
	flags.IntVar(&opts.scale, "scale", 16, "divide the number of rows and coordinates of generated data by this `number`; 1 for the figures")
	flags.BoolVar(&opts.slow, "baselines", false, "also run the published method and the rotation, which take minutes on large data")
	return flags
}

func (opts *options) Check() error {
	for name := range strings.SplitSeq(opts.names, ",") {
		if !slices.Contains(strings.Split(all(), ","), name) {
			return fmt.Errorf("-tables = %q: want some of %s", opts.names, all())
		}
	}
	switch {
	case opts.runs < 1:
		return fmt.Errorf("-runs = %d: want at least 1", opts.runs)
	case opts.scale < 1 || opts.scale > 64:
		return fmt.Errorf("-scale = %d: want a number from 1 to 64", opts.scale)
	}
	return nil
}

// Run makes the tables that are asked for.
func (opts *options) Run(out io.Writer) error {
	r := &report{options: *opts, out: bufio.NewWriter(out)}
	for _, t := range tables {
		if !slices.Contains(strings.Split(opts.names, ","), t.name) {
			continue
		}
		if err := t.make(r); err != nil {
			fmt.Fprintln(opts.progress)
			return err
		}
	}
	return nil
}
