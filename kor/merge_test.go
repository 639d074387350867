package kor

import (
	"math"
	"math/bits"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise/budget"
)

var small = Params{Epsilon: 1, Cells: 100, Levels: 5, Seed: hashing.Seed{1}}

func released(t testing.TB, p Params, keys ...uint64) *Sketch {
	return dptest.OK(builder(t, p, keys...).Release())(t)
}

func releasedStream(t testing.TB, p Params, keys ...uint64) *StreamSketch {
	return dptest.OK(streamBuilder(t, p, keys...).Release())(t)
}

func difference(t testing.TB, a, b *Sketch) *Sketch {
	return dptest.OK(a.SymmetricDifference(b))(t)
}

func run(from, to uint64) (keys []uint64) {
	for key := from; key < to; key++ {
		keys = append(keys, key)
	}
	return keys
}

// Before noise the sketch is linear over GF(2): the order of the keys does not matter, a toggle
// undoes a toggle, and merging is toggling.
func TestAlgebraBeforeNoise(t *testing.T) {
	table := func(keys ...uint64) []uint64 { return held(builder(t, small, keys...).secret).table }
	merge := func(lists ...[]uint64) []uint64 {
		sum := builder(t, small)
		for _, keys := range lists {
			require.NoError(t, sum.Merge(builder(t, small, keys...)))
		}
		return held(sum.secret).table
	}
	a, b, c := run(0, 300), run(200, 500), run(450, 460)
	require.Equal(t, table(3, 1, 2), table(1, 2, 3))
	require.Equal(t, table(), table(7, 8, 7, 8))
	require.Equal(t, merge(a, b), merge(b, a))
	require.Equal(t, merge(a, b, c), merge(c, a, b))
	require.Equal(t, table(), merge(a, a))
	require.Equal(t, table(append(run(0, 200), run(300, 500)...)...), merge(a, b))
	weighted := builder(t, small)
	weighted.ToggleWeighted(5, 1)
	for _, w := range []float64{0, -1, math.NaN(), math.Inf(-1)} {
		weighted.ToggleWeighted(6, w)
	}
	require.Equal(t, table(5), held(weighted.secret).table)
}

func same(a, b *Sketch) bool { return a.equal(&b.release) }

// equal reports whether the two are the same in every respect.
func (r *release) equal(o *release) bool {
	return r.params == o.params && r.stream == o.stream && r.counted == o.counted && r.count == o.count &&
		slices.Equal(r.parts, o.parts) && slices.Equal(r.bits, o.bits)
}

// A sketch XORed with itself is exactly empty, and says so without a −0: its set and that of the
// other are one, so the difference is 0, and the union and the intersection are the set, by its
// count or its sketch.
func TestXORWithItselfIsExactlyEmpty(t *testing.T) {
	counted := small
	counted.CountShare = 0.3
	a, b := released(t, small, run(0, 30)...), released(t, small, run(10, 50)...)
	for _, s := range []*Sketch{a, released(t, counted, run(0, 30)...), difference(t, a, b)} {
		nothing := difference(t, s, s)
		for name, x := range map[string]float64{"Estimate": nothing.Estimate(), "StdErr": nothing.StdErr(), "FlipProb": nothing.flipProb()} {
			require.True(t, x == 0 && !math.Signbit(x), name)
		}
		require.NotContains(t, nothing.String(), "-0")
		require.Contains(t, nothing.String(), "the empty set")
		same := dptest.OK(Compare(s, s))(t)
		d := same.OnlyA()
		lo, hi := d.Interval(0.95)
		require.Equal(t, []float64{0, 0, 0, 0}, []float64{d.Estimate(), d.StdErr(), lo, hi})
		require.Equal(t, "0 ± 0", d.String())
		for _, c := range []Cardinality{same.Union(), same.Intersection()} {
			require.Equal(t, s.Total().Estimate(), c.Estimate())
			require.Equal(t, s.Total().StdErr(), c.StdErr())
			lo, hi := c.Interval(0.9)
			least, most := s.Total().Interval(0.9)
			require.Equal(t, []float64{least, most}, []float64{lo, hi})
		}
	}
}

// PartyGuarantee is for one release a party. Two releases of one Builder's private state are seen
// to be of one party, and cost what they cost.
func TestPartyGuaranteeSeesTwoReleasesOfOneState(t *testing.T) {
	b := builder(t, small, 1, 2, 3)
	first := dptest.OK(restored(t, b).Release())(t)
	second := dptest.OK(b.Release())(t)
	other := released(t, small, 1, 2, 3)
	require.Equal(t, 1.0, first.PartyGuarantee().EpsilonAt(0))
	require.Equal(t, 2.0, difference(t, first, second).PartyGuarantee().EpsilonAt(0))
	all := difference(t, difference(t, first, other), second)
	require.Equal(t, 3, all.Releases())
	require.Equal(t, 2.0, all.PartyGuarantee().EpsilonAt(0))
	require.Equal(t, 3.0, all.Guarantee().EpsilonAt(0))
	require.Equal(t, 1.0, difference(t, all, second).PartyGuarantee().EpsilonAt(0))
}

// p′ = p₁ + p₂ − 2p₁p₂ through any number of merges, and the guarantees add up.
func TestFlipProbability(t *testing.T) {
	s, p := released(t, small), planned(small).FlipProb
	require.InDelta(t, 1/(math.E+1), p, 1e-15)
	want := p
	for merges := range 20 {
		s = difference(t, s, released(t, small))
		want = want + p - 2*want*p
		require.InEpsilon(t, want, s.flipProb(), 1e-14)
		require.InEpsilon(t, float64(merges+2), s.Guarantee().EpsilonAt(0), 1e-14)
		require.Equal(t, budget.PureDP(1, budget.Key(budget.AddRemove)), s.PartyGuarantee())
	}
	other := small
	other.Epsilon, other.CountShare = 2, 0.1
	mixed := dptest.OK(XOR(released(t, small), released(t, other), released(t, small)))(t)
	q := planned(other).FlipProb
	want = p + q - 2*p*q
	require.InEpsilon(t, want+p-2*want*p, mixed.flipProb(), 1e-14)
	require.Equal(t, 2.0, mixed.Params().Epsilon)
	require.Equal(t, budget.PureDP(2, budget.Key(budget.AddRemove)), mixed.PartyGuarantee())
	require.Equal(t, 4.0, mixed.Guarantee().EpsilonAt(0))
}

// The bits of merged releases of the empty set, 10⁷ of them: χ² of their ones, and of pairs of
// neighbouring bits.
func TestMergedFlips(t *testing.T) {
	p := Params{Epsilon: 1, Cells: 1 << 20, Levels: 10, Seed: hashing.Seed{1}}
	for sketches := 1; sketches <= 3; sketches++ {
		s := released(t, p)
		for range sketches - 1 {
			s = difference(t, s, released(t, p))
		}
		q := s.flipProb()
		var ones, pairs [4]int64
		for _, word := range s.bits {
			ones[1] += int64(bits.OnesCount64(word))
			both := int64(bits.OnesCount64(word & (word >> 1) & 0x5555555555555555))
			either := int64(bits.OnesCount64((word | word>>1) & 0x5555555555555555))
			pairs[3] += both
			pairs[1] += either - both
			pairs[0] += 32 - either
		}
		n := int64(p.Cells * p.Levels)
		dptest.ChiSquare(t, "ones", []int64{n - ones[1], ones[1]}, []float64{1 - q, q}, 1e-10)
		dptest.ChiSquare(t, "pairs", []int64{pairs[0], pairs[1], pairs[3]}, []float64{(1 - q) * (1 - q), 2 * q * (1 - q), q * q}, 1e-10)
		wrong := planned(small).FlipProb
		if sketches > 1 {
			// the test sees the difference between the merged and the single probability
			require.Less(t, dptest.ChiSquarePValue([]int64{n - ones[1], ones[1]}, []float64{1 - wrong, wrong}), 1e-100)
		}
	}
}

func TestMismatch(t *testing.T) {
	a := released(t, small)
	for field, change := range map[string]func(*Params){
		"Seed": func(p *Params) { p.Seed[0]++ }, "Cells": func(p *Params) { p.Cells++ }, "Levels": func(p *Params) { p.Levels++ },
		"Epsilon": func(p *Params) { p.Epsilon *= 2 }, "CountShare": func(p *Params) { p.CountShare = 0.1 },
	} {
		q := small
		change(&q)
		b := released(t, q)
		dptest.Refused(t, dptest.Err(a.SymmetricDifference(b)), ErrMismatch, field)
		require.ErrorIs(t, dptest.Err(Compare(a, b)), ErrMismatch)
		_, err := XOR(a, b)
		require.Equal(t, field == "Seed" || field == "Cells" || field == "Levels", err != nil, field)
	}
	for _, bad := range []*Sketch{nil, {}} {
		require.ErrorIs(t, dptest.Err(a.SymmetricDifference(bad)), ErrMismatch)
		require.ErrorIs(t, dptest.Err(XOR(a, bad)), ErrMismatch)
		require.ErrorIs(t, dptest.Err(XOR(bad)), ErrMismatch)
		require.ErrorIs(t, dptest.Err(Compare(a, bad)), ErrMismatch)
		require.ErrorIs(t, dptest.Err(Compare(bad, a)), ErrMismatch)
	}
	require.ErrorIs(t, dptest.Err(new(Sketch).SymmetricDifference(a)), ErrMismatch)
	require.ErrorIs(t, dptest.Err(XOR()), ErrParams)
	s := releasedStream(t, small)
	for _, bad := range []*StreamSketch{nil, {}, s} { // s with itself: its keys would cancel
		require.ErrorIs(t, dptest.Err(s.Union(bad)), ErrMismatch)
		require.ErrorIs(t, dptest.Err(CompareStreams(s, bad)), ErrMismatch)
		require.ErrorIs(t, dptest.Err(CompareStreams(bad, s)), ErrMismatch)
	}
	forged := *a
	forged.parts = []part{{a.parts[0].id, 1, a.parts[0].k + 1, 1}}
	require.ErrorIs(t, dptest.Err(a.SymmetricDifference(&forged)), ErrMismatch)
	forged = *a // the same release with other bits: what is left of both would have no noise
	forged.bits = append([]uint64(nil), a.bits...)
	forged.bits[0] ^= 1
	for _, merge := range []func() (*Sketch, error){
		func() (*Sketch, error) { return a.SymmetricDifference(&forged) }, func() (*Sketch, error) { return XOR(a, &forged) },
	} {
		s, err := merge()
		require.ErrorIs(t, err, ErrMismatch)
		require.Nil(t, s)
	}
}
