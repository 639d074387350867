package means

import (
	"math"
	"math/rand/v2"
	"testing"
	"testing/cryptotest"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/quantile"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"
)

// Boosting cuts the rows into pairs g times, in g random orders: g times as many values, of which
// one row changes g, so that weights fall as if ρ were ρ/g². Where budget is scarce, as for each of
// many columns, it gains nothing, and the median of |x − μ̃| has half the error; where it is ample
// the error of the sample falls, below that of Deviations even, by some percent of σ that cost the
// mean next to nothing. Over 2000 runs, the root mean square of ln(σ̂/σ), at most ln 2:
//
//	ρ of a column   Deviations   pairs   g = 4   g = 16
//	0.0002          0.094        0.200   0.191   0.187
//	0.002           0.037        0.063   0.055   0.056
//	0.02            0.027        0.040   0.029   0.024
//	0.2             0.026        0.038   0.024   0.019
func TestBoostingGainsLittle(t *testing.T) {
	const n = 2000
	cryptotest.SetGlobalRandom(t, 1)
	rng := rand.New(rand.NewPCG(61, 62)) // test data
	a := quantile.LogAxis(1.0/16, 1<<21, scaleBits)
	var s sampler
	quantile := func(values []float64, rho float64) float64 {
		var c quantile.Column
		for _, x := range values {
			c.Keys = append(c.Keys, a.Key(x))
		}
		return a.Value(s.Quantile(c, a.Plain(), quantile.NewWeights(rho, 0.5, quantile.Replaced, len(values))))
	}
	runs := dptest.Full(2000, 200)
	boosts, budgets := []int{0, 1, 4, 16}, []float64{0.0002, 0.2, 0.002, 0.02}
	if runs < 2000 {
		boosts, budgets = boosts[:3], budgets[:2]
	}
	// rms returns the error with boost g, of Deviations around the known mean if g is 0.
	rms := func(g int, rho float64) float64 {
		sum, x := 0.0, make([]float64, n)
		for range runs {
			for j := range x {
				x[j] = rng.NormFloat64()
			}
			var values []float64
			median, each := math.Sqrt(distuv.ChiSquared{K: 1}.Quantile(0.5)), rho/float64(g*g)
			for range g {
				rng.Shuffle(n, func(i, j int) { x[i], x[j] = x[j], x[i] })
				for j := 0; j < n; j += 2 {
					values = append(values, math.Abs(x[j]-x[j+1])/math.Sqrt2)
				}
			}
			if g == 0 {
				median, each = normalMedian, rho
				for _, v := range x {
					values = append(values, math.Abs(v))
				}
			}
			e := min(math.Abs(math.Log(quantile(values, each)/median)), math.Ln2)
			sum += e * e / float64(runs)
		}
		return math.Sqrt(sum)
	}
	for _, rho := range budgets {
		var errors []float64
		for _, g := range boosts {
			errors = append(errors, rms(g, rho))
		}
		t.Logf("ρ = %v: Deviations, boosts %v: %.4f", rho, boosts[1:], errors)
		switch rho {
		case 0.0002:
			require.InDelta(t, errors[1], errors[2], 0.25*errors[1], "boosting at a scarce budget")
			require.Less(t, errors[0], 0.65*errors[2])
		case 0.2:
			require.Less(t, errors[2], 0.8*errors[1], "the error of the sample")
		}
	}
}
