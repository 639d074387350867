package distinct

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// What the accountant takes a release for is nowhere below the exact divergence of its output laws,
// for one release and for two, and is attained by some pair of tables.
func TestPairBoundsTheRelease(t *testing.T) {
	for _, share := range []float64{0.3, 1} {
		p := tiny
		p.Epsilon, p.CountShare = 2, share
		p = p.normal()
		l := dptest.OK(p.laws())(t)
		g, most := p.Guarantee(), 0.0
		once, twice := dptest.Memo(g.DeltaAt), dptest.Memo(g.Times(2).DeltaAt)
		for i, pair := range tables(t, p) {
			a, b := outputs(pair[0], l, p.published()), outputs(pair[1], l, p.published())
			most = max(most, dptest.HockeyStick(a, b, 0.5))
			var as, bs []float64
			for o, mass := range a {
				if mass+b[o] > 1e-15 {
					as, bs = append(as, mass), append(bs, b[o])
				}
			}
			if i < 5 {
				dptest.Dominated(t, "release", as, bs, once, twice, 1e-12)
			}
		}
		require.InDelta(t, g.DeltaAt(0.5), most, 1e-9)
		if share < 1 {
			require.Less(t, most, 0.99*budget.PureDP(2, unit).DeltaAt(0.5))
		}
	}
}
