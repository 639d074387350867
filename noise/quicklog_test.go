package noise

import (
	"math"
	"math/bits"
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

// Whatever the float64 logarithm decides is what exact arithmetic decides.
func TestFloorLogIsRight(t *testing.T) { testFloor(t, floorLog, 1<<12, 0x1p-44) }

func TestQuickFloorIsRight(t *testing.T) { testFloor(t, quickFloor, leastQuick, 0x1p-38) }

// testFloor compares floorOf with exact arithmetic, for w of as many leading zeros as least has,
// and often within the relative distance near of an integer; half of the time for a geometric
// distribution, half for a discrete Laplace distribution. Below least it may decline.
func testFloor(t *testing.T, floorOf func(w uint64, b, shift float64) (int64, bool), least uint64, near float64) {
	n := dptest.Fewer(20_000, 2_000)
	var src Source
	undecided := 0
	for i := range n {
		w := src.Uint64() >> src.Uint64N(uint64(bits.LeadingZeros64(least))+1)
		b := math.Ldexp(1+float64(src.Uint64()>>12)*0x1p-52, int(src.Uint64()%24)-4)
		shift := 0.0
		compare := func(n int64) (below, sure bool) {
			x := ratio(n, b)
			return newLazy(w>>2, 62).compareExp(x, x)
		}
		if i%2 == 0 {
			compare = func(n int64) (below, sure bool) { return newLazy(w>>2, 62).compareTwoSided(n, b) }
		}
		if i%8 < 2 { // within the error of an integer
			target := 1 + float64(src.Uint64()%8)
			b = target / (64*math.Ln2 - math.Log(float64(w)))
			if i%2 == 0 {
				for range 50 {
					b = target / (64*math.Ln2 - math.Log(float64(w)) + discreteLaplace(b).formulas.shift)
				}
			}
			b *= 1 + float64(int64(src.Uint64()))*0x1p-63*near
		}
		if !(b > 0 && b < 0x1p20) {
			continue
		}
		if i%2 == 0 {
			shift = discreteLaplace(b).formulas.shift
		}
		floor, decided := floorOf(w, b, shift)
		if !decided {
			if w >= least {
				undecided++
			}
			continue
		}
		if floor > 0 {
			below, sure := compare(floor)
			require.True(t, sure && below, "w = %#x, b = %v, shift = %v: %d is too large", w, b, shift, floor)
		}
		below, sure := compare(floor + 1)
		require.True(t, sure && !below, "w = %#x, b = %v, shift = %v: %d is too small", w, b, shift, floor)
	}
	require.Greater(t, undecided, n/40, "the boundary was not tried")
}
