package kor

import (
	"math"

	"github.com/dpsketch/dpsketch/noise"
)

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
	law, err := r.params.countLaw()
	if err != nil {
		return t // unreachable: New and the decoder have checked the Params
	}
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
	var below, above [3]float64
	for k := range c.terms {
		if t := &c.terms[k]; t.factor != 0 {
			low, high := t.interval(confidence)
			below[k], above[k] = max(t.estimate-low, 0), max(high-t.estimate, 0)
		}
	}
	down, up := *c, *c
	for k := range c.terms {
		down.terms[k].stdErr, up.terms[k].stdErr = below[k], above[k]
		if c.terms[k].factor < 0 {
			down.terms[k].stdErr, up.terms[k].stdErr = above[k], below[k]
		}
	}
	estimate := c.Estimate()
	return max(estimate-down.StdErr(), 0), max(estimate+up.StdErr(), 0)
}
