package misragries

import (
	"math"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/search"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/misragries/internal/sketch"
	"github.com/dpsketch/dpsketch/noise"
)

// keptZeros is Algorithm 2 of the paper. Every counter of Algorithm 1, zeros included, gets the
// same η and an own L, and is released if it comes to τ or more; and D − η is. keptzeros_delta.go
// has the exact δ, keptzeros_proof.md its proof.
type keptZeros[K hashing.Key] struct{ counted[K] }

func (keptZeros[K]) pure() bool { return false }

func (keptZeros[K]) calibrate(p Params, in Input, _ bool) (calibration, error) {
	return p.calibrateShared(KeptZeros, in, leastThreshold)
}

// calibrateShared returns noise of scale 1/ε, shared and own, and the threshold for it.
func (p Params) calibrateShared(m Method, in Input, least func(k int, epsilon, delta float64) int64) (calibration, error) {
	epsilon, delta, ok := p.element()
	if !ok {
		return calibration{}, p.refuseGroup()
	}
	scale, err := noise.LaplaceScale(epsilon, 1)
	if err != nil {
		return calibration{}, p.refuseNoise(m)
	}
	law := sumLaw{scale: scale, threshold: least(p.Counters, epsilon, delta)}
	return calibration{method: m, input: in, per: 1, epsilon: epsilon, sumLaw: law}, nil
}

func (m keptZeros[K]) candidate(h *Histogram[K]) (Candidate, error) { return candidateOf(h, m), nil }

func (keptZeros[K]) prepare(_ *noise.Source, _ calibration, s *sketch.Sketch[K]) contents[K] {
	return contents[K]{counters: s.Counters(), lost: s.Decrements()}
}

func (keptZeros[K]) draw(src *noise.Source, h *Histogram[K], held contents[K]) error {
	h.counts, h.lost = releaseShared(src, h.law, held.counters, held.lost)
	return nil
}

// releaseShared adds to every counter the same η and an own L and drops what is below the
// threshold, in the order of the keys. The number of decrements moves against the counters, so it
// takes −η: keptzeros_proof.md says why that is free.
//
// The proof compares η = x on one side with x or x − 1 on the other, where each common c + η is the
// same or one of them is one apart, and D − η is the same. Saturating these sums keeps that;
// saturating c itself would not.
func releaseShared[K hashing.Key](src *noise.Source, l calibration, counters []sketch.Counter[K], decrements int64) ([]sketch.Counter[K], int64) {
	d := l.noise()
	eta := d.SampleInt(src)
	var released []sketch.Counter[K]
	for _, c := range counters {
		y := cutSum(c.Count, eta)
		if x, shown := d.SampleTail(src, l.threshold-y); shown {
			released = append(released, sketch.Counter[K]{Key: c.Key, Count: y + x})
		}
	}
	return released, cutSum(decrements, -eta)
}

// cutSum returns min(count + eta, 2⁶²), count ≥ 0.
func cutSum(count, eta int64) int64 {
	if eta > sketch.Limit-count {
		return sketch.Limit
	}
	return count + eta
}

// reading: v + w·(D − η) is c + w·D + (1−w)·η + L.
func (keptZeros[K]) reading(h *Histogram[K], v float64, s Side) float64 {
	if !h.knowsDecrements() {
		return v
	}
	return v + s.weight()*float64(h.lost)
}

func (m keptZeros[K]) estimate(h *Histogram[K], v float64) float64 { return m.reading(h, v, Upper) }

func (keptZeros[K]) stdDev(h *Histogram[K], s Side) float64 {
	shared := 1.0
	if h.knowsDecrements() {
		shared -= s.weight()
	}
	return math.Sqrt((1 + shared*shared) * h.law.noise().Variance())
}

func (m keptZeros[K]) reach(h *Histogram[K], tail float64) float64 { return m.above(h.law, tail) }

// above returns a bound that η + L exceeds with probability at most tail.
func (keptZeros[K]) above(c calibration, tail float64) float64 {
	want := math.Log(tail)
	return float64(search.Least(0, func(t int64) bool { return logSurvivalSum(c.epsilon, float64(t)+1) <= want }))
}

// knowsDecrements reports whether D − η is released, and says something: not of counters from
// elsewhere.
func (h *Histogram[K]) knowsDecrements() bool {
	return h.law.epsilon > 0 && h.law.input != GivenCounters
}

// interval: v + (D − η) is above the true count but for L, as η cancels. It is, too, where the key
// is not stored: f ≤ D = (D − η) + η, and τ − 1 ≥ 0 makes the bound hold with η in the place of L.
func (m keptZeros[K]) interval(h *Histogram[K], key K, confidence float64) (lo, hi float64) {
	tail, ways := (1-confidence)/2, 1.0
	v, found := m.find(h, key)
	if found {
		lo = max(0, v-m.above(h.law, tail))
	} else {
		v = h.law.lowest() - 1
	}
	if h.params.MaxLength > 0 && h.knowsDecrements() { // the upper end may fail in two ways
		ways = 2
	}
	hi = v + m.above(h.law, tail/ways) + h.promisedLength()
	if h.knowsDecrements() {
		hi = min(hi, v+float64(h.lost)+h.law.own(tail/ways))
	}
	return lo, max(lo, hi)
}

func (keptZeros[K]) undercount(h *Histogram[K], confidence float64) float64 {
	bound := h.promisedLength()
	if h.knowsDecrements() {
		bound = min(bound, max(0, float64(h.lost)+h.law.own(1-confidence)))
	}
	return bound
}

// slack: a stored key has v = c + η + L ≥ f − (D − η) + L; one that is not has f ≤ (D − η) + η,
// and η ≤ τ − 1 + s but for a small probability.
func (m keptZeros[K]) slack(h *Histogram[K], confidence float64) float64 {
	fails, k := 1-confidence, float64(h.params.Counters)
	if !h.knowsDecrements() {
		return m.above(h.law, fails/k) + h.promisedLength()
	}
	hidden := float64(h.law.threshold - 1)
	return float64(h.lost) + h.law.ownOfAll(k, fails, func(t int64) float64 { return h.law.noise().Survival(hidden + float64(t)) })
}

func (m keptZeros[K]) sure(h *Histogram[K], f, confidence float64) float64 {
	return f + m.above(h.law, (1-confidence)/float64(h.params.Counters))
}

// errorBound: a shown count is off by its noise, a hidden one is below the threshold less its
// noise.
func (m keptZeros[K]) errorBound(h *Histogram[K], confidence float64) float64 {
	return m.above(h.law, (1-confidence)/(2*float64(h.params.Counters))) + h.law.lowest()
}

func (keptZeros[K]) decode(h *Histogram[K], r *wire.Reader) {
	h.decodeShared(r, func(epsilon, wantLogDelta float64) bool {
		return logDelta(h.params.Counters, epsilon, float64(h.law.threshold)) <= wantLogDelta
	})
}

// decodeShared reads noise of scale 1/ε and a threshold that keeps the promise, and the counts.
func (h *Histogram[K]) decodeShared(r *wire.Reader, keeps func(epsilon, wantLogDelta float64) bool) {
	c := h.decodeNumbers(r, 1)
	epsilon, delta, ok := h.params.element()
	ok = ok && c.has(true, false, true, false) && c.lost == 0 && (h.lost == 0 || h.knowsDecrements()) &&
		near(c.epsilon, epsilon) && near(c.scale*epsilon, 1) && keeps(c.epsilon, outward(math.Log(delta)))
	h.decodeCounts(r, ok, 0, h.params.Counters)
}

// near and outward allow for a platform that rounds otherwise.
func near(x, y float64) bool { return math.Abs(x-y) <= 1e-9*y }

func outward(logDelta float64) float64 { return logDelta * (1 - 1e-9) }
