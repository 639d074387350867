package means

import (
	"math/rand/v2"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/internal/quantile"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/stretchr/testify/require"
)

// Dense and sparse columns, all bases, both methods and relations: the error in ranks is within
// what the exponent promises.
func TestQuantileAccuracy(t *testing.T) {
	const n, d = 4000, 3
	x, _ := dptest.NormalRows(rand.New(rand.NewPCG(1, 2)), n, 0, []float64{1, 20, 0.1}) // test data
	sparse := sparseOf(x)
	all := bounds{dim: d, least: -1000, most: 1000}
	for _, relation := range []budget.Relation{budget.Replace, budget.AddRemove} {
		for _, a := range []quantile.Axis{quantile.AsinhAxis(0.1, 1000), quantile.UniformAxis(-1000, 1000)} {
			for _, search := range []int{0, 20} {
				p := Params{Rho: 0.1, Dim: d, Max: 1000, Relation: relation, Steps: Steps{Search: search}, Workers: 2}.Resolved()
				for _, rows := range []*rows{{bounds: all, dense: x}, {bounds: all, sparse: &sparse}} {
					r := newRun(t.Context(), p, rows)
					for _, level := range []float64{0.25, 0.5, 0.75} {
						got := dptest.OK(r.quantiles(exact.Indices(d), &quantile.Keying{Axis: a}, a.Plain(), level, 0.1/(3*d)))(t)
						for i := range d {
							below := 0
							for _, row := range x {
								if row[i] < got[i] {
									below++
								}
							}
							// c = √(2·0.1/9) = .15 per rank: 300 ranks are e^{−45}; 20 steps have
							// σ = 30 ranks each. The cell of Uniform is fine enough.
							dptest.Alarm(t, 1e-15)
							require.InDelta(t, level*n, float64(below), 300, "%v base %v search %d level %v column %d", relation, a.Base, search, level, i)
						}
					}
				}
			}
		}
	}
}
