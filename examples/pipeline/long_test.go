package main

import (
	"context"
	"flag"
	"math"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/dpsketch/dpsketch/kor"
	"github.com/dpsketch/dpsketch/misragries"
)

var long = flag.Bool("long", false, "run the pipeline on 10⁷ elements, in about a minute")

// Both answers to 10⁷ elements over 64 shards are within their bounds, with the threshold and the
// standard error of one shard:
//
//	go test -run TestLong -v . -long
//
// The bounds are those of TestFrequentKeys and TestDistinctKeys: six standard errors of 3 %.
func TestLong(t *testing.T) {
	if !*long {
		t.Skip("only with -long")
	}
	o := small
	o.elements, o.shards, o.counters, o.relative, o.largest, o.epsilon = 10_000_000, 64, 1024, 0.03, 1e9, 1
	r, err := o.releases()
	if err != nil {
		t.Fatal(err)
	}
	one := must[*misragries.Sum[string]](t)(misragries.NewSum[string](*r.frequent))
	if err := one.Add(must[*misragries.Builder[string]](t)(misragries.New[string](*r.frequent))); err != nil {
		t.Fatal(err)
	}
	oneShard := must[*misragries.Histogram[string]](t)(one.Release())

	p, s := beam.NewPipelineWithRoot()
	caught = nil
	elements := generated(s, o)
	beam.ParDo0(s, &catchFn{}, must[beam.PCollection](t)(FrequentKeys(s, *r.frequent, elements)))
	beam.ParDo0(s, &catchFn{}, must[beam.PCollection](t)(DistinctKeys(s, *r.distinct, elements)))
	start := time.Now()
	if err := execute(context.Background(), p); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d elements over %d shards in %v", o.elements, o.shards, time.Since(start).Round(time.Second))

	truth := map[string]float64{}
	for i := range o.shards {
		for key := range stream(i, o.shards, o.elements) {
			truth[key]++
		}
	}
	kinds := 0
	for _, encoded := range caught {
		var h misragries.Histogram[string]
		var d kor.StreamSketch
		switch {
		case h.UnmarshalBinary(encoded) == nil:
			kinds |= 1
			undercount, high, low := float64(o.elements)/float64(o.counters+1), 0.0, 0.0
			for key, estimate := range h.All() {
				high, low = max(high, estimate-truth[key]), max(low, truth[key]-estimate)
			}
			t.Logf("%v: at most %.1f above and %.1f below the truth, n/(k+1) = %.1f", &h, high, low, undercount)
			// Noise of standard deviation 3.3 is beyond 150 with a probability below e^{−30} for
			// each key.
			if high > 150 || low > undercount+150 || h.Len() < 20 || h.Threshold() != oneShard.Threshold() || h.StdDev() != oneShard.StdDev() {
				t.Errorf("threshold %v, noise %v; of one shard %v and %v", h.Threshold(), h.StdDev(), oneShard.Threshold(), oneShard.StdDev())
			}
		case d.UnmarshalBinary(encoded) == nil:
			kinds |= 2
			keys := float64(len(truth))
			lo, hi := d.Interval(1 - 1e-9)
			stdErr := r.distinct.StreamStdErr(keys, 1)
			t.Logf("%v: %d keys estimated as %.0f ± %.0f, within [%.0f, %.0f] with confidence 1 − 1e-9", &d, len(truth), d.Estimate(), stdErr, lo, hi)
			if !(math.Abs(d.Estimate()-keys) < 6*stdErr) || lo > keys || hi < keys || stdErr > 0.0305*keys || d.Releases() != 1 {
				t.Error("not within the bounds")
			}
		}
	}
	if len(caught) != 2 || kinds != 3 {
		t.Errorf("%d releases of kinds %b", len(caught), kinds)
	}
}
