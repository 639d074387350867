package main

import (
	"bytes"
	"io"

	"github.com/dpsketch/dpsketch/kor/distinct"
	"github.com/dpsketch/dpsketch/misragries/series"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// usersShare is the part of ε that counts different users; the rest is for the keys.
const usersShare = 0.25

// journal is a ledger's journal in memory, for the store, where one transaction holds it and all that
// it pays for.
type journal struct{ text []byte }

func (j *journal) ReadAt(p []byte, off int64) (int, error) {
	return bytes.NewReader(j.text).ReadAt(p, off)
}

func (j *journal) WriteAt(p []byte, off int64) (int, error) {
	if off < 0 || off > int64(len(j.text)) {
		return 0, io.ErrUnexpectedEOF
	}
	j.text = append(j.text[:off], p...)
	return len(p), nil
}

func (j *journal) Truncate(size int64) error {
	j.text = j.text[:min(int(size), len(j.text))]
	return nil
}

func (j *journal) Sync() error { return nil }

// spend makes the budget of a series and spends it, once for all steps: on the keys, and on the
// different users of each period. A user is one key of a distinct.RunningBuilder, and each period has
// a new one, so what it promises to a key it promises to one user within one period.
func spend(j *journal, epsilon, delta float64, keys series.Params, users distinct.Params) (*budget.Ledger, error) {
	ledger, err := budget.CreateJournal(j, epsilon, delta, keys.Guarantee().Unit())
	if err != nil {
		return nil, err
	}
	if _, err := ledger.SpendOnce("keys", keys.Guarantee()); err != nil {
		return nil, err
	}
	visits, err := distinct.NewRunning(users)
	if err != nil {
		return nil, err
	}
	g, err := visits.Guarantee().Stable(ledger.Unit(), 1)
	if err != nil {
		return nil, err
	}
	_, err = ledger.SpendOnce("users", g)
	return ledger, err
}
