package main

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"
)

func program(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(args, &out, &errs)
	return code, out.String(), errs.String()
}

func TestProgram(t *testing.T) {
	code, out, errs := program("-urls", "2000", "-sample", "500")
	if code != 0 || errs != "" {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	for _, want := range []string{"of 2000 URLs out of 2⁶⁴", "columns", "thesis's ALP", "threshold", "dense Laplace", "(1, 1e-09)-DP", "\n  0 ", "over 100"} {
		if !strings.Contains(out, want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
	if code, out, errs := program("-urls", "500", "-delta", "0"); code != 0 || !strings.Contains(out, "1-DP") {
		t.Errorf("exit code %d:\n%s%s", code, out, errs)
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{"-epsilon", "0"}, {"-delta", "2"}, {"-urls", "0"}, {"-urls", "9999999999"}, {"-sample", "0"}, {"-bits", "-1"}, {"file"}, {"-nonsense"}} {
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
	if code := run([]string{"-urls", "100"}, broken{}, broken{}); code != 1 {
		t.Errorf("exit code %d", code)
	}
}

// What the comparison is there to show: columns beat the thesis's mechanism at every size, and the list alone for all counts that it hides; listed counts have Laplace noise.
// The margins are several times the standard errors of the thousands of counts in each range.
func TestOrder(t *testing.T) {
	c, err := compare(options{epsilon: 1, delta: 1e-9, bits: 100, urls: 20_000, sample: 20_000})
	if err != nil {
		t.Fatal(err)
	}
	columns, thesis, list, dense := c.ways[0], c.ways[1], c.ways[2], c.ways[3]
	for i, r := range ranges {
		if columns.mean(i) > 0.8*thesis.mean(i) {
			t.Errorf("counts %s: columns %.2f, the thesis %.2f", r.name, columns.mean(i), thesis.mean(i))
		}
	}
	if columns.mean(3) > 0.5*list.mean(3) {
		t.Errorf("counts %s: columns %.2f, list %.2f", ranges[3].name, columns.mean(3), list.mean(3))
	}
	if last := len(ranges) - 1; math.Abs(columns.mean(last)-dense.mean(last)) > 0.3 {
		t.Errorf("large counts: columns %.2f, Laplace %.2f", columns.mean(last), dense.mean(last))
	}
	if columns.mean(0) > 1.3 { // of collisions with counts that are not listed
		t.Errorf("zeros: %.2f", columns.mean(0))
	}
}
