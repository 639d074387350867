package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"reflect"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/dpsketch/dpsketch/misragries"
)

// Each estimate is within n/(k+1) below, and the noise above, of the truth, and the threshold and
// the number of sketches that the release tells are the same for one shard and for many, for no
// element, for one and for many.
func TestFrequentKeys(t *testing.T) {
	p := misragries.Params{Counters: 256, Epsilon: 1, Delta: 1e-9}
	threshold := 0.0
	for _, c := range []struct{ elements, shards int }{{200_000, 1}, {200_000, 7}, {200_000, 64}, {0, 7}, {1, 64}} {
		encoded := through(t, FrequentKeys, p, func(s beam.Scope) beam.PCollection {
			return generated(s, options{elements: c.elements, shards: c.shards})
		})
		var h misragries.Histogram[string]
		if err := h.UnmarshalBinary(encoded); err != nil {
			t.Fatal(err)
		}
		// An element alone is released with a probability of δ.
		if h.Input() != misragries.Summed || c.elements > 1 && h.Len() < 20 || c.elements <= 1 && h.Len() > 0 {
			t.Errorf("%v: %v", c, &h)
		}
		truth := map[string]float64{}
		for i := range c.shards {
			for key := range stream(i, c.shards, c.elements) {
				truth[key]++
			}
		}
		for key, estimate := range h.All() {
			// Noise of standard deviation below 3 is beyond 90 with a probability below e^{−30} for
			// each of a few hundred keys.
			if off := estimate - truth[key]; off > 90 || off < -90-float64(c.elements)/257 {
				t.Errorf("%v: %s is %v, released as %v", c, key, truth[key], estimate)
			}
		}
		if threshold == 0 {
			threshold = h.Threshold()
		}
		if h.Threshold() != threshold {
			t.Errorf("%v: threshold %v, %v with one shard", c, h.Threshold(), threshold)
		}
		// The number stands behind a header of 6 bytes, 5 bytes, 2 numbers of 4 and 4 of 8.
		if n := binary.LittleEndian.Uint32(encoded[51:]); n != sketchesShown {
			t.Errorf("%v: the release tells of %d sketches", c, n)
		}
	}
}

// A tally that travels in the middle of its work is the same as one that stays.
func TestTalliesTravel(t *testing.T) {
	p := misragries.Params{Counters: 16, Epsilon: 1, Delta: 1e-6}
	shard, total := &frequentShardFn{frequent{p}}, &frequentTotalFn{frequent{p}}
	one, state := must[*tally](t), must[[]byte](t)
	travel := func(a *tally) *tally { return one(decodeTally(state(encodeTally(a)))) }
	sum := one(total.CreateAccumulator())
	for range 5 {
		a := one(shard.CreateAccumulator())
		for i := range 400 {
			a = one(shard.AddInput(a, "tea"))
			if i%100 == 0 {
				a = one(shard.MergeAccumulators(travel(travel(a)), travel(one(shard.CreateAccumulator()))))
			}
			if i%150 == 0 {
				a = travel(a) // and goes on without a merge
			}
		}
		sum = travel(one(total.AddInput(sum, state(shard.ExtractOutput(travel(a))))))
	}
	encoded := state(total.ExtractOutput(one(total.MergeAccumulators(sum, one(total.CreateAccumulator())))))
	var h misragries.Histogram[string]
	if err := h.UnmarshalBinary(encoded); err != nil {
		t.Fatal(err)
	}
	// 2000 elements, each reduction takes 1/17, noise below 90 but for e^{−30}.
	if got := h.Estimate("tea"); got > 2090 || got < 2000*16./17-90 {
		t.Errorf("estimate %v", got)
	}
}

// More sketches than are shown are told as they are, as so many bundles say nothing of one element;
// fewer are filled up.
func TestPad(t *testing.T) {
	p := misragries.Params{Counters: 16, Epsilon: 1, Delta: 1e-6}
	f := frequent{p}
	for _, n := range []uint32{0, 1, 2, 3, 1000, sketchesShown - 1, sketchesShown, sketchesShown + 5} {
		a := must[*tally](t)(f.CreateAccumulator())
		for range min(n, 5) { // of so many in truth
			b := must[*misragries.Builder[string]](t)(misragries.New[string](p))
			b.Add("tea")
			if err := a.sum.Add(b); err != nil {
				t.Fatal(err)
			}
		}
		a.sketches = n
		if err := f.pad(a); err != nil || a.sketches != max(n, sketchesShown) {
			t.Errorf("%d sketches: padded to %d, %v", n, a.sketches, err)
		}
	}
}

// Bytes that are no tally, or one of other Params, are an error wherever they arrive, and so they
// are in a pipeline.
func TestHostileTallies(t *testing.T) {
	p := misragries.Params{Counters: 16, Epsilon: 1, Delta: 1e-6}
	shard, total := &frequentShardFn{frequent{p}}, &frequentTotalFn{frequent{p}}
	fresh := func() *tally { return must[*tally](t)(shard.CreateAccumulator()) }
	state := must[[]byte](t)(encodeTally(must[*tally](t)(shard.AddInput(fresh(), "tea"))))
	refused := func(what string, state []byte, want error) {
		t.Helper()
		_, merged := shard.MergeAccumulators(fresh(), &tally{arrived: state})
		_, mergedInto := total.MergeAccumulators(&tally{arrived: state}, fresh())
		_, taken := shard.AddInput(&tally{arrived: state}, "tea")
		_, extracted := shard.ExtractOutput(&tally{arrived: state})
		_, added := total.AddInput(fresh(), state)
		_, released := total.ExtractOutput(&tally{arrived: state})
		for i, err := range []error{merged, mergedInto, taken, extracted, added, released} {
			if !errors.Is(err, want) {
				t.Errorf("%s, use %d: %v", what, i, err)
			}
		}
	}
	for n := range state {
		refused("truncated", state[:n], misragries.ErrFormat)
	}
	refused("one byte more", append(state[:len(state):len(state)], 0), misragries.ErrFormat)
	refused("nonsense", []byte("this is not the state of a sum"), misragries.ErrFormat)
	other := frequentShardFn{frequent{misragries.Params{Counters: 17, Epsilon: 1, Delta: 1e-6}}}
	refused("other Params", must[[]byte](t)(other.ExtractOutput(must[*tally](t)(other.CreateAccumulator()))), misragries.ErrMismatch)

	pipeline, s := beam.NewPipelineWithRoot()
	beam.ParDo0(s, &catchFn{}, beam.Combine(s, total, beam.Create(s, state[:len(state)-1])))
	if err := execute(context.Background(), pipeline); err == nil {
		t.Error("a broken state went through a pipeline")
	}
}

// Beam uses the coder that is registered.
func TestCoderOfTallies(t *testing.T) {
	a := &tally{arrived: []byte("as it came")}
	if got := recoded(t, a); string(got.arrived) != "as it came" || got.sum != nil {
		t.Errorf("%v", got)
	}
}

func TestWrongFrequentKeys(t *testing.T) {
	_, s := beam.NewPipelineWithRoot()
	elements := generated(s, small)
	if _, err := FrequentKeys(s, misragries.Params{Counters: 16, Epsilon: 1}, elements); !errors.Is(err, misragries.ErrParams) {
		t.Errorf("no δ: %v", err)
	}
}

// recoded sends a value through the coder that Beam has for its type.
func recoded[V any](t *testing.T, v V) V {
	t.Helper()
	var buffer bytes.Buffer
	if err := beam.NewElementEncoder(reflect.TypeFor[V]()).Encode(v, &buffer); err != nil {
		t.Fatal(err)
	}
	got, err := beam.NewElementDecoder(reflect.TypeFor[V]()).Decode(&buffer)
	if err != nil {
		t.Fatal(err)
	}
	return got.(V)
}
