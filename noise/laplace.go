package noise

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/round"
)

// Laplace is the continuous Laplace distribution with density e^{−|x|/b}/(2b), b the scale. Noise
// of scale Δ₁/ε makes a release of ℓ₁ sensitivity Δ₁ ε-differentially private ([LaplaceScale]).
//
// Its variance is 2b², and E|X| = b. In the tails CDF, Survival and LogSurvival have a relative
// error of 1e-15.
//
// All methods take and return public numbers. They return NaN for a NaN and on the zero Laplace,
// which [NewLaplace] returns only with an error.
type Laplace struct{ symmetric[laplaceFormulas] }

// NewLaplace returns the Laplace distribution of the given scale, in the units of the data. The
// error wraps [ErrParams] unless scale is in [2⁻⁹⁰⁰, 2⁹⁰⁰].
func NewLaplace(scale float64) (Laplace, error) {
	if err := checkParam("scale", scale); err != nil {
		return Laplace{}, err
	}
	return laplace(scale), nil
}

func laplace(scale float64) Laplace {
	return Laplace{symmetric[laplaceFormulas]{laplaceFormulas{scale}}}
}

// Scale returns b.
func (d Laplace) Scale() float64 { return d.law.scale }

// laplaceFormulas are those of a Laplace of a scale.
type laplaceFormulas struct{ scale float64 }

func (d laplaceFormulas) valid() bool { return d.scale > 0 }

func (d laplaceFormulas) upper(x float64) float64 { return expNeg(divide(x, d.scale)) / 2 }

func (d laplaceFormulas) logUpper(x float64) float64 {
	q, _ := divide(x, d.scale)
	return -q - math.Ln2
}

func (d laplaceFormulas) upperQuantile(p float64) float64 { return -d.scale * round.Log(2*p) }

func (d laplaceFormulas) density(x float64) float64 { return expNeg(divide(x, d.scale)) / 2 / d.scale }

func (d laplaceFormulas) logDensity(x float64) float64 {
	return -x/d.scale - math.Log(2*d.scale)
}

func (d laplaceFormulas) variance() float64 { return 2 * d.scale * d.scale }

func (d laplaceFormulas) meanAbs() float64 { return d.scale }
