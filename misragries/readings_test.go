package misragries

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/sparse"
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
func (p promises) check(h *Histogram[int], truth map[int]int, watched []int, held float64, confidence float64) {
	for _, key := range watched {
		lo, hi := h.Interval(key, confidence)
		f := float64(truth[key])
		p.note(fmt.Sprint("interval of ", key), lo <= f && f <= hi && lo >= 0)
	}
	p.note("undercount", h.Undercount(confidence) >= held)
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

// paths returns a state for every mechanism of every input, over the same stream, and what its
// sketch loses at most for the watched keys.
func paths(t *testing.T, p Params, stream []int, f func(name string, s held, lost float64)) {
	sketchOf := func(stream []int) *sketch.Sketch[int] {
		s := sketch.New[int](p.Counters)
		s.AddSlice(stream)
		return s
	}
	whole := sketchOf(stream)
	n := len(stream)
	first, second := sketchOf(stream[:n/2]), sketchOf(stream[n/2:])
	merged := sketchOf(stream[:n/2])
	merged.Merge(second, p.Counters)
	users := sketch.New[int](p.Counters + 1)
	for _, key := range stream {
		users.AddUser([]int{key}, p.Counters)
	}
	sum := func(s *sketch.Sketch[int]) (sum int64) {
		for _, c := range s.Positive() {
			sum += c.Count
		}
		return sum
	}
	for in, list := range possible {
		for _, m := range list {
			q := p
			q.Method = m
			q.Sparse = sparse.Gaussian
			if m == PureUniverse {
				q.Delta = 0
			}
			s := held{params: q, decrements: whole.Decrements()}
			lost := float64(whole.Decrements())
			switch {
			case Input(in) == Merged:
				q.Method = Auto
				s.sketches, lost = [][]counter[int]{merged.Positive()}, float64(merged.Decrements())
				s.decrements = int64(merged.Decrements())
			case Input(in) == Summed:
				s.sketches = [][]counter[int]{first.Positive(), second.Positive()}
				s.decrements = int64(first.Decrements() + second.Decrements())
				lost = float64(first.Decrements()+second.Decrements()) + float64(sum(first)+sum(second))/float64(p.Counters+1)
			case Input(in) == Users && m == SparseVector:
				q.MaxKeys = 1
				s.sketches, lost = [][]counter[int]{users.Positive()}, float64(users.Decrements())
			case m == KeptZeros:
				s.sketches = [][]counter[int]{whole.Counters()}
			default:
				s.sketches = [][]counter[int]{whole.Positive()}
				if m.reduces() {
					lost += float64(sum(whole)) / float64(p.Counters+1)
				}
			}
			l, err := q.choose(Input(in))
			require.NoError(t, err)
			s.params, s.law = q, l
			f(fmt.Sprintf("%v/%v", Input(in), m), s, lost)
		}
	}
}

// Every promise about true counts, for every mechanism of every input, with the length of the
// stream promised and without.
func TestEveryPathKeepsItsPromises(t *testing.T) {
	notShort(t)
	const confidence = 0.8
	releases := 250
	if !dptest.Long() {
		releases = 60
	}
	stream, truth := zipfStream(1, 8000, 1.2)
	byCount := slices.SortedFunc(maps.Keys(truth), func(a, b int) int { return truth[b] - truth[a] })
	for _, length := range []uint64{0, uint64(len(stream))} {
		p := Params{Counters: 64, Epsilon: 0.5, Delta: 1e-2, Dim: 1 << 21, MaxLength: length}
		paths(t, p, stream, func(name string, s held, lost float64) {
			t.Run(fmt.Sprintf("%s/n=%d", name, length), func(t *testing.T) {
				// Large keys, those around the threshold, one of count 1, one that
				// never occurred, one outside Dim.
				watched := []int{byCount[0], byCount[2], byCount[7], byCount[20], byCount[60], byCount[len(byCount)-1], 1<<21 - 1, -4}
				require.NotContains(t, truth, 1<<21-1)
				ps, width, limits := promises{}, 0.0, 0.0
				n := releases
				if s.law.method == SparseVector {
					n /= 5
				}
				var src noise.Source
				for range n {
					h := s.release(&src)
					ps.check(h, truth, watched, lost, confidence)
					lo, hi := h.Interval(byCount[0], confidence)
					width += (hi - lo) / float64(n)
					limits += h.DetectionLimit(confidence) / float64(n)
				}
				ps.kept(t, confidence)
				undercount := float64(len(stream)) / float64(p.Counters+1)
				h := s.release(&src)
				known := length > 0 || h.knowsDecrements() || h.law.lost > 0 || h.law.sparse.Params().Beside
				require.Equal(t, known, !math.IsInf(width, 1))
				require.Equal(t, known, !math.IsInf(limits, 1))
				require.Equal(t, known, !math.IsInf(h.Undercount(confidence), 1))
				if known {
					require.Less(t, width, undercount+12*h.StdDev())
					require.Less(t, limits, undercount+h.Threshold()+20*h.StdDev())
				}
			})
		})
	}
}

// Of intervals at 95 % more than 951 in 1000 hold the count of a key that comes all the time, by
// every mechanism of every input. There D, or the length, is far above the noise, so what the
// sketch holds is far below the count and the lower end cannot fail; the upper one fails with
// probability 2.5 % at most.
func TestCoverage(t *testing.T) {
	notShort(t)
	const n, confidence = 2500, 0.95
	var stream []int
	for i := range 20_000 {
		stream = append(stream, 0, 1+i)
	}
	p := Params{Counters: 8, Epsilon: 1, Delta: 1e-2, Dim: 1 << 21}
	paths(t, p, stream, func(name string, s held, lost float64) {
		if math.IsInf(s.release(new(noise.Source)).Undercount(confidence), 1) {
			return // given counters
		}
		var src noise.Source
		require.Greater(t, lost, 40*s.release(&src).StdDevAs(Lower), name)
		holds := 0
		for range n {
			lo, hi := s.release(&src).Interval(0, confidence)
			if lo <= 20_000 && 20_000 <= hi {
				holds++
			}
		}
		// Chernoff: the chance of a share a of failures where p is the most, e^{−n·KL(a, p)}.
		const a, most = 0.049, 0.025
		dptest.Alarm(t, math.Exp(-n*(a*math.Log(a/most)+(1-a)*math.Log((1-a)/(1-most)))))
		require.GreaterOrEqual(t, 1000*holds, 951*n, name)
	})
}

// ErrorBound is for one stream, before the release.
func TestEveryErrorBound(t *testing.T) {
	notShort(t)
	const confidence = 0.8
	stream, truth := zipfStream(2, 8000, 1.2)
	p := Params{Counters: 64, Epsilon: 0.5, Delta: 1e-2, Dim: 1 << 21}
	paths(t, p, stream, func(name string, s held, _ float64) {
		if s.law.input != OneStream {
			return
		}
		t.Run(name, func(t *testing.T) {
			ps, src := promises{}, noise.Source{}
			bound := s.params.ErrorBound(float64(len(stream)), confidence)
			require.Less(t, bound, float64(len(stream))/65+s.params.Threshold()+45*s.params.StdDev())
			for range 200 {
				h, largest := s.release(&src), 0.0
				for key, v := range h.All() {
					largest = max(largest, v-float64(truth[key]))
				}
				for key, f := range truth {
					largest = max(largest, float64(f)-h.Estimate(key))
				}
				ps.note("error bound", largest <= bound)
			}
			ps.kept(t, confidence)
		})
	})
}

// Below R a count is rounded to R or to nothing: a stored key of next to nothing that is shown is
// not taken for a large one.
func TestReadingsBelowR(t *testing.T) {
	notShort(t)
	const confidence = 0.9
	for _, m := range []Method{ReducedSum, ShiftedSum} {
		p := Params{Counters: 4, Epsilon: 1, Delta: 0.1, Method: m, MaxLength: 5}
		s := hold(t, p, OneStream, 0, []counter[int]{{Key: 0, Count: 3}, {Key: 1, Count: 2}})
		// key 1 is below R, and with a shift key 0 is at times
		require.GreaterOrEqual(t, s.law.from, int64(5))
		ps, shown := promises{}, 0
		var src noise.Source
		for range 3000 {
			h := s.release(&src)
			ps.check(h, map[int]int{0: 3, 1: 2}, []int{0, 1, 2}, 0, confidence)
			shown += h.Len()
		}
		require.Greater(t, shown, 20)
		ps.kept(t, confidence)
	}
}

// At the cut of the universe ties are broken at random: a key that is sure to be shown is above
// them.
func TestDetectionLimitIsAboveTies(t *testing.T) {
	for _, m := range []Method{PureUniverse} {
		p := Params{Counters: 2, Epsilon: 1, Delta: 0.1, Dim: 100, Method: m, MaxLength: 50}
		h := histogram(p, 0, []counter[int]{{Key: 3, Count: 90}, {Key: 5, Count: 60}})
		require.Equal(t, 20.0, h.Threshold())
		require.Greater(t, h.detectionLimit(0), 20.0)
		// A hidden key may have had as much as the least that is shown.
		_, hi := h.Interval(7, 0)
		require.GreaterOrEqual(t, hi, 20.0)
	}
}

// Where all Dim keys are released none is missed, also where nothing bounds the undercount.
func TestNothingIsMissedOfAllKeys(t *testing.T) {
	for _, m := range []Method{PureUniverse} {
		h := draw(t, GivenCounters, Params{Counters: 5, Epsilon: 1, Delta: 0.1, Dim: 4, Method: m}, repeat(30, 20))
		require.True(t, math.IsInf(h.Undercount(0.9), 1))
		require.Equal(t, 1.0, h.DetectionLimit(0.9))
		require.Equal(t, 4, h.Len())
	}
}

// A bound by a noisy number of units is exact where the noise is: not below n/(k+1) by a rounding.
func TestUndercountIsNotRoundedDown(t *testing.T) {
	p := Params{Counters: 2, Epsilon: 4, Delta: 1e-4, Method: ReducedSum}
	l, err := p.choose(Summed)
	require.NoError(t, err)
	reach := noiseBound(l.lost, 0.1)
	for n := int64(100); n < 400; n++ {
		h := newHistogram[int](p, l)
		h.lost = n - reach
		require.Equal(t, float64(n)/3, h.Undercount(0.9))
	}
}

// A control: intervals for the noise of another ε fail.
func TestIntervalsOfPathsFailForOtherNoise(t *testing.T) {
	notShort(t)
	stream, truth := zipfStream(1, 8000, 1.2)
	p := Params{Counters: 64, Epsilon: 2, Delta: 1e-2, Dim: 1 << 21}
	q := p
	q.Epsilon = 0.25
	var src noise.Source
	laws := map[string]held{}
	paths(t, p, stream, func(name string, s held, _ float64) { laws[name] = s })
	paths(t, q, stream, func(name string, s held, _ float64) {
		if s.law.method == SparseVector {
			return
		}
		misses := 0
		for range 400 {
			h := s.release(&src)
			h.law, h.params = laws[name].law, laws[name].params
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
		b, err := New[int](Params{Counters: 4, Epsilon: 1, Delta: 1e-6})
		require.NoError(t, err)
		for i := range 3 {
			for range 60 {
				b.Add(i)
			}
		}
		h, err := b.Release()
		require.NoError(t, err)
		for key, x := range h.All() {
			for _, confidence := range []float64{0, 0.5, 0.95} {
				lo, hi := h.Interval(key, confidence)
				require.True(t, lo <= x && x <= hi, "%v outside of [%v, %v]", x, lo, hi)
			}
		}
	}
}
