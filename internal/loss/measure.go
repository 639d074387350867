// Package loss composes privacy losses: it bounds, from above and in float64, the profile δ(ε) of
// many releases together.
//
// A [Measure] is a distribution of privacy losses ln(dP/dQ) on a lattice, with mass at ∞ as well.
// Its profile is
//
//	δ(ε) = p(∞) + Σ p(l)·(1 − e^{ε−l})₊ over the losses l, for every real ε, also negative ones.
//
// A Measure bounds a release if its profile is nowhere below sup (P(E) − e^ε·Q(E)) over events E,
// in both directions of every neighbouring pair. The convolution of Measures that bound releases
// bounds them together, also when each release is chosen after seeing the ones before, as long as
// the Measures are not. What keeps this true in float64 is one rule: raising a mass, and moving
// mass to a higher loss or to ∞, raises the profile everywhere. So every mass, every weight and
// every offset is rounded up, and nothing is ever normalised. All sums have terms ≥ 0 only, so
// their errors are relative; a transform's would be absolute, and useless at δ = 1e-30.
//
// Mass that does not lie on a lattice is split between the two neighbours such that P- and Q-mass
// both stay. That replaces the profile, as a function of e^ε, by its chord between lattice points,
// which lies above because profiles are convex; the error is of second order in the step.
//
// The theorems, with proofs, are in loss_proof.md.
package loss

import (
	"math"
	"slices"
)

const (
	// floor is added to every mass that is computed, so that masses are 0 or at least floor, and no
	// product underflows.
	floor = 0x1p-400
	// negligible is the mass of a tail that is moved: up to the lowest loss that is kept, or to ∞.
	negligible = 0x1p-200
	// sampledTail is that of a sample, whose losses are small but with a long tail: shorter, it
	// leaves more of the lattice for them.
	sampledTail = 0x1p-100
	// above covers the errors of a value computed by at most eight calls of Exp and Expm1, of a
	// relative 2⁻⁵⁰ each, and eight roundings.
	above = 1 + 0x1p-46
)

// Measure is a distribution of losses: mass[i] at base + i·step. It is immutable once made.
type Measure struct {
	base, step float64
	mass       []float64 // upper bounds
	infinite   float64   // the mass at ∞
	releases   float64   // how many distributions were convolved: the more, the more points
	points     float64   // more of them while there are few releases: of a sample, else 0
}

// up returns the float64 after x.
func up(x float64) float64 { return math.Nextafter(x, math.Inf(1)) }

// slack returns 1 + (n+16)·2⁻⁵³: the factor that covers the roundings of a sum of n terms ≥ 0, in
// any order.
func slack(n int) float64 { return 1 + float64(n+16)*0x1p-53 }

// at returns an upper bound on the loss of point i.
func (m *Measure) at(i int) float64 { return up(math.FMA(float64(i), m.step, m.base)) }

// span is the distance of the first and last loss.
func (m *Measure) span() float64 { return float64(len(m.mass)-1) * m.step }

// Points returns how many finite losses there are.
func (m *Measure) Points() int { return len(m.mass) }

// finite returns an upper bound on the mass of the finite losses.
func (m *Measure) finite() float64 {
	sum := 0.0
	for _, x := range m.mass {
		sum += x
	}
	return sum * slack(len(m.mass))
}

// Delta returns an upper bound on the profile at any real ε, at most 1.
func (m *Measure) Delta(epsilon float64) float64 {
	sum, i := m.infinite, len(m.mass)-1
	if i > 0 && epsilon > m.base {
		i = int(max(min((epsilon-m.base)/m.step-2, float64(i)), 0)) // all before are below ε
	} else {
		i = 0
	}
	for ; i < len(m.mass); i++ {
		d := epsilon - m.at(i)
		if d < -1 {
			break // from here on 1 − e^d does not cancel
		}
		if d < 0 {
			sum += m.mass[i] * -math.Expm1(d)
		}
	}
	if i < len(m.mass) {
		// e ≤ e^{ε−l} throughout
		e, q := math.Exp(epsilon-m.at(i))*(1-0x1p-49), math.Exp(-m.step)*(1-0x1p-49)
		for _, x := range m.mass[i:] {
			sum += x * (1 - e)
			e *= q
		}
	}
	return atMostOne(sum * slack(len(m.mass)))
}

// atMostOne returns min(x, 1), and 1 for what has overflowed.
func atMostOne(x float64) float64 {
	if x < 1 {
		return x
	}
	return 1
}

// DeltaWith returns an upper bound on the profile, at any real ε, of the convolution with one more
// distribution of total mass 1, of which only an upper bound on the profile is known: last, for any
// real ε. It need not be on a lattice. Both directions of the last distribution must be within
// last.
func (m *Measure) DeltaWith(epsilon float64, last func(float64) float64) float64 {
	sum := m.infinite
	for i := len(m.mass) - 1; i >= 0; i-- {
		if m.mass[i] <= 0x1p-180 {
			sum += m.mass[i] // a profile is at most 1
			continue
		}
		sum += m.mass[i] * last(math.Nextafter(epsilon-m.at(i), math.Inf(-1)))
	}
	return atMostOne(sum * slack(len(m.mass)))
}

// trim moves negligible tails.
func (m *Measure) trim() {
	least := negligible
	if m.points > 0 {
		least = sampledTail
	}
	first, tail := 0, 0.0
	for first < len(m.mass)-1 && tail+m.mass[first] <= least {
		tail += m.mass[first]
		first++
	}
	if first > 0 {
		m.base = m.at(first)
		m.mass = m.mass[first:]
		m.mass[0] = (m.mass[0] + tail) * slack(first)
	}
	last, tail := len(m.mass), 0.0
	for last > 1 && tail+m.mass[last-1] <= least {
		tail += m.mass[last-1]
		last--
	}
	if last < len(m.mass) {
		m.infinite = (m.infinite + tail) * slack(len(m.mass)-last)
		m.mass = m.mass[:last]
	}
}

// coarsen doubles the step: each odd point is split between the two beside it.
func (m *Measure) coarsen() {
	q := math.Exp(-m.step)
	higher, lower := 1/(1+q), q/(1+q)+floor
	coarse := make([]float64, len(m.mass)/2+1)
	for i, x := range m.mass {
		if i%2 == 0 {
			coarse[i/2] += x
			continue
		}
		coarse[i/2] += lower * x
		coarse[i/2+1] += higher * x
	}
	for i, x := range coarse {
		coarse[i] = x*slack(0) + floor // an Exp and five roundings
	}
	m.mass, m.step = coarse, 2*m.step
}

// Coarse returns the distribution on at most so many points, at least 3.
func (m *Measure) Coarse(points int) *Measure {
	if len(m.mass) <= max(points, 3) {
		return m
	}
	c := *m
	for len(c.mass) > max(points, 3) {
		c.coarsen()
	}
	return &c
}

// on returns the distribution on a lattice of that step: as it is if it lies there, else each mass
// split between the two lattice points next to it.
func (m *Measure) on(step float64) *Measure {
	if step == m.step || len(m.mass) == 1 {
		return &Measure{m.base, step, slices.Clone(m.mass), m.infinite, m.releases, m.points}
	}
	r := &Measure{m.base, step, make([]float64, int(m.span()/step)+3), m.infinite, m.releases, m.points}
	stride, exact := multiple(m.step, step)
	whole := math.Expm1(-step)
	for i, x := range m.mass {
		if exact {
			r.mass[i*stride] = x
			continue
		}
		at := up(float64(i) * m.step) // from base; with i = 0 an ulp of nothing
		if i == 0 {
			at = 0
		}
		put(r.mass, at, step, whole, x)
	}
	most := slack(len(m.mass))
	for i := range r.mass {
		r.mass[i] *= most
	}
	return r
}

// put adds the mass x at a distance from point 0, split between the two points beside it; whole is
// e^{−step} − 1.
func put(mass []float64, at, step, whole, x float64) {
	j := math.Floor(at / step)
	// correctly rounded, as the distances to both lattice points must be
	d := math.FMA(-j, step, at)
	if d < 0 {
		j--
		d = math.FMA(-j, step, at)
	}
	if d == 0 {
		mass[int(j)] += x
		return
	}
	e := max(math.FMA(j+1, step, -at), 0)
	higher, lower := math.Expm1(-d)/whole*above, math.Exp(-d)*(math.Expm1(-e)/whole)*above
	mass[int(j)+1] += x*higher + floor
	mass[int(j)] += x*lower + floor
}

// multiple returns a/b if that is a whole number below 2²⁰.
func multiple(a, b float64) (int, bool) {
	q := a / b
	return int(q), q >= 1 && q < 0x1p20 && q == math.Floor(q) && q*b == a && math.FMA(q, b, -a) == 0
}
