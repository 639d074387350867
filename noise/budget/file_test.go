package budget

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise/budget/internal/durable"
)

func reopened(path string) (*Ledger, error) { return OpenFile(path, 10, 1e-6, User(20, AddRemove)) }

// newFile returns a folder with a journal of n records, closed, and what was spent.
func newFile(t *testing.T, n int) (path string, spent Guarantee) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "journal")
	l := dptest.OK(reopened(path))(t)
	for i := range n {
		require.NoError(t, l.Spend(someGuarantee(i)))
	}
	require.NoError(t, l.Close())
	return path, l.Spent()
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, data, 0o600))
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	return dptest.OK(os.ReadFile(path))(t)
}

func TestOpenFile(t *testing.T) {
	path, spent := newFile(t, 5)
	l := dptest.OK(reopened(path))(t)
	require.Equal(t, spent, l.Spent())
	require.Equal(t, uint64(5), l.Records())

	// One at a time, by whichever name, and the other one is told by whom it is used.
	link := filepath.Join(t.TempDir(), "link")
	names := []string{path}
	if os.Symlink(path, link) == nil {
		names = append(names, link)
	}
	for _, name := range names {
		require.ErrorContains(t, dptest.Err(reopened(name)), "in use by "+durable.Holder())
	}

	// What another process writes without a lock is noticed.
	require.NoError(t, l.Spend(someGuarantee(0)))
	other := dptest.OK(os.OpenFile(path, os.O_RDWR, 0))(t)
	second := dptest.OK(OpenJournal(other, 6))(t)
	require.NoError(t, second.Spend(someGuarantee(1)))
	require.NoError(t, second.Close())
	require.ErrorContains(t, l.Spend(someGuarantee(2)), "open it again")
	require.NoError(t, l.Close())
	require.NoError(t, l.Close())
	require.ErrorContains(t, l.Spend(someGuarantee(2)), "closed")
	require.ErrorContains(t, second.Spend(someGuarantee(2)), "closed")
	require.False(t, l.Accepts(someGuarantee(2)))
	require.NoError(t, dptest.OK(NewLedger(1, 0, one))(t).Close())

	l = dptest.OK(reopened(path))(t)
	require.Equal(t, uint64(7), l.Records())
	require.NoError(t, l.Close())

	u := User(20, AddRemove)
	for _, refused := range []struct {
		epsilon, delta float64
		u              Unit
		rules          []Rule
		want           error
	}{
		{9, 1e-6, u, nil, ErrMismatch}, {10, 1e-7, u, nil, ErrMismatch}, {10, 1e-6, User(21, AddRemove), nil, ErrMismatch},
		{10, 1e-6, u, []Rule{MuRule()}, ErrMismatch}, {-1, 1e-6, u, nil, ErrParams}, {10, 1e-6, Unit{}, nil, ErrParams},
		{10, 1e-6, u, []Rule{{}}, ErrParams}, {10, 1e-6, u, []Rule{MuRule(), MuRule()}, ErrParams}, {10, 0, u, []Rule{MuRule()}, ErrParams},
	} {
		require.ErrorIs(t, dptest.Err(OpenFile(path, refused.epsilon, refused.delta, refused.u, refused.rules...)), refused.want)
	}
	path = filepath.Join(t.TempDir(), "filter")
	for i := range 2 {
		l := dptest.OK(OpenFile(path, 10, 1e-6, u, RhoRule(1e-7)))(t)
		require.Equal(t, RhoRule(1e-7), l.rule())
		require.Equal(t, uint64(i), l.Records())
		require.NoError(t, l.Spend(PureDP(0.1, u)))
		require.NoError(t, l.Close())
	}
	require.ErrorIs(t, dptest.Err(reopened(filepath.Join(t.TempDir(), "no", "folder"))), os.ErrNotExist)
}

// A journal that is gone, an older copy of it, and one whose number is gone are refused: a fresh
// budget would forget what was spent. After a crash while it was made it is made again.
func TestNoFreshBudget(t *testing.T) {
	path, _ := newFile(t, 3)
	old := read(t, path)
	l := dptest.OK(reopened(path))(t)
	require.NoError(t, l.Spend(someGuarantee(3)))
	require.NoError(t, l.Close())
	now := read(t, path)
	lines := bytes.SplitAfter(now, []byte("\n"))
	for name, data := range map[string][]byte{"old": old, "without the last record": bytes.Join(lines[:4], nil), "empty": {}, "begun": lines[0]} {
		write(t, path, data)
		require.ErrorIs(t, dptest.Err(reopened(path)), ErrFormat, name)
	}
	require.NoError(t, os.Remove(path))
	require.ErrorContains(t, dptest.Err(reopened(path)), "has 4 records")
	require.ErrorIs(t, dptest.Err(os.Stat(path)), os.ErrNotExist)

	// It is deleted while it is in use: what is spent goes nowhere, and is not forgotten.
	write(t, path, now)
	l = dptest.OK(reopened(path))(t)
	require.NoError(t, os.Rename(path, path+".away"))
	require.NoError(t, l.Spend(someGuarantee(0)))
	require.NoError(t, l.Close())
	require.ErrorContains(t, dptest.Err(reopened(path)), "has 5 records")
	write(t, path, now)
	require.ErrorIs(t, dptest.Err(reopened(path)), ErrFormat)
	require.NoError(t, os.Rename(path+".away", path))
	least := read(t, path+".least")

	require.NoError(t, os.Remove(path+".least"))
	require.ErrorContains(t, dptest.Err(reopened(path)), "is gone")
	for i := range least {
		damaged := bytes.Clone(least)
		damaged[i] ^= 1 << (i % 8)
		for _, data := range [][]byte{damaged, least[:max(i, 1)], append(bytes.Clone(least), least[i])} {
			write(t, path+".least", data)
			require.ErrorIs(t, dptest.Err(reopened(path)), ErrFormat)
		}
	}
	for _, data := range [][]byte{least, {}} { // an empty one is made by somebody who knows
		write(t, path+".least", data)
		l = dptest.OK(reopened(path))(t)
		require.NoError(t, l.Close())
		require.Equal(t, least, read(t, path+".least"))
	}

	// Every file that a crash can leave while a journal is made.
	first := lines[0]
	for n := range len(first) + 1 {
		if n%20 != 0 && !dptest.Long() {
			continue
		}
		for _, files := range []map[string][]byte{{".new": first[:n]}, {"": first, ".least.new": least[:n%len(least)]}, {"": first, ".least": leastText(0)}} {
			path := filepath.Join(t.TempDir(), "journal")
			for name, data := range files {
				write(t, path+name, data)
			}
			l := dptest.OK(reopened(path))(t)
			require.NoError(t, l.Spend(someGuarantee(0)))
			require.NoError(t, l.Close())
			require.Equal(t, leastText(1), read(t, path+".least"))
		}
	}
}

// shareFile is a process that opens the file, spends and closes it, many times.
func shareFile(path string) {
	_ = os.WriteFile(fmt.Sprint(path, ".ready", os.Getpid()), nil, 0o600)
	for ready := 0; ready < 2; time.Sleep(time.Millisecond) { // both begin at once
		all, _ := filepath.Glob(path + ".ready*")
		ready = len(all)
	}
	for i := range 50 {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		l, err := OpenFileContext(ctx, path, 60*0x1p-10, 0, one)
		if err == nil {
			err = errors.Join(l.SpendOnce(fmt.Sprint(os.Getpid(), "/", i), PureDP(0x1p-10, one)), l.Close())
		}
		if err != nil && !errors.Is(err, ErrBudget) {
			fmt.Println(err)
			os.Exit(1)
		}
		cancel()
	}
	os.Exit(0)
}

// Two processes that want a file 50 times each, without a pause, spend its budget of 60 together,
// no more, and take turns: the records of one seldom follow each other.
func TestTwoProcessesShareAFile(t *testing.T) {
	if path := os.Getenv("BUDGET_SHARED_BY_TEST"); path != "" {
		shareFile(path)
	}
	path := filepath.Join(t.TempDir(), "journal")
	outs, cmds := [2]bytes.Buffer{}, [2]*exec.Cmd{}
	for i := range cmds {
		cmds[i] = exec.Command(os.Args[0], "-test.run=^TestTwoProcessesShareAFile$")
		cmds[i].Env = append(os.Environ(), "BUDGET_SHARED_BY_TEST="+path)
		cmds[i].Stdout = &outs[i]
		if err := cmds[i].Start(); err != nil {
			t.Skip("no processes here: ", err)
		}
	}
	for i := range cmds {
		require.NoError(t, cmds[i].Wait(), outs[i].String())
	}
	l := dptest.OK(OpenFile(path, 60*0x1p-10, 0, one))(t)
	require.EqualValues(t, 60, l.Records())
	last, turns := "", 0
	for r := range l.All() {
		process, _, _ := strings.Cut(r.Name, "/")
		if process != last {
			last, turns = process, turns+1
		}
	}
	t.Logf("%d turns", turns)
	require.Greater(t, turns, 10, "one process starved the other")

	// Who waits is told who has it, and why the wait ended.
	ctx, cancel := context.WithTimeoutCause(context.Background(), 10*time.Millisecond, errors.New("no time left"))
	defer cancel()
	err := dptest.Err(OpenFileContext(ctx, path, 60*0x1p-10, 0, one))
	require.ErrorContains(t, err, "no time left, as it is in use by "+durable.Holder())
	require.NoError(t, l.Close())
	require.NoError(t, dptest.OK(OpenFileContext(context.Background(), path, 60*0x1p-10, 0, one))(t).Close())
}

// Processes are killed while they make a file and while they spend, and the file is compacted all
// the time.
func TestKilledWithFile(t *testing.T) {
	if runtime.GOOS == "windows" || runtime.GOOS == "js" || runtime.GOOS == "wasip1" {
		t.Skip("a process that is killed leaves its lock there")
	}
	defer func(most int) { mostSince = most }(mostSince)
	mostSince = 7
	killed(t, dptest.Full(60, 4), 4, func(string) {}, func(folder string) (*Ledger, error) {
		return OpenFile(filepath.Join(folder, "journal"), 1e6, 0, one)
	})
}

// A journal of many records is made shorter, and stays what it was: for who opens it, after each
// crash on the way, and where there is no room for another.
func TestCompaction(t *testing.T) {
	defer func(n int) { mostSince = n }(mostSince)
	mostSince = 10
	path, _ := newFile(t, 0)
	l := dptest.OK(reopened(path))(t)
	memory := dptest.OK(NewLedger(10, 1e-6, User(20, AddRemove)))(t)
	require.NoError(t, os.Chmod(path, 0o640))
	var before, after []byte
	spend := func(i int) {
		t.Helper()
		of := []*Ledger{l, l.PartOfUsers("a")}
		in := []*Ledger{memory, memory.PartOfUsers("a")}
		var err error
		if i%3 == 0 {
			err = of[i%2].SpendOnce(fmt.Sprint("name-", i), someGuarantee(i))
			_ = in[i%2].SpendOnce(fmt.Sprint("name-", i), someGuarantee(i))
		} else {
			err = of[i%2].Spend(someGuarantee(i))
			_ = in[i%2].Spend(someGuarantee(i))
		}
		require.NoError(t, err)
	}
	for i := range 35 {
		if i == 29 {
			before = read(t, path)
		}
		spend(i)
		if i == 29 {
			after = read(t, path)
		}
		require.EqualValues(t, i+1, l.Records())
	}
	require.Less(t, bytes.Count(after, []byte("\n")), 3)
	require.Equal(t, 7, bytes.Count(read(t, path), []byte("\n")), "the header, the snapshot and five records")
	info := dptest.OK(os.Stat(path))(t)
	require.EqualValues(t, 0o640, info.Mode().Perm())
	require.NoError(t, l.Close())
	l = dptest.OK(reopened(path))(t)
	require.True(t, equalLedgers(memory, l))
	require.ErrorIs(t, l.SpendOnce("name-6", someGuarantee(6)), ErrSpent)

	// No room for another file, or for all of it: the journal stays, and goes on.
	for _, full := range []bool{false, true} {
		if full && os.Symlink("/dev/full", path+".new") != nil || !full && os.Mkdir(path+".new", 0o700) != nil {
			continue
		}
		for range 12 {
			require.NoError(t, l.Spend(PureDP(0x1p-10, l.Unit())))
		}
		require.NoError(t, os.Remove(path+".new"))
	}
	records := l.Records()
	require.NoError(t, l.Close())
	l = dptest.OK(reopened(path))(t)
	require.Equal(t, records, l.Records())
	require.NoError(t, l.Close())

	// Each crash inside: the old file with a part of the new one beside it, or the new one; and
	// with the number of before or after.
	for n := range len(after) + 1 {
		if n%40 != 0 && n != len(after) && !dptest.Long() {
			continue
		}
		folder := filepath.Join(t.TempDir(), "journal")
		write(t, folder, append(bytes.Clone(before), lineOf(t, before, 29)...))
		write(t, folder+".new", after[:n])
		write(t, folder+".least", leastText(29+uint64(n%2)))
		if n == len(after) {
			require.NoError(t, os.Rename(folder+".new", folder))
		}
		l := dptest.OK(reopened(folder))(t)
		require.EqualValues(t, 30, l.Records())
		require.NoError(t, l.Spend(someGuarantee(0)))
		require.NoError(t, l.Close())
	}
	// Every cut and a flip of every byte of the short one is refused.
	for n := range after {
		if n%17 != 0 && n < len(after)-200 && !dptest.Long() {
			continue
		}
		damaged := bytes.Clone(after)
		damaged[n] ^= 1 << (n % 8)
		for _, data := range [][]byte{damaged, after[:n]} {
			_, err := OpenJournal(&disk{data: bytes.Clone(data)}, 30)
			if n == len(after)-1 && len(data) == n {
				require.NoError(t, err, "only its end of line is missing")
				continue
			}
			require.ErrorIs(t, err, ErrFormat, "%d", n)
		}
	}
	// A snapshot elsewhere, or of another number of records.
	lines := bytes.SplitAfter(after, []byte("\n"))
	for _, records := range []uint64{29, 31, 0} {
		record := bytes.SplitN(lines[1], []byte(" "), 2)[1]
		line := journalLine(lines[0], records, string(record[:bytes.IndexByte(record, ';')]))
		require.ErrorIs(t, dptest.Err(OpenJournal(&disk{data: append(bytes.Clone(lines[0]), line...)}, 0)), ErrFormat)
	}
	d, other := newJournal(t)
	require.NoError(t, other.Spend(someGuarantee(0)))
	d.data = append(d.data, journalLine(d.data, 1, fmt.Sprintf("snapshot %x ", other.append(nil)))...)
	require.ErrorIs(t, dptest.Err(OpenJournal(d, 0)), ErrFormat, "after a record")
}

// leastText is what path.least has.
func leastText(record uint64) []byte {
	text := fmt.Sprintf("at least record %020d ", record)
	return fmt.Appendf(nil, "%s;%08x\n", text, checksum(0, text))
}

// lineOf returns the line of record i that follows a journal.
func lineOf(t *testing.T, before []byte, i int) string {
	t.Helper()
	data := dptest.OK(someGuarantee(i).MarshalBinary())(t)
	return journalLine(before, uint64(i)+1, fmt.Sprintf("part a =%s %x # %v ", "", data, someGuarantee(i)))
}

// Two services share a budget: each holds the file for as long as it takes to spend.
func ExampleOpenFileContext() {
	folder, err := os.MkdirTemp("", "budget")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	user := User(20, AddRemove)
	spend := func(cost Guarantee) error {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		ledger, err := OpenFileContext(ctx, filepath.Join(folder, "budget"), 1, 1e-6, user)
		if err != nil {
			return err
		}
		return errors.Join(ledger.Spend(cost), ledger.Close())
	}
	done := make(chan error)
	for range 2 {
		go func() { done <- spend(PureDP(0.4, user)) }()
	}
	fmt.Println(<-done, <-done, errors.Is(spend(PureDP(0.4, user)), ErrBudget))
	// Output: <nil> <nil> true
}

func ExampleOpenFile() {
	folder, err := os.MkdirTemp("", "budget")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	user := User(20, AddRemove)
	for range 2 { // at each start of a service
		ledger, err := OpenFile(filepath.Join(folder, "budget"), 10, 1e-6, user)
		if err != nil {
			panic(err)
		}
		err = ledger.SpendOnce("2026-11-22", PureDP(0.1, user))
		fmt.Println(errors.Is(err, ErrSpent), ledger)
		if err := ledger.Close(); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// false ε = 0.1 of 10 at δ = 1e-6, 1 release, for one user (at most 20 keys), added or removed
	// true ε = 0.1 of 10 at δ = 1e-6, 1 release, for one user (at most 20 keys), added or removed
}

// symlink makes a link, or skips the test where the system has none.
func symlink(t *testing.T, target, link string) {
	t.Helper()
	if err := os.Symlink(target, link); err != nil {
		t.Skip(err)
	}
}

// names returns what is in a folder.
func names(t *testing.T, folder string) (list []string) {
	t.Helper()
	for _, entry := range dptest.OK(os.ReadDir(folder))(t) {
		list = append(list, entry.Name())
	}
	return list
}

// A link whose target is not there yet, as in a container whose volume is empty: the journal begins
// in the volume, and the next container, whose link is new, finds it there. Whatever the link looks
// like, there is one budget.
func TestOpenFileThroughADanglingLink(t *testing.T) {
	for name, links := range map[string]func(image, volume string) (path string){
		"absolute": func(image, volume string) string {
			symlink(t, filepath.Join(volume, "journal"), filepath.Join(image, "journal"))
			return filepath.Join(image, "journal")
		},
		"relative": func(image, volume string) string {
			symlink(t, "../volume/journal", filepath.Join(image, "journal"))
			return filepath.Join(image, "journal")
		},
		"a chain": func(image, volume string) string {
			symlink(t, "second", filepath.Join(image, "first"))
			symlink(t, "folder/../third", filepath.Join(image, "second"))
			require.NoError(t, os.Mkdir(filepath.Join(image, "elsewhere"), 0o700))
			require.NoError(t, os.Mkdir(filepath.Join(image, "elsewhere", "deep"), 0o700))
			// So folder/.. is elsewhere.
			symlink(t, "elsewhere/deep", filepath.Join(image, "folder"))
			symlink(t, filepath.Join(volume, "journal"), filepath.Join(image, "elsewhere", "third"))
			return filepath.Join(image, "first")
		},
		"a folder": func(image, volume string) string {
			symlink(t, volume, filepath.Join(image, "data"))
			return filepath.Join(image, "data", "journal")
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			volume := filepath.Join(root, "volume")
			require.NoError(t, os.Mkdir(volume, 0o700))
			open := func() (*Ledger, error) {
				image := filepath.Join(root, "image")
				require.NoError(t, os.RemoveAll(image))
				require.NoError(t, os.Mkdir(image, 0o700))
				path := links(image, volume)
				before := names(t, image)
				l, err := OpenFile(path, 1, 0, one)
				require.Equal(t, before, names(t, image), "nothing is made beside the link, nor in its place")
				return l, err
			}
			l := dptest.OK(open())(t)
			require.ErrorContains(t, dptest.Err(OpenFile(filepath.Join(volume, "journal"), 1, 0, one)), "in use by")
			require.NoError(t, l.Spend(PureDP(1, one)))
			require.NoError(t, l.Close())
			for range 3 {
				l := dptest.OK(open())(t)
				require.ErrorIs(t, l.Spend(PureDP(1, one)), ErrBudget)
				require.NoError(t, l.Close())
			}
			require.Equal(t, []string{"journal", "journal.least", "journal.lock"}, names(t, volume))
			// Without the journal its number refuses by either name.
			require.NoError(t, os.Remove(filepath.Join(volume, "journal")))
			require.ErrorIs(t, dptest.Err(open()), ErrFormat)
			require.ErrorIs(t, dptest.Err(OpenFile(filepath.Join(volume, "journal"), 1, 0, one)), ErrFormat)
		})
	}
}

// With path.least moved to another disk, and a link in its place, the number outlives the folder of
// the journal, wherever its link is made again. Without it a folder whose three files are deleted
// has a fresh budget, which the number that was published refuses.
func TestDeletedFolder(t *testing.T) {
	for _, moved := range []bool{true, false} {
		folder, disk := filepath.Join(t.TempDir(), "folder"), filepath.Join(t.TempDir(), "least")
		path := filepath.Join(folder, "journal")
		open := func() (*Ledger, error) { return OpenFile(path, 1, 0, one) }
		require.NoError(t, os.Mkdir(folder, 0o700))
		l := dptest.OK(open())(t)
		require.NoError(t, l.Spend(PureDP(0.25, one)))
		require.NoError(t, l.Close())
		if moved {
			require.NoError(t, os.Rename(path+".least", disk))
			symlink(t, disk, path+".least")
		}
		l = dptest.OK(open())(t)
		require.NoError(t, l.Spend(PureDP(0.25, one)))
		published := l.Records()
		require.NoError(t, l.Close())

		require.NoError(t, os.RemoveAll(folder))
		require.NoError(t, os.Mkdir(folder, 0o700))
		if moved {
			symlink(t, disk, path+".least")
			require.ErrorContains(t, dptest.Err(open()), "has 2 records")
			continue
		}
		l = dptest.OK(open())(t)
		require.True(t, l.Accepts(PureDP(1, one)), "a fresh budget")
		require.ErrorIs(t, l.AtLeast(published), ErrFormat)
		require.ErrorIs(t, l.Spend(PureDP(0.25, one)), ErrFormat)
		require.NoError(t, l.Close())
	}
}

// A link that leads nowhere is refused: into itself, or to a folder that is not there.
func TestOpenFileRefusesLinksToNowhere(t *testing.T) {
	folder := t.TempDir()
	symlink(t, "b", filepath.Join(folder, "a"))
	symlink(t, "a", filepath.Join(folder, "b"))
	symlink(t, "missing/journal", filepath.Join(folder, "c"))
	before := names(t, folder)
	for _, name := range []string{"a", "b", "c"} {
		require.Error(t, dptest.Err(OpenFile(filepath.Join(folder, name), 1, 0, one)), name)
	}
	require.Equal(t, before, names(t, folder))
}

// A backup of the whole folder looks like the newest state. A caller who knows the number of a
// later record refuses it, and nothing is spent even if the error is ignored.
func TestAtLeast(t *testing.T) {
	path, _ := newFile(t, 5)
	l := dptest.OK(reopened(path))(t)
	require.NoError(t, l.AtLeast(0))
	require.NoError(t, l.AtLeast(5))
	require.NoError(t, l.Spend(someGuarantee(1)))
	require.NoError(t, l.AtLeast(6))
	require.NoError(t, l.Close())

	l = dptest.OK(reopened(path))(t)
	require.ErrorIs(t, l.AtLeast(7), ErrFormat)
	require.ErrorIs(t, l.AtLeast(7), ErrFormat)
	require.ErrorIs(t, l.Spend(someGuarantee(1)), ErrFormat)
	require.ErrorIs(t, l.Err(), ErrFormat)
	require.False(t, l.Accepts(someGuarantee(1)))
	require.NoError(t, l.Close())

	l = dptest.OK(reopened(path))(t)
	require.NoError(t, l.Spend(someGuarantee(1)), "the journal is as it was")
	require.NoError(t, l.Close())
	require.Error(t, l.AtLeast(1), "closed")

	memory := dptest.OK(NewLedger(1, 0, one))(t)
	require.NoError(t, memory.AtLeast(0))
	require.NoError(t, memory.Spend(PureDP(0.1, one)))
	require.ErrorIs(t, memory.AtLeast(1), ErrFormat)
	require.ErrorIs(t, memory.Spend(PureDP(0.1, one)), ErrFormat)
	require.NoError(t, memory.Close())
	require.ErrorIs(t, new(Ledger).AtLeast(1), ErrFormat)
}
