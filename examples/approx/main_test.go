package main

import (
	"errors"
	"math"
	"testing"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/examples/internal/cli/clitest"
	"github.com/dpsketch/dpsketch/examples/kjv"
)

// Every interval covers the truth, at a confidence of 1 − 1e-8 each, and the error is that of the
// released number. Both are printed with six digits or more. That of the average degree need not
// cover: the search may have gone wrong.
func TestProgram(t *testing.T) {
	if testing.Short() {
		t.Skip("half a second: in the default run")
	}
	clitest.Seed(t)
	out := clitest.Output(t, new(options), []string{"-search-epsilon", "4", "-confidence", "0.99999999"},
		[]string{"789684 tokens", "AMS sketch", "StudentNoise", "LaplaceNoise", "components", "1099511627776 vertices", "ε = 1 for one element, added or removed", "ε = 1 for one row", "ε = 4 for one row, added or removed"})
	const moment, tokens, vertices = 1.00894e10, 789684.0, 200_000.0
	check := func(name string, least, most, scale float64) {
		a := clitest.Numbers(t, out, "  "+name+"  ", 6)
		truth, released, lo, hi, off := a[0], a[2], a[3], a[4], a[5]
		clitest.Not(t, !(least <= truth && truth <= most), "%s: the truth is %g", name, truth)
		if slack := 1e-5 * truth; !(lo-slack <= truth && truth <= hi+slack && lo < released && released < hi) {
			t.Errorf("%s: released %g in [%g, %g], in truth %g", name, released, lo, hi, truth)
		}
		if want := 100 * math.Abs(released-truth) / scale; !(math.Abs(off-want) <= 0.01) {
			t.Errorf("%s: the error is %g %%, not %g %%", name, off, want)
		}
	}
	check("F₂", moment, moment, moment)
	// the middle of the list, where the bisection begins
	check("na", 399487, 399487, tokens)
	// 80,000 edges, nearly without cycles
	check("components", vertices-80_000, vertices-80_000+100, vertices)
	degree := clitest.Numbers(t, out, "  degree  ", 5)
	clitest.Not(t, !(degree[0] == meanDegree && degree[2] <= degree[1] && degree[1] <= degree[3]), "degree: %v", degree)
}

func TestUsage(t *testing.T) {
	clitest.Usage(t, func() cli.Command { return new(options) }, [][]string{
		{"-epsilon", "0"}, {"-epsilon", "NaN"}, {"-search-epsilon", "0.1"}, {"-search-epsilon", "100"}, {"-confidence", "1"}, {"file"}, {"-nonsense"},
	})
}

func TestBrokenOutput(t *testing.T) {
	clitest.BrokenOutput(t, new(options))
}

// Every released answer lies within its interval, at a confidence of 1 − 1e-8 each (the rows,
// sketches and samples do meet what is declared of them), and what is estimated without noise
// within ten declared errors of the truth.
func TestAccuracy(t *testing.T) {
	if testing.Short() {
		t.Skip("half a second: in the default run")
	}
	clitest.Seed(t)
	text := cli.Must(kjv.Load())
	opts := options{epsilon: 1, searchEpsilon: 4, confidence: 1 - 1e-8}
	moment, err1 := frequencyMoment(text, opts)
	rank, err2 := ranks(text, opts)
	component, err3 := components(newRandomGraph(20_000, 8_000), opts)
	cli.OK(errors.Join(err1, err2, err3))
	declared := []float64{mostMoment * math.Sqrt(2.0/amsColumns), rankDiameter(mostTokens), 20_000/math.Sqrt(2*componentSample*math.Ln2) + 20_000/largeComponent/math.Ln2}
	for i, r := range []*result{moment, rank, component} {
		for _, a := range r.answers {
			clitest.Not(t, !(a.lo <= a.truth && a.truth <= a.hi), "%s, %s: %g is not in [%g, %g]", r.title, a.name, a.truth, a.lo, a.hi)
			// Pr ≤ 2e^{−20} for a diameter and the test's 10 answers; for the median of rows, three
			// at 20 deviations, less than 1e-6.
			clitest.Not(t, math.Abs(a.estimate-a.truth) > 20*declared[i], "%s, %s: %g is too far from %g", r.title, a.name, a.estimate, a.truth)
		}
	}
	if lo := moment.answers[0].lo; lo >= moment.answers[0].hi {
		t.Error("an empty interval")
	}
}

// The search is right with a probability of 7/8, so of eleven at least two are: all but nine wrong
// has a probability of 3e-7 at most.
func TestAverageDegree(t *testing.T) {
	clitest.Seed(t)
	right := 0
	for range 11 {
		r := cli.Must(averageDegree(options{searchEpsilon: 8, confidence: 0.99}))
		if a := r.answers[0]; a.lo <= a.truth && a.truth <= a.hi && a.hi-a.lo < 2*meanDegree {
			right++
		}
	}
	clitest.Not(t, right < 2, "%d of 11 right", right)
}

// The mean of many degrees is the one the results are held against. Their variance is 108, so the
// mean of four million is within 5.2 deviations of 0.0052.
func TestMeanDegree(t *testing.T) {
	clitest.Seed(t)
	var e degreeEstimator
	got := e.estimate(mostDegree, 1.0/2000)
	clitest.Not(t, math.Abs(got-meanDegree) > 5.2*math.Sqrt(108.0/4e6), "%g", got)
	clitest.Not(t, e.probes != 4_000_000, "%d probes", e.probes)
}

// Ranks of a stream that fits are exact, the weights of a longer one sum to its length, levels keep
// to their sizes, and the squared error of a sketch is on average within the v of rankDiameter.
func TestRankSketch(t *testing.T) {
	clitest.Seed(t)
	s := newRankSketch(mostTokens)
	n := s.sizes[0] - 1
	for i := range n {
		s.add(string(rune('a' + i%26)))
	}
	if got := s.rank("c"); got != 3*math.Ceil(float64(n)/26) {
		t.Errorf("%g", got)
	}
	for range 200_000 {
		s.add("m")
	}
	if got := s.rank("z"); got != float64(n+200_000) {
		t.Errorf("%g", got)
	}
	for h, level := range s.levels[:len(s.levels)-1] {
		if len(level) >= s.sizes[h] || s.sizes[h]%2 != 0 || 3*s.sizes[h] < 2*s.sizes[h+1] {
			t.Errorf("level %d of %d has %d elements", h, s.sizes[h], len(level))
		}
	}
	if last := s.sizes[len(s.sizes)-1]; last != topCompactor || last<<(len(s.sizes)-1) < mostTokens {
		t.Errorf("the last level has room for %d", last)
	}
	const length = 100_000
	sum, v := 0.0, rankDiameter(mostTokens)*rankDiameter(mostTokens)*math.Ln2/2*length/mostTokens
	for range 4 {
		s := newRankSketch(mostTokens)
		for i := range length {
			s.add(string([]rune{rune('a' + i*7919%26), rune('a' + i*104729/26%26)}))
		}
		exact := 0.0
		for i := range length {
			if i*7919%26 < 13 {
				exact++
			}
		}
		off := s.rank("mz") - exact
		sum += off * off
	}
	if sum > 4*v*40 { // Pr[R² > 40v] ≤ 2e^{−20} for each
		t.Errorf("squared errors sum to %g, v = %g", sum, v)
	}
}

func TestComponentsOfSmallGraphs(t *testing.T) {
	g := graph{{1}, {0, 2}, {1}, {}, {5}, {4}}
	if g.count() != 3 || g.sizeUpTo(0, 10) != 3 || g.sizeUpTo(0, 2) != 0 || g.sizeUpTo(3, 1) != 1 {
		t.Errorf("%v components, sizes %d, %d, %d", g.count(), g.sizeUpTo(0, 10), g.sizeUpTo(0, 2), g.sizeUpTo(3, 1))
	}
}
