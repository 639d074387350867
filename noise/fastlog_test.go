package noise

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// quickLog is within its margin of math.Log for either end of what it is told of U, on random words
// of every length, at the ends of its cells and at the ends of its range. math.Log and the
// reference differ from the truth by less than 2⁻⁴⁶.
func TestQuickLog(t *testing.T) {
	var src Source
	worst := 0.0
	check := func(w uint64) {
		w &^= 3
		if w < leastQuick {
			return
		}
		got := quickLog(w)
		for _, u := range []float64{float64(w), float64(w) + 4} {
			worst = max(worst, math.Abs(got-(64*math.Ln2-math.Log(u))))
		}
	}
	for range dptest.Fewer(3_000_000, 300_000) {
		w := src.Uint64()
		check(w)
		check(w >> (w % 24))
	}
	for length := uint(41); length <= 64; length++ {
		for cell := range uint64(64) {
			for offset := range uint64(100) {
				w := (64+cell)<<(length-7) + (offset-50)*4
				check(w)
			}
		}
	}
	check(leastQuick)
	check(math.MaxUint64)
	t.Logf("worst error 2^%.2f", math.Log2(worst))
	require.Less(t, worst, quickMargin-0x1p-46)
	require.Greater(t, worst, quickMargin/4, "the margin should be tight")
}

func TestLogCells(t *testing.T) {
	for i, cell := range logCells {
		for _, f := range []float64{1 + float64(i)/64, 1 + float64(i+1)/64} {
			require.LessOrEqual(t, math.Abs(f*cell.inverse-1), 1.0/129+0x1p-52)
		}
		require.InDelta(t, math.Log(cell.inverse), cell.log, 0)
	}
}
