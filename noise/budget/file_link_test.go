package budget

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

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
