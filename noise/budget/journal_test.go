package budget

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise/budget/internal/durable"
)

// disk is a Storage in memory that fails when told to.
type disk struct {
	data        []byte
	syncs       int
	fails       error // of Sync
	tears       int   // WriteAt writes so many bytes and fails
	truncations int
}

func (d *disk) ReadAt(p []byte, at int64) (int, error) {
	if at >= int64(len(d.data)) {
		return 0, io.EOF
	}
	n := copy(p, d.data[at:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (d *disk) WriteAt(p []byte, at int64) (int, error) {
	if d.tears > 0 {
		p = p[:d.tears]
	}
	d.data = append(d.data[:min(int(at), len(d.data))], append(bytes.Clone(p), d.data[min(int(at)+len(p), len(d.data)):]...)...)
	if d.tears > 0 {
		return len(p), errors.New("the disk is full")
	}
	return len(p), nil
}

func (d *disk) Truncate(n int64) error { d.truncations++; d.data = d.data[:n]; return nil }
func (d *disk) Sync() error            { d.syncs++; return d.fails }

// checksum returns that of a text after another checksum.
func checksum(before uint32, text string) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	return crc32.Update(crc32.Checksum(binary.LittleEndian.AppendUint32(nil, before), table), table, []byte(text))
}

// journalLine returns a line that follows those before.
func journalLine(before []byte, number uint64, record string) string {
	crc := uint64(0)
	if n := len(before); n > 0 {
		crc, _ = strconv.ParseUint(string(before[n-9:n-1]), 16, 32)
	}
	line := fmt.Sprintf("%d %s", number, record)
	return fmt.Sprintf("%s;%08x\n", line, checksum(uint32(crc), line))
}

func newJournal(t *testing.T) (*disk, *Ledger) {
	t.Helper()
	d := &disk{}
	l := dptest.OK(CreateJournal(d, dptest.OK(NewLedger(10, 1e-6, User(20, AddRemove)))(t)))(t)
	return d, l
}

// kindsOfGuarantees are what the journals of the tests hold.
func someGuarantee(i int) Guarantee {
	u := User(20, AddRemove)
	switch i % 4 {
	case 0:
		return PureDP(0.1, u)
	case 1:
		return ApproxDP(0.05, 1e-9, u)
	case 2:
		return GDP(0.01*float64(i), u)
	}
	return ZCDP(1e-3, u)
}

func TestJournalKeepsEverything(t *testing.T) {
	d, l := newJournal(t)
	require.Zero(t, l.Records())
	for i := range 19 {
		syncs := d.syncs
		if i%3 == 0 {
			require.NoError(t, l.SpendOnce(fmt.Sprintf("2026-11-%02d", i), someGuarantee(i)))
		} else {
			require.NoError(t, l.Spend(someGuarantee(i)))
		}
		require.Equal(t, syncs+1, d.syncs)
		require.Equal(t, uint64(i+1), l.Records())
	}
	before := len(d.data)
	require.ErrorIs(t, l.Spend(PureDP(10, User(20, AddRemove))), ErrBudget)
	require.ErrorIs(t, l.Spend(PureDP(1, one)), ErrMismatch)
	require.Len(t, d.data, before, "a refusal writes nothing")

	again := dptest.OK(OpenJournal(d, 19))(t)
	require.Equal(t, l.Spent(), again.Spent())
	require.Equal(t, l.String(), again.String())
	require.Equal(t, l.Remaining(), again.Remaining())
	require.Equal(t, uint64(19), again.Records())
	require.ErrorIs(t, again.SpendOnce("2026-11-03", someGuarantee(3)), ErrSpent)
	require.ErrorIs(t, again.SpendOnce("2026-11-03", someGuarantee(2)), ErrMismatch)
	require.NoError(t, again.Spend(someGuarantee(0)))
	third := dptest.OK(OpenJournal(d, 0))(t)
	require.Equal(t, again.Spent(), third.Spent())

	require.ErrorIs(t, dptest.Err(OpenJournal(d, 21)), ErrFormat, "an old copy")
	require.ErrorIs(t, dptest.Err(CreateJournal(d, dptest.OK(NewLedger(10, 1e-6, one))(t))), ErrFormat, "not empty")
	require.ErrorIs(t, dptest.Err(OpenJournal(&disk{}, 0)), ErrFormat)
	require.ErrorIs(t, dptest.Err(CreateJournal(&disk{}, l)), ErrMismatch, "it has a journal")
	used := dptest.OK(NewLedger(10, 1e-6, one))(t)
	require.NoError(t, used.Spend(PureDP(1, one)))
	for _, l := range []*Ledger{used, nil, {}} {
		require.ErrorIs(t, dptest.Err(CreateJournal(&disk{}, l)), ErrMismatch)
	}
	require.True(t, strings.HasPrefix(string(d.data), "0 ledger v1 0x1.4p+03 0x1.0c6f7a0b5ed8dp-20 "), string(d.data[:60]))
}

// Every truncation and every bit flip of a journal of 13 lines opens with what was acknowledged, or
// is refused.
func TestDamagedJournals(t *testing.T) {
	const n = 12 // spends, of which the last is on line n
	d, l := newJournal(t)
	for i := range n {
		require.NoError(t, l.Spend(someGuarantee(i)))
	}
	want, intact := l.Spent(), bytes.Clone(d.data)
	open := func(data []byte, atLeast uint64) (*Ledger, *disk, error) {
		d := &disk{data: bytes.Clone(data)}
		l, err := OpenJournal(d, atLeast)
		return l, d, err
	}
	opened := 0
	for at := range intact {
		again, _, err := open(intact[:at], n)
		if err != nil {
			require.ErrorIs(t, err, ErrFormat)
		} else {
			opened++
			require.Equal(t, want, again.Spent(), "cut off at %d", at)
		}
		// Without the number it opens with a prefix, and takes up from there.
		if again, d, err := open(intact[:at], 0); err == nil {
			require.LessOrEqual(t, again.Records(), uint64(n))
			require.NoError(t, again.Spend(someGuarantee(0)))
			third := dptest.OK(OpenJournal(d, again.Records()))(t)
			require.Equal(t, again.Spent(), third.Spent())
		}
	}
	require.Equal(t, 1, opened, "only the last end of line may be missing")
	for i := range intact {
		for bit := range 8 {
			if i%24 != 3*bit && i > 60 && i < len(intact)-90 && !dptest.Long() {
				continue
			}
			data := bytes.Clone(intact)
			data[i] ^= 1 << bit
			again, _, err := open(data, n)
			if err == nil {
				require.Equal(t, want, again.Spent(), "bit %d of %d", bit, i)
				t.Fatalf("bit %d of byte %d is not seen", bit, i)
			}
			require.ErrorIs(t, err, ErrFormat)
		}
	}
	// A line of another journal, in its place.
	other, second := newJournal(t)
	for i := range n {
		require.NoError(t, second.Spend(someGuarantee(i+i/6)))
	}
	ours, theirs := strings.SplitAfter(string(intact), "\n"), strings.SplitAfter(string(other.data), "\n")
	require.Equal(t, ours[6], theirs[6])
	ours[9] = theirs[9]
	_, _, err := open([]byte(strings.Join(ours, "")), 0)
	require.ErrorIs(t, err, ErrFormat)
	_, _, err = open([]byte(strings.Join(append(ours[:9:9], theirs[9]), "")), 0)
	require.ErrorIs(t, err, ErrFormat)
	// Lines that are lost, doubled or swapped in the middle.
	lines := strings.SplitAfter(string(intact), "\n")
	for i := 1; i < n-1; i++ {
		for _, other := range [][]string{
			append(append([]string{}, lines[:i]...), lines[i+1:]...),
			append(append(append([]string{}, lines[:i+1]...), lines[i]), lines[i+1:]...),
			append(append(append(append([]string{}, lines[:i]...), lines[i+1]), lines[i]), lines[i+2:]...),
		} {
			_, _, err := open([]byte(strings.Join(other, "")), 0)
			require.ErrorIs(t, err, ErrFormat)
		}
	}
}

// A storage that fails: nothing is acknowledged after it, and the journal opens again with no less
// than what was.
func TestFailingStorage(t *testing.T) {
	for tears := range 60 {
		d, l := newJournal(t)
		require.NoError(t, l.Spend(someGuarantee(0)))
		spent := l.Spent()
		if d.tears = tears; tears == 0 {
			d.fails = errors.New("the cable is out")
		}
		require.Error(t, l.Spend(someGuarantee(1)))
		d.tears, d.fails = 0, nil
		require.ErrorContains(t, l.Spend(someGuarantee(2)), "open it again")
		require.False(t, l.Accepts(someGuarantee(2)))
		require.Error(t, l.Err())
		require.Equal(t, spent, l.Spent())
		again := dptest.OK(OpenJournal(d, l.Records()))(t)
		require.GreaterOrEqual(t, again.Spent().Epsilon(), spent.Epsilon())
		require.NoError(t, again.Spend(someGuarantee(1)))
	}
	d, _ := newJournal(t)
	d.fails = errors.New("the cable is out")
	require.ErrorContains(t, dptest.Err(OpenJournal(d, 0)), "cable", "nothing is acknowledged before a sync")
	require.ErrorContains(t, dptest.Err(CreateJournal(&disk{fails: d.fails}, dptest.OK(NewLedger(1, 0, one))(t))), "cable")
}

func TestSpendOnce(t *testing.T) {
	l := dptest.OK(NewLedger(1, 0, one))(t)
	require.NoError(t, l.SpendOnce("a", PureDP(0.75, one)))
	for range 3 {
		err := l.SpendOnce("a", PureDP(0.75, one))
		require.ErrorIs(t, err, ErrSpent)
		require.EqualError(t, err, "budget: a: already spent")
	}
	require.Equal(t, PureDP(0.75, one), l.Spent())
	for _, name := range []string{"", "a b", "a\n", "ä", strings.Repeat("x", 201)} {
		require.ErrorIs(t, l.SpendOnce(name, PureDP(0.1, one)), ErrParams)
	}
	for _, g := range []Guarantee{{}, PureDP(1, one)} {
		require.ErrorIs(t, l.SpendOnce("b", g), ErrBudget)
	}
	require.ErrorIs(t, l.SpendOnce("b", PureDP(0.1, rowed)), ErrMismatch)
}

// spendUntilKilled is the process that killed starts: it spends under names 0, 1, … and writes each
// to a second file once Spend has returned.
func spendUntilKilled(folder string, open func() (*Ledger, error)) {
	fail := func(err error) {
		if err != nil {
			fmt.Println(err)
			os.Exit(3)
		}
	}
	l, err := open()
	fail(err)
	told, err := os.OpenFile(filepath.Join(folder, "told"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	fail(err)
	// The last one may have been spent without being told: it is asked for again.
	for i := max(int(l.Records())-1, 0); ; i++ {
		if err := l.SpendOnce(strconv.Itoa(i), PureDP(0x1p-20, one)); !errors.Is(err, ErrSpent) {
			fail(err)
		}
		_, err = fmt.Fprintf(told, "%d\n", i)
		fail(err)
	}
}

// killed runs the test itself as a process that spends, and kills it, again and again: nothing is
// forgotten that it was told, nothing spent twice, and no file is left that does not open.
func killed(t *testing.T, rounds, each int, prepare func(folder string), open func(folder string) (*Ledger, error)) {
	if folder := os.Getenv("BUDGET_FOLDER_OF_TEST"); folder != "" {
		spendUntilKilled(folder, func() (*Ledger, error) { return open(folder) })
	}
	folder, records := "", uint64(0)
	for round := range rounds {
		if round%each == 0 {
			folder, records = t.TempDir(), 0
			prepare(folder)
		}
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), "BUDGET_FOLDER_OF_TEST="+folder)
		var out bytes.Buffer
		cmd.Stdout = &out
		if err := cmd.Start(); err != nil {
			t.Skip("no processes here: ", err)
		}
		time.Sleep(time.Duration(rand.IntN(80)) * time.Millisecond) // some before it begins
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
		require.Empty(t, out.String())

		told, err := os.ReadFile(filepath.Join(folder, "told"))
		if !errors.Is(err, os.ErrNotExist) {
			require.NoError(t, err)
		}
		names := map[string]bool{}
		for name := range strings.Lines(string(told)) {
			names[name] = true
		}
		l := dptest.OK(open(folder))(t)
		require.GreaterOrEqual(t, int(l.Records()), len(names)-1) // the last line may be cut off
		require.Equal(t, float64(l.Records())*0x1p-20, l.Spent().Epsilon(), "no name was spent twice")
		require.Len(t, l.names, int(l.Records()))
		require.GreaterOrEqual(t, l.Records(), records)
		records = l.Records()
		require.NoError(t, l.Close())
	}
	t.Logf("%d records after the last of %d kills", records, rounds)
}

// Processes are killed while they spend from a journal.
func TestKill(t *testing.T) {
	killed(t, dptest.Full(200, 4), 1000, func(folder string) {
		file := dptest.OK(os.Create(filepath.Join(folder, "journal")))(t)
		require.NoError(t, dptest.OK(CreateJournal(file, dptest.OK(NewLedger(1e6, 0, one))(t)))(t).Close())
	}, func(folder string) (*Ledger, error) {
		file, err := os.OpenFile(filepath.Join(folder, "journal"), os.O_RDWR, 0)
		if err != nil {
			return nil, err
		}
		return OpenJournal(file, 0)
	})
}

func ExampleOpenJournal() {
	folder, err := os.MkdirTemp("", "budget")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	user := User(20, AddRemove)
	create := func() error { // once
		file, err := os.Create(filepath.Join(folder, "journal"))
		if err != nil {
			return err
		}
		ledger, err := NewLedger(10, 1e-6, user)
		if err != nil {
			return err
		}
		if ledger, err = CreateJournal(file, ledger); err != nil {
			return err
		}
		return errors.Join(ledger.Spend(PureDP(0.1, user).Times(180)), file.Close())
	}
	open := func() error { // at each start
		file, err := os.OpenFile(filepath.Join(folder, "journal"), os.O_RDWR, 0)
		if err != nil {
			return err
		}
		ledger, err := OpenJournal(file, 1)
		if err != nil {
			return err
		}
		err = ledger.SpendOnce("2026-11-22", PureDP(0.01, user))
		fmt.Println(err)
		fmt.Println(ledger)
		return file.Close()
	}
	fmt.Println(create(), open())
	// Output:
	// <nil>
	// ε = 6.759 of 10 at δ = 1e-6, 2 releases, for one user (at most 20 keys), added or removed
	// <nil> <nil>
}

// A filter is opened with its rule, and refuses what it refused before; a rule that is changed is
// seen by the checksum, and one that is none refused.
func TestJournalOfAFilter(t *testing.T) {
	for _, r := range []Rule{SumRule(), RhoRule(0), RhoRule(1e-7), MuRule()} {
		d := &disk{}
		f := dptest.OK(CreateJournal(d, dptest.OK(NewLedger(1, 1e-6, one, r))(t)))(t)
		like := PureDP(0.01, one)
		if r.by == byMu {
			like = GDP(0.01, one)
		}
		for range 5 {
			require.NoError(t, f.Spend(like))
		}
		again := dptest.OK(OpenJournal(&disk{data: bytes.Clone(d.data)}, 5))(t)
		require.Equal(t, f.filter, again.filter)
		require.Equal(t, f.String(), again.String())
		require.Equal(t, f.Remaining(), again.Remaining())
		require.Equal(t, spendAll(t, f, like), spendAll(t, again, like))

		require.ErrorIs(t, dptest.Err(CreateJournal(d, dptest.OK(NewLedger(1, 1e-6, one, r))(t))), ErrFormat, "not empty")
		require.ErrorIs(t, dptest.Err(NewLedger(1, 0, one, RhoRule(0))), ErrParams)
		rule, ok := ruleOf(r.word())
		require.True(t, ok)
		require.Equal(t, r, rule)
	}
	for _, word := range []string{"", "rho", "rho0x1p-3x", "rho0.5", "Sums", "none"} {
		_, ok := ruleOf(word)
		require.False(t, ok, word)
	}
	// A checksum that is right, over a rule that allows nothing.
	d := &disk{}
	unit := dptest.OK(one.MarshalBinary())(t)
	dptest.OK(durable.Create(d, fmt.Sprintf("ledger v1 %s %s %x %s ", hexFloat(1), hexFloat(1e-6), unit, RhoRule(1).word())))(t)
	require.ErrorIs(t, dptest.Err(OpenJournal(d, 0)), ErrFormat)
}

// Two processes at one journal: the second that writes is refused, and nothing of it is spent.
func TestTwoProcessesAtOneJournal(t *testing.T) {
	d, a := newJournal(t)
	b := dptest.OK(OpenJournal(d, 0))(t)
	require.NoError(t, a.Spend(someGuarantee(0)))
	before := bytes.Clone(d.data)
	require.ErrorContains(t, b.Spend(someGuarantee(1)), "another process has written to it")
	require.Error(t, b.Err())
	require.Equal(t, before, d.data)
	require.False(t, b.Accepts(someGuarantee(1)))
	require.NoError(t, a.Spend(someGuarantee(2)), "the first one goes on")
	again := dptest.OK(OpenJournal(d, 2))(t)
	require.Equal(t, a.Spent(), again.Spent())
	d.data = d.data[:len(d.data)-3]
	require.ErrorContains(t, a.Spend(someGuarantee(1)), "has cut it off")
}

// What a crash inside CreateJournal leaves is the beginning of the first line: it is created again.
// What may be a journal is not.
func TestCrashInsideCreateJournal(t *testing.T) {
	whole, _ := newJournal(t)
	u := User(20, AddRemove)
	for n := range len(whole.data) + 1 {
		d := &disk{data: bytes.Clone(whole.data[:n])}
		_, open := OpenJournal(&disk{data: bytes.Clone(d.data)}, 0)
		l, err := CreateJournal(d, dptest.OK(NewLedger(10, 1e-6, u))(t))
		if n >= len(whole.data)-1 {
			require.ErrorIs(t, err, ErrFormat, "the whole line")
			require.NoError(t, open)
			continue
		}
		require.NoError(t, err, n)
		require.ErrorIs(t, open, ErrFormat)
		require.NoError(t, l.Spend(someGuarantee(0)))
		dptest.OK(OpenJournal(d, 1))(t)
		if n > 30 {
			require.ErrorIs(t, dptest.Err(CreateJournal(&disk{data: bytes.Clone(whole.data[:n])}, dptest.OK(NewLedger(9, 1e-6, u))(t))), ErrFormat, "the beginning of another journal")
		}
	}
}

// A last line whose newline is another byte was acknowledged: it is damage, and not a torn write.
func TestFlippedLastNewline(t *testing.T) {
	d, l := newJournal(t)
	for i := range 3 {
		require.NoError(t, l.Spend(someGuarantee(i)))
	}
	for bit := range 8 {
		flipped := &disk{data: bytes.Clone(d.data)}
		flipped.data[len(d.data)-1] ^= 1 << bit
		before := bytes.Clone(flipped.data)
		require.ErrorIs(t, dptest.Err(OpenJournal(flipped, 0)), ErrFormat, bit)
		require.Equal(t, before, flipped.data, "and stays")
	}
}
