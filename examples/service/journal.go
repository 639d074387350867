package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/dpsketch/dpsketch/noise/budget"
)

// journal is the file of the ledger, which only this process may write: a record a window, on the
// disk before the window takes an event.
type journal struct{ *os.File }

// openLedger opens or creates the ledger in dir, for one process at a time. That of another budget is
// refused: to change it, begin anew with what is left.
func openLedger(dir string, epsilon, delta float64) (l *budget.Ledger, j *journal, err error) {
	file, err := os.OpenFile(filepath.Join(dir, "budget.journal"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Close())
		}
	}()
	if err := lock(file); err != nil {
		return nil, nil, fmt.Errorf("%s is in use by another process: %w", file.Name(), err)
	}
	j = &journal{file}
	info, err := file.Stat()
	switch {
	case err != nil:
	case info.Size() == 0:
		l, err = budget.CreateJournal(j, epsilon, delta, budget.Element(budget.AddRemove))
	default:
		l, err = budget.OpenJournal(j, 0)
	}
	if err == nil {
		err = syncDir(dir)
	}
	if err != nil {
		return nil, nil, err
	}
	if e, d := l.Budget(); e != epsilon || d != delta || l.Unit() != budget.Element(budget.AddRemove) {
		return nil, nil, fmt.Errorf("%s is of another budget: %v", file.Name(), l)
	}
	return l, j, nil
}

// syncDir brings the names of new files in a folder to the disk. Where folders cannot be synced, as
// on Windows, the file system sees to that.
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
