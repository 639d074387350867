package noise

import (
	"math"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

func TestDiscreteGaussianTails(t *testing.T) {
	testTails(t, "discretegaussian", 1e-13, NewDiscreteGaussian, integerMirror)
}

func TestDiscreteGaussianMoments(t *testing.T) {
	var variance, meanAbs dptest.Worst
	for _, row := range reference(t, "moments", 3) {
		d := dptest.OK(NewDiscreteGaussian(row[0]))(t)
		variance.See(d.Variance(), row[1], row[0])
		meanAbs.See(d.MeanAbs(), row[2], row[0])
	}
	variance.Check(t, "Variance", 2e-14)
	meanAbs.Check(t, "MeanAbs", 2e-14)
}

// The direct sum and the expansion of the discrete Gaussian's tail agree where both apply.
func TestDiscreteGaussianTailMethodsAgree(t *testing.T) {
	for _, sigma := range []float64{16, 20, 77, 300} {
		d := dptest.OK(NewDiscreteGaussian(sigma))(t)
		var w dptest.Worst
		for j := math.Floor(0.1 * sigma * sigma); j < 0.3*sigma*sigma && j < 37*sigma; j += math.Ceil(sigma / 3) {
			z, r := divide(j+0.5, sigma)
			direct := d.formulas.beyondDirect(j + 1)
			w.See(gaussKernel(z, r)*midpointFactor(z, sigma)/sqrt2Pi, direct.value(), sigma, j)
		}
		w.Check(t, "expansion against sum", 1e-13)
	}
}
