// Package peers measures the library against what else a Go program could use, and prints the
// ratios.
//
//	evidence peers [flags]
//
// The flag -quick measures once, briefly, to see that all works: its figures mean little. With
// -wanted only the comparisons are measured that have a target, and the ratios are those of the
// least times of twelve short rounds, which other load on the machine hardly moves.
//
// Both sides of a comparison run in turn in one process, several rounds of each, and the ratio is
// the median over the rounds of the ratio within one round. Absolute times drift with the machine's
// other load; ratios do much less. Before its clock starts, each side has to give an answer, which
// is checked.
package peers

import (
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"testing"
	"time"
)

// effort is how much to measure.
type effort struct {
	rounds  int
	time    time.Duration // of one measurement
	passes  time.Duration // the same of what is cut into pieces, at least
	stream  int           // number of updates
	keys    int           // of a histogram or a sparse vector
	rows    int           // of a mean; of a sparse one eight times as many
	columns int           // of a mean; of a sparse one a hundred times as many
	wanted  bool          // only what has a target
}

var (
	full  = effort{rounds: 5, time: 100 * time.Millisecond, stream: 1_000_000, keys: 100_000, rows: 4000, columns: 128}
	short = effort{rounds: 12, time: 2 * time.Millisecond, passes: 60 * time.Millisecond, stream: 1_000_000, keys: 50_000, rows: 2000, columns: 128}
	brief = effort{rounds: 1, time: 10 * time.Millisecond, stream: 50_000, keys: 2000, rows: 2000, columns: 32}
)

// Main runs the command on the command line.
func Main() {
	testing.Init()
	quick := flag.Bool("quick", false, "measure once and briefly")
	wanted := flag.Bool("wanted", false, "print the ratios that have a target, and their targets")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "peers: unexpected arguments %q\n", flag.Args())
		os.Exit(2)
	}
	e := full
	if *quick {
		e = brief
	}
	if *wanted && !*quick {
		e = short
	}
	e.wanted = *wanted
	if err := run(os.Stdout, e); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// run measures every comparison and prints a line for each.
func run(out io.Writer, e effort) error {
	comparisons := e.comparisons()
	head, line := header, result.String
	if e.wanted {
		comparisons = slices.DeleteFunc(comparisons, func(c comparison) bool { return c.target == 0 })
		head, line = wantedHeader, result.wanted
	}
	if _, err := io.WriteString(out, head); err != nil {
		return err
	}
	for _, c := range comparisons {
		each := e.time
		if c.short {
			each = max(each, e.passes)
		}
		if err := flag.Set("test.benchtime", each.String()); err != nil {
			return err
		}
		r, err := c.measure(e.rounds)
		if err != nil {
			return fmt.Errorf("%s: %w", c.work, err)
		}
		if _, err := io.WriteString(out, line(r)); err != nil {
			return err
		}
	}
	return nil
}

// comparisons returns all of them, in the order of the table.
func (e effort) comparisons() []comparison {
	return slices.Concat(draws(), flips(), counting(e.stream), histograms(e.keys), lookups(e.keys), grouped(e.stream), sketches(e.stream), projections(),
		sums(e.rows, e.columns), means(e.rows, e.columns), sparseMeans(8*e.rows, 100*e.columns))
}
