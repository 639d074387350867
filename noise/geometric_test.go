package noise

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// The exact path by itself has the geometric distribution, from U with nothing decided.
func TestGeometricExact(t *testing.T) {
	var src Source
	for _, b := range []float64{0.4, 2, 9.5} {
		observed := make([]int64, 40)
		expected := make([]float64, 40)
		for range max(dptest.Full(5000, 833), 800) {
			observed[min(geometricExact(&src, newLazy(src.Uint64(), 64), b, 0), 39)]++
		}
		for g := range expected {
			expected[g] = -math.Expm1(-1/b) * math.Exp(-float64(g)/b)
		}
		expected[39] = math.Exp(-39 / b)
		dptest.ChiSquare(t, fmt.Sprint("b = ", b), observed, expected, 1e-10)
	}
	for _, b := range []float64{0, 0x1p-1060} {
		g, _ := geometric(&src, b)
		require.Zero(t, g)
	}
}

// The two coins are fair and independent of the number they come with.
func TestGeometricCoins(t *testing.T) {
	var src Source
	for _, b := range []float64{0.7, 3, 0x1p21} {
		observed := make([]int64, 16)
		for range 40_000 {
			g, coins := geometric(&src, b)
			observed[(g&1)<<3|int64(coins&3)]++
		}
		for parity := range 2 {
			row := observed[parity<<3:][:4]
			total := row[0] + row[1] + row[2] + row[3]
			for i, n := range row {
				dptest.Tail(t, fmt.Sprintf("b = %v, parity %d, coins %d", b, parity, i), n, total, 0.25, 1e-10)
			}
		}
	}
}

// The rejection step of geometric: the low digits near the end of [0, 2^m) are rarer by e^{−2^m/b},
// seen where b is as small against 2^m as the code allows.
func TestGeometricRejectionIsExact(t *testing.T) {
	var src Source
	// m = 2: u/b up to 3/b, so force the comparison instead of waiting for it
	const b = 0x1p21 * 1.5
	const n, rest = 4000, 60
	hits := int64(0)
	for range n {
		if newLazy(1<<rest-1, rest).belowExp(&src, ratio(3, b*0x1p39)) {
			hits++
		}
	}
	// U = 1 − V/2⁶⁰ with V uniform, accepted if V > 2⁶⁰(1 − e^{−x}), x = 3/(1.5·2⁶⁰): Pr = 1 − 2.
	require.Zero(t, hits)
	for range n {
		if newLazy(1<<rest-1, rest).belowExp(&src, ratio(3, b*0x1p41)) { // x = ½·2⁻⁶⁰
			hits++
		}
	}
	dptest.Tail(t, "accepted", hits, n, 0.5, 1e-10)
}

func TestGeometricRate(t *testing.T) {
	var src Source
	for _, rate := range []float64{0.01, 0.3, 1, 7, 0x1.3p-22, 0x1p-30} {
		const n, cells = 30_000, 30
		observed, expected := make([]int64, cells+1), make([]float64, cells+1)
		width := max(1, math.Round(0.1/rate))
		for range n {
			observed[int(min(float64(geometricRate(&src, rate))/width, cells))]++
		}
		for k := range cells {
			expected[k] = math.Exp(-float64(k)*width*rate) - math.Exp(-float64(k+1)*width*rate)
		}
		expected[cells] = math.Exp(-cells * width * rate)
		dptest.ChiSquare(t, fmt.Sprint("rate ", rate), observed, expected, 1e-10)
	}
}
