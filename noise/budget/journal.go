package budget

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"
	"strings"

	"github.com/dpsketch/dpsketch/internal/check"
)

// Storage holds the journal of a [Ledger]; an [os.File] is one. One Ledger at a time may use it,
// and only [OpenFile] takes a lock. If several processes may run, take a lock before OpenJournal
// and hold it until the process ends. Before each record the Ledger checks whether another process
// has written one, and if so stops.
type Storage interface {
	io.ReaderAt
	io.WriterAt
	Truncate(size int64) error
	Sync() error
}

// A journal is text, one record a line, and only ever grows:
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
// left out if none. The crc is CRC-32C, eight
// hexadecimal digits, over the four bytes of the crc before (0 for the first line) and the line up
// to it: a lost or changed line in the middle is seen. It does not stop anyone who can write the
// file.
type journal struct {
	storage Storage
	size    int64  // of all lines
	crc     uint32 // of the last line
	next    uint64 // number of the next record
	since   int    // records since the beginning, or the snapshot
	broken  error  // of a write or a sync: what is on the disk is unknown
}

// mostLine bounds the length of a line other than a snapshot, beside an output.
const mostLine = 1 << 20

// CreateJournal returns the Ledger l with a journal in the storage. Nothing may have been spent
// from l, and the storage must be empty. From now on a record is written and synced before Spend
// returns, so before the release. [OpenJournal] reads the journal, also after a crash. If the
// storage is a new file, the caller must sync its folder.
//
// The error wraps [ErrMismatch] if l has a journal or something was spent from l, or [ErrFormat] if
// the storage is not empty; or it is the storage's own error.
func CreateJournal(s Storage, l *Ledger) (*Ledger, error) {
	if l == nil || l.book == nil {
		return nil, check.MismatchError("budget", "Ledger", "none", "one made by NewLedger")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.journal != nil || l.book.releases() > 0 || l.part != "" {
		return nil, check.MismatchError("budget", "Ledger", "one with a journal or releases", "a new one")
	}
	if err := l.create(s); err != nil {
		return nil, err
	}
	if l.splits = 0; l.quota.left > 0 { // of a Split before
		if err := l.journal.appendQuota(l.quota); err != nil {
			return nil, err
		}
		l.splits = 1
	}
	return l, nil
}

// create begins the journal of a new Ledger. A strict beginning of its first line is what a crash
// has left of an earlier attempt, before anything could be spent: it counts as nothing.
func (l *Ledger) create(s Storage) error {
	j := &journal{storage: s}
	first := l.header()
	line := j.line(first)
	found := make([]byte, len(line))
	n, err := s.ReadAt(found, 0)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return fmt.Errorf("budget: the journal: %w", err)
	case n >= len(line)-1 || string(found[:n]) != line[:n]: // all but the newline is a journal
		return check.FormatError("budget", "there is something in the storage of a new journal")
	case n > 0:
		if err := s.Truncate(0); err != nil {
			return fmt.Errorf("budget: the journal: %w", err)
		}
	}
	if err := j.write(first); err != nil {
		return err
	}
	l.journal = j
	return nil
}

// header returns the first record.
func (l *Ledger) header() string {
	unit, _ := l.unit.MarshalBinary()
	return fmt.Sprintf("ledger v1 %s %s %x %s ", hexFloat(l.epsilon), hexFloat(l.delta), unit, l.rule().word())
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

// OpenJournal returns the Ledger in the storage, with everything that was spent. atLeast is the
// number of a record that is known to have been written, or 0: the caller gets it from
// [Ledger.Records] and keeps it elsewhere. A journal that ends before that record, such as an old
// copy, is refused. With 0, a journal that was cut off at the end of a line is accepted, with less
// spent.
//
// A crash can leave an incomplete last line, for a release that was never acknowledged. The line
// counts if only its newline is missing; otherwise it is removed. Any other damage is refused,
// never repaired, including a complete last line that another byte than a newline follows. The
// storage is synced before OpenJournal returns.
//
// The error wraps [ErrFormat], or is the storage's own error.
func OpenJournal(s Storage, atLeast uint64) (*Ledger, error) {
	data, err := io.ReadAll(io.NewSectionReader(s, 0, 1<<40))
	if err != nil {
		return nil, fmt.Errorf("budget: the journal: %w", err)
	}
	j := &journal{storage: s}
	var l *Ledger
	for text := string(data); text != ""; {
		line, rest, ended := strings.Cut(text, "\n")
		read, err := j.read(l, line)
		switch {
		case err == nil:
			l = read
			if !ended {
				if _, err := s.WriteAt([]byte(line+"\n"), j.size); err != nil {
					return nil, fmt.Errorf("budget: the journal: %w", err)
				}
			}
			j.size += int64(len(line)) + 1
		case ended || l == nil || j.damaged(line):
			return nil, err
		default: // never acknowledged
			if err := s.Truncate(j.size); err != nil {
				return nil, fmt.Errorf("budget: the journal: %w", err)
			}
		}
		text = rest
	}
	switch {
	case l == nil:
		return nil, check.FormatError("budget", "a journal without a line")
	case !l.possible():
		return nil, check.FormatError("budget", "a journal of impossible sums")
	case j.next <= atLeast:
		return nil, check.FormatError("budget", fmt.Sprintf("the journal ends at record %d, want at least %d", j.next-1, atLeast))
	}
	if err := s.Sync(); err != nil {
		return nil, fmt.Errorf("budget: the journal: %w", err)
	}
	l.journal = j
	return l, nil
}

// Records returns the number of the last record in the journal, 0 for a new journal and without
// one. Keep it elsewhere, so that OpenJournal can refuse an old copy.
func (l *Ledger) Records() uint64 {
	b := l.open()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.journal == nil {
		return 0
	}
	return b.journal.next - 1
}

// AtLeast refuses an old copy of a journal, such as a restored backup of its whole folder: it
// returns an error that wraps [ErrFormat] if the last record has a lower number, and then nothing
// can be spent any more, also if the error is ignored. The caller knows the number from
// [Ledger.Records] after an earlier release, and kept it elsewhere, best with that release. A
// Ledger without a journal has no records.
func (l *Ledger) AtLeast(record uint64) error {
	b := l.open()
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.journal == nil && record == 0:
		return nil
	case b.journal == nil: // only to be broken
		b.journal = &journal{next: 1}
	case b.journal.next > record || b.journal.broken != nil:
		return b.journal.broken
	}
	err := check.FormatError("budget", fmt.Sprintf("the journal ends at record %d, want at least %d: is this an old copy?", b.journal.next-1, record))
	b.journal.broken = err
	return err
}

// Err returns why nothing can be spent any more: the storage's error when a record could not be
// written or synced, else nil. It is then unknown whether that record is on the disk, and so was
// spent. Open the journal again, best from a copy that was written and synced under another name.
func (l *Ledger) Err() error {
	b := l.open()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.journal == nil {
		return nil
	}
	return b.journal.broken
}

// read adds a line, without its end, to the Ledger, nil before the first.
func (j *journal) read(l *Ledger, line string) (*Ledger, error) {
	bad := check.FormatError("budget", fmt.Sprintf("line %d of the journal is damaged", j.next))
	at := len(line) - 9
	if at < 0 || line[at] != ';' {
		return nil, bad
	}
	crc, fields := j.sum(line[:at]), strings.Split(line[:at], " ")
	if line[at+1:] != fmt.Sprintf("%08x", crc) || len(fields) < 4 {
		return nil, bad
	}
	number, what := j.next, fields[1]
	if what == "snapshot" && j.next == 1 {
		number, _ = strconv.ParseUint(fields[0], 10, 64)
	}
	ok := fields[0] == strconv.FormatUint(number, 10)
	switch {
	case !ok:
	case l == nil && what == "ledger" && fields[2] == "v1" && len(fields) == 8:
		epsilon, err1 := strconv.ParseFloat(fields[3], 64)
		delta, err2 := strconv.ParseFloat(fields[4], 64)
		data, err3 := hex.DecodeString(fields[5])
		var u Unit
		rule, known := ruleOf(fields[6])
		var err error
		if ok = errors.Join(err1, err2, err3) == nil && u.UnmarshalBinary(data) == nil && known; ok {
			l, err = ledgerBy(epsilon, delta, u, rule)
			ok = err == nil
		}
	case l != nil && what == "snapshot" && j.next == 1:
		header := l.header()
		data, err := hex.DecodeString(fields[2])
		ok = err == nil && l.UnmarshalBinary(data) == nil && l.header() == header && number > 0
		if len(fields) == 5 {
			l.open().splits, err = strconv.ParseUint(fields[3], 10, 63)
			ok = ok && err == nil && l.open().splits > 0
		}
		ok = ok && uint64(l.releases())+l.open().splits == number
	case l != nil && (what == "spend" || what == "part"):
		e := entry{count: 1}
		if fields = fields[2:]; what == "part" {
			e.part, fields = fields[0], append(fields[1:], "") // perhaps too few
		}
		name, named := strings.CutPrefix(fields[0], "=")
		data, err := hex.DecodeString(fields[1])
		var g Guarantee
		e.name = name
		if len(fields) > 2 && fields[2] != "#" {
			output, err2 := base64.RawStdEncoding.Strict().DecodeString(fields[2])
			e.output, err = string(output), errors.Join(err, err2)
			ok = validOutput(e.output)
		}
		ok = ok && named && err == nil && (what == "spend" || e.part != "") && g.UnmarshalBinary(data) == nil && l.restore(e, g)
	case l != nil && what == "split" && len(fields) > 4:
		part, named := strings.CutPrefix(fields[2], "=")
		n, err := strconv.ParseUint(fields[3], 10, 31)
		data, err2 := hex.DecodeString(fields[4])
		q := quota{part: part, left: int(n)}
		ok = named && errors.Join(err, err2) == nil && q.each.UnmarshalBinary(data) == nil && l.restoreQuota(q)
	default:
		ok = false
	}
	if !ok {
		return nil, bad
	}
	if j.crc, j.next = crc, number+1; what != "ledger" && what != "snapshot" {
		j.since++
	}
	return l, nil
}

// append writes and syncs a record.
func (j *journal) append(e entry, g Guarantee) error {
	data, _ := g.MarshalBinary()
	what := "spend"
	if e.part != "" {
		what = "part " + e.part
	}
	output := ""
	if e.output != "" {
		output = " " + base64.RawStdEncoding.EncodeToString([]byte(e.output))
	}
	return j.add(fmt.Sprintf("%s =%s %x%s # %v ", what, e.name, data, output, g), len(output))
}

// appendQuota writes and syncs what was split.
func (j *journal) appendQuota(q quota) error {
	data, _ := q.each.MarshalBinary()
	return j.add(fmt.Sprintf("split =%s %d %x # %v ", q.part, q.left, data, q.each), 0)
}

// add writes and syncs a record, of which output bytes are an output.
func (j *journal) add(record string, output int) error {
	if n := len(record) - output; n > mostLine {
		return check.ParamsError("budget", "Guarantee", "of "+strconv.Itoa(n)+" bytes", "one of at most 2²⁰")
	}
	if err := j.write(record); err != nil {
		return err
	}
	j.since++
	return nil
}

// compacts is a Storage that can put a shorter journal in the place of one, such that after a crash
// there is one or the other.
type compacts interface {
	replace(data []byte) error
}

// mostSince is after how many records a journal is compacted; tests take fewer.
var mostSince = 10_000

// compact puts a snapshot in the place of many records, where the storage can. While that fails the
// journal stays as it is.
func (j *journal) compact(l *Ledger) {
	s, ok := j.storage.(compacts)
	if !ok || j.since < mostSince {
		return
	}
	j.since = 0
	short := &journal{next: j.next - 1}
	first := (&journal{}).line(l.header())
	short.crc = checksum(first)
	record := fmt.Sprintf("snapshot %x ", l.append(nil))
	if l.splits > 0 {
		record += fmt.Sprintf("%d ", l.splits)
	}
	data := first + short.line(record)
	switch err := s.replace([]byte(data)); {
	case errors.Is(err, errReplaced):
		j.broken = err
	case err == nil:
		j.size, j.crc = int64(len(data)), checksum(data)
	}
}

// checksum returns that of the last line, which is at its end.
func checksum(lines string) uint32 {
	crc, _ := strconv.ParseUint(lines[len(lines)-9:len(lines)-1], 16, 32)
	return uint32(crc)
}

// line returns the next line with a record.
func (j *journal) line(record string) string {
	line := strconv.FormatUint(j.next, 10) + " " + record
	return line + fmt.Sprintf(";%08x\n", j.sum(line))
}

// damaged reports whether what is left at the end of a journal is not the beginning of a line: a
// whole one, and a byte more that should be its newline. A part of a line has no checksum but by
// chance.
func (j *journal) damaged(rest string) bool {
	at := len(rest) - 10
	return at >= 0 && rest[at] == ';' && rest[at+1:at+9] == fmt.Sprintf("%08x", j.sum(rest[:at]))
}

// write appends a line and syncs it. An error breaks the journal, and so does another length than
// it had: another process writes the same journal, and each spends what the other does not know.
func (j *journal) write(record string) error {
	line := j.line(record)
	have := min(j.size, 1) // bytes that are read of the last line: its end, and nothing behind it
	n, err := j.storage.ReadAt(make([]byte, have+1), j.size-have)
	switch {
	case n > int(have):
		err = errors.New("another process has written to it")
	case n < int(have) && errors.Is(err, io.EOF):
		err = errors.New("another process has cut it off")
	case errors.Is(err, io.EOF):
		if _, err = j.storage.WriteAt([]byte(line), j.size); err == nil {
			err = j.storage.Sync()
		}
	case err == nil:
		err = io.ErrNoProgress // neither a byte nor the end: no io.ReaderAt
	}
	if err != nil {
		j.broken = fmt.Errorf("budget: the journal could not be written, open it again: %w", err)
		return j.broken
	}
	j.size, j.crc, j.next = j.size+int64(len(line)), checksum(line), j.next+1
	return nil
}

// sum returns the checksum of a line.
func (j *journal) sum(line string) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	return crc32.Update(crc32.Checksum(binary.LittleEndian.AppendUint32(nil, j.crc), table), table, []byte(line))
}

func hexFloat(x float64) string { return strconv.FormatFloat(x, 'x', -1, 64) }
