package arete

import (
	"math"
	"math/cmplx"

	"github.com/dpsketch/dpsketch/internal/memo"
)

// The density, the tail and E|Z| of the Arete distribution are integrals of its characteristic
// function φ(s) = (1−θ²s²)^{−α}/(1−λ²s²), s = iu:
//
//	f(t) = (1/2πi)·∫ e^{−st}·φ(s) ds,  Pr[Z > t] = (1/2πi)·∫ e^{−st}·φ(s)/s ds,
//	E|Z| = (2/2πi)·∫ φ(s)/s² ds,
//
// along any path from −i∞ to +i∞ that leaves 0 on its left and the singularities at 1/θ and 1/λ on
// its right. With M = max(θ, λ) the path is s = sin(z)/M, z = π/2 − δ + iu, a branch of a hyperbola
// around the singularities: all of these have Re z = π/2 (sin z = 1 there at the nearer one, and
// sin z = cosh y > 1 at z = π/2 ± iy), and the integrand is analytic between Re z = 0 and π/2. So
// the trapezoidal rule in u converges like e^{−2πδ/h} for a step h, and the integrand falls like
// e^{−u} at t = 0 and doubly exponentially for t > 0. δ is π/4 for small t and 1.5/√(t/M) for large
// t, where the path must stay close to the saddle point: then no term is much larger than the sum,
// and the result is accurate relative to itself, however small it is.
//
// For small α most of φ is the Laplace part 1/(1−λ²s²), the integrals of which are known. Only φ
// minus this part, in proportion to α, is summed: so a tail that is in proportion to α as well
// keeps its digits.
type contour struct {
	law          Arete
	largest      float64      // M
	offset       []complex128 // s − 1/M at the nodes
	weight       []complex128 // what e^{−st} is multiplied by
	laplaceApart bool
}

// digitsNats is −ln of the relative error that truncation and step are chosen for.
const digitsNats = 38

// wideEnough is the largest t/M for which the path of δ = π/4 serves.
const wideEnough = 3.6

// near are the paths of all near arguments, by the distribution and the power.
var near memo.Table[nearby, *contour]

type nearby struct {
	law   Arete
	power int
}

// contourAt returns the path for t, which all t ≤ 3.6·M share.
func contourAt(law Arete, t float64, power int) *contour {
	if t > wideEnough*law.largest() {
		return newContour(law, t, power)
	}
	c, _ := near.Get(nearby{law, power}, func() (*contour, error) { return newContour(law, 0, power), nil })
	return c
}

// newContour prepares the path for arguments near t ≥ 0, or all t ≤ 3.6·M together if t is one of
// them, and the integrand φ/s^power.
func newContour(law Arete, t float64, power int) *contour {
	c := &contour{law: law, largest: max(law.theta, law.lambda), laplaceApart: law.alpha < 0.25}
	delta := math.Pi / 4
	if x := t / c.largest; x > wideEnough {
		delta = min(delta, 1.5/math.Sqrt(x))
	}
	step := 2 * math.Pi * delta / digitsNats
	sinDelta, cosDelta := math.Sincos(delta)
	half := math.Sin(delta / 2)
	// where the integrand has fallen for t = 0
	reach := digitsNats + 3 + math.Log(c.largest/min(law.theta, law.lambda))
	for k := 0; ; k++ {
		u := float64(k) * step
		sinh, cosh := math.Sinh(u), math.Cosh(u)
		halfSinh := math.Sinh(u / 2)
		offset := complex(2*halfSinh*halfSinh-2*half*half*cosh, sinDelta*sinh) // sin z − 1
		cosine := complex(sinDelta*cosh, -cosDelta*sinh)
		w := c.transform(1+offset, cosine) * cosine * complex(step/(math.Pi*c.largest), 0)
		for range power {
			w *= complex(c.largest, 0) / (1 + offset)
		}
		if k == 0 {
			w /= 2
		}
		c.offset, c.weight = append(c.offset, offset/complex(c.largest, 0)), append(c.weight, w)
		if u > reach || t > wideEnough*c.largest && real(offset)*t/c.largest > digitsNats+5 {
			return c
		}
	}
}

// transform returns φ(s), or φ(s) minus the Laplace part, for M·s = sine and the cosine that goes
// with it: 1 − M²s² = cosine².
func (c *contour) transform(sine, cosine complex128) complex128 {
	other := complex(min(c.law.theta, c.law.lambda)/c.largest, 0) * sine
	far := (1 - other) * (1 + other)
	gamma, laplace := 2*cmplx.Log(cosine), far
	if c.law.lambda > c.law.theta {
		gamma, laplace = cmplx.Log(far), cosine*cosine
	}
	exponent := complex(-c.law.alpha, 0) * gamma
	if c.laplaceApart {
		return expm1(exponent) / laplace
	}
	return cmplx.Exp(exponent) / laplace
}

// expm1 returns e^z − 1, accurate near 0.
func expm1(z complex128) complex128 {
	x, y := real(z), imag(z)
	sin, cos := math.Sincos(y)
	half := math.Sin(y / 2)
	return complex(math.Expm1(x)*cos-2*half*half, math.Exp(x)*sin)
}

// sum returns e^{t/M}·(the integral at t, without the Laplace part if that is apart).
func (c *contour) sum(t float64) float64 {
	total := 0.0
	for k, s := range c.offset {
		decay := real(s) * t
		if decay > digitsNats+5 {
			break
		}
		sin, cos := math.Sincos(imag(s) * t)
		total += math.Exp(-decay) * (real(c.weight[k])*cos + imag(c.weight[k])*sin)
	}
	return total
}

// scaled returns e^{t/M}·(the integral at t), where laplace is the integral of the Laplace part at
// 0.
func (c *contour) scaled(t, laplace float64) float64 {
	total := c.sum(t)
	if c.laplaceApart {
		total += laplace * math.Exp(t/c.largest-t/c.law.lambda)
	}
	return total
}
