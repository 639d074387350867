package main

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"github.com/dpsketch/dpsketch/misragries"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// errClosed says that the service takes no more events.
var errClosed = errors.New("the service is shutting down")

// service is the state behind the handlers.
type service struct {
	params  misragries.Params
	shards  int
	journal *journal // of the ledger; nil once it is closed
	archive *archive
	metrics metrics

	rotating sync.Mutex // one rotation at a time
	ledger   atomic.Pointer[budget.Ledger]

	mu      sync.RWMutex // held for reading while events are added, for writing while windows change
	current *window      // nil if there is none, for the reason why
	why     error
}

// open reads what earlier runs have spent and released, and begins a window. It fails if the
// parameters are invalid; with a spent budget it serves what there is.
func open(c config) (*service, error) {
	p := misragries.Params{Counters: c.counters, Epsilon: c.epsilon, Delta: c.delta}
	if _, err := newWindow(0, p, c.shards); err != nil {
		return nil, err
	}
	if c.window <= 0 {
		return nil, fmt.Errorf("the window is %v: want more than 0", c.window)
	}
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		return nil, err
	}
	ledger, j, err := openLedger(c.dir, c.budget, c.slack)
	if err != nil {
		return nil, err
	}
	s := &service{params: p, shards: c.shards, journal: j}
	s.ledger.Store(ledger)
	if s.archive, err = openArchive(c.dir, ledger.Records()); err != nil {
		return nil, errors.Join(err, j.Close())
	}
	if err := s.rotate(); err != nil && !errors.Is(err, budget.ErrBudget) {
		return nil, errors.Join(err, j.Close())
	}
	return s, nil
}

// take adds the events of a request to the window that is open. When it returns nil all of them are
// in it, and else none.
func (s *service) take(keys []string) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.current == nil {
		return s.why
	}
	s.current.add(keys)
	s.metrics.events.Add(uint64(len(keys)))
	return nil
}

// rotate begins a window, if the budget allows it, and releases the one before.
func (s *service) rotate() error {
	s.rotating.Lock()
	defer s.rotating.Unlock()
	next, err := s.begin()
	return errors.Join(err, s.replace(next, err))
}

// begin spends the budget of a window and returns it. The spending is on the disk before anybody
// sees the window, whose number is that of its record. A ledger that could not write takes nothing
// more; it is read again then, and counts a record that the disk may have taken. What a window cost
// that the disk prevented is nothing, or that at most.
func (s *service) begin() (*window, error) {
	if s.journal == nil {
		return nil, errClosed
	}
	ledger := s.ledger.Load()
	if ledger.Err() != nil {
		again, err := budget.OpenJournal(s.journal, ledger.Records())
		if err != nil {
			return nil, err
		}
		s.ledger.Store(again)
		ledger = again
	}
	if err := ledger.Spend(s.params.Guarantee()); err != nil {
		return nil, err
	}
	return newWindow(ledger.Records(), s.params, s.shards)
}

// replace puts another window, or none and the reason why, in the place of the current one, and
// releases that. No event is between the two: whoever adds holds the lock for reading.
func (s *service) replace(next *window, why error) error {
	if why != nil {
		next = nil // the journal may have failed: no events without a record
	}
	s.mu.Lock()
	ended := s.current
	s.current, s.why = next, why
	s.mu.Unlock()
	if ended == nil {
		return s.archive.save() // what a full disk has refused before
	}
	h, err := ended.release()
	if err != nil {
		return err
	}
	s.metrics.releases.Add(1)
	return s.archive.put(ended.number, h)
}

// close releases the current window and takes no more events.
func (s *service) close() error {
	s.rotating.Lock()
	defer s.rotating.Unlock()
	if s.journal == nil {
		return nil
	}
	err := s.replace(nil, errClosed)
	err = errors.Join(err, s.journal.Close())
	s.journal = nil
	return err
}
