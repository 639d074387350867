package noise

import (
	"math"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// reference returns the rows of testdata/reference.txt for one law. The file is written by
// reference.py, which sums and integrates with 80 digits by mpmath and shares no formula with this
// package but the definitions.
func reference(t *testing.T, law string, columns int) [][]float64 {
	t.Helper()
	return dptest.Rows(t, "testdata/reference.txt", law, columns)
}

// distribution has the methods that all laws of the package share.
type distribution interface {
	CDF(x float64) float64
	Survival(x float64) float64
	LogSurvival(x float64) float64
	Quantile(p float64) float64
	Mean() float64
	Variance() float64
	MeanAbs() float64
	Prob(x float64) float64
	LogProb(x float64) float64
}

// testTails compares a law with the reference file, on both sides, to the given relative error.
// mirror maps x to the y with Pr[X ≤ y] = Pr[X > x], or to NaN where that is no float64.
func testTails[T distribution](t *testing.T, law string, limit float64, make func(float64) (T, error), mirror func(float64) float64) {
	var survival, cdf, logSurvival dptest.Worst
	for _, row := range reference(t, law, 4) {
		d := dptest.OK(make(row[0]))(t)
		scale, x, want, logWant := row[0], row[1], row[2], row[3]
		if want > 0x1p-1000 || want == 0 {
			survival.See(d.Survival(x), want, scale, x)
			if mirrored := mirror(x); !math.IsNaN(mirrored) {
				cdf.See(d.CDF(mirrored), want, scale, x)
			}
		}
		if math.Abs(logWant) > 0x1p-1000 {
			logSurvival.See(d.LogSurvival(x), logWant, scale, x)
		}
	}
	survival.Check(t, "Survival", limit)
	cdf.Check(t, "CDF", limit)
	logSurvival.Check(t, "LogSurvival", limit)
}
