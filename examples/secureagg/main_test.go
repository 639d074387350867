package main

import (
	"fmt"
	"math"
	"testing"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/examples/internal/cli/clitest"
)

func TestProgram(t *testing.T) {
	clitest.Seed(t)
	clitest.Output(t, new(options), []string{"-rounds", "3"},
		[]string{"200 parties", "ε = 6 for one party, added or removed", "Jump on a lattice", "each party adds 1/180", "shares of Laplace noise"})
	clitest.Output(t, new(options), []string{"-n", "1", "-missing", "0", "-drops", "0", "-epsilon", "1", "-rounds", "2"}, []string{"DiscreteLaplace"})
}

// What is printed is what was released, and the sum of those who stayed is in its interval at a
// confidence of 1 − 1e-9, dropouts or not.
func TestRelease(t *testing.T) {
	clitest.Seed(t)
	for _, drops := range []int{0, 10} {
		opts := options{epsilon: 6, parties: 100, missing: 10, drops: drops, rounds: 4}
		r := cli.Must(simulate(opts))
		// A sum of 90 or 100 uniform numbers has a deviation of 2.9 at most: it is within 9 of
		// these but for 1e-18.
		if half := float64(opts.parties-drops) / 2; !(math.Abs(r.truth-half) < 27) {
			t.Errorf("%d dropped out: the sum is %g", drops, r.truth)
		}
		if lo, hi := r.last.Interval(1 - 1e-9); !(lo <= r.truth && r.truth <= hi && hi-lo < 20) {
			t.Errorf("%d dropped out: %g is not in [%g, %g]", drops, r.truth, lo, hi)
		}
		out := r.text(opts)
		lo, hi := r.last.Interval(0.95)
		printed := clitest.Numbers(t, out, "Last release:", 5)
		for i, want := range []float64{r.last.Estimate(), 95, lo, hi, r.truth} {
			if !(math.Abs(printed[i]-want) < 1e-4) {
				t.Errorf("%g and not %g is printed:\n%s", printed[i], want, out)
			}
		}
		for i, name := range []string{"shares of this noise", "shares of Laplace noise", "every party its own Laplace noise"} {
			if got, want := clitest.Numbers(t, out, "  "+name, 3), []float64{r.errors[i], r.stdErr[i], r.theory[i]}; fmt.Sprintf("%.4f", want) != fmt.Sprintf("%.4f", got) {
				t.Errorf("%s: %v and not %v is printed", name, got, want)
			}
		}
	}
}

func TestUsage(t *testing.T) {
	clitest.Usage(t, func() cli.Command { return new(options) }, [][]string{
		{"-epsilon", "0"}, {"-epsilon", "NaN"}, {"-n", "0"}, {"-n", "10001"}, {"-missing", "200"}, {"-missing", "-1"}, {"-drops", "21"}, {"-drops", "-1"}, {"-rounds", "0"},
		{"file"}, {"-nonsense"},
	})
}

func TestBrokenOutput(t *testing.T) {
	clitest.BrokenOutput(t, new(options), "-rounds", "1")
}

// Over many rounds the errors come in the order of the theory, with room to spare: at ε = 6 they
// are about 0.06, 0.17 and 2.3, and the mean of 2000 rounds is within a tenth of that but for one
// run in 10⁹ (the standard error of the first is 5 % of it: its square has a mean of 7 times the
// mean squared).
func TestErrors(t *testing.T) {
	clitest.Seed(t)
	r := cli.Must(simulate(options{epsilon: 6, parties: 60, missing: 6, drops: 0, rounds: 2000}))
	ours, laplace, local := r.errors[0], r.errors[1], r.errors[2]
	clitest.Not(t, !(ours < 0.7*laplace && laplace < 0.3*local), "mean absolute errors %v", r.errors)
	clitest.Not(t, ours > 1.5*r.theory[0] || laplace > 1.3*r.theory[1] || local > 1.3*r.theory[2], "mean absolute errors %v, theory %v", r.errors, r.theory)
}
