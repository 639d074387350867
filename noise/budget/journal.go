package budget

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/noise/budget/internal/durable"
)

// Storage holds the journal of a [Ledger]; an [os.File] is one. One Ledger at a time may use it;
// one that finds a record of another stops.
type Storage interface {
	io.ReaderAt
	io.WriterAt
	Truncate(size int64) error
	Sync() error
}

// The records of a journal, whose lines are those of durable.Journal:
//
//	0 ledger v1 ε δ unit rule ;crc
//	1 spend name guarantee # what a person reads ;crc
//	2 spend …
//	3 part part name guarantee # what a person reads ;crc
//	4 spend name guarantee output # what a person reads ;crc
//	5 split part n guarantee # what a person reads ;crc
//
// rule is "plan" for a Ledger without a rule, and "sums", "mu", "rho" and the escapes, or "mixed",
// the share, a comma and the escapes for one with. ε, δ, share and escapes are hexadecimal floats,
// unit and guarantee the binary encodings in hexadecimal, name is "=" and the name given to
// SpendOnce, or "=" alone, and part the name of a part, after split with "=" before it. output is
// what ReleaseOnce drew, in base64 without padding. After split the next n releases of that
// guarantee are accepted, until there is another one. A file that was compacted begins with
//
//	0 ledger v1 …
//	n snapshot ledger splits ;crc
//
// where ledger is the binary encoding of the Ledger after record n, of which splits were of Split,
// left out if none.

// CreateJournal gives the new Ledger l a journal in the empty storage: each record is written and
// synced before Spend returns. Sync the folder of a new file. Errors: [ErrMismatch] or [ErrFormat]
// if l or the storage is not empty, or the storage's own.
func CreateJournal(s Storage, l *Ledger) (*Ledger, error) {
	if l == nil || l.book == nil {
		return nil, check.MismatchError("budget", "Ledger", "none", "one made by NewLedger")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.journal.InUse() || l.book.releases() > 0 || l.part != "" {
		return nil, check.MismatchError("budget", "Ledger", "one with a journal or releases", "a new one")
	}
	j, err := durable.Create(s, l.header())
	if err != nil {
		return nil, err
	}
	l.journal = *j
	if l.splits = 0; l.quota.left > 0 { // of a Split before
		if err := l.appendQuota(l.quota); err != nil {
			return nil, err
		}
		l.splits = 1
	}
	return l, nil
}

// OpenJournal returns the Ledger in the storage. It removes an incomplete last line, of a release
// that was never acknowledged. Errors: [ErrFormat] for other damage and for an old copy, which ends
// before the record atLeast, from [Ledger.Records], or the storage's own.
func OpenJournal(s Storage, atLeast uint64) (*Ledger, error) {
	var l *Ledger
	j, err := durable.Open(s, atLeast, func(number uint64, words []string) (ok bool) {
		if l == nil {
			l, ok = readHeader(words)
			return ok
		}
		return l.read(number, words)
	})
	if err != nil {
		return nil, err
	}
	if !l.possible() {
		return nil, check.FormatError("budget", "a journal of impossible sums")
	}
	l.journal = *j
	return l, nil
}

// OpenFile returns the Ledger of a file, or creates both. Close it at the end. One process at a
// time can open it; the error of another says which has it.
//
// Next to the journal lie path.lock, and path.least with the number of the last record: if the
// journal is gone or ends before that, as a restored backup does, OpenFile refuses. path.least may
// be moved later, to another disk say, and be a link; if it is gone, create an empty one to vouch
// for the journal. After a crash everything that was acknowledged is there; after a loss of power
// path.least may be some records behind.
//
// Deleting all three files begins a fresh budget, and a backup of all is accepted: against both
// pass the newest published [Ledger.Records] to [Ledger.AtLeast].
//
// Errors: as [NewLedger]; [ErrMismatch] for another budget, unit or rule, [ErrFormat] for a damaged
// or older journal, or the file system's own.
func OpenFile(path string, epsilon, delta float64, u Unit, rules ...Rule) (*Ledger, error) {
	return openFile(path, durable.Lock, epsilon, delta, u, rules)
}

// OpenFileContext is OpenFile for processes that take turns: it waits until the context ends, and
// then the error wraps its cause. A process that closes the file comes after one that waits, which
// has path.lock.next. Locks of network file systems may not hold: see examples/budget/fleet.
func OpenFileContext(ctx context.Context, path string, epsilon, delta float64, u Unit, rules ...Rule) (*Ledger, error) {
	wait := func(path string) (io.Closer, error) { return durable.Wait(ctx, path) }
	return openFile(path, wait, epsilon, delta, u, rules)
}

// openFile is OpenFile with a function that takes the lock.
func openFile(path string, take func(path string) (io.Closer, error), epsilon, delta float64, u Unit, rules []Rule) (*Ledger, error) {
	asked, err := NewLedger(epsilon, delta, u, rules...)
	if err != nil {
		return nil, err
	}
	file, err := durable.OpenFile(path, take, asked.header())
	if err != nil {
		return nil, err
	}
	l, err := OpenJournal(file, file.Least())
	if err == nil {
		if found, want := l.budget(), asked.budget(); found != want {
			err = check.MismatchError("budget", "budget of "+path, found, want)
		}
	}
	if err == nil {
		err = file.Begin(l.Records())
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return l, nil
}

// budget says what a ledger is for, with all digits.
func (l *Ledger) budget() string {
	return fmt.Sprintf("ε = %v at δ = %v for %v, rule %s", l.epsilon, l.delta, l.unit, l.rule().word())
}

// Records returns the number of the journal's last record, 0 without one.
func (l *Ledger) Records() uint64 {
	b := l.lock()
	defer b.mu.Unlock()
	return b.journal.Last()
}

// AtLeast refuses a journal that ends before record, such as a restored backup: it returns
// [ErrFormat], and nothing can be spent any more, even if that is ignored.
func (l *Ledger) AtLeast(record uint64) error {
	b := l.lock()
	defer b.mu.Unlock()
	if last := b.journal.Last(); last < record && b.journal.Broken == nil {
		b.journal.Broken = check.FormatError("budget", fmt.Sprintf("the journal ends at record %d, want at least %d: is this an old copy?", last, record))
	}
	return b.journal.Broken
}

// Err returns why nothing can be spent any more, such as a record that was not synced, else nil.
// Open the journal again: that record may be there.
func (l *Ledger) Err() error {
	b := l.lock()
	defer b.mu.Unlock()
	return b.journal.Broken
}

var errClosed = errors.New("budget: the ledger is closed")

// Close ends a Ledger with a journal, and closes the storage if it can be closed.
func (l *Ledger) Close() error {
	b := l.lock()
	defer b.mu.Unlock()
	if b.journal.InMemory() || errors.Is(b.journal.Broken, errClosed) {
		return nil
	}
	b.journal.Broken = errClosed
	return b.journal.Close()
}

// header returns the first record.
func (l *Ledger) header() string {
	unit, _ := l.unit.MarshalBinary()
	return fmt.Sprintf("ledger v1 %s %s %x %s ", hexFloat(l.epsilon), hexFloat(l.delta), unit, l.rule().word())
}

// readHeader returns a Ledger with nothing spent, and false for what is no first record.
func readHeader(words []string) (*Ledger, bool) {
	if words[0] != "ledger" || words[1] != "v1" || len(words) != 7 {
		return nil, false
	}
	epsilon, err1 := strconv.ParseFloat(words[2], 64)
	delta, err2 := strconv.ParseFloat(words[3], 64)
	data, err3 := hex.DecodeString(words[4])
	var u Unit
	rule, known := ruleOf(words[5])
	if errors.Join(err1, err2, err3) != nil || u.UnmarshalBinary(data) != nil || !known {
		return nil, false
	}
	l, err := ledgerBy(epsilon, delta, u, rule)
	return l, err == nil
}

// word returns how a journal names the rule, and ruleOf reads it.
func (r Rule) word() string {
	switch r.by {
	case bySums:
		return "sums"
	case byRho:
		return "rho" + hexFloat(r.escapes)
	case byMu:
		return "mu"
	case byBoth:
		return "mixed" + hexFloat(r.share) + "," + hexFloat(r.escapes)
	}
	return "plan"
}

func ruleOf(word string) (r Rule, ok bool) {
	switch word {
	case "plan":
	case "sums":
		r = SumRule()
	case "mu":
		r = MuRule()
	default:
		share, rest, both := strings.Cut(strings.TrimPrefix(word, "mixed"), ",")
		if r = (Rule{by: byRho}); both {
			r.by = byBoth
			r.share, _ = strconv.ParseFloat(share, 64)
		} else {
			rest = strings.TrimPrefix(word, "rho")
		}
		r.escapes, _ = strconv.ParseFloat(rest, 64)
	}
	return r, r.word() == word
}

// append writes and syncs what was spent.
func (b *book) append(e entry, g Guarantee) error {
	if b.journal.InMemory() {
		return b.journal.Broken
	}
	data, _ := g.MarshalBinary()
	what := "spend"
	if e.part != "" {
		what = "part " + e.part
	}
	output := ""
	if e.output != "" {
		output = " " + base64.RawStdEncoding.EncodeToString([]byte(e.output))
	}
	return b.journal.Add(fmt.Sprintf("%s =%s %x%s # %v ", what, e.name, data, output, g), len(output))
}

// appendQuota writes and syncs what was split.
func (b *book) appendQuota(q quota) error {
	if b.journal.InMemory() {
		return b.journal.Broken
	}
	data, _ := q.each.MarshalBinary()
	return b.journal.Add(fmt.Sprintf("split =%s %d %x # %v ", q.part, q.left, data, q.each), 0)
}

// read remembers a record after the first, and reports whether it is one.
func (l *Ledger) read(number uint64, words []string) bool {
	what, words := words[0], words[1:]
	switch {
	case what == "snapshot":
		header := l.header()
		data, err := hex.DecodeString(words[0])
		if err != nil || l.UnmarshalBinary(data) != nil || l.header() != header {
			return false
		}
		if len(words) == 3 {
			if l.splits, err = strconv.ParseUint(words[1], 10, 63); err != nil || l.splits == 0 {
				return false
			}
		}
		return uint64(l.book.releases())+l.splits == number
	case what == "spend" || what == "part":
		e := entry{count: 1}
		if what == "part" {
			if e.part, words = words[0], append(words[1:], ""); e.part == "" { // perhaps too few
				return false
			}
		}
		name, named := strings.CutPrefix(words[0], "=")
		data, err := hex.DecodeString(words[1])
		e.name = name
		if len(words) > 2 && words[2] != "#" {
			output, err2 := base64.RawStdEncoding.Strict().DecodeString(words[2])
			e.output, err = string(output), errors.Join(err, err2)
			named = named && validOutput(e.output)
		}
		var g Guarantee
		return named && err == nil && g.UnmarshalBinary(data) == nil && l.restore(e, g)
	case what == "split" && len(words) > 2:
		part, named := strings.CutPrefix(words[0], "=")
		n, err := strconv.ParseUint(words[1], 10, 31)
		data, err2 := hex.DecodeString(words[2])
		q := quota{part: part, left: int(n)}
		return named && errors.Join(err, err2) == nil && q.each.UnmarshalBinary(data) == nil && l.restoreQuota(q)
	}
	return false
}

// mostSince is after how many records a journal is compacted; tests take fewer.
var mostSince = 10_000

// compact puts a snapshot in the place of many records, where the storage can.
func (l *Ledger) compact() {
	b := l.open()
	if b.journal.Since < mostSince {
		return
	}
	b.journal.Compact(func() (first, snapshot string) {
		snapshot = fmt.Sprintf("%x ", l.append(nil))
		if b.splits > 0 {
			snapshot += fmt.Sprintf("%d ", b.splits)
		}
		return l.header(), snapshot
	})
}

func hexFloat(x float64) string { return strconv.FormatFloat(x, 'x', -1, 64) }
