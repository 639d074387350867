package misragries

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/misragries/internal/sketch"
	"github.com/dpsketch/dpsketch/misragries/internal/thresholds"
	"github.com/dpsketch/dpsketch/noise"
)

// held is a state of private data, released as often as one likes, with one source, by a law that
// need not be that of the Params.
type held struct {
	params      Params
	calibration calibration
	sketches    [][]counter[int] // the counters of each; with zeros for KeptZeros
	decrements  int64
	others      int64 // units of the key 0 on other servers
}

// hold returns a state to be released as the Params say.
func hold(t testing.TB, p Params, in input, decrements int64, sketches ...[]counter[int]) held {
	t.Helper()
	p, l, err := p.check(in)
	require.NoError(t, err)
	return held{params: p, calibration: l, sketches: sketches, decrements: decrements}
}

// release is what the Release methods do.
func (s held) release(src *noise.Source) *Histogram[int] {
	k, units := s.params.Counters, map[int]int64{}
	if s.others > 0 {
		units[0] = s.others
	}
	lost := s.decrements * int64(s.params.per(s.calibration.method))
	for _, list := range s.sketches {
		if s.calibration.method.reduces() {
			given := map[int]int64{}
			for _, c := range list {
				given[c.Key] = c.Count
			}
			one := prepare(src, s.calibration, k, sketch.Given(k, given, 0))
			list, lost = one.counters, lost+one.lost
		}
		for _, c := range list {
			units[c.Key] += c.Count
		}
	}
	var all []counter[int]
	for key, count := range units {
		all = append(all, counter[int]{Key: key, Count: count})
	}
	sketch.Sort(all)
	return release(src, s.params, s.calibration, max(1, len(s.sketches)), contents[int]{all, lost, s.calibration.input == givenCounters})
}

// values returns the noisy counts of the keys 0, 1, … in units, 0 for those that are not shown.
func (s held) values(h *Histogram[int], keys int) []float64 {
	v := make([]float64, keys)
	for _, c := range h.counts {
		if c.Key < keys {
			v[c.Key] = float64(c.Count)
		}
	}
	return v
}

// level returns k counters, the key i at count[i], the last count repeated.
func level(k int, counts ...int64) []counter[int] {
	all := make([]counter[int], k)
	for i := range all {
		all[i] = counter[int]{Key: i, Count: counts[min(i, len(counts)-1)]}
	}
	return all
}

// refuted returns the greatest ε that n releases of each state refute at δ, with confidence 1 −
// 1e-10.
func refuted(n int, delta float64, a, b held, event func(s held, h *Histogram[int]) bool) float64 {
	var src noise.Source
	hits := func(s held) (count int64) {
		for range n {
			if event(a, s.release(&src)) {
				count++
			}
		}
		return count
	}
	return dptest.EpsilonLowerBound(hits(a), int64(n), hits(b), int64(n), delta, 1-1e-10)
}

// spoilt returns the state with another law.
func (s held) spoilt(change func(l *calibration)) held {
	change(&s.calibration)
	return s
}

func halfNoise(l *calibration) {
	l.Scale /= 2
	l.Shift /= 2
	l.CapScale /= 2
}

// audited asserts that the claim stands and that the same event refutes it for another law.
func audited(t *testing.T, name string, n int, epsilon, delta float64, a, b held, spoil func(l *calibration), event func(s held, h *Histogram[int]) bool) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		dptest.Alarm(t, 1e-10) // the claim
		dptest.Alarm(t, 1e-10) // the control
		claimed := refuted(n, delta, a, b, event)
		control := refuted(n, delta, a.spoilt(spoil), b.spoilt(spoil), event)
		t.Logf("ε ≥ %.3f of %g; control %.3f", claimed, epsilon, control)
		require.LessOrEqual(t, claimed, epsilon)
		require.Greater(t, control, epsilon, "the control must be noticed")
	})
}

// anyShown is the event that a key below n is shown.
func anyShown(n int) func(held, *Histogram[int]) bool {
	return func(_ held, h *Histogram[int]) bool {
		for key := range h.All() {
			if key < n {
				return true
			}
		}
		return false
	}
}

// Each release path with worst-case neighbours: the claimed (ε, δ) is not refuted, and with half of
// the noise, or a lower threshold, it is. The numbers of releases are those at which the control is
// missed with probability 1e-10, by the binomial laws of its counts, of which the probabilities
// were measured in 10⁴ to 3·10⁵ releases and taken three standard errors to the worse side.
func TestAuditPaths(t *testing.T) {
	if !dptest.Long() {
		t.Skip("many releases")
	}
	const epsilon = 1.0

	// Freed zeros: all k counters one lower, D one higher or not known; and k counters at 1
	// that vanish.
	p := Params{Counters: 64, Epsilon: epsilon, Delta: 1e-2, Method: FreedZeros}
	a, b := hold(t, p, oneStream, 1, level(64, 1000)), hold(t, p, oneStream, 0, level(64, 1001))
	audited(t, "FreedZeros/D", 1_200, epsilon, 0, a, b, halfNoise, func(_ held, h *Histogram[int]) bool { return h.lost >= 1 })
	audited(t, "FreedZeros/mean", 3_000, epsilon, 0, b, a, halfNoise, func(s held, h *Histogram[int]) bool {
		sum := 0.0
		for _, v := range s.values(h, 64) {
			sum += v
		}
		return sum >= 64*1001
	})
	given := p
	given.Method = Auto
	audited(t, "FreedZeros/δ", 4_000, epsilon, p.Delta, hold(t, given, givenCounters, 0, level(64, 1)), hold(t, given, givenCounters, 0, nil),
		func(l *calibration) { l.Threshold -= 3 }, anyShown(64))

	// Users of four elements, by KeptZeros: four decrements more, four counters more, and four
	// keys that come up from 0.
	p = Params{Counters: 16, Epsilon: epsilon, Delta: 1e-2, Method: KeptZeros, MaxElements: 4}
	a, b = hold(t, p, users, 4, level(16, 1000)), hold(t, p, users, 0, level(16, 1004))
	audited(t, "users/D", 2_200, epsilon, 0, a, b, halfNoise, func(_ held, h *Histogram[int]) bool { return h.lost >= 4 })
	a, b = hold(t, p, users, 0, level(16, 1001, 1001, 1001, 1001, 1000)), hold(t, p, users, 0, level(16, 1000))
	audited(t, "users/counters", 11_000, epsilon, 0, a, b, halfNoise, func(s held, h *Histogram[int]) bool {
		return slices.Min(s.values(h, 4)) >= float64(1001-h.lost)
	})
	a, b = hold(t, p, users, 0, level(4, 1)), hold(t, p, users, 0, nil)
	audited(t, "users/δ", 1_500, epsilon, p.Delta, a, b, func(l *calibration) { l.Threshold -= 20 }, anyShown(4))

	// A reduced sketch in which one key rises by k units and the others fall by one. At k = 4
	// the law is that of ℓ₁, and at 64 that of concentration.
	for _, k := range []int{4, 64} {
		p = Params{Counters: k, Epsilon: epsilon, Delta: 1e-3, Method: ReducedSum}
		_, bound, _ := thresholds.Reduced(k, epsilon, p.Delta)
		low := level(k, 100_000)
		units := float64((k + 1) * 100_000)
		units -= float64(k * 100_000)
		high := slices.Clone(low)
		high[0].Count++
		a, b = hold(t, p, summed, 0, high), hold(t, p, summed, 0, low)
		loss := func(s held, h *Histogram[int]) float64 {
			v := s.values(h, k)
			clip := func(x, most float64) float64 { return min(max(x, -most), most) }
			sum := clip(2*(v[0]-units)-float64(k), float64(k))
			for _, x := range v[1:] {
				sum -= clip(2*(x-units)+1, 1)
			}
			return sum / a.calibration.Scale // the privacy loss, exactly
		}
		l := a.calibration // a part of ε is that of the length
		// for k = 64 a loss of more than ε has little probability
		least := map[int]float64{4: 0.999 * 7 / l.Scale / epsilon, 64: 0.75}[k]
		// at k = 4 the length takes so much that the control has little above ε
		n := map[int]int{4: 100_000, 64: 16_000}[k]
		audited(t, "ReducedSum/"+bound, n, epsilon, p.Delta, a, b, halfNoise, func(s held, h *Histogram[int]) bool { return loss(s, h) >= least*epsilon })
	}
	// A key that comes up from 0 to k units.
	p = Params{Counters: 16, Epsilon: epsilon, Delta: 1e-2, Method: ReducedSum}
	a, b = hold(t, p, summed, 0, level(1, 1)), hold(t, p, summed, 0, nil)
	audited(t, "ReducedSum/δ", 6_000, epsilon, p.Delta, a, b, func(l *calibration) { l.Threshold -= int64(2 * l.Scale) }, anyShown(1))

	// Trimmed: one of the smallest counters rises by j units, and W by one, where other servers
	// have the key too.
	p = Params{Counters: 16, Epsilon: epsilon, Delta: 1e-3, Method: TrimmedSum}
	low := []counter[int]{{Key: 0, Count: 5}}
	high := []counter[int]{{Key: 0, Count: 6}}
	a, b = hold(t, p, summed, 0, high), hold(t, p, summed, 0, low)
	a.others, b.others = 1_000_000, 1_000_000
	audited(t, "TrimmedSum/W", 20_000, epsilon, 0, a, b, halfNoise, func(s held, h *Histogram[int]) bool {
		return h.lost >= 6+s.calibration.Offset && h.counts[0].Count+h.lost >= 1_000_000+6*16
	})
	// A key that comes up from 0 by j units.
	p = Params{Counters: 16, Epsilon: epsilon, Delta: 1e-2, Method: TrimmedSum}
	a, b = hold(t, p, summed, 0, level(1, 1)), hold(t, p, summed, 0, nil)
	audited(t, "TrimmedSum/δ", 20_000, epsilon, p.Delta, a, b, func(l *calibration) { l.From, l.Threshold = 20, 21 }, anyShown(1))
	// Pure: over a small and a large universe, four keys, one up by four units and the others
	// down.
	for _, dim := range []uint64{20, 1 << 40} {
		p = Params{Counters: 4, Epsilon: epsilon, Dim: dim}
		low := level(4, 1000)
		high := slices.Clone(low)
		high[0].Count++
		a, b = hold(t, p, oneStream, 0, high), hold(t, p, oneStream, 0, low)
		audited(t, "PureUniverse", 25_000, epsilon, 0, a, b, halfNoise, func(s held, h *Histogram[int]) bool {
			v := s.values(h, 4)
			return v[0] >= 1004 && max(v[1], v[2], v[3]) <= 999
		})
	}
}
