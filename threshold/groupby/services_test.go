package groupby

import (
	"math"
	"slices"
	"testing"
	"testing/cryptotest"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/baskets"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// Two services of 200,000 users: the wanted ranks are outside of those of the released cells by
// what the results say, 15 % more at most, where a third of the budget is for the draws and another
// 5/81 for the intervals. (For p50 of the ten largest pages the results have 9 users in 160 draws,
// below the 10.8 of their own formula; here 12.6 are outside of cells of 1/256 and less, where the
// draws have .96 of that third.)
func TestQuantilesOfServices(t *testing.T) {
	dptest.NeedsLong(t)
	cryptotest.SetGlobalRandom(t, 37)
	const runs = 64
	for _, c := range []struct {
		name  string
		heavy bool
		want  [2][2]float64 // of the pages 1 to 10, and 11 to 100
	}{{"few pages", false, [2][2]float64{{10.8, 15}, {23, 33}}}, {"heavy users", true, [2][2]float64{{25, 26}, {36, 50}}}} {
		v, p := baskets.Visits(200_000, c.heavy), Params{Epsilon: 1, Delta: 1e-6, Levels: [8]float64{0.5, 0.9, 0.99}, QuantileShare: 32. / 81, Min: 1e-3, Max: 1e3}
		b := builder[int](t, p)
		for u := range v.Pages {
			b.AddUserValues(v.Pages[u], v.Values[u])
		}
		var sum, squares, count [2][2]float64
		for range runs {
			g := release(t, b)
			for page := range 100 {
				for i, level := range [2]float64{0.5, 0.9} {
					e, at, shown := g.quantile(page, level)
					if k := g.noises.keyLevels(g.noisy(e)); shown && k.has(at) {
						cell, n := int64(e.cells[3*at+1]), level*float64(len(v.ByPage[page]))
						first, _ := slices.BinarySearch(v.ByPage[page], g.noises.scale.edge(cell))
						last, _ := slices.BinarySearch(v.ByPage[page], g.noises.scale.edge(cell+1))
						group := min(page/10, 1)
						off := max(0, float64(first)-n, n-float64(last))
						sum[group][i] += off
						squares[group][i] += off * off
						count[group][i]++
					}
				}
			}
		}
		for group := range 2 {
			for i := range 2 {
				mean := sum[group][i] / count[group][i]
				t.Logf("%s, group %d: %.1f users, %.1f wanted", c.name, group, mean, c.want[group][i])
				spread := math.Sqrt((squares[group][i]/count[group][i] - mean*mean) / count[group][i])
				require.LessOrEqual(t, mean-4*spread, 1.15*c.want[group][i])
			}
		}
	}
}
