package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dpsketch/dpsketch/noise/budget"
)

// charge pays for a run before it begins, in the journal of all runs on these data, and returns
// what to print. A run that fails may have shown its numbers, to whatever read them before another
// step failed, and the next attempt draws other noise. So every attempt is paid for, under the name
// of the run and its number.
func (o options) charge(r releases) (text string, err error) {
	if o.journal == "" {
		return "", nil
	}
	l, err := budget.OpenFile(o.journal, o.total, o.totalDelta, r.ledger.Unit())
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	run := o.run
	if run == "" {
		run = time.Now().UTC().Format("2006-01-02T15:04:05.000000000Z")
	}
	attempt := 1
	for record := range l.All() {
		if strings.HasPrefix(record.Name, run+"/") {
			attempt++
		}
	}
	if err := l.SpendOnce(fmt.Sprint(run, "/", attempt), r.ledger.Spent()); err != nil {
		return "", err
	}
	text = fmt.Sprintf("Journal: run %s, attempt %d: %v\n", run, attempt, l)
	if attempt > 1 {
		text += "An earlier attempt was paid for and may have shown its numbers. This one draws other noise, and was paid for too.\n"
	}
	return text, nil
}
