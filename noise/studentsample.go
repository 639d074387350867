package noise

import (
	"math"
	"math/big"

	"github.com/dpsketch/dpsketch/internal/enclose"
)

// Sample draws X and returns it rounded to the nearest multiple of step.
//
// It is exact: for every integer k with |k| < 2⁵³ the result is k·step with probability
// Pr[(k−½)·step < X < (k+½)·step], for α, s and step given as float64, with no error at all. For
// draws beyond see [Pareto.Sample].
//
// step must be a power of two with s/step ≤ 2⁴⁶; otherwise the result is NaN ([CheckStep]).
func (d Student) Sample(src *Source, step float64) float64 {
	steps, ok := d.SampleSteps(src, step)
	if !ok {
		return math.NaN()
	}
	return inSteps(steps, step)
}

// SampleSteps is Sample in steps, to be added to an integer. It is exact below 2⁶¹. For a step that
// Sample refuses, and on the zero value, it returns false and a draw that is uniform over all
// int64.
func (d Student) SampleSteps(src *Source, step float64) (steps int64, ok bool) {
	g, ok := newPowerGrid(studentLaw, d.law.shape, d.law.scale, step)
	if !ok {
		return unbuiltInt(src), false
	}
	p := newProposal(d.law.shape)
	for {
		if k, coin, accepted := g.studentCell(src, p); accepted {
			return withSign(g.sample(src, g.cellOf(k)), coin), true
		}
	}
}

// proposal is a law of t = |X|/s that is easy to invert and whose density is in no place much below
// that of the Student-type law f(t) ∝ (1+t²)^{−α/2}.
//
// For α ≥ 3 it is σ times the law of α = 3, of density (1 + (t/σ)²)^{−3/2}, with σ² ≥ 3/α: t/σ =
// (1−v)/√(v(2−v)) for a uniform v. The acceptance probability
//
//	(1+t²)^{−α/2}·(1 + (t/σ)²)^{3/2}
//
// is 1 at t = 0 and falls: its logarithm has the slope 3t/(σ²+t²) − αt/(1+t²) ≤ 0, as 3(1+t²) ≤
// α(σ²+t²). At worst, for α → ∞, √(π/2)/√3 = 0.72 of the proposals are accepted; for α = 3 all.
//
// For α < 3 it has the density (1+t)^{−2}: t = (1−v)/v, accepted with probability
// ½(1+t)²(1+t²)^{−α/2} ≤ 1, at least half of the time.
type proposal struct {
	shape, sigma float64 // σ = 0 for α < 3
}

func newProposal(shape float64) proposal {
	switch {
	case shape < 3:
		return proposal{shape, 0}
	case shape == 3:
		return proposal{shape, 1}
	}
	return proposal{shape, math.Sqrt(3/shape) * (1 + 0x1p-50)} // two roundings of 2⁻⁵³ below
}

// studentCell draws ⌊units·t⌋ and a coin, or is to be called again.
func (g powerGrid) studentCell(src *Source, p proposal) (cell int64, coin uint64, ok bool) {
	w, accept := src.Uint64(), src.Uint64()
	t, decided := p.quick(w)
	if !decided {
		return g.studentExactly(src, p, newLazy(w, 64), newLazy(accept>>1, 63), accept)
	}
	if p.shape != 3 { // else all are accepted
		below, decided := p.acceptQuick(t, w, accept>>1)
		if !decided {
			return g.studentExactly(src, p, newLazy(w, 64), newLazy(accept>>1, 63), accept)
		}
		if !below {
			return 0, 0, false
		}
	}
	v := g.units * t
	err := v*(0x1p-48+4/float64(w)) + g.units*0x1p-50
	if v+err >= mostCell || g.units == leastUnits && v+err >= 1 || int64(v-err) != int64(v+err) || v-err <= -1 {
		return p.cellExactly(src, g, newLazy(w, 64)), accept, true
	}
	return int64(v - err), accept, true
}

// quick returns t in float64 for v in [w, w+1)/2⁶⁴, or false for a w below 2²⁰. The float64 of v is
// within a relative 2⁻⁵³ + 1/w, 1 − v within 2⁻⁵², and the roots, quotients and σ add a few units:
// t is within t·(2⁻⁴⁹ + 2/w) + 2⁻⁵¹.
func (p proposal) quick(w uint64) (t float64, decided bool) {
	if w < 1<<20 {
		return 0, false
	}
	v := float64(w) * 0x1p-64
	if p.sigma == 0 {
		return (1 - v) / v, true
	}
	return (1 - v) / math.Sqrt(v*(2-v)) * p.sigma, true
}

// acceptQuick compares a uniform number of 63 digits with the acceptance probability in float64.
//
// It is e^{−e} with e = a − c, a = (α/2)·ln(1+t²), and matters for e ≤ 60; as t < 2⁴⁴, c < 62 and a
// < 122. A relative error r of t moves a by αr·t²/(1+t²) ≤ 2ar and c by 3r at most: 250·(2⁻⁴⁹ +
// 2/w). An absolute one of 2⁻⁵¹ moves a by αt/(1+t²)·2⁻⁵¹ ≤ √(2aα)·2⁻⁵¹ ≤ 2⁻³⁷, as t²/(1+t²) ≤
// ln(1+t²). The logarithms and their factors are within a relative 2⁻⁵⁰.
func (p proposal) acceptQuick(t float64, w, uniform uint64) (below, decided bool) {
	square := t * t
	a := p.shape / 2 * math.Log1p(square)
	var c float64
	if p.sigma == 0 {
		c = 2*math.Log1p(t) - math.Ln2
	} else {
		c = 1.5 * math.Log1p(square/p.sigma/p.sigma)
	}
	u := float64(uniform>>10) * 0x1p-53
	e := a - c
	if e > 60 {
		return false, u > 0x1p-50
	}
	err := 0x1p-36 + 1024/float64(w)
	prob := math.Exp(-e)
	return u < prob, u < prob-err || u > prob+err
}

// studentExactly is studentCell in exact arithmetic.
func (g powerGrid) studentExactly(src *Source, p proposal, v, accept *lazy, coin uint64) (int64, uint64, bool) {
	if p.shape != 3 && !p.acceptExactly(src, v, accept) {
		return 0, 0, false
	}
	return p.cellExactly(src, g, v), coin, true
}

// base returns (t/σ)², or t where σ = 0, for v in (0, 1].
func (p proposal) base(v *big.Rat) *big.Rat {
	rest := new(big.Rat).Sub(big.NewRat(1, 1), v)
	if p.sigma == 0 {
		return rest.Quo(rest, v)
	}
	below := new(big.Rat).Sub(big.NewRat(2, 1), v)
	rest.Mul(rest, rest)
	return rest.Quo(rest, below.Mul(below, v))
}

// square returns t².
func (p proposal) square(v *big.Rat) *big.Rat {
	t := p.base(v)
	if p.sigma == 0 {
		return t.Mul(t, t)
	}
	sigma := enclose.Rat(p.sigma)
	return t.Mul(t, sigma.Mul(sigma, sigma))
}

// exponent returns bounds of e for v in [lo, hi], lo > 0: both parts of e rise with t, which falls
// with v.
func (p proposal) exponent(lo, hi *big.Rat, bits uint) (least, most *big.Rat) {
	one := big.NewRat(1, 1)
	plusOne := func(x *big.Rat) *big.Rat { return x.Add(x, one) }
	half, factor := enclose.Rat(p.shape/2), big.NewRat(3, 2)
	two, twoMost := new(big.Rat), new(big.Rat)
	if p.sigma == 0 {
		factor = big.NewRat(2, 1)
		two, twoMost = enclose.Log(factor, bits+96)
	}
	aLeast, _ := enclose.LogMultiple(half, plusOne(p.square(hi)), bits)
	_, aMost := enclose.LogMultiple(half, plusOne(p.square(lo)), bits)
	cLeast, _ := enclose.LogMultiple(factor, plusOne(p.base(hi)), bits)
	_, cMost := enclose.LogMultiple(factor, plusOne(p.base(lo)), bits)
	least = aLeast.Sub(aLeast, cMost)
	most = aMost.Sub(aMost, cLeast)
	least.Add(least, two)
	most.Add(most, twoMost)
	if least.Sign() < 0 { // e ≥ 0
		least.SetInt64(0)
	}
	return least, most
}

// acceptExactly decides whether the uniform number accept is below e^{−e}.
func (p proposal) acceptExactly(src *Source, v, accept *lazy) bool {
	for {
		if lo := v.lower(); lo.Sign() > 0 {
			least, most := p.exponent(lo, v.upper(), accept.bits)
			if below, decided := accept.compareExp(least, most); decided {
				return below
			}
		}
		v.refine(src)
		accept.refine(src)
	}
}

// cellExactly returns ⌊units·t⌋ = ⌊√⌊(units·t)²⌋⌋, mostCell if that is less.
func (p proposal) cellExactly(src *Source, g powerGrid, v *lazy) int64 {
	for {
		least := p.cellAt(g, v.upper())
		if lo := v.lower(); least == mostCell || lo.Sign() > 0 && least == p.cellAt(g, lo) {
			return least
		}
		v.refine(src)
	}
}

// cellAt is cellExactly where all digits of v are known.
func (p proposal) cellAt(g powerGrid, v *big.Rat) int64 {
	units := g.exactUnits()
	x := units.Mul(units, units).Mul(units, p.square(v))
	root := new(big.Int).Quo(x.Num(), x.Denom())
	if root.Sqrt(root); root.BitLen() > 62 {
		return mostCell
	}
	return root.Int64()
}
