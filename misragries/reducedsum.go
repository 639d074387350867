package misragries

import (
	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/misragries/internal/sketch"
	"github.com/dpsketch/dpsketch/noise"
)

// reducedSum releases a sum of reduced sketches, or one alone, with an own L for each key; values
// below R are rounded to 0 or R before. reducedsum_delta.go has the theorem,
// reducedsum_calibrate.go the search for the numbers.
type reducedSum[K hashing.Key] struct{ units[K] }

func (reducedSum[K]) pure() bool { return false }

func (reducedSum[K]) calibrate(p Params, in Input, unknown bool) (calibration, error) {
	epsilon, delta, ok := p.element()
	if !ok {
		return calibration{}, p.refuseGroup()
	}
	return p.calibrateReduced(ReducedSum, in, unknown, epsilon, 1, func(epsilon float64) (sumLaw, bool) {
		law, _, ok := calibrateSum(p.Counters, epsilon, delta)
		return law, ok
	})
}

func (m reducedSum[K]) candidate(h *Histogram[K]) (Candidate, error) { return candidateOf(h, m), nil }

func (reducedSum[K]) draw(src *noise.Source, h *Histogram[K], held contents[K]) error {
	h.counts = releaseRounded(src, h.law, held.counters)
	h.releaseLength(src, held)
	return nil
}

// releaseRounded releases units, each by the kernel.
func releaseRounded[K hashing.Key](src *noise.Source, l calibration, units []sketch.Counter[K]) []sketch.Counter[K] {
	d := l.noise()
	beyond, err := noise.NewGeometric(l.scale)
	if err != nil {
		panic("misragries: no noise for a valid scale") // unreachable
	}
	kernel := l.kernel()
	tail := func(least int64) (int64, bool) { return d.SampleTail(src, least) }
	small := func() int64 { return beyond.SampleInt(src) }
	var released []sketch.Counter[K]
	for _, c := range units {
		if count, shown := kernel.Show(c.Count, tail, small); shown {
			released = append(released, sketch.Counter[K]{Key: c.Key, Count: count})
		}
	}
	return released
}

func (m reducedSum[K]) interval(h *Histogram[K], key K, confidence float64) (lo, hi float64) {
	v, found := m.find(h, key)
	if !found {
		v = h.law.counts(h.law.threshold - 1)
	}
	if lo, hi = h.around(v, found, confidence); lo < h.law.counts(h.law.from) && h.law.from > 1 {
		// it may have been rounded up
		lo = 0
	}
	return lo, hi
}

func (m reducedSum[K]) slack(h *Histogram[K], confidence float64) float64 {
	return h.slackOf(m.noisy(h), confidence)
}

// sure: v less its noise is the value in the sum, but below R that may be anything.
func (m reducedSum[K]) sure(h *Histogram[K], f, confidence float64) float64 {
	if h.law.from > 1 {
		f = max(f, h.law.counts(h.law.from+1))
	}
	return f + h.law.own((1-confidence)/m.noisy(h))
}

// noisy returns the most keys that have noise.
func (reducedSum[K]) noisy(h *Histogram[K]) float64 {
	return float64(h.params.Counters) * float64(h.sketches)
}

// errorBound: a shown count is off by its noise, or by R and its noise where it was rounded up. A
// hidden one is below the threshold less its noise.
func (m reducedSum[K]) errorBound(h *Histogram[K], confidence float64) float64 {
	noise, others := h.errors(m.noisy(h), confidence)
	return noise + h.law.lowest() + others
}

func (reducedSum[K]) decode(h *Histogram[K], r *wire.Reader) {
	h.decodeReduced(r, true, false, h.params.element, 1, func(epsilon, wantLogDelta float64) bool {
		k := h.params.Counters
		return min(h.law.l1LogDelta(k, epsilon), h.law.concentrationLogDelta(k, epsilon)) <= wantLogDelta
	})
}
