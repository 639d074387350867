// Package figures draws this library's curves beside those of the papers' mechanisms.
//
//	evidence figures                                      all, some minutes
//	evidence figures -only 'alp|plan' -out pictures       some
//	evidence figures -quick                               fewer repetitions, to see that all works
//
// A curve of the papers' mechanisms comes from a simulation of the algorithm as printed or from its
// formula; this library's come from its public API, from real releases where there is no formula.
// Some figures print a table besides.
//
// The exit code is 0, 1 when drawing or writing failed, or 2 for a wrong flag.
package figures

import (
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
)

// Main runs the command on the command line.
func Main() {
	cli.Main(new(command))
}

// figure is one picture.
type figure struct {
	name string // of the files
	draw func(effort) *picture
}

// effort is how much to simulate.
type effort struct {
	runs  int // trials of a point of a simulated curve
	means int // runs of a mean
	scale int // by which data sets for means are smaller than the papers'
}

var (
	full  = effort{runs: 20_000, means: 3, scale: 1}
	brief = effort{runs: 300, means: 1, scale: 32}
)

var figures = []figure{
	{"alp-bits", alpBits},
	{"arete-error", divisible},
	{"column-range", columnRange},
	{"plan-skewed", planSkewed},
	{"misragries-counters", counters},
	{"series-stationary", topErrors("A stationary stream", false, false)},
	{"series-diurnal", topErrors("A diurnal stream", false, true)},
	{"series-drifting", topErrors("A drifting stream", true, true)},
	{"budget-releases", releases},
}

// command is what the command line asks for.
type command struct {
	out, only string
	quick     bool
}

func (c *command) Flags() *flag.FlagSet {
	flags := flag.NewFlagSet("figures", flag.ContinueOnError)
	flags.StringVar(&c.out, "out", "figures/pictures", "`folder` for the pictures")
	flags.StringVar(&c.only, "only", "", "draw only figures whose name matches the `pattern`")
	flags.BoolVar(&c.quick, "quick", false, "few repetitions")
	return flags
}

func (c *command) Check() error {
	pattern, err := regexp.Compile(c.only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	for _, f := range figures {
		if pattern.MatchString(f.name) {
			return nil
		}
	}
	return fmt.Errorf("-only %q matches no figure", c.only)
}

// Run draws the figures and prints the names of the files.
func (c *command) Run(stdout io.Writer) error {
	if err := os.MkdirAll(c.out, 0o755); err != nil {
		return err
	}
	e, wanted := full, regexp.MustCompile(c.only)
	if c.quick {
		e = brief
	}
	for _, f := range figures {
		if !wanted.MatchString(f.name) {
			continue
		}
		p := f.draw(e)
		file, err := p.save(c.out, f.name)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(stdout, strings.Join(append([]string{file}, p.table...), "\n")); err != nil {
			return err
		}
	}
	return nil
}
