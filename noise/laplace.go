package noise

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/round"
)

// Laplace is the continuous Laplace distribution with density e^{−|x|/b}/(2b), b the scale. Noise
// of scale Δ₁/ε makes a release of ℓ₁ sensitivity Δ₁ ε-differentially private ([LaplaceScale]).
//
// All methods take and return public numbers. They return NaN for a NaN and on the zero Laplace,
// which [NewLaplace] returns only with an error.
type Laplace struct{ scale float64 }

// NewLaplace returns the Laplace distribution of the given scale, in the units of the data. The
// error wraps [ErrParams] unless scale is in [2⁻⁹⁰⁰, 2⁹⁰⁰].
func NewLaplace(scale float64) (Laplace, error) {
	if err := checkParam("scale", scale); err != nil {
		return Laplace{}, err
	}
	return Laplace{scale}, nil
}

// Scale returns b.
func (d Laplace) Scale() float64 { return d.scale }

// valid reports whether d comes from [NewLaplace].
func (d Laplace) valid() bool { return d.scale > 0 }

// CDF returns Pr[X ≤ x], in the lower tail to a relative error of 1e-15.
func (d Laplace) CDF(x float64) float64 { return d.Survival(-x) }

// Survival returns Pr[X > x], in the upper tail to a relative error of 1e-15.
func (d Laplace) Survival(x float64) float64 {
	if !d.valid() || math.IsNaN(x) {
		return math.NaN()
	}
	half := expNeg(divide(math.Abs(x), d.scale)) / 2
	if x < 0 {
		return 1 - half
	}
	return half
}

// LogSurvival returns ln Pr[X > x] to a relative error of 1e-15, also where [Laplace.Survival]
// underflows or rounds to 1.
func (d Laplace) LogSurvival(x float64) float64 {
	if !d.valid() || math.IsNaN(x) {
		return math.NaN()
	}
	q, r := divide(math.Abs(x), d.scale)
	if x < 0 {
		return math.Log1p(-expNeg(q, r) / 2)
	}
	return -q - math.Ln2
}

// Quantile returns the x with CDF(x) = p: −Inf at 0, +Inf at 1, NaN outside [0, 1].
func (d Laplace) Quantile(p float64) float64 {
	if !d.valid() || !(p >= 0 && p <= 1) {
		return math.NaN()
	}
	if p > 0.5 {
		return -d.scale * math.Log(2*(1-p)) // 1 − p is exact
	}
	return d.scale * round.Log(2*p)
}

// Mean returns 0.
func (d Laplace) Mean() float64 {
	if !d.valid() {
		return math.NaN()
	}
	return 0
}

// Variance returns 2b², +Inf where that overflows.
func (d Laplace) Variance() float64 {
	if !d.valid() {
		return math.NaN()
	}
	return 2 * d.scale * d.scale
}

// MeanAbs returns E|X| = b.
func (d Laplace) MeanAbs() float64 {
	if !d.valid() {
		return math.NaN()
	}
	return d.scale
}

// Prob returns the density at x.
func (d Laplace) Prob(x float64) float64 {
	if !d.valid() || math.IsNaN(x) {
		return math.NaN()
	}
	return expNeg(divide(math.Abs(x), d.scale)) / 2 / d.scale
}

// LogProb returns the logarithm of the density at x.
func (d Laplace) LogProb(x float64) float64 {
	if !d.valid() || math.IsNaN(x) {
		return math.NaN()
	}
	return -math.Abs(x)/d.scale - math.Log(2*d.scale)
}
