package jl

import (
	"math"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/stretchr/testify/require"
)

// Integers at ℓ₂ distance 2 can differ by 1 in four coordinates, and there need not be integers
// half-way. Still they are told apart by no more than twice what those at distance 1 are, as
// Guarantee.Group says of a budget.L2: noise made for the ℓ₁ distances of integers would make that
// four times as much.
func TestGroupsOfIntegersUnderL2(t *testing.T) {
	for name, p := range map[string]Params{
		"pure":         {Epsilon: 1},
		"concentrated": {Rho: 1},
	} {
		p.Dim, p.Rows, p.Change, p.Integers, p.Seed = 200, 8, L2(1), true, seed(2)
		a := dptest.OK(New(p))(t)
		worst := 0.0
		for row := range 8 {
			b := dptest.OK(a.Sibling())(t)
			for j, changes := uint64(0), 0; j < p.Dim && changes < 4; j++ {
				// the first four coordinates that meet in the row
				one := dptest.OK(a.Sibling())(t)
				one.Add(j, 1)
				if v := integers(one)[row]; v != 0 {
					b.Add(j, math.Copysign(1, float64(v)))
					changes++
				}
			}
			worst = max(worst, spent(t, a, integers(a), integers(b)))
		}
		apart := dptest.OK(a.Sibling())(t)
		rows := map[int]bool{}
		for j := uint64(0); j < p.Dim && len(rows) < 4; j++ {
			// four coordinates in rows of their own
			one := dptest.OK(a.Sibling())(t)
			one.Add(j, 1)
			for row, v := range integers(one) {
				if v != 0 && !rows[row] {
					rows[row] = true
					apart.Add(j, 1)
				}
			}
		}
		worst = max(worst, spent(t, a, integers(a), integers(apart)))
		group := dptest.OK(a.Guarantee().Group(2))(t)
		most := group.EpsilonAt(0)
		if p.Rho > 0 {
			most = 4 // m²ρ
		}
		require.LessOrEqual(t, worst, most, name)
		require.Positive(t, worst)
	}
}
