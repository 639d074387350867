package private

import (
	"encoding/gob"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/check"
)

type counts struct {
	names map[string]int
	total uint64
}

type secret = State[counts]

// builder is what a Builder looks like.
type builder struct {
	secret
	public int
}

func newBuilder() *builder {
	return &builder{New(counts{map[string]int{"a name that is private": 987654321}, 12345678987654321}), 7}
}

func TestRedacted(t *testing.T) {
	b := newBuilder()
	secrets := []string{"a name that is private", "987654321", "12345678987654321"}
	dptest.Redacted(t, b, secrets...)
	dptest.Redacted(t, *b, secrets...)
	dptest.Redacted(t, b.secret, secrets...)
	require.Equal(t, "private.Builder (private)", (&builder{}).LogValue().String())
}

// Copies share what they hold, and are released together, once.
func TestReleasedOnce(t *testing.T) {
	b := newBuilder()
	copied := *b
	require.False(t, Released(b.secret))
	require.True(t, b.secret == copied.secret)
	Enter(copied.secret).total++
	Leave(copied.secret)
	data := dptest.OK(Take(b.secret, "private: Release: the Builder"))(t)
	require.Equal(t, uint64(12345678987654322), data.total)
	for i, s := range []secret{b.secret, copied.secret, {}} {
		require.True(t, Released(s))
		require.Nil(t, Enter(s))
		_, err := Take(s, "private: Release: the Builder")
		require.ErrorIs(t, err, check.ErrReleased)
		require.EqualError(t, err, "private: Release: the Builder "+[]string{"is already released", "is already released", "is nil or was not made by New"}[i])
	}
}

// What two goroutines do at once, one does here in the same order. The data are gone then, and a
// Release that comes after the panics says why: it must not publish a part of them.
func TestConcurrentUse(t *testing.T) {
	const report = "dpsketch: concurrent use of a Builder"
	dropped := func(s secret) {
		t.Helper()
		require.Nil(t, Enter(s))
		require.True(t, Released(s))
		Use(s, func(*counts, uint64) { t.Error("without data") }, 1)
		_, err := Take(s, "private: Release: the Builder")
		require.ErrorIs(t, err, check.ErrReleased)
		require.EqualError(t, err, "private: Release: the Builder was used by two goroutines at once, so its data are dropped")
	}
	add := func(c *counts, n uint64) { c.total += n }
	for name, second := range map[string]func(s secret){
		"Enter":  func(s secret) { Enter(s) },
		"Use":    func(s secret) { Use(s, add, 1) },
		"Poison": func(s secret) { Poison(s, "was wrong") },
		"Merge":  func(s secret) { _ = Merge(New(counts{}), s, "", "", func(_, _ *counts) error { return nil }) },
	} {
		s := New(counts{})
		require.NotNil(t, Enter(s))
		require.PanicsWithValue(t, report, func() { second(s) }, name)
		require.PanicsWithValue(t, report, func() { Leave(s) }, "the first one is told as well")
		dropped(s)

		s = New(counts{})
		require.PanicsWithValue(t, report, func() {
			Use(s, func(*counts, uint64) {
				defer func() { _ = recover() }() // as a goroutine of its own would
				second(s)
			}, 0)
		}, name)
		dropped(s)
	}

	// Two come in at the same moment, and one has left.
	s := New(counts{})
	require.PanicsWithValue(t, report, func() { Use(s, func(*counts, uint64) { s.at.busy = false }, 0) })
	dropped(s)
	s = New(counts{})
	Enter(s)
	Leave(s)
	require.PanicsWithValue(t, report, func() { Leave(s) })
	dropped(s)

	// Release beside an Add: nobody gets the data.
	s = New(counts{})
	Enter(s)
	_, err := Take(s, "private: Release: the Builder")
	require.EqualError(t, err, "private: Release: the Builder was used by two goroutines at once, so its data are dropped")
	require.PanicsWithValue(t, report, func() { Leave(s) })
	dropped(s)

	// Release between the look of an Add and its entry: the Add is told.
	s = New(counts{})
	Use(s, func(*counts, uint64) { s.at.busy = false; _, err = Take(s, ""); s.at.busy = true }, 0)
	require.NoError(t, err)
	s = New(counts{})
	require.PanicsWithValue(t, report, func() { Use(s, func(*counts, uint64) { s.at.busy = false; _, err = Take(s, "") }, 0) })
	require.NoError(t, err)
}

// Goroutines at one Builder, for real: whoever recovers from the panics gets an error of Release or
// what nobody saw disturbed.
func TestGoroutinesAtOneBuilder(t *testing.T) {
	if dptest.Race {
		t.Skip("the race detector ends the program")
	}
	const goroutines, each = 8, 20000
	for range 20 {
		b := newBuilder()
		var panics atomic.Int32
		var workers sync.WaitGroup
		for range goroutines {
			workers.Go(func() {
				defer func() {
					if recover() != nil {
						panics.Add(1)
					}
				}()
				for range each {
					Use(b.secret, func(c *counts, n uint64) { c.total += n }, 1)
				}
			})
		}
		workers.Wait()
		_, err := Take(b.secret, "private: Release: the Builder")
		require.Equal(t, panics.Load() > 0, errors.Is(err, check.ErrReleased))
	}
}

// A wrong call that cannot return an error is told by Release.
func TestPoison(t *testing.T) {
	b := newBuilder()
	Poison(b.secret, "got values without a range")
	Poison(b.secret, "got something else")
	require.Nil(t, Enter(b.secret))
	_, err := Take(b.secret, "private: Release: the Builder")
	require.ErrorIs(t, err, check.ErrReleased)
	require.EqualError(t, err, "private: Release: the Builder got values without a range")
	Poison(secret{}, "")
	released := newBuilder()
	dptest.OK(Take(released.secret, ""))(t)
	Poison(released.secret, "too late")
	require.EqualError(t, Missing(released.secret, "the Builder"), "the Builder is already released")
}

func TestMerge(t *testing.T) {
	add := func(a, b *counts) error { a.total += b.total; return nil }
	a, b := newBuilder(), newBuilder()
	require.ErrorIs(t, Merge(a.secret, a.secret, "private: Merge", "Builder", add), check.ErrMismatch)
	no := errors.New("no")
	require.ErrorIs(t, Merge(a.secret, b.secret, "private: Merge", "Builder", func(_, _ *counts) error { return no }), no)
	require.EqualError(t, Merge(a.secret, secret{}, "private: Merge", "Builder", add), "private: Merge: the other Builder is nil or was not made by New")
	require.EqualError(t, Merge(secret{}, a.secret, "private: Merge", "Builder", add), "private: Merge: the Builder is nil or was not made by New")
	require.Equal(t, uint64(12345678987654321), Enter(b.secret).total, "refused, and unchanged")
	Leave(b.secret)
	require.NoError(t, Merge(a.secret, b.secret, "private: Merge", "Builder", add))
	require.EqualError(t, Merge(a.secret, b.secret, "private: Merge", "Builder", add), "private: Merge: the other Builder was merged, and gave up its data")
	data := dptest.OK(Take(a.secret, ""))(t)
	require.Equal(t, uint64(2*12345678987654321), data.total)
}

func TestAppendAndRestore(t *testing.T) {
	b := newBuilder()
	write := func(c *counts, dst []byte) []byte { return append(dst, byte(c.total)) }
	no := errors.New("no")
	read := func(c *counts, from []byte) error {
		if len(from) == 0 {
			return no
		}
		c.total = uint64(from[0])
		return nil
	}
	require.ErrorIs(t, Restore(b.secret, nil, "private: Restore: the Builder", read), no)
	require.NoError(t, Restore(b.secret, []byte{7}, "private: Restore: the Builder", read))
	data := dptest.OK(Append(b.secret, []byte("x"), "private: Append: the Builder", write))(t)
	require.Equal(t, []byte("x\a"), data)
	data, err := Append(secret{}, []byte("x"), "private: Append: the Builder", write)
	require.EqualError(t, err, "private: Append: the Builder is nil or was not made by New")
	require.Equal(t, []byte("x"), data)
	require.ErrorIs(t, Restore(secret{}, []byte{1}, "private: Restore: the Builder", read), check.ErrReleased)
}

// A Builder in JSON would be an object that says nothing and is read back as nothing.
func TestNoEncoding(t *testing.T) {
	type record struct{ Builder *builder }
	for _, x := range []any{newBuilder(), *newBuilder(), record{newBuilder()}, map[string]any{"b": newBuilder()}} {
		require.ErrorContains(t, dptest.Err(json.Marshal(x)), "private: a Builder holds private data and has no encoding")
	}
	var r record
	require.ErrorContains(t, json.Unmarshal([]byte(`{"Builder": "x"}`), &r), "private: a Builder has no encoding to be read from")
	require.Error(t, json.Unmarshal([]byte(`{"Builder": {}}`), &r))
	require.Error(t, gob.NewEncoder(io.Discard).Encode(newBuilder()))
}

// Use is Enter and Leave.
func TestUse(t *testing.T) {
	b := newBuilder()
	add := func(c *counts, n uint64) { c.total += n }
	Use(b.secret, add, 1)
	OneOrMany(b, []uint64{2}, func(b *builder, n uint64) { Use(b.secret, add, n) }, nil)
	for _, list := range [][]uint64{{}, {3, 4}} {
		OneOrMany(b, list, nil, func(b *builder, all []uint64) {
			for _, n := range all {
				Use(b.secret, add, n)
			}
		})
	}
	data := dptest.OK(Take(b.secret, ""))(t)
	require.Equal(t, uint64(12345678987654321+10), data.total)
	for _, s := range []secret{b.secret, {}} {
		Use(s, func(*counts, uint64) { t.Error("without data") }, 1)
	}
}
