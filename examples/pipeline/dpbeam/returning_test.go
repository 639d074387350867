package dpbeam

import (
	"errors"
	"fmt"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/kor/distinct"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
)

// laterFn gives what is behind the first keys of repeatFn, and as many more.
type laterFn struct{ From, To int }

func (f *laterFn) ProcessElement(_ int, emit func(string)) {
	for key := f.From; key < f.To; key++ {
		emit(fmt.Sprint(key))
	}
}

// Of 20,000 keys in many shards 5000 are back on the next day, with 10,000 others; each number is
// in an interval that misses it with probability 1e-9.
func TestReturningKeys(t *testing.T) {
	p := distinct.Params{Epsilon: 1, Cells: 1 << 12, Levels: 16, Seed: hashing.NewSeed()}
	encoded := through(t, func(s beam.Scope, p distinct.Params, before beam.PCollection) (beam.PCollection, error) {
		return ReturningKeys(s, p, before, beam.ParDo(s, &laterFn{15_000, 30_000}, numbers(s, 8)))
	}, p, repeated(20_000, 64))
	var pair distinct.Pair
	cli.OK(pair.UnmarshalBinary(encoded))
	if want := cli.Must(p.Plan()).Pair; !pair.Guarantee().Equal(want) {
		t.Errorf("%v", &pair)
	}
	for truth, size := range map[float64]interface {
		Interval(float64) (float64, float64)
	}{20_000: pair.A(), 15_000.0: pair.OnlyA(), 5000: pair.Both(), 30_000: pair.Either(), 10_000: pair.OnlyB()} {
		if lo, hi := size.Interval(1 - 1e-9); !(lo <= truth && truth <= hi && hi-lo < 0.2*30_000) {
			t.Errorf("%v not in [%v, %v]", truth, lo, hi)
		}
	}
}

// Bytes that are no state of a day are an error, and wrong Params are one before there is a
// pipeline.
func TestHostileDays(t *testing.T) {
	p := distinct.Params{Epsilon: 1, Cells: 100, Levels: 4, Seed: hashing.Seed{1}}
	state := cli.Must(cli.Must(distinct.New(p)).AppendPrivateState([]byte{1}))
	total := &returningFn{p}
	if _, err := total.ProcessElement(0, one(state, nil, state)); err != nil {
		t.Error(err)
	}
	for _, hostile := range [][]byte{{2}, {0}, state[:40], append([]byte{9}, state[1:]...)} {
		if _, err := total.ProcessElement(0, one(state, hostile)); !errors.Is(err, distinct.ErrFormat) {
			t.Errorf("%v: %v", hostile, err)
		}
	}
	_, s := beam.NewPipelineWithRoot()
	keys := repeated(1, 1)(s)
	for _, wrong := range []distinct.Params{{}, {Epsilon: 1}, {Epsilon: 1, CountShare: 0.5, Seed: hashing.Seed{1}}} {
		if _, err := ReturningKeys(s, wrong, keys, keys); !errors.Is(err, distinct.ErrParams) {
			t.Errorf("%v: %v", wrong, err)
		}
	}
}

func init() { register.DoFn2x0[int, func(string)](&laterFn{}) }
