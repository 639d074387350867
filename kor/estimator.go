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

// law is the distribution of the numbers of ones of the levels of a sketch, as a function of the
// size W of the set.
//
// Theorem. Let every key have a level and a cell by fully random hash functions, and the number of
// keys in a cell be Poisson with the mean that a total weight W gives it at level i, W/(2^{i+1}·n).
// Then each of the n bits of the level is 1 independently with probability
//
//	qᵢ = ½·(1 − c·e^{−x/2ⁱ}),   x = W/n for a set, W/2n for a stream,   c = 1 − 2p.
//
// Proof. E[(−1)^k] = e^{−2λ} for a Poisson number k of mean λ, a flip multiplies by 1 − 2p, and a
// bit b is 1 with probability ½·(1 − E[(−1)^b]). In the sketch of a stream a cell with a key holds
// a fair coin (see stream.go), so E[(−1)^b] is the probability e^{−λ} of a cell without one. ∎
//
// For a set of N keys of weight 1, N fixed, e^{−x/2ⁱ} is (1 − 1/(2ⁱn))^N instead (thesis, Lemma
// 3.3), which is the same up to a relative 1/(2·2ⁱ·n) of x, and the bits are no longer independent:
// what this changes stands at [Params.StdErr].
type law struct {
	logSign float64 // ln c ≤ 0
	cells   float64 // n
	levels  int     // L
	unit    float64 // W at x = 1
}

func setLaw(logSign float64, cells, levels int) law {
	return law{logSign, float64(cells), levels, float64(cells)}
}

func streamLaw(logSign float64, cells, levels int) law {
	return law{logSign, float64(cells), levels, 2 * float64(cells)}
}

// rate returns rᵢ = 2⁻ⁱ, by which x is multiplied at level i.
func rate(i int) float64 { return math.Float64frombits(uint64(1023-i) << 52) }

// nothing reports whether the noise is so large (c < 1e-130) that the bits are fair coins.
func (l *law) nothing() bool { return l.logSign < -300 }

// signs are a = c·e^{−r·x}, which is E[(−1)^b] of the bits b of a level, and 1 − a.
type signs struct{ a, rest [maxLevels]float64 }

// signs returns them for the levels of the law.
//
// m = e^{−r·x} − 1 comes from the deepest level by m ← m·(2 + m), which makes it e^{−2r·x} − 1 and
// does not enlarge a relative error for x ≥ 0.
func (l *law) signs(s *signs, x float64) {
	c, rest := math.Exp(l.logSign), -math.Expm1(l.logSign)
	m := math.Expm1(-x * rate(l.levels-1))
	for i := l.levels - 1; i >= 0; i-- {
		s.a[i], s.rest[i] = c*(1+m), rest-c*m
		m *= 2 + m
	}
}

// information returns the Fisher information about x, and the drift Σ rᵢ·Iᵢ/(2·Σ Iᵢ) with Iᵢ the
// information from level i.
//
// A level of n bits of probability q has information n·q′²/(q·(1−q)) = n·r²·a²/(1−a²) about x, as q
// = ½·(1−a) and q′ = ½·r·a.
//
// The drift is the information times the bias of the maximum likelihood estimate of x, up to higher
// orders: a likelihood Σ zᵢ·ηᵢ(x) − nᵢ·ψᵢ(x) has the bias −½·Σ n·q′·q″/(q(1−q)) / I² (Cox and Snell
// 1968; the third cumulants cancel as the zᵢ enter linearly), and q″ = −r·q′.
func (l *law) information(x float64) (info, drift float64) {
	var s signs
	l.signs(&s, x)
	return l.informationOf(&s)
}

func (l *law) informationOf(s *signs) (info, drift float64) {
	weighted := 0.0
	for i := range l.levels {
		r, a := rate(i), s.a[i]
		t := r * r * a * a / (s.rest[i] * (1 + a))
		info += t
		weighted += r * t
	}
	if info == 0 {
		return 0, 0
	}
	return l.cells * info, weighted / info / 2
}

// stdErr returns the standard error of an estimate of the size, in the units of the weights, where
// the size is w.
func (l *law) stdErr(w float64) float64 {
	if l.logSign == 0 {
		return 0 // no noise: a sketch of nothing
	}
	info, _ := l.information(w / l.unit)
	return l.unit / math.Sqrt(info)
}

// likelihood is the law with the ones that were seen.
type likelihood struct {
	law
	ones [maxLevels]int // of the first levels
}

// log returns the log-likelihood of x up to a constant, with 0 as the limit for x → ∞.
func (l *likelihood) log(x float64) (sum float64) {
	var s signs
	l.signs(&s, x)
	for i := range l.levels {
		if s.a[i] < 1e-17 {
			continue
		}
		z := float64(l.ones[i])
		if z > 0 {
			sum += z * math.Log(s.rest[i])
		}
		sum += (l.cells - z) * math.Log1p(s.a[i])
	}
	return sum
}

// score returns the derivative of log at x, Σ r·a·(2z − n·(1 − a))/(1 − a²).
func (l *likelihood) score(x float64) float64 {
	var s signs
	l.signs(&s, x)
	return l.scoreOf(&s)
}

func (l *likelihood) scoreOf(s *signs) (sum float64) {
	for i := range l.levels {
		a, rest := s.a[i], s.rest[i]
		sum += rate(i) * a * (2*float64(l.ones[i]) - l.cells*rest) / (rest * (1 + a))
	}
	return sum
}

// interval returns the ends of the set of sizes that the likelihood ratio test does not reject:
// 2·(ℓ(x̂) − ℓ(x)) ≤ z², with z the standard normal quantile of (1 + confidence)/2 and x̂ the
// maximum of the likelihood, without the correction of the estimate. The lower end can be negative;
// the upper one is +Inf if the limit of ℓ for x → ∞, which is 0, is not rejected.
//
// Where the set is not connected, which takes a sketch that knows little, the ends are those of the
// whole.
func (l *likelihood) interval(confidence float64) (lo, hi float64) {
	if l.logSign == 0 {
		return 0, 0
	}
	if l.nothing() {
		return 0, math.Inf(1)
	}
	z, least := normalQuantile(confidence), -min(-l.logSign, 1)
	var g grid
	g.fill(l)
	from, to := g.around(g.best(0), least)
	top := root(l.score, from, to)
	level := l.log(top) - z*z/2
	if math.IsInf(level, -1) || math.IsNaN(level) {
		// the maximum is where q₀ = 0, the end of the domain
		top = from + (to-from)*0x1p-30
		level = l.log(top) - z*z/2
	}
	above := func(x float64) float64 { return l.log(x) - level }
	return l.unit * l.lowerEnd(&g, above, level, least, top), l.unit * l.upperEnd(&g, above, level, top)
}

// lowerEnd returns the least x where the log-likelihood is at least level.
func (l *likelihood) lowerEnd(g *grid, above func(float64) float64, level, least, top float64) float64 {
	for j := range g.points {
		x := gridX(j)
		if x >= top {
			break
		}
		if g.log[j] >= level {
			top = x
			break
		}
		least = x
	}
	return root(func(x float64) float64 { return -above(x) }, least, top)
}

// upperEnd returns the largest x where the log-likelihood is at least level.
func (l *likelihood) upperEnd(g *grid, above func(float64) float64, level, top float64) float64 {
	if level <= 0 {
		return math.Inf(1)
	}
	end := max(gridX(g.points-1), top) // the maximum can lie past the grid
	for j := g.points - 1; j >= 0; j-- {
		x := gridX(j)
		if x <= top {
			break
		}
		if g.log[j] >= level {
			top = x
			break
		}
		end = x
	}
	for above(end) > 0 { // ends, as the limit is below
		end *= 2
	}
	return root(above, top, end)
}

// normalQuantile returns the z with Pr[|Z| ≤ z] = confidence for a standard normal Z.
func normalQuantile(confidence float64) float64 { return math.Sqrt2 * math.Erfinv(confidence) }
