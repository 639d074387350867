package misragries

import (
	"iter"
	"math"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/internal/limits"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/dpsketch/dpsketch/threshold"
)

// sparseVector releases the positive counters by package threshold: neighbours differ in at most k
// of them, by one each, all one way, and no sketch has more than k (Corollaries 18 and 28 of the
// paper). That holds for merged sketches and for those of users too. The released vector has all
// numbers of its law. Besides, D is released, which is off by 1 between neighbours at most (see
// sketch.merge), with discrete Laplace noise for a part of ε.
type sparseVector[K hashing.Key] struct{}

func (sparseVector[K]) pure() bool { return false }

// calibrate leaves the numbers to the release. A mechanism asked for by name is tried, which takes
// as long: an error at the release would be one when the data is lost.
func (sparseVector[K]) calibrate(p Params, in Input) (calibration, error) {
	q, err := p.sparse(in)
	if err == nil && p.Sparse != threshold.Auto && math.IsNaN(q.Threshold()) {
		err = fault.Params("misragries", "Sparse", p.Sparse, "a mechanism whose noise is in range here")
	}
	if err != nil {
		return calibration{}, err
	}
	c := calibration{mechanism: SparseVector, input: in, per: 1, together: in == Users}
	if _, spent, _, _ := p.sparseBudget(in); spent > 0 {
		if c.lost, err = noise.LaplaceScale(spent, 1); err != nil {
			return calibration{}, p.refuseNoise(SparseVector)
		}
		if _, err := noise.NewDiscreteLaplace(c.lost); err != nil {
			return calibration{}, p.refuseNoise(SparseVector)
		}
	}
	return c, nil
}

// sparseBudget returns the ε and δ of the vector and the ε of D, which add up to those for a step of
// the sketch. D gets a part s with s/(1−s) = 1/(2√k): the threshold grows by that, and the noise of D
// is then about that of a count.
func (p Params) sparseBudget(in Input) (epsilon, spent, delta float64, ok bool) {
	epsilon, delta, ok = p.Epsilon, p.Delta, true
	if in != Users { // else a step of the sketch is a user
		epsilon, delta, ok = p.element()
	}
	if in != GivenCounters { // of which D is not known
		spent = epsilon / (1 + 2*math.Sqrt(float64(p.Counters)))
		epsilon = (epsilon - spent) * (1 - 0x1p-50)
	}
	return epsilon, spent, delta, ok && epsilon >= limits.MinEpsilon
}

// sparse returns the Params of package threshold.
func (p Params) sparse(in Input) (threshold.Params, error) {
	epsilon, _, delta, ok := p.sparseBudget(in)
	refused := func(field string, value any, want string) (threshold.Params, error) {
		return threshold.Params{}, fault.Params("misragries", field, value, want)
	}
	switch {
	case !ok || delta < 1e-300:
		return refused("Delta", p.Delta, "a larger number for SparseVector, or a smaller MaxKeys")
	case p.Counters > maxKeys:
		return refused("Counters", p.Counters, "at most 2²⁰ for SparseVector")
	case p.Sparse == threshold.PureLaplace || p.Sparse == threshold.DenseLaplace:
		return refused("Sparse", p.Sparse, "a mechanism that does without Dim")
	case float64(p.Counters)/epsilon > 0x1p47:
		return refused("Epsilon", p.Epsilon, "a larger number for SparseVector")
	}
	return threshold.Params{
		Epsilon: epsilon, Delta: delta, Relation: budget.AddRemove,
		MaxKeys: p.Counters, Stored: p.Counters, Integers: true, Mechanism: p.Sparse,
	}, nil
}

// candidate calibrates all mechanisms of package threshold where none is named.
func (m sparseVector[K]) candidate(h *Histogram[K]) (Candidate, error) {
	q, err := h.params.sparse(h.law.input)
	if err == nil && q.Mechanism == threshold.Auto {
		if list, refused := q.Candidates(); refused == nil {
			h.params.Sparse = list[0].Mechanism
		}
	}
	c := candidateOf(h, m)
	if c.Sparse = h.params.Sparse; err == nil && !(c.Threshold > 0) {
		err = fault.Params("misragries", "Sparse", h.params.Sparse, "a mechanism whose noise is in range here")
	}
	if err != nil {
		return Candidate{}, err
	}
	return c, nil
}

func (sparseVector[K]) prepare(_ *noise.Source, _ calibration, s *sketch[K]) contents[K] {
	return contents[K]{counters: s.positive(), lost: int64(s.decrements)}
}

func (sparseVector[K]) draw(src *noise.Source, h *Histogram[K], held contents[K]) error {
	q, err := h.params.sparse(h.law.input)
	if err != nil {
		return err
	}
	b, err := threshold.NewBounded[K](q)
	if err != nil {
		return err
	}
	for _, c := range held.counters { // below 2⁵³ a float64 is exact, and a neighbour's differs by no more than the count
		b.Add(c.key, float64(min(c.count, 1<<53)))
	}
	if h.vector, err = b.Release(); err != nil {
		return err
	}
	h.releaseLength(src, held)
	return nil
}

// numbers returns what tells of threshold and noise: the vector, or before there is one its Params.
func (sparseVector[K]) numbers(h *Histogram[K]) interface {
	Threshold() float64
	StdDev() float64
	ErrorBound(stored int, confidence float64) float64
} {
	if h.vector != nil {
		return h.vector
	}
	q, _ := h.params.sparse(h.law.input) // calibrate has found that there are some
	return q
}

func (sparseVector[K]) length(h *Histogram[K]) int { return h.vector.Len() }

func (sparseVector[K]) find(h *Histogram[K], key K) (v float64, found bool) {
	v = h.vector.Estimate(key)
	return v, v != 0
}

func (sparseVector[K]) all(h *Histogram[K]) iter.Seq2[K, float64] { return h.vector.All() }

func (sparseVector[K]) reading(h *Histogram[K], v float64, s Side) float64 {
	if h.law.lost == 0 {
		return v
	}
	return v + s.weight()*float64(h.lost)
}

func (m sparseVector[K]) estimate(h *Histogram[K], v float64) float64 { return m.reading(h, v, Upper) }

func (m sparseVector[K]) threshold(h *Histogram[K]) float64 { return m.numbers(h).Threshold() }

func (m sparseVector[K]) certain(h *Histogram[K]) float64 { return m.numbers(h).Threshold() }

func (m sparseVector[K]) stdDev(h *Histogram[K], s Side) float64 {
	own := m.numbers(h).StdDev()
	if h.law.lost == 0 {
		return own
	}
	return math.Hypot(own, s.weight()*math.Sqrt(discreteLaplace(h.law.lost).Variance()))
}

func (sparseVector[K]) interval(h *Histogram[K], key K, confidence float64) (lo, hi float64) {
	vector, _, lost := h.law.split(1 - confidence)
	lo, hi = h.vector.Interval(key, 1-vector)
	return lo, hi + h.lengthBound(lost)
}

// reach is a quantile of the normal law, which those of the other laws do not exceed where it is used.
func (m sparseVector[K]) reach(h *Histogram[K], tail float64) float64 {
	return math.Sqrt2 * math.Erfcinv(2*tail) * m.stdDev(h, Lower)
}

func (sparseVector[K]) undercount(h *Histogram[K], confidence float64) float64 {
	return h.lengthBound(1 - confidence)
}

func (m sparseVector[K]) slack(h *Histogram[K], confidence float64) float64 {
	vector, _, lost := h.law.split(1 - confidence)
	return m.noiseOfAll(h, 1-vector) + h.lengthBound(lost)
}

func (m sparseVector[K]) sure(h *Histogram[K], f, confidence float64) float64 {
	switch h.vector.Params().Mechanism {
	case threshold.ExponentialRounding, threshold.LinearRounding: // R is below the least that is released
		f = max(f, h.vector.Threshold())
	}
	return f + m.noiseOfAll(h, confidence)
}

func (m sparseVector[K]) errorBound(h *Histogram[K], confidence float64) float64 {
	vector, _, lost := h.law.split(1 - confidence)
	bound := m.numbers(h).ErrorBound(h.params.Counters, 1-vector)
	if h.law.lost > 0 {
		bound += h.law.ownAt(h.law.lost, lost/2)
	}
	return bound
}

// noiseOfAll returns a bound on the noise of all keys at once.
func (m sparseVector[K]) noiseOfAll(h *Histogram[K], confidence float64) float64 {
	return m.numbers(h).ErrorBound(h.params.Counters, confidence) - m.threshold(h)
}

func (sparseVector[K]) encode(h *Histogram[K], dst []byte) ([]byte, error) {
	dst = wire.AppendFields(dst, []wire.Field{wire.Float(&h.law.lost), wire.Signed(&h.lost)})
	return h.vector.AppendBinary(dst)
}

func (m sparseVector[K]) decode(h *Histogram[K], r *wire.Reader) {
	h.law.per, h.law.together = 1, h.law.input == Users
	r.Fields([]wire.Field{wire.Float(&h.law.lost), wire.Signed(&h.lost)})
	h.vector = new(threshold.Vector[K])
	if r.Err() == nil && (h.vector.UnmarshalBinary(r.Bytes(r.Remaining())) != nil || !m.fits(h)) {
		r.Fail("a vector of other Params")
	}
}

// fits reports whether the vector is one that the Params lead to. It allows for a platform that
// rounds otherwise.
func (sparseVector[K]) fits(h *Histogram[K]) bool {
	want, err := h.params.sparse(h.law.input)
	v := h.vector.Params()
	_, spent, _, _ := h.params.sparseBudget(h.law.input)
	if absent := h.law.lost == 0 && !math.Signbit(h.law.lost) && h.lost == 0; !absent && !(spent > 0 && near(h.law.lost*spent, 1)) {
		return false
	}
	if err != nil || !near(v.Epsilon, want.Epsilon) || !near(v.Delta, want.Delta) || h.vector.Len() > h.params.Counters {
		return false
	}
	for key := range h.vector.All() {
		if h.params.Dim > 0 && outside(key, h.params.Dim) {
			return false
		}
	}
	want.Epsilon, want.Delta = v.Epsilon, v.Delta
	if want.Mechanism == threshold.Auto {
		want.Mechanism = v.Mechanism
	}
	return v == want
}
