package fleet

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"sync"

	"github.com/dpsketch/dpsketch/noise/budget"
)

// Schema makes the table, in PostgreSQL and in SQLite.
//
//go:embed schema.sql
var Schema string

// Budget is one budget in a database. Any number of goroutines and processes may use it.
type Budget struct {
	db   conn
	name string

	mu    sync.Mutex // changes of one process wait for each other here
	seen  int64      // the greatest version seen
	known *stored    // the row after the last change of this process, nil if unknown
}

// conn is what a Budget needs of a [sql.DB].
type conn interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// Create makes the table if there is none, and in it a budget of (ε, δ) for the unit with nothing
// spent. rule is "mu" for [budget.MuRule], which takes Gaussian releases and adds them up without
// any loss, or "rho" or "rho 1e-7" for [budget.RhoRule], which takes all releases, with the δ that
// approximate ones may have together.
//
// The error is that of [budget.NewLedger], or of the database: also if a budget of that name is
// there.
func Create(ctx context.Context, db *sql.DB, name string, epsilon, delta float64, unit budget.Unit, rule string) error {
	l, err := terms{epsilon, delta, unit, rule}.ledger()
	if err != nil {
		return err
	}
	data, err := l.MarshalBinary()
	if err != nil {
		return err
	}
	if _, err := db.ExecContext(ctx, Schema); err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "INSERT INTO dp_budgets (name, version, rule, ledger, leases) VALUES ($1, 1, $2, $3, '[]')", name, rule, data)
	return err
}

// Open returns the budget of that name. It asks the database for nothing.
func Open(db *sql.DB, name string) *Budget { return &Budget{db: db, name: name} }

// AtLeast makes the Budget refuse a row of a version below this one, such as a restored backup.
// [Status] tells the version, and the caller keeps it elsewhere.
func (b *Budget) AtLeast(version int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seen, b.known = max(b.seen, version), nil
}

// read reads the row.
func (b *Budget) read(ctx context.Context) (*stored, error) {
	s := new(stored)
	err := b.db.QueryRowContext(ctx, "SELECT version, rule, ledger, leases FROM dp_budgets WHERE name = $1", b.name).Scan(&s.version, &s.rule, &s.ledger, &s.leases)
	switch {
	case err != nil:
		return nil, fmt.Errorf("fleet: budget %q: %w", b.name, err)
	case s.version < b.seen:
		return nil, fmt.Errorf("fleet: budget %q is at version %d, and was at %d before: is this an old copy of the database?", b.name, s.version, b.seen)
	}
	b.seen = s.version
	return s, nil
}

// swap stores the row unless another change came between. After an error it may be stored or not.
func (b *Budget) swap(ctx context.Context, version int64, s stored) (bool, error) {
	result, err := b.db.ExecContext(ctx, "UPDATE dp_budgets SET version = $1, ledger = $2, leases = $3 WHERE name = $4 AND version = $5",
		s.version, s.ledger, s.leases, b.name, version)
	if err != nil {
		return false, fmt.Errorf("fleet: budget %q: %w", b.name, err)
	}
	rows, err := result.RowsAffected()
	return rows == 1, err
}

// errDone is what an edit returns where nothing is to change.
var errDone = errors.New("nothing to change")

// change edits the row: edit gets it as it is now, and may be called many times. If change returns
// nil the database has what edit made in its last call. If the error is of the database it may have
// it or not.
func (b *Budget) change(ctx context.Context, edit func(*row) error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		now, fresh := b.known, b.known == nil
		if fresh {
			var err error
			if now, err = b.read(ctx); err != nil {
				return err
			}
		}
		b.known = nil
		r, err := now.decode()
		if err == nil {
			err = edit(r)
		}
		switch {
		case errors.Is(err, errDone):
			return nil
		case err != nil && fresh:
			return err
		case err != nil: // perhaps only of the row that was known
			continue
		}
		next, err := r.encode(now.version + 1)
		if err != nil {
			return err
		}
		swapped, err := b.swap(ctx, now.version, next)
		if err != nil {
			return err
		}
		if swapped {
			b.known, b.seen = &next, next.version
			return nil
		}
	}
}

// Spend takes g from the budget without a lease, by one change of the row. Where it returns an
// error of the database, g may be spent or not: do not make the release.
func (b *Budget) Spend(ctx context.Context, g budget.Guarantee) error {
	return b.change(ctx, func(r *row) error { return r.spend(g) })
}

// Lease books a share of the whole, or what is left of it if that is less, for a program that is
// not written in Go, and returns the lease, the token that returns it, and the most that its holder
// may spend of it altogether. A program in Go uses a [Server]. Where Lease returns an error of the
// database a lease may be booked, and is lost.
func (b *Budget) Lease(ctx context.Context, share float64, holder string) (lease Lease, token string, most budget.Guarantee, err error) {
	token = newToken()
	err = b.change(ctx, func(r *row) error {
		var err error
		var l *budget.Ledger
		if l, lease, err = r.lease(token, share, holder); err == nil {
			most = l.Remaining()
		}
		return err
	})
	return lease, token, most, err
}

// Return ends a lease of which spent was spent, for its holder, who spends from it no more: it
// takes the token of [Budget.Lease]. What is left is free at once, so nobody else can know that: a
// server returns its own lease by [Server.Close], and for a lost one there is [Budget.WriteOff].
//
// The error wraps [ErrHolder] without the secret part of the token, [ErrReturned] if that lease is
// not open, and [budget.ErrBudget] if it is too small for spent.
func (b *Budget) Return(ctx context.Context, token string, spent budget.Guarantee) error {
	return b.change(ctx, func(r *row) error { return r.giveBack(token, spent) })
}

// WriteOff ends the lease of that ID, whose server is lost: all of it stays spent. That is safe
// even if the server goes on.
func (b *Budget) WriteOff(ctx context.Context, id string) error {
	return b.change(ctx, func(r *row) error {
		i := r.index(id)
		if i < 0 {
			return fmt.Errorf("fleet: lease %s: %w", id, ErrReturned)
		}
		return r.settle(id, r.leases[i].Booked)
	})
}

// Status is a budget at one moment.
type Status struct {
	Epsilon, Delta float64
	Unit           budget.Unit
	Rule           string
	Version        int64
	Settled        *budget.Ledger // a copy with what is spent for certain
	Leases         []Lease
	Spent          float64 // part of the whole
	Leased         float64 // part of the whole that is booked for open leases
	Free           float64 // part of the whole
}

// Status reads the budget.
func (b *Budget) Status(ctx context.Context) (Status, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s, err := b.read(ctx)
	if err != nil {
		return Status{}, err
	}
	r, err := s.decode()
	if err != nil {
		return Status{}, err
	}
	total, err := r.total()
	if err != nil {
		return Status{}, err
	}
	unsettled, free := r.share(r.settled), r.share(total)
	return Status{r.epsilon, r.delta, r.unit, r.rule, s.version, r.settled, r.leases, 1 - unsettled, unsettled - free, free}, nil
}
