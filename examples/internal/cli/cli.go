// Package cli runs the example commands: it reads the command line and turns what comes of it into
// an exit code. Nothing in it has to do with privacy. What an example shows stands in its own Run.
package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

// Command is one example.
type Command interface {
	// Flags returns a fresh set of the flags, made with flag.ContinueOnError and named as the
	// command, that store what they parse in the Command.
	Flags() *flag.FlagSet
	// Check says what is wrong with the values of the flags, if anything.
	Check() error
	// Run does the work, and prints to out what it has to show.
	Run(out io.Writer) error
}

// taker is a Command that takes arguments besides its flags.
type taker interface {
	// Take says what is wrong with them, if anything.
	Take(args []string) error
}

// Must returns x. It panics on an error, which only a wrong program can have.
func Must[T any](x T, err error) T {
	OK(err)
	return x
}

// OK panics on an error.
func OK(err error) {
	if err != nil {
		panic(err)
	}
}

// Usage returns err as a mistake in the command line, for a Run that finds out only from the
// library or the data.
func Usage(err error) error {
	if err == nil {
		return nil
	}
	return usageError{err}
}

type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// Probability says what is wrong with the value of a flag that is to be a probability other than 0
// and 1, if anything.
func Probability(name string, p float64) error {
	if !(p > 0 && p < 1) {
		return fmt.Errorf("-%s = %v: want a number between 0 and 1, both excluded", name, p)
	}
	return nil
}

// Terminal reports whether what is written to w is seen on a terminal as it comes.
func Terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Main runs the command on the command line of the process and ends the process.
func Main(c Command) {
	os.Exit(Run(c, os.Args[1:], os.Stdout, os.Stderr))
}

// Run runs the command and returns its exit code: 0, also for -h, which lists the flags; 1 if the
// work failed; 2 for a mistake in the command line. Errors and the list of flags go to stderr.
func Run(c Command, args []string, stdout, stderr io.Writer) int {
	flags := c.Flags()
	flags.SetOutput(stderr)
	err := parse(c, flags, args)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err == nil {
		err = c.Run(stdout)
	}
	var mistake usageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &mistake):
		fmt.Fprintf(stderr, "%s: %v (-h lists the flags)\n", flags.Name(), err)
		return 2
	default:
		fmt.Fprintf(stderr, "%s: %v\n", flags.Name(), err)
		return 1
	}
}

// parse reads the flags, and the arguments where an example takes any. Its errors are mistakes in
// the command line.
func parse(c Command, flags *flag.FlagSet, args []string) error {
	if err := flags.Parse(args); err != nil {
		return Usage(err)
	}
	if t, ok := c.(taker); ok {
		if err := t.Take(flags.Args()); err != nil {
			return Usage(err)
		}
	} else if flags.NArg() > 0 {
		return Usage(fmt.Errorf("unexpected arguments %q", flags.Args()))
	}
	return Usage(c.Check())
}
