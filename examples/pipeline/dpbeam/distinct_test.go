package dpbeam

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/kor/distinct"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
)

func decodedSketch(t *testing.T, encoded []byte) *distinct.Sketch {
	t.Helper()
	s := new(distinct.Sketch)
	cli.OK(s.UnmarshalBinary(encoded))
	return s
}

// repeatFn gives a shard its keys: key i comes i mod 4 + 1 times, in as many different shards if
// there are so many.
type repeatFn struct{ Keys, Shards int }

func (f *repeatFn) ProcessElement(shard int, emit func(string)) {
	for i := range f.Keys {
		for time := range i%4 + 1 {
			if (i/4+time)%f.Shards == shard {
				emit(fmt.Sprint(i))
			}
		}
	}
}

func repeated(keys, shards int) func(beam.Scope) beam.PCollection {
	return func(s beam.Scope) beam.PCollection { return beam.ParDo(s, &repeatFn{keys, shards}, numbers(s, shards)) }
}

// The number of distinct keys is within the stated error, although three of four are in several
// shards; all that is public of the release but its count is the same for any number of shards.
//
// The estimate has a standard error of 1 % that is normal but for noise of a few keys: eight of
// them, and Interval(1 − 1e-9), are passed with probability below 1e-8. Keys that were counted in
// each shard would be two and a half times as many.
func TestDistinctKeys(t *testing.T) {
	p := distinct.Params{Epsilon: 1, Cells: 1 << 12, Levels: 16, Seed: hashing.NewSeed()}
	const keys = 20_000
	for _, shards := range []int{1, 64} {
		encoded := through(t, DistinctKeys, p, repeated(keys, shards))
		s := decodedSketch(t, encoded)
		lo, hi := s.Interval(1 - 1e-9)
		if off := s.Estimate() - keys; !(math.Abs(off) < 8*s.StdErr() && lo <= keys && keys <= hi && hi-lo < 16*s.StdErr()) {
			t.Errorf("%d shards: estimated as %.0f ± %.0f, in [%.0f, %.0f]", shards, s.Estimate(), s.StdErr(), lo, hi)
		}
		if want := p.Guarantee(); !s.Guarantee().Equal(want) || s.Params().Epsilon != p.Epsilon || s.Params().Seed != p.Seed {
			t.Errorf("%d shards: %v", shards, s)
		}
	}
}

// An empty input is released like any other.
func TestNoKeys(t *testing.T) {
	p := distinct.Params{Epsilon: 1, Cells: 1 << 10, Levels: 16, Seed: hashing.NewSeed()}
	s := decodedSketch(t, through(t, DistinctKeys, p, repeated(0, 3)))
	if n := s.Estimate(); n > 40 || n < -40 { // noise: e^{−30}
		t.Errorf("%v of no key", n)
	}
}

// Before the noise, the bundles' states that were merged are the state of one machine: the same
// bytes, whatever the number of shards that a key is in and how often it comes there.
func TestShardsAreOneSketch(t *testing.T) {
	p := distinct.Params{Epsilon: 1, Cells: 64, Levels: 8, Seed: hashing.Seed{1, 2, 3}}
	const keys = 400
	one := cli.Must(distinct.New(p))
	for i := range keys {
		distinct.AddKey(one, fmt.Sprint(i))
	}
	want := cli.Must(one.AppendPrivateState(nil))
	var states [][]byte // of a bundle for each shard; Prism would make one of all
	for shard := range 64 {
		f := &keysFn{Params: p}
		err := f.StartBundle(nil)
		(&repeatFn{keys, 64}).ProcessElement(shard, func(key string) { f.ProcessElement(key, nil) })
		cli.OK(errors.Join(err, f.FinishBundle(func(state []byte) { states = append(states, state) })))
	}
	all := cli.Must(distinct.New(p))
	for _, state := range states {
		b := cli.Must(distinct.New(p))
		cli.OK(errors.Join(b.RestorePrivateState(state), all.Merge(b)))
	}
	if got := cli.Must(all.AppendPrivateState(nil)); !bytes.Equal(got, want) {
		t.Errorf("merged: %x, one machine: %x", got, want)
	}
}

// one yields a state once.
func one(states ...[]byte) func(*[]byte) bool {
	return func(state *[]byte) bool {
		if len(states) == 0 {
			return false
		}
		*state, states = states[0], states[1:]
		return true
	}
}

// Bytes that are no state, or one of other Params, are an error, and no release comes of them.
func TestHostileStates(t *testing.T) {
	p := distinct.Params{Epsilon: 1, Cells: 100, Levels: 4, Seed: hashing.Seed{1}}
	state := cli.Must(cli.Must(distinct.New(p)).AppendPrivateState(nil))
	total := &distinctFn{p}
	if _, err := total.ProcessElement(0, one(state, state)); err != nil {
		t.Error(err)
	}
	for n := 1; n < len(state); n++ {
		if _, err := total.ProcessElement(0, one(state, state[:n])); !errors.Is(err, distinct.ErrFormat) {
			t.Fatalf("%d bytes: %v", n, err)
		}
	}
	p.Cells++
	if _, err := (&distinctFn{p}).ProcessElement(0, one(state)); !errors.Is(err, distinct.ErrMismatch) {
		t.Error(err)
	}
}

// Wrong Params are an error before there is a pipeline.
func TestWrongDistinctKeys(t *testing.T) {
	_, s := beam.NewPipelineWithRoot()
	elements := repeated(1, 1)(s)
	for _, p := range []distinct.Params{{}, {Epsilon: 1, Cells: 100, Levels: 4}, {Epsilon: math.NaN(), Cells: 100, Levels: 4, Seed: hashing.Seed{1}}} {
		if _, err := DistinctKeys(s, p, elements); !errors.Is(err, distinct.ErrParams) {
			t.Errorf("%v: %v", p, err)
		}
	}
}

func init() {
	register.DoFn2x0[int, func(string)](&repeatFn{})
	register.Emitter1[string]()
}
