package account

import (
	"math"
	"slices"
	"sync"
)

// The losses of samples take a tenth of a second on as many points as many small releases need, and
// each Spend asks for other ones. So a Certifier asks for fewer points first: what is within the
// budget by a larger bound is. And it asks for more releases of the same kind than there are: if
// these are within the budget, fewer are, and the next Spends need not ask.

// samplePointsOf are the numbers of points that are tried one after the other.
var samplePointsOf = [...]int{1 << 11, 1 << 13, samplePoints}

// Certifier says what is within one budget by the exact composition, and remembers what it knows of
// the last few compositions. It may be used concurrently. The zero Certifier is ready.
type Certifier struct {
	mu      sync.Mutex
	entries [4]struct {
		kinds  Kinds
		losses losses
	}
	next int

	sampled sync.Mutex // of what follows, for releases with samples
	within  [8]Releases
	oldest  int
	rungs   [len(samplePointsOf)]struct {
		ahead  int      // how many more releases to ask for
		beyond Releases // for which that many points do not suffice, or none
	}
}

// losses returns those of the kinds.
func (c *Certifier) losses(k Kinds) losses {
	if len(k) == 0 {
		return losses{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.entries {
		if slices.Equal(e.kinds, k) {
			return e.losses
		}
	}
	e := &c.entries[c.next%len(c.entries)]
	c.next++
	e.kinds, e.losses = k, k.losses(samplePoints)
	return e.losses
}

// EpsilonAt is that of the releases.
func (c *Certifier) EpsilonAt(r Releases, delta float64) float64 { return r.epsilonAt(delta, c.losses) }

// Within reports whether the releases are (ε, δ)-DP by the exact composition.
func (c *Certifier) Within(r Releases, epsilon, delta float64) bool {
	return c.withinOn(r, samplePoints, epsilon, delta)
}

// withinOn is Within, with the losses of samples on so many points.
func (c *Certifier) withinOn(r Releases, points int, epsilon, delta float64) bool {
	if !r.Valid() || !r.Composes() {
		return false
	}
	var l losses
	if points == samplePoints {
		l = c.losses(r.Pair.Kinds)
	} else {
		l = r.Pair.Kinds.losses(points)
	}
	a, ok := r.accountant(l)
	return ok && a.within(epsilon, delta)
}

// Promising reports whether Within can be expected of whole, which is before and one release more,
// in microseconds where the losses of before are known. A release by ε is convolved with those
// without any lattice. The lattice only makes the answer larger, by up to .1 %: what is refused
// here would be refused there, apart from rounding. simple says that whole is before and the
// release as it was asked for, in no part.
func (c *Certifier) Promising(before Kinds, release, whole Releases, simple bool, epsilon, delta float64) bool {
	if !whole.Valid() {
		return false
	}
	if !whole.Composes() {
		return whole.Bound(delta) <= epsilon // exact
	}
	bounds := whole.Pair.bounds()
	if !(bounds.Fraction(delta) > 0) || bounds.Delta > delta {
		return false
	}
	p := release.Pair
	if !simple || !p.Kinds.Single() || p.Rho > 0 || p.MuSquares > 0 || whole.Pair.HasKeys() {
		return true
	}
	whole.Pair.Kinds = before
	rest, ok := whole.accountant(c.losses(before))
	if !ok && len(before) > 0 {
		return false
	}
	more := p.Kinds[0].Size
	q := math.Exp(-more)
	return (rest.profile(epsilon-more)+q*rest.profile(epsilon+more))/(1+q) <= bounds.Fraction(delta)
}

// Certify reports whether the whole is (ε, δ)-DP by the exact composition, if that is promising.
// further is the whole with so many releases more like the last.
func (c *Certifier) Certify(whole Releases, promising func() bool, further func(more int) Releases, epsilon, delta float64) bool {
	if !whole.Pair.Kinds.Sampled() {
		return promising() && c.Within(whole, epsilon, delta)
	}
	c.sampled.Lock()
	defer c.sampled.Unlock()
	if whole.Valid() && slices.ContainsFunc(c.within[:], whole.BoundedBy) {
		return true
	}
	if !promising() {
		return false
	}
	for i, points := range samplePointsOf {
		rung := &c.rungs[i]
		if len(rung.beyond.Pair.Kinds) > 0 && rung.beyond.BoundedBy(whole) && points < samplePoints {
			continue
		}
		if rung.ahead > 0 {
			if further := further(rung.ahead); c.withinOn(further, points, epsilon, delta) {
				c.within[c.oldest%len(c.within)] = further
				c.oldest++
				rung.ahead = min(2*rung.ahead, 1<<20)
				return true
			}
			rung.ahead /= 4
		}
		if c.withinOn(whole, points, epsilon, delta) {
			rung.ahead = max(rung.ahead, 1)
			return true
		}
		rung.beyond = whole
	}
	return false
}
