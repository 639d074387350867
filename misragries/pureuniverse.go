package misragries

import (
	"math"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/noise"
)

// pureUniverse adds an own L to the units of all Dim keys and releases the k largest: the Laplace
// mechanism, for the ℓ₁ sensitivity 2k−1 of a reduced sketch, and post-processing. universe_draw.go
// does it without a look at all keys.
type pureUniverse[K hashing.Key] struct{ units[K] }

func (pureUniverse[K]) pure() bool { return true }

func (pureUniverse[K]) calibrate(p Params, in Input) (calibration, error) {
	return p.calibrateUniverse(PureUniverse, in, func(k int, epsilon, _ float64) (sumLaw, bool) {
		scale, err := noise.LaplaceScale(epsilon*(1-0x1p-50), 2*float64(k)-1)
		return sumLaw{scale: scale}, err == nil
	})
}

// calibrateUniverse returns the law for one element.
func (p Params) calibrateUniverse(m Mechanism, in Input, least func(k int, epsilon, delta float64) (sumLaw, bool)) (calibration, error) {
	if p.Dim == 0 {
		return calibration{}, fault.Params("misragries", "Dim", p.Dim, "the number of possible keys for "+m.String())
	}
	epsilon, delta, ok := p.element()
	if !ok {
		return calibration{}, p.refuseGroup()
	}
	law, ok := least(p.Counters, epsilon, delta)
	if !ok || !law.valid() {
		return calibration{}, p.refuseNoise(m)
	}
	return calibration{mechanism: m, input: in, per: float64(p.Counters) + 1, sumLaw: law}, nil
}

func (m pureUniverse[K]) candidate(h *Histogram[K]) (Candidate, error) { return candidateOf(h, m), nil }

func (pureUniverse[K]) draw(src *noise.Source, h *Histogram[K], held contents[K]) error {
	h.counts = topOfUniverse(src, h.law.noise(), h.params.Counters, h.params.Dim, held.counters)
	return nil
}

// threshold is the least that was released: all others are no larger. −Inf where that is nothing.
func (pureUniverse[K]) threshold(h *Histogram[K]) float64 {
	if len(h.counts) == 0 { // planned
		return 0
	}
	if uint64(len(h.counts)) == h.params.Dim { // nothing is hidden
		return math.Inf(-1)
	}
	least := int64(math.MaxInt64)
	for _, c := range h.counts {
		least = min(least, c.count)
	}
	return h.law.counts(least)
}

func (m pureUniverse[K]) certain(h *Histogram[K]) float64 { return m.threshold(h) + h.law.counts(1) }

func (m pureUniverse[K]) interval(h *Histogram[K], key K, confidence float64) (lo, hi float64) {
	v, found := m.find(h, key)
	if !found {
		if v = m.threshold(h); math.IsInf(v, -1) { // outside Dim
			return 0, 0
		}
	}
	return h.around(v, found, confidence)
}

func (m pureUniverse[K]) slack(h *Histogram[K], confidence float64) float64 {
	return h.slackOf(float64(h.params.Dim), confidence)
}

func (m pureUniverse[K]) sure(h *Histogram[K], f, confidence float64) float64 {
	return f + h.law.own((1-confidence)/float64(h.params.Dim))
}

// errorBound: the k largest are shown, so one that is hidden is below the noise of a key without a
// value, less its own.
func (pureUniverse[K]) errorBound(h *Histogram[K], confidence float64) float64 {
	noise, shifts := h.noiseAndShifts(max(float64(h.params.Counters), float64(h.params.Dim)), confidence)
	return 2*noise + shifts
}

func (pureUniverse[K]) decode(h *Histogram[K], r *wire.Reader) {
	h.decodeReduced(r, false, false, func(epsilon, _ float64) bool {
		return (2*float64(h.params.Counters)-1)/h.law.scale <= epsilon
	})
}
