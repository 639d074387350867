package means

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
)

// The whole pipeline, with private centre, scales, C and γ, on worst-case neighbours: one row far
// out in one direction against one far out in the other, or none. An adversary knows all other rows
// and whatever was released: so she clips the other rows herself, takes them from the released sum,
// and asks on which side of the middle between both candidates the rest lies, in standard
// deviations z of its noise. Everything but that noise works as in any release.
//
// With 92 % of ρ = 1 for the sum, μ = √(2·0.92) = 1.36 and z is N(±μ/2, 1); the event z > 1.4 has
// the probabilities 0.24 and 0.019. 1-zCDP promises ε(0.15) = 2.5. Were the noise half as large, z
// would be N(±μ, 1) in its standard deviations, and the probabilities 0.48 and 0.003, of which 4000
// samples each show ln(0.30/0.0078) = 3.6 if hits are as expected, and more than 2.5 as long as the
// rarer event is hit less than 39 times instead of 12: all else has a probability below 1e-9.
// False reject of each honest assertion: 1e-10. By default d ≤ 2, which costs the same argument.
func TestAudit(t *testing.T) {
	dptest.NotShort(t, "half a second: in the default run")
	const draws, delta, event = 4000, 0.15, 1.4
	for _, c := range []struct {
		relation budget.Relation
		d        int
	}{{budget.Replace, 2}, {budget.AddRemove, 1}, {budget.Replace, 3}} {
		t.Run(fmt.Sprintf("%v/d=%d", c.relation, c.d), func(t *testing.T) {
			if testing.Short() && c.d != 2 || c.d == 3 && !dptest.Long() {
				t.Skip("8000 releases: run with -long")
			}
			dptest.Alarm(t, 1e-10) // the honest assertion
			dptest.Alarm(t, 1e-9)  // the control
			const share = 0.02
			a := newAdversary(Params{Rho: 1, Dim: c.d, Max: 1000, Resolution: 1, Relation: c.relation, Steps: Steps{Scaling: Scaled},
				Shares: Shares{Centre: share, Scale: share, Clip: share, Divisor: share}})
			var honest, halved [2]int64
			for side := range 2 {
				for range draws {
					z, shift := a.release(t, side)
					if z > event {
						honest[side]++
					}
					if z+shift > event {
						// half the noise, in its standard deviations: 2·(shift + (z − shift)/2)
						halved[side]++
					}
				}
			}
			epsilon := a.p.Guarantee().EpsilonAt(delta)
			require.Less(t, epsilon, 2.6)
			require.LessOrEqual(t, dptest.EpsilonLowerBound(honest[0], draws, honest[1], draws, delta, 1-1e-10), epsilon)
			require.Greater(t, honest[0], honest[1]+draws/20, "the event tells something")
			require.Greater(t, dptest.EpsilonLowerBound(halved[0], draws, halved[1], draws, delta, 1-1e-10), epsilon, "with C's noise halved the audit fails")
		})
	}
}

// adversary knows all rows but one, and that it is one of two.
type adversary struct {
	p    Params
	rest [][]float64
	last [2][]float64 // nil: there is none
}

func newAdversary(p Params) *adversary {
	a := &adversary{p: p}
	a.rest, _ = dptest.NormalRows(rand.New(rand.NewPCG(11, 12)), 60, 0, dptest.Powers(p.Dim, 1))
	for side := range a.last {
		a.last[side] = make([]float64, p.Dim)
		for i := range a.last[side] {
			a.last[side][i] = p.Max * float64(1-2*side)
		}
	}
	if p.Relation == budget.AddRemove {
		a.last[1] = nil
	}
	return a
}

// release makes a release with the row of that side, and returns how far the sum is from the middle
// between both sides in the direction of the first, in standard deviations of the noise, and how
// far it would be without noise.
func (a *adversary) release(t testing.TB, side int) (z, shift float64) {
	m := release(t, a.p, append(a.rest[:len(a.rest):len(a.rest)], a.last[side]))
	factor := make([]float64, a.p.Dim)
	for i := range factor {
		factor[i] = math.Pow(m.Scale(i), -2/(m.Params.P+2))
	}
	clip := func(x ...[]float64) []float64 {
		c := newClipper(m.Limit, a.p.Dim)
		view := (&shaped{shaping: newShaping(&rows{bounds: bounds{dim: a.p.Dim, least: -a.p.Max, most: a.p.Max}, dense: x}, m.Centres, factor)})
		for j, row := range x {
			if row != nil {
				c.add(view.row(j))
			}
		}
		out := make([]float64, a.p.Dim)
		for i, v := range c.sums {
			out[i] = float64(v) * c.step
		}
		return out
	}
	others, first, second := clip(a.rest...), clip(a.last[0]), clip(a.last[1])
	distance, along := floats.Distance(first, second, 2), 0.0
	for i, x := range others {
		sum := (m.Values[i] - m.Centres[i]) * factor[i] * m.Divisor
		along += (sum - x - (first[i]+second[i])/2) * (first[i] - second[i]) / distance
	}
	sd := m.Params.sumSensitivity() * m.Limit / math.Sqrt(2*m.Spent.Sum)
	return along / sd, distance / 2 / sd * float64(1-2*side)
}
