package budget

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"
	"strings"

	"github.com/dpsketch/dpsketch/internal/fault"
)

// Storage is where the journal of a [Ledger] lives; an [os.File] is one. One Ledger at a time may
// use it, and only [OpenFile] takes a lock. Where several processes may run, take one before
// OpenJournal and until the process ends. Before each record it is looked whether another process
// has written one: that is noticed once it has happened, and stops the one that is late.
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
//
// rule is "plan" for a Ledger without a rule, and "sums", "mu" or "rho" and the escapes for one
// with. ε, δ and escapes are hexadecimal floats, unit and guarantee the binary encodings in
// hexadecimal, name is "=" and the name given to SpendOnce, or "=" alone. The crc is CRC-32C, eight
// hexadecimal digits, over the four bytes of the crc before (0 for the first line) and the line up
// to it: a lost or changed line in the middle is seen. It does not stop anyone who can write the
// file.
type journal struct {
	storage Storage
	size    int64  // of all lines
	crc     uint32 // of the last line
	next    uint64 // number of the next record
	broken  error  // of a write or a sync: what is on the disk is unknown
}

// mostLine bounds the length of a line.
const mostLine = 1 << 20

// CreateJournal returns the Ledger l, of which nothing has been spent yet, that keeps what is spent
// in the storage from now on, which must be empty: a record is written and synced before Spend
// returns, so before the release. What a crash leaves behind, [OpenJournal] reads. The name of a
// new file is only safe on the disk once its folder is synced, which is up to the caller.
//
// The error wraps [ErrMismatch] if something was spent from l or it has a journal, or [ErrFormat]
// if the storage is not empty, or is what the storage returned.
func CreateJournal(s Storage, l *Ledger) (*Ledger, error) {
	if l == nil || l.book == nil {
		return nil, fault.Mismatch("budget", "Ledger", "none", "one made by NewLedger")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.journal != nil || l.spentSoFar.releases > 0 {
		return nil, fault.Mismatch("budget", "Ledger", "one with a journal or releases", "a new one")
	}
	if err := l.create(s); err != nil {
		return nil, err
	}
	return l, nil
}

// create begins the journal of a new Ledger. A strict beginning of its first line is what a crash
// has left of an earlier attempt, before anything could be spent: it counts as nothing.
func (l *Ledger) create(s Storage) error {
	j := &journal{storage: s}
	unit, _ := l.unit.MarshalBinary()
	first := fmt.Sprintf("ledger v1 %s %s %x %s ", hexFloat(l.epsilon), hexFloat(l.delta), unit, l.rule().word())
	line := j.line(first)
	found := make([]byte, len(line))
	n, err := s.ReadAt(found, 0)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return fmt.Errorf("budget: the journal: %w", err)
	case n >= len(line)-1 || string(found[:n]) != line[:n]: // all but the newline is a journal
		return fault.Format("budget", "there is something in the storage of a new journal")
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

// word returns how a journal names the rule, and ruleOf reads it.
func (r Rule) word() string {
	switch r.by {
	case bySums:
		return "sums"
	case byRho:
		return "rho" + hexFloat(r.escapes)
	case byMu:
		return "mu"
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
		escapes, err := strconv.ParseFloat(strings.TrimPrefix(word, "rho"), 64)
		if err != nil {
			return r, false
		}
		r = RhoRule(escapes)
	}
	return r, r.word() == word
}

// OpenJournal returns the Ledger that is in the storage, with all that was spent. atLeast is the
// number of a record that is known to have been written, or 0: [Ledger.Records] tells it, and the
// caller keeps it elsewhere. A journal that ends before that record, such as an old copy, is
// refused. With 0, a journal that was cut off at the end of a line looks like one with less spent.
//
// A crash can leave a last line without its end, of a release that was never acknowledged. The line
// counts if only its end is missing, and is removed otherwise. Any other damage is refused, never
// repaired: also a last line with its checksum and another byte than a newline behind it. The
// storage is synced before OpenJournal returns.
//
// The error wraps [ErrFormat], or is what the storage returned.
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
		return nil, fault.Format("budget", "a journal without a line")
	case j.next <= atLeast:
		return nil, fault.Format("budget", fmt.Sprintf("the journal ends at record %d, want at least %d", j.next-1, atLeast))
	}
	if err := s.Sync(); err != nil {
		return nil, fmt.Errorf("budget: the journal: %w", err)
	}
	l.journal = j
	return l, nil
}

// Records returns the number of the last record in the journal, 0 for a new one and without a
// journal. Kept elsewhere, it tells OpenJournal that a copy is too old.
func (l *Ledger) Records() uint64 {
	b := l.open()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.journal == nil {
		return 0
	}
	return b.journal.next - 1
}

// Err returns why nothing can be spent any more: the error of the storage when a record could not
// be written or synced, else nil. Whether that record is on the disk, and so was spent, is then
// unknown. Open the journal again, best from a copy that was written and synced under another name.
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
	bad := fault.Format("budget", fmt.Sprintf("line %d of the journal is damaged", j.next))
	at := len(line) - 9
	if at < 0 || len(line) > mostLine || line[at] != ';' {
		return nil, bad
	}
	crc := j.sum(line[:at])
	if line[at+1:] != fmt.Sprintf("%08x", crc) {
		return nil, bad
	}
	fields := strings.Split(line[:at], " ")
	if len(fields) < 4 || fields[0] != strconv.FormatUint(j.next, 10) {
		return nil, bad
	}
	switch {
	case l == nil && fields[1] == "ledger" && fields[2] == "v1" && len(fields) == 8:
		epsilon, err1 := strconv.ParseFloat(fields[3], 64)
		delta, err2 := strconv.ParseFloat(fields[4], 64)
		data, err3 := hex.DecodeString(fields[5])
		var u Unit
		rule, known := ruleOf(fields[6])
		if errors.Join(err1, err2, err3) != nil || u.UnmarshalBinary(data) != nil || !known {
			return nil, bad
		}
		var err error
		if l, err = ledgerBy(epsilon, delta, u, rule); err != nil {
			return nil, bad
		}
	case l != nil && fields[1] == "spend" && strings.HasPrefix(fields[2], "="):
		name := fields[2][1:]
		data, err := hex.DecodeString(fields[3])
		var g Guarantee
		if _, known := l.ids[name]; err != nil || known || name != "" && !validName(name) || g.UnmarshalBinary(data) != nil || !g.promised || g.unit != l.unit {
			return nil, bad
		}
		l.remember(name, g)
	default:
		return nil, bad
	}
	j.crc, j.next = crc, j.next+1
	return l, nil
}

// append writes and syncs a record.
func (j *journal) append(name string, g Guarantee) error {
	data, _ := g.MarshalBinary()
	return j.write(fmt.Sprintf("spend =%s %x # %v ", name, data, g))
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
	if len(line) > mostLine {
		return fault.Params("budget", "Guarantee", "of "+strconv.Itoa(len(line))+" bytes", "one of at most 2²⁰")
	}
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
	crc, _ := strconv.ParseUint(line[len(line)-9:len(line)-1], 16, 32)
	j.size, j.crc, j.next = j.size+int64(len(line)), uint32(crc), j.next+1
	return nil
}

// sum returns the checksum of a line.
func (j *journal) sum(line string) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	return crc32.Update(crc32.Checksum(binary.LittleEndian.AppendUint32(nil, j.crc), table), table, []byte(line))
}

func hexFloat(x float64) string { return strconv.FormatFloat(x, 'x', -1, 64) }
