package sparse

import (
	"errors"
	"math"

	"github.com/dpsketch/dpsketch/internal/calibrated"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/internal/memo"
	"github.com/dpsketch/dpsketch/internal/rounding"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// calibration is a mechanism with all its numbers, in steps of the grid unless stated otherwise.
type calibration struct {
	method    Method
	step      float64 // the grid, in the units of the data: a power of two
	scale     float64 // of the discrete Laplace noise, or σ of the normal noise
	shared    float64 // standard deviation of the noise that CorrelatedGaussian shares; else 0
	from      int64   // R: values below are rounded to 0 or R; 1 for mechanisms without rounding
	threshold int64   // T: the least (absolute) noisy value released; 0 for DenseLaplace
	beside    float64 // as scale, of the noise of the number beside the keys; 0 where there is none
}

// maxScale is the largest scale of the noise, in steps.
const maxScale = 0x1p48

// choose returns the calibration of the mechanism asked for, or of the one with the least
// threshold.
func (p Params) choose() (calibration, error) {
	if err := p.validate(); err != nil {
		return calibration{}, err
	}
	return choices.Get(p, p.chooseAnew)
}

// What was chosen, and what was calibrated by name. It takes up to 0.1 s.
var (
	choices memo.Table[Params, calibration]
	normals memo.Table[Params, calibration]
)

func (p Params) chooseAnew() (calibration, error) {
	m := p.Method
	if m == Auto && p.Delta == 0 {
		m = PureLaplace
		if p.Listed {
			m = DenseLaplace
		}
	}
	if m != Auto {
		c, err := p.calibrate(m)
		if err != nil {
			return calibration{}, check.ParamsError("threshold", "Method", m, "a method that is possible here; "+err.Error())
		}
		return c, nil
	}
	var best calibration
	take := func(m Method) {
		c, err := p.calibrate(m)
		if err == nil && (best.method == Auto || c.lowest() < best.lowest() || c.lowest() == best.lowest() && c.method < best.method) {
			best = c
		}
	}
	for m := ExponentialRounding; !m.pure(); m++ {
		if p.Chooses(m) && !m.normal() {
			take(m)
		}
	}
	// These take long. The first, where it is possible, often spares the other.
	if p.leastCorrelated() <= best.lowest() || best.method == Auto {
		take(CorrelatedGaussian)
	}
	if p.leastGaussian() <= best.lowest() || best.method == Auto {
		take(Gaussian)
	}
	if best.method == Auto {
		return best, check.ParamsError("threshold", "Epsilon", p.Epsilon, "a number with noise in the range of float64 at this Delta and Sensitivity")
	}
	return best, nil
}

// calibrate returns the numbers of one mechanism, or the reason why it is not possible. The Params
// are valid.
func (p Params) calibrate(m Method) (calibration, error) {
	if reason := p.lacks(m); reason != "" {
		return calibration{}, errors.New(reason)
	}
	if !m.normal() {
		return p.calibrateLaplace(m)
	}
	p.Method = m
	return normals.Get(p, func() (calibration, error) { return p.calibrateNormal(m) })
}

var errRange = errors.New("its noise is out of range")

// kernel returns the rounding, noise and threshold of a Laplace mechanism, and use sets them.
func (c calibration) kernel() rounding.Kernel {
	return rounding.Kernel{Scale: c.scale, From: c.from, Threshold: c.threshold}
}

func (c *calibration) use(k rounding.Kernel) {
	c.scale, c.from, c.threshold = k.Scale, k.From, k.Threshold
}

// gridFor returns the step of the grid: the greatest power of two that is 2¹⁶ times finer than the
// noise and than the most by which a value changes, but not more than 2⁴⁵ times finer than the
// noise.
func gridFor(change, noise float64) float64 {
	_, exp := math.Frexp(min(change, noise))
	_, noiseExp := math.Frexp(noise)
	return math.Ldexp(1, max(exp-17, noiseExp-46))
}

// lowest returns the threshold in the units of the data.
func (c calibration) lowest() float64 {
	switch c.method {
	case Auto:
		return math.NaN()
	case DenseLaplace:
		return math.Inf(-1)
	}
	return float64(c.threshold) * c.step
}

// noise returns the noise of one value, in steps: normal noise before it is rounded.
func (c calibration) noise() calibrated.Noise {
	if c.method.normal() {
		return calibrated.Noise{Kind: calibrated.Gaussian, Scale: math.Hypot(c.scale, c.shared), Step: 1}
	}
	return calibrated.Noise{Kind: calibrated.DiscreteLaplace, Scale: c.scale, Step: 1}
}

// number returns the Laplace noise of the number beside the keys, in steps.
func (c calibration) number() calibrated.Noise {
	return calibrated.Noise{Kind: calibrated.DiscreteLaplace, Scale: c.beside, Step: 1}
}

// laplace returns the distribution of Laplace noise, in steps. That of an invalid calibration draws
// uniformly.
func (c calibration) laplace() noise.DiscreteLaplace {
	d, _ := noise.NewDiscreteLaplace(c.scale)
	return d
}

// reach returns a number of steps that the noise of one value exceeds in absolute value with
// probability at most tail.
func (c calibration) reach(tail float64) int64 { return int64(c.noise().Reach(tail)) }

// Law is a mechanism with all its numbers, calibrated for some Params. It is public, comparable,
// and holds no data. The numbers of the zero Law are NaN.
type Law struct {
	params  Params
	numbers calibration
}

// Law calibrates: it returns the law of the mechanism that the Params name, or of the one that Auto
// chooses. The error wraps [check.ErrParams].
func (p Params) Law() (Law, error) {
	c, err := p.choose()
	if err != nil {
		return Law{}, err
	}
	p.Method = c.method
	// no −0
	p.Delta, p.Sensitivity, p.MaxValue, p.FalseKeys = p.Delta+0, p.Sensitivity+0, p.MaxValue+0, p.FalseKeys+0
	return Law{p, c}, nil
}

// Possible returns the law of one mechanism for valid Params, or the reason why it is not possible.
func (p Params) Possible(m Method) (l Law, reason string) {
	c, err := p.calibrate(m)
	if err != nil {
		return Law{}, err.Error()
	}
	p.Method = m
	return Law{p, c}, ""
}

// Params returns the Params, with the Method that was chosen.
func (l Law) Params() Params { return l.params }

// Guarantee returns what a release promises: ε and δ, with what the noise is for the accountant.
// The zero Law promises nothing.
//
// Integers, and totals that are rounded towards 0, move by whole steps: discrete Laplace noise on
// all keys is [budget.DiscreteLaplace], and where keys without a value are hidden each of those
// that are on one side only escapes with a probability that δ bounds (see silence below). Noise
// after rounding at random, and a rounding to 0 or R, have no better law than ε. Nor has noise that
// keys share.
//
// Silence. Let u keys be on one side only, v ≤ m on the other, and escape independently, with
// probability at most 1 − F each: then all are silent with probability F^u, and what is seen of the
// others has laws P and Q with or without, as noise is independent. At α = e^ε the divergence is 1
// − F^u + F^u·H_{αF^{v−u}}(P‖Q), and H_{cα} ≤ 1 − c + c·H_α for c ≤ 1 by convexity, so it is at
// most w + (1 − w)·H_α(P‖Q) with w = 1 − F^max(u,v), in every case.
func (l Law) Guarantee() budget.Guarantee {
	p, c := l.params, l.numbers
	if c.method == Auto {
		return budget.Guarantee{}
	}
	unit := budget.L1(p.total())
	if p.MaxKeys > 0 {
		unit = budget.User(p.MaxKeys, p.relation())
	}
	whole := p.MaxKeys > 0 || p.Integers
	switch {
	case c.method.pure() && whole:
		return budget.DiscreteLaplace(p.Epsilon, c.scale, unit)
	case c.method.pure():
		return budget.PureDP(p.Epsilon, unit)
	}
	g := budget.ApproxDP(p.Epsilon, p.Delta, unit)
	switch {
	case c.method == Laplace && whole && !p.Beside:
		return g.WithPair(budget.DiscreteLaplace(p.Epsilon, c.scale, unit).WithEscape(p.Delta))
	case c.method == Gaussian:
		changed, most := float64(p.changed()), p.change(c.step)
		silent := changed * logBelow(c.scale, (float64(c.threshold)-0.5-most)*(1-0x1p-50))
		mu := exact.SqrtUp(changed) * most / c.scale
		if p.Beside {
			mu = math.Hypot(mu, most/c.beside)
		}
		mu *= 1 + 0x1p-50
		return g.WithPair(budget.GDP(mu, unit).WithEscape(-math.Expm1(-silent) * (1 + 0x1p-50)))
	}
	return g
}

// Threshold returns the least value that is released, in the units of the data: the least absolute
// value if Signed, −Inf for DenseLaplace.
func (l Law) Threshold() float64 { return l.numbers.lowest() }

// Step returns the grid, in the units of the data: a power of two.
func (l Law) Step() float64 { return l.numbers.step }

// Whole returns an integer n ≤ 2⁵³ in steps, at most MaxTotal. With Integers and Laplace noise a
// step is 1.
func (l Law) Whole(n int64) int64 { return int64(min(float64(n)/l.numbers.step, MaxTotal)) }

// StdDev returns the standard deviation of the noise of one released value, in the units of the
// data.
func (l Law) StdDev() float64 { return l.StdDevOf(1, 0) }

// ErrorBound returns a bound on |estimate − value| that holds with the given confidence for all
// keys at once, if at most stored keys have a value. NaN if an argument is invalid.
func (l Law) ErrorBound(stored int, confidence float64) float64 {
	c := l.numbers
	if c.method == Auto || stored < 0 || !check.Confidence(confidence) {
		return math.NaN()
	}
	noisy := float64(max(stored, 1))
	if c.method.pure() {
		noisy = max(noisy, float64(l.params.Dim))
	}
	return float64(c.threshold+c.reach((1-confidence)/noisy)) * c.step
}

// StdDevOf returns the standard deviation of the noise in value·v + beside·b, v being a released
// value and b the number beside the keys. NaN without such a number, unless beside is 0. That both
// are rounded to the grid is left out.
func (l Law) StdDevOf(value, beside float64) float64 {
	c := l.numbers
	switch {
	case !l.has(beside):
		return math.NaN()
	case c.method.normal(): // the noises are Z + N and −Z − M
		return math.Hypot((value-beside)*c.shared, math.Hypot(value*c.scale, beside*c.beside)) * c.step
	}
	square := value * value * c.laplace().Variance()
	if beside != 0 {
		square += beside * beside * c.number().Distribution().Variance()
	}
	return math.Sqrt(square) * c.step
}

// besideShare is what the number beside gets of the probability by which a bound may fail.
const besideShare = 1. / 16

// ReachOf returns a bound that the noise of [Law.StdDevOf] exceeds in absolute value with
// probability at most tail, in (0, 1].
func (l Law) ReachOf(value, beside, tail float64) float64 {
	c, number := l.numbers, l.numbers.number()
	switch {
	case !l.has(beside) || !(tail > 0 && tail <= 1):
		return math.NaN()
	case tail >= 1:
		return 0
	case beside == 0:
		return math.Abs(value) * float64(c.reach(tail)) * c.step
	case c.method.normal():
		rounded := (math.Abs(value) + math.Abs(beside)) / 2 * c.step // each to the grid
		return -unit.Quantile(tail/2)*(1+0x1p-40)*l.StdDevOf(value, beside) + rounded
	case value == 0:
		return math.Abs(beside) * number.Reach(tail) * c.step
	}
	return (math.Abs(value)*float64(c.reach((1-besideShare)*tail)) + math.Abs(beside)*number.Reach(besideShare*tail)) * c.step
}

// has reports whether there is a law, with a number beside the keys if that is asked for.
func (l Law) has(beside float64) bool {
	return l.numbers.method != Auto && (beside == 0 || l.params.Beside)
}

// The Laplace mechanisms: discrete Laplace noise L of scale b on the grid, Pr[L = x] ∝ q^|x|, q =
// e^{−1/b}. All lengths are in steps.
//
// Exponential and linear rounding are the kernel of package rounding, with Theorems 1 and 2 there:
// for vectors at ℓ₁ distance Δ the release is (Δ/b, δ)-private with δ = η·(e^{Δ/b}−1)/(e^{R/b}−1)
// and ηΔ/R, η = Pr[R + L ≥ T].
//
// Without rounding, and if at most m coordinates change, each by at most w, and Δ in total, the
// release is (Δ/b, 1 − (1 − G)^m)-private with G = Pr[w + L ≥ T]: Theorem 3 in laplace_proof.md.
//
// The number beside the keys moves by w at most and has noise of scale b′ of its own, w/b′ = sε.
// That is sε-private and independent of the keys, so the release is (Δ/b + w/b′, δ)-private with
// the δ of the keys alone. The sum of a value and the number has a variance of about (Δ/(1−s))² +
// (w/s)², in units of 1/ε², which is least at s/(1−s) = (w/Δ)^⅔.
//
// Real values are rounded to the grid at random, or, where MaxKeys is given, towards 0. The former
// replaces Δ/b by Δ·(e^{1/b} − 1), so b = 1/ln(1 + ε/Δ); the latter adds a step for each key to Δ.
// Proofs in rounding_proof.md and laplace_proof.md. TestReleaseIsPrivateExactly checks all of it.

// calibrateLaplace calibrates a mechanism with Laplace noise.
func (p Params) calibrateLaplace(m Method) (c calibration, err error) {
	total := p.total() * float64(p.users())
	c = calibration{method: m, step: 1, from: 1}
	if !p.Integers {
		c.step = gridFor(min(total, p.perKey()), total/p.Epsilon)
	}
	total, perKey := math.Ceil(total/c.step), p.change(c.step)
	keys := float64(p.MaxKeys * p.users()) // the most that change, 0 for any number
	if p.MaxKeys > 0 && !p.Integers {
		// rounding to a grid point moves each total by less than a step more
		total += keys
	}
	if p.MaxKeys > 0 {
		total = min(total, keys*perKey)
	}
	epsilon := p.Epsilon
	if p.Beside {
		ratio := math.Pow(perKey/total, 2./3)
		spent := epsilon * ratio / (1 + ratio)
		if c.beside, err = noise.LaplaceScale(spent, perKey); err != nil || !(c.beside <= maxScale) {
			return c, errRange
		}
		epsilon = (epsilon - spent) * (1 - 0x1p-50)
	}
	if p.MaxKeys > 0 || p.Integers {
		c.scale, err = noise.LaplaceScale(epsilon, total)
	} else { // rounding at random
		c.scale = (1 + 0x1p-50) / math.Log1p(p.Epsilon/total)
	}
	if err != nil || !(c.scale <= maxScale) {
		return c, errRange
	}
	switch {
	case m == PureLaplace:
		c.threshold = p.pureThreshold(c.scale)
	case m == ExponentialRounding:
		c.use(rounding.Exponential(c.scale, rounding.Share, epsilon, rounding.Below(p.Delta)))
	case m == LinearRounding:
		c.use(rounding.Linear(c.scale, total, rounding.Below(p.Delta)))
	case m == Laplace && p.MaxKeys > 0:
		c.threshold = plainThreshold(c.scale, keys, perKey, p.Delta)
	case m == Laplace: // of Integers
		// of n keys that change, by 1 at least, −Σ ln(1−G) is convex in each change and in n:
		// the most is at one key or at Δ
		c.threshold = max(plainThreshold(c.scale, 1, total, p.Delta), plainThreshold(c.scale, total, 1, p.Delta))
	}
	return c, nil
}

// plainThreshold returns the least T of Theorem 3 for m keys that change by w.
func plainThreshold(b, m, w, delta float64) int64 {
	// (1−G)^m ≥ 1−δ, that is G ≤ 1 − (1−δ)^{1/m}.
	each := math.Log(-math.Expm1(math.Log1p(-delta) / m))
	each -= 0x1p-40 * max(1, -each)
	return int64(w) + exact.LeastInt(1, func(n int64) bool { return exact.LogLaplaceTail(b, n) <= each })
}

// pureThreshold returns the least T at which no more than the expected number of keys without a
// value are released.
func (p Params) pureThreshold(b float64) int64 {
	each := math.Log(p.falseKeys()) - math.Log(float64(p.Dim))
	if p.Signed {
		each -= math.Ln2 // both tails
	}
	return exact.LeastInt(1, func(n int64) bool { return exact.LogLaplaceTail(b, n) <= each })
}
