package groupby

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/threshold/groupby/internal/ranges"
)

// A user's rows of a key come to their average, of rows each clamped to the range: that of exact
// arithmetic, rounded, in any order, from one machine or two, through states, and in a Builder.
func TestAverageOfRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 3))
	for name, p := range map[string]Params{
		"range": {Epsilon: 1, Delta: 1e-6, Min: -3, Max: 5, Average: true}, "learned": {Epsilon: 1, Delta: 1e-6, Values: true, Average: true},
		"quantiles": {Epsilon: 1, Delta: 1e-6, Max: 5, Average: true, Levels: [8]float64{0.5}},
	} {
		values := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e300}
		for range 996 {
			values = append(values, 4*rng.NormFloat64())
		}
		if name == "learned" {
			values = values[4:]
		}
		var want []int64
		for range 4 {
			r := []*Rows[string, int]{rowsOf[string, int](t, p), rowsOf[string, int](t, p)}
			rng.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
			for _, v := range values {
				r[rng.IntN(2)].AddValue("ann", 1, v)
			}
			r[1].AddValue("ann", 2, 1)
			require.NoError(t, r[0].Merge(r[1]))
			restored := rowsOf[string, int](t, p)
			state := dptest.OK(r[0].AppendPrivateState(nil))(t)
			require.NoError(t, restored.RestorePrivateState(state))
			require.Equal(t, state, dptest.OK(restored.AppendPrivateState(nil))(t))
			got := heldRows(restored).state().users.sums
			if want == nil {
				want = got
			}
			require.Equal(t, want, got, name)
			b := builder[int](t, restored.params)
			b.AddUserValues(slices.Repeat([]int{1}, len(values)), values)
			require.Equal(t, want[:b.params.columns()], held(b).users.sums, name)
		}
		exact, n := new(big.Float).SetPrec(200), 0.0
		for _, v := range values {
			if v == v {
				if name != "learned" {
					v = min(max(v, p.Min), p.Max)
				}
				exact.Add(exact, big.NewFloat(v))
				n++
			}
		}
		mean, _ := exact.Quo(exact, big.NewFloat(n)).Float64()
		if name == "learned" {
			require.InDelta(t, mean, ranges.Join(want[0], want[1]), 0x1p-29)
		} else {
			a := p.axis()
			require.InDelta(t, mean, float64(want[0])*a.step, a.step)
			require.EqualValues(t, 1/a.step, want[1])
		}
	}
	for _, of := range [][3]int64{{7, 2, 4}, {-7, 2, -4}, {6, 4, 2}, {5, 4, 1}, {-5, 4, -1}, {0, 9, 0}, {math.MaxInt64, 1, math.MaxInt64}, {math.MinInt64, 1, math.MinInt64}, {9, 10, 1}, {4, 9, 0}, {5, 9, 1}} {
		require.Equal(t, of[2], average(of[0], of[1]), "%v", of)
	}
	// A state with a pair of no rows is none.
	r := rowsOf[string, int](t, Params{Epsilon: 1, Delta: 1e-6, Max: 5, Average: true})
	r.AddValue("ann", 1, 2)
	state := dptest.OK(r.AppendPrivateState(nil))(t)
	clear(state[len(state)-8:])
	require.ErrorIs(t, r.RestorePrivateState(state), ErrFormat)
}
