package misragries

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/misragries/internal/sketch"
)

// viaPrivateState returns a Builder that the private state of b was moved to.
func viaPrivateState(t testing.TB, p Params, b *Builder[int]) *Builder[int] {
	t.Helper()
	data := dptest.OK(b.AppendPrivateState(nil))(t)
	c := dptest.OK(New[int](p))(t)
	require.NoError(t, c.RestorePrivateState(data))
	return c
}

// atTheLimit returns the sketch of neighbours: half of the k counters at 2⁶², the others so much
// below, an element more of each of the first half, and on the second side one of a new key, which
// lowers all k counters by one.
func atTheLimit(t testing.TB, p Params, below int64, restored bool) (sides [2]*Builder[int]) {
	t.Helper()
	for side := range sides {
		counters := map[int]int64{}
		for key := range p.Counters {
			counters[key] = sketch.Limit
			if key >= p.Counters/2 {
				counters[key] -= below
			}
		}
		b := dptest.OK(FromMisraGries(p, counters))(t)
		for key := range p.Counters / 2 {
			b.Add(key)
		}
		if restored {
			b = viaPrivateState(t, p, b)
		}
		if side == 1 {
			b.Add(77)
		}
		sides[side] = b
	}
	return sides
}

func positiveOf(b *Builder[int]) []counter[int] { return peek(b.secret).Sketch.Positive() }

// The exact law of a release with shared noise where counters are at 2⁶², all one lower on one side
// and D one higher: every output vector around is within e^±ε, with D − η and without. With the
// counters cut off before the shared noise, it is not.
func TestSharedNoiseAtTheLimit(t *testing.T) {
	const (
		reach = 5 // of the outputs
		tail  = 40
	)
	p := Params{Counters: 4, Epsilon: 1, Delta: 1e-6}
	mass := func(x int64) float64 { return math.Tanh(0.5) * math.Exp(-math.Abs(float64(x))) }
	for _, below := range []int64{1, 2, 4} {
		sides := atTheLimit(t, p, below, true)
		// law returns the probability of each output of two keys of either kind with η = x,
		// which together make that of all four.
		law := func(side int, x int64) (pair [2][2*reach + 1][2*reach + 1]float64) {
			c := positiveOf(sides[side])
			for kind := range pair {
				for i := range pair[kind] {
					for j := range pair[kind][i] {
						a, b := sketch.Limit-reach+int64(i), sketch.Limit-reach+int64(j)
						pair[kind][i][j] = mass(a-cutSum(c[2*kind].Count, x)) * mass(b-cutSum(c[2*kind+1].Count, x))
					}
				}
			}
			return pair
		}
		within := func(a, b float64) {
			if math.Abs(math.Log(a/b)) > p.Epsilon+1e-9 {
				t.Fatalf("%d below: a ratio of e^%.3f", below, math.Log(a/b))
			}
		}
		const outputs = (2*reach + 1) * (2*reach + 1)
		var sums [2][outputs][outputs]float64
		known := map[int64][2]*[outputs][outputs]float64{} // by D − η
		for side := range sides {
			d := int64(peek(sides[side].secret).Decrements())
			require.EqualValues(t, side, d)
			for x := int64(-tail); x <= tail; x++ {
				pair := law(side, x)
				joint := new([outputs][outputs]float64)
				for i := range outputs {
					first := mass(x) * pair[0][i/(2*reach+1)][i%(2*reach+1)]
					for j := range outputs {
						joint[i][j] = first * pair[1][j/(2*reach+1)][j%(2*reach+1)]
						sums[side][i][j] += joint[i][j]
					}
				}
				both := known[cutSum(d, -x)]
				both[side] = joint
				known[cutSum(d, -x)] = both
			}
		}
		for i := range outputs {
			for j := range outputs {
				within(sums[0][i][j], sums[1][i][j])
			}
		}
		for _, both := range known {
			for i := range outputs {
				for j := range outputs {
					if both[0] != nil && both[1] != nil { // else η is beyond the tail on one side
						within(both[0][i][j], both[1][i][j])
					}
				}
			}
		}
	}
}

// By the exported functions alone: five counters at 2⁶² and five 500 below, one element more of
// each of the first, with and without one of another key. The contrast of both halves, in which the
// shared noise cancels, refuted ε = 1 at any small δ when the counters were cut off before the
// noise. The assertions reject falsely with a probability below 1e-8 each.
func TestReleaseAtTheLimit(t *testing.T) {
	dptest.NotShort(t, "not among the short tests")
	p := Params{Counters: 10, Epsilon: 1, Delta: 1e-6, Method: FreedZeros}
	const n = 6000
	for _, restored := range []bool{false, true} {
		var hits [2]int64
		for range n {
			for side, b := range atTheLimit(t, p, 500, restored) {
				h := dptest.OK(b.Release())(t)
				contrast := int64(0)
				for i, c := range h.counts {
					if i < 5 {
						contrast -= c.Count - sketch.Limit
					} else {
						contrast += c.Count - sketch.Limit + 500
					}
				}
				if contrast >= 0 {
					hits[side]++
				}
			}
		}
		dptest.Alarm(t, 2e-10)
		require.LessOrEqual(t, dptest.EpsilonLowerBound(hits[0], n, hits[1], n, p.Delta, 1-1e-10), p.Epsilon)
		require.LessOrEqual(t, dptest.EpsilonLowerBound(hits[1], n, hits[0], n, p.Delta, 1-1e-10), p.Epsilon)
	}
}

// What no stream leads to, and would not leave room for the elements that may come, is not
// restored.
func TestRestoreRefusesCountersBeyondTheLimit(t *testing.T) {
	p := Params{Counters: 4, Epsilon: 1, Delta: 1e-6}
	b := dptest.OK(FromMisraGries(p, map[int]int64{1: sketch.Limit}))(t)
	data := dptest.OK(b.AppendPrivateState(nil))(t)
	at := bytes.Index(data, binary.LittleEndian.AppendUint64(nil, sketch.Limit))
	require.Positive(t, at)
	decrements := at - 8 - 4 - 4 - 8
	change := func(d, count uint64) []byte {
		data := bytes.Clone(data)
		binary.LittleEndian.PutUint64(data[decrements:], d)
		binary.LittleEndian.PutUint64(data[at:], d+count)
		return data
	}
	require.NoError(t, b.RestorePrivateState(change(0, (sketch.Limit+1<<60))))
	require.Equal(t, []counter[int]{{Key: 1, Count: (sketch.Limit + 1<<60)}}, positiveOf(b))
	require.NoError(t, b.RestorePrivateState(change((sketch.Limit+1<<60), (sketch.Limit+1<<60))))
	require.ErrorIs(t, b.RestorePrivateState(change(0, (sketch.Limit+1<<60)+1)), ErrFormat)
	require.ErrorIs(t, b.RestorePrivateState(change((sketch.Limit+1<<60)+1, 1)), ErrFormat)
	require.ErrorIs(t, b.RestorePrivateState(change(1<<63, 1)), ErrFormat)
}
