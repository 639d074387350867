package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/kor/distinct"
	"github.com/dpsketch/dpsketch/misragries/series"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/dpsketch/dpsketch/threshold/groupby"
)

const (
	day      = 24        // steps of a report, and between two numbers of distinct users
	week     = 7 * day   // steps of the longest of the Spans, and of a period of distinct users
	keep     = 53 * week // steps that are kept
	mostLog  = 64 << 20  // bytes of logged events at which the state is stored
	mostTake = 16 << 20  // bytes of events in one transaction
)

// errStopped says that the service takes no more events.
var errStopped = errors.New("the service is stopping; it may have taken these events or not")

// service counts events and releases a slice at the end of each step, and a report at the end of
// each day. One goroutine, in run, owns the builders and writes to the store. Handlers send it
// requests, and read what is published.
type service struct {
	store    *store
	head     head
	ledger   *budget.Ledger
	keys     *series.Builder[string]
	visitors *distinct.RunningBuilder
	reports  *reports // nil without reports
	logged   int      // bytes of events that the stored state does not contain

	buffers   sync.Pool // of *buffers
	requests  chan request
	stopped   chan struct{} // closed when run has returned
	published *published
	metrics   *metrics
}

// request has the events of one request, and where the answer goes.
type request struct {
	record []byte     // as appendEvents makes it
	answer chan error // buffered
}

// open opens the store and goes on where the last run ended. In an empty store it begins a series
// and spends its budget. It fails if the store has a series of other flags.
func open(c config, now time.Time) (s *service, err error) {
	if c.step <= 0 {
		return nil, fmt.Errorf("the step is %v: want more than 0", c.step)
	}
	if c.elements < 1 {
		return nil, fmt.Errorf("%d elements of a user count: want at least 1", c.elements)
	}
	if !(c.reports >= 0 && c.reports <= 0.5) {
		return nil, fmt.Errorf("the reports' share is %v: want 0 to 0.5", c.reports)
	}
	if c.reports == 0 && (c.min != 0 || c.max != 0) {
		return nil, errors.New("values need reports: leave out -min and -max, or give -reports a share")
	}
	st, err := openStore(c.store)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, st.db.Close())
		}
	}()
	s = &service{store: st, requests: make(chan request), stopped: make(chan struct{}),
		buffers: sync.Pool{New: func() any { return new(buffers) }}}
	if err := s.begin(c, now); err != nil {
		return nil, err
	}
	if s.published, err = newPublished(s.head, s.ledger, c.reports); err != nil {
		return nil, err
	}
	s.metrics = newMetrics(s)
	return s, s.restore(c.published)
}

// begin reads what the series is, or begins one.
func (s *service) begin(c config, now time.Time) error {
	h, spent, found, err := s.store.head()
	if err != nil {
		return err
	}
	if found && h.Layout != storeLayout {
		return fmt.Errorf("%s has version %d of the store, and this program reads version %d", c.store, h.Layout, storeLayout)
	}
	want := head{Layout: storeLayout, Started: h.Started, Step: c.step, Keys: c.keys(), Users: c.users(h.Users.Seed)}
	if !found {
		want.Started, want.Users.Seed = now.UTC().Truncate(c.step), hashing.NewSeed()
	}
	if s.keys, err = series.New[string](want.Keys); err != nil {
		return err
	}
	if s.visitors, err = distinct.NewRunningBuilder(want.Users); err != nil {
		return err
	}
	if c.reports > 0 {
		if want.Reports, err = reportParams(c.epsilon*c.reports, c.delta*c.reports, c.min, c.max); err != nil {
			return fmt.Errorf("the reports: %w", err)
		}
	}
	if s.reports, err = newReports(want.Reports); err != nil {
		return err
	}
	if s.head = want; found {
		s.ledger = new(budget.Ledger)
		if err := s.ledger.UnmarshalBinary(spent); err != nil {
			return err
		}
		if h != want {
			return c.another(h, s.ledger)
		}
		return nil
	}
	if s.ledger, err = want.spend(c.epsilon, c.delta, c.reports); err != nil {
		return err
	}
	if spent, err = s.ledger.MarshalBinary(); err != nil {
		return err
	}
	empty, err := s.state()
	if err != nil {
		return err
	}
	return s.store.create(want, spent, empty)
}

// restore publishes again what was published, restores the private state, and counts the events
// that came after it. It refuses a store with fewer published steps than somebody has seen.
func (s *service) restore(seen int) error {
	var records [][]byte
	st, err := s.store.load(s.published.restore, func(record []byte) { records = append(records, bytes.Clone(record)) })
	if err != nil {
		return err
	}
	if err := s.keys.RestorePrivateState(st.keys, max(s.published.steps(), seen)); err != nil {
		return err
	}
	if err := s.visitors.RestorePrivateState(st.users, s.published.steps()%week/day); err != nil {
		return err
	}
	if err := s.reports.restore(st.rows); err != nil {
		return err
	}
	for _, record := range records {
		s.count(record)
		s.logged += len(record)
	}
	return nil
}

func (s *service) state() (st state, err error) {
	if st.keys, err = s.keys.AppendPrivateState(nil); err != nil {
		return st, err
	}
	if st.users, err = s.visitors.AppendPrivateState(nil); err != nil {
		return st, err
	}
	st.rows, err = s.reports.state()
	return st, err
}

// count counts the events of a record in the open step. It returns how many there are, and how many
// of them had no token, so that their keys did not count.
func (s *service) count(record []byte) (events, not int) {
	value := math.NaN()
	for rest := string(record); rest != ""; events++ {
		var e event
		e, rest = cutEvent(rest)
		if s.head.valued() {
			value, rest = cutValue(rest)
		}
		s.reports.add(e, value)
		if s.head.Keys.Counters > 0 {
			e.Key = strings.Clone(e.Key) // sketches would keep the whole record alive
		}
		not += 1 - s.keys.AddFor(e.User, []string{e.Key})
		s.visitors.Add(hashing.Fingerprint(s.head.Users.Seed, e.User))
	}
	return events, not
}

// run takes requests and ends a step for each value from due, until the context ends. An error
// comes from the store. Then nobody knows what is on the disk, and nothing more is taken or
// published. The next run reads the disk.
func (s *service) run(ctx context.Context, due <-chan struct{}) error {
	defer close(s.stopped)
	for {
		var err error
		select {
		case r := <-s.requests:
			err = s.take(s.queued(r))
		case <-due:
			err = s.step()
		case <-ctx.Done():
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// queued returns a request and the others that wait.
func (s *service) queued(first request) []request {
	list, size := []request{first}, len(first.record)
	for size < mostTake {
		select {
		case r := <-s.requests:
			list, size = append(list, r), size+len(r.record)
		default:
			return list
		}
	}
	return list
}

// take brings requests to the disk, counts their events, and answers. Events that were answered
// without an error are counted exactly once, also if the process crashes.
func (s *service) take(list []request) error {
	records := make([][]byte, len(list))
	for i, r := range list {
		records[i] = r.record
		s.logged += len(r.record)
	}
	if err := s.metrics.commit(func() error { return s.store.log(records) }); err != nil {
		return err // stopped tells those who wait
	}
	for _, r := range list {
		s.metrics.count(s.count(r.record))
		r.answer <- nil
	}
	if s.logged < mostLog {
		return nil
	}
	return s.save(nil)
}

// step ends a step. It draws what is released, brings it to the disk in one transaction with the
// state after it, and then publishes it. After a crash before the transaction nobody has seen what
// was drawn, and the next run draws again. After a crash after it the next run publishes the same
// bytes.
func (s *service) step() error {
	slice, err := s.keys.Step()
	if err != nil {
		return err
	}
	steps := slice.Step() + 1
	e := &ended{step: slice.Step()}
	var users *distinct.Running
	var groups *groupby.Groups[string]
	if steps%day == 0 {
		if users, err = s.visitors.Step(); err != nil {
			return err
		}
		if e.users, err = users.MarshalBinary(); err != nil {
			return err
		}
	}
	if steps%day == 0 && s.reports != nil {
		if groups, err = s.reports.rows.Release(); err != nil {
			return err
		}
		if e.report, err = groups.MarshalBinary(); err != nil {
			return err
		}
		if s.reports, err = newReports(s.head.Reports); err != nil {
			return err
		}
	}
	if steps%week == 0 {
		if s.visitors, err = distinct.NewRunningBuilder(s.head.Users); err != nil {
			return err
		}
		e.forget = max(steps-keep, 0)
	}
	if e.slice, err = slice.MarshalBinary(); err != nil {
		return err
	}
	if err := s.save(e); err != nil {
		return err
	}
	return s.published.add(slice, users, groups)
}

// save stores the state, with what a step has released, if one has ended.
func (s *service) save(e *ended) error {
	st, err := s.state()
	if err != nil {
		return err
	}
	if err := s.metrics.commit(func() error { return s.store.save(st, e) }); err != nil {
		return err
	}
	s.logged = 0
	return nil
}

// send hands a record to run and waits until it is on the disk. After an error the record may be on
// the disk or not, and run may still read it.
func (s *service) send(record []byte) error {
	r := request{record, make(chan error, 1)}
	select {
	case s.requests <- r:
	case <-s.stopped:
		return errStopped
	}
	select {
	case err := <-r.answer:
		return err
	case <-s.stopped:
		return errStopped
	}
}

// end returns when a number of steps have ended.
func (h head) end(steps int) time.Time { return h.Started.Add(time.Duration(steps) * h.Step) }

// catchUp ends the steps whose time passed while the service was down.
func (s *service) catchUp(ctx context.Context, now func() time.Time) error {
	for ctx.Err() == nil && !now().Before(s.head.end(s.published.steps()+1)) {
		if err := s.step(); err != nil {
			return err
		}
	}
	return nil
}

// tick sends a value to due at the end of each step, until the context ends.
func (h head) tick(ctx context.Context, steps int, due chan<- struct{}) {
	for ; ; steps++ {
		select {
		case <-time.After(time.Until(h.end(steps + 1))):
		case <-ctx.Done():
			return
		}
		select {
		case due <- struct{}{}:
		case <-ctx.Done():
			return
		}
	}
}
