package noise

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/fault"
)

// mostStudent is the largest shape of [Student]: the continued fraction of its tail loses places in
// proportion to it.
const mostStudent = 0x1p10

// Student is Student's t distribution with ν = α−1 degrees of freedom, scaled by s/√ν: its density
// is
//
//	(1 + (x/s)²)^{−α/2}·Γ(α/2)/(√π·Γ((α−1)/2)·s), α ≥ 2.
//
// It has the tails of [Pareto] of the same shape, and a flat top. Under the same assumption on an
// estimator it needs the scale that package noise/approx computes. For small ε that is about half
// of Pareto's noise. For α = 2 it is Cauchy's distribution.
//
// Mean is 0, the median, for every shape. E|X| = 2s·Γ(α/2)/(√π·Γ((α−1)/2)·(α−2)), +Inf for α = 2
// and s for α = 3, and the variance is s²/(α−3), +Inf for α ≤ 3. In the tails CDF, Survival and
// LogSurvival have a relative error of 2e-13, at 1e-300 too, and Quantile has one of 1e-14.
//
// All methods take and return public numbers. They return NaN for a NaN and on the zero Student,
// which [NewStudent] returns only with an error.
type Student struct{ symmetric[studentFormulas] }

// NewStudent returns the distribution of the given shape α, without unit, and scale s, in the units
// of the data. The error wraps [ErrParams] unless shape is in [2, 2¹⁰] and scale in [2⁻⁹⁰⁰, 2⁹⁰⁰].
func NewStudent(shape, scale float64) (Student, error) {
	if err := checkStudentShape(shape); err != nil {
		return Student{}, err
	}
	if err := checkParam("scale", scale); err != nil {
		return Student{}, err
	}
	return Student{symmetric[studentFormulas]{studentFormulas{shape, scale}}}, nil
}

func checkStudentShape(shape float64) error {
	if !(shape >= 2 && shape <= mostStudent) {
		return fault.Params("noise", "shape", shape, "a number in [2, 2¹⁰]")
	}
	return nil
}

// Shape returns α.
func (d Student) Shape() float64 { return d.law.shape }

// Scale returns s.
func (d Student) Scale() float64 { return d.law.scale }

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

// near reports whether x is where centre is to be used.
func (d studentFormulas) near(x float64) bool {
	z := x / d.scale
	return z*z*(d.shape-1) < 1
}

func (d studentFormulas) upper(x float64) float64 {
	if d.near(x) {
		return 0.5 - d.centre(x)
	}
	return math.Exp(d.logTail(x))
}

func (d studentFormulas) logUpper(x float64) float64 {
	if d.near(x) {
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
