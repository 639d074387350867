package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// What a new journal gets where the flags say nothing.
const (
	defaultTotal      = 10.
	defaultTotalDelta = 1e-5
)

// openJournal opens the ledger in a file, or creates it, for this process alone. It refuses a
// ledger of another budget than the one that is asked for, where 0 asks for any, and one that
// protects somebody else.
func openJournal(path string, epsilon, delta float64, unit budget.Unit) (l *budget.Ledger, file *os.File, err error) {
	total, totalDelta := cmp.Or(epsilon, defaultTotal), cmp.Or(delta, defaultTotalDelta)
	fresh, err := budget.NewLedger(total, totalDelta, unit)
	if err != nil {
		return nil, nil, cli.Usage(err)
	}
	file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Close())
		}
	}()
	if err := lock(file); err != nil {
		return nil, nil, fmt.Errorf("%s cannot be locked; is it in use by another process? %w", path, err)
	}
	info, err := file.Stat()
	if err != nil {
		return nil, nil, err
	}
	if info.Size() > 0 {
		l, err = budget.OpenJournal(file, 0)
	} else {
		l, err = budget.CreateJournal(file, fresh)
	}
	if err := errors.Join(err, syncFolder(filepath.Dir(path))); err != nil {
		return nil, nil, err
	}
	switch e, d := l.Budget(); {
	case l.Unit() != unit:
		err = fmt.Errorf("%s protects %v, and this run %v", path, l.Unit(), unit)
	case epsilon != 0 && e != epsilon || delta != 0 && d != delta:
		err = cli.Usage(fmt.Errorf("%s has the budget ε = %g at δ = %g, and not that of -total and -total-delta", path, e, d))
	}
	return l, file, err
}

// syncFolder brings the names of new files in a folder to the disk. Where folders cannot be synced,
// as on Windows, the file system sees to that.
func syncFolder(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
