package main

import (
	"errors"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// openJournal opens the ledger in a file, or creates it, for this process alone. That the file has
// another budget is a mistake in the command line.
func openJournal(path string, epsilon, delta float64, unit budget.Unit) (*budget.Ledger, error) {
	l, err := budget.OpenFile(path, epsilon, delta, unit)
	if errors.Is(err, budget.ErrParams) || errors.Is(err, budget.ErrMismatch) {
		err = cli.Usage(err)
	}
	return l, err
}
