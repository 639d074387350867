package kor

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// The estimate solves U(x) = κ·D(x), with U the derivative of the log-likelihood and D the drift of
// [law.information]: Firth's bias-reduced maximum likelihood (Biometrika 1993), whose bias is of
// the second order. Where there are several solutions it is the one where the integral ℓ(x) − κ·∫D
// is largest, found on a grid in ln x.
//
// κ is 1 but where the sketch knows little. There the likelihood of a far too large x comes close
// to the maximum with a probability that falls more slowly than x grows, and Firth's correction,
// about half a power of x, does not outweigh that. With V the square of the relative error in
// closed form (see plan.go), κ = 1 + 3V²/(V² + ¼) is 1.09 at a relative error of 0.3, where it
// moves the estimate by a hundredth of the standard error, and goes to 4, two powers of x: then no
// far larger x is ever more likely than its probability is small. So the estimate is bounded, and
// has finite moments at every V.
//
// The domain begins at x = ln c, where q₀ = 0, but not below −1, nor −1/4V: small sets have
// estimates on both sides of the truth, and a sketch that knows nothing says 0.

const (
	octave   = 2  // grid points an octave
	firstExp = -6 // the grid begins at x = 2⁻⁶: below, all levels are nearly linear
	pastEnd  = 2  // and ends at x = 2^{L+2}: there the last level has e⁻⁸ of its information
)

// variance returns V.
func (l *law) variance() float64 {
	return 4 * math.Ln2 / (l.cells * dilog(math.Exp(2*l.logSign)))
}

// dilog returns Li₂(y) for y in [0, 1].
func dilog(y float64) float64 { return real(mathext.Li2(complex(y, 0))) }

// taming returns κ.
func taming(variance float64) float64 {
	if variance > 1e100 { // also +Inf
		return 4
	}
	v := variance * variance
	return 1 + 3*v/(v+0.25)
}

// least returns the smallest x of the domain.
func (l *law) least(variance float64) float64 {
	return -min(-l.logSign, 1, 0.25/variance)
}

// estimate returns the estimated size.
func (l *likelihood) estimate() float64 {
	if l.logSign == 0 || l.nothing() {
		return 0
	}
	v := l.variance()
	kappa := taming(v)
	var g grid
	g.fill(l)
	lo, hi := g.around(g.best(kappa), l.least(v))
	var s signs
	score := func(x float64) float64 {
		l.signs(&s, x)
		_, drift := l.informationOf(&s)
		return l.scoreOf(&s) - kappa*drift
	}
	return root(score, lo, hi) * l.unit
}

// root returns where f changes from positive to negative in [lo, hi], or the end that is nearer to
// that: the method of Ridders, which needs some five steps of two values each.
func root(f func(float64) float64, lo, hi float64) float64 {
	inside := lo + (hi-lo)*0x1p-30 // f may have a pole at the beginning of the domain
	flo, fhi := f(inside), f(hi)
	if !(flo > 0) {
		return lo
	}
	if !(fhi < 0) {
		return hi
	}
	for hi-lo > 1e-10*max(math.Abs(lo), math.Abs(hi), 0x1p-40) {
		mid := lo + (hi-lo)/2
		fmid := f(mid)
		scale := math.Sqrt(fmid*fmid - flo*fhi)
		x := mid
		if scale > 0 && !math.IsInf(scale, 0) {
			x = min(max(mid+(mid-lo)*fmid/scale, lo), hi)
		}
		fx := f(x)
		// The four points lo, mid, x, hi bracket the change between two neighbours.
		left, right, fleft, fright := mid, x, fmid, fx
		if left > right {
			left, right, fleft, fright = x, mid, fx, fmid
		}
		switch {
		case fleft <= 0:
			hi, fhi = left, fleft
		case fright <= 0:
			lo, flo, hi, fhi = left, fleft, right, fright
		default:
			lo, flo = right, fright
		}
		if fx == 0 || fhi == 0 {
			break
		}
	}
	if fhi == 0 {
		return hi
	}
	return lo + (hi-lo)/2
}

const gridSize = octave*(maxLevels+pastEnd-firstExp) + 1

// grid holds the log-likelihood and the integral of the drift at x = 2^{firstExp + j/octave}. As
// the rates of the levels are powers of two, level i at grid point j sees what level 0 sees at j −
// octave·i: all terms come from tables over one index.
type grid struct {
	points int
	log    [gridSize]float64
	drift  [gridSize]float64
}

func gridX(j int) float64 { return math.Exp2(firstExp + float64(j)/octave) }

// fill computes the grid.
func (g *grid) fill(l *likelihood) {
	below := octave * (l.levels - 1) // table entries before x = 2^firstExp
	g.points = octave*(l.levels+pastEnd-firstExp) + 1
	var fade, one, zero, info [gridSize + octave*maxLevels]float64
	c, rest := math.Exp(l.logSign), -math.Expm1(l.logSign)
	for k := range below + g.points {
		t := gridX(k - below) // level 0 at this point of the grid sees e^{−t}
		if k < octave {
			fade[k] = math.Expm1(-t)
		} else {
			fade[k] = fade[k-octave] * (2 + fade[k-octave]) // as in signs
		}
		a := c * (1 + fade[k])
		if a < 1e-17 {
			break // the rest is 0
		}
		one[k], zero[k] = math.Log(rest-c*fade[k]), math.Log1p(a)
		info[k] = t * t * a * a / ((rest - c*fade[k]) * (1 + a))
	}
	last := 0.0
	for j := range g.points {
		log, sum, weighted := 0.0, 0.0, 0.0
		for i := range l.levels {
			k := below + j - octave*i
			z := float64(l.ones[i])
			log += z*one[k] + (l.cells-z)*zero[k]
			sum += info[k]
			weighted += info[k] * rate(i)
		}
		g.log[j] = log
		drift := 0.0 // D·x
		if sum > 0 {
			drift = weighted / sum / 2 * gridX(j)
		}
		if j > 0 { // ∫D dx = ∫D·x d ln x
			g.drift[j] = g.drift[j-1] + (last+drift)/2*math.Ln2/octave
		}
		last = drift
	}
}

// around returns the neighbours of a grid point, between which a maximum is if it is the best one;
// the domain begins at least.
func (g *grid) around(point int, least float64) (lo, hi float64) {
	lo, hi = least, gridX(point+1)
	if point > 0 {
		lo = gridX(point - 1)
	}
	return lo, hi
}

// best returns the grid point of the largest ℓ − κ·∫D.
func (g *grid) best(kappa float64) (best int) {
	for j := range g.points {
		if g.log[j]-kappa*g.drift[j] > g.log[best]-kappa*g.drift[best] {
			best = j
		}
	}
	return best
}
