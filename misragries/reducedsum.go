package misragries

import (
	"math"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/noise"
)

// reducedSum releases a sum of reduced sketches, or one alone, with an own L for each key; values
// below R are rounded to 0 or R before. reducedsum_delta.go has the theorem,
// reducedsum_calibrate.go the search for the numbers.
type reducedSum[K hashing.Key] struct{ units[K] }

func (reducedSum[K]) pure() bool { return false }

func (reducedSum[K]) calibrate(p Params, in Input) (calibration, error) {
	epsilon, delta, ok := p.element()
	if !ok {
		return calibration{}, p.refuseGroup()
	}
	law, _, ok := calibrateSum(p.Counters, epsilon, delta)
	if !ok {
		return calibration{}, p.refuseNoise(ReducedSum)
	}
	return calibration{mechanism: ReducedSum, input: in, per: float64(p.Counters) + 1, sumLaw: law}, nil
}

func (m reducedSum[K]) candidate(h *Histogram[K]) (Candidate, error) { return candidateOf(h, m), nil }

func (reducedSum[K]) draw(src *noise.Source, h *Histogram[K], held contents[K]) error {
	h.counts = releaseRounded(src, h.law, held.counters)
	return nil
}

// releaseRounded releases units, each by the kernel.
func releaseRounded[K hashing.Key](src *noise.Source, l calibration, units []counter[K]) []counter[K] {
	d := l.noise()
	beyond, err := noise.NewGeometric(l.scale)
	if err != nil {
		panic("misragries: no noise for a valid scale") // unreachable
	}
	kernel := l.kernel()
	tail := func(least int64) (int64, bool) { return d.SampleTail(src, least) }
	small := func() int64 { return beyond.SampleInt(src) }
	var released []counter[K]
	for _, c := range units {
		if count, shown := kernel.Show(c.count, tail, small); shown {
			released = append(released, counter[K]{c.key, count})
		}
	}
	return released
}

func (m reducedSum[K]) interval(h *Histogram[K], key K, confidence float64) (lo, hi float64) {
	v, found := m.find(h, key)
	if !found {
		v = h.law.counts(h.law.threshold - 1)
	}
	if lo, hi = h.around(v, found, confidence); lo < h.law.counts(h.law.from) && h.law.from > 1 { // it may have been rounded up
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
	noise, shifts := h.noiseAndShifts(m.noisy(h), confidence)
	return noise + h.law.lowest() + shifts
}

func (reducedSum[K]) decode(h *Histogram[K], r *wire.Reader) {
	h.decodeReduced(r, true, false, func(epsilon, wantLogDelta float64) bool {
		k := h.params.Counters
		return min(h.law.l1LogDelta(k, epsilon), h.law.concentrationLogDelta(k, epsilon)) <= wantLogDelta
	})
}

// units has what is the same for all mechanisms that release reduced sketches.
type units[K hashing.Key] struct{ counted[K] }

func (units[K]) prepare(_ *noise.Source, c calibration, s *sketch[K]) []counter[K] {
	return reduced(s.positive(), c.counters())
}

func (units[K]) stdDev(h *Histogram[K]) float64 {
	return math.Sqrt(h.law.noise().Variance()) / h.law.per
}

func (units[K]) undercount(h *Histogram[K], confidence float64) float64 {
	return h.promisedUndercount(1 - confidence)
}

// around returns Histogram.Interval for a value v, or for one below that is hidden.
func (h *Histogram[K]) around(v float64, found bool, confidence float64) (lo, hi float64) {
	tail := (1 - confidence) / 2
	if found {
		lo = max(0, v-h.law.own(tail))
	}
	if h.law.shift > 0 { // shift and noise may fail
		tail /= 2
	}
	return lo, max(lo, v+h.law.own(tail)+h.promisedUndercount(tail))
}

// slackOf is mechanism.slack where so many keys have noise.
func (h *Histogram[K]) slackOf(keys, confidence float64) float64 {
	fails := 1 - confidence
	if h.law.shift > 0 {
		fails /= 2
	}
	return h.law.ownOfAll(keys, fails, func(int64) float64 { return 0 }) + h.promisedUndercount(fails)
}

// noiseAndShifts returns bounds on the noise of so many keys and on the shifts, which both hold with
// the given confidence.
func (h *Histogram[K]) noiseAndShifts(keys, confidence float64) (noise, shifts float64) {
	fails := 1 - confidence
	if h.law.shift > 0 {
		fails /= 2
		shifts = h.law.shifts(float64(h.sketches), fails)
	}
	return h.law.own(fails / (2 * keys)), shifts
}

// decodeReduced reads numbers in units that keep the promise, and the counts.
func (h *Histogram[K]) decodeReduced(r *wire.Reader, rounded, shifted bool, keeps func(epsilon, wantLogDelta float64) bool) {
	c := h.decodeNumbers(r, float64(h.params.Counters)+1)
	epsilon, delta, ok := h.params.element()
	ok = ok && c.has(false, rounded, rounded, shifted) && h.decrements == 0 && keeps(epsilon*(1+1e-9), outward(math.Log(delta)))
	least, most := 0, int(min(uint64(h.params.Counters)*uint64(h.sketches), math.MaxInt32))
	if !rounded { // the k largest of all keys
		ok = ok && h.params.Dim > 0
		least = int(min(uint64(h.params.Counters), h.params.Dim))
		most = least
	}
	h.decodeCounts(r, ok, least, most)
}
