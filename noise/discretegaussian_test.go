package noise

import (
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

func TestDiscreteGaussianMoments(t *testing.T) {
	var variance, meanAbs dptest.Worst
	for _, row := range dptest.Rows(t, "testdata/reference.txt", "moments", 3) {
		d := dptest.OK(NewDiscreteGaussian(row[0]))(t)
		variance.See(d.Variance(), row[1], row[0])
		meanAbs.See(d.MeanAbs(), row[2], row[0])
	}
	variance.Check(t, "Variance", 2e-14)
	meanAbs.Check(t, "MeanAbs", 2e-14)
}
