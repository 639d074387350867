package durable

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/dpsketch/dpsketch/internal/check"
)

// File is the Storage of a Journal in a file, with a lock, path.lock, and the number of the last
// record in path.least.
type File struct {
	*os.File
	least *os.File
	lock  io.Closer
	found bool   // path.least was there
	last  uint64 // record that was written
	noted uint64 // record in least
}

// OpenFile takes the lock and opens the file, or creates one with the first record. It refuses
// where path.least says that there was a journal and there is none.
func OpenFile(path string, take func(path string) (io.Closer, error), first string) (f *File, err error) {
	if path, err = realPath(path); err != nil {
		return nil, fmt.Errorf("budget: the journal: %w", err)
	}
	lock, err := take(path + ".lock")
	if err != nil {
		return nil, fmt.Errorf("budget: the journal: %w", err)
	}
	f = &File{lock: lock}
	if err := f.open(path, first); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// open opens or creates the file.
func (f *File) open(path, first string) (err error) {
	if f.noted, f.found, err = readLeast(path + ".least"); err != nil {
		return err
	}
	f.File, err = os.OpenFile(path, os.O_RDWR, 0)
	switch {
	case errors.Is(err, os.ErrNotExist) && f.found:
		return check.FormatError("budget", fmt.Sprintf("there is no journal %s, and %s.least says that one was begun and has %d records: a fresh budget would forget them", path, path, f.noted))
	case errors.Is(err, os.ErrNotExist):
		if _, err = Write(path, []byte(new(Journal).line(first)), 0o600); err == nil {
			f.File, err = os.OpenFile(path, os.O_RDWR, 0)
		}
	}
	if err != nil {
		return fmt.Errorf("budget: the journal: %w", err)
	}
	return nil
}

// Least returns the number of the last record in path.least.
func (f *File) Least() uint64 { return f.noted }

// Begin brings path.least to the last record of the journal, which was read, or creates it for a
// journal without records: nothing is spent before it is there.
func (f *File) Begin(last uint64) (err error) {
	path := f.Name()
	switch {
	case !f.found && last > 0:
		return check.FormatError("budget", fmt.Sprintf("%s.least is gone, which says how many records there must be: make an empty one if this is the newest copy of %s", path, path))
	case !f.found:
		_, err = Write(path+".least", leastText(0), 0o600)
	}
	if err == nil {
		f.least, err = os.OpenFile(path+".least", os.O_RDWR, 0)
	}
	if err != nil {
		return fmt.Errorf("budget: the journal: %w", err)
	}
	return f.note(last)
}

// WriteAt writes one record, which begins with its number.
func (f *File) WriteAt(p []byte, at int64) (int, error) {
	number, _, _ := bytes.Cut(p, []byte(" "))
	last, err := strconv.ParseUint(string(number), 10, 64)
	if err != nil {
		return 0, err
	}
	f.last = last
	return f.File.WriteAt(p, at)
}

// Sync brings the record to the disk, and then its number into the other file: never the other way
// round, or a crash would leave a journal that is refused.
func (f *File) Sync() error {
	if err := f.File.Sync(); err != nil || f.least == nil {
		return err
	}
	return f.note(f.last)
}

// replace puts a shorter journal under the name of this one, whole and on the disk.
func (f *File) replace(data []byte) error {
	path, mode := f.Name(), os.FileMode(0o600)
	if info, err := f.Stat(); err == nil {
		mode = info.Mode()
	}
	named, err := Write(path, data, mode)
	if !named {
		return err
	}
	file, err2 := os.OpenFile(path, os.O_RDWR, 0)
	if err = errors.Join(err, err2); err != nil {
		return errors.Join(ErrReplaced, err)
	}
	_ = f.File.Close() // all that it had is in the other
	f.File = file
	return nil
}

// note writes the number of a record that is on the disk. It does not sync: what a loss of power
// takes is only that an older copy of the journal is noticed.
func (f *File) note(record uint64) error {
	if record <= f.noted {
		return nil
	}
	if _, err := f.least.WriteAt(leastText(record), 0); err != nil {
		return err
	}
	f.noted = record
	return nil
}

// Close closes all files and gives the lock back.
func (f *File) Close() error {
	var err error
	for _, file := range []*os.File{f.File, f.least} {
		if file != nil {
			err = errors.Join(err, file.Close())
		}
	}
	return errors.Join(err, f.lock.Close())
}

// realPath returns the one name that a file has, whatever links lead to it, also where the file is
// not there yet: journal, lock and path.least lie beside each other where the last link points. The
// name holds if the process changes its folder.
func realPath(path string) (string, error) {
	const mostLinks = 255
	for range mostLinks {
		folder, name := filepath.Split(path) // which leaves ".." behind a link as it is
		if folder == "" {
			folder = "."
		}
		folder, err := filepath.EvalSymlinks(folder)
		if err != nil {
			return "", err
		}
		if folder, err = filepath.Abs(folder); err != nil {
			return "", err
		}
		path = filepath.Join(folder, name)
		info, err := os.Lstat(path)
		switch {
		case errors.Is(err, os.ErrNotExist), err == nil && info.Mode()&os.ModeSymlink == 0:
			return path, nil
		case err != nil:
			return "", err
		}
		target, err := os.Readlink(path)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(target) {
			target = folder + string(filepath.Separator) + target
		}
		path = target
	}
	return "", fmt.Errorf("%s: too many links", path)
}

// leastText is what path.least holds, always of the same length.
func leastText(record uint64) []byte {
	text := fmt.Sprintf("at least record %020d ", record)
	return fmt.Appendf(nil, "%s;%08x\n", text, new(Journal).sum(text))
}

// readLeast reads path.least, if it is there.
func readLeast(path string) (record uint64, found bool, err error) {
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return 0, false, nil
	case err != nil:
		return 0, false, fmt.Errorf("budget: the journal: %w", err)
	case len(data) == 0: // somebody vouches for the journal
		return 0, true, nil
	}
	if _, err := fmt.Sscanf(string(data), "at least record %d ", &record); err != nil || !bytes.Equal(data, leastText(record)) {
		return 0, false, check.FormatError("budget", path+" is damaged")
	}
	return record, true, nil
}

// Write writes a file that appears under its name when all of it is on the disk, and reports
// whether it did. The name is there for certain after a loss of power if there was no error.
func Write(path string, data []byte, mode os.FileMode) (named bool, err error) {
	file, err := os.OpenFile(path+".new", os.O_RDWR|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return false, err
	}
	_, err = file.Write(data)
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if named = err == nil; named {
		err = syncFolder(filepath.Dir(path))
	}
	return named, err
}

// syncFolder brings the names of files in a folder to the disk. Where folders cannot be synced, as
// on Windows, the file system sees to that.
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
