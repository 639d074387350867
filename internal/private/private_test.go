package private

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/fault"
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
	require.True(t, Same(b.secret, copied.secret))
	Enter(copied.secret).total++
	Leave(copied.secret)
	data, err := Take(b.secret, "private: Release: the Builder")
	require.NoError(t, err)
	require.Equal(t, uint64(12345678987654322), data.total)
	for _, s := range []secret{b.secret, copied.secret, {}} {
		require.True(t, Released(s))
		require.Nil(t, Enter(s))
		_, err := Take(s, "private: Release: the Builder")
		require.ErrorIs(t, err, fault.ErrReleased)
		require.EqualError(t, err, "private: Release: the Builder is already released")
	}
	require.False(t, Same(secret{}, secret{}))
	require.False(t, Same(b.secret, newBuilder().secret))
}

// What two goroutines do at once, one does here in the same order.
func TestConcurrentUse(t *testing.T) {
	const report = "dpsketch: concurrent use of a Builder"
	s := New(counts{})
	require.NotNil(t, Enter(s))
	require.PanicsWithValue(t, report, func() { Enter(s) })
	require.PanicsWithValue(t, report, func() { _, _ = Take(s, "") })
	Leave(s)
	require.PanicsWithValue(t, report, func() { Leave(s) }, "two entered, and one has left")
	Enter(s)
	taken := s.at.data
	s.at.data = nil // by another
	require.PanicsWithValue(t, report, func() { Leave(s) })

	s = New(counts{})
	add := func(c *counts, n uint64) { c.total += n }
	require.PanicsWithValue(t, report, func() { Use(s, func(*counts, uint64) { Use(s, add, 1) }, 0) })
	s = New(counts{})
	require.PanicsWithValue(t, report, func() {
		Use(s, func(*counts, uint64) { s.at.busy = false }, 0)
	}, "two entered, and one has left")
	require.PanicsWithValue(t, report, func() { Use(s, func(*counts, uint64) { s.at.data = nil }, 0) })
	s.at.data = taken
	require.PanicsWithValue(t, report, func() { Use(s, func(*counts, uint64) { s.at.data = new(counts) }, 0) })
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
	data, err := Take(b.secret, "")
	require.NoError(t, err)
	require.Equal(t, uint64(12345678987654321+10), data.total)
	for _, s := range []secret{b.secret, {}} {
		Use(s, func(*counts, uint64) { t.Error("without data") }, 1)
	}
}

// 32 goroutines that use one State: some report it, or no count is lost.
func TestConcurrentUseIsSeen(t *testing.T) {
	if dptest.Race {
		t.Skip("the race is deliberate")
	}
	const goroutines, each = 32, 20_000
	for range dptest.Full(20, 3) {
		s := New(counts{})
		var seen atomic.Int32
		var workers sync.WaitGroup
		start := make(chan struct{})
		for range goroutines {
			workers.Go(func() {
				defer func() {
					switch r := recover(); r {
					case nil:
					case concurrent:
						seen.Add(1)
					default:
						t.Error(r)
					}
				}()
				<-start
				for range each {
					Use(s, func(c *counts, n uint64) { c.total += n }, 1)
				}
			})
		}
		close(start)
		workers.Wait()
		if seen.Load() == 0 {
			require.EqualValues(t, goroutines*each, s.at.data.total, "counts lost in silence")
		}
	}
}

func BenchmarkEnter(b *testing.B) {
	s := New(counts{})
	for b.Loop() {
		Enter(s).total++
		Leave(s)
	}
}

// What is shared has its own locks: Share is no use that others see.
func TestShare(t *testing.T) {
	s := New(counts{})
	Share(s).total = 3
	require.Equal(t, uint64(3), Share(s).total)
	require.Equal(t, uint64(3), Enter(s).total)
	Leave(s)
	require.Nil(t, Share(secret{}))
}
