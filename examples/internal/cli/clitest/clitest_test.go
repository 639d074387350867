package clitest

import (
	"errors"
	"flag"
	"fmt"
	"io"
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

// Each check reports what it is for, once, and nothing of a command that does well.
func TestChecks(t *testing.T) {
	print := func(text string) *command {
		return &command{run: func(out io.Writer) error { _, err := io.WriteString(out, text); return err }}
	}
	trouble := errors.New("trouble")
	output := func(c *command, want ...string) []string {
		return failures(func(t testing.TB) { Output(t, c, []string{"-times", "2"}, want) })
	}
	usage := func(c command, args ...string) []string {
		return failures(func(t testing.TB) {
			Usage(t, func() cli.Command { fresh := c; return &fresh }, [][]string{args})
		})
	}
	broken := func(c *command, args ...string) []string {
		return failures(func(t testing.TB) { BrokenOutput(t, c, args...) })
	}
	numbers := func(prefix string, n int) []string {
		return failures(func(t testing.TB) { Numbers(t, "one 1\n  the 21.5 in [-3e2, +Inf] 7% – 8. lines\nend 9", prefix, n) })
	}
	for name, reports := range map[string][]string{
		"well": output(&command{}, "hello"), "a value": usage(command{}, "-times", "0"), "no number": usage(command{}, "-times", "x"), "a flag": usage(command{}, "-nonsense"), "a file": usage(command{}, "file"),
		"refused by Run": usage(command{run: func(io.Writer) error { return cli.Usage(trouble) }}), "a write": broken(&command{}), "numbers": numbers("  the", 5), "a number": numbers("end", 1),
	} {
		if len(reports) > 0 {
			t.Errorf("%s: reported %q", name, reports)
		}
	}
	for name, reports := range map[string][]string{
		"an error": output(&command{run: func(io.Writer) error { return trouble }}), "a wrong flag": output(&command{check: func(int) error { return trouble }}),
		"a missing text": output(&command{}, "hello", "goodbye"), "a NaN": output(print("hello NaN"), "hello"),
		"taken": usage(command{}, "-times", "1"), "no mistake": usage(command{run: func(io.Writer) error { return trouble }}),
		"a flag not listed":   usage(command{flags: func(f *flag.FlagSet) { f.Usage = func() { fmt.Fprint(f.Output(), "no help\n") } }}, "file"),
		"the failure ignored": broken(&command{run: func(out io.Writer) error { io.WriteString(out, "x"); return nil }}), "another failure": broken(&command{run: func(io.Writer) error { return trouble }}),
		"fewer": numbers("  the", 4), "more": numbers("  the", 6), "none": numbers("two", 0), "no line": numbers("the", 5),
	} {
		if len(reports) != 1 {
			t.Errorf("%s: reported %q", name, reports)
		}
	}
}
