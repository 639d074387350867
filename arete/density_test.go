package arete

import (
	"math"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/integrate/quad"
)

// shapesToTest are parameters of all sorts: calibrated ones, tiny and large shapes, either scale
// the larger.
var shapesToTest = []Arete{
	{0.0198, 0.803, 0.0257}, {0.187, 0.462, 0.0735}, {0.26, 0.5, 0.07}, {3.7e-5, 1, 7.5e-5}, {1e-9, 0.8, 0.026}, {0x1p-100, 1, 0.3}, {0.5, 0.3, 0.6}, {0.24, 2, 2.5}, {1, 1, 0.5},
}

// upwardDensity is the density of one gamma and one exponential variable together, by the series of
// Kummer's function, all terms positive: x^α·e^{−x/λ}/(λ·Γ(α+1)·θ^α)·Σ α/(α+n)·(κx)^n/n! with κ =
// 1/λ − 1/θ ≥ 0.
func (d Arete) upwardDensity(x float64) float64 {
	gamma, _ := math.Lgamma(d.alpha + 1)
	kappa := 1/d.lambda - 1/d.theta
	sum, term := 0.0, 1.0
	for n := 0.0; n < 10*kappa*x+100; n++ {
		sum += term * d.alpha / (d.alpha + n)
		term *= kappa * x / (n + 1)
		if n > kappa*x && term < sum*0x1p-60 {
			break
		}
	}
	return math.Exp(d.alpha*math.Log(x/d.theta)-x/d.lambda-gamma) / d.lambda * sum
}

// A second route to the density and the tail: the difference of two positive variables, by
// quadrature in ln y, all terms positive.
func TestDensityBySecondRoute(t *testing.T) {
	for _, d := range []Arete{{0.0198, 0.803, 0.0257}, {0.187, 0.462, 0.0735}, {0.6, 0.35, 0.072}, {3.7e-4, 1, 0.03}} {
		for i, x := range []float64{0, 0.3, 4, 0.001, 0.02, 1, 2} {
			if testing.Short() && i > 1 {
				break
			}
			f := func(u float64) float64 {
				y := math.Exp(u)
				return d.upwardDensity(y) * d.upwardDensity(y+x) * y
			}
			want := 0.0
			for i := range 156 { // to y = 11, beyond which e^{−2y/θ} leaves nothing
				u := -60 + 0.4*float64(i)
				want += quad.Fixed(f, u, u+0.4, 24, nil, 0)
			}
			require.InEpsilon(t, want, d.Prob(x), 1e-10, "%v at %v", d, x)
		}
	}
}

func TestQuantiles(t *testing.T) {
	for i, d := range shapesToTest {
		if testing.Short() && i%5 != 0 {
			continue
		}
		for _, p := range []float64{1e-307, 1e-100, 1e-10, 1e-3, 0.1, 0.3, 0.49, 0.5, 0.500001, 0.6, 0.9, 0.999, 1 - 1e-10, 1 - 0x1p-53} {
			require.InEpsilon(t, p, d.CDF(d.Quantile(p)), 1e-12, "%v at %v", d, p)
		}
		require.Equal(t, []float64{math.Inf(-1), math.Inf(1)}, []float64{d.Quantile(0), d.Quantile(1)})
		require.False(t, math.IsNaN(d.Quantile(5e-324)))
		for _, p := range []float64{-1, 2, math.NaN(), math.Inf(1)} {
			require.True(t, math.IsNaN(d.Quantile(p)))
		}
	}
}

// Far out f ∝ t^{α−1}·e^{−t/θ} for λ < θ: the tail keeps its digits where it is smaller than any
// float64, for tiny shapes too.
func TestFarTails(t *testing.T) {
	for _, d := range []Arete{{0.0198, 0.803, 0.0257}, {1e-9, 0.8, 0.026}, {0x1p-100, 1, 0.3}, {0.9, 2, 1}} {
		for _, x := range []float64{600, 700, 1e4, 1e6, 1e9} {
			u := x * d.theta
			gamma, _ := math.Lgamma(d.alpha)
			want := -x + (d.alpha-1)*math.Log(x) - gamma - math.Log(d.theta) - d.alpha*math.Ln2 - math.Log(1-d.lambda*d.lambda/(d.theta*d.theta))
			// The correction is of order 1/x.
			require.InDelta(t, want, d.LogProb(u), 20/x+1e-13*x, "%v at %v", d, x)
			require.InDelta(t, d.LogProb(u)+math.Log(d.theta), d.LogSurvival(u), 20/x+1e-13*x)
		}
		require.Equal(t, 0.0, d.Survival(1e300))
		require.InEpsilon(t, -1e300/d.theta, d.LogSurvival(1e300), 1e-9)
		require.InEpsilon(t, -1e300/d.theta, d.LogProb(-1e300), 1e-9)
	}
	d := Arete{0.0198, 0.803, 0.0257}
	x := -d.Quantile(1e-300)
	require.InEpsilon(t, 1e-300, d.Survival(x), 1e-12)
	require.InDelta(t, -300*math.Ln10, d.LogSurvival(x), 1e-9)
}

func TestNewArete(t *testing.T) {
	d := dptest.OK(NewArete(0.5, 2, 3))(t)
	alpha, theta, lambda := d.Parameters()
	require.Equal(t, []float64{0.5, 2, 3, 0, 2*0.5*4 + 18}, []float64{alpha, theta, lambda, d.Mean(), d.Variance()})
	nan, inf := math.NaN(), math.Inf(1)
	for _, bad := range [][3]float64{
		{0, 1, 1}, {-1, 1, 1}, {1.01, 1, 1}, {nan, 1, 1}, {5e-324, 1, 1}, {0.5, 0, 1}, {0.5, -1, 1}, {0.5, inf, 1}, {0.5, nan, 1}, {0.5, 5e-324, 1},
		{0.5, 1, 0}, {0.5, 1, nan}, {0.5, 1, inf}, {0.5, 1, 0x1p101}, {0.5, 1, 0x1p-101}, {0.5, 0x1p401, 1},
	} {
		require.ErrorIs(t, dptest.Err(NewArete(bad[0], bad[1], bad[2])), ErrParams, "%v", bad)
	}
	for _, edge := range [][3]float64{{0x1p-100, 0x1p-400, 0x1p-300}, {1, 0x1p400, 0x1p300}, {1, 1, 1}, {0x1p-100, 0x1p300, 0x1p400}} {
		d := dptest.OK(NewArete(edge[0], edge[1], edge[2]))(t)
		for _, x := range []float64{0, 1, d.Quantile(0.9), d.MeanAbs(), 1e-300, math.MaxFloat64, math.Inf(1)} {
			for _, y := range []float64{d.Prob(x), d.LogProb(x), d.Survival(x), d.LogSurvival(x), d.CDF(x)} {
				require.False(t, math.IsNaN(y), "%v at %v", d, x)
			}
		}
		require.InDelta(t, 0.9, d.CDF(d.Quantile(0.9)), 1e-12)
	}
	for _, x := range []float64{0, 1, nan} {
		var zero Arete
		for _, y := range []float64{zero.Prob(x), zero.LogProb(x), zero.Survival(x), zero.LogSurvival(x), zero.CDF(x), zero.Quantile(x), zero.Mean(), zero.Variance(),
			zero.MeanAbs(), d.Prob(nan), d.CDF(nan), d.LogProb(nan), d.LogSurvival(nan)} {
			require.True(t, math.IsNaN(y))
		}
	}
}
