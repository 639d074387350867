package durable

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

func begin(t *testing.T) (*File, *Journal) {
	t.Helper()
	f := dptest.OK(OpenFile(filepath.Join(t.TempDir(), "journal"), Lock, "begin a b "))(t)
	t.Cleanup(func() { _ = f.Close() })
	j := dptest.OK(Open(f, f.Least(), func(uint64, []string) bool { return true }))(t)
	require.NoError(t, f.Begin(j.Last()))
	return f, j
}

// A record whose number cannot be written to path.least is not acknowledged, and nothing follows.
func TestLeastIsWritten(t *testing.T) {
	f, j := begin(t)
	require.NoError(t, j.Add("x y z ", 0))
	require.EqualValues(t, 1, f.Least())
	require.NoError(t, f.least.Close())
	require.Error(t, j.Add("x y z ", 0))
	require.Error(t, j.Broken)
}

// unsynced is a file whose folder cannot be synced.
type unsynced struct{ *File }

func (unsynced) replace([]byte) error { return ErrReplaced }

// full is a file on a disk without room for another.
type full struct{ *File }

func (full) replace([]byte) error { return errors.New("full") }

// Where the name may be that of the old file after a loss of power, nothing more is written; where
// there is no room the journal stays as it is; else it is short, and goes on where it was.
func TestCompact(t *testing.T) {
	f, j := begin(t)
	for range 3 {
		require.NoError(t, j.Add("x y z ", 0))
	}
	short := func() (first, snapshot string) { return "begin a b ", "c " }
	j.storage = full{f}
	j.Compact(short)
	require.NoError(t, j.Broken)
	require.NoError(t, j.Add("x y z ", 0))
	j.storage = f
	j.Compact(short)
	require.NoError(t, j.Broken)
	require.NoError(t, j.Add("x y z ", 0))
	var numbers []uint64
	again := dptest.OK(Open(f, 5, func(number uint64, _ []string) bool { numbers = append(numbers, number); return true }))(t)
	require.Equal(t, []uint64{0, 4, 5}, numbers)
	require.Equal(t, 1, again.Since)
	require.Equal(t, 3, bytes.Count(dptest.OK(os.ReadFile(f.Name()))(t), []byte("\n")))
	j.storage = unsynced{f}
	j.Compact(short)
	require.ErrorIs(t, j.Broken, ErrReplaced)
}
