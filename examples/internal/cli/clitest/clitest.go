// Package clitest checks the example commands as their users meet them: by arguments, exit codes
// and what is printed. Only tests import it.
package clitest

import (
	"bytes"
	"errors"
	"flag"
	"strconv"
	"strings"
	"testing"
	"testing/cryptotest"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
)

// Seed fixes the noise that the library draws until the test ends, so that nothing the test asks of
// what is printed is left to chance.
func Seed(t *testing.T) {
	t.Helper()
	cryptotest.SetGlobalRandom(t, 1)
}

// Run runs the command and returns its exit code and what it printed.
func Run(c cli.Command, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = cli.Run(c, args, &out, &errs)
	return code, out.String(), errs.String()
}

// Output returns what the command printed. It ends the test unless all went well and nothing went
// to standard error, and reports each of the wanted texts that is missing, and any NaN.
func Output(t testing.TB, c cli.Command, args, want []string) string {
	t.Helper()
	code, out, errs := Run(c, args...)
	if code != 0 || errs != "" {
		t.Fatalf("%q: exit code %d: %s", args, code, errs)
	}
	for _, text := range want {
		if !strings.Contains(out, text) {
			t.Errorf("%q: the output lacks %q:\n%s", args, text, out)
		}
	}
	if strings.Contains(out, "NaN") {
		t.Errorf("%q: the output has a NaN:\n%s", args, out)
	}
	return out
}

// Usage fails the test unless the command refuses each of the lists of arguments: with exit code 2,
// nothing on standard output and a message on standard error that names the command and leads to
// the list of flags. That list, for -h, must have every flag and go with exit code 0. Each run
// takes a command of its own from fresh.
func Usage(t testing.TB, fresh func() cli.Command, refused [][]string) {
	t.Helper()
	flags := fresh().Flags()
	for _, args := range refused {
		code, out, errs := Run(fresh(), args...)
		lines := strings.Split(strings.TrimSuffix(errs, "\n"), "\n")
		last := lines[len(lines)-1]
		if code != 2 || out != "" || !strings.HasPrefix(last, flags.Name()+": ") || !strings.HasSuffix(last, " (-h lists the flags)") {
			t.Errorf("%q: exit code %d, printed %q and %q", args, code, out, errs)
		}
	}
	code, out, errs := Run(fresh(), "-h")
	flags.VisitAll(func(f *flag.Flag) {
		if !strings.Contains(errs, "\n  -"+f.Name) {
			t.Errorf("-h does not list -%s: %q", f.Name, errs)
		}
	})
	if code != 0 || out != "" {
		t.Errorf("-h: exit code %d, printed %q", code, out)
	}
}

// BrokenOutput fails the test unless the command ends with exit code 1, and says why, when nothing
// can be written to standard output.
func BrokenOutput(t testing.TB, c cli.Command, args ...string) {
	t.Helper()
	var errs bytes.Buffer
	code := cli.Run(c, args, broken{}, &errs)
	if code != 1 || !strings.HasSuffix(errs.String(), ": "+errBroken.Error()+"\n") {
		t.Errorf("%q: exit code %d, printed %q", args, code, errs.String())
	}
}

var errBroken = errors.New("broken output")

// broken is a writer that fails.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errBroken }

// Numbers returns the numbers in the fields of a line that stand after a prefix, and ends the test
// if there are not n. Brackets and punctuation around them, and fields between them that are no
// numbers, are passed over.
func Numbers(t testing.TB, output, prefix string, n int) []float64 {
	t.Helper()
	_, rest, found := strings.Cut("\n"+output, "\n"+prefix)
	line, _, _ := strings.Cut(rest, "\n")
	var numbers []float64
	for _, field := range strings.Fields(line) {
		if x, err := strconv.ParseFloat(strings.TrimRight(strings.Trim(field, "[](),;%"), "."), 64); err == nil {
			numbers = append(numbers, x)
		}
	}
	if !found || len(numbers) != n {
		t.Fatalf("%v are not the %d numbers of the line that begins %q:\n%s", numbers, n, prefix, output)
	}
	return numbers
}

// Not fails the test, with a message, if something is so that must not be.
func Not(t testing.TB, so bool, format string, args ...any) {
	t.Helper()
	if so {
		t.Errorf(format, args...)
	}
}
