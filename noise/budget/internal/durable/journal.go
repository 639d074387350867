// Package durable has what survives a crash: a Journal, whose records are on the disk before they
// are acknowledged, its File, and a lock that says who has it. It knows no budgets.
package durable

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"
	"strings"

	"github.com/dpsketch/dpsketch/internal/check"
)

// Storage is what a Journal writes to.
type Storage interface {
	io.ReaderAt
	io.WriterAt
	Truncate(size int64) error
	Sync() error
}

// Journal is text that only ever grows, one record a line. The zero Journal has no storage and no
// records.
//
//	number record ;crc
//
// A file that was compacted begins with record 0 and "n snapshot …", which stands for the records 1
// to n. The crc is CRC-32C, eight hexadecimal digits, over the four bytes of the crc before (0 for
// the first line) and the line up to it: a lost or changed line in the middle is seen. It does not
// stop anyone who can write the file.
type Journal struct {
	Broken error // why nothing can be written: what is on the disk is unknown
	Since  int   // records since the beginning, or the snapshot

	storage Storage
	size    int64  // of all lines
	crc     uint32 // of the last line
	next    uint64 // number of the next record
}

// mostLine bounds the length of a record, apart from an output in it.
const mostLine = 1 << 20

// Create begins a journal with a record. A strict beginning of its line is what a crash has left of
// an earlier attempt: it counts as nothing.
func Create(s Storage, first string) (*Journal, error) {
	j := &Journal{storage: s}
	line := j.line(first)
	found := make([]byte, len(line))
	n, err := s.ReadAt(found, 0)
	if err == nil || errors.Is(err, io.EOF) {
		if err = nil; n >= len(line)-1 || string(found[:n]) != line[:n] { // or all but its newline
			return nil, check.FormatError("budget", "there is something in the storage of a new journal")
		}
		if n > 0 {
			err = s.Truncate(0)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("budget: the journal: %w", err)
	}
	return j, j.write(first)
}

// Open reads a journal. read is given the words of each record, and the number of the last release
// it covers; it reports whether they are a record. An incomplete last line is removed, or gets its
// newline if only that is missing; any other damage is refused. A journal that ends before the
// record atLeast is refused too.
func Open(s Storage, atLeast uint64, read func(number uint64, words []string) bool) (*Journal, error) {
	data, err := io.ReadAll(io.NewSectionReader(s, 0, 1<<40))
	if err != nil {
		return nil, fmt.Errorf("budget: the journal: %w", err)
	}
	j := &Journal{storage: s}
	for text := string(data); text != ""; {
		line, rest, ended := strings.Cut(text, "\n")
		switch {
		case j.read(line, read):
			if !ended {
				_, err = s.WriteAt([]byte(line+"\n"), j.size)
			}
			j.size += int64(len(line)) + 1
		case ended || j.next == 0 || j.damaged(line):
			return nil, check.FormatError("budget", fmt.Sprintf("line %d of the journal is damaged", j.next))
		default: // never acknowledged
			err = s.Truncate(j.size)
		}
		if text = rest; err != nil {
			return nil, fmt.Errorf("budget: the journal: %w", err)
		}
	}
	switch {
	case j.next == 0:
		return nil, check.FormatError("budget", "a journal without a line")
	case j.next <= atLeast:
		return nil, check.FormatError("budget", fmt.Sprintf("the journal ends at record %d, want at least %d", j.next-1, atLeast))
	}
	if err := s.Sync(); err != nil {
		return nil, fmt.Errorf("budget: the journal: %w", err)
	}
	return j, nil
}

// read reads a line, without its end.
func (j *Journal) read(line string, read func(number uint64, words []string) bool) bool {
	end := len(line) - 9
	if end < 0 || line[end] != ';' {
		return false
	}
	crc, words := j.sum(line[:end]), strings.Split(line[:end], " ")
	if line[end+1:] != fmt.Sprintf("%08x", crc) || len(words) < 4 {
		return false
	}
	number, snapshot := j.next, words[1] == "snapshot" && j.next == 1
	if snapshot {
		number, _ = strconv.ParseUint(words[0], 10, 64)
	}
	if words[0] != strconv.FormatUint(number, 10) || words[1] == "snapshot" && (!snapshot || number == 0) || !read(number, words[1:]) {
		return false
	}
	if j.next > 0 && !snapshot {
		j.Since++
	}
	j.crc, j.next = crc, number+1
	return true
}

// damaged reports whether what is left at the end of a journal is not the beginning of a line: a
// whole one, and a byte more that should be its newline. A part of a line has no checksum but by
// chance.
func (j *Journal) damaged(rest string) bool {
	end := len(rest) - 10
	return end >= 0 && rest[end] == ';' && rest[end+1:end+9] == fmt.Sprintf("%08x", j.sum(rest[:end]))
}

// InMemory reports whether the journal has no storage.
func (j *Journal) InMemory() bool { return j.storage == nil }

// InUse reports whether it has one, or may not be written.
func (j *Journal) InUse() bool { return j.storage != nil || j.Broken != nil }

// Last returns the number of the last record.
func (j *Journal) Last() uint64 { return max(j.next, 1) - 1 }

// Add writes and syncs a record, of which output bytes are an output.
func (j *Journal) Add(record string, output int) error {
	if n := len(record) - output; n > mostLine {
		return check.ParamsError("budget", "Guarantee", "of "+strconv.Itoa(n)+" bytes", "one of at most 2²⁰")
	}
	if err := j.write(record); err != nil {
		return err
	}
	j.Since++
	return nil
}

// write appends a line and syncs it. An error breaks the journal, and so does another length than
// it had: another process writes the same journal, and each spends what the other does not know.
func (j *Journal) write(record string) error {
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
		j.Broken = fmt.Errorf("budget: the journal could not be written, open it again: %w", err)
		return j.Broken
	}
	j.size, j.crc, j.next = j.size+int64(len(line)), checksum(line), j.next+1
	return nil
}

// ErrReplaced is of a journal that may be another after a loss of power than the one in use.
var ErrReplaced = errors.New("budget: the journal was compacted, and its folder could not be synced: open it again")

// Compact puts the first record and a snapshot in the place of all, where the storage can do so
// such that after a crash there is one or the other. While that fails the journal stays as it is.
func (j *Journal) Compact(records func() (first, snapshot string)) {
	s, ok := j.storage.(interface{ replace(data []byte) error })
	if !ok {
		return
	}
	j.Since = 0
	first, snapshot := records()
	lines := new(Journal).line(first)
	short := &Journal{next: j.next - 1, crc: checksum(lines)}
	lines += short.line("snapshot " + snapshot)
	switch err := s.replace([]byte(lines)); {
	case errors.Is(err, ErrReplaced):
		j.Broken = err
	case err == nil:
		j.size, j.crc = int64(len(lines)), checksum(lines)
	}
}

// Close closes the storage, if it can be closed.
func (j *Journal) Close() error {
	if closer, ok := j.storage.(io.Closer); ok {
		return closer.Close()
	}
	return nil
}

// line returns the next line with a record.
func (j *Journal) line(record string) string {
	line := strconv.FormatUint(j.next, 10) + " " + record
	return line + fmt.Sprintf(";%08x\n", j.sum(line))
}

// checksum returns that of the last line, which is at its end.
func checksum(lines string) uint32 {
	crc, _ := strconv.ParseUint(lines[len(lines)-9:len(lines)-1], 16, 32)
	return uint32(crc)
}

// sum returns the checksum of a line.
func (j *Journal) sum(line string) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	return crc32.Update(crc32.Checksum(binary.LittleEndian.AppendUint32(nil, j.crc), table), table, []byte(line))
}
