package noise

import (
	"cmp"
	"math"
	"math/big"

	"github.com/dpsketch/dpsketch/internal/exact"
)

// mostStudent is the largest shape of [Student]: the continued fraction of its tail loses places in
// proportion to it.
const mostStudent = 0x1p10

// Student is Student's t distribution with ν = α−1 degrees of freedom, scaled by s/√ν, with density
//
//	(1 + (x/s)²)^{−α/2}·Γ(α/2)/(√π·Γ((α−1)/2)·s).
//
// It has the tails of [Pareto] of the same shape, and a flat top: for small ε about half its noise.
// Its variance is s²/(α−3); for α = 2 it is Cauchy's distribution.
type Student struct{ symmetric[studentFormulas] }

// NewStudent returns the distribution of shape α in [2, 2¹⁰] and scale s.
func NewStudent(shape, scale float64) (Student, error) {
	err := cmp.Or(within("shape", shape, 2, mostStudent, "a number in [2, 2¹⁰]"), checkParam("scale", scale))
	return made(Student{symmetric[studentFormulas]{studentFormulas{shape, scale}}}, err)
}

// Shape returns α.
func (d Student) Shape() float64 { return d.formulas.shape }

// Scale returns s.
func (d Student) Scale() float64 { return d.formulas.scale }

// Sample draws X, NaN unless s/step ≤ 2⁴⁶, exactly below 2⁵³ steps; beyond see [Pareto.Sample].
func (d Student) Sample(src *Source, step float64) float64 {
	steps, ok := d.SampleSteps(src, step)
	if !ok {
		return math.NaN()
	}
	return inSteps(steps, step)
}

// SampleSteps is exact below 2⁶¹.
func (d Student) SampleSteps(src *Source, step float64) (steps int64, ok bool) {
	g, ok := newPowerGrid(studentKind, d.formulas.shape, d.formulas.scale, step)
	if !ok {
		return unbuiltInt(src), false
	}
	p := newStudentProposal(d.formulas.shape)
	for {
		if k, coin, accepted := g.studentCell(src, p); accepted {
			return withSign(g.sample(src, g.cellOf(k)), coin), true
		}
	}
}

func (d Student) draws(step float64) bool {
	_, ok := newPowerGrid(studentKind, d.formulas.shape, d.formulas.scale, step)
	return ok
}

// studentProposal is a distribution of t = |X|/s that is easy to invert and whose density is in no
// place much below that of Student's density f(t) ∝ (1+t²)^{−α/2}.
//
// For α ≥ 3 it is σ times the distribution of α = 3, of density (1 + (t/σ)²)^{−3/2}, with σ² ≥ 3/α:
// t/σ = (1−v)/√(v(2−v)) for a uniform v. The acceptance probability
//
//	(1+t²)^{−α/2}·(1 + (t/σ)²)^{3/2}
//
// is 1 at t = 0 and falls: its logarithm has the slope 3t/(σ²+t²) − αt/(1+t²) ≤ 0, as 3(1+t²) ≤
// α(σ²+t²). At worst, for α → ∞, √(π/2)/√3 = 0.72 of the proposals are accepted; for α = 3 all.
//
// For α < 3 it has the density (1+t)^{−2}: t = (1−v)/v, accepted with probability
// ½(1+t)²(1+t²)^{−α/2} ≤ 1, at least half of the time.
type studentProposal struct {
	shape, sigma float64 // σ = 0 for α < 3
}

func newStudentProposal(shape float64) studentProposal {
	switch {
	case shape < 3:
		return studentProposal{shape, 0}
	case shape == 3:
		return studentProposal{shape, 1}
	}
	return studentProposal{shape, math.Sqrt(3/shape) * (1 + 0x1p-50)} // two roundings of 2⁻⁵³ below
}

// studentCell draws ⌊units·t⌋ and a coin, or is to be called again.
func (g powerGrid) studentCell(src *Source, p studentProposal) (cell int64, coin uint64, ok bool) {
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
func (p studentProposal) quick(w uint64) (t float64, decided bool) {
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
func (p studentProposal) acceptQuick(t float64, w, uniform uint64) (below, decided bool) {
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
func (g powerGrid) studentExactly(src *Source, p studentProposal, v, accept *lazy, coin uint64) (int64, uint64, bool) {
	if p.shape != 3 && !p.acceptExactly(src, v, accept) {
		return 0, 0, false
	}
	return p.cellExactly(src, g, v), coin, true
}

// base returns (t/σ)², or t where σ = 0, for v in (0, 1].
func (p studentProposal) base(v *big.Rat) *big.Rat {
	rest := new(big.Rat).Sub(big.NewRat(1, 1), v)
	if p.sigma == 0 {
		return rest.Quo(rest, v)
	}
	below := new(big.Rat).Sub(big.NewRat(2, 1), v)
	rest.Mul(rest, rest)
	return rest.Quo(rest, below.Mul(below, v))
}

// square returns t².
func (p studentProposal) square(v *big.Rat) *big.Rat {
	t := p.base(v)
	if p.sigma == 0 {
		return t.Mul(t, t)
	}
	sigma := exact.Rat(p.sigma)
	return t.Mul(t, sigma.Mul(sigma, sigma))
}

// exponent returns bounds of e for v in [lo, hi], lo > 0: both parts of e rise with t, which falls
// with v.
func (p studentProposal) exponent(lo, hi *big.Rat, bits uint) (least, most *big.Rat) {
	one := big.NewRat(1, 1)
	plusOne := func(x *big.Rat) *big.Rat { return x.Add(x, one) }
	half, factor := exact.Rat(p.shape/2), big.NewRat(3, 2)
	two, twoMost := new(big.Rat), new(big.Rat)
	if p.sigma == 0 {
		factor = big.NewRat(2, 1)
		two, twoMost = exact.LogRat(factor, bits+96)
	}
	aLeast, _ := exact.LogMultiple(half, plusOne(p.square(hi)), bits)
	_, aMost := exact.LogMultiple(half, plusOne(p.square(lo)), bits)
	cLeast, _ := exact.LogMultiple(factor, plusOne(p.base(hi)), bits)
	_, cMost := exact.LogMultiple(factor, plusOne(p.base(lo)), bits)
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
func (p studentProposal) acceptExactly(src *Source, v, accept *lazy) bool {
	return settle(src, func() (bool, bool) {
		if lo := v.lower(); lo.Sign() > 0 {
			return accept.compareExp(p.exponent(lo, v.upper(), accept.bits))
		}
		return false, false
	}, v, accept)
}

// cellExactly returns ⌊units·t⌋ = ⌊√⌊(units·t)²⌋⌋, mostCell if that is less.
func (p studentProposal) cellExactly(src *Source, g powerGrid, v *lazy) int64 {
	return settle(src, func() (int64, bool) {
		least, lo := p.cellAt(g, v.upper()), v.lower()
		return least, least == mostCell || lo.Sign() > 0 && least == p.cellAt(g, lo)
	}, v)
}

// cellAt is cellExactly where all digits of v are known.
func (p studentProposal) cellAt(g powerGrid, v *big.Rat) int64 {
	units := g.exactUnits()
	x := units.Mul(units, units).Mul(units, p.square(v))
	root := new(big.Int).Quo(x.Num(), x.Denom())
	if root.Sqrt(root); root.BitLen() > 62 {
		return mostCell
	}
	return root.Int64()
}

// studentFormulas are those of a Student.
type studentFormulas struct{ shape, scale float64 }

func (d studentFormulas) valid() bool { return d.scale > 0 }

// log1pSquare returns ln(1 + (x/s)²), to a relative error of 1e-15, also where the square
// overflows.
func log1pSquare(x, s float64) float64 {
	z := math.Abs(x) / s
	switch {
	case math.IsInf(z, 1) && !math.IsInf(x, 0):
		return 2 * (math.Log(math.Abs(x)) - math.Log(s))
	case z > 0x1p30: // ln(1 + z²) − 2·ln z < 1/z² < 2⁻⁶⁰
		return 2 * math.Log(z)
	}
	return math.Log1p(z * z)
}

// peak returns Γ(α/2)/(√π·Γ((α−1)/2)), the density at 0 for s = 1.
func (d studentFormulas) peak() float64 { return gammaRatioHalf((d.shape-1)/2) / math.SqrtPi }

// gammaRatioHalf returns Γ(a+½)/Γ(a) for a ≥ ½, to a relative error of 1e-15.
//
// The ratio r(a) is r(a+1)·(a/(a+½)), and for large a the asymptotic series √a·(1 − 1/(8a) +
// 1/(128a²) + 5/(1024a³) − …), of which seven terms are taken from a = 32 on: the next,
// 334477/(2³¹·a⁸), is below 2e-16.
func gammaRatioHalf(a float64) float64 {
	factor := 1.0
	for ; a < 32; a++ {
		factor *= a / (a + 0.5)
	}
	y := 1 / a
	return factor * math.Sqrt(a) * (1 + y*(-1.0/8+y*(1.0/128+y*(5.0/1024+y*(-21.0/32768+y*(-399.0/262144+y*(869.0/4194304+y*39325.0/33554432)))))))
}

// logTail returns ln Pr[X > x] for x ≥ 0 with z = x/s ≥ 1/√(α−1), by a continued fraction.
//
// Pr[X > x] = ½·I_y(a, ½) with y = 1/(1+z²), a = (α−1)/2, and I_y(a, b) =
// y^a(1−y)^b/(a·B(a,b))·1/(1 + d₁/(1 + d₂/(1 + …))) (Abramowitz and Stegun 26.5.8), which converges
// quickly for y < (a+1)/(a+b+2), and no slower than √α for every y in reach here. 1/B(a, ½) is the
// peak.
func (d studentFormulas) logTail(x float64) float64 {
	z := x / d.scale
	a, log := (d.shape-1)/2, log1pSquare(x, d.scale)
	if math.IsInf(log, 1) {
		return math.Inf(-1)
	}
	y := math.Exp(-log)
	rest := z * z * y // 1 − y
	if z > 1 {
		rest = 1 - y
	}
	return -a*log + math.Log(math.Sqrt(rest)*d.peak()/(2*a)*betaFraction(a, 0.5, y))
}

// betaFraction returns 1/(1 + d₁/(1 + d₂/(1 + …))) of logTail, by Lentz's method.
func betaFraction(a, b, y float64) float64 {
	const tiny = 1e-300
	c, e := 1.0, 1-(a+b)*y/(a+1)
	if math.Abs(e) < tiny {
		e = tiny
	}
	e = 1 / e
	h := e
	for m := 1.0; m < 20000; m++ {
		for _, d := range [2]float64{
			m * (b - m) * y / ((a + 2*m - 1) * (a + 2*m)),
			-(a + m) * (a + b + m) * y / ((a + 2*m) * (a + 2*m + 1)),
		} {
			if e = 1 + d*e; math.Abs(e) < tiny {
				e = tiny
			}
			if c = 1 + d/c; math.Abs(c) < tiny {
				c = tiny
			}
			e = 1 / e
			h *= c * e
		}
		if math.Abs(c*e-1) < 0x1p-53 {
			break
		}
	}
	return h
}

// centre returns Pr[0 < X ≤ x] for x ≥ 0 with z = x/s below about 1/√(α−1), by a series of positive
// terms: with a = (α−1)/2 and w = z²/(1+z²) it is ½·I_w(½, a) = √w·(1−w)^a/B(½, a)·(1 + Σ_{n≥0}
// Π_{i≤n} (a+½+i)/(3/2+i)·w) (Abramowitz and Stegun 26.5.4).
func (d studentFormulas) centre(x float64) float64 {
	z := x / d.scale
	a, w := (d.shape-1)/2, z*z/(1+z*z)
	sum, term := 1.0, 1.0
	for i := 0.0; term > sum*0x1p-54; i++ {
		term *= (a + 0.5 + i) / (1.5 + i) * w
		sum += term
	}
	return z / math.Sqrt(1+z*z) * math.Exp(-a*math.Log1p(z*z)) * d.peak() * sum
}

// nearCentre reports whether x is where centre is to be used.
func (d studentFormulas) nearCentre(x float64) bool {
	z := x / d.scale
	return z*z*(d.shape-1) < 1
}

func (d studentFormulas) upper(x float64) float64 {
	if d.nearCentre(x) {
		return 0.5 - d.centre(x)
	}
	return math.Exp(d.logTail(x))
}

func (d studentFormulas) logUpper(x float64) float64 {
	if d.nearCentre(x) {
		return math.Log(0.5 - d.centre(x)) // at least 0.15
	}
	return d.logTail(x)
}

func (d studentFormulas) meanAbs() float64 {
	if d.shape == 2 {
		return math.Inf(1)
	}
	return 2 * d.peak() / (d.shape - 2) * d.scale
}

func (d studentFormulas) variance() float64 {
	if d.shape <= 3 {
		return math.Inf(1)
	}
	return d.scale / (d.shape - 3) * d.scale
}

func (d studentFormulas) density(x float64) float64 {
	return math.Exp(-d.shape/2*log1pSquare(x, d.scale)) * d.peak() / d.scale
}

func (d studentFormulas) logDensity(x float64) float64 {
	return -d.shape/2*log1pSquare(x, d.scale) + (math.Log(d.peak()) - math.Log(d.scale))
}

// upperQuantile returns the x ≥ 0 with Pr[X > x] = p, for p in [0, ½]. For α = 3 it is
// s(1−2p)/(2√(p(1−p))); else an equation is solved.
func (d studentFormulas) upperQuantile(p float64) float64 {
	switch {
	case p == 0:
		return math.Inf(1)
	case p == 0.5:
		return 0
	case d.shape == 3:
		return (0.5 - p) / math.Sqrt(p) / math.Sqrt(1-p) * d.scale
	}
	unit := studentFormulas{d.shape, 1}
	if z := unit.solveCentre(0.5 - p); unit.nearCentre(z) {
		return z * d.scale
	}
	// Pr[X > z] < C·z^{−(α−1)}/(α−1) with C the peak, and nearly so far out.
	target := exact.Log(p)
	bound := (math.Log(d.peak()/(d.shape-1)) - target) / (d.shape - 1)
	if bound > 40 { // the quotient of the two is 1 + O(1/z²)
		return math.Exp(bound + math.Log(d.scale))
	}
	return unit.solveTail(target, math.Exp(bound)) * d.scale
}

// solveCentre returns the z with Pr[0 < X ≤ z] = mass where that is near 0, else a z that is not.
func (d studentFormulas) solveCentre(mass float64) float64 {
	z := mass / d.peak() // too small, as the density falls: Newton's iteration climbs
	for range 60 {
		if !d.nearCentre(z) {
			return z
		}
		next := z + (mass-d.centre(z))/d.density(z)
		if next <= z*(1+0x1p-53) {
			return next
		}
		z = next
	}
	return z
}

// solveTail returns the z in [0, most] with ln Pr[X > z] = target: Newton's iteration on the
// logarithms of both sides, in which the tail is nearly straight, between bounds that shrink.
func (d studentFormulas) solveTail(target, most float64) float64 {
	lo, hi := 0.0, most
	z := most
	for range 100 {
		log := d.logUpper(z)
		excess := log - target
		if excess >= 0 {
			lo = z
		} else {
			hi = z
		}
		slope := z * math.Exp(d.logDensity(z)-log) // −d ln Pr[X > z]/d ln z
		next := z * math.Exp(excess/slope)
		if !(next > lo && next < hi) {
			next = lo + (hi-lo)/2
		}
		if math.Abs(next-z) <= z*0x1p-52 {
			return next
		}
		z = next
	}
	return z
}
