// Command sql answers a private GROUP BY from a database: which values of a column do many users
// have, how many users has each, and what are the sums of another column.
//
//	sql [flags]
//	sql -dsn shop.db -journal shop.journal -table orders -user customer -key product -value price
//
// A user is what is hidden, with all rows: the answer looks nearly the same with any one user's
// rows added or removed. Nobody lists the keys beforehand, nor says how many rows a user has. The
// rows are read as the database gives them, and package threshold/groupby keeps of them which user
// has which key. Nor does anybody have to say how large a value is: without -min and -max the range
// of the sums is learned, privately and within the same budget, from some thousands of users. With
// -levels there are quantiles of the values instead of sums.
//
// A row without a value, NULL, is no row of these. A column whose declared type is not that of
// numbers is refused before anything is spent: dates, booleans, texts. SQLite takes any value in
// any column; there a fiftieth of -epsilon says how many users have values that are no numbers.
//
// With -back it asks who came back: how many users have one value of the key, a day say, how many
// another one, and how many both.
//
//	sql -dsn shop.db -journal shop.journal -table orders -user customer -key day -back mon,tue
//
// Each run costs privacy, and all runs on the same users add up. So a run needs a journal: a file
// with a budget, from which the run spends before it draws any noise, and which refuses what would
// exceed it. Its budget is that of -total and -total-delta. A file beside it knows how many runs
// there were, so that an older copy of the journal is refused, and no new one made where it is
// gone.
//
// Without -dsn the command makes a database of a million visits to pages in a temporary folder,
// asks that, with a journal beside it, and prints the true numbers too, which for data of your own
// nobody may see.
//
// SQLite is built in, and so is PostgreSQL (-driver postgres, and a -dsn as package
// github.com/lib/pq takes it). DuckDB, and with it Parquet and CSV files, needs a C++ linker and
// -tags duckdb:
//
//	go run -tags duckdb . -driver duckdb -from "read_parquet('visits/*.parquet')" \
//	                      -journal visits.journal
//
// What stands behind -from must give each row to the one user whose row it is. An aggregate, a join
// of users, LIMIT or a sample of blocks does not: the guarantee then holds for no user. Another
// database needs a line in drivers.go that imports its driver; it must know window functions, and
// names in double quotes.
//
// A key is its text, CAST(key AS TEXT), also for -back. Which types of columns each database may
// sum and group by is in the README beside this file.
//
// The exit code is 0; 1 when the database, the journal or writing failed, or the budget does not
// allow the run; or 2 for a wrong flag or parameter.
package main

import (
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/dpsketch/dpsketch/threshold/groupby"
)

func main() {
	cli.Main(new(options))
}

// options is what the command line asks for, and the command.
type options struct {
	dsn        string
	query      query
	params     groupby.Params
	journal    string
	total      float64
	totalDelta float64
	top        int
	confidence float64
	levels     string
	rows       int
	seed       uint64
	back       string
}

func (opts *options) Flags() *flag.FlagSet {
	flags := flag.NewFlagSet("sql", flag.ContinueOnError)
	flags.StringVar(&opts.query.driver, "driver", "sqlite", "`name` of the database driver: sqlite, postgres, or duckdb in a build with -tags duckdb")
	flags.StringVar(&opts.dsn, "dsn", "", "data `source`, as the driver takes it, for sqlite a file; without one a database is made, and duckdb reads the files of -from")
	flags.StringVar(&opts.query.table, "table", defaultTable, "`table` or view, perhaps after the name of a schema and a dot")
	flags.StringVar(&opts.query.source, "from", "", "`SQL` that may stand behind FROM, instead of -table: read_parquet('visits/*.parquet')")
	flags.StringVar(&opts.query.user, "user", "user", "`column` that says who a row is of; rows without do not count")
	flags.StringVar(&opts.query.key, "key", "page", "`column` to group by; rows without do not count")
	flags.StringVar(&opts.back, "back", "", "two `values` of -key with a comma between: how many users have each, and both")
	flags.StringVar(&opts.query.value, "value", "", "`column` of numbers to sum for each key, rows without do not count; without one users are counted alone")
	flags.Float64Var(&opts.params.Min, "min", 0, "least `sum` of the values of a user in one key: less counts as this; learned where -max is 0, too")
	flags.Float64Var(&opts.params.Max, "max", 0, "largest `sum` of the values of a user in one key: more counts as this")
	flags.StringVar(&opts.levels, "levels", "", "quantiles of -value for each key instead of sums, such as .5,.9,.99: `levels` separated by commas")
	flags.Float64Var(&opts.params.Epsilon, "epsilon", 1, "privacy parameter `ε` of this run")
	flags.Float64Var(&opts.params.Delta, "delta", 1e-6, "privacy parameter `δ` of this run")
	flags.StringVar(&opts.journal, "journal", "", "`file` of the budget of all runs on these users, made if there is none; needed with -dsn")
	flags.Float64Var(&opts.total, "total", 10, "`ε` of all runs together, the same each time")
	flags.Float64Var(&opts.totalDelta, "total-delta", 1e-5, "`δ` of all runs together, the same each time")
	flags.IntVar(&opts.top, "top", 15, "print this `number` of keys")
	flags.Float64Var(&opts.confidence, "confidence", 0.95, "`probability` with which an interval covers the number")
	flags.IntVar(&opts.rows, "rows", 1_000_000, "`number` of rows of a database that is made")
	flags.Uint64Var(&opts.seed, "seed", 1, "`seed` of a database that is made")
	return flags
}

// defaultTable is the table of a database that is made.
const defaultTable = "visits"

// made says whether nothing is named that could be read, so that a database is made.
func (opts *options) made() bool {
	return opts.query.driver == "sqlite" && opts.dsn == "" && opts.query.source == ""
}

func (opts *options) Check() error {
	switch {
	case opts.query.driver == "duckdb" && !slices.Contains(sql.Drivers(), "duckdb"):
		return errors.New("-driver = \"duckdb\": this build is without it, as it needs -tags duckdb")
	case !slices.Contains(sql.Drivers(), opts.query.driver):
		return fmt.Errorf("-driver = %q: want one of %q", opts.query.driver, sql.Drivers())
	case opts.query.source != "" && opts.query.table != defaultTable:
		return errors.New("-from is instead of -table")
	case !opts.made() && opts.dsn == "" && opts.query.driver != "duckdb":
		return errors.New("-dsn is missing: only a database of sqlite is made")
	case !opts.made() && opts.dsn == "" && opts.query.source == "":
		return errors.New("-dsn and -from are missing: a database, or files")
	case opts.made() && (opts.query.table != defaultTable || opts.query.user != "user" || opts.query.key != "page" || opts.query.value != "" && opts.query.value != "seconds" && opts.query.value != "revenue"):
		return errors.New("-dsn is missing: a database that is made has the table visits with user, page, seconds and revenue")
	case !opts.made() && opts.journal == "":
		return errors.New("-journal is missing: every run costs privacy, and the journal adds it up")
	case opts.query.value != "" && !(opts.params.Min < opts.params.Max) && (opts.params.Min != 0 || opts.params.Max != 0):
		return fmt.Errorf("-min = %v, -max = %v: want a range for the sums of -value", opts.params.Min, opts.params.Max)
	case opts.query.value == "" && (opts.params.Min != 0 || opts.params.Max != 0):
		return errors.New("-min and -max are for sums: -value is missing")
	case opts.query.value == "" && opts.levels != "":
		return errors.New("-levels are of values: -value is missing")
	case opts.back != "" && opts.query.value != "":
		return errors.New("-back counts users: it takes no -value")
	case opts.top < 0:
		return fmt.Errorf("-top = %d: want 0 or more", opts.top)
	case opts.rows < 1 || opts.rows > 100_000_000:
		return fmt.Errorf("-rows = %d: want 1 to 100000000", opts.rows)
	}
	if err := opts.query.check(); err != nil {
		return err
	}
	opts.params.Levels = [8]float64{}
	for i, level := range strings.Split(opts.levels, ",") {
		if opts.levels == "" {
			break
		}
		x, err := strconv.ParseFloat(strings.TrimSpace(level), 64)
		if err != nil || i >= len(opts.params.Levels) {
			return fmt.Errorf("-levels = %q: want up to 8 numbers between 0 and 1, separated by commas", opts.levels)
		}
		opts.params.Levels[i] = x
	}
	return cli.Probability("confidence", opts.confidence)
}

// Run answers, from a database that it makes if it has to. A run that the budget does not allow
// reads nothing.
func (opts *options) Run(out io.Writer) (err error) {
	made := opts.made()
	if made {
		folder, err := os.MkdirTemp("", "sql")
		if err != nil {
			return err
		}
		defer os.RemoveAll(folder)
		opts.dsn = filepath.Join(folder, "visits.db")
		if opts.journal == "" {
			opts.journal = filepath.Join(folder, "visits.journal")
		}
	}
	p := opts.params
	p.Values = opts.query.value != "" && p.Min == 0 && p.Max == 0 && opts.levels == ""
	var left *unread
	if opts.query.value != "" && opts.query.driver == "sqlite" { // whose columns take any value
		if left, err = newUnread(&p); err != nil {
			return cli.Usage(err)
		}
	}
	b, err := groupby.NewRows[int64, string](p)
	if err != nil {
		return cli.Usage(err)
	}
	cost, returning := b.Guarantee(), back{}
	if left != nil {
		if cost, err = budget.Compose(cost, left.builder.Guarantee()); err != nil {
			return err
		}
	}
	if opts.back != "" {
		if returning, err = newBack(opts.back, opts.params.Epsilon, cost.Unit()); err != nil {
			return cli.Usage(err)
		}
		cost = returning.guarantee
	}
	ledger, err := openJournal(opts.journal, opts.total, opts.totalDelta, cost.Unit())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ledger.Close()) }()
	if !ledger.Accepts(cost) {
		return fmt.Errorf("%s does not allow %v: %v", opts.journal, cost, ledger)
	}
	db, err := sql.Open(opts.query.driver, opts.dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	clock := time.Now()
	took := func(format string, args ...any) { // which for data of your own might tell something
		if made {
			fmt.Fprintf(out, format+" in %.1f s\n", append(args, time.Since(clock).Seconds())...)
			clock = time.Now()
		}
	}
	if made {
		if err := generate(db, opts.rows, opts.seed); err != nil {
			return err
		}
	}
	took("Made: %d rows", opts.rows)
	if opts.back != "" {
		return returning.answer(opts, out, db, ledger, made)
	}
	add := b.AddValue
	if opts.query.value == "" {
		add = func(user int64, key string, _ float64) { b.Add(user, key) }
	}
	if err := opts.query.read(db, add, left); err != nil {
		return err
	}
	r := result{query: opts.query, guarantee: cost, ledger: ledger, journal: opts.journal}
	r.groups, err = budget.ReleaseFunc(ledger, cost, func() (_ *groupby.Groups[string], err error) {
		if left != nil {
			if r.unread, err = left.builder.Release(); err != nil {
				return nil, err
			}
		}
		return b.Release()
	})
	if err != nil { // spends, on the disk, and then draws
		return err
	}
	took("Answered")
	if made {
		if r.truth, err = opts.query.truth(db); err != nil {
			return err
		}
	}
	took("Answered without privacy")
	_, err = io.WriteString(out, r.text(*opts))
	return err
}
