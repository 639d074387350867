package elliptical

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
)

// norm returns ‖x‖_r, for r below 1 too.
func norm(x []float64, r float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += math.Pow(v, r)
	}
	return math.Pow(sum, 1/r)
}

// around returns the Params with intervals of these widths around 0.
func (p Params) around(widths ...float64) Params {
	low, high := make([]float64, len(widths)), make([]float64, len(widths))
	for i, width := range widths {
		low[i], high[i] = -width/2, width/2
	}
	p.Min, p.Max = VectorOf(low...), VectorOf(high...)
	if p.Relation == 0 {
		p.Relation = budget.Replace // that of the thesis
	}
	return p
}

// best returns the Params with the Weights of the least E‖η‖ₚᵖ: b of Lemmas 4.8 and 4.11.
func (p Params) best(power float64) Params {
	q := 2.0
	if p.pure() {
		q = 1
	}
	b, _ := p.resolved().sensitivities()
	for i, a := range b {
		b[i] = math.Pow(a, power/(power+q))
	}
	p.Weights = VectorOf(b...)
	return p
}

// skewed returns Δᵢ = i^{−.8}.
func skewed(d int) []float64 {
	widths := make([]float64, d)
	for i := range widths {
		widths[i] = math.Pow(float64(i+1), -0.8)
	}
	return widths
}

// Figure 4.1: Δ = (4, 1). The grid holds 4 and 1, so only rounding of the last digits is left.
func TestFigure41(t *testing.T) {
	widths := []float64{4, 1}
	for _, rho := range []float64{0.01, 1, 3} {
		require.InEpsilon(t, 12.5/rho, Params{Rho: rho}.around(widths...).errorOf(2), 1e-12)
		require.InEpsilon(t, 17/rho, Params{Rho: rho}.around(widths...).spherical().errorOf(2), 1e-12)
		require.InEpsilon(t, 17/rho, Params{Rho: rho}.around(widths...).volume().errorOf(2), 1e-12)
		require.InEpsilon(t, 9/rho, Params{Epsilon: rho}.around(widths...).best(1).errorOf(1), 1e-12)
		require.InEpsilon(t, 10/rho, Params{Epsilon: rho}.around(widths...).spherical().errorOf(1), 1e-12)
		require.InEpsilon(t, 10/rho, Params{Epsilon: rho}.around(widths...).volume().errorOf(1), 1e-12)
	}
	// σ² = Δ₁·‖Δ‖₁/(2ρ)
	require.InEpsilon(t, 10, square(Params{Rho: 1}.around(widths...).deviation(0)), 1e-12)
	require.InEpsilon(t, 2.5, square(Params{Rho: 1}.around(widths...).deviation(1)), 1e-12)
}

// Theorems 4.1 and 4.2 and Lemma 4.2, for any power and a skewed Δ of length 1000.
func TestExpectedErrorIsTheTheorems(t *testing.T) {
	widths := skewed(1000)
	sigma := dptest.OK(noise.GaussianSigma(0.7, 1e-6, 1))(t)
	for _, p := range []float64{0.3, 0.5, 1, 2, 3, 10} {
		gaussian := math.Gamma((p+1)/2) / math.Sqrt(math.Pi) * math.Pow(norm(widths, 2*p/(p+2)), p)
		laplace := math.Gamma(p+1) / math.Pow(0.7, p) * math.Pow(norm(widths, p/(p+1)), p)
		require.InEpsilon(t, gaussian/math.Pow(0.3, p/2), Params{Rho: 0.3}.around(widths...).best(p).errorOf(p), 1e-8)
		require.InEpsilon(t, gaussian*math.Pow(2*sigma*sigma, p/2), Params{Epsilon: 0.7, Delta: 1e-6}.around(widths...).best(p).errorOf(p), 1e-8)
		require.InEpsilon(t, laplace, Params{Epsilon: 0.7}.around(widths...).best(p).errorOf(p), 1e-8)
		half := Params{Rho: 0.3, Relation: budget.AddRemove}.around(widths...).best(p)
		require.InEpsilon(t, gaussian/math.Pow(0.3, p/2)/math.Pow(2, p), half.errorOf(p), 1e-8, "half the sensitivity")
	}
}

// The error that is measured is the error of the theorems within 3 %, and with -long 1 %, for p =
// 1, 2, 3 and Δ of length 1000. The number of draws is such that this is at least 6.6 standard
// errors (4e-11, and less than 1e-9 with the skewness of the sums). For p = 1 and 2 whole releases
// are made, (6.6/.03)²·v of them with v the variance of ‖η‖ₚᵖ/E‖η‖ₚᵖ. For p = 3 coordinates, which
// are independent, are drawn in proportion to the standard deviation sᵢ of |ηᵢ|³,
// (6.6/.03)²·sᵢ·Σs/(E‖η‖₃³)² times.
func TestErrorIsMeasured(t *testing.T) {
	dptest.NotShort(t, "many releases")
	tolerance := 0.03
	if dptest.Long() {
		tolerance = 0.01
	}
	errors := 6.6 / tolerance
	widths := skewed(1000)
	for _, base := range []Params{Params{Rho: 0.5}.around(widths...), Params{Epsilon: 0.5, Shape: Independent}.around(widths...)} {
		for _, p := range []float64{1, 2, 3} {
			m := dptest.OK(New(base.best(p)))(t)
			want := m.noise.expectedError(p)
			deviations, sum, squares := make([]float64, m.noise.dim), 0.0, 0.0
			for i := range deviations {
				deviations[i] = math.Sqrt(m.noise.moment(i, 2*p) - square(m.noise.moment(i, p)))
				sum += deviations[i]
				squares += square(deviations[i])
			}
			total, draws := 0.0, 0
			if p == 3 {
				var src noise.Source
				for i, c := range m.noise.coordinates {
					n := int(math.Ceil(errors * errors * deviations[i] * sum / square(want)))
					for range n {
						total += math.Pow(math.Abs(float64(m.noise.sample(&src, c))*c.step), p) / float64(n)
					}
					draws += n
				}
			} else {
				n := int(math.Ceil(errors * errors * squares / square(want)))
				for range n {
					s := dptest.OK(m.Release(make([]float64, m.noise.dim)))(t)
					for _, x := range s.Values() {
						if x = math.Abs(x); p == 2 {
							x *= x
						}
						total += x / float64(n)
					}
				}
				draws = n * m.noise.dim
			}
			t.Logf("%s noise, p = %v: measured/theorem = %.4f in %d draws", m.noise.kind, p, total/want, draws)
			dptest.Alarm(t, 1e-9)
			require.InDelta(t, 1, total/want, tolerance)
		}
	}
}

// Lemmas 4.8 and 4.11: none of 300 other shapes has a smaller error, small steps away from the
// optimum included.
func TestNoShapeIsBetter(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2)) // public numbers
	for _, d := range []int{2, 20} {
		widths := skewed(d)
		for _, base := range []Params{{Rho: 1}, {Epsilon: 1, Shape: Independent}, {Epsilon: 1, Delta: 1e-6}} {
			for _, p := range []float64{0.5, 1, 2, 3} {
				q := base.around(widths...)
				best := q.best(p).errorOf(p)
				trials := dptest.Full(300, 100)
				for trial := range trials {
					far := math.Pow(10, -3*float64(trial)/float64(trials))
					weights := make([]float64, d)
					for i := range weights {
						weights[i] = q.best(p).Weights.At(i) * math.Exp(far*rng.NormFloat64())
					}
					other := q
					other.Weights = VectorOf(weights...)
					require.GreaterOrEqual(t, other.errorOf(p), best*(1-1e-8))
				}
				require.Greater(t, q.spherical().errorOf(p), best)
				require.Greater(t, q.volume().errorOf(p), best)
			}
		}
	}
}

// The count under AddRemove for intervals [0, Δᵢ]: ((‖Δ‖₁+‖Δ‖₂)/2)²/(2ρ) instead of ‖Δ‖₁²/(2ρ).
func TestCountTrick(t *testing.T) {
	for _, c := range []struct {
		widths []float64
		ratio  float64
	}{{[]float64{1}, 1}, {[]float64{4, 1}, 0.832}, {[]float64{1, 1}, 2.914 / 4}, {skewed(1000), 0.301}} {
		p := Params{Min: VectorOf(make([]float64, len(c.widths))...), Max: VectorOf(c.widths...), Rho: 1, Relation: budget.AddRemove}
		plain := p.errorOf(2)
		l1 := norm(c.widths, 1)
		require.InEpsilon(t, l1*l1/2, plain, 1e-8)
		p.Count = true
		with := p.errorOf(2)
		m := dptest.OK(New(p))(t)
		s := dptest.OK(m.Release(make([]float64, len(c.widths)+1)))(t)
		d := len(c.widths)
		if d > 1 { // noise of the count, times half the widths, is in both
			require.InEpsilon(t, c.widths[0]*c.widths[d-1]/4*square(s.noise.deviation(s.noise.dim)), s.Covariance().At(0, d-1), 1e-6)
		}
		half := (l1 + norm(c.widths, 2)) / 2
		require.InEpsilon(t, half*half/2, with, 1e-7)
		require.InDelta(t, c.ratio, with/plain, 0.001)
	}
}

// The shape with a count is a minimum: no shape near or far has a smaller error.
func TestShapeWithCountIsOptimal(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12)) // public numbers
	for _, a := range [][]float64{{1, 0.3, 2}, {1, 0x1p-40, 0x1p-90}} {
		testShapeWithCount(t, rng, a, []float64{0.5 * a[0], -10 * a[1], 0})
	}
}

// testShapeWithCount compares the shape for sensitivities a and a count times middle with others.
func testShapeWithCount(t *testing.T, rng *rand.Rand, a, middle []float64) {
	for _, laplace := range []bool{false, true} {
		p := Params{Relation: budget.AddRemove, Count: true}.around(2*a[0], 2*a[1], 2*a[2])
		q := 2.0
		if laplace {
			p.Epsilon, q = 1, 1
		} else {
			p.Rho = 1
		}
		logError := func(logTau []float64) float64 { // scale-free: S·‖noise‖₂, in logarithms
			spend, sum := math.Exp(-q*logTau[3]), 0.0
			for i := range a {
				spend += math.Pow(a[i]/math.Exp(logTau[i]), q)
				sum += square(math.Hypot(math.Exp(logTau[i]), middle[i]*math.Exp(logTau[3])))
			}
			return math.Log(spend)/q + math.Log(sum)/2
		}
		tau := p.shape(a, middle, []int{1, 1, 1})
		for i := range tau {
			tau[i] = math.Log(tau[i])
		}
		got := logError(tau)
		for trial := range 1000 {
			far := math.Pow(10, -4*float64(trial)/1000)
			other := slices.Clone(tau)
			for i := range other {
				other[i] += far * rng.NormFloat64()
			}
			require.GreaterOrEqual(t, logError(other), got-1e-6, "laplace %v", laplace)
		}
	}
}

// Moments and reaches of one noise and of the sum of two, against quadrature of the density.
func TestMomentsAndReach(t *testing.T) {
	for _, shared := range []float64{0, 0.3, 0.999999, 1, 2.5} {
		for _, pure := range []bool{true, false} {
			const own, middle = 1.0, 0.25
			l := gridNoise{kind: map[bool]kind{true: laplace, false: gaussian}[pure], dim: 1, coordinates: []coordinate{{step: 0x1p-40, scale: own, centre: 1 << 38}, {step: 0x1p-40, scale: shared / middle}}}
			if shared == 0 {
				l.coordinates = l.coordinates[:1]
			}
			density := func(x float64) float64 {
				switch {
				case !pure:
					return distuv.Normal{Sigma: math.Hypot(own, shared)}.Prob(x)
				case shared == 0:
					return distuv.Laplace{Scale: own}.Prob(x)
				case math.Abs(shared-own) < 1e-3:
					return (1 + math.Abs(x)) * math.Exp(-math.Abs(x)) / 4
				}
				f := func(s float64) float64 { return distuv.Laplace{Scale: s}.Prob(x) }
				return (own*own*f(own) - shared*shared*f(shared)) / (own*own - shared*shared)
			}
			integral := func(f func(float64) float64, low float64) float64 {
				return quad.Fixed(f, low, low+1, 200, nil, 0) + quad.Fixed(f, low+1, low+120, 600, nil, 0)
			}
			for _, p := range []float64{1, 2, 3, 4.5} {
				want := 2 * integral(func(x float64) float64 { return math.Pow(x, p) * density(x) }, 0)
				require.InEpsilon(t, want, l.moment(0, p), 1e-5, "pure %v, shared %v, p %v", pure, shared, p)
			}
			require.InEpsilon(t, l.moment(0, 2), l.variance(0), 1e-9)
			for _, confidence := range []float64{0.5, 0.95, 1 - 1e-9} {
				outside := 2 * integral(density, l.halfWidth(0, confidence))
				require.LessOrEqual(t, outside, (1-confidence)*(1+1e-4), "pure %v, shared %v", pure, shared)
				least := 1 - 1e-4
				if pure && math.Abs(shared-own) < 0x1p-9 {
					least = 1 - 0x1p-5 // exact.LaplaceReach moves the two apart
				}
				require.GreaterOrEqual(t, outside, (1-confidence)*least, "pure %v, shared %v", pure, shared)
			}
			require.InDelta(t, 0, l.halfWidth(0, 0), 1e-9)
			require.GreaterOrEqual(t, l.halfWidth(0, 0), 0x1p-40, "half a step for the sum, half a step for the noise")
		}
	}
}

// Intervals hold the true sum as often as they say: exact binomial test.
func TestIntervalCovers(t *testing.T) {
	n := int64(5_000)
	switch {
	case dptest.Long():
		n = 20_000
	case testing.Short():
		n = 2000
	}
	for _, p := range []Params{
		{Min: VectorOf(-2, -0.5), Max: VectorOf(2, 0.5), Rho: 1}, {Min: VectorOf(-2, -0.5), Max: VectorOf(2, 0.5), Epsilon: 1, Shape: Independent},
		{Min: VectorOf(-2, -0.5), Max: VectorOf(2, 0.5), Epsilon: 1, Shape: Box},
		{Min: VectorOf(0, 2), Max: VectorOf(4, 3), Epsilon: 1, Relation: budget.AddRemove, Count: true, Shape: Independent},
		{Min: VectorOf(0, 2), Max: VectorOf(4, 3), Epsilon: 1, Relation: budget.AddRemove, Count: true, Shape: Box},
		{Min: VectorOf(0, 2), Max: VectorOf(4, 3), Rho: 1, Relation: budget.AddRemove, Count: true},
	} {
		m := dptest.OK(New(p))(t)
		input := make([]float64, len(m.noise.coordinates))
		input[0], input[1] = 100, 20
		if p.Count {
			input[2] = 77
		}
		hits, widths := [2]int64{}, [2]float64{m.noise.halfWidth(0, 0.9), m.noise.halfWidth(1, 0.9)}
		for range n {
			s := dptest.OK(m.Release(input))(t)
			for i := range hits {
				if math.Abs(s.Estimate(i)-input[i]) <= widths[i] {
					hits[i]++
				}
			}
		}
		s := dptest.OK(m.Release(input))(t)
		for i := range hits {
			require.InDelta(t, widths[i], half(s.Interval(i, 0.9)), 1e-9)
			dptest.Tail(t, fmt.Sprint(p, i), hits[i], n, 0.9, 1e-10)
		}
	}
}

func half(low, high float64) float64 { return (high - low) / 2 }

// Relative noise is that of data that were divided by the widths: for every guarantee, shape and
// relation, with a count and without, where widths differ by powers of two up to 10¹⁰. A rating
// beside a revenue has the noise of a rating beside ratings.
func TestRelative(t *testing.T) {
	widths := []float64{0x1p-3, 1, 0x1p30, 0x1p-1, 0x1p31}
	lows := []float64{0, -0.5, 0.25, 2, 0} // in widths
	ends := func(units []float64) (a, b Vector) {
		lo, hi := make([]float64, len(lows)), make([]float64, len(lows))
		for i, x := range lows {
			lo[i], hi[i] = x*units[i], (x+1)*units[i]
		}
		return VectorOf(lo...), VectorOf(hi...)
	}
	for _, p := range []Params{
		{Rho: 0.5}, {Epsilon: 1, Delta: 1e-6}, {Epsilon: 1}, {Epsilon: 1, Shape: Independent}, {Epsilon: 1, Shape: Box},
		{Rho: 0.5, Count: true}, {Epsilon: 1, Count: true}, {Epsilon: 1, Count: true, Shape: Box}, {Epsilon: 1, Count: true, Shape: Independent},
		{Rho: 0.5, Relation: budget.Replace}, {Epsilon: 1, Relation: budget.Replace},
	} {
		p.Relative = true
		p.Min, p.Max = ends(widths)
		divided := p
		divided.Relative = false
		divided.Min, divided.Max = ends([]float64{1, 1, 1, 1, 1})
		plan, of := dptest.OK(p.Plan())(t), dptest.OK(divided.Plan())(t)
		require.Equal(t, of.Params.Shape, plan.Params.Shape)
		for i, width := range widths {
			require.InEpsilon(t, of.StdDev(i), plan.StdDev(i)/width, 1e-6, "%v: %d", p, i)
		}
		require.True(t, p.Guarantee().Equal(divided.Guarantee()))
	}
	for _, bad := range []func(*Params){func(p *Params) { p.Weights = VectorOf(1, 1, 1, 1, 1) }, func(p *Params) {
		p.NormBound, p.Dim, p.Min, p.Max = 1, 5, Vector{}, Vector{}
	}, func(p *Params) {
		p.Ellipsoid, p.Min, p.Max = PackSymmetric(mat.NewSymDense(1, []float64{1})), Vector{}, Vector{}
	}} {
		p := Params{Rho: 0.5, Relative: true}
		p.Min, p.Max = ends(widths)
		bad(&p)
		require.ErrorIs(t, dptest.Err(New(p)), ErrParams)
	}
}
