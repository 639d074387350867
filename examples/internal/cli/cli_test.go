package cli_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
)

// greeter prints a greeting, or fails as it is told.
type greeter struct {
	times int
	fail  error
}

func (g *greeter) Flags() *flag.FlagSet {
	flags := flag.NewFlagSet("greeter", flag.ContinueOnError)
	flags.IntVar(&g.times, "times", 1, "`number` of greetings")
	return flags
}

func (g *greeter) Check() error {
	if g.times < 1 {
		return fmt.Errorf("-times = %d: want 1 or more", g.times)
	}
	return nil
}

func (g *greeter) Run(out io.Writer) error {
	if g.fail != nil {
		return g.fail
	}
	_, err := io.WriteString(out, strings.Repeat("hello\n", g.times))
	return err
}

func TestRun(t *testing.T) {
	list := "Usage of greeter:\n  -times number\n    \tnumber of greetings (default 1)\n"
	trouble := errors.New("trouble")
	for _, c := range []struct {
		args           []string
		fail           error
		code           int
		stdout, stderr string
	}{
		{nil, nil, 0, "hello\n", ""},
		{[]string{"-times", "2"}, nil, 0, "hello\nhello\n", ""},
		{[]string{"-h"}, nil, 0, "", list},
		{[]string{"-times", "0"}, nil, 2, "", "greeter: -times = 0: want 1 or more (-h lists the flags)\n"},
		{[]string{"-times", "0"}, trouble, 2, "", "greeter: -times = 0: want 1 or more (-h lists the flags)\n"},
		{[]string{"a", "b"}, nil, 2, "", "greeter: unexpected arguments [\"a\" \"b\"] (-h lists the flags)\n"},
		{[]string{"-loud"}, nil, 2, "", "flag provided but not defined: -loud\n" + list +
			"greeter: flag provided but not defined: -loud (-h lists the flags)\n"},
		{nil, trouble, 1, "", "greeter: trouble\n"},
		{nil, cli.Usage(trouble), 2, "", "greeter: trouble (-h lists the flags)\n"},
		{nil, fmt.Errorf("great %w", cli.Usage(trouble)), 2, "", "greeter: great trouble (-h lists the flags)\n"},
		{nil, flag.ErrHelp, 1, "", "greeter: flag: help requested\n"},
	} {
		var out, errs bytes.Buffer
		code := cli.Run(&greeter{fail: c.fail}, c.args, &out, &errs)
		if code != c.code || out.String() != c.stdout || errs.String() != c.stderr {
			t.Errorf("%q, failing with %v: exit code %d, printed %q and %q", c.args, c.fail, code, out.String(), errs.String())
		}
	}
}
