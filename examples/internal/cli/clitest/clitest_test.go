package clitest

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
)

// recorder is a testing.TB that only notes what a check reports.
type recorder struct {
	testing.TB
	reports []string
}

func (r *recorder) Helper() {}
func (r *recorder) Errorf(format string, args ...any) {
	r.reports = append(r.reports, fmt.Sprintf(format, args...))
}

// Fatalf ends the check, as that of a testing.TB does, by a panic that failures recovers from.
func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	panic(r)
}

// failures returns what a check reports.
func failures(check func(t testing.TB)) []string {
	r := &recorder{}
	func() {
		defer func() {
			if p := recover(); p != nil && p != any(r) {
				panic(p)
			}
		}()
		check(r)
	}()
	return r.reports
}

// command is a command of which the tests change one thing at a time.
type command struct {
	times int
	flags func(*flag.FlagSet)
	check func(times int) error
	run   func(out io.Writer) error
}

func (c *command) Flags() *flag.FlagSet {
	flags := flag.NewFlagSet("command", flag.ContinueOnError)
	flags.IntVar(&c.times, "times", 1, "`number`")
	if c.flags != nil {
		c.flags(flags)
	}
	return flags
}

func (c *command) Check() error {
	if c.check != nil {
		return c.check(c.times)
	}
	if c.times < 1 {
		return errors.New("too few times")
	}
	return nil
}

func (c *command) Run(out io.Writer) error {
	if c.run != nil {
		return c.run(out)
	}
	_, err := io.WriteString(out, strings.Repeat("hello\n", c.times))
	return err
}

func TestOutput(t *testing.T) {
	output := func(c *command, want ...string) []string {
		return failures(func(t testing.TB) { Output(t, c, []string{"-times", "2"}, want) })
	}
	if got := Output(t, &command{}, []string{"-times", "2"}, []string{"hello"}); got != "hello\nhello\n" {
		t.Errorf("%q", got)
	}
	print := func(text string) *command {
		return &command{run: func(out io.Writer) error { _, err := io.WriteString(out, text); return err }}
	}
	warning := &command{}
	warning.flags = func(flags *flag.FlagSet) {
		warning.check = func(int) error { fmt.Fprint(flags.Output(), "careful"); return nil }
	}
	for name, reports := range map[string][]string{
		"a warning":      output(warning),
		"an error":       output(&command{run: func(io.Writer) error { return errors.New("trouble") }}),
		"a wrong flag":   output(&command{check: func(int) error { return errors.New("trouble") }}),
		"a missing text": output(&command{}, "hello", "goodbye"),
		"a NaN":          output(print("hello NaN"), "hello"),
	} {
		if len(reports) != 1 {
			t.Errorf("%s: reported %q", name, reports)
		}
	}
}

func TestUsage(t *testing.T) {
	usage := func(c command, args ...string) []string {
		return failures(func(t testing.TB) {
			Usage(t, func() cli.Command { fresh := c; return &fresh }, [][]string{args})
		})
	}
	for _, args := range [][]string{{"-times", "0"}, {"-times", "x"}, {"-nonsense"}, {"file"}} {
		if reports := usage(command{}, args...); reports != nil {
			t.Errorf("%q: reported %q", args, reports)
		}
	}
	if reports := usage(command{run: func(io.Writer) error { return cli.Usage(errors.New("trouble")) }}); reports != nil {
		t.Errorf("refused by Run: reported %q", reports)
	}
	for name, reports := range map[string][]string{
		"taken":             usage(command{}, "-times", "1"),
		"no mistake":        usage(command{run: func(io.Writer) error { return errors.New("trouble") }}),
		"printed before":    usage(command{run: func(out io.Writer) error { io.WriteString(out, "x"); return cli.Usage(errors.New("trouble")) }}),
		"a flag not listed": usage(command{flags: func(f *flag.FlagSet) { f.Usage = func() { fmt.Fprint(f.Output(), "no help\n") } }}, "file"),
	} {
		if len(reports) != 1 {
			t.Errorf("%s: reported %q", name, reports)
		}
	}
}

func TestBrokenOutput(t *testing.T) {
	brokenOutput := func(c *command, args ...string) []string {
		return failures(func(t testing.TB) { BrokenOutput(t, c, args...) })
	}
	if reports := brokenOutput(&command{}); reports != nil {
		t.Errorf("reported %q", reports)
	}
	for name, reports := range map[string][]string{
		"the failure ignored": brokenOutput(&command{run: func(out io.Writer) error { io.WriteString(out, "x"); return nil }}),
		"another failure":     brokenOutput(&command{run: func(io.Writer) error { return errors.New("trouble") }}),
		"a wrong flag":        brokenOutput(&command{}, "-times", "0"),
	} {
		if len(reports) != 1 {
			t.Errorf("%s: reported %q", name, reports)
		}
	}
}

func TestNumbers(t *testing.T) {
	const output = "one 1\n  the 21.5 in [-3e2, +Inf] 7% – 8. lines\nend 9"
	for _, c := range []struct {
		prefix string
		want   []float64
	}{{"one", []float64{1}}, {"end", []float64{9}}} {
		if got := Numbers(t, output, c.prefix, len(c.want)); !slices.Equal(got, c.want) {
			t.Errorf("%q: %v", c.prefix, got)
		}
	}
	if got := Numbers(t, output, "  the", 5); got[0] != 21.5 || got[1] != -300 || got[2] < 1e308 || got[3] != 7 || got[4] != 8 {
		t.Errorf("%v", got)
	}
	for _, c := range []struct {
		prefix string
		n      int
	}{{"  the", 4}, {"  the", 6}, {"two", 0}, {"the", 5}} {
		if reports := failures(func(t testing.TB) { Numbers(t, output, c.prefix, c.n) }); len(reports) != 1 {
			t.Errorf("%q: reported %q", c.prefix, reports)
		}
	}
}

func TestText(t *testing.T) {
	if n := Text(t).Len(); n != 789_684 {
		t.Errorf("%d tokens", n)
	}
}
