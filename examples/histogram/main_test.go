package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/examples/internal/cli/clitest"
	"github.com/dpsketch/dpsketch/threshold"
)

func TestProgram(t *testing.T) {
	clitest.Output(t, new(options), nil, []string{
		"31102 verses does each of 12824 words", "ε = 1, δ = 1e-6 for one user (at most 20 keys), added or removed; a user is a verse", "Gaussian: threshold", "used: the least threshold",
		"ExponentialRounding: threshold", "PureLaplace: not possible", "95 % interval", "Hidden: ", "\n  the ",
	})
	clitest.Output(t, new(options), []string{"-mechanism", "LinearRounding", "-m", "1", "-top", "3", "-epsilon", "2"}, []string{"used: asked for by name"})
	clitest.Output(t, new(options), []string{"-stored", "13000", "-m", "53"}, []string{"CorrelatedGaussian: threshold"})
	if out := clitest.Output(t, new(options), []string{"-top", "0"}, []string{" words.\n"}); strings.Contains(out, "most frequent:") {
		t.Errorf("a table without rows:\n%s", out)
	}
}

// The table has the words with the largest estimates and their true counts. These are in the
// intervals if no verse is cut, and above their lower ends if some are. A confidence of 1 − 1e-11
// leaves 3e-7 for any of the 12,824 words in two runs, so it does not matter which are shown.
func TestTable(t *testing.T) {
	known := map[string]float64{"the": 24091, "and": 23867, "of": 18123}
	for _, m := range []string{"20", "53"} {
		out := clitest.Output(t, new(options), []string{"-m", m, "-confidence", "0.99999999999"}, []string{"\n  the ", "\n  and ", "\n  of "})
		_, table, _ := strings.Cut(out, "all verses\n")
		table, _, _ = strings.Cut(table, "\n\n")
		var estimates []float64
		for row := range strings.Lines(table) {
			word := strings.Fields(row)[0]
			n := clitest.Numbers(t, table, "  "+word+" ", 4)
			estimate, lo, hi, truth := n[0], n[1], n[2], n[3]
			if !(lo <= estimate && estimate <= hi && lo <= truth) || m == "53" && !(truth <= hi) {
				t.Errorf("-m %s: %s", m, row)
			}
			if want := known[word]; want != 0 && truth != want {
				t.Errorf("%s occurs in %g verses, not %g", word, want, truth)
			}
			estimates = append(estimates, -estimate)
		}
		if len(estimates) != 15 || !slices.IsSorted(estimates) {
			t.Errorf("not the 15 largest:\n%s", out)
		}
		released, hidden := clitest.Numbers(t, out, "Released:", 2)[0], clitest.Numbers(t, out, "Hidden:", 2)[0]
		if released+hidden != 12824 || released < 15 {
			t.Errorf("%g words are released and %g hidden", released, hidden)
		}
	}
}

func TestUsage(t *testing.T) {
	clitest.Usage(t, func() cli.Command { return new(options) }, [][]string{
		{"-epsilon", "0"}, {"-delta", "2"}, {"-m", "0"}, {"-m", "9999999"}, {"-top", "-1"}, {"-confidence", "1"}, {"-mechanism", "x"},
		{"-mechanism", "PureLaplace"}, {"file"}, {"-nonsense"}, {"-stored", "-1"},
	})
}

func TestBrokenOutput(t *testing.T) {
	clitest.BrokenOutput(t, new(options))
}

// With room for all words of a verse nothing is cut, and all words at once are within the error
// bound but for one release in 10⁹.
func TestAccuracy(t *testing.T) {
	text := clitest.Text(t)
	p := threshold.Params{Epsilon: 1, Delta: 1e-6, MaxKeys: 53}
	r, err := release(text, p)
	if err != nil {
		t.Fatal(err)
	}
	bound := p.ErrorBound(len(r.truth), 1-1e-9)
	for word, n := range r.truth {
		if diff := r.vector.Estimate(word) - float64(n); diff > bound || diff < -bound {
			t.Error(fmt.Sprint(word, n, r.vector.Estimate(word), bound))
		}
	}
}
