package column

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// masses returns the law of all coordinates for the totals, and for others beside it, but for tails
// of 1e-9.
func (l law) masses(a, b *totals) (p, q []float64) {
	p, q = []float64{1}, []float64{1}
	for i := range l.at {
		u, v := l.exact(a, i).Int64(), l.exact(b, i).Int64()
		around := int64(30*l.noises[i].Scale) + 5
		if l.gaussian {
			around = int64(8*l.noises[i].Scale) + 5
		}
		var nextP, nextQ []float64
		for y := min(u, v) - around; y <= max(u, v)+around; y++ {
			x, z := math.Exp(l.logProb(i, float64(y-u))), math.Exp(l.logProb(i, float64(y-v)))
			for j := range p {
				if p[j]+q[j] > 1e-11 {
					nextP, nextQ = append(nextP, p[j]*x), append(nextQ, q[j]*z)
				}
			}
		}
		p, q = nextP, nextQ
	}
	return p, q
}

// What the accountant takes a release for is nowhere below the exact divergence of its output laws,
// over all neighbours of up to 3 rows at H = 1, and half the noise breaks it.
func TestPairBoundsTheRelease(t *testing.T) {
	if testing.Short() {
		t.Skip("half a second; TestExactPrivacy is shorter")
	}
	checked := 0
	for name, p := range kinds() {
		if p.Epsilon *= 2; p.moments() == 2 && p.only() == 0 {
			p.Epsilon *= 4 // small tables
		}
		p.Rho *= 4
		l := dptest.OK(p.law(1))(t)
		g := l.pair(p.promise())
		if g.Equal(p.promise()) {
			continue // by ρ, and by ε with two kinds of noise: TestExactPrivacy
		}
		checked++
		once, twice := dptest.Memo(g.DeltaAt), dptest.Memo(g.Times(2).DeltaAt)
		half, broken := weakened(t, l, 0.5), false
		seen := map[[3]int64]bool{}
		for _, pair := range datasets(p, 1) {
			var moved [3]int64
			for i := range l.at {
				moved[i] = l.exact(&pair[1], i).Int64() - l.exact(&pair[0], i).Int64()
			}
			if seen[moved] || len(seen) == 6 {
				continue
			}
			seen[moved] = true
			a, b := l.masses(&pair[0], &pair[1])
			dptest.Dominated(t, name, a, b, once, twice, 1e-8)
			a, b = half.masses(&pair[0], &pair[1])
			broken = broken || dptest.HockeyStickSlices(a, b, p.Epsilon/2) > once(p.Epsilon/2)+1e-6
		}
		require.True(t, broken, "%s: half the noise", name)
	}
	require.Greater(t, checked, 3)
	// One number by ρ: less than the conversion of ρ.
	count := Params{Rho: 0.5, Want: Count, Relation: budget.AddRemove}.Guarantee()
	require.Less(t, count.EpsilonAt(1e-6), 0.97*budget.ZCDP(0.5, count.Unit()).EpsilonAt(1e-6))
	// Laplace noise on a fine lattice: as on reals.
	sum := Params{Epsilon: 0.1, Want: Sum, Max: 1, Relation: budget.AddRemove}.Guarantee()
	require.InEpsilon(t, 10.1253, sum.Times(365).EpsilonAt(1e-6), 1e-3)
}
