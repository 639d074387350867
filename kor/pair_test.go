package kor

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// What the accountant takes a sketch with a count for: one bit that is flipped, and a count whose
// noise has a scale of 2²⁰/ε₂ steps and that moves by the steps of a weight. The laws are those of
// the count rounded to multiples of 2¹⁴ steps, which loses a little of the divergence.
func TestPairBoundsTheRelease(t *testing.T) {
	const block = 1 << 14
	for _, share := range []float64{0.05, 0.5} {
		p := Params{Epsilon: 1, Cells: 64, Levels: 8, Seed: hashing.Seed{1}, CountShare: share}
		flips := dptest.OK(p.flips())(t)
		count := dptest.OK(p.countLaw())(t)
		laws := func(steps float64) (a, b []float64) {
			reach := int(40*count.Scale()/block) + 1
			for i := -reach; i <= reach; i++ {
				mass := func(by float64) float64 {
					return count.CDF(float64(i+1)*block-1-by) - count.CDF(float64(i)*block-1-by)
				}
				q := flips.Prob()
				a, b = append(a, (1-q)*mass(0), q*mass(0)), append(b, q*mass(steps), (1-q)*mass(steps))
			}
			return a, b
		}
		g := p.Guarantee()
		require.Equal(t, 1.0, g.Epsilon())
		once, twice := dptest.Memo(g.DeltaAt), dptest.Memo(g.Times(2).DeltaAt)
		for _, weight := range []float64{1, 0.3, 0} {
			a, b := laws(math.RoundToEven(math.Ldexp(weight, countBits)))
			dptest.Dominated(t, "sketch and count", a, b, once, twice, 1e-12)
			if weight == 1 {
				require.InDelta(t, g.DeltaAt(0.5), dptest.HockeyStickSlices(a, b, 0.5), 1e-3)
			}
		}
		require.Less(t, g.DeltaAt(0.5), budget.PureDP(1, unit).DeltaAt(0.5)*(1-share/4))
	}
}

// What a year of counted sketches costs: at a share of a half 6.85 in place of 10.31.
func TestYearOfCounts(t *testing.T) {
	p := Params{Epsilon: 0.1, Cells: 64, Levels: 8, Seed: hashing.Seed{1}, CountShare: 0.5}
	require.InDelta(t, 6.853, p.Guarantee().Times(365).EpsilonAt(1e-6), 0.01)
	p.CountShare = 0.05
	require.InDelta(t, 9.727, p.Guarantee().Times(365).EpsilonAt(1e-6), 0.01)
	p.CountShare = 0
	require.True(t, p.Guarantee().Equal(budget.PureDP(0.1, unit)))
}
