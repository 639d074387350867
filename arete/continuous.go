package arete

import "math"

// Arete is the Arete distribution of Pagh and Stausholm: that of X₁ − X₂ + Y, where X₁ and X₂ are
// gamma distributed of shape α and scale θ, and Y is Laplace of scale λ. [Calibrate] finds
// parameters that make a real-valued release ε-differentially private. The methods are accurate to
// a relative 1e-12 in the tails too, and NaN for a NaN and on the zero Arete.
type Arete struct{ alpha, theta, lambda float64 }

// NewArete returns the distribution with these parameters, in the units of the data. It promises no
// privacy. The error wraps [ErrParams] unless alpha is in [2⁻¹⁰⁰, 1], the scales in [2⁻⁴⁰⁰, 2⁴⁰⁰],
// and their quotient in [2⁻¹⁰⁰, 2¹⁰⁰].
func NewArete(alpha, theta, lambda float64) (Arete, error) {
	scale := func(x float64) bool { return x >= 0x1p-400 && x <= 0x1p400 }
	switch {
	case !(alpha >= 0x1p-100 && alpha <= 1):
		return Arete{}, bad("alpha", alpha, "a number in [2⁻¹⁰⁰, 1]")
	case !scale(theta):
		return Arete{}, bad("theta", theta, "a number in [2⁻⁴⁰⁰, 2⁴⁰⁰]")
	case !scale(lambda) || !(lambda/theta >= 0x1p-100 && lambda/theta <= 0x1p100):
		return Arete{}, bad("lambda", lambda, "a number in [2⁻⁴⁰⁰, 2⁴⁰⁰], within a factor of 2¹⁰⁰ of theta")
	}
	return Arete{alpha, theta, lambda}, nil
}

// Parameters returns α, θ and λ, as [NewArete] takes them.
func (d Arete) Parameters() (alpha, theta, lambda float64) { return d.alpha, d.theta, d.lambda }

// valid reports whether d comes from a constructor.
func (d Arete) valid() bool { return d.alpha > 0 }

// largest returns M, the scale of the tail.
func (d Arete) largest() float64 { return max(d.theta, d.lambda) }

// farthest is the largest t/M that the path serves: beyond, not even logarithms differ from −t/M.
const farthest = 0x1p60

// LogProb returns the logarithm of the density at x.
func (d Arete) LogProb(x float64) float64 {
	t := math.Abs(x)
	switch {
	case !d.valid() || math.IsNaN(x):
		return math.NaN()
	case t/d.largest() > farthest:
		return -t / d.largest()
	}
	return math.Log(contourAt(d, t, 0).scaled(t, 1/(2*d.lambda))) - t/d.largest()
}

// Prob returns the density at x.
func (d Arete) Prob(x float64) float64 { return d.unscale(math.Abs(x), 0, 1/(2*d.lambda)) }

// unscale returns the integral of the power at t, where laplace is that of the Laplace part at 0.
func (d Arete) unscale(t float64, power int, laplace float64) float64 {
	switch {
	case !d.valid() || math.IsNaN(t):
		return math.NaN()
	case t/d.largest() > 1e4:
		return 0
	}
	// Two factors, as the first may underflow where the product does not.
	half := math.Exp(-t / d.largest() / 2)
	return contourAt(d, t, power).scaled(t, laplace) * half * half
}

// CDF returns Pr[X ≤ x].
func (d Arete) CDF(x float64) float64 { return d.Survival(-x) }

// Survival returns Pr[X > x].
func (d Arete) Survival(x float64) float64 {
	tail := d.unscale(math.Abs(x), 1, 0.5)
	if x < 0 {
		return 1 - tail
	}
	return tail
}

// LogSurvival returns ln Pr[X > x], also where Survival underflows.
func (d Arete) LogSurvival(x float64) float64 {
	switch {
	case !d.valid() || math.IsNaN(x):
		return math.NaN()
	case x < 0:
		return math.Log1p(-d.Survival(-x))
	case x/d.largest() > farthest:
		return -x / d.largest()
	}
	return math.Log(contourAt(d, x, 1).scaled(x, 0.5)) - x/d.largest()
}

// Quantile returns the x with CDF(x) = p: −Inf at 0, +Inf at 1, NaN outside [0, 1].
func (d Arete) Quantile(p float64) float64 {
	switch {
	case !d.valid() || !(p >= 0 && p <= 1):
		return math.NaN()
	case p == 0 || p == 1:
		return math.Inf(int(2*p) - 1)
	case p < 0.5:
		return -d.upperQuantile(p)
	}
	return d.upperQuantile(1 - p)
}

// upperQuantile returns the x ≥ 0 with Survival(x) = q, q in (0, ½], by Newton's method for ln
// Survival within a bracket. ln Survival is concave or nearly so and never steep, so few steps are
// needed; a step that leaves the bracket is replaced by its middle.
func (d Arete) upperQuantile(q float64) float64 {
	fraction, exp := math.Frexp(q) // math.Log is wrong for denormal numbers on some processors
	goal := math.Log(fraction) + float64(exp)*math.Ln2
	low, high := 0.0, d.lambda
	for d.LogSurvival(high) > goal {
		low, high = high, 2*high
	}
	x := low
	for range 200 {
		c := contourAt(d, x, 0)
		log := d.LogSurvival(x)
		if log >= goal {
			low = x
		} else {
			high = x
		}
		hazard := c.scaled(x, 1/(2*d.lambda)) * math.Exp(-x/c.largest-log)
		next := x + (log-goal)/hazard
		if !(next > low && next < high) {
			next = low + (high-low)/2
		}
		if math.Abs(next-x) <= 0x1p-52*x || next == low || next == high {
			return next
		}
		x = next
	}
	return x
}

// Mean returns 0.
func (d Arete) Mean() float64 {
	if !d.valid() {
		return math.NaN()
	}
	return 0
}

// Variance returns 2αθ² + 2λ².
func (d Arete) Variance() float64 {
	if !d.valid() {
		return math.NaN()
	}
	return 2*d.alpha*d.theta*d.theta + 2*d.lambda*d.lambda
}

// MeanAbs returns E|X|.
func (d Arete) MeanAbs() float64 {
	if !d.valid() {
		return math.NaN()
	}
	return 2 * contourAt(d, 0, 2).scaled(0, d.lambda/2)
}
