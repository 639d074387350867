package kor

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/kor/internal/sets"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// Cardinality is the estimated size of a set. The zero Cardinality is NaN.
type Cardinality struct {
	// Source is set by packages kor and distinct.
	Source sets.Size
}

// Estimate returns the estimated size. It can be negative, except from distinct.Compare and
// distinct.Union. NaN if there is none.
func (c Cardinality) Estimate() float64 {
	if c.Source == nil {
		return math.NaN()
	}
	return c.Source.Estimate()
}

// StdErr returns the standard error, +Inf if there is no estimate.
func (c Cardinality) StdErr() float64 {
	if c.Source == nil {
		return math.NaN()
	}
	return c.Source.StdErr()
}

// Interval returns bounds ≥ 0 on the size. Coverage and confidence differ by about the squared
// relative errors. hi is +Inf if the size is not bounded. NaN for a confidence outside [0, 1).
func (c Cardinality) Interval(confidence float64) (lo, hi float64) {
	if c.Source == nil || !check.Confidence(confidence) {
		return math.NaN(), math.NaN()
	}
	return c.Source.Interval(confidence)
}

// String returns the estimate and its standard error, or bounds at 95 %.
func (c Cardinality) String() string {
	switch {
	case c.Source == nil:
		return "kor.Cardinality (empty)"
	case math.IsNaN(c.Estimate()):
		lo, hi := c.Interval(0.95)
		return fmt.Sprintf("between %.6g and %.6g", lo, hi)
	}
	return fmt.Sprintf("%.6g ± %.3g", c.Estimate(), c.StdErr())
}

// Comparison holds the sizes of A∪B, A∩B, A∖B and B∖A. The zero Comparison answers NaN.
type Comparison struct {
	// Parts is set by packages kor and distinct.
	Parts sets.Parts
}

// part returns one of the sizes.
func (c *Comparison) part(place int) Cardinality {
	if c == nil {
		return Cardinality{}
	}
	return Cardinality{c.Parts[place]}
}

// Union returns the size of A∪B.
func (c *Comparison) Union() Cardinality { return c.part(sets.Union) }

// Intersection returns the size of A∩B.
func (c *Comparison) Intersection() Cardinality { return c.part(sets.Intersection) }

// OnlyA returns the size of A∖B.
func (c *Comparison) OnlyA() Cardinality { return c.part(sets.OnlyA) }

// OnlyB returns the size of B∖A.
func (c *Comparison) OnlyB() Cardinality { return c.part(sets.OnlyB) }

// String returns the four sizes.
func (c *Comparison) String() string {
	if c == nil || c.Parts == (sets.Parts{}) {
		return "kor.Comparison (empty)"
	}
	return fmt.Sprintf("union %v, intersection %v, only A %v, only B %v", c.Union(), c.Intersection(), c.OnlyA(), c.OnlyB())
}

// Compare returns the sizes of A∪B = (|A| + |B| + |A∆B|)/2 (thesis, section 3.4.3), A∩B, A∖B and
// B∖A, with |A| and |B| by [Sketch.Total]. The errors are those of [Sketch.SymmetricDifference].
func Compare(a, b *Sketch) (*Comparison, error) {
	a = sets.OrZero(a)
	xored, err := a.SymmetricDifference(b)
	if err != nil {
		return nil, err
	}
	of := func(f, g, h float64) sets.Size { return combine(&a.release, &b.release, &xored.release, f, g, h) }
	return &Comparison{sets.Parts{of(0.5, 0.5, 0.5), of(0.5, 0.5, -0.5), of(0.5, -0.5, 0.5), of(-0.5, 0.5, 0.5)}}, nil
}

// CompareStreams returns the numbers of distinct keys in two streams. The errors are those of
// [StreamSketch.Union].
func CompareStreams(a, b *StreamSketch) (*Comparison, error) {
	union, err := a.Union(b)
	if err != nil {
		return nil, err
	}
	of := func(f, g, h float64) sets.Size { return combine(&a.release, &b.release, &union.release, f, g, h) }
	return &Comparison{sets.Parts{of(0, 0, 1), of(1, 1, -1), of(0, -1, 1), of(-1, 0, 1)}}, nil
}

// Total returns the size by the released count or the sketch, whichever has the smaller standard
// error.
func (s *Sketch) Total() Cardinality {
	if !s.valid() {
		return Cardinality{}
	}
	return Cardinality{&combination{terms: [3]term{s.term(1)}}}
}

// part is one release whose bits are in a sketch. Its identity is public randomness and has nothing
// to do with the data: the first half was drawn with the Builder and goes with its private state,
// the second is drawn at the release.
//
// The parts of a sketch say what its noise is. XOR of sketches adds their noise, and noise cancels
// where one release is in both: so the parts of the XOR are those that are in one of the two, as
// for the sets, and independent each of the others. The flip probability p′ of the XOR is exact at
// every number of merges: 1 − 2p′ = Π (1 − 2pⱼ) over the parts, which is p₁ + p₂ − 2p₁p₂ for two. A
// sketch XORed with itself has no parts, no noise and no bits: it is the sketch of the empty set,
// and says so.
type part struct {
	id      hashing.Seed
	epsilon float64
	k       uint64 // every flip of a bit had probability k/2⁶⁴
	flips   uint32 // of each bit: n for an aggregate of n shares, else 1
}

// logSign returns ln(1 − 2p) of the part, ln E[(−1)^flip].
func (p part) logSign() float64 { return float64(p.flips) * logSign(p.k) }

// logSign returns ln(1 − 2k/2⁶⁴) for k ≤ 2⁶³.
func logSign(k uint64) float64 {
	if k > 1<<61 { // 2⁶³ − k is exact, and 1 − 2p far from 1
		return math.Log(float64(1<<63-k) * 0x1p-63)
	}
	return math.Log1p(-float64(k) * 0x1p-63)
}

// maxParts is the most releases that one sketch can be the XOR of.
const maxParts = 1 << 20

func compareParts(a, b part) int { return bytes.Compare(a.id[:], b.id[:]) }

// xorParts returns the parts that are in one of the two lists, both sorted by identity.
func xorParts(a, b []part) ([]part, error) {
	sum := make([]part, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch c := compareParts(a[0], b[0]); {
		case c < 0:
			sum, a = append(sum, a[0]), a[1:]
		case c > 0:
			sum, b = append(sum, b[0]), b[1:]
		case a[0] != b[0]:
			return nil, check.MismatchError("kor", "release "+a[0].id.String(), a[0].k, b[0].k)
		default:
			a, b = a[1:], b[1:]
		}
	}
	sum = append(append(sum, a...), b...)
	if len(sum) > maxParts {
		return nil, bad("number of releases", len(sum), "at most 2²⁰ in one sketch")
	}
	return sum, nil
}

// common returns a release that is in both lists.
func common(a, b []part) (id hashing.Seed, ok bool) {
	for _, p := range a {
		if _, ok = slices.BinarySearchFunc(b, p, compareParts); ok {
			return p.id, true
		}
	}
	return id, false
}

// totalLogSign returns ln(1 − 2p′) of the XOR of all parts, 0 for none.
func totalLogSign(parts []part) (sum float64) {
	for _, p := range parts {
		sum += p.logSign()
	}
	return sum
}

// together returns what the releases behind the parts promise together. Without parts nothing is
// promised, though a sketch without parts holds nothing either.
func together(parts []part) budget.Guarantee {
	if len(parts) == 0 {
		return budget.Guarantee{}
	}
	all := make([]budget.Guarantee, len(parts))
	for i, p := range parts {
		all[i] = budget.PureDP(p.epsilon, unit)
	}
	g, _ := budget.Compose(all...) // one unit, so no error
	return g
}

// origin is the first half of an identity: that of the Builder whose data were released.
type origin [8]byte

func newOrigin() origin {
	seed := hashing.NewSeed()
	return origin(seed[:8])
}

// newPart returns the record of a fresh release.
func newPart(p Params, law noise.Bernoulli, flips uint32, from origin) part {
	id := hashing.NewSeed()
	copy(id[:], from[:])
	return part{id: id, epsilon: p.Epsilon, k: law.K(), flips: flips}
}

// origin returns the Builder that the release came from.
func (p part) origin() origin { return origin(p.id[:8]) }

// largestEpsilon returns the ε of the weakest release, 0 without parts.
func largestEpsilon(parts []part) (epsilon float64) {
	for _, p := range parts {
		epsilon = max(epsilon, p.epsilon)
	}
	return epsilon
}

// weakest returns the weakest of what the releases of one Builder promise together. They are
// adjacent, as the parts are sorted.
func weakest(parts []part) (g budget.Guarantee) {
	epsilon := 0.0
	for len(parts) > 0 {
		n := 1
		for n < len(parts) && parts[n].origin() == parts[0].origin() {
			n++
		}
		if all := together(parts[:n]); all.Epsilon() > epsilon {
			g, epsilon = all, all.Epsilon()
		}
		parts = parts[n:]
	}
	return g
}

// combination is a combination of estimated sizes.
type combination struct {
	terms       [3]term
	correlation [3]float64 // of the errors of terms 0 and 1, 0 and 2, 1 and 2
}

// term is an estimated size and what it counts for.
type term struct {
	factor, estimate, stdErr float64
	likelihood               *likelihood           // of a sketch,
	count                    noise.DiscreteLaplace // or else the noise of a released count
}

// interval returns the interval of the term, which may begin below 0.
func (t *term) interval(confidence float64) (lo, hi float64) {
	if t.likelihood != nil {
		return t.likelihood.interval(confidence)
	}
	reach := math.Ldexp(t.count.Quantile((1+confidence)/2), -countBits)
	return t.estimate - reach, t.estimate + reach
}

// term returns the size of the release, by its count or by its likelihood, whichever has the
// smaller standard error.
func (r *release) term(factor float64) term {
	l := r.likelihood()
	t := term{factor: factor, estimate: l.estimate(), likelihood: &l}
	t.stdErr = l.stdErr(max(t.estimate, 0))
	if !r.counted {
		return t
	}
	law, _ := r.params.countLaw() // of a release, so no error
	if sd := math.Ldexp(math.Sqrt(law.Variance()), -countBits); !(sd >= t.stdErr) {
		return term{factor: factor, estimate: math.Ldexp(float64(r.count), -countBits), stdErr: sd, count: law}
	}
	return t
}

// combine returns f·|A| + g·|B| + h·|A⊕B|, from the sketches of A, B and their XOR.
//
// The three likelihoods are of dependent bits. For the bits of one cell let σ_A, σ_B and σ =
// σ_A·σ_B be (−1)^bit. Their expectations at level i are a, b and d, those of the laws, and as
// squares are 1, E[σ_A·σ_B] = d, E[σ_A·σ] = b and E[σ_B·σ] = a. An estimate of x is off by U/I in
// first order, where the score U is −Σᵢ wᵢ·Σ(σ − E[σ]) with wᵢ = rᵢ·a/(1−a²). So for the estimates
// from A and B, say,
//
//	Cov = Σᵢ n·wᵢ(A)·wᵢ(B)·(dᵢ − aᵢ·bᵢ) / (I_A·I_B).
//
// A released count has noise of its own and is independent of all. If A and B are one sketch, their
// XOR is exactly empty, and |A| is |B|, count or no count: the size is (f+g)·|A|, exactly 0 for
// A∖A.
func combine(a, b, xored *release, f, g, h float64) *combination {
	if len(xored.parts) == 0 {
		return &combination{terms: [3]term{a.term(f + g)}}
	}
	c := &combination{terms: [3]term{a.term(f), b.term(g), xored.term(h)}}
	var s [3]signs
	var info [3]float64
	releases := [3]*release{a, b, xored}
	for k := range c.terms {
		l := releases[k].law()
		x := max(c.terms[k].estimate, 0) / l.unit
		l.signs(&s[k], x)
		info[k], _ = l.informationOf(&s[k])
	}
	for pair, k := range [3][3]int{{0, 1, 2}, {0, 2, 1}, {1, 2, 0}} {
		i, j, other := k[0], k[1], k[2]
		if c.terms[i].likelihood == nil || c.terms[j].likelihood == nil || !(info[i] > 0 && info[j] > 0 && info[i]+info[j] < math.Inf(1)) {
			continue
		}
		cov := 0.0
		for level := range a.params.Levels {
			cov += s[i].weight(level) * s[j].weight(level) * (s[other].a[level] - s[i].a[level]*s[j].a[level])
		}
		c.correlation[pair] = min(max(float64(a.params.Cells)*cov/math.Sqrt(info[i]*info[j]), -1), 1)
	}
	return c
}

// weight returns r·a/(1−a²) of a level.
func (s *signs) weight(level int) float64 {
	return rate(level) * s.a[level] / (s.rest[level] * (1 + s.a[level]))
}

// Estimate is as unbiased as the sizes it comes from.
func (c *combination) Estimate() float64 {
	sum := 0.0
	for _, t := range c.terms {
		if t.factor != 0 {
			sum += t.factor * t.estimate
		}
	}
	return sum
}

// StdErr takes the correlations of the sketches into account.
func (c *combination) StdErr() float64 {
	return c.length(func(t *term) float64 { return t.stdErr })
}

// length returns the square root of Σ d² + 2·Σ ρ·d·d′ with d = factor·of(term), +Inf if a d is.
func (c *combination) length(of func(*term) float64) float64 {
	var d [3]float64
	for k := range d {
		if t := &c.terms[k]; t.factor != 0 {
			d[k] = t.factor * of(t)
			if math.IsInf(d[k], 0) || math.IsNaN(d[k]) {
				return math.Inf(1)
			}
		}
	}
	unit := max(math.Abs(d[0]), math.Abs(d[1]), math.Abs(d[2])) // in which no square overflows
	if unit == 0 {
		return 0
	}
	for k := range d {
		d[k] /= unit
	}
	sum := d[0]*d[0] + d[1]*d[1] + d[2]*d[2]
	sum += 2 * (c.correlation[0]*d[0]*d[1] + c.correlation[1]*d[0]*d[2] + c.correlation[2]*d[1]*d[2])
	return unit * math.Sqrt(max(sum, 0))
}

// Interval returns the intervals of the terms, asymmetric as they are, recovered as distances from
// the estimate and added like standard errors with their correlations (the method of variance
// estimates recovery; Zou and Donner, Statistics in Medicine 2008).
func (c *combination) Interval(confidence float64) (lo, hi float64) {
	down, up := *c, *c
	for k, t := range c.terms {
		if t.factor != 0 {
			low, high := t.interval(confidence)
			below, above := max(t.estimate-low, 0), max(high-t.estimate, 0)
			if t.factor < 0 {
				below, above = above, below
			}
			down.terms[k].stdErr, up.terms[k].stdErr = below, above
		}
	}
	estimate := c.Estimate()
	return max(estimate-down.StdErr(), 0), max(estimate+up.StdErr(), 0)
}
