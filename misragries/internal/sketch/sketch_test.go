package sketch

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// agree feeds the stream to the sketch and to Algorithm 1 and compares the states, at every step or
// at the end.
func agree[K hashing.Key](t *testing.T, k int, stream []K, everyStep bool) {
	t.Helper()
	s, r := New[K](k), newReference[K](k)
	for i, key := range stream {
		s.Add(key)
		r.Add(key)
		if everyStep || i == len(stream)-1 {
			require.Equal(t, r.sorted(), s.Counters(), "k = %d, after %d of %v", k, i+1, stream)
			require.Equal(t, uint64(r.decrements), s.decrements)
		}
	}
}

// The fast sketch holds what Algorithm 1 holds, zero keys included: all streams over 4 keys up to
// length 8.
func TestSketchIsAlgorithm1OnAllShortStreams(t *testing.T) {
	length := 8
	if !dptest.Long() {
		length = 6
	}
	stream := make([]int32, length)
	for k := 1; k <= 3; k++ {
		var extend func(n int)
		extend = func(n int) {
			if n == length {
				agree(t, k, stream, true)
				return
			}
			for key := range int32(4) {
				stream[n] = key - 2
				extend(n + 1)
			}
		}
		if k == 1 || dptest.Long() {
			extend(0)
		}
	}
}

// Lemma 8 on random neighbours with many counters: what the six states have in common.
func TestNeighbouringSketchesDifferAsLemma8Says(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 2000 {
		k, n := 1+rng.IntN(32), 1+rng.IntN(300)
		stream := make([]int, n)
		for i := range stream {
			stream[i] = rng.IntN(2 * k)
		}
		skip := rng.IntN(n)
		a, b := New[int](k), New[int](k)
		for i, key := range stream {
			a.Add(key)
			if i != skip {
				b.Add(key)
			}
		}
		ca, cb := map[int]int64{}, map[int]int64{}
		for _, c := range a.Counters() {
			ca[c.Key] = c.Count
		}
		for _, c := range b.Counters() {
			cb[c.Key] = c.Count
		}
		onlyA, onlyB, up, down := 0, 0, 0, 0
		for key, c := range ca {
			other, common := cb[key]
			switch {
			case !common:
				onlyA++
				require.LessOrEqual(t, c, int64(1))
			case c == other+1:
				up++
			case c == other-1:
				down++
			default:
				require.Equal(t, other, c)
			}
		}
		for key, c := range cb {
			if _, common := ca[key]; !common {
				onlyB++
				require.LessOrEqual(t, c, int64(1))
			}
		}
		require.LessOrEqual(t, max(onlyA, onlyB), 2)
		if a.decrements == b.decrements {
			require.LessOrEqual(t, up, 1)
			require.Zero(t, down)
		} else {
			require.Equal(t, b.decrements+1, a.decrements)
			require.Zero(t, up)
		}
	}
}

func FuzzSketch(f *testing.F) {
	f.Add(uint8(3), []byte("abracadabra"))
	f.Add(uint8(1), []byte{})
	f.Fuzz(func(t *testing.T, k uint8, data []byte) {
		stream := make([]uint32, len(data))
		for i, x := range data {
			stream[i] = uint32(x % 32)
		}
		agree(t, 1+int(k%16), stream, false)
	})
}

// swift is Algorithm 1 with the zero keys in a queue, sorted at each decrement, instead of a
// search. A key of the queue that has been counted again since is passed over.
type swift struct {
	k, decrements int
	counts        map[uint64]int64
	queue         []uint64
}

func (r *swift) Add(key uint64) {
	if _, stored := r.counts[key]; stored {
		r.counts[key]++
		return
	}
	if len(r.counts) == r.k { // no dummies
		for len(r.queue) > 0 && r.counts[r.queue[0]] > 0 {
			r.queue = r.queue[1:]
		}
		if len(r.queue) == 0 {
			r.decrements++
			for other := range r.counts {
				if r.counts[other]--; r.counts[other] == 0 {
					r.queue = append(r.queue, other)
				}
			}
			slices.Sort(r.queue)
			return
		}
		delete(r.counts, r.queue[0])
		r.queue = r.queue[1:]
	}
	r.counts[key] = 1
}

// Many counters: the index grows from narrow to wide slots, on either side of the limit and at it.
// AddSlice does the same as Add.
func TestSketchIsAlgorithm1WithManyCounters(t *testing.T) {

	rng := rand.New(rand.NewPCG(9, 10))
	sizes := []int{1023, 1024, 1025, 1<<16 - 1, 1 << 16, 90_000}
	if !dptest.Long() {
		sizes = []int{1023, 1024, 1025, 1 << 16}
	}
	for _, k := range sizes {
		stream := make([]uint64, 6*k)
		for i := range stream {
			stream[i] = rng.Uint64N(uint64(k)) * rng.Uint64N(3) * 0x9e3779b97f4a7c15
		}
		for i := range 2 * k { // a part with few repetitions
			stream[2*k+i] = rng.Uint64N(uint64(3 * k))
		}
		one, many, r := New[uint64](k), New[uint64](k), &swift{k: k, counts: map[uint64]int64{}}
		for part := range slices.Chunk(stream, len(stream)/5+1) {
			for _, key := range part {
				one.Add(key)
				r.Add(key)
			}
			many.AddSlice(part)
			want := make([]Counter[uint64], 0, len(r.counts))
			for key, count := range r.counts {
				want = append(want, Counter[uint64]{key, count})
			}
			slices.SortFunc(want, func(a, b Counter[uint64]) int { return cmp.Compare(a.Key, b.Key) })
			require.True(t, slices.Equal(want, one.Counters()), "k = %d", k)
			require.True(t, slices.Equal(want, many.Counters()), "k = %d", k)
			require.EqualValues(t, r.decrements, one.decrements)
			require.EqualValues(t, r.decrements, many.decrements)
		}
		require.Positive(t, r.decrements)
		require.Equal(t, k >= 1<<16, one.index.wide != nil)
	}
}

// What a full sketch holds is what Size says, but for the spare entry.
func TestSizeIsWhatIsHeld(t *testing.T) {
	for _, k := range []int{1, 2, 100, 1024, 5000, 1<<16 - 1, 1 << 16} {
		s := New[uint64](k)
		for i := range uint64(2 * k) {
			s.Add(i)
		}
		held := 16*(cap(s.entries)-1) + 8*cap(s.zeros) + 2*cap(s.index.narrow) + 4*cap(s.index.wide)
		require.EqualValues(t, Size(k), held)
	}
}
