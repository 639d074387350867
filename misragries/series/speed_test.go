package series

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// Thirty thousand steps of a thousand known keys, with -deep a million: memory stays flat, of
// the Builder and of a Timeline that forgets, and so do the guarantee and the error. The times are
// logged.
func TestManySteps(t *testing.T) {
	dptest.NeedsLong(t)
	steps := 30_000
	if dptest.Deep() {
		steps = 1_000_000
	}
	p := plain
	b, l := dptest.OK(New[int](p))(t), dptest.OK(NewTimeline[int](p))(t)
	promised := b.Guarantee().String()
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	var before uint64
	var adding, stepping time.Duration
	added := 0
	for now := range steps {
		each := 1
		if now < 24 {
			each = 100
		}
		began := time.Now()
		for range each {
			for key := range 1000 {
				b.Add(key)
			}
		}
		adding += time.Since(began)
		added += 1000 * each
		began = time.Now()
		r := dptest.OK(b.Step())(t)
		stepping += time.Since(began)
		require.NoError(t, l.Append(r))
		if l.Forget(now - 1000); now == 5000 {
			before = heap()
		}
	}
	after := heap()
	require.Len(t, held(b).known, 1000)
	require.Less(t, float64(after), 1.2*float64(before)+1e6)
	require.Equal(t, promised, b.Guarantee().String())
	w := dptest.OK(l.Window(steps-720, steps))(t)
	require.InDelta(t, 720, w.Estimate(7), 12*dptest.OK(p.Plan())(t).StdErr(720))
	t.Logf("%d steps: %.0f ns an element, %.3f ms a step, %.1f MB after 5000 steps and %.1f MB at the end, %v", steps,
		float64(adding.Nanoseconds())/float64(added), stepping.Seconds()*1000/float64(steps), float64(before)/1e6, float64(after)/1e6, b.Guarantee())
}
