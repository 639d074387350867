package fleet

import (
	"context"
	"errors"
	"sync"

	"github.com/dpsketch/dpsketch/noise/budget"
)

// Server spends from a Budget, a lease at a time. Any number of goroutines may use it.
type Server struct {
	budget *Budget
	share  float64
	holder string

	mu     sync.Mutex
	lease  *held  // what is spent from
	ended  *held  // what was spent from, and is not known to be settled: nobody spends from it
	next   string // the token of a lease that may be booked or not
	closed bool
}

// held is a lease and what was spent of it.
type held struct {
	id    string
	spent *budget.Ledger
}

// NewServer returns a Server that leases a share of the whole at a time, or what is left of the
// whole if that is less. A crash costs one lease at most. holder says in the row who has it.
func NewServer(b *Budget, share float64, holder string) *Server {
	return &Server{budget: b, share: share, holder: holder}
}

// errClosed reports a Server after Close.
var errClosed = errors.New("fleet: the server is closed")

// Spend takes g from the budget, or returns an error, and then the release must not be made. While
// the lease lasts it asks nobody. Otherwise one change of the row settles the lease and books the
// next one, or g alone where g does not fit in a lease.
//
// The error is that of [budget.Ledger.Spend], or of the database; after that one a lease that had
// ended stays booked in full until a later call reaches the database.
func (s *Server) Spend(ctx context.Context, g budget.Guarantee) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errClosed
	}
	for {
		if s.lease != nil {
			if err := s.lease.spent.Spend(g); !errors.Is(err, budget.ErrBudget) {
				return err
			}
		}
		if alone, err := s.renew(ctx, g); alone || err != nil {
			return err
		}
	}
}

// renew settles the lease and books the next one, or g alone.
func (s *Server) renew(ctx context.Context, g budget.Guarantee) (alone bool, err error) {
	s.end()
	if s.next == "" {
		s.next = newToken()
	}
	var slice *budget.Ledger
	err = s.budget.change(ctx, func(r *row) error {
		slice, alone = nil, false
		if i := r.index(idOf(s.next)); i >= 0 { // booked by a call that got an error
			var err error
			if slice, _, err = r.slice(r.leases[i].Share); err != nil {
				return err
			}
			return errDone
		}
		if err := s.settle(r); err != nil {
			return err
		}
		l, _, err := r.lease(s.next, s.share, s.holder)
		switch {
		case err == nil && l.Accepts(g):
			slice = l
			return nil
		case err == nil: // too small for g
			r.drop(r.index(idOf(s.next)))
		case !errors.Is(err, budget.ErrBudget):
			return err
		}
		alone = true
		return r.spend(g)
	})
	if err != nil {
		return false, err
	}
	s.ended = nil
	if slice != nil {
		s.lease, s.next = &held{idOf(s.next), slice}, ""
	}
	return alone, nil
}

// end ends the lease: what was spent of it is final.
func (s *Server) end() {
	if s.lease != nil {
		s.ended, s.lease = s.lease, nil
	}
}

// settle settles the ended lease in the row. One that is not open there was settled by a call that
// got an error, or written off: what was spent of it is booked.
func (s *Server) settle(r *row) error {
	if s.ended == nil || r.index(s.ended.id) < 0 {
		return nil
	}
	return r.settle(s.ended.id, s.ended.spent.Spent())
}

// Close returns what is left of the lease, and ends the Server. After an error call it again, or
// the lease stays booked in full.
func (s *Server) Close(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.end()
	if s.ended == nil && s.next == "" {
		return nil
	}
	err := s.budget.change(ctx, func(r *row) error {
		if i := r.index(idOf(s.next)); i >= 0 { // nothing was spent of it
			r.drop(i)
			return s.settle(r)
		}
		if s.ended == nil || r.index(s.ended.id) < 0 {
			return errDone
		}
		return s.settle(r)
	})
	if err == nil {
		s.ended, s.next = nil, ""
	}
	return err
}

// Release spends the guarantee of b and then releases b, as [budget.Release] does from a Ledger.
func Release[T any](ctx context.Context, s *Server, b budget.Releaser[T]) (T, error) {
	if once, ok := b.(interface{ Released() bool }); !ok || !once.Released() {
		if err := s.Spend(ctx, b.Guarantee()); err != nil {
			var none T
			return none, err
		}
	}
	return b.Release() // an error if it was released before, and then nothing is spent
}
