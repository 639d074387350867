package plan

import (
	"fmt"
	"math"

	"github.com/dpsketch/dpsketch/noise/budget"
)

// Mean is a released mean: public, immutable, safe for concurrent readers. All that it computes is
// post-processing and costs no budget.
type Mean struct {
	params  Params
	rows    float64 // public, or as released
	scaled  bool
	limit   float64 // C
	divisor float64
	values  []float64
	errors  []float64 // standard deviations of the noise of the values
	centre  []float64 // nil for the origin
	ranges  *ranges   // nil unless given
	scales  []float64 // nil if none were estimated or given
	spent   Spent
}

// Spent is what the steps of a release took of ρ. It is public.
type Spent struct {
	Centre  float64
	Scale   float64 // for TwoPass the sums of the first pass
	Clip    float64 // C
	Divisor float64 // γ, and the number of rows where that is private
	Sum     float64
}

// mean makes the Mean of noisy sums of shaped rows, of which sd is the standard deviation of the
// noise and relative that of the noise of the count, as a part of it: (3) of divisor.go.
func (r *run) mean(limit, count, relative float64, sums []float64, sd float64) *Mean {
	m := &Mean{params: r.p, rows: r.n, scaled: r.scaled, limit: limit, divisor: count, spent: r.spent}
	if r.p.choosesMargin() {
		m.params.Margin = r.margin
	}
	m.values, m.errors = make([]float64, len(sums)), make([]float64, len(sums))
	for i, sum := range sums {
		offset := sum / count / r.factor[i]
		m.values[i] = r.centre[i] + offset
		m.errors[i] = math.Hypot(sd/count/r.factor[i], offset*relative)
	}
	m.ranges = r.x.ranges
	if r.p.Steps.Centre == Median || m.ranges.centred(r.p) {
		m.centre = r.centre
	}
	for _, s := range r.scale {
		if s == 0 { // only the pilot's are known
			return m
		}
	}
	m.scales = r.scale
	return m
}

// Params returns the parameters of the release, with every default filled in.
func (m *Mean) Params() Params { return m.params }

// Guarantee returns the guarantee of the release: ρ-zCDP, of which EpsilonAt tells the ε for a δ.
func (m *Mean) Guarantee() budget.Guarantee { return m.params.Guarantee() }

// Dim returns d.
func (m *Mean) Dim() int { return len(m.values) }

// Rows returns the number of rows that the release was planned with: the public one, or a noisy one
// where it is private.
func (m *Mean) Rows() float64 { return m.rows }

// Spent returns what each step took of ρ.
func (m *Mean) Spent() Spent { return m.spent }

// Values returns the estimates of the mean of each coordinate, in the units of the data, as a new
// slice. Each has the noise of StdDev, and is unbiased but for clipping: rows of norm above C are
// drawn towards the centre, and the division by γ makes up for that as far as rows of all
// directions are clipped alike. For what the first of two passes clips, of the longest tenth of the
// rows, nothing makes up.
func (m *Mean) Values() []float64 { return append([]float64(nil), m.values...) }

// StdDevs returns the standard deviations of the noise of Values as a new slice. The noise of the
// sums is independent; that of what they were divided by is common to all coordinates, so that the
// noise of a sum of coordinates may be larger than the root of the sum of squares.
func (m *Mean) StdDevs() []float64 { return append([]float64(nil), m.errors...) }

// Estimate returns coordinate i of Values, NaN outside [0, Dim).
func (m *Mean) Estimate(i int) float64 { return at(m.values, i) }

// StdDev returns the standard deviation of the noise of coordinate i, NaN outside [0, Dim):
// √(σ² + δ²·(Estimate(i) − Centre(i))²), with σ that of the sum, divided, and δ that of γ and of
// the number of rows where they were released, as parts of them; where two passes are combined,
// that of the weighted mean. It knows nothing of the error of the sample, nor of the bias of
// clipping.
func (m *Mean) StdDev(i int) float64 { return at(m.errors, i) }

// Centre returns the released centre of coordinate i, for Plain the middle of its range if one was
// given: 0 if rows were clipped around the origin, NaN outside [0, Dim).
func (m *Mean) Centre(i int) float64 {
	if m.centre == nil && i >= 0 && i < len(m.values) {
		return 0
	}
	return at(m.centre, i)
}

// Scale returns the standard deviation of coordinate i that was used or looked at, in the units of
// the data: estimated as for Gaussian data, shrunk, or given. It is NaN where there is none: where
// scaling was not worth its budget, and outside [0, Dim).
func (m *Mean) Scale(i int) float64 { return at(m.scales, i) }

// Scaled reports whether coordinates were scaled.
func (m *Mean) Scaled() bool { return m.scaled }

// Clip returns C, the norm at which centred and scaled rows were clipped. NaN for the zero Mean.
func (m *Mean) Clip() float64 {
	if m.limit == 0 {
		return math.NaN()
	}
	return m.limit
}

// Gamma returns γ, the released mean of min(1, C/‖y‖) over all rows; 1 if the sum was not divided
// by it, or near 1 if it was by a private number of rows. Its least value, ¼, says that C is far
// below the norms of the rows, and the values are of no use. NaN for the zero Mean.
func (m *Mean) Gamma() float64 {
	if m.limit == 0 {
		return math.NaN()
	}
	return m.divisor / max(m.rows, 1)
}

// at returns x[i], NaN where that does not exist.
func at(x []float64, i int) float64 {
	if i < 0 || i >= len(x) {
		return math.NaN()
	}
	return x[i]
}

// NoiseInterval returns how far the noise may have moved coordinate i, at the given confidence over
// all noise: that of the sum, of γ and of a private number of rows. It holds the mean of the
// clipped rows, divided by γ.
//
// That is not the mean of the rows where clipping draws it to one side, and nothing that is
// released tells how much. An interval at 95 % held the mean of 87 % over ten skewed laws, of 67 %
// for Pareto tails of index 1.5, of none where 20 of 30,000 rows are 1000 standard deviations
// away. A larger [Params.Margin] helps where tails are light, and the size of rare events as
// [Params.Unit] where most rows are 0. IntervalBounded holds whatever the rows are. Both leave out
// the error of the sample.
//
// Where n is private NoiseInterval counts on 230/√ρ rows or more: n is known to a tenth then. Where
// n is public and Gamma is near 1, its most, it is wider than need be. NaN for a confidence outside
// [0, 1) and outside [0, Dim).
func (m *Mean) NoiseInterval(i int, confidence float64) (lo, hi float64) {
	if !(confidence >= 0 && confidence < 1) || i < 0 || i >= len(m.values) {
		return math.NaN(), math.NaN()
	}
	// 0 at confidence 0, whatever decodes
	reach := m.errors[i] * (math.Sqrt2 * math.Erfinv(confidence))
	return m.values[i] - reach, m.values[i] + reach
}

// NoiseNorm returns the size of the noise as its ℓₚ norm, of expectations to the power p: (Σ
// E|noiseᵢ|ᵖ)^{1/p}, the noise being that of StdDev. What part of it is common to all coordinates
// does not matter to this, but the more it is, the more the norm varies. NaN unless p is in [1/16,
// 64].
func (m *Mean) NoiseNorm(p float64) float64 {
	if !(p >= minP && p <= maxP) || len(m.errors) == 0 {
		return math.NaN()
	}
	return normError(m.errors, p)
}

// normError returns (Σ E|N(0, σᵢ²)|^p)^{1/p}: E|Z|^p = 2^{p/2}·Γ((p+1)/2)/√π.
func normError(sigmas []float64, p float64) float64 {
	top := 0.0
	for _, s := range sigmas {
		top = max(top, s)
	}
	sum := 0.0
	for _, s := range sigmas {
		sum += math.Pow(s/top, p)
	}
	moment, _ := math.Lgamma((p + 1) / 2)
	return top * math.Pow(sum, 1/p) * math.Sqrt2 * math.Exp((moment-math.Log(math.Pi)/2)/p)
}

// String says what was released under which guarantee.
func (m *Mean) String() string {
	scaled := "unscaled"
	if m.scaled {
		scaled = "scaled"
	}
	return fmt.Sprintf("plan.Mean: %d coordinates of %.6g rows by %v, %s, clipped at %.6g, %v", m.Dim(), m.rows, m.params.Method, scaled, m.limit, m.Guarantee())
}
