package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/dpsketch/dpsketch/noise/budget"
)

// journal is the record, on disk, of what has been spent: a line "open 7 0x1p+00
// 0x1.12e0be826d695p-30" for each window, with its number, ε and δ, synced before the window takes
// an event. So whatever happens later, the next start knows of it.
type journal struct {
	file *os.File
	size int64 // of the lines that are on the disk
}

// openJournal opens or creates the journal in dir, for one process at a time, and returns the spent
// guarantees and the last window's number. A last line without its end was never synced, so its
// window never took an event: it is cut off.
func openJournal(dir string) (j *journal, spent []budget.Guarantee, last uint64, err error) {
	file, err := os.OpenFile(filepath.Join(dir, "budget.journal"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, nil, 0, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Close())
		}
	}()
	if err := lock(file); err != nil {
		return nil, nil, 0, fmt.Errorf("%s is in use by another process: %w", file.Name(), err)
	}
	text, err := os.ReadFile(file.Name())
	if err != nil {
		return nil, nil, 0, err
	}
	whole := bytes.LastIndexByte(text, '\n') + 1
	for line := range strings.Lines(string(text[:whole])) {
		number, g, err := parseLine(strings.TrimSuffix(line, "\n"))
		if err != nil || number <= last {
			return nil, nil, 0, fmt.Errorf("%s: damaged line %q", file.Name(), line)
		}
		spent, last = append(spent, g), number
	}
	if err := errors.Join(file.Truncate(int64(whole)), syncDir(dir)); err != nil {
		return nil, nil, 0, err
	}
	return &journal{file, int64(whole)}, spent, last, nil
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

// parseLine reads one line of the journal.
func parseLine(line string) (number uint64, g budget.Guarantee, err error) {
	fields := strings.Fields(line)
	if len(fields) != 4 || fields[0] != "open" {
		return 0, g, errors.New("not a line of the journal")
	}
	number, err = strconv.ParseUint(fields[1], 10, 64)
	epsilon, err1 := strconv.ParseFloat(fields[2], 64)
	delta, err2 := strconv.ParseFloat(fields[3], 64)
	return number, budget.ApproxDP(epsilon, delta, budget.Element(budget.AddRemove)), errors.Join(err, err1, err2)
}

// spend records a window. When it returns nil the record is on the disk. What a failure leaves of a
// line, on a full disk, say, the next one overwrites: its window took no event.
func (j *journal) spend(number uint64, epsilon, delta float64) error {
	exact := func(x float64) string { return strconv.FormatFloat(x, 'x', -1, 64) }
	line := fmt.Sprintf("open %d %s %s\n", number, exact(epsilon), exact(delta))
	if err := j.file.Truncate(j.size); err != nil {
		return err
	}
	if _, err := j.file.WriteAt([]byte(line), j.size); err != nil {
		return err
	}
	if err := j.file.Sync(); err != nil {
		return err
	}
	j.size += int64(len(line))
	return nil
}

func (j *journal) close() error { return j.file.Close() }
