// Command peers measures the library against what else a Go program could use, and prints the ratios.
//
//	cd examples/peers && go run .
//
// The flag -quick measures once, briefly, to see that all works: its figures mean little.
//
// Both sides of a comparison run in turn in one process, several rounds of each, and the ratio is the
// median over the rounds of the ratio within one round. Absolute times drift with the machine's other
// load; ratios do much less.
//
// This is a module of its own, so that the library does not depend on its peers.
package main

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
	rounds int
	time   time.Duration // of one measurement
	stream int           // number of updates
	keys   int           // of a histogram
}

var (
	full  = effort{rounds: 5, time: 200 * time.Millisecond, stream: 1_000_000, keys: 100_000}
	brief = effort{rounds: 1, time: 10 * time.Millisecond, stream: 50_000, keys: 2_000}
)

func main() {
	testing.Init()
	quick := flag.Bool("quick", false, "measure once and briefly")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "peers: unexpected arguments %q\n", flag.Args())
		os.Exit(2)
	}
	e := full
	if *quick {
		e = brief
	}
	if err := run(os.Stdout, e); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// run measures every comparison and prints a line for each.
func run(out io.Writer, e effort) error {
	if err := flag.Set("test.benchtime", e.time.String()); err != nil {
		return err
	}
	draws, err := draws()
	if err != nil {
		return err
	}
	comparisons := slices.Concat(draws, counting(e.stream), histograms(e.keys))
	if err := header(out); err != nil {
		return err
	}
	for _, c := range comparisons {
		r, err := c.measure(e.rounds)
		if err != nil {
			return fmt.Errorf("%s: %w", c.work, err)
		}
		if err := r.print(out); err != nil {
			return err
		}
	}
	return nil
}
