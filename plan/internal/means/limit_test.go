package means

import (
	"context"
	"math"
	"testing"
	"testing/cryptotest"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/quantile"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/stretchr/testify/require"
)

// A Unit, of the column that is scaled down most, lies a whole number of octaves below the bound,
// from 4 to 48, or up to one octave further. The axis of norms begins there if the Unit is given.
func TestUnitOctaves(t *testing.T) {
	for _, c := range []struct {
		unit   float64
		factor []float64
		want   int // for a bound of 2¹²
	}{
		{1, []float64{1}, 12}, {1, []float64{1, 1}, 12}, {1.5, []float64{1}, 11}, {0.75, []float64{1}, 12}, {0.5, []float64{8, 1}, 13},
		{1, []float64{4, 0x1p-3}, 15}, {1, []float64{4, -0x1p-3}, 15}, {0x1p-36, []float64{1}, 48}, {0x1p-40, []float64{1}, 48},
		{1, []float64{0, 1}, 12}, {0x1p8, []float64{1}, 4}, {0x1p12, []float64{1}, 4}, {1, []float64{0x1p30}, 4},
	} {
		r := &run{p: Params{Resolution: c.unit, Max: 1 << 12, Relation: budget.Replace}, factor: c.factor}
		require.Equal(t, c.want, r.unitOctaves(1<<12), "%+v", c)
		if c.unit > 0x1p-8 {
			require.Equal(t, c.want, r.octaves(1<<12), "%+v", c)
		} else {
			require.Equal(t, 48, r.octaves(1<<12), "%+v", c)
		}
	}
	r := &run{p: Params{Resolution: 0x1p-8, Max: 1 << 12, Relation: budget.Replace}, factor: []float64{1}}
	require.Equal(t, []int{20, 48}, []int{r.unitOctaves(1 << 12), r.octaves(1 << 12)}, "the default is not one that is given")
}

// Keys on the axis from a Unit on are those that norms have there.
func TestRaised(t *testing.T) {
	for _, unit := range []float64{0x1p-8, 1, 0x1p-20} {
		r := &run{p: Params{Resolution: unit, Max: 1 << 12, Relation: budget.Replace}, factor: []float64{1}}
		a := quantile.LogAxis(math.Ldexp(1<<12, -r.octaves(1<<12)), 1<<12, normBits)
		want := quantile.LogAxis(max(unit, 0x1p-36), 1<<12, normBits)
		var keys, there []uint32
		for x := 0x1p-40; x < 1<<13; x *= 1.01 {
			keys, there = append(keys, a.Key(x)), append(there, want.Key(x))
		}
		got, moved := r.raised(a, keys)
		require.Equal(t, want, got)
		require.Equal(t, there, moved)
	}
}

// A key on the axis of C tells that on the axis of M₁.
func TestTypicalKeys(t *testing.T) {
	fine, coarse := quantile.LogAxis(0.75, 1000, normBits), quantile.LogAxis(0.75, 1000, typicalBits)
	for x := 0.5; x < 1100; x *= 1 + 0x1p-11 {
		require.Equal(t, coarse.Key(x), coarser(fine.Key(x)), x)
	}
}

// Where no row is other than 0, M₁ is at the bottom of its axis, but with the weight e⁻³/8192 for
// each of the 191 other cells. Where all rows are alike and the budget is the least, it is not too
// low, but with probability e⁻¹⁵ for each cell below and 8192 times that for the bottom. Where as
// many rows are alike as there are values at the bottom, the 143 cells between have 1 in 58 of its
// weight. If these probabilities are twice as large, for ranks that are rounded, more than 15, 20
// and 60 of 500 have one below 1e-9; and the noise is fixed.
func TestTypicalOfNothingAndOfAll(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 1)
	const n, runs = 1000, 500
	p := Params{Rho: 1, Dim: 1, Max: 1 << 12, Relation: budget.Replace}.Resolved()
	r := newRun(context.Background(), p, &rows{bounds: bounds{dim: 1, least: -1 << 12, most: 1 << 12}, dense: make([][]float64, n)})
	a := r.normAxis()
	all := make([]uint32, n)
	for j := range all {
		all[j] = a.Key(1)
	}
	rho, above, below, between := quantile.Need(typicalNeed, 0.5, n, quantile.Either), 0, 0, 0
	some := all[:int(6/quantile.Reach(rho, 0.5, 2, quantile.Either))]
	for range runs {
		nothing := dptest.OK(r.typical(a, nil, rho))(t)
		something := dptest.OK(r.typical(a, all, rho))(t)
		few := dptest.OK(r.typical(a, some, rho))(t)
		if few > a.Unit && few < 0.8 {
			between++
		}
		if nothing > a.Unit {
			above++
		}
		if something < 0.8 {
			below++
		}
	}
	t.Logf("too high %d, too low %d, between %d of %d", above, below, between, runs)
	require.LessOrEqual(t, above, 15)
	require.LessOrEqual(t, below, 20)
	require.LessOrEqual(t, between, 60)
}

// Rare events, of which there are fewer than rows are clipped, have honest intervals where a Unit
// is given: C is at least that. They held 97 % of the time, and without the Unit 5 %, as C was
// drawn down to 0. Rejects a true rate of 95 % with probability 1e-10.
func TestRareEvents(t *testing.T) {
	x := make([][]float64, 3000)
	for j := range x {
		x[j] = []float64{0}
		if j%100 == 0 {
			x[j][0] = 1
		}
	}
	var hits int64
	const releases = 100
	for range releases {
		m := release(t, Params{Rho: 0.5, Dim: 1, Max: 1 << 12, Resolution: 1, Relation: budget.Replace}, x)
		require.GreaterOrEqual(t, m.Limit, 1.0)
		hits += covered(m, []float64{0.01}, 0.95)
	}
	t.Logf("%d of %d", hits, releases)
	dptest.Alarm(t, 1e-10)
	_, upper := dptest.ClopperPearson(hits, releases, 1-1e-10)
	require.GreaterOrEqual(t, upper, 0.95)
}
