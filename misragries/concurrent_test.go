package misragries

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// 32 goroutines that add to one Builder: one of them panics and says why, or no count is lost.
// Without the report a third of the counts were lost in silence. The same race may also run a slice
// out of its bounds before it is seen, which panics as well.
func TestConcurrentUseIsSeen(t *testing.T) {
	if dptest.Race {
		t.Skip("the race is deliberate")
	}
	const goroutines, each = 32, 20_000
	for how, add := range map[string]func(b *Builder[int], keys []int){
		"Add": func(b *Builder[int], keys []int) {
			for _, key := range keys {
				b.Add(key)
			}
		},
		"AddSlice": func(b *Builder[int], keys []int) {
			for ; len(keys) > 0; keys = keys[10:] {
				b.AddSlice(keys[:10])
			}
		},
	} {
		t.Run(how, func(t *testing.T) {
			b := dptest.OK(New[int](Params{Counters: 8, Epsilon: 1, Delta: 1e-6}))(t)
			keys := make([]int, each)
			for i := range keys {
				keys[i] = i % 8
			}
			var seen, other atomic.Int32
			var workers sync.WaitGroup
			start := make(chan struct{})
			for range goroutines {
				workers.Add(1)
				go func() {
					defer workers.Done()
					defer func() {
						switch r := recover(); {
						case r == nil:
						case strings.HasSuffix(fmt.Sprint(r), "concurrent use of a Builder"):
							seen.Add(1)
						default:
							other.Add(1)
						}
					}()
					<-start
					add(b, keys)
				}()
			}
			close(start)
			workers.Wait()
			if seen.Load()+other.Load() > 0 {
				t.Logf("%d of %d reported concurrent use, %d stumbled (%d processors)", seen.Load(), goroutines, other.Load(), runtime.GOMAXPROCS(0))
				require.Positive(t, seen.Load(), "the report must not be missing")
				return
			}
			total := int64(0)
			for _, c := range positiveOf(b) {
				total += c.Count
			}
			require.EqualValues(t, goroutines*each, total, "counts lost in silence")
		})
	}
}

// What another goroutine merges or restores between the choice of the noise and the release is not
// released with noise for one stream: a merged sketch needs more.
func TestReleaseOfWhatWasCalibrated(t *testing.T) {
	p := Params{Counters: 8, Epsilon: 1, Delta: 1e-6}
	given := dptest.OK(FromMisraGries(p, map[int]int64{1: 500}))(t)
	for _, meanwhile := range []func(b *Builder[int]) error{
		func(b *Builder[int]) error { return b.Merge(dptest.OK(New[int](p))(t)) },
		func(b *Builder[int]) error { return b.RestorePrivateState(dptest.OK(given.AppendPrivateState(nil))(t)) },
	} {
		b := dptest.OK(New[int](p))(t)
		c, of, err := b.calibrated()
		require.NoError(t, err)
		require.NoError(t, meanwhile(b))
		h, err := b.releaseBy(c, of)
		require.Nil(t, h)
		require.ErrorIs(t, err, ErrReleased)
		require.ErrorContains(t, err, "two goroutines")
		require.True(t, b.Released())
	}
}
