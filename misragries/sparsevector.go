package misragries

import (
	"iter"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/internal/sparse"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/misragries/internal/sketch"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// sparseVector releases the positive counters by package threshold: neighbours differ in at most k
// of them, by one each, all one way, and no sketch has more than k (Corollaries 18 and 28 of the
// paper). That holds for merged sketches and for those of users too. With them goes D, the number
// beside the keys: (c, −D) moves with one sign (see sketch.merge), which is what Params.Beside of
// package threshold asks for. Where noise is shared the upper reading c + D is free of it.
type sparseVector[K hashing.Key] struct{}

func (sparseVector[K]) pure() bool { return false }

func (m sparseVector[K]) calibrate(p Params, in Input, unknown bool) (calibration, error) {
	q, err := p.sparse(in, unknown)
	if err != nil {
		return calibration{}, err
	}
	law, err := q.Law()
	if err != nil {
		return calibration{}, fault.Params("misragries", "Sparse", p.Sparse, "a method whose noise is in range here")
	}
	return calibration{method: SparseVector, input: in, per: 1, sparse: law, together: in == Users}, nil
}

// refuses is what calibrate refuses but for noise out of range, without the time that it takes.
func (sparseVector[K]) refuses(p Params, in Input) error {
	_, err := p.sparse(in, in == GivenCounters)
	return err
}

// sparse returns the Params of package threshold. The number of decrements may be unknown, as that
// of given counters is.
func (p Params) sparse(in Input, unknown bool) (sparse.Params, error) {
	epsilon, delta, ok := p.Epsilon, p.Delta, true
	if in != Users { // else a step of the sketch is a user
		epsilon, delta, ok = p.element()
	}
	refused := func(field string, value any, want string) (sparse.Params, error) {
		return sparse.Params{}, fault.Params("misragries", field, value, want)
	}
	switch {
	case !ok || delta < 1e-300:
		return refused("Delta", p.Delta, "a larger number for SparseVector, or a smaller "+p.groupField())
	case p.Counters > maxElements:
		return refused("Counters", p.Counters, "at most 2²⁰ for SparseVector")
	case p.Sparse == sparse.PureLaplace || p.Sparse == sparse.DenseLaplace:
		return refused("Sparse", p.Sparse, "a method that needs no Dim")
	case float64(p.Counters)/epsilon > 0x1p46:
		return refused("Epsilon", p.Epsilon, "a larger number for SparseVector")
	}
	return sparse.Params{
		Epsilon: epsilon, Delta: delta, Relation: budget.AddRemove,
		MaxKeys: p.Counters, Stored: p.Counters, Integers: true, Beside: !unknown, Method: p.Sparse,
	}, nil
}

func (m sparseVector[K]) candidate(h *Histogram[K]) (Candidate, error) {
	c := candidateOf(h, m)
	c.Sparse = h.law.sparse.Params().Method
	return c, nil
}

func (sparseVector[K]) prepare(_ *noise.Source, _ calibration, s *sketch.Sketch[K]) contents[K] {
	return contents[K]{counters: s.Positive(), lost: s.Decrements()}
}

// draw cuts counters and D off at 2⁵³, where a float64 is exact: in one way, so that (c, −D) moves
// with one sign still.
func (sparseVector[K]) draw(src *noise.Source, h *Histogram[K], held contents[K]) error {
	const most = 1 << 53
	law, entries := h.law.sparse, make([]sparse.Entry[K], len(held.counters))
	for i, c := range held.counters {
		entries[i] = sparse.Entry[K]{Key: c.Key, Steps: law.Whole(int64(min(c.Count, most)))}
	}
	lost := law.Whole(min(held.lost, most)) // ignored where it is unknown
	h.vector = sparse.Release(src, law, entries, lost, nil)
	return nil
}

// decrements returns the noisy D, and whether it was released.
func (sparseVector[K]) decrements(h *Histogram[K]) (lost float64, known bool) {
	if !h.law.sparse.Params().Beside {
		return 0, false
	}
	if h.vector == nil { // planned
		return 0, true
	}
	return h.vector.Beside(), true
}

func (sparseVector[K]) name(h *Histogram[K]) string {
	return h.law.method.String() + " by " + h.vector.Params().Method.String()
}

func (sparseVector[K]) length(h *Histogram[K]) int { return h.vector.Len() }

func (sparseVector[K]) find(h *Histogram[K], key K) (v float64, found bool) {
	v = h.vector.Estimate(key)
	return v, v != 0
}

func (sparseVector[K]) all(h *Histogram[K]) iter.Seq2[K, float64] { return h.vector.All() }

func (m sparseVector[K]) reading(h *Histogram[K], v float64, s Side) float64 {
	lost, known := m.decrements(h)
	if !known {
		return v
	}
	return v + s.weight()*lost
}

func (m sparseVector[K]) estimate(h *Histogram[K], v float64) float64 { return m.reading(h, v, Upper) }

func (sparseVector[K]) threshold(h *Histogram[K]) float64 { return h.law.sparse.Threshold() }

func (sparseVector[K]) certain(h *Histogram[K]) float64 { return h.law.sparse.Threshold() }

func (m sparseVector[K]) stdDev(h *Histogram[K], s Side) float64 {
	if _, known := m.decrements(h); known {
		return h.law.sparse.StdDevOf(1, s.weight())
	}
	return h.law.sparse.StdDev()
}

func (sparseVector[K]) reach(h *Histogram[K], tail float64) float64 {
	return h.law.sparse.ReachOf(1, 0, 2*tail)
}

// interval: v + (D − noise) is above the true count but for the noise of the sum. A key that is not
// stored has f ≤ D.
func (m sparseVector[K]) interval(h *Histogram[K], key K, confidence float64) (lo, hi float64) {
	lo, hi = h.vector.Interval(key, confidence)
	lost, known := m.decrements(h)
	if !known {
		return lo, hi + h.promisedLength()
	}
	fails := 1 - confidence     // of both ends; one end may fail by half of that
	if h.params.MaxLength > 0 { // and the upper end in two ways
		fails /= 2
	}
	law := h.law.sparse
	v, found := m.find(h, key)
	if !found {
		v = law.Threshold()
	}
	upper := v + lost + law.ReachOf(1, 1, fails)
	if !found {
		upper = max(upper, lost+law.ReachOf(0, 1, fails))
	}
	return lo, max(lo, min(v+law.ReachOf(1, 0, fails)+h.promisedLength(), upper))
}

func (m sparseVector[K]) undercount(h *Histogram[K], confidence float64) float64 {
	bound := h.promisedLength()
	if lost, known := m.decrements(h); known {
		bound = min(bound, max(0, lost+h.law.sparse.ReachOf(0, 1, min(1, 2*(1-confidence)))))
	}
	return bound
}

// slack: a stored key has v = c + X ≥ f − D + X, where X and the noise of D make one reach; one
// that is not has f ≤ D.
func (m sparseVector[K]) slack(h *Histogram[K], confidence float64) float64 {
	fails, k := 1-confidence, float64(h.params.Counters)
	lost, known := m.decrements(h)
	if !known {
		return m.noiseOfAll(h, confidence) + h.promisedLength()
	}
	law := h.law.sparse
	return lost + max(law.ReachOf(1, 1, (1-share)*fails/k), law.ReachOf(0, 1, share*fails)-law.Threshold())
}

func (m sparseVector[K]) sure(h *Histogram[K], f, confidence float64) float64 {
	switch h.vector.Params().Method {
	case sparse.ExponentialRounding, sparse.LinearRounding:
		// R is below the least that is released
		f = max(f, h.vector.Threshold())
	}
	return f + m.noiseOfAll(h, confidence)
}

// errorBound: a shown count is off by the noise of its reading, a hidden one is below the threshold
// less its noise.
func (m sparseVector[K]) errorBound(h *Histogram[K], confidence float64) float64 {
	each, weight := (1-confidence)/(2*float64(h.params.Counters)), 0.0
	if _, known := m.decrements(h); known {
		weight = 1
	}
	law := h.law.sparse
	return law.Threshold() + max(law.ReachOf(1, weight, each), law.ReachOf(1, 0, each))
}

// noiseOfAll returns a bound on the noise of all keys at once.
func (sparseVector[K]) noiseOfAll(h *Histogram[K], confidence float64) float64 {
	return h.law.sparse.ReachOf(1, 0, (1-confidence)/float64(h.params.Counters))
}

func (sparseVector[K]) encode(h *Histogram[K], dst []byte) ([]byte, error) {
	return h.vector.AppendBinary(dst)
}

func (m sparseVector[K]) decode(h *Histogram[K], r *wire.Reader) {
	h.law.per, h.law.together = 1, h.law.input == Users
	h.vector = new(sparse.Vector[K])
	if r.Err() == nil && (h.vector.UnmarshalBinary(r.Bytes(r.Remaining())) != nil || !m.fits(h)) {
		r.Fail("a vector of other Params")
	}
	h.law.sparse = h.vector.Law
}

// fits reports whether the vector is one that the Params lead to. It allows for a platform that
// rounds otherwise.
func (sparseVector[K]) fits(h *Histogram[K]) bool {
	v, in := h.vector.Params(), h.law.input
	if unknown := !v.Beside; unknown != (in == GivenCounters) && !(unknown && in == Merged) {
		return false
	}
	want, err := h.params.sparse(in, !v.Beside)
	if err != nil || !near(v.Epsilon, want.Epsilon) || !near(v.Delta, want.Delta) || h.vector.Len() > h.params.Counters {
		return false
	}
	for key := range h.vector.All() {
		if h.params.Dim > 0 && sketch.Outside(key, h.params.Dim) {
			return false
		}
	}
	want.Epsilon, want.Delta = v.Epsilon, v.Delta
	if want.Method == sparse.Auto {
		want.Method = v.Method
	}
	return v == want
}
