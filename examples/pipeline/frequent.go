package main

import (
	"encoding/binary"
	"fmt"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/dpsketch/dpsketch/misragries"
)

// FrequentKeys takes pairs of a shard's number and an element, and gives one encoded release of all
// elements, a misragries.Histogram[string].
//
// The first step sketches each shard, the second adds the reduced sketches up and, once, at the
// end, releases; see [once].
//
// The guarantee is for two inputs of which one has one element more, and the others are in the same
// sketches in the same order. How a runner cuts its input into bundles, each of which makes a
// sketch for a shard, is like timing: it must not depend on whether one element is there.
// [DistinctKeys] needs nothing of the kind.
//
// The error is that of wrong Params.
func FrequentKeys(s beam.Scope, p misragries.Params, elements beam.PCollection) (beam.PCollection, error) {
	if _, err := misragries.NewSum[string](p); err != nil { // here, not on a worker
		return beam.PCollection{}, err
	}
	s = s.Scope("dpsketch.FrequentKeys")
	return once(s, &frequentShardFn{frequent{p}}, &noElementsFn{frequent{p}}, &frequentTotalFn{frequent{p}}, elements), nil
}

// tally is an accumulator: a sketch that takes elements, and the sum of the sketches that have been
// reduced. One that has come from another machine is what [encodeTally] made until it is used.
type tally struct {
	builder  *misragries.Builder[string] // nil until an element comes
	sum      *misragries.Sum[string]     // nil in one that has come
	sketches uint32                      // in the sum
	arrived  []byte
}

// frequent holds what all steps have in common.
type frequent struct{ Params misragries.Params }

func (f *frequent) CreateAccumulator() (*tally, error) {
	sum, err := misragries.NewSum[string](f.Params)
	return &tally{sum: sum}, err
}

func (f *frequent) MergeAccumulators(a, b *tally) (*tally, error) {
	if err := f.reduce(a); err != nil {
		return nil, err
	}
	if err := f.reduce(b); err != nil {
		return nil, err
	}
	a.sketches += b.sketches
	return a, a.sum.Merge(b.sum)
}

// reduce brings all that the tally holds into its sum.
func (f *frequent) reduce(t *tally) error {
	if t.sum == nil {
		if err := f.restore(t); err != nil {
			return err
		}
	}
	return t.reduce()
}

// restore makes a tally that has come usable.
func (f *frequent) restore(t *tally) error {
	if len(t.arrived) < 4 {
		return fmt.Errorf("a state of %d bytes: %w", len(t.arrived), misragries.ErrFormat)
	}
	sum, err := misragries.NewSum[string](f.Params)
	if err != nil {
		return err
	}
	if err := sum.RestorePrivateState(t.arrived[4:]); err != nil {
		return err
	}
	*t = tally{sum: sum, sketches: binary.LittleEndian.Uint32(t.arrived)}
	return nil
}

func (t *tally) reduce() error {
	if t.builder == nil {
		return nil
	}
	b := t.builder
	t.builder = nil
	t.sketches++
	return t.sum.Add(b)
}

// frequentShardFn makes a shard's elements into the private state of a sum.
type frequentShardFn struct{ frequent }

func (f *frequentShardFn) AddInput(t *tally, key string) (*tally, error) {
	if t.builder == nil {
		if err := f.reduce(t); err != nil {
			return nil, err
		}
		b, err := misragries.New[string](f.Params)
		if err != nil {
			return nil, err
		}
		t.builder = b
	}
	t.builder.Add(key)
	return t, nil
}

func (f *frequentShardFn) ExtractOutput(t *tally) ([]byte, error) {
	if err := f.reduce(t); err != nil {
		return nil, err
	}
	return encodeTally(t)
}

// noElementsFn gives the state of a shard without elements. It goes into the sum so that there is a
// sum, and a release, of an empty stream too: none would tell that not one element came.
type noElementsFn struct{ frequent }

func (f *noElementsFn) ProcessElement([]byte) ([]byte, error) {
	t, err := f.CreateAccumulator()
	if err != nil {
		return nil, err
	}
	return encodeTally(t)
}

// frequentTotalFn adds up the states of shards and releases the sum.
type frequentTotalFn struct{ frequent }

func (f *frequentTotalFn) AddInput(t *tally, state []byte) (*tally, error) {
	return f.MergeAccumulators(t, &tally{arrived: state})
}

func (f *frequentTotalFn) ExtractOutput(t *tally) ([]byte, error) {
	if err := f.reduce(t); err != nil {
		return nil, err
	}
	if err := f.pad(t); err != nil {
		return nil, err
	}
	h, err := t.sum.Release()
	if err != nil {
		return nil, err
	}
	return h.MarshalBinary()
}

// sketchesShown is the number of sketches that every release says it has. There are as many as
// pairs of a bundle and a shard in it, fewer than any runner makes.
const sketchesShown = 1 << 30

// pad adds sketches of nothing to the sum, for a release tells how many it is of, and a shard that
// has a sketch because of one element would show that element. The bounds that hold for all keys at
// once become a few counts wider, as if so many shards had had elements.
func (f *frequent) pad(t *tally) error {
	nothing, err := misragries.New[string](f.Params)
	if err != nil {
		return err
	}
	filler := &tally{sum: t.sum, builder: nothing}
	if filler.sum, err = misragries.NewSum[string](f.Params); err != nil {
		return err
	}
	for missing := uint32(sketchesShown) - min(t.sketches, sketchesShown); missing > 0; missing >>= 1 {
		copied, err := encodeTally(filler)
		if err != nil {
			return err
		}
		if missing&1 != 0 {
			if t, err = f.MergeAccumulators(t, &tally{arrived: copied}); err != nil {
				return err
			}
		}
		if filler, err = f.MergeAccumulators(filler, &tally{arrived: copied}); err != nil { // twice as many
			return err
		}
	}
	return nil
}

// encodeTally and decodeTally move a tally between machines: the number of sketches in 4 bytes, and
// the private state of their sum. One that has come and was not used goes on as it is.
func encodeTally(t *tally) ([]byte, error) {
	if t.sum == nil {
		return t.arrived, nil
	}
	if err := t.reduce(); err != nil {
		return nil, err
	}
	return t.sum.AppendPrivateState(binary.LittleEndian.AppendUint32(nil, t.sketches))
}

func decodeTally(state []byte) (*tally, error) { return &tally{arrived: state}, nil }

func init() {
	beam.RegisterCoder(reflect.TypeFor[*tally](), encodeTally, decodeTally)
	register.Combiner3[*tally, string, []byte](&frequentShardFn{})
	register.Combiner3[*tally, []byte, []byte](&frequentTotalFn{})
	register.DoFn1x2[[]byte, []byte, error](&noElementsFn{})
}
