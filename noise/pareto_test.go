package noise

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/exact"
)

// Where nearly all of the distribution lies far out. The octave of a draw, in steps, has the
// probability of the octave, the clamped draws included; within the octaves above 2³², where
// float64 tells only the leading digits, the draw has the conditional distribution, and its lowest
// digits are uniform.
func TestParetoOfSmallShape(t *testing.T) {
	n := dptest.Fewer(20_000, 5_000)
	for _, shape := range []float64{1 + 0x1p-40, 1.0001, 1.01, 1.03, 1.05, 1.1, 1.2, 1.5, 1.9} {
		d := dptest.OK(NewPareto(shape, 1))(t)
		for _, step := range []float64{0x1p-44, 0x1p-10, 0x1p20} {
			var src Source
			octaves, expected := make([]int64, 63), make([]float64, 63)
			low := make([]int64, 16)
			var inside []float64
			from, to := d.Survival(0x1p32*step), d.Survival(0x1p60*step)
			for range n {
				k, ok := d.SampleSteps(&src, step)
				require.True(t, ok)
				k = max(k, -k)
				octaves[bits.Len64(uint64(k))]++
				if k > 1<<32 && k < 1<<60 {
					low[k&15]++
					inside = append(inside, (from-d.Survival((float64(k)+0.5)*step))/(from-to))
				}
			}
			// Pr[|X| rounds to k or more]
			at := func(k float64) float64 { return 2 * d.Survival((k-0.5)*step) }
			expected[0] = 1 - at(1)
			for i := 1; i < 62; i++ {
				expected[i] = at(math.Ldexp(1, i-1)) - at(math.Ldexp(1, i))
			}
			expected[62] = at(0x1p61)
			name := fmt.Sprintf("α = %g on %g", shape, step)
			if slices.Max(expected) < 1-20/float64(n) { // else one cell is left
				dptest.ChiSquare(t, name, octaves, expected, 1e-10)
			}
			if len(inside) > 500 {
				dptest.KS(t, name, inside, func(p float64) float64 { return p }, 1e-10)
				uniform := slices.Repeat([]float64{1. / 16}, 16)
				dptest.ChiSquare(t, name+", low digits", low, uniform, 1e-10)
			}
		}
	}
}

// Exact arithmetic, with hundreds of allocations a draw, is for fewer than one draw in 10,000, on
// every grid and for every shape. (Ten allocations a draw on average are 30 or more such draws in
// 1,000, of which 0.1 are expected.)
func TestParetoIsFast(t *testing.T) {
	var src Source
	for _, shape := range []float64{1 + 0x1p-52, 1 + 0x1p-40, 1.0001, 1.01, 1.05, 1.1, 1.2, 1.5, 2, 3, 1000} {
		for _, step := range []float64{0x1p-44, 0x1p-20, 1, 0x1p900} {
			d, _ := NewPareto(shape, 1)
			require.Less(t, testing.AllocsPerRun(1000, func() { d.Sample(&src, step) }), 10.0, "α = %g on %g", shape, step)
		}
	}
}

// Whatever float64 decides about the cell of a Pareto draw is what exact arithmetic decides.
func TestParetoQuickIsRight(t *testing.T) {
	var src Source
	n := dptest.Fewer(4000, 800)
	undecided, decided := 0, 0
	for i := range n {
		shape := 1 + math.Exp2(float64(src.Uint64()%20)-10)*(1+float64(src.Uint64()>>12)*0x1p-52)
		scale := math.Ldexp(1+float64(src.Uint64()>>12)*0x1p-52, int(src.Uint64()%50)-8)
		g, ok := newPowerGrid(paretoKind, min(shape, mostShape), scale, 1)
		require.True(t, ok)
		w := src.Uint64() >> src.Uint64N(45)
		if i%3 > 0 { // near the end of a cell: U = (1 + k/units)^{1−α}
			k := 1 + float64(src.Uint64N(40))
			u := math.Exp(-(g.shape-1)*math.Log1p(k/g.units)) * (1 + float64(int64(src.Uint64()))*0x1p-63*0x1p-44)
			if w = uint64(min(u, 1-0x1p-53) * 0x1p64); w < leastUnused {
				continue
			}
		}
		least, most := g.paretoQuick(w)
		if least == most {
			decided++
		} else {
			undecided++
		}
		uniform := newLazy(w>>2, 62)
		factor := exact.Rat(g.shape - 1)
		below := func(k int64) (bool, bool) {
			x := new(big.Rat).SetInt64(k)
			x.Quo(x, g.exactUnits()).Add(x, big.NewRat(1, 1))
			return uniform.compareExp(exact.LogMultiple(factor, x, 62))
		}
		if least > 0 {
			yes, sure := below(least)
			require.True(t, yes && sure, "%+v: %d is too large", g, least)
		}
		if most < mostCell {
			yes, sure := below(most + 1)
			require.True(t, !yes && sure, "%+v: %d is too small", g, most)
		}
	}
	require.Greater(t, undecided, n/20, "the boundary was not tried")
	require.Greater(t, decided, n/dptest.Fewer(4, 6))
}
