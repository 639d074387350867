package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/dpsketch/dpsketch/examples/kjv"
)

func program(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(args, &out, &errs)
	return code, out.String(), errs.String()
}

func TestProgram(t *testing.T) {
	code, out, errs := program("-candidates", "5")
	if code != 0 || errs != "" {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	for _, want := range []string{"1-DP under L1", "16-DP under L1", "12824 word counts", "nearest in truth:",
		"warning: a squared distance of", "too small"} {
		if !strings.Contains(out, want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
	if strings.Count(out, "planned:") != 5 {
		t.Errorf("not five values of ε:\n%s", out)
	}
	// Long distances at a large ε are within reach: there is no warning.
	code, out, _ = program("-candidates", "3", "-merge", "200", "-epsilon", "16")
	if code != 0 || strings.Contains(out, "warning") || strings.Count(out, "planned:") != 1 {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{
		{"-epsilon", "-1"}, {"-epsilon", "NaN"}, {"-verse", "-1"}, {"-verse", "31102"}, {"-candidates", "0"}, {"-merge", "0"}, {"-merge",
			"10001"}, {"-merge", "9000", "-candidates", "9000"},
		{"-rows", "0"}, {"-confidence", "1"}, {"-confidence", "NaN"}, {"file"}, {"-nonsense"},
	} {
		if code, out, errs := program(args...); code != 2 || out != "" || errs == "" {
			t.Errorf("%q: exit code %d, printed %q and %q", args, code, out, errs)
		}
	}
	if code, _, errs := program("-h"); code != 0 || !strings.Contains(errs, "-epsilon") {
		t.Errorf("-h: exit code %d, printed %q", code, errs)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("broken") }

func TestBrokenOutput(t *testing.T) {
	if code := run([]string{"-candidates", "1", "-epsilon", "16"}, broken{}, broken{}); code != 1 {
		t.Errorf("exit code %d", code)
	}
}

// At large ε and long distances the estimates are right within the planned error: none of 10 is off by 8 of its standard deviations.
func TestAccuracy(t *testing.T) {
	text, err := kjv.Load()
	if err != nil {
		t.Fatal(err)
	}
	parties, err := blocks(text, options{candidates: 10, merge: 100})
	if err != nil {
		t.Fatal(err)
	}
	c, err := compare(parties, uint64(len(text.Words())), 8, options{confidence: 0.95, rows: 512})
	if err != nil {
		t.Fatal(err)
	}
	if c.plan.Warning() != "" {
		t.Errorf("a warning: %v", c.plan)
	}
	for i, d := range c.candidates {
		if off := (d.estimate - float64(d.truth)) / c.stdDev; off < -8 || off > 8 {
			t.Errorf("candidate %d: estimated %v, truth %d, planned ± %v", i, d.estimate, d.truth, c.stdDev)
		}
	}
	if got := squaredDistance(counts{1: 2, 3: 1}, counts{1: 5, 4: 2}); got != 9+1+4 {
		t.Errorf("squared distance %d", got)
	}
}
