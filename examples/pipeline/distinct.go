package main

import (
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/kor"
)

// DistinctKeys takes pairs of a shard's number and a key, and gives one encoded release of all keys
// together, a kor.StreamSketch, which estimates how many distinct ones there are. It is ε-private
// for one key with all its occurrences, in whatever shards these are, and so for one element of the
// input as well.
//
// A key may come any number of times in any number of shards, and nothing removes duplicates. That
// is why the shards hold a [kor.StreamBuilder]:
//
//   - A kor.Builder holds a set. Merged, two of them hold the symmetric difference: a key of two
//     shards would cancel. It would need every distinct key to go through a shuffle that leaves one
//     of each, as much data as there are keys, and a release of it has more noise, a flip
//     probability of 1/(e^ε + 1) instead of e^{−ε}/2.
//   - A kor.StreamBuilder holds the cells that a key came to, and the release makes a fair coin of
//     each. The state of two shards together has the cells of both: it is the state of one sketch
//     of all elements, whatever the number of shards and however the runner cuts, orders and
//     repeats them.
//
// So a state, of the same size for any number of keys, is all that travels, and the noise of the
// one release is put on it at the end.
//
// The error is that of wrong Params.
func DistinctKeys(s beam.Scope, p kor.Params, elements beam.PCollection) (beam.PCollection, error) {
	if _, err := kor.NewStream(p); err != nil { // here, not on a worker
		return beam.PCollection{}, err
	}
	s = s.Scope("dpsketch.DistinctKeys")
	return once(s, &distinctShardFn{distinct{p}}, &noKeysFn{distinct{p}}, &distinctTotalFn{distinct{p}}, elements), nil
}

// seen is an accumulator: a sketch of the keys that came. One that has come from another machine is
// a private state until it is used.
type seen struct {
	builder *kor.StreamBuilder // nil in one that has come
	arrived []byte
}

// distinct holds what all steps have in common.
type distinct struct{ Params kor.Params }

func (d *distinct) CreateAccumulator() (*seen, error) {
	b, err := kor.NewStream(d.Params)
	return &seen{builder: b}, err
}

func (d *distinct) MergeAccumulators(a, b *seen) (*seen, error) {
	if err := d.restore(a); err != nil {
		return nil, err
	}
	if err := d.restore(b); err != nil {
		return nil, err
	}
	return a, a.builder.Merge(b.builder)
}

// restore makes an accumulator that has come usable.
func (d *distinct) restore(a *seen) error {
	if a.builder != nil {
		return nil
	}
	b, err := kor.NewStream(d.Params)
	if err != nil {
		return err
	}
	if err := b.RestorePrivateState(a.arrived); err != nil {
		return err
	}
	*a = seen{builder: b}
	return nil
}

// distinctShardFn makes a shard's keys into a private state.
type distinctShardFn struct{ distinct }

func (d *distinctShardFn) AddInput(a *seen, key string) (*seen, error) {
	if err := d.restore(a); err != nil {
		return nil, err
	}
	a.builder.Add(hashing.Fingerprint(d.Params.Seed, key))
	return a, nil
}

func (d *distinctShardFn) ExtractOutput(a *seen) ([]byte, error) {
	if err := d.restore(a); err != nil {
		return nil, err
	}
	return encodeSeen(a)
}

// noKeysFn gives the state of a shard without keys, so that an empty input is released like any
// other; see [noElementsFn].
type noKeysFn struct{ distinct }

func (d *noKeysFn) ProcessElement([]byte) ([]byte, error) {
	a, err := d.CreateAccumulator()
	if err != nil {
		return nil, err
	}
	return encodeSeen(a)
}

// distinctTotalFn merges the states of shards and releases the sketch of all.
type distinctTotalFn struct{ distinct }

func (d *distinctTotalFn) AddInput(a *seen, state []byte) (*seen, error) {
	return d.MergeAccumulators(a, &seen{arrived: state})
}

func (d *distinctTotalFn) ExtractOutput(a *seen) ([]byte, error) {
	if err := d.restore(a); err != nil {
		return nil, err
	}
	sketch, err := a.builder.Release()
	if err != nil {
		return nil, err
	}
	return sketch.MarshalBinary()
}

// encodeSeen and decodeSeen move an accumulator between machines. One that has come and was not
// used goes on as it is.
func encodeSeen(a *seen) ([]byte, error) {
	if a.builder == nil {
		return a.arrived, nil
	}
	return a.builder.AppendPrivateState(nil)
}

func decodeSeen(state []byte) (*seen, error) { return &seen{arrived: state}, nil }

func init() {
	beam.RegisterCoder(reflect.TypeFor[*seen](), encodeSeen, decodeSeen)
	register.Combiner3[*seen, string, []byte](&distinctShardFn{})
	register.Combiner3[*seen, []byte, []byte](&distinctTotalFn{})
	register.DoFn1x2[[]byte, []byte, error](&noKeysFn{})
}
