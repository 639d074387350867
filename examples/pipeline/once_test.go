package main

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window/trigger"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/teststream"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/kor"
	"github.com/dpsketch/dpsketch/misragries"
)

// arriving are elements that come in two batches, an hour apart: ten of each of the keys 0 to 99,
// and of 0 to 199.
func arriving(fn *window.Fn, options ...beam.WindowIntoOption) func(beam.Scope) beam.PCollection {
	return func(s beam.Scope) beam.PCollection {
		batches := teststream.NewConfig()
		for hour := range int64(2) {
			var keys []any
			for i := range 1000 * (hour + 1) {
				keys = append(keys, fmt.Sprint(i/10))
			}
			at := hour * time.Hour.Milliseconds()
			batches.AdvanceWatermark(at)
			if err := batches.AddElements(at, keys...); err != nil {
				panic(err)
			}
		}
		batches.AdvanceWatermarkToInfinity()
		return beam.WindowInto(s, fn, beam.ParDo(s, &spreadFn{Shards: 3}, teststream.Create(s, batches)), options...)
	}
}

// One release of all elements comes out, with each of them once, whatever windows they are in and
// however often their trigger fires.
//
// At ε = 1000 the noise of a count has a scale below 2/1000, and is beyond ½ with a probability
// below e^{−250}; no sketch has as many keys as counters, so there are no decrements, and the
// reduction takes 1/(k+1) of all that a sketch has, together at most 3000/4097 of a count. The
// bound of the distinct count is that of TestDistinctKeys.
func TestWindowsAndTriggers(t *testing.T) {
	for name, elements := range map[string]func(beam.Scope) beam.PCollection{
		"hours":        arriving(window.NewFixedWindows(time.Hour)),
		"sliding":      arriving(window.NewSlidingWindows(time.Hour, 4*time.Hour)),
		"discarding":   arriving(window.NewGlobalWindows(), beam.Trigger(trigger.Repeat(trigger.AfterCount(1))), beam.PanesDiscard()),
		"accumulating": arriving(window.NewGlobalWindows(), beam.Trigger(trigger.Repeat(trigger.AfterCount(1))), beam.PanesAccumulate()),
	} {
		var h misragries.Histogram[string]
		if err := h.UnmarshalBinary(through(t, FrequentKeys, misragries.Params{Counters: 4096, Epsilon: 1000, Delta: 1e-3}, elements)); err != nil {
			t.Fatal(err)
		}
		for i := range 200 {
			want := 10.0
			if i < 100 {
				want = 20
			}
			if got := h.Estimate(fmt.Sprint(i)); math.Abs(got-want) > 0.8 {
				t.Errorf("%s: key %d came %v times, released as %v", name, i, want, got)
			}
		}
		p := kor.Params{Epsilon: 4, Cells: 1 << 12, Levels: 16, Seed: hashing.NewSeed()}
		s := decodedSketch(t, through(t, DistinctKeys, p, elements))
		if off := s.Estimate() - 200; !(math.Abs(off) < 6*p.StreamStdErr(200, 1)) {
			t.Errorf("%s: 200 keys estimated as %.0f ± %.0f", name, s.Estimate(), p.StreamStdErr(200, 1))
		}
	}
}

// A shuffle is between the noise and whatever sees the release, so that a runner that repeats what
// comes after does not draw again.
func TestShuffleAfterTheNoise(t *testing.T) {
	p, s := beam.NewPipelineWithRoot()
	elements := generated(s, small)
	frequent := must[beam.PCollection](t)(FrequentKeys(s, misragries.Params{Counters: 16, Epsilon: 1, Delta: 1e-6}, elements))
	distinct := must[beam.PCollection](t)(DistinctKeys(s, kor.Params{Epsilon: 1, Cells: 64, Levels: 8, Seed: hashing.Seed{1}}, elements))
	beam.ParDo0(s, &catchFn{}, frequent)
	beam.ParDo0(s, &catchFn{}, distinct)
	edges, _, err := p.Build()
	if err != nil {
		t.Fatal(err)
	}
	makers, seen := map[*graph.Node]*graph.MultiEdge{}, 0
	for _, e := range edges {
		for _, out := range e.Output {
			makers[out.To] = e
		}
	}
	for _, e := range edges {
		if e.DoFn == nil || len(e.Output) > 0 { // not what catches
			continue
		}
		seen++
		if maker := makers[e.Input[0].From]; maker.Op != graph.Reshuffle {
			t.Errorf("a release comes from %v", maker)
		}
	}
	if seen != 2 {
		t.Errorf("%d releases seen", seen)
	}
}
