package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

func program(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(args, &out, &errs)
	return code, out.String(), errs.String()
}

func TestProgram(t *testing.T) {
	code, out, errs := program("-rounds", "3")
	if code != 0 || errs != "" {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	for _, want := range []string{"200 parties", "6-DP under AddRemove", "Jump on a lattice", "each party adds 1/180", "shares of Laplace noise"} {
		if !strings.Contains(out, want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
	if code, out, _ = program("-n", "1", "-missing", "0", "-drops", "0", "-epsilon", "1", "-rounds", "2"); code != 0 || !strings.Contains(out, "DiscreteLaplace") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{
		{"-epsilon", "0"}, {"-epsilon", "NaN"}, {"-n", "0"}, {"-n", "10001"}, {"-missing", "200"}, {"-missing", "-1"}, {"-drops", "21"}, {"-drops", "-1"}, {"-rounds", "0"},
		{"file"}, {"-nonsense"},
	} {
		if code, out, errs := program(args...); code != 2 || out != "" || errs == "" {
			t.Errorf("%q: exit code %d, printed %q and %q", args, code, out, errs)
		}
	}
	if code, _, errs := program("-h"); code != 0 || !strings.Contains(errs, "-missing") {
		t.Errorf("-h: exit code %d, printed %q", code, errs)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("broken") }

func TestBrokenOutput(t *testing.T) {
	if code := run([]string{"-rounds", "1"}, broken{}, broken{}); code != 1 {
		t.Errorf("exit code %d", code)
	}
}

// Over many rounds the errors come in the order of the theory, with room to spare: at ε = 6 they are about 0.06, 0.17 and 2.3, and the mean of 2000 rounds is
// within a tenth of that but for one run in 10⁹ (the standard error of the first is 5 % of it: its square has a mean of 7 times the mean squared).
func TestErrors(t *testing.T) {
	r, err := simulate(options{epsilon: 6, parties: 60, missing: 6, drops: 0, rounds: 2000})
	if err != nil {
		t.Fatal(err)
	}
	ours, laplace, local := r.errors[0], r.errors[1], r.errors[2]
	if !(ours < 0.7*laplace && laplace < 0.3*local) {
		t.Errorf("mean absolute errors %v", r.errors)
	}
	if ours > 1.5*r.theory[0] || laplace > 1.3*r.theory[1] || local > 1.3*r.theory[2] {
		t.Errorf("mean absolute errors %v, theory %v", r.errors, r.theory)
	}
}
