package main

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/examples/internal/cli/clitest"
	"github.com/dpsketch/dpsketch/threshold/groupby"
)

func TestProgram(t *testing.T) {
	clitest.Seed(t)
	clitest.Output(t, new(options), nil, []string{
		"31102 verses does each of 12824 words", "ε = 1, δ = 1e-6 for one user, added or removed; a user is a verse", "Threshold: 26.3 verses",
		"Noise of a count: 26.2", "95 % interval", "Hidden: ", "\n  the ",
	})
	clitest.Output(t, new(options), []string{"-passes", "2", "-top", "3", "-epsilon", "2"}, []string{"ε = 2"})
	if out := clitest.Output(t, new(options), []string{"-top", "0"}, []string{" words.\n"}); strings.Contains(out, "most frequent:") {
		t.Errorf("a table without rows:\n%s", out)
	}
}

// The table has the words with the largest estimates and their true counts, which are in the
// intervals, whether verses are clipped or not. A confidence of 1 − 1e-11 leaves 3e-7 for any of
// the 12,824 words in two runs, so it does not matter which are shown.
func TestTable(t *testing.T) {
	clitest.Seed(t)
	known := map[string]float64{"the": 24091, "and": 23867, "of": 18123}
	for _, clip := range []string{"10", "53"} {
		out := clitest.Output(t, new(options), []string{"-full", clip, "-confidence", "0.99999999999"}, []string{"\n  the ", "\n  and ", "\n  of "})
		_, table, _ := strings.Cut(out, "     verses\n")
		table, _, _ = strings.Cut(table, "\n\n")
		var estimates []float64
		for row := range strings.Lines(table) {
			word := strings.Fields(row)[0]
			n := clitest.Numbers(t, table, "  "+word+" ", 4)
			estimate, lo, hi, truth := n[0], n[1], n[2], n[3]
			if !(lo <= estimate && estimate <= hi && lo <= truth && truth <= hi) {
				t.Errorf("-full %s: %s", clip, row)
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

// Words that are listed have counts within their intervals, at a confidence of 1 − 1e-9, and those
// that are shown where no verse has more of them than count; a word that comes twice in a verse
// counts once, and one that does not come at all is off by noise.
func TestGroups(t *testing.T) {
	if testing.Short() {
		t.Skip("half a second: in the default run")
	}
	clitest.Seed(t)
	out := clitest.Output(t, new(options), []string{"-words", "king,lord,god,zebra,king", "-confidence", "0.999999999"}, []string{
		"each of 4 words", "takes 128 bytes", "ε = 1 of 1", "ε = 0.24999999999999997 for one key"})
	for word, truth := range map[string]float64{"king": -1, "lord": -1, "god": 3877, "zebra": 0} {
		n := clitest.Numbers(t, out, "  "+word+" ", 4)
		if truth < 0 { // as the program says
			truth = n[3]
		}
		if estimate, lo, hi := n[0], n[1], n[2]; n[3] != truth || !(lo-0.1 <= truth && truth <= hi+0.1 && estimate <= hi) {
			t.Errorf("%s: %v, in %v verses", word, n, truth)
		}
	}
	out = clitest.Output(t, new(options), []string{"-words", "shown", "-m", "53", "-top", "20", "-epsilon", "4", "-confidence", "0.999999999"}, []string{
		"of 4 at δ = 1e-6, 2 releases", "at most 53 words", "\n  the ", "\n  and "})
	for _, word := range []string{"the", "and", "of", "lord"} {
		if n := clitest.Numbers(t, out, "  "+word+" ", 4); !(n[1] <= n[3] && n[3] <= n[2]) {
			t.Errorf("%s: %v", word, n)
		}
	}
}

// Counts of 64 bytes have the errors that are stated, in users, at ε = 1: 1.35, 1.51, 2.22, 6.09
// and 82 for sets of 0, 10, 30, 100 and 1000, by formula.
func TestErrorsOfGroups(t *testing.T) {
	g, err := newGroups(1, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := g.params.Plan()
	if err != nil {
		t.Fatal(err)
	}
	for users, want := range map[float64]float64{0: 1.35, 10: 1.51, 30: 2.22, 100: 6.09, 1000: 82} {
		if got := plan.StdErr(users); math.Abs(got/want-1) > 0.02 {
			t.Errorf("%v users: %.3g, want %.3g", users, got, want)
		}
	}
}

func TestUsage(t *testing.T) {
	clitest.Usage(t, func() cli.Command { return new(options) }, [][]string{
		{"-epsilon", "0"}, {"-delta", "2"}, {"-words", "shown", "-m", "0"}, {"-top", "-1"}, {"-confidence", "1"}, {"-passes", "3"},
		{"-full", "-2"}, {"file"}, {"-nonsense"}, {"-share", "2"},
		{"-words", "shown", "-delta", "0"}, {"-words", "king", "-epsilon", "0"},
	})
}

func TestBrokenOutput(t *testing.T) {
	clitest.BrokenOutput(t, new(options))
}

// All shown words at once have their counts in the interval, but for one release in 10⁷.
func TestAccuracy(t *testing.T) {
	clitest.Seed(t)
	r, err := release(clitest.Text(t), groupby.Params{Epsilon: 1, Delta: 1e-6})
	if err != nil {
		t.Fatal(err)
	}
	for word := range r.groups.All() {
		if lo, hi := r.groups.Interval(word, 1-1e-11); !(lo <= float64(r.truth[word]) && float64(r.truth[word]) <= hi) {
			t.Errorf("%s, in %d verses: [%v, %v]", word, r.truth[word], lo, hi)
		}
	}
}
