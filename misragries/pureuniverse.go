package misragries

import (
	"math"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/internal/limits"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/noise"
)

// pureUniverse adds an own L to the units of all Dim keys and releases the k largest: the Laplace
// mechanism, for the ℓ₁ sensitivity of what is reduced, and post-processing. universe_draw.go does
// it without a look at all keys.
type pureUniverse[K hashing.Key] struct{ units[K] }

func (pureUniverse[K]) pure() bool { return true }

func (pureUniverse[K]) calibrate(p Params, in Input, unknown bool) (calibration, error) {
	if err := p.refuseUniverse(PureUniverse); err != nil {
		return calibration{}, err
	}
	epsilon, moves, length, together := p.universe(in)
	if epsilon < limits.MinEpsilon {
		return calibration{}, p.refuseGroup()
	}
	c, err := p.calibrateReduced(PureUniverse, in, unknown, epsilon, length, func(epsilon float64) (sumLaw, bool) {
		scale, err := noise.LaplaceScale(epsilon*(1-0x1p-50), moves)
		return sumLaw{scale: scale}, err == nil
	})
	c.together = together
	return c, err
}

// universe returns the ε for one step of the sketch, and the most by which a step moves its units,
// in ℓ₁, and its length.
//
// A sketch of one stream, and a sum of them, moves by 2k−1 (see reduced). A merged one, or one of
// users' sets, changes j ≤ k counters by 1 and S by j, so it moves by j(k+1−j) + (k−j)j =
// j(2k+1−2j) ≤ k(k+1)/2, also after it is cut off at 0; k keys at 1, one new element, and a merge
// with k large counters that half of them share attain it. Users with m keys can be counted in
// either way: as m steps of the first or one of the second.
func (p Params) universe(in Input) (epsilon, moves, length float64, together bool) {
	k, m := float64(p.Counters), float64(p.most())
	moves, length = 2*k-1, 1
	epsilon = p.Epsilon
	if together = in == Users && m*moves > k*(k+1)/2; !together && m > 1 {
		epsilon = p.Epsilon / m * (1 - 0x1p-50)
	}
	if together || in == Merged {
		moves, length = k*(k+1)/2, k+1
	}
	return epsilon, moves, length, together
}

// refuseUniverse returns an error without Dim.
func (p Params) refuseUniverse(m Method) error {
	if p.Dim == 0 {
		return fault.Params("misragries", "Dim", p.Dim, "the number of possible keys for "+m.String())
	}
	return nil
}

func (m pureUniverse[K]) candidate(h *Histogram[K]) (Candidate, error) { return candidateOf(h, m), nil }

func (pureUniverse[K]) draw(src *noise.Source, h *Histogram[K], held contents[K]) error {
	h.counts = topOfUniverse(src, h.law.noise(), h.params.Counters, h.params.Dim, held.counters)
	h.releaseLength(src, held)
	return nil
}

// threshold is the least that was released: all others are no larger. −Inf where that is nothing.
// Where it is planned, it is about the k-th largest noise.
func (pureUniverse[K]) threshold(h *Histogram[K]) float64 {
	if k := uint64(h.params.Counters); k >= h.params.Dim { // nothing is hidden
		return math.Inf(-1)
	} else if len(h.counts) == 0 {
		return 0 - h.law.noise().Quantile(float64(k)/float64(h.params.Dim))/h.law.per // no −0
	}
	least := int64(math.MaxInt64)
	for _, c := range h.counts {
		least = min(least, c.Count)
	}
	return h.law.counts(least)
}

func (m pureUniverse[K]) certain(h *Histogram[K]) float64 { return m.threshold(h) + h.law.counts(1) }

// chance returns a bound that the noise of all keys together exceeds with probability at most tail,
// where some are shown for their noise alone: −∞ where all are shown.
func (pureUniverse[K]) chance(h *Histogram[K], tail float64) float64 {
	if uint64(h.params.Counters) >= h.params.Dim {
		return math.Inf(-1)
	}
	return h.law.own(tail / float64(h.params.Dim))
}

// estimate is 0 where one key without a value is expected to have as much noise, b·ln(Dim/2): the
// k that are shown are mostly of those, and have no undercount to be added.
func (m pureUniverse[K]) estimate(h *Histogram[K], v float64) float64 {
	if v < m.chance(h, 1) {
		return 0
	}
	return m.units.estimate(h, v)
}

// interval begins at 0 where the noise may be why the key is shown: with the given confidence no
// key that does not occur has a lower end above 0.
func (m pureUniverse[K]) interval(h *Histogram[K], key K, confidence float64) (lo, hi float64) {
	v, found := m.find(h, key)
	if !found {
		if v = m.threshold(h); math.IsInf(v, -1) { // outside Dim
			return 0, 0
		}
	}
	lo, hi = h.around(v, found, confidence)
	if v < m.chance(h, (1-confidence)/2) {
		lo = 0
	}
	return lo, hi
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
	noise, others := h.errors(max(float64(h.params.Counters), float64(h.params.Dim)), confidence)
	return 2*noise + others
}

func (pureUniverse[K]) decode(h *Histogram[K], r *wire.Reader) {
	each, moves, length, together := h.params.universe(h.law.input)
	h.law.together = together
	h.decodeReduced(r, false, false, func() (epsilon, delta float64, ok bool) { return each, 0, true }, length, func(epsilon, _ float64) bool {
		return moves/h.law.scale <= epsilon
	})
}
