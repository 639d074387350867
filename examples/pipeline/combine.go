package main

import (
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/dpsketch/dpsketch/misragries"
)

// FrequentKeys takes pairs of a shard's number and an element, and gives one encoded release of all elements, a misragries.Histogram[string].
//
// The first step sketches each shard, the second adds the reduced sketches up and, once, at the end, releases. A runner that repeats a step after a
// failure keeps the result of one of the attempts; the others stay inside the pipeline like all the private data there.
func FrequentKeys(s beam.Scope, p misragries.Params, elements beam.PCollection) beam.PCollection {
	s = s.Scope("dpsketch.FrequentKeys")
	shards := beam.CombinePerKey(s, &shardFn{combiner{p}}, elements)
	return beam.Combine(s, &totalFn{combiner{p}}, beam.ParDo(s, dropShard, shards))
}

func dropShard(_ int, state []byte) []byte { return state }

// accumulator is what has been counted: a sketch that takes elements, and the sum of the sketches that have been reduced. One that has come from another
// machine is the private state of a sum until it is used.
type accumulator struct {
	params  misragries.Params
	builder *misragries.Builder[string]
	sum     *misragries.Sum[string]
	arrived []byte
}

// combiner holds what both steps have in common.
type combiner struct{ Params misragries.Params }

func (c *combiner) CreateAccumulator() *accumulator { return &accumulator{params: c.Params} }

func (c *combiner) MergeAccumulators(a, b *accumulator) (*accumulator, error) {
	a.params, b.params = c.Params, c.Params
	if err := a.reduce(); err != nil {
		return nil, err
	}
	if err := b.reduce(); err != nil {
		return nil, err
	}
	return a, a.sum.Merge(b.sum)
}

// reduce brings all that the accumulator holds into its sum.
func (a *accumulator) reduce() (err error) {
	if a.sum == nil {
		if a.sum, err = misragries.NewSum[string](a.params); err != nil {
			return err
		}
	}
	if a.arrived != nil {
		if err := a.sum.RestorePrivateState(a.arrived); err != nil {
			return err
		}
		a.arrived = nil
	}
	if a.builder == nil {
		return nil
	}
	b := a.builder
	a.builder = nil
	return a.sum.Add(b)
}

// shardFn makes a shard's elements into the private state of a sum.
type shardFn struct{ combiner }

func (f *shardFn) AddInput(a *accumulator, key string) (*accumulator, error) {
	if a.builder == nil {
		a.params = f.Params
		b, err := misragries.New[string](f.Params)
		if err != nil {
			return nil, err
		}
		a.builder = b
	}
	a.builder.Add(key)
	return a, nil
}

func (f *shardFn) ExtractOutput(a *accumulator) ([]byte, error) {
	a.params = f.Params
	if err := a.reduce(); err != nil {
		return nil, err
	}
	return a.sum.AppendPrivateState(nil)
}

// totalFn adds up the states of shards and releases the sum.
type totalFn struct{ combiner }

func (f *totalFn) AddInput(a *accumulator, state []byte) (*accumulator, error) {
	return f.MergeAccumulators(a, &accumulator{arrived: state})
}

func (f *totalFn) ExtractOutput(a *accumulator) ([]byte, error) {
	a.params = f.Params
	if err := a.reduce(); err != nil {
		return nil, err
	}
	h, err := a.sum.Release()
	if err != nil {
		return nil, err
	}
	return h.MarshalBinary()
}

// encode and decode move an accumulator between machines. One that has arrived and was not used goes on as it is.
func encode(a *accumulator) ([]byte, error) {
	if a.arrived != nil && a.builder == nil && a.sum == nil {
		return a.arrived, nil
	}
	if err := a.reduce(); err != nil {
		return nil, err
	}
	return a.sum.AppendPrivateState(nil)
}

func decode(state []byte) (*accumulator, error) { return &accumulator{arrived: state}, nil }

func init() {
	beam.RegisterCoder(reflect.TypeFor[*accumulator](), encode, decode)
}
