package groupby

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// Cells cover the range once and in order: a value lies between the edges of its cell, the value
// that stands for a cell too, and without a Resolution no cell from unit on is wider than 2 % of
// its values.
func TestScale(t *testing.T) {
	rng := rand.New(rand.NewPCG(37, 10))
	for name, p := range map[string]Params{
		"no range": {}, "latencies": {Min: 1e-3, Max: 1e3}, "from 0": {Max: 60_000}, "both signs": {Min: -5, Max: 1e6}, "negative": {Min: -1e6, Max: -3},
		"up to 0": {Min: -100}, "dates": {Min: 1.7e9, Max: 1.7e9 + 86_400}, "latitudes": {Min: 46.9, Max: 46.99}, "south": {Min: -46.99, Max: -46.9}, "tiny": {Min: 5e-324, Max: 0x1p200}, "ages": {Max: 120, Resolution: 1}, "quarters": {Min: -3, Max: 7.1, Resolution: 0.25}, "one step": {Min: 1, Max: 3, Resolution: 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := p.scale()
			require.Greater(t, s.cells, int64(1))
			require.EqualValues(t, s.cells-1, s.cell(math.Inf(1)))
			require.Zero(t, s.cell(math.Inf(-1)))
			require.Equal(t, s.least, s.edge(0))
			require.Equal(t, s.most, s.edge(s.cells))
			for i := range int64(4000) {
				cell := uint32(i * max(s.cells/4000, 1) % s.cells)
				low, high, x := s.edge(int64(cell)), s.edge(int64(cell)+1), s.value(cell)
				require.True(t, low < high || cell == 0 && low == high, "cell %d: [%v, %v]", cell, low, high)
				require.True(t, low <= x && x <= high, "cell %d: %v in [%v, %v]", cell, x, low, high)
				require.Equal(t, cell, s.cell(x), "%v", x)
				if from, to := low-s.origin, high-s.origin; p.Resolution == 0 && min(math.Abs(from), math.Abs(to)) >= s.unit && from*to > 0 {
					require.Less(t, max(to/from, from/to), 1.02)
				}
				if p.Resolution == 0 && cell > 0 && low > s.origin { // the least value of the cell
					require.True(t, s.cell(low) == cell && s.cell(math.Nextafter(low, math.Inf(-1))) == cell-1)
				} else if p.Resolution == 0 && cell > 0 && low < s.origin {
					require.True(t, s.cell(low) == cell-1 && s.cell(math.Nextafter(low, math.Inf(1))) == cell)
				}
				x = s.least + (s.most-s.least)*rng.Float64()*math.Exp(-40*rng.Float64()*rng.Float64())
				cell = s.cell(x)
				require.True(t, s.edge(int64(cell)) <= x && x <= s.edge(int64(cell)+1), "%v", x)
				y := x + rng.ExpFloat64()*(s.most-s.least)*0x1p-10
				require.LessOrEqual(t, cell, s.cell(y))
			}
		})
	}
	// NaN counts as 0, −0 as 0, and integers below 512 stand for themselves, as do ages.
	s, ages := Params{}.scale(), Params{Min: 10, Max: 120, Resolution: 1}.scale()
	require.Equal(t, s.cell(0), s.cell(math.NaN()))
	require.Equal(t, s.cell(0), s.cell(math.Copysign(0, -1)))
	require.EqualValues(t, 0, ages.cell(math.NaN()))
	for n := range 512 {
		require.Equal(t, float64(n), s.value(s.cell(float64(n))))
		require.Equal(t, -float64(n), s.value(s.cell(-float64(n))))
		require.EqualValues(t, min(max(n, 10), 120), ages.value(ages.cell(float64(n))))
	}
	require.Equal(t, 1500., s.value(s.cell(1500)))
	require.Equal(t, 0.25, s.value(s.cell(0.25)))
}
