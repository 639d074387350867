package plan

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/dptest"
)

// The axis of C begins a whole number of octaves below the bound, from 4 to 48, at a Unit or up to
// an octave above: the Unit of the column that is scaled down most.
func TestLeastNorm(t *testing.T) {
	for _, c := range []struct {
		unit   float64
		factor []float64
		want   float64 // log₂ of bound over the least C, for a bound of 2¹²
	}{
		{1, []float64{1}, 12}, {1, []float64{1, 1}, 12}, {1.5, []float64{1}, 11}, {0.75, []float64{1}, 12}, {0.5, []float64{8, 1}, 13},
		{1, []float64{4, 0x1p-3}, 15}, {1, []float64{4, -0x1p-3}, 15}, {0x1p-36, []float64{1}, 48}, {0x1p-40, []float64{1}, 48},
		{1, []float64{0, 1}, 48}, {0x1p8, []float64{1}, 4}, {0x1p12, []float64{1}, 4}, {1, []float64{0x1p30}, 4},
	} {
		r := &run{p: Params{Unit: c.unit}, factor: c.factor}
		require.Equal(t, math.Exp2(12-c.want), r.leastNorm(0x1p12), "%+v", c)
	}
}

// A key on the axis of C tells that on the axis of M₁.
func TestTypicalKeys(t *testing.T) {
	fine, coarse := logAxis(0.75, 1000, normBits), logAxis(0.75, 1000, typicalBits)
	for x := 0.5; x < 1100; x *= 1 + 0x1p-11 {
		require.Equal(t, coarse.key(x), coarser(fine.key(x)), x)
	}
}

// Where no row is other than 0, M₁ is at the bottom of its axis, but with a probability below e⁻⁸
// for each other cell: here 48 of them, 1.6 %. More than 40 of 500 are below 1e-12 then.
func TestTypicalOfNothing(t *testing.T) {
	p := Params{Rho: 1, Dim: 1, Max: 1 << 12, Unit: 1}.resolved()
	r := newRun(context.Background(), p, &rows{dim: 1, max: 1 << 12, least: -1 << 12, dense: make([][]float64, 1000)})
	for _, rho := range []float64{1e-3, 0.1} {
		above := int64(0)
		for range 500 {
			typical, err := r.typical(r.normAxis(), nil, rho)
			require.NoError(t, err)
			if typical > 1.01 {
				above++
			}
		}
		t.Logf("ρ = %v: %d of 500", rho, above)
		dptest.Tail(t, "M₁ of nothing", above, 500, 49*math.Exp(-8), 1e-12)
	}
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
		m := release(t, Params{Rho: 0.5, Dim: 1, Max: 1 << 12, Unit: 1}, x)
		require.GreaterOrEqual(t, m.Clip(), 1.0)
		hits += covered(m, []float64{0.01}, 0.95)
	}
	t.Logf("%d of %d", hits, releases)
	dptest.Alarm(t, 1e-10)
	_, upper := dptest.ClopperPearson(hits, releases, 1-1e-10)
	require.GreaterOrEqual(t, upper, 0.95)
}
