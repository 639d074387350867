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
)

// store is the one file of the service. What a step changes, it changes in one transaction: the
// slice that will be published, the private state after it, and the events that the state now
// contains. The budget is in it from the first transaction on. A transaction is on the disk when it
// returns.
type store struct{ db *bbolt.DB }

// The buckets of the store.
var (
	headBucket   = []byte("head")   // what the series is, its budget and the private state
	slicesBucket = []byte("slices") // public: the slice of each step
	// public: numbers of different users, by the step they end with
	usersBucket = []byte("users")
	// private: records of requests that the state does not contain yet, in order
	eventsBucket  = []byte("events")
	headKey       = []byte("series")   // in headBucket, as are the next three
	budgetKey     = []byte("budget")   // the ledger
	keysStateKey  = []byte("state")    // private: series.Builder
	usersStateKey = []byte("visitors") // private: distinct.RunningBuilder
)

// storeLayout is the version of the store. Since 2 users have tokens.
const storeLayout = 2

// head says what the series is: public, and the same for ever.
type head struct {
	Layout  int           // of the store: see storeLayout
	Started time.Time     // when step 0 began
	Step    time.Duration // the length of a step
	Keys    series.Params
	Users   distinct.Params // of each period
}

// state is the private state of both builders.
type state struct{ keys, users []byte }

// openStore opens the file for one process at a time, or creates an empty one.
func openStore(path string) (*store, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: time.Second, FreelistType: bbolt.FreelistMapType})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	// A process that was killed may have written what it could not sync. Nothing of it is published
	// before it is on the disk.
	if err := errors.Join(db.Sync(), syncDir(filepath.Dir(path))); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), db.Close())
	}
	return &store{db}, nil
}

// syncDir brings the name of a new file to the disk. Where folders cannot be synced, as on Windows,
// the file system sees to that.
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
		for _, name := range [][]byte{headBucket, slicesBucket, usersBucket, eventsBucket} {
			if _, err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		b := tx.Bucket(headBucket)
		return errors.Join(b.Put(headKey, text), b.Put(budgetKey, budget), putState(tx, empty))
	})
}

// head returns what the series is and its budget, or false in a store without one.
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

// log stores the records of requests whose events the state does not contain yet.
func (s *store) log(records [][]byte) error {
	return s.db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket(eventsBucket)
		b.FillPercent = 1 // they only ever come at the end
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

// ended is what is published of a step, and what of the past may go.
type ended struct {
	step         int
	slice, users []byte // users is nil where nothing is released of them
	forget       int    // steps before it are no longer needed
}

// save stores the state, which contains all events that were logged, and with it what was released
// at the end of a step, if that is why the state has changed.
func (s *store) save(st state, e *ended) error {
	return s.db.Update(func(tx *bbolt.Tx) error {
		err := errors.Join(putState(tx, st), tx.DeleteBucket(eventsBucket))
		if err != nil {
			return err
		}
		if _, err := tx.CreateBucket(eventsBucket); err != nil || e == nil {
			return err
		}
		slices, users := tx.Bucket(slicesBucket), tx.Bucket(usersBucket)
		if slices.Get(number(e.step)) != nil {
			return fmt.Errorf("step %d is published", e.step)
		}
		if err := slices.Put(number(e.step), e.slice); err != nil {
			return err
		}
		if e.users != nil {
			if err := users.Put(number(e.step), e.users); err != nil {
				return err
			}
		}
		return errors.Join(forget(slices, e.forget), forget(users, e.forget))
	})
}

func putState(tx *bbolt.Tx, st state) error {
	b := tx.Bucket(headBucket)
	return errors.Join(b.Put(keysStateKey, st.keys), b.Put(usersStateKey, st.users))
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

// load reads the last state, what was published, and the records that came after it.
func (s *store) load(published func(slice, users []byte) error, record func([]byte)) (st state, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		b := tx.Bucket(headBucket)
		st = state{bytes.Clone(b.Get(keysStateKey)), bytes.Clone(b.Get(usersStateKey))}
		users := tx.Bucket(usersBucket)
		err := tx.Bucket(slicesBucket).ForEach(func(step, slice []byte) error {
			return published(slice, users.Get(step))
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

// slice returns the encoded slice of a step, nil if it is not there.
func (s *store) slice(step int) (data []byte, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		data = bytes.Clone(tx.Bucket(slicesBucket).Get(number(step)))
		return nil
	})
	return data, err
}

// number makes a key that sorts as the number does.
func number(n int) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }
