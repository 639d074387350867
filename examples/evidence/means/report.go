package means

import (
	"bufio"
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
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
	read   reading
	make   rows.Maker // nil: plan.New
}

// reading is what is read off a release.
type reading uint8

const (
	values reading = iota
	atLeast0
	shrunken
	byClasses // shrunken as if coordinates of like noise had a law of their own
)

// of returns the estimates.
func (r reading) of(m *plan.Mean, p float64) []float64 {
	switch r {
	case shrunken:
		return m.Shrunk(p)
	case byClasses:
		return shrunkByClasses(m, p)
	}
	out := m.Values()
	if r == atLeast0 {
		for i, v := range out {
			out[i] = max(v, 0)
		}
	}
	return out
}

// shrunkByClasses returns the values of a mean that is not negative, shrunken in six classes of
// about equal size, by the standard deviations of their noise. Package plan once did so.
func shrunkByClasses(m *plan.Mean, p float64) []float64 {
	out, errors, order := m.Values(), m.StdDevs(), make([]int, m.Dim())
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(errors[a], errors[b]) })
	for class := range slices.Chunk(order, max(400, (len(order)+5)/6)) {
		values, stdDevs := make([]float64, len(class)), make([]float64, len(class))
		for at, i := range class {
			values[at], stdDevs[at] = out[i], errors[i]
		}
		values, err := plan.Shrink(values, stdDevs, true, p)
		if err != nil {
			return nil
		}
		for at, i := range class {
			out[i] = values[at]
		}
	}
	return out
}

// comparison is a table: methods against budgets.
type comparison struct {
	title   string
	budgets []float64
	methods []method
	make    func(*rand.Rand) rows.Set // fresh, or always the same
	seed    uint64                    // of the test data
	p       float64                   // of the ℓₚ error
	factor  float64                   // of the error: ½ for the total variation distance
	quoted  [][]string                // further rows, from elsewhere
	full    string                    // size that published rows are of
}

// table runs a comparison and prints it row by row. All methods get the same data. A release whose
// error is more than twice the median of its kind counts as a failure.
func (r *report) table(c comparison) error {
	fmt.Fprintf(r.out, "%s\n  %-34s", c.title, "ρ")
	for _, rho := range c.budgets {
		fmt.Fprintf(r.out, "%10.4g", rho)
	}
	fmt.Fprintln(r.out, "  failures (at most, by the Plan)")
	start := time.Now()
	for at, m := range c.methods {
		if err := r.out.Flush(); err != nil {
			return err
		}
		errors, expected := make([][]float64, len(c.budgets)), 0.0
		noise := make([]float64, len(c.budgets))
		for run := range r.runs {
			d := c.make(rand.New(rand.NewPCG(uint64(run), c.seed)))
			for b, rho := range c.budgets {
				fmt.Fprintf(r.progress, "\r%s: release %d of %d, %.0f s ", m.name, run*len(c.budgets)+b+1, r.runs*len(c.budgets), time.Since(start).Seconds())
				m.params.Rho = rho
				by := m.make
				if by == nil {
					by = plan.New
				}
				mean, err := d.Release(r.ctx, m.params, by)
				if err != nil {
					return err
				}
				errors[b] = append(errors[b], c.factor*rows.Distance(m.read.of(mean, c.p), d.Truth, c.p))
				if run > 0 {
					continue
				}
				o, err := d.Plan(m.params)
				if err != nil {
					return err
				}
				noise[b] = c.factor * o.Noise
				if expected += o.Failure * float64(r.runs); !mean.Params().Guarantee().Promises() {
					expected = math.NaN() // a published mechanism, which has no Plan
				}
			}
		}
		fmt.Fprintf(r.progress, "\r%s\r", strings.Repeat(" ", 79))
		r.row(m.name, errors, expected)
		if at == 0 {
			fmt.Fprintf(r.out, "  %-34s", "  its noise, by the Plan")
			for _, x := range noise {
				fmt.Fprintf(r.out, "%10.4g", x)
			}
			fmt.Fprintln(r.out)
		}
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
	return r.out.Flush()
}

// row prints the means of a method, and its failures beside the number that the Plan expects at
// most, if there is a Plan.
func (r *report) row(name string, errors [][]float64, expected float64) {
	fmt.Fprintf(r.out, "  %-34s", name)
	failures := 0
	for _, runs := range errors {
		mean, failed := summary(runs, 2)
		failures += failed
		fmt.Fprintf(r.out, "%10.4g", mean)
	}
	fmt.Fprintf(r.out, "  %d of %d", failures, r.runs*len(errors))
	if expected == expected {
		fmt.Fprintf(r.out, " (%.2g)", expected)
	}
	fmt.Fprintln(r.out)
}

// summary returns the mean of the errors, and how many are more than so many times their median.
func summary(errors []float64, times float64) (mean float64, failed int) {
	sorted := slices.Sorted(slices.Values(errors))
	for _, e := range errors {
		mean += e / float64(len(errors))
		if e > times*sorted[len(sorted)/2] {
			failed++
		}
	}
	return mean, failed
}
