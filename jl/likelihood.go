package jl

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/limits"
	"github.com/dpsketch/dpsketch/internal/search"
	"github.com/dpsketch/dpsketch/noise"
)

// Maximum likelihood. Model: the rows of Sz + noise are independent, (Sz)ᵢ ~ N(0, Z/k), Z = ‖z‖₂².
// That is an assumption, the limit for a z without dominating coordinates, and nothing here checks
// it. Where a few coordinates hold most of ‖z‖₂², the rows of one Seed are not like that at all:
// two of them that meet in a row of an SJLT shift the estimate by twice their product, which may be
// far more than the width of the likelihood, and a new Seed shifts it otherwise. All sketches of
// the Seed have that shift in common, so it does not average out over pairs. The noise is what it
// is: normal noise adds its variance, the noise on the input, which the transform mixes, likewise;
// a Laplace variable, or the sum or difference of two, has a density with N(0, v) in closed form
// (laplaceNormal, laplacePair). Three Laplace variables and more are replaced by a pair and a
// normal variable of the same second and fourth cumulant. Discrete Laplace noise stands as Laplace
// noise of its variance, or as normal noise where its scale is below the unit. With normal noise
// alone the estimate is max(0, ‖d‖² − correction): that of [Sketch.TruncatedSquaredDistance], and
// no better.
//
// For any z the estimate is right to first order at small Z, where its variance is 20.8 k/ε⁴
// (Laplace noise, s = 1) against the 56 k/ε⁴ of the unbiased one: the score of a pair of scale b is
// ½(t−1)/(t+1)/(2b²k), t = |dᵢ|/b.

// model is the law of a row.
type model struct {
	normal float64   // the variance of what is normal, at Z = 0
	scales []float64 // of Laplace variables, at most two
	rows   float64
}

// model returns the law of a row under the noise of the sketches.
func (p Params) model(sketches ...*Sketch) model {
	m := model{rows: float64(p.Rows)}
	var laplace disturbance
	for _, s := range sketches {
		for _, t := range s.terms {
			switch n := p.noiseOf(t.law); {
			case t.law.input:
				m.normal += float64(p.Dim) * n.input.two / m.rows
			case t.law.kind == Gaussian, t.law.kind == DiscreteLaplace && t.law.scale < 1:
				// mostly 0: nothing like Laplace noise
				m.normal += n.output.two
			default:
				laplace = laplace.plus(n)
				m.scales = append(m.scales, math.Sqrt(n.output.two/2))
			}
		}
	}
	if len(m.scales) > 2 { // a pair of scale b has the cumulants 4b² and 24b⁴
		b := math.Sqrt(math.Sqrt(laplace.output.four / 24))
		m.normal += max(laplace.output.two-4*b*b, 0)
		m.scales = []float64{b, b}
	}
	return m
}

// logLikelihood returns Σ ln f(dᵢ) at Z.
func (m model) logLikelihood(rows []float64, z float64) (sum float64) {
	v := m.normal + z/m.rows
	for _, d := range rows {
		sum += m.logDensity(math.Abs(d), v)
	}
	return sum
}

// logDensity returns ln f(x), x ≥ 0, up to a constant, of the Laplace variables plus N(0, v).
func (m model) logDensity(x, v float64) float64 {
	if len(m.scales) == 0 {
		return -x*x/(2*v) - math.Log(v)/2
	}
	a, b := m.scales[0], m.scales[len(m.scales)-1]
	wide := 2*a*a + 2*b*b
	switch {
	case v > 1e8*wide: // the sum is normal, to the digits that are left
		return -x*x/(2*(v+wide)) - math.Log(v+wide)/2
	case len(m.scales) == 1:
		return laplaceNormal(x, v, a)
	case math.Abs(a-b) < 1e-4*(a+b):
		return laplacePair(x, v, (a+b)/2)
	}
	// By partial fractions of 1/((1+a²t²)(1+b²t²)), the pair is (a²·one of scale a − b²·one of
	// scale b)/(a² − b²).
	if a < b {
		a, b = b, a
	}
	return laplaceNormal(x, v, a) + math.Log((a*a-b*b*math.Exp(laplaceNormal(x, v, b)-laplaceNormal(x, v, a)))/(a*a-b*b))
}

// sides returns the logarithms of e^{v/2b² ∓ x/b}·Pr[N(0,1) > √v/b ∓ x/√v], the two halves of the
// density of a Laplace variable of scale b plus N(0, v) at x.
func sides(x, v, b float64) (left, right float64) {
	if v <= 1e-12*b*b { // no normal part
		return -x / b, math.Inf(-1)
	}
	r := math.Sqrt(v)
	w := r / b
	return w*w/2 - x/b + logTail(w-x/r), w*w/2 + x/b + logTail(w+x/r)
}

// logTail returns ln Pr[N(0,1) > x].
func logTail(x float64) float64 {
	if x < 30 {
		return math.Log(math.Erfc(x/math.Sqrt2) / 2)
	}
	return must(noise.NewGaussian(1)).LogSurvival(x)
}

// laplaceNormal returns the logarithm of that density, (e^left + e^right)/2b.
func laplaceNormal(x, v, b float64) float64 {
	left, right := sides(x, v, b)
	return left + math.Log1p(math.Exp(right-left)) - math.Log(2*b)
}

// laplacePair returns the logarithm of the density of two Laplace variables of scale b plus N(0, v)
// at x ≥ 0: with L that of one, the limit of the partial fractions is L + (b/2)·dL/db = [(1 + x/b −
// v/b²)·e^left + (1 − x/b − v/b²)·e^right + 2(√v/b)·φ(x/√v)]/4b.
func laplacePair(x, v, b float64) float64 {
	left, right := sides(x, v, b)
	t, w := x/b, v/(b*b)
	if math.IsInf(right, -1) {
		return math.Log1p(t) - t - math.Log(4*b)
	}
	bell := math.Sqrt(w) * math.Sqrt(2/math.Pi)
	f := (1 + t - w) + (1-t-w)*math.Exp(right-left) + bell*math.Exp(-x*x/(2*v)-left)
	return left + math.Log(max(f, 0x1p-1000)) - math.Log(4*b)
}

// maximize returns the Z ≥ 0 at which the likelihood is greatest, and the logarithm of the
// likelihood there. No Z above Σd² can be: a row of greater variance makes every row less likely.
func (m model) maximize(rows []float64) (best, value float64) {
	top := squares(rows)
	f := func(z float64) float64 { return m.logLikelihood(rows, z) }
	if !(top > 0) || math.IsInf(top, 1) {
		return top, f(0)
	}
	points := []float64{0}
	for z := top * 0x1p-24; z < 3*top; z *= 4 {
		points = append(points, z)
	}
	at := 0
	value = math.Inf(-1)
	for i, z := range points {
		if z == 0 && m.normal == 0 && len(m.scales) == 0 {
			continue
		}
		if y := f(z); y > value {
			at, value = i, y
		}
	}
	best, value = search.Minimum(points[max(at-1, 0)], points[min(at+1, len(points)-1)], 28, func(z float64) float64 { return -f(z) })
	value = -value
	if zero := f(0); zero >= value {
		return 0, zero
	}
	return best, value
}

// interval returns the Z whose likelihood is at least that of the best by the χ² quantile of one
// degree of freedom.
func (m model) interval(rows []float64, confidence float64) (lo, hi float64) {
	best, value := m.maximize(rows)
	if math.IsInf(best, 1) {
		return 0, best
	}
	unit := must(noise.NewGaussian(1))
	q := unit.Quantile((1 + confidence) / 2)
	excess := func(z float64) float64 { return m.logLikelihood(rows, z) - (value - q*q/2) }
	within := func(z float64) bool { return excess(z) >= 0 }
	above := max(best, m.rows*m.normal)
	for _, b := range m.scales {
		above += m.rows * b * b
	}
	above = max(above, math.SmallestNonzeroFloat64)
	for within(above) && above < math.MaxFloat64/4 {
		above *= 2
	}
	if hi = above; !within(above) {
		hi = search.Root(best, above, 48, excess)
	}
	if best > 0 && !within(0) {
		lo = search.Root(best, 0, 48, excess)
	}
	return lo, hi
}

// LikelySquaredNorm returns the maximum likelihood estimate of ‖x‖₂², never negative. It assumes
// that no few coordinates hold most of ‖x‖₂². Counts of words or of visits mostly break that
// assumption: use [Sketch.SquaredNorm] for them, or where you do not know. Where it holds and the
// noise is Laplace noise, the error at small norms is about half that of the unbiased estimate, and
// at large norms a little more. It is slightly biased. NaN for the zero Sketch.
func (s *Sketch) LikelySquaredNorm() float64 {
	if len(s.terms) == 0 {
		return math.NaN()
	}
	z, _ := s.params.model(s).maximize(s.rows())
	return z
}

// LikelySquaredDistance is [Sketch.LikelySquaredNorm] for ‖x − y‖₂². The error is that of
// [Sketch.SquaredDistance].
func (s *Sketch) LikelySquaredDistance(other *Sketch) (float64, error) {
	if err := s.comparable(other); err != nil {
		return math.NaN(), err
	}
	z, _ := s.params.model(s, other).maximize(s.difference(other))
	return z, nil
}

// LikelySquaredNormInterval returns the likelihood interval of ‖x‖₂². It is approximate, under the
// assumption of [Sketch.LikelySquaredNorm] and for many rows: where a few coordinates hold most of
// ‖x‖₂² it is far too narrow. [Sketch.SquaredNormInterval] supposes nothing. NaN for a confidence
// outside [0, 1) and for the zero Sketch.
func (s *Sketch) LikelySquaredNormInterval(confidence float64) (lo, hi float64) {
	if len(s.terms) == 0 || !limits.Confidence(confidence) {
		return math.NaN(), math.NaN()
	}
	return s.params.model(s).interval(s.rows(), confidence)
}

// LikelySquaredDistanceInterval is [Sketch.LikelySquaredNormInterval] for ‖x − y‖₂².
func (s *Sketch) LikelySquaredDistanceInterval(other *Sketch, confidence float64) (lo, hi float64, err error) {
	if err := s.comparable(other); err != nil || !limits.Confidence(confidence) {
		return math.NaN(), math.NaN(), err
	}
	lo, hi = s.params.model(s, other).interval(s.difference(other), confidence)
	return lo, hi, nil
}
