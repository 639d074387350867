package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"go.etcd.io/bbolt"

	"github.com/dpsketch/dpsketch/kor/distinct"
	"github.com/dpsketch/dpsketch/misragries/series"
	"github.com/dpsketch/dpsketch/threshold/groupby"
)

// store is the one file of the service. The end of a step is one transaction: it stores what will
// be published and the private state after it, and removes the events that the state now contains.
// The first transaction stores the budget. A transaction is on the disk when it returns.
type store struct{ db *bbolt.DB }

// The buckets of the store.
var (
	headBucket   = []byte("head")   // what the series is, its budget and the private state
	slicesBucket = []byte("slices") // public: the slice of each step
	// public: numbers of distinct users, by the step they end with
	usersBucket = []byte("users")
	// public: daily reports, by the step they end with
	reportsBucket = []byte("reports")
	// private: records of requests that the state does not contain yet, in order
	eventsBucket  = []byte("events")
	headKey       = []byte("series")   // in headBucket, as are the next four
	budgetKey     = []byte("budget")   // the ledger
	keysStateKey  = []byte("state")    // private: series.Builder
	usersStateKey = []byte("visitors") // private: distinct.RunningBuilder
	rowsStateKey  = []byte("rows")     // private: groupby.Rows of the open day
)

// storeLayout is the version of the store. Since 2 users have tokens, since 3 there are reports,
// since 4 the private states are those of version 3 of package distinct.
const storeLayout = 4

// head says what the series is. It is public and never changes.
type head struct {
	Layout  int           // of the store: see storeLayout
	Started time.Time     // when step 0 began
	Step    time.Duration // the length of a step
	Keys    series.Params
	Users   distinct.Params // of each period
	Reports groupby.Params  // of each day; no ε: no reports
}

// state is the private state of the three builders.
type state struct{ keys, users, rows []byte }

// openStore opens the file for one process at a time, or creates an empty one.
func openStore(path string) (*store, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: time.Second, FreelistType: bbolt.FreelistMapType})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	// A process that was killed may have written what it could not sync. This sync comes before
	// anything is published.
	if err := errors.Join(db.Sync(), syncDir(filepath.Dir(path))); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), db.Close())
	}
	return &store{db}, nil
}

// syncDir brings the name of a new file to the disk. Windows cannot sync folders: there the file
// system does it.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// create begins a series: its budget, spent, and the state before the first event.
func (s *store) create(h head, budget []byte, empty state) error {
	text, err := json.Marshal(h)
	if err != nil {
		return err
	}
	return s.db.Update(func(tx *bbolt.Tx) error {
		for _, name := range [][]byte{headBucket, slicesBucket, usersBucket, reportsBucket, eventsBucket} {
			if _, err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		b := tx.Bucket(headBucket)
		return errors.Join(b.Put(headKey, text), b.Put(budgetKey, budget), putState(tx, empty))
	})
}

// head returns what the series is and its budget. found is false in an empty store.
func (s *store) head() (h head, budget []byte, found bool, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		b := tx.Bucket(headBucket)
		if b == nil {
			return nil
		}
		found, budget = true, bytes.Clone(b.Get(budgetKey))
		return json.Unmarshal(b.Get(headKey), &h)
	})
	return h, budget, found, err
}

// log stores records of requests, whose events the stored state does not contain yet.
func (s *store) log(records [][]byte) error {
	return s.db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket(eventsBucket)
		b.FillPercent = 1 // records are only ever added at the end
		for _, record := range records {
			n, err := b.NextSequence()
			if err != nil {
				return err
			}
			if err := b.Put(number(int(n)), record); err != nil {
				return err
			}
		}
		return nil
	})
}

// ended is what a step publishes, and which old steps may go.
type ended struct {
	step   int
	slice  []byte
	users  []byte // nil where no day ends
	report []byte // nil where no day ends, and without reports
	forget int    // steps before this one are no longer needed
}

// save stores the state, which contains all events that were logged. If a step has ended it also
// stores what the step releases.
func (s *store) save(st state, e *ended) error {
	return s.db.Update(func(tx *bbolt.Tx) error {
		err := errors.Join(putState(tx, st), tx.DeleteBucket(eventsBucket))
		if err != nil {
			return err
		}
		if _, err := tx.CreateBucket(eventsBucket); err != nil || e == nil {
			return err
		}
		if tx.Bucket(slicesBucket).Get(number(e.step)) != nil {
			return fmt.Errorf("step %d is published", e.step)
		}
		for _, of := range []struct{ bucket, data []byte }{{slicesBucket, e.slice}, {usersBucket, e.users}, {reportsBucket, e.report}} {
			b := tx.Bucket(of.bucket)
			if of.data != nil {
				err = b.Put(number(e.step), of.data)
			}
			if err = errors.Join(err, forget(b, e.forget)); err != nil {
				return err
			}
		}
		return nil
	})
}

func putState(tx *bbolt.Tx, st state) error {
	b := tx.Bucket(headBucket)
	return errors.Join(b.Put(keysStateKey, st.keys), b.Put(usersStateKey, st.users), b.Put(rowsStateKey, st.rows))
}

// forget deletes what is older than a step.
func forget(b *bbolt.Bucket, before int) error {
	c := b.Cursor()
	for k, _ := c.First(); k != nil && bytes.Compare(k, number(before)) < 0; k, _ = c.First() {
		if err := c.Delete(); err != nil {
			return err
		}
	}
	return nil
}

// load reads the last state, all that was published, and the records that came after the state.
func (s *store) load(published func(slice, users, report []byte) error, record func([]byte)) (st state, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		b := tx.Bucket(headBucket)
		st = state{bytes.Clone(b.Get(keysStateKey)), bytes.Clone(b.Get(usersStateKey)), bytes.Clone(b.Get(rowsStateKey))}
		users, reports := tx.Bucket(usersBucket), tx.Bucket(reportsBucket)
		err := tx.Bucket(slicesBucket).ForEach(func(step, slice []byte) error {
			return published(slice, users.Get(step), reports.Get(step))
		})
		if err != nil {
			return err
		}
		return tx.Bucket(eventsBucket).ForEach(func(_, data []byte) error {
			record(data)
			return nil
		})
	})
	return st, err
}

// released returns what a bucket has of a step, encoded, or nil.
func (s *store) released(bucket []byte, step int) (data []byte, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		data = bytes.Clone(tx.Bucket(bucket).Get(number(step)))
		return nil
	})
	return data, err
}

// number makes a key that sorts as the number does.
func number(n int) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }
