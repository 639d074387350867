package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/kor"
)

func decodedSketch(t *testing.T, encoded []byte) *kor.StreamSketch {
	t.Helper()
	s := new(kor.StreamSketch)
	if err := s.UnmarshalBinary(encoded); err != nil {
		t.Fatal(err)
	}
	return s
}

// repeatFn gives a shard its keys: key i comes i mod 4 + 1 times, in as many different shards if
// there are so many.
type repeatFn struct{ Keys, Shards int }

func (f *repeatFn) ProcessElement(shard int, emit func(int, string)) {
	for i := range f.Keys {
		for time := range i%4 + 1 {
			if (i/4+time)%f.Shards == shard {
				emit(shard, fmt.Sprint(i))
			}
		}
	}
}

func repeated(keys, shards int) func(beam.Scope) beam.PCollection {
	numbers := make([]int, shards)
	for i := range numbers {
		numbers[i] = i
	}
	return func(s beam.Scope) beam.PCollection {
		return beam.ParDo(s, &repeatFn{keys, shards}, beam.CreateList(s, numbers))
	}
}

// The number of distinct keys is within the stated error, although three of four are in several
// shards; all that is public of the release but its bits is the same for any number of shards.
//
// The estimate has a relative standard error of 2 %. Six of them are passed with a probability of
// 2e-9 if it is normal; a skewness of γ multiplies that by about e^{γ·6³/6}, less than 10 with γ =
// 3·2 %. Interval(1 − 1e-9) is as wide. Together below 1e-6 for all cases.
//
// Keys that cancelled in pairs would leave half of them, and keys that were counted in each shard
// two and a half times as many: 16 standard errors away at least.
func TestDistinctKeys(t *testing.T) {
	p := kor.Params{Epsilon: 1, Cells: 1 << 14, Levels: 16, Seed: hashing.NewSeed()}
	const keys = 40_000
	stdErr := p.StreamStdErr(keys, 1)
	if keys/2 < 16*stdErr {
		t.Fatalf("a standard error of %.0f is too large to see a mistake", stdErr)
	}
	var first *kor.StreamSketch
	for _, shards := range []int{1, 7, 64} {
		encoded := through(t, DistinctKeys, p, repeated(keys, shards))
		s := decodedSketch(t, encoded)
		if off := s.Estimate() - keys; !(math.Abs(off) < 6*stdErr) {
			t.Errorf("%d shards: estimated as %.0f ± %.0f", shards, s.Estimate(), stdErr)
		}
		lo, hi := s.Interval(1 - 1e-9)
		if !(lo <= keys && keys <= hi && hi-lo < 16*stdErr) {
			t.Errorf("%d shards: not in [%.0f, %.0f]", shards, lo, hi)
		}
		if first == nil {
			first = s
		}
		if s.Params() != p || s.FlipProb() != first.FlipProb() || !s.Guarantee().Equal(p.Guarantee()) || s.Releases() != 1 || len(encoded) != p.Size() {
			t.Errorf("%d shards: %v; one shard: %v", shards, s, first)
		}
	}
}

// An empty input is released like any other, and so is one with a single key, however often it
// comes.
//
// Interval(1 − 1e-9) covers sets of fewer than Cells keys more often than it says.
func TestFewKeys(t *testing.T) {
	p := kor.Params{Epsilon: 1, Cells: 1 << 10, Levels: 16, Seed: hashing.NewSeed()}
	for _, c := range []struct{ keys, copies, shards int }{{0, 0, 1}, {0, 0, 7}, {1, 1, 1}, {1, 1, 64}, {1, 1000, 64}} {
		encoded := through(t, DistinctKeys, p, func(s beam.Scope) beam.PCollection {
			return beam.ParDo(s, &copiesFn{c.copies, c.shards}, beam.Impulse(s))
		})
		s := decodedSketch(t, encoded)
		lo, hi := s.Interval(1 - 1e-9)
		if truth := float64(c.keys); lo > truth || hi < truth || hi > 20*p.StreamStdErr(0, 1) || len(encoded) != p.Size() || s.Releases() != 1 {
			t.Errorf("%v: %v in [%v, %v], %d bytes", c, s, lo, hi, len(encoded))
		}
	}
}

// copiesFn gives one key so many times, in all shards in turn.
type copiesFn struct{ Copies, Shards int }

func (f *copiesFn) ProcessElement(_ []byte, emit func(int, string)) {
	for i := range f.Copies {
		emit(i%f.Shards, "tea")
	}
}

// seenState returns the private state of an accumulator, as a pipeline has it.
func seenState(t *testing.T, a *seen) []byte {
	t.Helper()
	return must[[]byte](t)(encodeSeen(a))
}

func travelled(t *testing.T, a *seen) *seen {
	t.Helper()
	return must[*seen](t)(decodeSeen(bytes.Clone(seenState(t, a))))
}

// table returns the bits of an accumulator: the words at the end of its state.
func table(t *testing.T, a *seen, p kor.Params) []uint64 {
	t.Helper()
	state := seenState(t, a)
	words := make([]uint64, p.Levels*((p.Cells+63)/64))
	for i := range words {
		words[i] = binary.LittleEndian.Uint64(state[len(state)-8*(len(words)-i):])
	}
	return words
}

// Before the noise, shards that were merged are one sketch of everything: the same bits, whatever
// the number of shards that a key is in and how often it comes there. A key that cancelled, as it
// would in a set that it is toggled in, would be missing.
func TestShardsAreOneSketch(t *testing.T) {
	p := kor.Params{Epsilon: 1, Cells: 64, Levels: 8, Seed: hashing.Seed{1, 2, 3}}
	const keys = 40
	d, all := distinctShardFn{distinct{p}}, must[*seen](t)((&distinct{p}).CreateAccumulator())
	for i := range keys {
		all = must[*seen](t)(d.AddInput(all, fmt.Sprint(i)))
	}
	want := table(t, all, p)
	ones := 0
	for _, word := range want {
		ones += bits.OnesCount64(word)
	}
	if ones < 20 || ones > keys {
		t.Fatalf("%d cells have keys", ones)
	}
	for _, shards := range []int{1, 2, 7, 64} {
		if got := table(t, overShards(t, p, shards, keys), p); !slices.Equal(got, want) {
			t.Errorf("%d shards: %x, want %x", shards, got, want)
		}
	}
}

// overShards merges shards that all have the keys, key i as often as i mod 3 + 1 times; all states
// travel.
func overShards(t *testing.T, p kor.Params, shards, keys int) *seen {
	t.Helper()
	shard, total, one := &distinctShardFn{distinct{p}}, &distinctTotalFn{distinct{p}}, must[*seen](t)
	sum := one(total.CreateAccumulator())
	for range shards {
		a := one(shard.CreateAccumulator())
		for i := range keys {
			for range i%3 + 1 {
				a = one(shard.AddInput(a, fmt.Sprint(i)))
			}
		}
		sum = one(total.AddInput(sum, must[[]byte](t)(shard.ExtractOutput(a))))
	}
	return sum
}

// Accumulators that travel in the middle of their work hold what those that stay hold, after each
// step.
func TestAccumulatorsTravel(t *testing.T) {
	p := kor.Params{Epsilon: 1, Cells: 100, Levels: 8, Seed: hashing.Seed{1}}
	shard, total, one := &distinctShardFn{distinct{p}}, &distinctTotalFn{distinct{p}}, must[*seen](t)
	same := func(what string, a, b *seen) {
		t.Helper()
		if !slices.Equal(table(t, a, p), table(t, b, p)) {
			t.Errorf("%s: another state", what)
		}
	}
	empty := table(t, one(shard.CreateAccumulator()), p)
	stays, moves := one(total.CreateAccumulator()), one(total.CreateAccumulator())
	for i := range 20 {
		a := one(shard.CreateAccumulator())
		for j := range 100 {
			a = one(shard.AddInput(a, fmt.Sprint(i, j%37)))
			if j%9 == 0 {
				moved := travelled(t, travelled(t, a))
				same("after some keys", a, moved)
				a = moved // and goes on counting
			}
		}
		b := one(shard.AddInput(one(shard.CreateAccumulator()), "water"))
		aMoved, bMoved := travelled(t, a), travelled(t, b)
		a, aMoved = one(shard.MergeAccumulators(a, b)), one(shard.MergeAccumulators(aMoved, bMoved))
		same("after a merge", a, aMoved)
		state := must[[]byte](t)(shard.ExtractOutput(travelled(t, a)))
		same("at the end of a shard", a, &seen{arrived: state})
		stays, moves = one(total.AddInput(stays, state)), travelled(t, one(total.AddInput(moves, state)))
		same("in the total", stays, moves)
	}
	if slices.Equal(table(t, moves, p), empty) {
		t.Error("nothing was counted")
	}
	same("merged with itself", one(total.MergeAccumulators(travelled(t, stays), moves)), stays)
}

// Bytes that are no state, or one of other Params, are an error wherever they arrive, and so they
// are in a pipeline.
func TestHostileStates(t *testing.T) {
	p := kor.Params{Epsilon: 1, Cells: 100, Levels: 4, Seed: hashing.Seed{1}}
	shard, total := &distinctShardFn{distinct{p}}, &distinctTotalFn{distinct{p}}
	fresh := func() *seen { return must[*seen](t)(shard.CreateAccumulator()) }
	state := seenState(t, must[*seen](t)(shard.AddInput(fresh(), "tea")))
	uses := func(state []byte) []error {
		arrived := func() *seen { return must[*seen](t)(decodeSeen(bytes.Clone(state))) }
		_, merged := shard.MergeAccumulators(fresh(), arrived())
		_, mergedInto := total.MergeAccumulators(arrived(), fresh())
		_, taken := shard.AddInput(arrived(), "tea")
		_, extracted := shard.ExtractOutput(arrived())
		_, added := total.AddInput(fresh(), state)
		_, released := total.ExtractOutput(arrived())
		return []error{merged, mergedInto, taken, extracted, added, released}
	}
	refused := func(what string, state []byte, want error) {
		t.Helper()
		for i, err := range uses(state) {
			if !errors.Is(err, want) {
				t.Errorf("%s, use %d: %v", what, i, err)
			}
		}
	}
	for n := range state {
		refused("truncated", state[:n], kor.ErrFormat)
	}
	refused("one byte more", append(bytes.Clone(state), 0), kor.ErrFormat)
	refused("nonsense", bytes.Repeat([]byte("tea "), 40), kor.ErrFormat)
	other := p
	other.Seed[0]++
	otherShard := distinctShardFn{distinct{other}}
	refused("another Seed", seenState(t, must[*seen](t)(otherShard.CreateAccumulator())), kor.ErrMismatch)
	for bit := range 8 * len(state) { // no use panics, and all agree
		flipped := bytes.Clone(state)
		flipped[bit/8] ^= 1 << (bit % 8)
		errs := uses(flipped)
		for _, err := range errs {
			if (err == nil) != (errs[0] == nil) {
				t.Fatalf("bit %d: %v", bit, errs)
			}
		}
	}

	pipeline, s := beam.NewPipelineWithRoot()
	beam.ParDo0(s, &catchFn{}, beam.Combine(s, total, beam.Create(s, state[:len(state)-1])))
	if err := execute(context.Background(), pipeline); err == nil || !strings.Contains(err.Error(), "kor") {
		t.Errorf("a broken state went through a pipeline: %v", err)
	}
}

// Beam uses the coder that is registered, for a state that came and for one that was made here.
func TestCoderOfStates(t *testing.T) {
	p := kor.Params{Epsilon: 1, Cells: 100, Levels: 4, Seed: hashing.Seed{1}}
	shard := &distinctShardFn{distinct{p}}
	a := must[*seen](t)(shard.CreateAccumulator())
	for i := range 100 {
		a = must[*seen](t)(shard.AddInput(a, fmt.Sprint(i)))
	}
	got := recoded(t, a)
	if got.builder != nil || !bytes.Equal(got.arrived, seenState(t, a)) || !bytes.Equal(recoded(t, got).arrived, got.arrived) {
		t.Error("another state")
	}
}

// Wrong Params are an error before there is a pipeline.
func TestWrongDistinctKeys(t *testing.T) {
	good := kor.Params{Epsilon: 1, Cells: 100, Levels: 4, Seed: hashing.Seed{1}}
	_, s := beam.NewPipelineWithRoot()
	elements := generated(s, small)
	for name, change := range map[string]func(p *kor.Params){
		"Epsilon":    func(p *kor.Params) { p.Epsilon = 0 },
		"NaN":        func(p *kor.Params) { p.Epsilon = math.NaN() },
		"Cells":      func(p *kor.Params) { p.Cells = 0 },
		"Levels":     func(p *kor.Params) { p.Levels = 65 },
		"Seed":       func(p *kor.Params) { p.Seed = hashing.Seed{} },
		"CountShare": func(p *kor.Params) { p.CountShare = 0.5 },
	} {
		p := good
		change(&p)
		if _, err := DistinctKeys(s, p, elements); !errors.Is(err, kor.ErrParams) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := DistinctKeys(s, good, elements); err != nil {
		t.Error(err)
	}
}

func init() {
	register.DoFn2x0[int, func(int, string)](&repeatFn{})
	register.DoFn2x0[[]byte, func(int, string)](&copiesFn{})
}
