package series

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/dptest"
	"github.com/dpsketch/dpsketch/misragries"
)

// A key of one element is shown by a sketch of one of two discovery spans with probability δ at
// most, whether or not another key fills the sketch: it is in one sketch of each span, and each has
// half of δ. Two sketches with the whole δ exceed it. (The law of one sketch is computed in package
// misragries; which elements a sketch is fed, in TestKnownKeysArePublic.)
func TestSketchesAreAudited(t *testing.T) {
	n := int64(max(dptest.Full(200_000, 0), 5000)) // a control with 9 % to 10 % of hits is more than six deviations above
	for _, c := range []struct{ counters, others int }{{1, 0}, {2, 3}} {
		if c.counters > 1 && !dptest.Long() {
			continue
		}
		p := Params{Epsilon: 1, Delta: 0.05, Spans: spansOf(1, 2), Discovery: spansOf(1, 2), Counters: c.counters}.normal()
		shown := func(whole bool) (hits int64) {
			for range n {
				b := builder(t, p)
				s := held(b)
				if whole {
					s.law.sketch.Delta = p.Delta
					for j := range s.sketches {
						var err error
						s.sketches[j], err = misragries.New[int](s.law.sketch)
						require.NoError(t, err)
					}
				}
				for range c.others {
					b.Add(8)
				}
				b.Add(7)
				hit := false
				for range 2 {
					for x := range step(t, b).Found() {
						hit = hit || x == 7
					}
				}
				if hit {
					hits++
				}
			}
			return hits
		}
		dptest.Alarm(t, 1e-9)
		lower, _ := dptest.ClopperPearson(shown(false), n, 1-1e-9)
		require.LessOrEqual(t, lower, p.Delta)
		if c.counters == 1 {
			lower, _ = dptest.ClopperPearson(shown(true), n, 1-1e-9)
			require.True(t, dptest.Control(t, lower > p.Delta, 1e-9))
		}
	}
}
