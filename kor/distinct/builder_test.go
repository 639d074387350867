package distinct

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/kor"
	"github.com/dpsketch/dpsketch/kor/internal/sets"
	"github.com/stretchr/testify/require"
)

var small = Params{Epsilon: 1, Cells: 100, Levels: 6, CountShare: 0.1, Seed: hashing.Seed{1}}

func builder(t testing.TB, p Params, keys ...uint64) *Builder {
	t.Helper()
	b := dptest.OK(New(p))(t)
	b.Add(keys...)
	return b
}

// held returns what a builder holds.
func held[S any](b private.State[S]) *S {
	data := private.Enter(b)
	private.Leave(b)
	return data
}

func released(t testing.TB, p Params, keys ...uint64) *Sketch {
	return dptest.OK(builder(t, p, keys...).Release())(t)
}

// run returns the integers from a to b−1.
func run(a, b uint64) (keys []uint64) {
	for key := a; key < b; key++ {
		keys = append(keys, key)
	}
	return keys
}

func privateBytes(t testing.TB, b Adder) []byte {
	t.Helper()
	data := dptest.OK(b.(interface {
		AppendPrivateState(dst []byte) ([]byte, error)
	}).AppendPrivateState(nil))(t)
	return data
}

// The state is a function of the set: duplicates, order, slices and shards leave no trace.
func TestStateIsAFunctionOfTheSet(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, p := range []Params{small, tiny, {Epsilon: 1, Cells: 64, Levels: 64, Seed: hashing.Seed{1}}} {
		keys := run(0, 700)
		want := privateBytes(t, builder(t, p, keys...))
		var stream []uint64
		for range 3 {
			stream = append(stream, keys...)
		}
		rng.Shuffle(len(stream), func(i, j int) { stream[i], stream[j] = stream[j], stream[i] })
		one := builder(t, p)
		shards := []*Builder{builder(t, p), builder(t, p), builder(t, p)}
		for _, key := range stream {
			one.Add(key)
			shards[rng.IntN(3)].Add(key, key)
		}
		require.Equal(t, want, privateBytes(t, one))
		require.NoError(t, shards[2].Merge(shards[0]))
		require.NoError(t, shards[2].Merge(shards[1]))
		require.Equal(t, want, privateBytes(t, shards[2]))
		require.True(t, shards[0].Released() && shards[1].Released())
		again := builder(t, p, 12345)
		require.NoError(t, again.RestorePrivateState(want))
		require.Equal(t, want, privateBytes(t, again))
	}
}

func TestAddKey(t *testing.T) {
	a, b := builder(t, small), builder(t, small)
	AddKey(a, "one", "two", "one")
	b.Add(hashing.Fingerprint(small.Seed, "one"), hashing.Fingerprint(small.Seed, "two"))
	require.Equal(t, privateBytes(t, a), privateBytes(t, b))
	AddKey(&Builder{}, "nothing happens")
	AddKey(&Builder{}, "nothing", "happens")
	many := make([]string, 150) // more than are collected at once
	for i := range many {
		many[i] = fmt.Sprint("user ", i)
		b.Add(hashing.Fingerprint(small.Seed, many[i]))
	}
	AddKey(a, many...)
	require.Equal(t, privateBytes(t, a), privateBytes(t, b))
	p := small
	p.CountShare = 0
	for _, made := range everyBuilder(t, p) {
		a, b := made(), made()
		AddKey(a, "one", "two")
		b.Add(hashing.Fingerprint(p.Seed, "one"), hashing.Fingerprint(p.Seed, "two"))
		require.Equal(t, privateBytes(t, b), privateBytes(t, a), "%T", a)
	}
}

// everyBuilder returns constructors of all builders.
func everyBuilder(t *testing.T, p Params) []func() Adder {
	return []func() Adder{
		func() Adder { return builder(t, p) }, func() Adder { return runningBuilder(t, p) }, func() Adder { return windowBuilder(t, p, 1) },
		func() Adder { return cohortBuilder(t, p, 5) }, func() Adder { return frequencyBuilder(t, p, 5) },
	}
}

// An integer is one key, by whichever way and of whichever type it comes, in every builder: nobody
// counts twice who is added by both. The string of an integer, and its bytes, are other keys.
func TestIntegersAreOneKey(t *testing.T) {
	p := small
	p.CountShare = 0
	for _, made := range everyBuilder(t, p) {
		plain, keyed, both := made(), made(), made()
		for key := range 300 {
			plain.Add(uint64(key), uint64(-key-1))
			AddKey(keyed, key, -key-1)
			both.Add(uint64(key))
			AddKey(both, int32(-key-1))
			if _, frequent := both.(*FrequencyBuilder); !frequent { // which counts visits
				AddKey(both, int32(key))
				both.Add(uint64(-key - 1))
			}
		}
		require.Equal(t, privateBytes(t, plain), privateBytes(t, keyed), "%T", plain)
		require.Equal(t, privateBytes(t, plain), privateBytes(t, both), "%T", plain)
		text, array := made(), made()
		AddKey(text, "5")
		AddKey(array, [16]byte{5})
		five := made()
		five.Add(5)
		require.NotEqual(t, privateBytes(t, five), privateBytes(t, text))
		require.NotEqual(t, privateBytes(t, five), privateBytes(t, array))
	}
}

func TestBuilder(t *testing.T) {
	var others []*Builder
	for _, change := range []func(*Params){
		func(p *Params) { p.Epsilon++ }, func(p *Params) { p.Cells++ }, func(p *Params) { p.Levels-- }, func(p *Params) { p.Seed[3]++ },
		func(p *Params) { p.CountShare = 0.5 },
	} {
		other := small
		change(&other)
		others = append(others, builder(t, other, 9))
	}
	fresh := func() *Builder { return builder(t, small, 1, 2) }
	dptest.Builder(t, fresh, func(b *Builder) { b.Add(1); b.Add(1, 3); AddKey(b, "key") }, others...)
	require.True(t, fresh().Guarantee().Equal(released(t, small).Guarantee()))
	dptest.Restores(t, builder(t, small, run(0, 9)...), fresh(), func() {})
	secret := builder(t, small, 1_234_567_890_123)
	held(secret.secret).table[0] = 9_876_543_210_987
	dptest.Redacted(t, secret, "1234567890123", "9876543210987")
	dptest.Readers(t, released(t, small, run(0, 100)...))
	padding := privateBytes(t, fresh())
	padding[len(padding)-1] = 0x80
	require.ErrorIs(t, fresh().RestorePrivateState(padding), ErrFormat)
	var s Sketch
	require.ErrorIs(t, s.UnmarshalBinary(privateBytes(t, fresh())), ErrFormat, "private state is no release")
	release := dptest.OK(released(t, small, 1).MarshalBinary())(t)
	require.ErrorIs(t, fresh().RestorePrivateState(release), ErrFormat)
}

func TestZeroValues(t *testing.T) {
	var s Sketch
	c := new(kor.Comparison)
	union := dptest.OK(Union(released(t, small), released(t, small), released(t, small, 1)))(t)
	good := dptest.OK(Compare(released(t, small, 1), released(t, small)))(t)
	dptest.Readers(t, good)
	dptest.Readers(t, union)
	for _, x := range []sets.Size{&s, c.Union(), (*kor.Comparison)(nil).Union(), kor.Cardinality{}} {
		lo, hi := x.Interval(0.9)
		require.True(t, math.IsNaN(x.Estimate()) && math.IsNaN(x.StdErr()) && math.IsNaN(lo) && math.IsNaN(hi))
		require.NotEmpty(t, x.(fmt.Stringer).String())
	}
	require.NotEmpty(t, c.String())
	require.False(t, s.Guarantee().Promises() || new(Builder).Guarantee().Promises())
	require.True(t, s.Params() == Params{})
	require.ErrorIs(t, dptest.Err(s.MarshalBinary()), ErrFormat)
	for _, confidence := range []float64{-1, 1, 2, math.NaN(), math.Inf(1)} {
		for _, x := range []sets.Size{released(t, small, 1), good.Union()} {
			lo, hi := x.Interval(confidence)
			require.True(t, math.IsNaN(lo) && math.IsNaN(hi))
		}
	}
}

func TestAllocations(t *testing.T) {
	b, key, keys := builder(t, small), uint64(0), run(0, 50)
	require.Zero(t, testing.AllocsPerRun(1000, func() { b.Add(key); b.Add(keys...); AddKey(b, "text"); key++ }))
	s := released(t, small, run(0, 1000)...)
	require.Zero(t, testing.AllocsPerRun(20, func() { s.Estimate(); s.StdErr(); s.Interval(0.95) }))
}
