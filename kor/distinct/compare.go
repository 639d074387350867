package distinct

import (
	"math"
	"math/bits"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/kor"
	"github.com/dpsketch/dpsketch/kor/internal/sets"
)

// weights are by what A∪B, A∩B, A∖B and B∖A count the sizes of A∖B, B∖A and A∩B.
var weights = [...]vector{sets.Union: {1, 1, 1}, sets.Intersection: {0, 0, 1}, sets.OnlyA: {1, 0, 0}, sets.OnlyB: {0, 1, 0}}

// comparison is what two releases tell of their sets, whose sizes their counts tell. One number is
// then free, t, one of the four sizes. The score at θ(t) for t, less what it shares with those for
// |A| and |B|, is hardly moved by errors of these, so the counts may stand for them (Neyman). In
// units of its standard error it is the deviation of t.
type comparison struct {
	model
	of    [2]*Sketch
	size  [2]float64 // of A and of B
	sigma [2]float64 // their standard errors
	theta vector     // estimates of |A∖B|, |B∖A|, |A∩B|
}

// at returns θ(t): the sizes are those of the counts, as far as t lets them.
func (c *comparison) at(place int, t float64) vector {
	a, b, both := c.size[0], c.size[1], t
	switch place {
	case sets.Union:
		if more := (t - a - b) / 2; more > 0 {
			return vector{a + more, b + more, 0}
		}
		a, b = min(a, t), min(b, t)
		both = a + b - t
	case sets.OnlyA:
		both = max(a-t, 0)
		a = both + t
	case sets.OnlyB:
		both = max(b-t, 0)
		b = both + t
	}
	return vector{max(a-both, 0), max(b-both, 0), both}
}

// step returns by how much a size is too small at θ by a scoring step of all three parts, and the
// standard error of that, +Inf where nothing tells. The information is for Poisson numbers of keys,
// whose own variance is their mean. For the sets as they are that part is no error (see
// [kor.Plan.StdErr]); a fiftieth is kept as a floor.
func (c *comparison) step(place int, theta vector) (by, stdErr float64) {
	info, score := c.linear(theta)
	inv, ok := info.inverse()
	if !ok {
		return 0, math.Inf(1)
	}
	w := weights[place]
	v := w.dot(inv.times(w))
	if !(v > 0) {
		return 0, math.Inf(1)
	}
	return w.dot(inv.times(score)), math.Sqrt(max(v-w.dot(theta), v/50))
}

// deviation returns that of each t.
func (c *comparison) deviation(place int) func(t float64) float64 {
	return func(t float64) float64 {
		by, stdErr := c.step(place, c.at(place, t))
		return by / stdErr
	}
}

// fit sets the estimates. By the counts |A∩B| is from 0 to the smaller size; the estimate is the
// mean of that range with the weights e^{−deviation²/2}. Where all parts are clear of 0 the bits
// make |A| and |B| more exact too, by a scoring step.
func (c *comparison) fit() {
	smaller := min(c.size[0], c.size[1])
	both := mean(0, smaller, c.deviation(sets.Intersection))
	c.theta = c.at(sets.Intersection, both)
	next, inside := c.theta, true
	for k, place := range [...]int{sets.OnlyA, sets.OnlyB, sets.Intersection} {
		by, stdErr := c.step(place, c.theta)
		next[k] += by
		inside = inside && next[k] > 2*stdErr
	}
	if union := next.sum(); inside && next[2] <= smaller && union >= max(c.size[0], c.size[1]) && union <= c.size[0]+c.size[1] {
		c.theta = next
	}
}

// part is one of the four sizes.
type part struct {
	*comparison
	place int
}

// Estimate is within what the estimates of A and of B leave possible.
func (p part) Estimate() float64 { return p.theta.dot(weights[p.place]) }

// StdErr is that of the step, or what the sizes of A and of B say if that is less: half of the
// range for A∩B, and with it the errors of what A∩B is taken from.
func (p part) StdErr() float64 {
	_, stdErr := p.step(p.place, p.theta)
	most := min(p.size[0]+p.sigma[0], p.size[1]+p.sigma[1]) / 2
	for i, only := range [2]int{sets.OnlyA, sets.OnlyB} {
		if p.place == sets.Union || p.place == only {
			most = math.Hypot(most, p.sigma[i])
		}
	}
	return min(stdErr, most)
}

// Interval returns the sizes whose deviation is small enough, within intervals for A and B. These
// take a tenth of the errors. Of a union they can say about as much as the bits do, or the smaller
// set can be hardly more than the error of the larger one, where the deviation is far from normal:
// then it is they alone that count, at all of the confidence. What they say covers whatever the
// overlap is: |A∪B| is at least the larger size and at most the sum of both.
func (p part) Interval(confidence float64) (lo, hi float64) {
	errors, z := 1-confidence, normalQuantile(confidence)
	if p.place == sets.Union {
		least, reach := 0.0, 0.0
		for i, s := range p.of {
			from, to := s.erring(errors)
			least, reach = max(least, from), math.Hypot(reach, to-p.size[i])
		}
		most := p.size[0] + p.size[1] + 1.06*reach
		_, stdErr := p.step(p.place, p.theta)
		if small := min(p.size[0], p.size[1]) < 1.5*max(p.sigma[0], p.sigma[1]); small || most-least < 2.5*z*stdErr {
			return min(least, p.Estimate()), max(most, p.Estimate())
		}
	}
	from, to := p.bounds(0.05 * errors)
	deviation := p.deviation(p.place)
	lo, hi = accepted(from, nearest(from, to, deviation), to, normalQuantile(1-0.9*errors), deviation)
	return min(lo, p.Estimate()), max(hi, p.Estimate())
}

// bounds returns what intervals for |A| and |B| leave possible, which err that often each.
func (p part) bounds(errors float64) (lo, hi float64) {
	var least, most [2]float64
	for i, s := range p.of {
		least[i], most[i] = s.erring(errors)
	}
	switch p.place {
	case sets.Union:
		return max(least[0], least[1]), most[0] + most[1]
	case sets.Intersection:
		return 0, min(most[0], most[1])
	case sets.OnlyA:
		return max(least[0]-most[1], 0), most[0]
	}
	return max(least[1]-most[0], 0), most[1]
}

// Compare estimates the sizes of A∪B, A∩B, A∖B and B∖A from two releases with CountShare < 1. For
// equal or disjoint sets estimates are biased towards the middle of what the counts allow.
// Intervals at .95 cover .94 to 1 for ε in [0.1, 4] and Cells ≥ 64; with larger ε often .8 for an
// overlap of a few keys with a set that fills most cells. [ErrMismatch] for a release that is nil,
// zero, without bits or there twice, or another Seed, Cells or Levels.
func Compare(a, b *Sketch) (*kor.Comparison, error) {
	c, err := compare(a, b)
	if err != nil {
		return nil, err
	}
	var parts sets.Parts
	for place := range parts {
		parts[place] = part{c, place}
	}
	return &kor.Comparison{Parts: parts}, nil
}

// compare is Compare as it is fitted.
func compare(a, b *Sketch) (*comparison, error) {
	if err := compatible(a, b); err != nil {
		return nil, err
	}
	c := &comparison{model: model{flips: [2]float64{a.flipProb(), b.flipProb()}, curve: bareCurve(a.params)}, of: [2]*Sketch{a, b}}
	for i, s := range c.of {
		count := s.count()
		c.ones[i], c.noise[i] = count.ones, count.variance
		c.size[i], c.sigma[i] = max(count.Estimate(), 0), count.StdErr()
	}
	c.observe(a, b)
	c.fit()
	return c, nil
}

// compatible returns an error unless the releases can be compared.
func compatible(a, b *Sketch) error {
	for _, s := range []*Sketch{a, b} {
		switch {
		case s == nil || !s.valid():
			return check.MismatchError("distinct", "Sketch", "one that was not released", "a released one")
		case s.bits == nil:
			return check.MismatchError("distinct", "CountShare", s.params.CountShare, "a share below 1, which leaves bits to compare")
		}
	}
	if a.id == b.id {
		return check.MismatchError("distinct", "release", "one and the same", "another one, with noise of its own")
	}
	p := b.params
	p.Epsilon, p.CountShare = a.params.Epsilon, a.params.CountShare
	return check.Equal("distinct", a.params, p)
}

// flipProb returns the probability with which the bits of the release were flipped.
func (s *Sketch) flipProb() float64 {
	l, _ := s.params.laws() // of a release, so no error
	return l.flips.Prob()
}

// model is what two releases show, and its law.
type model struct {
	curve    curve
	flips    [2]float64            // the probabilities of a flip
	patterns [maxLevels][4]float64 // of each level, the cells that show (0,0), (0,1), …
	ones     [2]float64            // the counts T̃
	noise    [2]float64            // and the variances of their noise
}

// observe counts the patterns.
func (m *model) observe(a, b *Sketch) {
	stride := a.params.stride()
	for i := range a.params.Levels {
		var only, other, both int
		for j := i * stride; j < (i+1)*stride; j++ {
			x, y := a.bits[j], b.bits[j]
			both += bits.OnesCount64(x & y)
			only += bits.OnesCount64(x &^ y)
			other += bits.OnesCount64(y &^ x)
		}
		m.patterns[i] = [4]float64{float64(a.params.Cells - both - only - other), float64(other), float64(only), float64(both)}
	}
}
