package kor

import (
	"math/bits"
	"testing"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/stretchr/testify/require"
)

// Two releases of one private state have coins and flips of their own: in the cells of keys they
// agree with probability ½. They would with probability 1 − 2p(1−p) = 0.70 if the state held the
// coins. The keys of both stay in their union. 10⁴ cells, false-reject probability 1e-10 each.
func TestReleasesOfOneStreamStateHaveTheirOwnCoins(t *testing.T) {
	p := Params{Epsilon: 1, Cells: 1 << 14, Levels: 1, Seed: hashing.Seed{3}}
	b := streamBuilder(t, p, run(0, 1<<15)...)
	cells := append([]uint64(nil), held(b.secret).table...)
	state := dptest.OK(b.AppendPrivateState(nil))(t)
	again := streamBuilder(t, p)
	require.NoError(t, again.RestorePrivateState(state))
	first := dptest.OK(b.Release())(t)
	second := dptest.OK(again.Release())(t)
	n, agree, ones := int64(0), int64(0), int64(0)
	for i, word := range cells {
		n += int64(bits.OnesCount64(word))
		agree += int64(bits.OnesCount64(word &^ (first.bits[i] ^ second.bits[i])))
		ones += int64(bits.OnesCount64(word & first.bits[i]))
	}
	require.Greater(t, n, int64(10_000))
	for name, count := range map[string]int64{"agree": agree, "disagree": n - agree, "ones": ones, "zeros": n - ones} {
		dptest.Tail(t, name, count, n, 0.5, 1e-10)
		require.Less(t, dptest.TailPValue(count, n, 0.45), 1e-10, "the test sees a tenth")
	}
	union := dptest.OK(first.Union(second))(t)
	dptest.Alarm(t, 1e-10)
	require.InDelta(t, 1<<15, union.Estimate(), 8*union.StdErr(), "the keys do not cancel")
	require.Equal(t, 2.0, union.Guarantee().EpsilonAt(0))
	require.Equal(t, 2.0, union.PartyGuarantee().EpsilonAt(0), "one party released twice")
}

// A cell that a key of the stream belongs to is a fair coin in the release, whether the key came
// once or twice, weighted or not: of 4000 releases at ε = 44, where nothing is flipped, half show
// the bit. The number is binomial with mean 2000 and standard deviation 31.6; it is more than 225
// off with a probability of at most 2.1e-11 in each of the four cases (Hoeffding:
// 2·e^{−2·225²/4000}).
func TestCellsOfKeysAreFairCoins(t *testing.T) {
	p := Params{Epsilon: 44, Cells: 64, Levels: 4, Seed: hashing.Seed{3}}
	for name, add := range map[string]func(b *StreamBuilder){
		"Add": func(b *StreamBuilder) { b.Add(7) }, "AddWeighted": func(b *StreamBuilder) { b.AddWeighted(7, 1) },
	} {
		for times := 1; times <= 2; times++ {
			shown := 0
			for range 4000 {
				b := dptest.OK(NewStreamBuilder(p))(t)
				for range times {
					add(b)
				}
				s := dptest.OK(b.Release())(t)
				ones := distance(s.bits, make([]uint64, len(s.bits)))
				require.LessOrEqual(t, ones, 1)
				shown += ones
			}
			dptest.Alarm(t, 1e-10)
			require.InDelta(t, 2000, shown, 225, "%s, %d times", name, times)
		}
	}
}

// The cell of a weighted key is that which a Builder flips, and no cell for the keys that the
// sample leaves out.
func TestStreamPlaces(t *testing.T) {
	for key := range uint64(2000) {
		for _, w := range []float64{1, 0.7, 0.01, 7, -1} {
			b, s := builder(t, small), streamBuilder(t, small)
			b.ToggleWeighted(key, w)
			s.AddWeighted(key, w)
			s.AddWeighted(key, w)
			require.Equal(t, held(b.secret).table, held(s.secret).table)
		}
	}
}

// A key is one key in whatever way it comes: an integer as it is, others by their fingerprints
// under the Seed. Added again it changes nothing; toggled again it is gone.
func TestKeysOfAnyType(t *testing.T) {
	p := Params{Epsilon: 1, Seed: hashing.Seed{4}}
	s, b := streamBuilder(t, p), builder(t, p)
	state := func(b interface {
		AppendPrivateState(dst []byte) ([]byte, error)
	}) []byte {
		return dptest.OK(b.AppendPrivateState(nil))(t)
	}
	empty := state(b)
	AddKey(s, "one", "two")
	AddKey(s, 5, 6)
	AddKey(s, int32(-7), int32(-8))
	held := state(s)
	one, two := hashing.Fingerprint(p.Seed, "one"), hashing.Fingerprint(p.Seed, "two")
	numbers := []uint64{one, two, 5, 6, 1<<64 - 7, 1<<64 - 8}
	s.Add(numbers...)
	require.Equal(t, held, state(s))
	ToggleKey(b, "one", "two")
	ToggleKey(b, 5, 6)
	ToggleKey(b, int64(-7), int64(-8))
	require.NotEqual(t, empty, state(b))
	b.ToggleSlice(numbers)
	require.Equal(t, empty, state(b))
}

// A union that would lose the keys of a release that is in both says so.
func TestUnionOfCommonReleases(t *testing.T) {
	a, b, c := releasedStream(t, small, 1), releasedStream(t, small, 2), releasedStream(t, small, 3)
	left := dptest.OK(a.Union(b))(t)
	right := dptest.OK(b.Union(c))(t)
	for _, pair := range [][2]*StreamSketch{{left, right}, {a, a}, {left, b}} {
		_, err := pair[0].Union(pair[1])
		require.ErrorIs(t, err, ErrMismatch)
		require.ErrorContains(t, err, "is in both sketches")
		require.NotContains(t, err.Error(), "releases differs")
	}
}
