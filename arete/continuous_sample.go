package arete

import (
	"math"
	"math/big"

	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/noise"
)

// Sample draws X, exactly, and returns it rounded to the nearest multiple of step, a power of two
// with θ/step and λ/step at most 2⁴⁶; otherwise NaN.
func (d Arete) Sample(src *noise.Source, step float64) float64 {
	if fraction, _ := math.Frexp(step); fraction != 0.5 || !d.valid() || d.largest()/step > 0x1p46 {
		return math.NaN()
	}
	s := draw{d, step, src}
	up, down := s.gamma(), s.gamma()
	laplace, sign := s.exponential(), float64(1-2*int64(src.Uint64()&1))
	return s.round(&up, &down, &laplace, sign) * step
}

// draw is one draw of an Arete variable.
type draw struct {
	law  Arete
	step float64
	src  *noise.Source
}

// gammaDraw is a gamma variable of shape α and scale 1: e^{−E/α}, or 1 + E if it is above 1.
type gammaDraw struct {
	e     digits
	above bool
}

// gamma draws by rejection (Ahrens and Dieter's GS, with all uniforms turned into exponentials).
// The density ∝ x^{α−1}·e^{−x} is below x^{α−1} for x < 1, which has the mass 1/α and the
// distribution of e^{−E/α}, and below e^{−x} for x > 1, which has the mass 1/e. The first is
// accepted with probability e^{−x}, if E′ > x, the second with x^{α−1}, if E′ > (1−α)·ln x.
func (s *draw) gamma() gammaDraw {
	for {
		g := gammaDraw{above: s.above()}
		g.e = s.exponential()
		other := s.exponential()
		if s.accepts(&g, &other) {
			return g
		}
	}
}

// above returns true with probability (1/e)/(1/α + 1/e): if U·(1 + α/e) > 1.
func (s *draw) above() bool {
	w := s.src.Uint64()
	product := float64(w) * 0x1p-64 * (1 + s.law.alpha/math.E)
	if math.Abs(product-1) > 0x1p-49 {
		return product > 1
	}
	u := new(big.Int).SetUint64(w)
	for prec := uint(64); ; prec += 64 {
		inverse := exact.Enclose(big.NewRat(1, 1), prec).ExpNeg(prec)
		factor := inverse.Times(exact.Rat(s.law.alpha))
		lo := new(big.Int).Mul(u, new(big.Int).Add(factor.Lo, exact.One(prec)))
		hi := new(big.Int).Mul(exact.Increment(new(big.Int).Set(u)), new(big.Int).Add(factor.Hi, exact.One(prec)))
		one := exact.One(2 * prec)
		switch {
		case lo.Cmp(one) >= 0:
			return true
		case hi.Cmp(one) <= 0:
			return false
		}
		u.Lsh(u, 64).Or(u, new(big.Int).SetUint64(s.src.Uint64()))
	}
}

// accepts decides whether E′ exceeds what the case asks for.
func (s *draw) accepts(g *gammaDraw, other *digits) bool {
	if g.above && s.law.alpha == 1 {
		return true
	}
	if accepted, decided := s.acceptsFloat(g, other); decided {
		return accepted
	}
	return s.acceptsExactly(g, other)
}

// acceptsExactly is accepts with as many digits as it takes.
func (s *draw) acceptsExactly(g *gammaDraw, other *digits) bool {
	for {
		s.refine(&g.e)
		s.refine(other)
		prec := g.e.bits
		left, right := other.enclose(prec), s.value(g, prec)
		if g.above { // e^{−E′/(1−α)}·x < 1 instead of E′ > (1−α)·ln x
			rest := new(big.Rat).Sub(big.NewRat(1, 1), exact.Rat(s.law.alpha))
			product := left.Times(rest.Inv(rest)).ExpNeg(prec).Mul(right, prec)
			left, right = exact.Unit(prec), product
		}
		switch {
		case left.Lo.Cmp(right.Hi) >= 0:
			return true
		case left.Hi.Cmp(right.Lo) <= 0:
			return false
		}
	}
}

// acceptsFloat is accepts in float64, if that can tell.
func (s *draw) acceptsFloat(g *gammaDraw, other *digits) (accepted, decided bool) {
	least, most := other.float()
	lo, hi := s.valueFloat(g)
	if g.above {
		const widen = 0x1p-48
		lo, hi = (1-s.law.alpha)*math.Log(lo)*(1-widen), (1-s.law.alpha)*math.Log(hi)*(1+widen)
	}
	return least >= hi, least >= hi || most <= lo
}

// valueFloat returns bounds on the gamma variable of scale 1, in float64.
func (s *draw) valueFloat(g *gammaDraw) (lo, hi float64) {
	const widen = 0x1p-50
	lo, hi = g.e.float()
	if g.above {
		return (1 + lo) * (1 - widen), (1 + hi) * (1 + widen)
	}
	lo, hi = math.Exp(-hi/s.law.alpha*(1+widen))*(1-widen), math.Exp(-lo/s.law.alpha*(1-widen))*(1+widen)
	return lo, min(hi+math.SmallestNonzeroFloat64, 1)
}

// value encloses it in units of 2^−prec.
func (s *draw) value(g *gammaDraw, prec uint) exact.Interval {
	e := g.e.enclose(prec)
	if g.above {
		return e.Add(exact.Unit(prec))
	}
	alpha := exact.Rat(s.law.alpha)
	return e.Times(alpha.Inv(alpha)).ExpNeg(prec)
}

// round returns ⌊(θ·(up − down) ± λ·E)/step + ½⌋.
func (s *draw) round(up, down *gammaDraw, laplace *digits, sign float64) float64 {
	if k, decided := s.roundFloat(up, down, laplace, sign); decided {
		return k
	}
	return s.roundExactly(up, down, laplace, sign)
}

// roundExactly is round with as many digits as it takes.
func (s *draw) roundExactly(up, down *gammaDraw, laplace *digits, sign float64) float64 {
	theta, lambda := exact.Rat(s.law.theta/s.step), exact.Rat(s.law.lambda/s.step)
	for {
		s.refine(&up.e)
		s.refine(&down.e)
		s.refine(laplace)
		prec := laplace.bits
		high, low, noise := s.value(up, prec).Times(theta), s.value(down, prec).Times(theta), laplace.enclose(prec).Times(lambda)
		if sign < 0 {
			noise = exact.Interval{Lo: new(big.Int).Neg(noise.Hi), Hi: new(big.Int).Neg(noise.Lo)}
		}
		floor := func(high, low, noise *big.Int) int64 {
			x := new(big.Int).Sub(high, low)
			x.Add(x, noise).Add(x, exact.One(prec-1))
			return x.Rsh(x, prec).Int64() // rounds towards −∞
		}
		if least, most := floor(high.Lo, low.Hi, noise.Lo), floor(high.Hi, low.Lo, noise.Hi); least == most {
			return float64(least)
		}
	}
}

// roundFloat is round in float64, if that can tell. Divisions by step are exact; each product and
// sum adds a rounding, which widen covers many times.
func (s *draw) roundFloat(up, down *gammaDraw, laplace *digits, sign float64) (k float64, decided bool) {
	const widen = 0x1p-48
	theta, lambda := s.law.theta/s.step, s.law.lambda/s.step
	upLo, upHi := s.valueFloat(up)
	downLo, downHi := s.valueFloat(down)
	lo, hi := laplace.float()
	if sign < 0 {
		lo, hi = -hi, -lo
	}
	size := (theta*(upHi+downHi) + lambda*max(math.Abs(lo), math.Abs(hi)) + 1) * widen
	least := math.Floor(theta*(upLo-downHi) + lambda*lo - size + 0.5)
	most := math.Floor(theta*(upHi-downLo) + lambda*hi + size + 0.5)
	return least, least == most && math.Abs(least) < 1<<52
}

// digits is an exponential variable E of mean 1 of which the first binary digits are known: E ∈ [n,
// n+1)/2^bits. Nearly always these are all that is needed.
type digits struct {
	first int64    // n, as long as bits is firstDigits
	n     *big.Int // nil as long as it is
	bits  uint
}

// firstDigits is how many digits behind the point are drawn at first.
const firstDigits = 50

// exponential draws the first digits: ⌊2⁵⁰·E⌋ is geometric.
func (s *draw) exponential() digits {
	unit, err := noise.NewGeometric(0x1p50)
	if err != nil {
		panic("arete: noise rejects a scale of 2⁵⁰") // unreachable
	}
	return digits{unit.SampleInt(s.src), nil, firstDigits}
}

// refine draws 64 more digits: of the rest R of E, in units of the last digit so far, the next 64
// have Pr ∝ e^{−j/2^(bits+64)}.
func (s *draw) refine(e *digits) {
	if e.n == nil {
		e.n = big.NewInt(e.first)
	}
	for {
		j := s.src.Uint64()
		if s.belowExp(new(big.Rat).SetFrac(new(big.Int).SetUint64(j), exact.One(e.bits+64))) {
			e.n.Lsh(e.n, 64).Or(e.n, new(big.Int).SetUint64(j))
			e.bits += 64
			return
		}
	}
}

// belowExp returns true with probability exactly e^{−x}.
func (s *draw) belowExp(x *big.Rat) bool {
	u := new(big.Int)
	for prec := uint(64); ; prec += 64 {
		u.Lsh(u, 64).Or(u, new(big.Int).SetUint64(s.src.Uint64()))
		limit := exact.Enclose(x, prec).ExpNeg(prec)
		switch {
		case u.Cmp(limit.Lo) < 0:
			return true
		case u.Cmp(limit.Hi) >= 0:
			return false
		}
	}
}

// float returns bounds in float64, from the first digits.
func (e *digits) float() (lo, hi float64) {
	const widen, unit = 0x1p-52, 1.0 / (1 << firstDigits)
	x := float64(e.first) * unit
	return x * (1 - widen), (x + unit) * (1 + widen)
}

// enclose returns bounds in units of 2^−prec, of digits that were refined.
func (e *digits) enclose(prec uint) exact.Interval {
	if prec >= e.bits {
		return exact.Interval{Lo: new(big.Int).Lsh(e.n, prec-e.bits), Hi: new(big.Int).Lsh(exact.Increment(new(big.Int).Set(e.n)), prec-e.bits)}
	}
	lo := new(big.Int).Rsh(e.n, e.bits-prec)
	return exact.Interval{Lo: lo, Hi: exact.Increment(new(big.Int).Set(lo))}
}
