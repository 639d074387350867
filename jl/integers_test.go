package jl

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Integers at ℓ₂ distance Δ = 3 can differ by 1 in nine coordinates of one row: Gaussian noise, too, is for a change of Δ², not of Δ.
func TestIntegersUnderL2WithGaussianNoise(t *testing.T) {
	a, err := New(Params{Dim: 200, Rows: 8, Rho: 1, Norm: L2, Sensitivity: 3, Integers: true, Seed: seed(2)})
	require.NoError(t, err)
	require.Equal(t, Gaussian, (*a.state).law.kind)
	neighbours := map[int]*Builder{} // by row
	changes := map[int]int{}
	for j := range uint64(200) {
		one, err := a.Sibling()
		require.NoError(t, err)
		one.Add(j, 1)
		for row, v := range integers(one) {
			if v == 0 || changes[row] == 9 {
				continue
			}
			if neighbours[row] == nil {
				neighbours[row], err = a.Sibling()
				require.NoError(t, err)
			}
			sign := 1.0
			if v < 0 {
				sign = -1
			}
			neighbours[row].Add(j, sign)
			changes[row]++
		}
	}
	require.Len(t, neighbours, 8)
	for row, b := range neighbours {
		require.Equal(t, 9, changes[row])
		require.InDelta(t, 1, spent(t, a, integers(a), integers(b)), 1e-4, "it is attained")
		require.LessOrEqual(t, spent(t, a, integers(a), integers(b)), 1.0)
	}
}
