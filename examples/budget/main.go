// Command budget keeps one privacy budget for many servers in a database, SQLite or PostgreSQL.
//
//	budget                          shows it: eight servers, one of which is lost, in SQLite
//	budget create -epsilon 1 -delta 1e-6 -keys 10 -dsn …
//	budget status -dsn …            what is spent, what is leased to whom, what is free
//	budget lease -share 0.01 -holder nightly -dsn …
//	budget return -lease TOKEN -spent 0.02 -dsn …
//	budget return -lease ID -dsn …  writes a lost lease off: all of it is spent
//	budget spent -journal FILE      what a journal of budget.OpenFile has spent, on what, and how
//	                                long it lasts; -picture FILE.svg draws it
//
// Servers written in Go need none of this but status: package fleet leases and returns by itself.
// See README.md.
package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	_ "github.com/jackc/pgx/v5/stdlib" // the databases that -driver takes
	_ "modernc.org/sqlite"

	"github.com/dpsketch/dpsketch/examples/budget/fleet"
	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/noise/budget"
)

func main() {
	verb, args := "demo", os.Args[1:]
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		verb, args = args[0], args[1:]
	}
	os.Exit(cli.Run(&options{verb: verb}, args, os.Stdout, os.Stderr))
}

var verbs = []string{"demo", "create", "status", "lease", "return", "spent"}

// options is what the command line asks for, and the command.
type options struct {
	verb              string
	driver, dsn, name string
	epsilon, delta    float64
	keys              int
	rule              string
	share             float64
	holder, lease     string
	spent, spentDelta float64
	atLeast           int64
	journal, picture  string
}

func (opts *options) Flags() *flag.FlagSet {
	flags := flag.NewFlagSet("budget", flag.ContinueOnError)
	flags.StringVar(&opts.driver, "driver", "pgx", "`name` of the database driver, pgx for PostgreSQL, or sqlite")
	flags.StringVar(&opts.dsn, "dsn", "", "data `source`, as the driver takes it")
	flags.StringVar(&opts.name, "name", "main", "`name` of the budget in the database")
	flags.Int64Var(&opts.atLeast, "at-least", 0, "refuse a row of a `version` below this one, such as a restored backup")
	flags.StringVar(&opts.journal, "journal", "", "spent: `file` of the journal, which is only read")
	flags.StringVar(&opts.picture, "picture", "", "spent: `file` for a picture of the months, as SVG")
	flags.Float64Var(&opts.epsilon, "epsilon", 1, "create: `ε` of all releases of all servers together")
	flags.Float64Var(&opts.delta, "delta", 1e-6, "create: `δ` of the same")
	flags.IntVar(&opts.keys, "keys", 0, "create: the budget is for one user with at most so many `keys`; 0 stands for any number")
	flags.StringVar(&opts.rule, "rule", "mu", "create: mu for Gaussian releases alone; \"rho\", or \"rho 1e-7\" with the δ of approximate ones, for all")
	flags.Float64Var(&opts.share, "share", 0.01, "lease: the `part` of the whole")
	flags.StringVar(&opts.holder, "holder", "command", "lease: `who` has it")
	flags.StringVar(&opts.lease, "lease", "", "return: `token` of the lease, as lease printed it; its ID is enough to write it off")
	flags.Float64Var(&opts.spent, "spent", -1, "return: the `μ`, or the ρ of a budget by rho, that was spent; all of it if the flag is not given")
	flags.Float64Var(&opts.spentDelta, "spent-delta", 0, "return: the `δ` of approximate releases beside it")
	return flags
}

func (opts *options) Check() error {
	switch {
	case !slices.Contains(verbs, opts.verb):
		return fmt.Errorf("%q: want one of %q", opts.verb, verbs)
	case !slices.Contains(sql.Drivers(), opts.driver):
		return fmt.Errorf("-driver = %q: want one of %q", opts.driver, sql.Drivers())
	case opts.verb == "demo" && opts.dsn != "":
		return fmt.Errorf("-dsn without a word before the flags: want one of %q", verbs[1:])
	case opts.verb == "spent" && opts.journal == "":
		return errors.New("-journal is missing")
	case opts.verb != "demo" && opts.verb != "spent" && opts.dsn == "":
		return errors.New("-dsn is missing")
	case opts.verb == "return" && opts.lease == "":
		return errors.New("-lease is missing")
	case opts.keys < 0:
		return fmt.Errorf("-keys = %d: want 0 or more", opts.keys)
	}
	return nil
}

// Run does what the first word says.
func (opts *options) Run(out io.Writer) (err error) {
	if opts.verb == "spent" {
		return spent(opts.journal, opts.picture, out)
	}
	ctx := context.Background()
	if opts.verb == "demo" {
		folder, err := os.MkdirTemp("", "budget")
		if err != nil {
			return err
		}
		defer os.RemoveAll(folder)
		opts.driver, opts.dsn = "sqlite", filepath.Join(folder, "budget.db")
	}
	dsn := opts.dsn
	if opts.driver == "sqlite" {
		dsn = "file:" + dsn + "?_pragma=busy_timeout(10000)&_pragma=synchronous(full)"
	}
	db, err := sql.Open(opts.driver, dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	shared := fleet.Open(db, opts.name)
	shared.AtLeast(opts.atLeast)
	switch opts.verb {
	case "demo":
		return demo(ctx, db, out)
	case "create":
		err = fleet.Create(ctx, db, opts.name, opts.epsilon, opts.delta, budget.User(opts.keys, budget.AddRemove), opts.rule)
	case "lease":
		lease, token, most, err2 := shared.Lease(ctx, opts.share, opts.holder)
		if err = err2; err == nil {
			fmt.Fprintf(out, "lease %s: %.4g %% of the whole, at most %v\n\n", token, 100*lease.Share, most)
		}
	case "return":
		if err = opts.giveBack(ctx, shared); err == nil {
			fmt.Fprintf(out, "lease %s is returned\n\n", opts.lease)
		}
	}
	if errors.Is(err, budget.ErrParams) {
		err = cli.Usage(err)
	}
	if err != nil {
		return err
	}
	s, err := shared.Status(ctx)
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, text(s))
	return err
}

// giveBack returns a lease, or writes it off.
func (opts *options) giveBack(ctx context.Context, shared *fleet.Budget) error {
	if opts.spent < 0 {
		id, _, _ := strings.Cut(opts.lease, "-")
		return shared.WriteOff(ctx, id)
	}
	s, err := shared.Status(ctx)
	if err != nil {
		return err
	}
	spent := budget.GDP(opts.spent, s.Unit)
	if s.Rule != "mu" {
		spent, err = budget.Compose(budget.ZCDP(opts.spent, s.Unit), budget.ApproxDP(0, opts.spentDelta, s.Unit))
		if err != nil {
			return err
		}
	}
	return shared.Return(ctx, opts.lease, spent)
}

// text prints a status: a picture of the whole, and the open leases.
func text(s fleet.Status) string {
	var b strings.Builder
	fmt.Fprintf(&b, "ε = %g at δ = %g for %v, by %s, version %d\n\n", s.Epsilon, s.Delta, s.Unit, s.Rule, s.Version)
	const width = 60
	spent := int(width*s.Spent + 0.5)
	leased := max(spent, int(width*(s.Spent+s.Leased)+0.5))
	fmt.Fprintf(&b, "  [%s%s%s]\n", strings.Repeat("#", spent), strings.Repeat("=", leased-spent), strings.Repeat(".", max(0, width-leased)))
	fmt.Fprintf(&b, "  # spent %.2f %%   = leased %.2f %%   . free %.2f %%\n", 100*s.Spent, 100*s.Leased, 100*s.Free)
	if len(s.Leases) > 0 {
		fmt.Fprintf(&b, "\n  %-28s %-16s %-20s %9s  %s\n", "lease", "holder", "since", "share", "at most")
	}
	for _, l := range s.Leases {
		what, _, _ := strings.Cut(l.Booked.String(), " for ")
		fmt.Fprintf(&b, "  %-28s %-16s %-20s %7.3f %%  %s\n", l.ID, l.Holder, l.Since.Format("2006-01-02 15:04:05Z"), 100*l.Share, what)
	}
	return b.String()
}
