package misragries

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/misragries/internal/sketch"
	"github.com/dpsketch/dpsketch/noise"
)

// promise is one promise, of which failures are counted.
type promise struct{ failures, trials int64 }

// promises are those of the releases of one state, by name.
type promises map[string]*promise

func (p promises) note(name string, ok bool) {
	if p[name] == nil {
		p[name] = new(promise)
	}
	p[name].trials++
	if !ok {
		p[name].failures++
	}
}

// kept fails the test if failures are more frequent than 1 − confidence; it rejects falsely with
// probability 1e-10 each.
func (p promises) kept(t *testing.T, confidence float64) {
	t.Helper()
	for name, n := range p {
		if float64(n.failures) > float64(n.trials)*(1-confidence) {
			dptest.Tail(t, name, n.failures, n.trials, 1-confidence, 1e-10)
		}
	}
}

// check looks at everything that one release promises about the true counts.
func (p promises) check(h *Histogram[int], truth map[int]int, watched []int, confidence float64) {
	for _, key := range watched {
		lo, hi := h.Interval(key, confidence)
		f := float64(truth[key])
		p.note(fmt.Sprint("interval of ", key), lo <= f && f <= hi && lo >= 0)
	}
	for _, least := range []float64{3, 60, 400} {
		ok := true
		for key := range h.HeavyHitters(least, confidence) {
			ok = ok && float64(truth[key]) >= least
		}
		p.note(fmt.Sprint("no false positives at ", least), ok)
	}
	limit := h.DetectionLimit(confidence)
	all := maps.Collect(h.All())
	complete := true
	for key, f := range truth {
		if _, found := all[key]; float64(f) >= limit && !found {
			complete = false
		}
	}
	p.note("detection limit", complete)
}

// paths returns a state for every mechanism of every input, over the same stream.
func paths(t *testing.T, p Params, stream []int, f func(name string, s held)) {
	sketchOf := func(stream []int) *sketch.Sketch[int] {
		s := sketch.New[int](p.Counters)
		s.AddSlice(stream)
		return s
	}
	whole := sketchOf(stream)
	n := len(stream)
	first, second := sketchOf(stream[:n/2]), sketchOf(stream[n/2:])
	both := sketchOf(stream[:n/2])
	both.Merge(second, p.Counters)
	sets := sketch.New[int](p.Counters + 1)
	for _, key := range stream {
		sets.AddUser([]int{key}, p.Counters)
	}
	for in, list := range possible {
		for _, m := range list {
			q := p
			q.Method = m
			if m == PureUniverse {
				q.Delta = 0
			}
			s := held{decrements: whole.Decrements()}
			switch {
			case input(in) == merged:
				s.sketches, s.decrements = [][]counter[int]{both.Positive()}, both.Decrements()
			case input(in) == summed:
				s.sketches, s.decrements = [][]counter[int]{first.Positive(), second.Positive()}, first.Decrements()+second.Decrements()
			case input(in) == users && m == SparseVector:
				s.sketches, s.decrements = [][]counter[int]{sets.Positive()}, sets.Decrements()
			case m == KeptZeros:
				s.sketches = [][]counter[int]{whole.Counters()}
			default:
				s.sketches = [][]counter[int]{whole.Positive()}
			}
			if input(in) == users {
				q.MaxElements = 1
			}
			var err error
			s.params, s.calibration, err = q.check(input(in))
			require.NoError(t, err)
			f(fmt.Sprintf("%v/%v", input(in), m), s)
		}
	}
}

// Every promise about true counts, for every mechanism of every input, with the length of the
// stream promised and without.
func TestEveryPathKeepsItsPromises(t *testing.T) {
	dptest.NotShort(t, "not among the short tests")
	const confidence = 0.8
	releases := 250
	if !dptest.Long() {
		releases = 60
	}
	stream, truth := zipfStream(1, 8000, 1.2)
	byCount := slices.SortedFunc(maps.Keys(truth), func(a, b int) int { return truth[b] - truth[a] })
	for _, length := range []uint64{0, uint64(len(stream))} {
		p := Params{Counters: 64, Epsilon: 0.5, Delta: 1e-2, Dim: 1 << 21, MaxLength: length}
		paths(t, p, stream, func(name string, s held) {
			t.Run(fmt.Sprintf("%s/n=%d", name, length), func(t *testing.T) {
				// Large keys, those around the threshold, one of count 1, one that
				// never occurred, one outside Dim.
				watched := []int{byCount[0], byCount[2], byCount[7], byCount[20], byCount[60], byCount[len(byCount)-1], 1<<21 - 1, -4}
				require.NotContains(t, truth, 1<<21-1)
				ps, width, limits := promises{}, 0.0, 0.0
				n := releases
				if s.calibration.method == SparseVector {
					n /= 5
				}
				var src noise.Source
				for range n {
					h := s.release(&src)
					ps.check(h, truth, watched, confidence)
					lo, hi := h.Interval(byCount[0], confidence)
					width += (hi - lo) / float64(n)
					limits += h.DetectionLimit(confidence) / float64(n)
				}
				ps.kept(t, confidence)
				undercount := float64(len(stream)) / float64(p.Counters+1)
				h := s.release(&src)
				known := length > 0 || h.known
				require.Equal(t, known, !math.IsInf(width, 1))
				require.Equal(t, known, !math.IsInf(limits, 1))
				if known {
					require.Less(t, width, undercount+12*h.stdDev())
					require.Less(t, limits, undercount+h.threshold()+20*h.stdDev())
				}
			})
		})
	}
}

// At the cut of the universe ties are broken at random: a key that is sure to be shown is above
// them.
func TestDetectionLimitIsAboveTies(t *testing.T) {
	for _, m := range []Method{PureUniverse} {
		p := Params{Counters: 2, Epsilon: 1, Delta: 0.1, Dim: 100, Method: m, MaxLength: 50}
		h := histogram(p, 0, []counter[int]{{Key: 3, Count: 90}, {Key: 5, Count: 60}})
		require.Equal(t, 20.0, h.threshold())
		require.Greater(t, h.DetectionLimit(0), 20.0)
		// A hidden key may have had as much as the least that is shown.
		_, hi := h.Interval(7, 0)
		require.GreaterOrEqual(t, hi, 20.0)
	}
}

// Where all Dim keys are released none is missed, also where nothing bounds what is lost.
func TestNothingIsMissedOfAllKeys(t *testing.T) {
	for _, m := range []Method{PureUniverse} {
		h := draw(t, givenCounters, Params{Counters: 5, Epsilon: 1, Delta: 0.1, Dim: 4, Method: m}, repeat(30, 20))
		require.Equal(t, 1.0, h.DetectionLimit(0.9))
		require.Equal(t, 4, h.Len())
	}
}

// A control: intervals for the noise of another ε fail.
func TestIntervalsOfPathsFailForOtherNoise(t *testing.T) {
	dptest.NotShort(t, "not among the short tests")
	stream, truth := zipfStream(1, 8000, 1.2)
	p := Params{Counters: 64, Epsilon: 2, Delta: 1e-2, Dim: 1 << 21}
	q := p
	q.Epsilon = 0.25
	var src noise.Source
	laws := map[string]held{}
	paths(t, p, stream, func(name string, s held) { laws[name] = s })
	paths(t, q, stream, func(name string, s held) {
		if s.calibration.method == SparseVector {
			return
		}
		misses := 0
		for range 400 {
			h := s.release(&src)
			h.calibration, h.params = laws[name].calibration, laws[name].params
			h.params.MaxLength = 1
			if lo, hi := h.Interval(0, 0.9); float64(truth[0]) < lo || float64(truth[0]) > hi {
				misses++
			}
		}
		require.Greater(t, misses, 60, name)
	})
}

// The estimate of a released key lies in its interval, also where the noise that both ends of the
// interval do not share is large.
func TestIntervalsHoldTheEstimate(t *testing.T) {
	for range dptest.Full(2000, 200) {
		b := dptest.OK(New[int](Params{Counters: 4, Epsilon: 1, Delta: 1e-6}))(t)
		for i := range 3 {
			for range 60 {
				b.Add(i)
			}
		}
		h := dptest.OK(b.Release())(t)
		for key, x := range h.All() {
			for _, confidence := range []float64{0, 0.5, 0.95} {
				lo, hi := h.Interval(key, confidence)
				require.True(t, lo <= x && x <= hi, "%v outside of [%v, %v]", x, lo, hi)
			}
		}
	}
}
