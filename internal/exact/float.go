package exact

import (
	"math"
	"slices"
)

// Up and Down are the factors by which a value of a few roundings is moved to its safe side.
const (
	Up   = 1 + 0x1p-50
	Down = 1 - 0x1p-50
)

// Log returns ln x for x ≥ 0, denormal x included: math.Log of Go 1.26 on amd64 returns −709.09 for
// 5e-324 instead of −744.44.
func Log(x float64) float64 {
	if x < 0x1p-1022 {
		return math.Log(x*0x1p100) - 100*math.Ln2
	}
	return math.Log(x)
}

// QuotientUp returns the least float64 that is ≥ a/b, for a and b in [2⁻⁹⁰⁰, 2⁹⁰⁰]; +Inf or 0 may
// come out only if a/b is out of the range of float64.
func QuotientUp(a, b float64) float64 {
	fa, ea := math.Frexp(a)
	fb, eb := math.Frexp(b)
	q := fa / fb // in (½, 2), and the remainder below is exact
	if math.FMA(q, fb, -fa) < 0 {
		q = math.Nextafter(q, 2)
	}
	return math.Ldexp(q, ea-eb)
}

// SqrtDown returns the greatest float64 that is ≤ √x, for x in [2⁻⁹⁰⁰, 2⁹⁰¹].
func SqrtDown(x float64) float64 {
	s := math.Sqrt(x)
	if math.FMA(s, s, -x) > 0 {
		s = math.Nextafter(s, 0)
	}
	return s
}

// SqrtUp returns a float64 ≥ √x, hardly above it, for x ≥ 0.
func SqrtUp(x float64) float64 {
	if x == 0 {
		return 0
	}
	return math.Nextafter(math.Sqrt(x), math.Inf(1))
}

// SumUp returns the least float64 that is ≥ a + b, for a, b ≥ 0 (+Inf allowed).
func SumUp(a, b float64) float64 {
	s := a + b
	if math.IsInf(s, 1) {
		return s
	}
	if a < b {
		a, b = b, a
	}
	if b-(s-a) > 0 { // the exact rounding error of the sum (Dekker)
		s = math.Nextafter(s, math.Inf(1))
	}
	return s
}

// DifferenceUp returns the least float64 ≥ a − b, for a ≥ b ≥ 0 finite.
func DifferenceUp(a, b float64) float64 {
	d := a - b
	if (a-d)-b > 0 { // the exact rounding error of the difference (Dekker)
		d = math.Nextafter(d, math.Inf(1))
	}
	return d
}

// DifferenceDown returns a float64 ≤ a − b, for a ≥ b ≥ 0 finite, at most one unit below the exact
// value.
func DifferenceDown(a, b float64) float64 {
	d := a - b
	if (a-d)-b < 0 { // the exact rounding error of the difference (Dekker)
		d = math.Nextafter(d, 0)
	}
	return d
}

// ProductUp returns the least float64 ≥ a·b, for a, b ≥ 0; below 2⁻⁹⁰⁰ it may be the one after. 0·∞
// is 0.
func ProductUp(a, b float64) float64 {
	if a == 0 || b == 0 {
		return 0
	}
	p := a * b
	if p < 0x1p-900 || math.FMA(a, b, -p) > 0 { // the remainder is exact from there on
		p = math.Nextafter(p, math.Inf(1))
	}
	return p
}

// Above moves a value of a few roundings up, beyond its error also where it is denormal.
func Above(x float64) float64 { return math.Nextafter(x*Up, math.Inf(1)) }

// FloorSqrt returns ⌊√n⌋ for 0 ≤ n ≤ 2⁵².
func FloorSqrt(n int64) int64 {
	r := int64(math.Sqrt(float64(n)))
	for r*r > n {
		r--
	}
	for (r+1)*(r+1) <= n {
		r++
	}
	return r
}

// LogLaplaceTail returns ln Pr[L ≥ n] for n ≥ 0 and discrete Laplace noise L of scale b.
func LogLaplaceTail(b float64, n int64) float64 {
	return -float64(n)/b - math.Log1p(math.Exp(-1/b))
}

// LaplaceReach returns an x with Pr[|X| > x] ≤ tail, where X is a sum of independent Laplace
// variables with the absolute values of at most four scales.
//
// The characteristic function Π 1/(1 + sᵢ²ω²) is Σ Aᵢ/(1 + sᵢ²ω²) with Aᵢ = Π_{j≠i} sᵢ²/(sᵢ² −
// sⱼ²), so Pr[|X| > x] = Σ Aᵢ·e^{−x/sᵢ}. Scales that are nearly equal are moved apart, upwards by a
// part in 500, which makes X less concentrated and the result larger.
func LaplaceReach(scales []float64, tail float64) float64 {
	const apart = 1 + 0x1p-9
	var s []float64
	for _, x := range scales {
		if x != 0 {
			s = append(s, math.Abs(x))
		}
	}
	if len(s) == 0 {
		return 0
	}
	slices.Sort(s)
	for i := 1; i < len(s); i++ {
		s[i] = max(s[i], s[i-1]*apart)
	}
	top, a := s[len(s)-1], make([]float64, len(s))
	for i := range s {
		s[i] /= top
	}
	for i, x := range s {
		a[i] = 1
		for j, y := range s {
			if j != i {
				a[i] *= x * x / ((x - y) * (x + y))
			}
		}
	}
	// With E[e^{|X|/2}] ≤ 2·(4/3)⁴ for scales of at most 1, Pr[|X| > x] < e²·e^{−x/2}, so that the
	// result is below this x. The density is log-concave, so −ln of the tail is convex, and
	// Newton's steps from the right stay on the right.
	x := 2 * (2 - math.Log(tail))
	for range 50 {
		survival, density := 0.0, 0.0
		for i, scale := range s {
			y := a[i] * math.Exp(-x/scale)
			survival, density = survival+y, density+y/scale
		}
		step := survival / density * math.Log(survival/tail)
		if x += step; x <= 0 || step > -1e-12*x {
			break
		}
	}
	return top * max(x, 0) * (1 + 0x1p-30)
}

// LogExpm1 returns ln(e^x − 1) for x > 0.
func LogExpm1(x float64) float64 {
	if x > 1 {
		return x + math.Log1p(-math.Exp(-x))
	}
	return math.Log(math.Expm1(x))
}
