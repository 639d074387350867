package noise

import (
	"bufio"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// reference returns the rows of testdata/reference.txt for one law. The file is written by
// reference.py, which sums and integrates with 80 digits by mpmath and shares no formula with this
// package but the definitions.
func reference(t *testing.T, law string, columns int) [][]float64 {
	t.Helper()
	return referenceIn(t, "reference.txt", law, columns)
}

// referenceIn returns the rows for one law of a file in testdata.
func referenceIn(t *testing.T, file, law string, columns int) [][]float64 {
	t.Helper()
	f, err := os.Open("testdata/" + file)
	require.NoError(t, err)
	defer f.Close()
	var rows [][]float64
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if fields[0] != law {
			continue
		}
		require.Len(t, fields, columns+1)
		row := make([]float64, columns)
		for i := range row {
			if row[i], err = strconv.ParseFloat(fields[i+1], 64); err != nil {
				require.ErrorIs(t, err, strconv.ErrRange) // an overflow gives ±Inf, as in the functions
			}
		}
		rows = append(rows, row)
	}
	require.NoError(t, lines.Err())
	require.NotEmpty(t, rows)
	return rows
}

// worst keeps the largest relative error seen and where.
type worst struct {
	error float64
	where []float64
}

// see records the relative error of got against want; errors below the least normal float64 are in
// units of it.
func (w *worst) see(got, want float64, where ...float64) {
	e := math.Abs(got-want) / max(math.Abs(want), 0x1p-1022)
	if got == want {
		e = 0
	}
	if !(e <= w.error) {
		w.error, w.where = e, append(where, got, want)
	}
}

func (w *worst) check(t *testing.T, what string, limit float64) {
	t.Helper()
	t.Logf("%s: worst relative error %.2g at %g", what, w.error, w.where)
	if !(w.error <= limit) {
		t.Errorf("%s: relative error %g, want at most %g, at %g", what, w.error, limit, w.where)
	}
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
	var survival, cdf, logSurvival worst
	for _, row := range reference(t, law, 4) {
		d, err := make(row[0])
		require.NoError(t, err)
		scale, x, want, logWant := row[0], row[1], row[2], row[3]
		if want > 0x1p-1000 || want == 0 {
			survival.see(d.Survival(x), want, scale, x)
			if mirrored := mirror(x); !math.IsNaN(mirrored) {
				cdf.see(d.CDF(mirrored), want, scale, x)
			}
		}
		if math.Abs(logWant) > 0x1p-1000 {
			logSurvival.see(d.LogSurvival(x), logWant, scale, x)
		}
	}
	survival.check(t, "Survival", limit)
	cdf.check(t, "CDF", limit)
	logSurvival.check(t, "LogSurvival", limit)
}
