package loss

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise"
)

// The minimum over α, found by golden section with 80 digits, from above and to 1e-13, in both
// directions.
func TestZCDPReference(t *testing.T) {
	var epsilons, deltas dptest.Worst
	for _, row := range dptest.Rows(t, "../../noise/budget/testdata/reference.txt", "zcdp", 3) {
		rho, delta, want := row[0], row[1], row[2]
		got := ConcentratedEpsilon(rho, -math.Log(delta))
		assert.GreaterOrEqual(t, got, want*(1-1e-15), "%g", row)
		epsilons.See(got, want, rho, delta)
		back := ConcentratedLogDelta(rho, want)
		assert.GreaterOrEqual(t, back, math.Log(delta)*(1+1e-15), "%g", row)
		deltas.See(back, math.Log(delta), rho, delta)
	}
	epsilons.Check(t, "ConcentratedEpsilon", 2e-13)
	deltas.Check(t, "ConcentratedLogDelta", 1e-8) // ε = 1e6 fixes ln δ to about 1e6·2⁻⁴⁹ only
}

// A Gaussian with Δ²/(2σ²) = ρ is ρ-zCDP, so the converted δ is never below its exact one.
func TestZCDPCoversGaussian(t *testing.T) {
	for _, rho := range []float64{1e-9, 1e-3, 0.1, 0.5, 2, 50, 1e4} {
		for k := 0.0; k < 30; k += 0.7 {
			epsilon := rho + k*math.Sqrt(2*rho)
			exact := dptest.OK(noise.GaussianLogDelta(1/math.Sqrt(2*rho), epsilon, 1))(t)
			assert.GreaterOrEqual(t, ConcentratedLogDelta(rho, epsilon), exact-1e-11, "ρ %g ε %g", rho, epsilon)
		}
	}
}

func TestZCDPExtremes(t *testing.T) {
	inf := math.Inf(1)
	assert.Equal(t, -inf, ConcentratedLogDelta(0, 0))
	assert.Equal(t, -inf, ConcentratedLogDelta(1, inf))
	assert.Zero(t, ConcentratedLogDelta(inf, 1))
	assert.Zero(t, ConcentratedLogDelta(math.MaxFloat64, 1))
	assert.Zero(t, ConcentratedLogDelta(1e6, 0)) // e^{-10^6} from 0 upwards
	assert.Zero(t, ConcentratedEpsilon(0, 10))
	for _, rho := range []float64{5e-324, 1e-300, 1e-12, 1, 1e6, 1e150, 1e300, math.MaxFloat64, inf} {
		for _, x := range []float64{1e-16, 1, 700, 1e6, 1e150, 1e300, math.MaxFloat64} {
			logDelta, epsilon := ConcentratedLogDelta(rho, x), ConcentratedEpsilon(rho, x)
			assert.True(t, logDelta <= 0, "ρ %g ε %g: %g", rho, x, logDelta)
			assert.True(t, epsilon >= 0, "ρ %g l %g: %g", rho, x, epsilon)
		}
	}
	assert.Less(t, ConcentratedLogDelta(1e-12, 1e300), -1e100)
	assert.Less(t, ConcentratedLogDelta(5e-324, 1), -1e100)
}
