package kor

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/private"
)

// eight KiB: 32 levels of 2048 cells.
var eight = Params{Epsilon: 1, Cells: 2048, Levels: 32, Seed: hashing.Seed{1}}

func TestBuilders(t *testing.T) {
	for _, p := range []Params{small, counting} {
		use := func(b *Builder) {
			b.Toggle(1)
			b.ToggleSlice([]uint64{1, 2})
			b.ToggleWeighted(1, 0.5)
			ToggleKey(b, "key")
		}
		var others []*Builder
		for _, q := range changed(p) {
			others = append(others, builder(t, q, 5))
		}
		dptest.Builder(t, func() *Builder { return builder(t, p, 1, 2) }, use, others...)
	}
	use := func(b *StreamBuilder) { b.Add(1); b.Add(1, 2); b.AddWeighted(1, 0.5); AddKey(b, "key") }
	dptest.Builder(t, func() *StreamBuilder { return streamBuilder(t, small, 1, 2) }, use, streamBuilder(t, changed(small)[0]))
	b, counts, stream, shared := builder(t, small), builder(t, counting), streamBuilder(t, small), share(t, small, 5)
	for _, s := range []secret{counts.secret, stream.secret, shared.secret} {
		held(s).table[0] = 9_876_543_210_987
	}
	counts.ToggleWeighted(1_234_567_890_123, 0.0117734)
	dptest.Redacted(t, counts, "1234567890123", "9876543210987")
	dptest.Redacted(t, stream, "9876543210987")
	dptest.Redacted(t, shared, "9876543210987")
	require.ErrorIs(t, dptest.Err(b.Share(0)), ErrParams)
	dptest.OK(b.Release())(t)
	for _, b := range []*Builder{b, {}} {
		require.ErrorIs(t, dptest.Err(b.Share(2)), ErrReleased)
	}
}

// changed returns Params that differ in one field each.
func changed(p Params) (all []Params) {
	for _, change := range []func(*Params){
		func(p *Params) { p.Epsilon++ }, func(p *Params) { p.Cells++ }, func(p *Params) { p.Levels-- }, func(p *Params) { p.Seed[3]++ },
		func(p *Params) { p.CountShare = 0.5 },
	} {
		q := p
		change(&q)
		all = append(all, q)
	}
	return all
}

// One key at a time and in slices, the bits of a table are those that the placement says, also for
// the key whose word u is 0.
func TestTablesAreThePlacement(t *testing.T) {
	deep := eight
	deep.Levels = 64
	for _, p := range []Params{small, eight, deep} {
		place := newPlacement(p)
		zero := place.k0
		u, _ := place.words(zero)
		require.Zero(t, u)
		keys := append(run(500, 4000), zero)
		flipped, set := make([]uint64, p.words()), make([]uint64, p.words())
		for _, key := range keys {
			if word, bit := place.at(key); word < uint64(len(set)) {
				flipped[word] ^= bit
				set[word] |= bit
			}
		}
		if p.Levels == 64 {
			require.NotZero(t, set[63*p.stride()], "u = 0 is at level 63")
		}
		one, counts := builder(t, p), p
		counts.CountShare = 0.5
		each, many := builder(t, counts), builder(t, counts, append(keys, keys[:9]...)...)
		for _, key := range keys {
			one.Toggle(key)
			each.Toggle(key)
		}
		each.ToggleSlice(keys[:9])
		require.Equal(t, flipped, held(one.secret).table)
		require.Equal(t, held(each.secret).members, held(many.secret).members)
		require.Len(t, held(many.secret).members, len(keys)-9)
		for _, size := range []int{1, 2, len(keys)} {
			b, s := builder(t, p), streamBuilder(t, p)
			for list := range slices.Chunk(keys, size) {
				b.ToggleSlice(list)
				s.Add(list...)
			}
			require.Equal(t, flipped, held(b.secret).table)
			require.Equal(t, set, held(s.secret).table)
		}
	}
}

// Every use of a Builder while another one is at work panics, or returns an error where it would
// release, and the data are gone.
func TestConcurrentUse(t *testing.T) {
	const text = "concurrent use of a Builder"
	b, s := builder(t, small), streamBuilder(t, small)
	for name, use := range map[string]func(){
		"Toggle": func() { b.Toggle(1) }, "ToggleWeighted": func() { b.ToggleWeighted(1, 0.5) }, "ToggleSlice": func() { b.ToggleSlice([]uint64{1, 2}) },
		"Merge": func() { b.Merge(builder(t, small)) }, "merged": func() { builder(t, small).Merge(b) },
		"append": func() { b.AppendPrivateState(nil) }, "restore": func() { b.RestorePrivateState(nil) },
		"stream Add": func() { s.Add(1) }, "stream Add many": func() { s.Add(1, 2) }, "stream AddWeighted": func() { s.AddWeighted(1, 0.5) },
		"stream Merge": func() { s.Merge(streamBuilder(t, small)) }, "stream merged": func() { streamBuilder(t, small).Merge(s) },
		"stream append": func() { s.AppendPrivateState(nil) }, "stream restore": func() { s.RestorePrivateState(nil) },
	} {
		b, s = builder(t, small), streamBuilder(t, small)
		private.Enter(b.secret)
		private.Enter(s.secret)
		func() {
			defer func() { require.Contains(t, recover(), text, name) }()
			use()
		}()
		require.True(t, b.Released() != s.Released(), name)
	}
	for name, release := range map[string]func() error{
		"Release": func() error { _, err := b.Release(); return err }, "Share": func() error { _, err := b.Share(2); return err },
		"stream Release": func() error { _, err := s.Release(); return err },
	} {
		b, s = builder(t, small), streamBuilder(t, small)
		private.Enter(b.secret)
		private.Enter(s.secret)
		require.ErrorContains(t, release(), "was used by two goroutines at once", name)
		require.ErrorContains(t, release(), "was used by two goroutines at once", name)
	}
}

func TestZeroValues(t *testing.T) {
	for _, s := range []*release{&new(Sketch).release, &new(StreamSketch).release} {
		lo, hi := s.Interval(0.9)
		require.True(t, math.IsNaN(s.Estimate()) && math.IsNaN(s.StdErr()) && math.IsNaN(lo) && math.IsNaN(hi))
		require.True(t, math.IsInf(s.Guarantee().EpsilonAt(0), 1) && math.IsInf(s.PartyGuarantee().EpsilonAt(0), 1))
		require.True(t, s.Releases() == 0 && s.Params() == Params{})
	}
	require.ErrorIs(t, dptest.Err(new(Sketch).MarshalBinary()), ErrFormat)
	require.Equal(t, "kor.Sketch (empty) kor.StreamSketch (empty)", fmt.Sprint(&Sketch{}, " ", &StreamSketch{}))
	for _, c := range []Cardinality{{}, new(Sketch).Total()} {
		lo, hi := c.Interval(0.9)
		require.True(t, math.IsNaN(c.Estimate()) && math.IsNaN(c.StdErr()) && math.IsNaN(lo) && math.IsNaN(hi))
	}
	var share Share
	require.Nil(t, share.Bytes())
	require.True(t, math.IsInf(share.Guarantee().EpsilonAt(0), 1))
	s := released(t, small, 1)
	for _, confidence := range []float64{-1, 1, 2, math.NaN(), math.Inf(1)} {
		lo, hi := s.Interval(confidence)
		require.True(t, math.IsNaN(lo) && math.IsNaN(hi))
		lo, hi = s.Total().Interval(confidence)
		require.True(t, math.IsNaN(lo) && math.IsNaN(hi))
	}
}

func TestAllocations(t *testing.T) {
	b, s, key, keys := builder(t, small), streamBuilder(t, small), uint64(0), run(0, 50)
	require.Zero(t, testing.AllocsPerRun(2000, func() { b.Toggle(key); b.ToggleSlice(keys[:1]); b.ToggleSlice(keys); b.ToggleWeighted(key, 0.3); key++ }))
	// A Source takes a new key from the operating system once in 1,024 words, which are 65,536
	// occurrences.
	require.Zero(t, testing.AllocsPerRun(2000, func() { s.Add(key); s.AddWeighted(key, 0.3); key++ }))
	sketch := released(t, small, run(0, 1000)...)
	require.Zero(t, testing.AllocsPerRun(400, func() { sketch.Estimate(); sketch.StdErr(); sketch.Interval(0.95) }))
}

// Every method of every public object, from many goroutines.
func TestReaders(t *testing.T) {
	p := Params{Epsilon: 1, Cells: 100, Levels: 5, Seed: hashing.Seed{1}, CountShare: 0.1}
	a, b := released(t, p, run(0, 100)...), released(t, p, run(50, 150)...)
	compared := dptest.OK(Compare(a, b))(t)
	for _, object := range []any{a, difference(t, a, b), a.Total(), compared, compared.Union(), releasedStream(t, small, run(0, 100)...)} {
		dptest.Readers(t, object)
	}
}

// An interval holds its own estimate, also where this is drawn towards small sizes and far below
// those that the likelihood does not reject, as of sets beyond Largest.
func TestIntervalHoldsTheEstimate(t *testing.T) {
	for _, p := range []Params{
		{Epsilon: 1, Cells: 16, Levels: 8, Seed: hashing.Seed{1}}, {Epsilon: 20, Cells: 1, Levels: 8, Seed: hashing.Seed{1}},
		{Epsilon: 0.1, Cells: 64, Levels: 2, Seed: hashing.Seed{1}}, {Epsilon: 4, Cells: 256, Levels: 6, Seed: hashing.Seed{1}},
	} {
		for _, keys := range []uint64{0, 30, 5000} {
			for range 10 {
				s := released(t, p, run(0, keys)...)
				for _, confidence := range []float64{0, 0.5, 0.95} {
					lo, hi := s.Interval(confidence)
					e := max(s.Estimate(), 0)
					require.True(t, 0 <= lo && lo <= e && e <= hi, "%v keys, %v: %v in [%v, %v]", keys, confidence, e, lo, hi)
				}
			}
		}
	}
}
