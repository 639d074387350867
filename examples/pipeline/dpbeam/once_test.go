package dpbeam

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window/trigger"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/teststream"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/kor/distinct"
	"github.com/dpsketch/dpsketch/misragries"
	"github.com/dpsketch/dpsketch/threshold/groupby"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/examples/internal/cli/clitest"
)

// manyFn gives the key "many" 10,000 times, if it is not for no key at all.
type manyFn struct{ Keys int }

func (f *manyFn) ProcessElement(_ []byte, emit func(string)) {
	for range min(f.Keys, 1) * 10_000 {
		emit("many")
	}
}

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
		return beam.WindowInto(s, fn, teststream.Create(s, batches), options...)
	}
}

// users makes each key one user's entry in the key "all".
func users(elements func(beam.Scope) beam.PCollection) func(beam.Scope) beam.PCollection {
	return func(s beam.Scope) beam.PCollection { return beam.ParDo(s, &userFn{}, elements(s)) }
}

type userFn struct{}

func (*userFn) ProcessElement(user string) (string, Entry) { return user, Entry{Key: "all"} }

// One release of all elements comes out, with each of them once, whatever windows they are in and
// however often their trigger fires.
//
// At ε = 1000 the noise of a count has a scale below 2/1000, and is beyond ½ with probability below
// e^{−250}; no sketch has as many keys as counters, so there are no decrements, and the reduction
// takes 1/(k+1) of all that a sketch has, together at most 3000/4097 of a count. At ε = 60 that of
// a count of users is below 3, and ten of them are passed with probability 1e-23.
func TestWindowsAndTriggers(t *testing.T) {
	for name, elements := range map[string]func(beam.Scope) beam.PCollection{
		"sliding":      arriving(window.NewSlidingWindows(time.Hour, 4*time.Hour)),
		"accumulating": arriving(window.NewGlobalWindows(), beam.Trigger(trigger.Repeat(trigger.AfterCount(1))), beam.PanesAccumulate()),
	} {
		var h misragries.Histogram[string]
		cli.OK(h.UnmarshalBinary(through(t, FrequentKeys, misragries.Params{Counters: 4096, Epsilon: 1000, Delta: 1e-3}, elements)))
		for i := range 200 {
			want := 10.0
			if i < 100 {
				want = 20
			}
			if got := h.Estimate(fmt.Sprint(i)); math.Abs(got-want) > 0.8 {
				t.Errorf("%s: key %d came %v times, released as %v", name, i, want, got)
			}
		}
		p := distinct.Params{Epsilon: 4, Cells: 1 << 12, Levels: 16, Seed: hashing.NewSeed()}
		s := decodedSketch(t, through(t, DistinctKeys, p, elements))
		if off := s.Estimate() - 200; !(math.Abs(off) < 8*s.StdErr()) {
			t.Errorf("%s: 200 keys estimated as %.0f ± %.0f", name, s.Estimate(), s.StdErr())
		}
		var g groupby.Groups[string]
		cli.OK(g.UnmarshalBinary(through(t, UserGroups, groupby.Params{Epsilon: 60, Delta: 1e-3, FullKeys: 1}, users(elements))))
		plan := cli.Must(g.Params().Plan())
		if off := g.Estimate("all") - 200; math.Abs(off) > 10*plan.StdDev {
			t.Errorf("%s: 200 users released as %v ± %v", name, g.Estimate("all"), plan.StdDev)
		}
	}
}

// A shuffle is between the noise and whatever sees the release, so that a runner that repeats what
// comes after does not draw again.
func TestShuffleAfterTheNoise(t *testing.T) {
	p, s := beam.NewPipelineWithRoot()
	elements := repeated(10, 2)(s)
	for _, release := range []beam.PCollection{
		cli.Must(FrequentKeys(s, misragries.Params{Counters: 16, Epsilon: 1, Delta: 1e-6}, elements)),
		cli.Must(DistinctKeys(s, distinct.Params{Epsilon: 1, Cells: 64, Levels: 8, Seed: hashing.Seed{1}}, elements)),
		cli.Must(UserGroups(s, groupby.Params{Epsilon: 1, Delta: 1e-6}, visits(10, 2)(s))),
		cli.Must(ListedGroups(s, groupby.Params{Epsilon: 1}, []string{"by1"}, visits(10, 2)(s))),
	} {
		beam.ParDo0(s, &recordFn{}, release)
	}
	edges, _, err := p.Build()
	clitest.Not(t, err != nil, "%v", err)
	makers, seen := map[*graph.Node]*graph.MultiEdge{}, 0
	for _, e := range edges {
		for _, out := range e.Output {
			makers[out.To] = e
		}
	}
	for _, e := range edges {
		if e.DoFn == nil || len(e.Output) > 0 { // not what records
			continue
		}
		seen++
		if maker := makers[e.Input[0].From]; maker.Op != graph.Reshuffle {
			t.Errorf("a release comes from %v", maker)
		}
	}
	clitest.Not(t, seen != 4, "%d releases seen", seen)
}

// What a runner may do again, and keep once, it may: a bundle has the same state each time; each
// draw has other noise, as that of an attempt which was killed may be known to whoever killed it.
// Two draws that had the same noise on different data, as a retry of a user's choice of keys has,
// would show the difference. Two are equal with probability below 2^{−400}.
func TestAttempts(t *testing.T) {
	g := groups{Params: groupby.Params{Epsilon: 1, Delta: 1e-6}}
	var rows []byte
	for user := range 3000 {
		for _, e := range entriesOf(user) {
			rows = appendRow(rows, fmt.Sprint("user", user), e)
		}
	}
	var states [][]byte
	estimates := map[float64]bool{}
	for range 3 {
		f := &usersFn{Groups: g}
		err := errors.Join(f.StartBundle(nil), f.ProcessElement(0, one(rows), nil), f.FinishBundle(func(state []byte) { states = append(states, state) }))
		clitest.Not(t, err != nil || !bytes.Equal(states[0], states[len(states)-1]), "%v, or another state", err)
		var drawn groupby.Groups[string]
		if err := drawn.UnmarshalBinary(cli.Must((&groupsFn{g}).ProcessElement(0, one(states[0], nil)))); err != nil || drawn.Len() != 20 {
			t.Fatalf("%v, %v", &drawn, err)
		}
		estimates[drawn.Estimate("by1")] = true
	}
	clitest.Not(t, len(estimates) != 3, "a draw was repeated: %v", estimates)
}

// failingFn fails behind a shuffle, when another reader of the release has it.
type failingFn struct {
	Dir  string
	Runs int // that the other reader has seen then
}

func (f *failingFn) ProcessElement([]byte) error {
	for range 1000 {
		if seen, _ := filepath.Glob(filepath.Join(f.Dir, "whole-*")); len(seen) >= f.Runs {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return errors.New("the disk is full")
}

// Of two readers of one release one fails, and so does the job; the other has the number, which is
// of noise that the second run of the job does not draw again. So both runs are paid for.
//
// Two draws of 20 counts, each with a standard deviation of 34 and rounded to 2⁻²⁰ or finer, are
// equal with probability below 2^{−400}.
func TestFailedJobHasShownItsNumber(t *testing.T) {
	dir := t.TempDir()
	for run := range 2 {
		p, s := beam.NewPipelineWithRoot()
		release := cli.Must(UserGroups(s, groupby.Params{Epsilon: 1, Delta: 1e-6}, visits(3000, 4)(s)))
		beam.ParDo0(s, &recordFn{dir}, release)
		beam.ParDo0(s, &failingFn{dir, run + 1}, beam.Reshuffle(s, release))
		if _, err := prism.Execute(context.Background(), p); err == nil {
			t.Error("the job did not fail")
		}
	}
	seen := recorded(t, dir)
	clitest.Not(t, len(seen) != 2, "%d releases of two failed jobs were seen", len(seen))
	var estimates [2]float64
	for i, encoded := range seen {
		var g groupby.Groups[string]
		cli.OK(g.UnmarshalBinary(encoded))
		estimates[i] = g.Estimate("by1")
	}
	clitest.Not(t, estimates[0] == estimates[1] || math.Abs(estimates[0]-estimates[1]) > 1000, "%v: want two draws of one number", estimates)
}

// A broken state fails the pipeline: no release comes of it.
func TestBrokenState(t *testing.T) {
	dir := t.TempDir()
	params := distinct.Params{Epsilon: 1, Cells: 64, Levels: 8, Seed: hashing.Seed{1}}
	p, s := beam.NewPipelineWithRoot()
	beam.ParDo0(s, &recordFn{dir}, once(s, beam.Create(s, []byte("no state")), &distinctFn{params}))
	if _, err := prism.Execute(context.Background(), p); err == nil || len(recorded(t, dir)) > 0 {
		t.Errorf("error %v, %d releases", err, len(recorded(t, dir)))
	}
}

func init() {
	register.DoFn2x0[[]byte, func(string)](&manyFn{})
	register.DoFn1x2[string, string, Entry](&userFn{})
	register.DoFn1x1[[]byte, error](&failingFn{})
}
