package main

import (
	"bufio"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dpsketch/dpsketch/examples/internal/rows"
	"github.com/dpsketch/dpsketch/plan"
)

// report prints tables.
type report struct {
	options
	out *bufio.Writer // keeps an error for Flush
}

// method is one row of a table.
type method struct {
	name   string
	params plan.Params
	shrunk bool
}

// comparison is a table: methods against budgets.
type comparison struct {
	title   string
	budgets []float64
	methods []method
	make    func() rows.Set // fresh, or always the same
	p       float64         // of the ℓₚ error
	factor  float64         // of the error: ½ for the total variation distance
	quoted  [][]string      // further rows, from elsewhere
	full    string          // size that published rows are of
}

// table runs a comparison and prints it. A release whose error is more than twice the median of its
// kind counts as a failure.
func (r *report) table(c comparison) error {
	errors := make([][][]float64, len(c.methods)) // by method, budget and run
	for i := range errors {
		errors[i] = make([][]float64, len(c.budgets))
	}
	start, total := time.Now(), r.runs*len(c.budgets)*len(c.methods)
	for run := range r.runs {
		d := c.make()
		for b, rho := range c.budgets {
			for i, m := range c.methods {
				done := (run*len(c.budgets)+b)*len(c.methods) + i
				fmt.Fprintf(r.progress, "\r%s: release %d of %d, %.0f s ", c.title, done+1, total, time.Since(start).Seconds())
				m.params.Rho, m.params.Workers = rho, r.workers
				mean, err := d.Release(r.ctx, m.params)
				if err != nil {
					return err
				}
				values := mean.Values()
				if m.shrunk {
					values = mean.Shrunk(c.p)
				}
				errors[i][b] = append(errors[i][b], c.factor*rows.Distance(values, d.Truth, c.p))
			}
		}
	}
	fmt.Fprintf(r.progress, "\r%s\r", strings.Repeat(" ", 79))
	r.print(c, errors)
	return r.out.Flush()
}

// print prints means and failures.
func (r *report) print(c comparison, errors [][][]float64) {
	fmt.Fprintf(r.out, "%s\n  %-34s", c.title, "ρ")
	for _, rho := range c.budgets {
		fmt.Fprintf(r.out, "%10.4g", rho)
	}
	fmt.Fprintln(r.out, "  failures")
	for i, m := range c.methods {
		fmt.Fprintf(r.out, "  %-34s", m.name)
		failures := 0
		for _, runs := range errors[i] {
			mean, failed := summary(runs)
			failures += failed
			fmt.Fprintf(r.out, "%10.4g", mean)
		}
		fmt.Fprintf(r.out, "  %d of %d\n", failures, r.runs*len(c.budgets))
	}
	for _, row := range c.quoted {
		fmt.Fprintf(r.out, "  %-34s", row[0])
		for _, e := range row[1:] {
			fmt.Fprintf(r.out, "%10s", e)
		}
		fmt.Fprintln(r.out)
	}
	if r.scale > 1 && c.full != "" {
		fmt.Fprintf(r.out, "  The published figures are of the full size: %s.\n", c.full)
	}
	fmt.Fprintln(r.out)
}

// summary returns the mean of the errors, and how many are more than twice their median.
func summary(errors []float64) (mean float64, failed int) {
	sorted := slices.Sorted(slices.Values(errors))
	for _, e := range errors {
		mean += e / float64(len(errors))
		if e > 2*sorted[len(sorted)/2] {
			failed++
		}
	}
	return mean, failed
}
