package series

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// crashing are the Params of the service that is killed.
var crashing = Params{Epsilon: 1, Delta: 1e-2, Spans: spansOf(1, 2, 6), Discovery: spansOf(2, 4)}

// store is what a service keeps: one atomic record of the last Slice and the state after it, and
// what it has published.
type store string

// write puts a record in the place of the last one: it is there as a whole, or not at all.
func (s store) write(slice, state []byte) error {
	record := append(binary.LittleEndian.AppendUint32(nil, uint32(len(slice))), slice...)
	file, err := os.Create(filepath.Join(string(s), "next"))
	if err != nil {
		return err
	}
	if _, err := file.Write(append(record, state...)); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	return os.Rename(file.Name(), filepath.Join(string(s), "record"))
}

func (s store) read() (slice, state []byte, err error) {
	record, err := os.ReadFile(filepath.Join(string(s), "record"))
	if err != nil {
		return nil, nil, err
	}
	n := binary.LittleEndian.Uint32(record)
	return record[4 : 4+n], record[4+n:], nil
}

// publish appends the Slice to what is public, with its length before it.
func (s store) publish(slice []byte) error {
	file, err := os.OpenFile(filepath.Join(string(s), "public"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if _, err = file.Write(append(binary.LittleEndian.AppendUint32(nil, uint32(len(slice))), slice...)); err != nil {
		return err
	}
	return file.Close()
}

// serve is the service: it takes up the last record, and goes on until it is killed.
func serve(s store) error {
	b, err := New[int](crashing)
	if err != nil {
		return err
	}
	if slice, state, err := s.read(); err == nil {
		if err := s.publish(slice); err != nil { // once more, or for the first time
			return err
		}
		if err := b.RestorePrivateState(state, 0); err != nil {
			return err
		}
	} else if !os.IsNotExist(err) {
		return err
	}
	for {
		for x := range 40 {
			b.Add(x % (1 + x%8))
		}
		r, err := b.Step()
		if err != nil {
			return err
		}
		slice, err := r.MarshalBinary()
		if err != nil {
			return err
		}
		state, err := b.AppendPrivateState(nil)
		if err != nil {
			return err
		}
		if err := s.write(slice, state); err != nil {
			return err
		}
		if err := s.publish(slice); err != nil {
			return err
		}
	}
}

// A service is killed, again and again. What it has published is one series: a Slice for each step,
// in order, at times the same bytes twice, and never two Slices of a step; and an old record is
// refused.
func TestKill(t *testing.T) {
	if folder := os.Getenv("SERIES_STORE_OF_TEST"); folder != "" {
		fmt.Println(serve(store(folder)))
		os.Exit(3)
	}
	s := store(t.TempDir())
	var old []byte
	for round := range max(dptest.Full(100, 2), 2) {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKill$")
		cmd.Env = append(os.Environ(), "SERIES_STORE_OF_TEST="+string(s))
		var out bytes.Buffer
		cmd.Stdout = &out
		if err := cmd.Start(); err != nil {
			t.Skip("no processes here: ", err)
		}
		before, _ := os.Stat(filepath.Join(string(s), "public"))
		for range 1000 { // until it has published some Slices
			time.Sleep(2 * time.Millisecond)
			if now, err := os.Stat(filepath.Join(string(s), "public")); err == nil && (before == nil || now.Size() > before.Size()+1000) {
				break
			}
		}
		time.Sleep(time.Duration(rand.IntN(10_000)) * time.Microsecond)
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
		require.Empty(t, out.String())
		if round == 0 {
			_, state, err := s.read()
			require.NoError(t, err)
			old = state
		}
	}
	public := dptest.OK(os.ReadFile(filepath.Join(string(s), "public")))(t)
	l := dptest.OK(NewTimeline[int](crashing))(t)
	var last []byte
	twice := 0
	for len(public) > 0 {
		n := int(binary.LittleEndian.Uint32(public))
		slice := public[4 : 4+n]
		public = public[4+n:]
		if bytes.Equal(slice, last) {
			twice++
			continue
		}
		var r Slice[int]
		require.NoError(t, r.UnmarshalBinary(slice))
		require.NoError(t, l.Append(&r), "step %d", r.Step())
		last = slice
	}
	t.Logf("%d steps, %d Slices published twice", l.Len(), twice)
	require.Positive(t, l.Len())
	_, state, err := s.read()
	require.NoError(t, err)
	require.NoError(t, dptest.OK(New[int](crashing))(t).RestorePrivateState(state, l.Len()))
	backup := dptest.OK(New[int](crashing))(t)
	require.NoError(t, backup.RestorePrivateState(old, 0))
	if held(backup).steps < l.Len() { // else the machine was too busy for a second record
		require.ErrorIs(t, dptest.OK(New[int](crashing))(t).RestorePrivateState(old, l.Len()), ErrMismatch, "an old backup")
	}
}
