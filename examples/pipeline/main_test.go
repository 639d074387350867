package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/dpsketch/dpsketch/misragries"
)

func TestMain(m *testing.M) {
	beam.Init()
	os.Exit(m.Run())
}

// released catches what a pipeline gives.
type catchFn struct{}

var caught [][]byte

func (*catchFn) ProcessElement(encoded []byte) { caught = append(caught, bytes.Clone(encoded)) }

// through runs a stream through the pipeline on the local runner.
func through(t *testing.T, o options) *misragries.Histogram[string] {
	t.Helper()
	p, s := beam.NewPipelineWithRoot()
	caught = nil
	beam.ParDo0(s, &catchFn{}, FrequentKeys(s, o.params(), generated(s, o)))
	if err := execute(context.Background(), p); err != nil {
		t.Fatal(err)
	}
	if len(caught) != 1 {
		t.Fatalf("%d releases", len(caught))
	}
	h := new(misragries.Histogram[string])
	if err := h.UnmarshalBinary(caught[0]); err != nil {
		t.Fatal(err)
	}
	return h
}

// Each estimate is within n/(k+1) below, and the noise above, of the truth, and the threshold is the same for one shard and for many.
func TestPipeline(t *testing.T) {
	threshold := 0.0
	for _, shards := range []int{1, 7, 64} {
		o := options{elements: 200_000, shards: shards, counters: 256, epsilon: 1, delta: 1e-9}
		h := through(t, o)
		truth := map[string]float64{}
		for i := range shards {
			for key := range stream(i, shards, o.elements) {
				truth[key]++
			}
		}
		if h.Input() != misragries.Summed || h.Len() < 20 {
			t.Errorf("%d shards: %v", shards, h)
		}
		for key, estimate := range h.All() {
			// Noise of standard deviation below 3 is beyond 90 with a probability below e^{−30} for each of a few hundred keys.
			if off := estimate - truth[key]; off > 90 || off < -90-float64(o.elements)/257 {
				t.Errorf("%d shards: %s is %v, released as %v", shards, key, truth[key], estimate)
			}
		}
		if threshold == 0 {
			threshold = h.Threshold()
		}
		if h.Threshold() != threshold {
			t.Errorf("threshold %v with %d shards, %v with one", h.Threshold(), shards, threshold)
		}
	}
}

// An accumulator that travels in the middle of its work is the same as one that stays.
func TestAccumulatorsTravel(t *testing.T) {
	p := misragries.Params{Counters: 16, Epsilon: 1, Delta: 1e-6}
	shard, sum := &shardFn{combiner{p}}, &totalFn{combiner{p}}
	travel := func(a *accumulator) *accumulator {
		state, err := encode(a)
		if err != nil {
			t.Fatal(err)
		}
		b, err := decode(state)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	must := func(a *accumulator, err error) *accumulator {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	total := sum.CreateAccumulator()
	for range 5 {
		a := shard.CreateAccumulator()
		for i := range 400 {
			a = must(shard.AddInput(a, "tea"))
			if i%100 == 0 {
				a = must(shard.MergeAccumulators(travel(travel(a)), travel(shard.CreateAccumulator())))
			}
		}
		state, err := shard.ExtractOutput(travel(a))
		if err != nil {
			t.Fatal(err)
		}
		total = travel(must(sum.AddInput(total, state)))
	}
	encoded, err := sum.ExtractOutput(must(sum.MergeAccumulators(total, sum.CreateAccumulator())))
	if err != nil {
		t.Fatal(err)
	}
	var h misragries.Histogram[string]
	if err := h.UnmarshalBinary(encoded); err != nil {
		t.Fatal(err)
	}
	// 2000 elements, each reduction takes 1/17, noise below 90 but for e^{−30}.
	if got := h.Estimate("tea"); got > 2090 || got < 2000*16./17-90 {
		t.Errorf("estimate %v", got)
	}
	if _, err := shard.ExtractOutput(&accumulator{arrived: []byte("nonsense")}); err == nil {
		t.Error("nonsense has arrived, and nobody noticed")
	}
}

func TestLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lines.txt")
	if err := os.WriteFile(path, []byte(strings.Repeat("tea\ntea\n\nwater\n", 2000)), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(context.Background(), options{shards: 8, counters: 16, epsilon: 1, delta: 1e-9, input: path, top: 5}, &out); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.Contains(text, "tea") || strings.Index(text, "tea") > strings.Index(text, "water") {
		t.Errorf("printed:\n%s", text)
	}
}

func TestCompare(t *testing.T) {
	var out bytes.Buffer
	if err := run(context.Background(), options{elements: 50_000, shards: 8, counters: 64, epsilon: 1, delta: 1e-6, compare: true}, &out); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(out.String(), "\n"); lines != 14 {
		t.Errorf("%d lines:\n%s", lines, out.String())
	}
	if err := run(context.Background(), options{elements: 5, shards: 0, counters: 64, epsilon: 1, delta: 1e-6}, &out); err == nil {
		t.Error("no shards")
	}
	if err := run(context.Background(), options{elements: 5, shards: 1, counters: 64, epsilon: -1, delta: 1e-6}, &out); err == nil {
		t.Error("negative ε")
	}
}

func init() { register.DoFn1x0[[]byte](&catchFn{}) }
