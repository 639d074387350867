package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/dpsketch/dpsketch/examples/kjv"
	"github.com/dpsketch/dpsketch/threshold"
)

func program(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(args, &out, &errs)
	return code, out.String(), errs.String()
}

func TestProgram(t *testing.T) {
	code, out, errs := program()
	if code != 0 || errs != "" {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	for _, want := range []string{
		"31102 verses does each of 12824 words", "(1, 1e-06)-DP under AddRemove", "Gaussian: threshold", "used: the least threshold",
		"ExponentialRounding: threshold", "PureLaplace: not possible", "Hidden: ", "\n  the ",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
	code, out, _ = program("-mechanism", "LinearRounding", "-m", "1", "-top", "3", "-epsilon", "2")
	if code != 0 || !strings.Contains(out, "used: asked for by name") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	code, out, _ = program("-stored", "13000", "-m", "53")
	if code != 0 || !strings.Contains(out, "CorrelatedGaussian: threshold") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{
		{"-epsilon", "0"}, {"-delta", "2"}, {"-m", "0"}, {"-m", "9999999"}, {"-top", "-1"}, {"-confidence", "1"}, {"-mechanism", "x"},
		{"-mechanism", "PureLaplace"}, {"file"}, {"-nonsense"}, {"-stored", "-1"},
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
	if code := run(nil, broken{}, broken{}); code != 1 {
		t.Errorf("exit code %d", code)
	}
}

// With room for all words of a verse nothing is cut, and all words at once are within the error bound but for one release in 10⁹.
func TestAccuracy(t *testing.T) {
	text, err := kjv.Load()
	if err != nil {
		t.Fatal(err)
	}
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
