package dptest

import (
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Rows returns the rows of a file of reference values that begin with a name, without it: lines of
// numbers, each written by a program that shares no formula with the package but the definitions.
func Rows(t testing.TB, path, name string, columns int) [][]float64 {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var rows [][]float64
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if fields[0] != name {
			continue
		}
		require.Len(t, fields, columns+1)
		row := make([]float64, columns)
		for i := range row {
			if row[i], err = strconv.ParseFloat(fields[i+1], 64); err != nil {
				// an overflow gives ±Inf, as in the functions
				require.ErrorIs(t, err, strconv.ErrRange)
			}
		}
		rows = append(rows, row)
	}
	require.NotEmpty(t, rows)
	return rows
}

// Worst keeps the largest relative error seen and where.
type Worst struct {
	error float64
	where []float64
}

// See records the relative error of got against want; errors below the least normal float64 are in
// units of it.
func (w *Worst) See(got, want float64, where ...float64) {
	e := math.Abs(got-want) / max(math.Abs(want), 0x1p-1022)
	if got == want {
		e = 0
	}
	if !(e <= w.error) {
		w.error, w.where = e, append(where, got, want)
	}
}

// Check fails the test if the largest error is above the limit, or NaN.
func (w *Worst) Check(t testing.TB, what string, limit float64) {
	t.Helper()
	t.Logf("%s: worst relative error %.2g at %g", what, w.error, w.where)
	if !(w.error <= limit) {
		t.Errorf("%s: relative error %g, want at most %g, at %g", what, w.error, limit, w.where)
	}
}
