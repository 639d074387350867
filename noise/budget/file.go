package budget

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/noise/budget/internal/durable"
)

// OpenFile returns the Ledger whose journal is in a file, with everything that was spent, or
// creates both. For rules see [NewLedger]. Close the Ledger at the end.
//
// Only one process at a time can open the file; another one gets an error that says which process
// has it, or waits with [OpenFileContext]. Two small files stand beside the journal: path.lock, and
// path.least with the number of the last record. If the journal is gone or ends before that record,
// as a restored backup does, OpenFile refuses and makes no fresh budget. If path.least is gone, as
// for a journal of [CreateJournal], create an empty one to vouch for the journal. A symbolic link
// stands for its target, which need not be there yet; all files lie beside the target. After a
// crash at any moment, the next OpenFile finds everything that was acknowledged. After a loss of
// power path.least may be some records behind: then a backup that lacks only these records is
// accepted.
//
// To delete journal and path.least is to start again with a fresh budget, and a backup of the whole
// folder is accepted with less spent than was: nothing beside them knows better. Let each release
// carry [Ledger.Records], and pass the newest number that was published to [Ledger.AtLeast] after
// OpenFile.
//
// The error wraps [ErrParams] as in [NewLedger], [ErrMismatch] if the file has another budget, unit
// or rule, or [ErrFormat] for a damaged or older journal; or it is an error of the file system.
func OpenFile(path string, epsilon, delta float64, u Unit, rules ...Rule) (*Ledger, error) {
	return openFile(path, durable.Lock, epsilon, delta, u, rules)
}

// OpenFileContext is OpenFile for several processes that share a budget: it waits while another one
// has the file, until the context ends, and then the error wraps its cause. Processes that open,
// spend and Close take turns, also where one wants it again at once. Hold the Ledger for as long as
// it takes to spend, not while you compute. For several machines give each a part that is spent in
// advance, as the program examples/budget/fleet does: locks of network file systems may not hold.
func OpenFileContext(ctx context.Context, path string, epsilon, delta float64, u Unit, rules ...Rule) (*Ledger, error) {
	wait := func(path string) (io.Closer, error) { return durable.Wait(ctx, path) }
	return openFile(path, wait, epsilon, delta, u, rules)
}

// openFile is OpenFile with a way to take the lock.
func openFile(path string, take func(path string) (io.Closer, error), epsilon, delta float64, u Unit, rules []Rule) (*Ledger, error) {
	asked, err := NewLedger(epsilon, delta, u, rules...)
	if err != nil {
		return nil, err
	}
	if path, err = realPath(path); err != nil {
		return nil, fmt.Errorf("budget: the journal: %w", err)
	}
	lock, err := take(path + ".lock")
	if err != nil {
		return nil, fmt.Errorf("budget: the journal: %w", err)
	}
	l, err := openLocked(path, asked, lock)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return l, nil
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

// openLocked opens or creates the journal at path for the budget that is asked for.
func openLocked(path string, asked *Ledger, lock io.Closer) (l *Ledger, err error) {
	s := &fileStorage{lock: lock}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	least, noted, err := readLeast(path + ".least")
	if err != nil {
		return nil, err
	}
	s.File, err = os.OpenFile(path, os.O_RDWR, 0)
	switch {
	case errors.Is(err, os.ErrNotExist) && noted:
		return nil, check.FormatError("budget", fmt.Sprintf("there is no journal %s, and %s.least says that one was begun and has %d records: a fresh budget would forget them", path, path, least))
	case errors.Is(err, os.ErrNotExist):
		if err := s.create(path, asked); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, fmt.Errorf("budget: the journal: %w", err)
	}
	s.noted = least
	if l, err = OpenJournal(s, least); err != nil {
		return nil, err
	}
	switch {
	case !noted && l.Records() > 0: // nothing is spent before it is there
		return nil, check.FormatError("budget", fmt.Sprintf("%s.least is gone, which says how many records there must be: make an empty one if this is the newest copy of %s", path, path))
	case l.epsilon != asked.epsilon:
		return nil, check.MismatchError("budget", "epsilon", l.epsilon, asked.epsilon)
	case l.delta != asked.delta:
		return nil, check.MismatchError("budget", "delta", l.delta, asked.delta)
	case l.unit != asked.unit:
		return nil, check.MismatchError("budget", "Unit", l.unit, asked.unit)
	case l.rule() != asked.rule():
		return nil, check.MismatchError("budget", "Rule", l.rule().word(), asked.rule().word())
	}
	if !noted {
		_, err = durable.Write(path+".least", leastText(0), 0o600)
	}
	if err == nil {
		s.least, err = os.OpenFile(path+".least", os.O_RDWR, 0)
	}
	if err != nil {
		return nil, fmt.Errorf("budget: the journal: %w", err)
	}
	return l, s.note(l.Records())
}

// fileStorage is the file of a journal, and the number of its last record in another file.
type fileStorage struct {
	*os.File
	least *os.File
	lock  io.Closer
	last  uint64 // record that was written
	noted uint64 // record in least
}

// create makes a journal with nothing spent. It appears under its name when it is whole.
func (s *fileStorage) create(path string, asked *Ledger) error {
	var text buffer
	if err := asked.create(&text); err != nil {
		return err
	}
	_, err := durable.Write(path, text.data, 0o600)
	if err == nil {
		s.File, err = os.OpenFile(path, os.O_RDWR, 0)
	}
	if err != nil {
		return fmt.Errorf("budget: the journal: %w", err)
	}
	return nil
}

// WriteAt writes one record, which begins with its number.
func (s *fileStorage) WriteAt(p []byte, at int64) (int, error) {
	number, _, _ := bytes.Cut(p, []byte(" "))
	last, err := strconv.ParseUint(string(number), 10, 64)
	if err != nil {
		return 0, err
	}
	s.last = last
	return s.File.WriteAt(p, at)
}

// Sync brings the record to the disk, and then its number into the other file: never the other way
// round, or a crash would leave a journal that is refused.
func (s *fileStorage) Sync() error {
	if err := s.File.Sync(); err != nil || s.least == nil {
		return err
	}
	return s.note(s.last)
}

// errReplaced is of a journal that may be another after a loss of power than the one in use.
var errReplaced = errors.New("budget: the journal was compacted, and its folder could not be synced: open it again")

// replace puts a shorter journal under the name of this one, whole and on the disk.
func (s *fileStorage) replace(data []byte) error {
	path, mode := s.Name(), os.FileMode(0o600)
	if info, err := s.Stat(); err == nil {
		mode = info.Mode()
	}
	named, err := durable.Write(path, data, mode)
	if !named {
		return err
	}
	file, err2 := os.OpenFile(path, os.O_RDWR, 0)
	if err = errors.Join(err, err2); err != nil {
		return errors.Join(errReplaced, err)
	}
	_ = s.File.Close() // all that it had is in the other
	s.File = file
	return nil
}

// note writes the number of a record that is on the disk. It does not sync: what a loss of power
// takes is only that an older copy of the journal is noticed.
func (s *fileStorage) note(record uint64) error {
	if record <= s.noted {
		return nil
	}
	if _, err := s.least.WriteAt(leastText(record), 0); err != nil {
		return err
	}
	s.noted = record
	return nil
}

// Close closes all files and gives the lock back.
func (s *fileStorage) Close() error { return errors.Join(s.close(), s.lock.Close()) }

// close closes the files that are open.
func (s *fileStorage) close() error {
	var err error
	for _, file := range []*os.File{s.File, s.least} {
		if file != nil {
			err = errors.Join(err, file.Close())
		}
	}
	return err
}

// leastText is what path.least holds, always of the same length.
func leastText(record uint64) []byte {
	text := fmt.Sprintf("at least record %020d ", record)
	return fmt.Appendf(nil, "%s;%08x\n", text, new(journal).sum(text))
}

// readLeast reads path.least, if it is there.
func readLeast(path string) (record uint64, found bool, err error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("budget: the journal: %w", err)
	}
	if len(data) == 0 { // somebody vouches for the journal
		return 0, true, nil
	}
	if _, err := fmt.Sscanf(string(data), "at least record %d ", &record); err != nil || !bytes.Equal(data, leastText(record)) {
		return 0, false, check.FormatError("budget", path+" is damaged")
	}
	return record, true, nil
}

// buffer is a Storage in memory for one record.
type buffer struct{ data []byte }

func (b *buffer) ReadAt([]byte, int64) (int, error) { return 0, io.EOF }
func (b *buffer) Truncate(int64) error              { return nil }
func (b *buffer) Sync() error                       { return nil }
func (b *buffer) WriteAt(p []byte, _ int64) (int, error) {
	b.data = append(b.data, p...)
	return len(p), nil
}

var errClosed = errors.New("budget: the ledger is closed")

// Close ends a Ledger with a journal: nothing can be spent from it any more, and its storage is
// closed if it has a Close method, as files have. For a Ledger in memory it does nothing.
func (l *Ledger) Close() error {
	b := l.open()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.journal == nil || errors.Is(b.journal.broken, errClosed) {
		return nil
	}
	b.journal.broken = errClosed
	if closer, ok := b.journal.storage.(io.Closer); ok {
		return closer.Close()
	}
	return nil
}
