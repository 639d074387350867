package rank

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpsketch/dpsketch/internal/quantile"
	"github.com/stretchr/testify/require"
)

// Values become the next multiple of the unit; clamped, with NaN at a fixed place.
func TestLinear(t *testing.T) {
	for _, c := range [][3]float64{{0, 100, .5}, {-3, 7, 1}, {1e15, 1e15 + 1, 0x1p-20}, {0, 10, 3}, {-0x1p200, 0x1p200, 0x1p181}} {
		a := Linear(c[0], c[1], c[2])
		last := a.Cells() - 1
		require.EqualValues(t, 0, a.Cell(c[0]))
		require.EqualValues(t, last, a.Cell(math.Inf(1)))
		require.EqualValues(t, 0, a.Cell(math.Inf(-1)))
		require.Equal(t, a.Cell(c[0]/2+c[1]/2), a.Cell(math.NaN()))
		require.True(t, a.Value(0) == c[0] && a.Value(last) <= c[1])
		for i := range 100 {
			x := c[0] + (c[1]-c[0])*float64(i)/100
			cell := a.Cell(x)
			require.LessOrEqual(t, math.Abs(a.Value(cell)-x), c[2]*.5001+math.Abs(c[1])*0x1p-50)
			low, high := a.Edges(cell)
			require.True(t, low <= x && x <= high)
		}
	}
	a := new(Axis)
	a.linear = true
	require.EqualValues(t, 0, a.Cell(5))
}

// Cells of octaves: in order of values, within their edges, some millionths wide, and with a
// decimal of few digits that is in the cell.
func TestOctaves(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4)) // test data
	for _, c := range [][3]float64{
		{0, 100, 100 * 0x1p-30}, {-3, 7, 10 * 0x1p-30}, {20, 60_000, 6e4 * 0x1p-30}, {-1e6, -1, 1e6 * 0x1p-30}, {-0x1p60, 0x1p60, 0x1p-36},
		{1e15, 1e15 + 1, 0x1p-30}, {-0x1p200, 0x1p200, 0x1p104}, {0, 0x1p-200, 0x1p-230}, {-100, 0, 100 * 0x1p-30},
	} {
		a := Octaves(c[0], c[1], c[2])
		cells, narrow := a.Cells(), c[2] < 0x1p-40*math.Abs(c[0])
		require.LessOrEqual(t, cells, int64(mostCells))
		require.Greater(t, cells, int64(mostCells/4))
		require.EqualValues(t, 0, a.Cell(math.Inf(-1)))
		require.EqualValues(t, cells-1, a.Cell(math.Inf(1)))
		require.Equal(t, a.Cell(c[0]/2+c[1]/2), a.Cell(math.NaN()))
		require.Equal(t, a.origin, min(max(0, c[0]), c[1]))
		require.Equal(t, a.origin, a.Value(a.Cell(a.origin)))
		low, _ := a.Edges(0)
		_, high := a.Edges(cells - 1)
		require.True(t, low == c[0] && high == c[1])
		for range 2000 {
			x := a.origin + math.Ldexp(rng.Float64(), rng.IntN(100)-99)*(c[1]-a.origin)
			if rng.IntN(2) == 0 {
				x = a.origin + math.Ldexp(rng.Float64(), rng.IntN(100)-99)*(c[0]-a.origin)
			}
			cell := a.Cell(x)
			low, high := a.Edges(cell)
			require.True(t, low <= x && x <= high, "%v: %v in [%v, %v]", c, x, low, high)
			require.LessOrEqual(t, high-low, 1e-4*math.Abs(x-a.origin)+2*a.unit*1e-5+0x1p-48*(math.Abs(x)+math.Abs(a.origin)))
			for _, y := range []float64{math.Nextafter(x, math.Inf(1)), x + (c[1]-x)*rng.Float64()*rng.Float64()} {
				require.GreaterOrEqual(t, a.Cell(y), cell, "order")
			}
			value := a.Value(cell)
			require.True(t, value >= low && value <= high)
			if !narrow {
				require.Equal(t, cell, a.Cell(value))
			}
		}
		require.LessOrEqual(t, a.Value(cells-1), c[1])
	}
	a := Octaves(0, 60_000, 6e4*0x1p-30)
	for _, x := range []float64{80, 40, 12.5, 1, 59_999, 365.25} {
		require.Equal(t, x, a.Value(a.Cell(x)), "a decimal comes out as itself")
	}
}

// Rows near the wanted rank, and the numbers of those farther off, give each place the weight that
// all rows give it.
func TestNearest(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 1)) // test data
	for name, draw := range map[string]func() float64{
		"normal": rng.NormFloat64, "far": func() float64 { return 1.7e9 + 1e6*rng.Float64() }, "ties": func() float64 { return math.Floor(4*rng.Float64()) - 1 },
		"one": func() float64 { return -7 }, "at the ends": func() float64 { return []float64{-1e18, 1e18, 0}[rng.IntN(3)] },
		"all sizes": func() float64 { return math.Ldexp(rng.Float64()-.5, rng.IntN(90)-40) },
	} {
		a := Octaves(-1e18, 1e18, 0x1p-36)
		for _, n := range []int{0, 1, 2, 50, 3000} {
			for _, loss := range []float64{.01, 1, 16} {
				var rows []float64
				cells := map[int64]int64{}
				for range n {
					x := min(max(draw(), -1e18), 1e18)
					rows = append(rows, x)
					cells[a.Cell(x)]++
				}
				c := quantile.Choice{To: a.Cells(), Level: .5, Loss: loss}
				var all, near quantile.Spread
				all.Set(Sorted(cells), 1)
				near.Set(a.Nearest(c, [][]float64{rows[:n/3], rows[n/3:]}), 1)
				cells[rng.Int64N(a.Cells())] = 0
				for cell := range cells {
					for x := max(cell-2, 0); x < min(cell+3, c.To); x++ {
						require.Equal(t, all.Weight(c, x), near.Weight(c, x), "%s, n = %d, loss %v", name, n, loss)
					}
				}
			}
		}
	}
	for _, x := range []float64{0, 1, -1, 1e300, -1e-300, 5e-324} {
		require.Equal(t, x, number(ordered(x)))
	}
}
