package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/dpsketch/dpsketch/examples/pipeline/dpbeam"
	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/kor/distinct"
	"github.com/dpsketch/dpsketch/misragries"
	"github.com/dpsketch/dpsketch/threshold/groupby"
)

var long = flag.Bool("long", false, "run the pipeline on 10⁷ rows and 10⁸ keys, in some minutes")

// keepFn keeps a release in a file.
type keepFn struct{ File string }

func (f *keepFn) ProcessElement(encoded []byte) error {
	if _, err := os.Stat(f.File); err == nil {
		return fmt.Errorf("a second release")
	}
	return os.WriteFile(f.File, encoded, 0o600)
}

// released runs a transform in the processes and returns its release, and the time.
func released(t *testing.T, o options, transform func(beam.Scope) (beam.PCollection, error)) ([]byte, time.Duration) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "release")
	p, s := beam.NewPipelineWithRoot()
	encoded, err := transform(s)
	if err != nil {
		t.Fatal(err)
	}
	beam.ParDo0(s, &keepFn{file}, encoded)
	start := time.Now()
	if err := execute(context.Background(), o, p); err != nil {
		t.Fatal(err)
	}
	took := time.Since(start)
	return must[[]byte](t)(os.ReadFile(file)), took
}

// full are the flags of a long run.
func full(t *testing.T) options {
	if !*long {
		t.Skip("only with -long")
	}
	o := small
	o.elements, o.users, o.shards, o.workers, o.epsilon = 10_000_000, 1_000_000, 64, 4, 1
	return o
}

// A GROUP BY of 10⁷ rows of 10⁶ users over 64 shards has the threshold and the noise of one
// machine, and its counts are off by as much, about the truth:
//
//	go test -run TestLong -v . -long -timeout 30m
//
// A count has normal noise: the mean square of hundreds of shown ones is within 40 % of the
// variance, and none is beyond 8 standard deviations, each with probability below 1e-7.
func TestLongUsers(t *testing.T) {
	o := full(t)
	p := groupby.Params{Epsilon: 1, Delta: 1e-6, Min: 0, Max: 1000}
	encoded, took := released(t, o, func(s beam.Scope) (beam.PCollection, error) { return dpbeam.UserGroups(s, p, rows(s, o)) })
	var g groupby.Groups[string]
	if err := g.UnmarshalBinary(encoded); err != nil {
		t.Fatal(err)
	}

	visits := make([][]row, o.users)
	for shard := range o.shards {
		for r := range table(shard, o.shards, o.elements, o.users) {
			visits[r.user] = append(visits[r.user], r)
		}
	}
	start := time.Now()
	single := must[*groupby.Builder[string]](t)(groupby.New[string](p))
	counts, sums := map[string]float64{}, map[string]float64{}
	for _, user := range visits {
		values := map[string]float64{}
		for _, r := range user {
			values[fmt.Sprintf("/page/%d", r.page)] += r.value
		}
		var keys []string
		var given []float64
		for key, value := range values {
			counts[key]++
			sums[key] += min(value, p.Max)
			keys, given = append(keys, key), append(given, value)
		}
		single.AddUserValues(keys, given)
	}
	one := must[*groupby.Groups[string]](t)(single.Release())
	t.Logf("%d rows of %d users over %d shards and %d processes in %v, on one machine in %v; %d bytes", o.elements, o.users, o.shards, o.workers,
		took.Round(time.Second), time.Since(start).Round(time.Second), len(encoded))

	if g.Params() != one.Params() || math.Abs(float64(g.Len()-one.Len())) > 0.1*float64(one.Len()) {
		t.Errorf("%v; one machine: %v", &g, one)
	}
	plan := must[groupby.Plan](t)(p.Plan())
	for name, groups := range map[string]*groupby.Groups[string]{"pipeline": &g, "one machine": one} {
		square, most, missed := 0.0, 0.0, 0
		for key, estimate := range groups.All() {
			off := (estimate - counts[key]) / plan.StdDev
			square, most = square+off*off/float64(groups.Len()), max(most, math.Abs(off))
			if lo, hi := groups.SumInterval(key, 1-1e-9); sums[key] < lo || sums[key] > hi {
				missed++
			}
		}
		t.Logf("%s: threshold %.2f, %d keys, counts off by %.2f standard deviations of %.1f, at most by %.2f", name, plan.Threshold, groups.Len(),
			math.Sqrt(square), plan.StdDev, most)
		if math.Abs(square-1) > 0.4 || most > 8 || missed > 0 || groups.Len() < 300 {
			t.Errorf("%s: mean square %v, at most %v, %d sums missed", name, square, most, missed)
		}
	}
}

// keysFn makes the keys of one shard: 3 of 64 parts of all, so that each key is in three shards.
type keysFn struct{ Keys, Shards int }

func (f *keysFn) ProcessElement(shard int, emit func(string)) {
	part, key := f.Keys/f.Shards, make([]byte, 0, 16)
	for i := range 3 * part {
		key = fmt.Appendf(key[:0], "u%d", (shard*part+i)%(part*f.Shards))
		emit(string(key))
	}
}

// 10⁸ keys, each in three of 64 shards, are counted within the interval, by one release.
func TestLongDistinct(t *testing.T) {
	o := full(t)
	o.elements = 100_000_000
	p := must[distinct.Params](t)(distinct.Params{Epsilon: 1}.Fit(0.01, 1e10, 1))
	p.Seed = hashing.NewSeed()
	encoded, took := released(t, o, func(s beam.Scope) (beam.PCollection, error) {
		return dpbeam.DistinctKeys(s, p, beam.ParDo(s, &keysFn{o.elements, o.shards}, shards(s, o)))
	})
	var d distinct.Sketch
	if err := d.UnmarshalBinary(encoded); err != nil {
		t.Fatal(err)
	}
	keys := float64(o.elements / o.shards * o.shards)
	lo, hi := d.Interval(1 - 1e-9)
	t.Logf("%v keys, three times, over %d shards and %d processes in %v: %.0f ± %.0f, [%.0f, %.0f]; a state has %d bytes, the release %d",
		keys, o.shards, o.workers, took.Round(time.Second), d.Estimate(), d.StdErr(), lo, hi, p.Levels*p.Cells/8, len(encoded))
	if lo > keys || keys > hi || d.StdErr() > 0.0101*keys {
		t.Error("not within the interval")
	}
}

// The frequent keys of 10⁷ elements over 64 shards are within their bounds, with the threshold and
// the noise of one shard.
//
// Noise of standard deviation 3.3 is beyond 150 with probability below e^{−30} for each key.
func TestLongFrequent(t *testing.T) {
	o := full(t)
	p := misragries.Params{Counters: 1024, Epsilon: 1, Delta: 1e-9, Method: misragries.ReducedSum}
	one := must[*misragries.Sum[string]](t)(misragries.NewSum[string](p))
	if err := one.Add(must[*misragries.Builder[string]](t)(misragries.New[string](p))); err != nil {
		t.Fatal(err)
	}
	oneShard := must[*misragries.Histogram[string]](t)(one.Release())
	encoded, took := released(t, o, func(s beam.Scope) (beam.PCollection, error) { return dpbeam.FrequentKeys(s, p, generated(s, o)) })
	var h misragries.Histogram[string]
	if err := h.UnmarshalBinary(encoded); err != nil {
		t.Fatal(err)
	}
	truth := map[string]float64{}
	for i := range o.shards {
		for key := range stream(i, o.shards, o.elements) {
			truth[key]++
		}
	}
	undercount, high, low := float64(o.elements)/float64(p.Counters+1), 0.0, 0.0
	for key, estimate := range h.All() {
		high, low = max(high, estimate-truth[key]), max(low, truth[key]-estimate)
	}
	t.Logf("%d elements over %d shards in %v; %v: at most %.1f above and %.1f below the truth, n/(k+1) = %.1f", o.elements, o.shards,
		took.Round(time.Second), &h, high, low, undercount)
	if high > 150 || low > undercount+150 || h.Len() < 20 || h.Params() != oneShard.Params() {
		t.Errorf("%v; of one shard %v", h.Params(), oneShard.Params())
	}
}

func init() {
	register.DoFn1x1[[]byte, error](&keepFn{})
	register.DoFn2x0[int, func(string)](&keysFn{})
}
