package misragries

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/sparse"
	"github.com/dpsketch/dpsketch/misragries/internal/thresholds"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// calibration is a mechanism with all its numbers, in units: counts; 1/(k+1) or 1/j of a count
// where sketches are reduced or trimmed; steps of its grid for package sparse.
type calibration struct {
	method Method
	input  input
	per    float64 // units in a count
	// of the own noise, which is that of the shared one; the threshold; R, β, o where there are
	thresholds.Noise
	sparse   sparse.Law
	lost     float64 // the scale of the noise of the length of reduced sketches
	together bool    // the keys of a user are counted together, by Algorithm 4
}

// is returns what the mechanism does.
func (c calibration) is() mechanism { return mechanisms[c.method] }

// noise is the own noise, and the shared one.
func (c calibration) noise() noise.DiscreteLaplace { return discreteLaplace(c.Scale) }

// discreteLaplace returns the noise of a scale that a calibration has found to be valid.
func discreteLaplace(scale float64) noise.DiscreteLaplace {
	d, err := noise.NewDiscreteLaplace(scale)
	if err != nil {
		panic("misragries: no noise for a valid scale") // unreachable
	}
	return d
}

// geometric returns the distribution of such noise beyond a point that it has reached.
func geometric(scale float64) noise.Geometric {
	d, err := noise.NewGeometric(scale)
	if err != nil {
		panic("misragries: no noise for a valid scale") // unreachable
	}
	return d
}

// calibrate returns the numbers of a mechanism for valid Params and a possible input, or which of
// the Params leaves none. What a sketch lost may be unknown, as of given counters; then nothing is
// spent on it.
func (p Params) calibrate(m Method, in input, unknown bool) (calibration, error) {
	c := calibration{method: m, input: in, per: 1}
	if mechanisms[m].sparse {
		q, err := p.vector(in, unknown)
		if err != nil {
			return calibration{}, err
		}
		l, err := q.Law()
		if err != nil {
			return calibration{}, p.refuseNoise(m)
		}
		c.use(l)
		return c, nil
	}
	if mechanisms[m].top && p.Dim == 0 {
		return calibration{}, bad("Dim", p.Dim, "the number of possible keys for "+m.String())
	}
	s, ok := p.step(m, in)
	if !ok {
		return calibration{}, bad("MaxElements", p.most(), "a smaller number: the ε or the δ that it leaves for one element is out of range")
	}
	c.together, c.per = s.together, p.per(m)
	switch is := mechanisms[m]; {
	case is.shared:
		least := thresholds.FreedThreshold
		if is.zeros {
			least = thresholds.KeptThreshold
		}
		var err error
		c.Scale, err = noise.LaplaceScale(s.epsilon, 1)
		c.Threshold, ok = least(p.Counters, s.epsilon, s.delta), err == nil
	case is.trimmed:
		c.Noise, ok = thresholds.Trimmed(thresholds.Least(p.Counters), s.epsilon, s.delta)
	default:
		ok = c.reduce(p, s, unknown)
	}
	if !ok || !c.Valid() {
		return calibration{}, p.refuseNoise(m)
	}
	return c, nil
}

// per returns the units in a count.
func (p Params) per(m Method) float64 {
	switch is := mechanisms[m]; {
	case is.reduced:
		return float64(p.Counters) + 1
	case is.trimmed:
		return float64(thresholds.Least(p.Counters))
	}
	return 1
}

// step is the ε and δ of one step of the sketch, the most by which it moves what is reduced, in ℓ₁
// and in units, and the length.
type step struct {
	epsilon, delta, moves, length float64
	together                      bool // the keys of a user are counted together, by Algorithm 4
}

// step returns that of an input. It is not ok where MaxElements leaves no ε or δ for one.
//
// A sketch of one stream, and a sum of them, moves by 2k−1 (package sketch, Reduced). A merged one,
// or one of users' sets, changes j ≤ k counters by 1 and S by j, so it moves by j(k+1−j) + (k−j)j =
// j(2k+1−2j) ≤ k(k+1)/2, also after it is clipped at 0; k keys at 1, one new element, and a merge
// with k large counters that half of them share attain it. Users with m keys can be counted in
// either way: as m steps of the first or one of the second.
func (p Params) step(m Method, in input) (s step, ok bool) {
	k := float64(p.Counters)
	s.moves, s.length = 2*k-1, 1
	s.together = mechanisms[m].top && in == users && float64(p.most())*s.moves > k*(k+1)/2
	if s.together || mechanisms[m].top && in == merged {
		s.moves, s.length = k*(k+1)/2, k+1
	}
	if s.together {
		s.epsilon, ok = p.Epsilon, true
	} else if mechanisms[m].top {
		p.Delta = 0
		s.epsilon, _, ok = p.element()
	} else {
		s.epsilon, s.delta, ok = p.element()
	}
	return s, ok
}

// reduce calibrates a release of reduced sketches at ε − e and that of their length at e: a
// neighbour moves it by at most s.length, so noise of scale s.length/e is e-private, and both
// together are ε-private with the δ of the first.
//
// The upper end r + N/(k+1) has a variance of about (u/(1−s))² + (length/s)², where s = e/ε and u/ε
// is the scale of the noise of r. It is least at s/(1−s) = (length/u)^⅔. The length gets a quarter
// at most, which it would exceed for k ≤ 2: a threshold half as high again is no price for bounds.
//
// The length is not free, as the W of trimmed sketches are: what keys are reduced by is not random,
// so no draw makes up for its step. Where k counters are at 1 and one rises, the keys alone have a
// loss of (2k−1)/b and the length, which is one more, has its own: losses of independent noises add
// up (TestLengthOfReducedSketchesIsNotFree). D alone, which moves in (B) only, where the keys move
// by k, would cost less; but bounds need S as well.
func (c *calibration) reduce(p Params, s step, unknown bool) (ok bool) {
	calibrate := func(epsilon float64) (l thresholds.Noise, ok bool) {
		if c.is().top {
			scale, err := noise.LaplaceScale(epsilon*(1-0x1p-50), s.moves)
			return thresholds.Noise{Scale: scale}, err == nil
		}
		l, _, ok = thresholds.Reduced(p.Counters, epsilon, s.delta)
		return l, ok
	}
	if c.Noise, ok = calibrate(s.epsilon); !ok || unknown {
		return ok
	}
	ratio := min(math.Pow(s.length/(c.Scale*s.epsilon), 2./3), 1./3)
	spent := s.epsilon * ratio / (1 + ratio)
	scale, err := noise.LaplaceScale(spent, s.length)
	if err != nil {
		return false
	}
	c.lost = scale
	c.Noise, ok = calibrate((s.epsilon - spent) * (1 - 0x1p-50))
	_, err = noise.NewDiscreteLaplace(c.lost)
	return ok && err == nil
}

// vector returns the Params of package sparse: neighbours differ in at most k of the positive
// counters, by one each, all one way, and no sketch has more than k (Corollaries 18 and 28 of the
// paper). That holds for merged sketches and for those of users too. With them goes D, the number
// beside the keys, unless it is unknown: (c, −D) moves with one sign (package sketch, Merge). Where
// noise is shared, c + D is free of it.
func (p Params) vector(in input, unknown bool) (sparse.Params, error) {
	epsilon, delta, ok := p.Epsilon, p.Delta, true
	if in != users { // else a step of the sketch is a user
		epsilon, delta, ok = p.element()
	}
	switch {
	case !ok || delta < 1e-300:
		return sparse.Params{}, bad("Delta", p.Delta, "a larger number for SparseVector, or a smaller MaxElements")
	case p.Counters > maxElements:
		return sparse.Params{}, bad("Counters", p.Counters, "at most 2²⁰ for SparseVector")
	case float64(p.Counters)/epsilon > 0x1p46:
		return sparse.Params{}, bad("Epsilon", p.Epsilon, "a larger number for SparseVector")
	}
	return sparse.Params{
		Epsilon: epsilon, Delta: delta, Relation: budget.AddRemove,
		MaxKeys: p.Counters, Stored: p.Counters, Integers: true, Beside: !unknown,
	}, nil
}

// use takes the numbers of package sparse: a unit is a step of its grid.
func (c *calibration) use(l sparse.Law) {
	c.sparse, c.per, c.together = l, 1/l.Step(), c.input == users
	c.Threshold = int64(l.Threshold() * c.per)
	switch l.Params().Method {
	case sparse.ExponentialRounding, sparse.LinearRounding: // R is below the threshold
		c.From = c.Threshold
	}
}

// keeps reports whether decoded numbers keep the promise of the Params, and are in the range in
// which all methods work. It allows for a platform that rounds otherwise.
func (c *calibration) keeps(p Params, known bool) bool {
	is, k := c.is(), p.Counters
	absent := func(x float64) bool { return x == 0 && !math.Signbit(x) }
	within := func(logDelta, delta float64) bool { return logDelta <= math.Log(delta)*(1-1e-9) }
	s, ok := p.step(c.method, c.input)
	_, err := noise.NewDiscreteLaplace(c.lost)
	ok = ok && (absent(c.lost) || err == nil && is.reduced && !math.Signbit(c.lost)) && c.Scale > 0x1p-40 && c.Valid() &&
		c.From >= 0 && c.From <= c.Threshold && c.Threshold < 1<<62 && c.Offset >= 0 && c.Offset < 1<<62 &&
		(c.Threshold > 0) == !is.top && (c.From > 0) == !(is.top || is.shared) && (c.From == 0 || c.From < c.Threshold) &&
		(is.trimmed && c.Shift > 0 || absent(c.Shift) && c.Offset == 0 && !is.trimmed)
	epsilon := s.epsilon * (1 + 1e-9)
	if is.reduced {
		if ok = ok && known == (c.lost > 0) && !(known && c.input == givenCounters); known {
			epsilon -= s.length / c.lost
		}
		ok = ok && epsilon > 0
	} else if c.input != summed {
		ok = ok && known == (c.input != givenCounters)
	}
	c.together = s.together
	switch {
	case !ok:
		return false
	case is.zeros:
		return near(c.Scale*s.epsilon, 1) && within(thresholds.KeptDelta(k, s.epsilon, float64(c.Threshold)), s.delta)
	case is.shared:
		return near(c.Scale*s.epsilon, 1) && within(thresholds.FreedDelta(k, s.epsilon, float64(c.Threshold)), s.delta)
	case is.top:
		return s.moves/c.Scale <= epsilon
	case is.trimmed:
		return c.SetCap(s.epsilon, s.delta) && within(c.TrimmedDelta(thresholds.Least(k), epsilon), s.delta)
	}
	return within(c.ReducedDelta(k, epsilon), s.delta)
}

// near allows for a platform that rounds otherwise.
func near(x, y float64) bool { return math.Abs(x-y) <= 1e-9*y }

// fits reports whether a vector's law is one that the Params lead to.
func (c calibration) fits(p Params, l sparse.Law) bool {
	got := l.Params()
	if unknown := !got.Beside; unknown != (c.input == givenCounters) && !(unknown && c.input == merged) {
		return false
	}
	want, err := p.vector(c.input, !got.Beside)
	if err != nil || !near(got.Epsilon, want.Epsilon) || !near(got.Delta, want.Delta) {
		return false
	}
	want.Epsilon, want.Delta, want.Method = got.Epsilon, got.Delta, got.Method
	return got == want
}
