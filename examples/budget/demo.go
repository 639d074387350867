package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/dpsketch/dpsketch/examples/budget/fleet"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// demo lets eight servers make releases from one budget. One of them is lost on the way.
func demo(ctx context.Context, db *sql.DB, out io.Writer) error {
	const (
		servers  = 8
		releases = 2000 // of each
		share    = 0.01
	)
	unit := budget.User(10, budget.AddRemove)
	if err := fleet.Create(ctx, db, "main", 1, 1e-6, unit, "mu"); err != nil {
		return err
	}
	whole, err := budget.NewLedger(1, 1e-6, unit, budget.MuRule())
	if err != nil {
		return err
	}
	release := budget.GDP(whole.Remaining().Mu()/math.Sqrt(20_000), unit)
	began, errs := time.Now(), make(chan error, servers)
	for i := range servers {
		go func() {
			s := fleet.NewServer(fleet.Open(db, "main"), share, fmt.Sprintf("server-%d", i))
			for n := range releases {
				if i == 7 && n == releases/3 {
					errs <- nil // lost: it returns nothing
					return
				}
				if err := s.Spend(ctx, release); err != nil {
					errs <- err
					return
				}
			}
			errs <- s.Close(ctx)
		}()
	}
	for range servers {
		err = errors.Join(err, <-errs)
	}
	if err != nil {
		return err
	}
	s, err := fleet.Open(db, "main").Status(ctx)
	if err != nil {
		return err
	}
	const made = (servers-1)*releases + releases/3
	fmt.Fprintf(out, "%d servers made %d releases of μ = %.4g in %.1f s, with %d changes of the row.\n", servers, made, release.Mu(), time.Since(began).Seconds(), s.Version-1)
	fmt.Fprintf(out, "The last one was lost, and with it at most one lease of %g %%.\n\n", 100*share)
	_, err = io.WriteString(out, text(s))
	return err
}
