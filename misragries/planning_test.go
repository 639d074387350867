package misragries

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/limits"
	"github.com/dpsketch/dpsketch/internal/sparse"
)

// A constructor, and all that the Params say before there is data, run one check: what New refuses
// has no threshold, no noise, no error bound, no size and no guarantee, and the mechanisms of
// Candidates are those that the constructor of the input takes.
func TestPlanningRefusesWhatNewRefuses(t *testing.T) {
	if testing.Short() {
		t.Skip("half a second: in the default run")
	}
	makes := map[Input]func(p Params) error{
		OneStream:     func(p Params) error { _, err := New[int](p); return err },
		GivenCounters: func(p Params) error { _, err := FromCounters(p, map[int]int64{}); return err },
		Summed:        func(p Params) error { _, err := NewSum[int](p); return err },
		Users:         func(p Params) error { _, err := NewUserBuilder[int](p); return err },
	}
	accepted, refused := 0, 0
	for _, delta := range []float64{0, 1e-305, 1e-2, math.NaN()} {
		if testing.Short() && delta != 0 && delta != 1e-2 {
			continue
		}
		for _, epsilon := range []float64{limits.MinEpsilon, 1, 1e300} {
			for _, dim := range []uint64{0, 100} {
				for _, m := range []int{0, 2, 5, maxElements} {
					p := Params{Counters: 4, Epsilon: epsilon, Delta: delta, Dim: dim, Sparse: sparse.Laplace}
					for in, try := range makes {
						p = p.of(in, m)
						var possible []Method
						for mechanism := KeptZeros; mechanism <= lastMethod; mechanism++ {
							p.Method = mechanism
							if try(p) == nil {
								possible = append(possible, mechanism)
							}
						}
						var listed []Method
						p.Method = Auto
						{
							list, err := p.Candidates(in)
							for _, c := range list {
								listed = append(listed, c.Method)
								require.Greater(t, c.StdDev, 0.0)
							}
							slices.Sort(listed)
							require.Equal(t, possible, listed, "%+v %v", p, in)
							require.Equal(t, len(list) == 0, err != nil)
						}
					}
					p = p.of(OneStream, m)
					for mechanism := Auto; mechanism <= lastMethod; mechanism++ {
						p.Method = mechanism
						if makes[OneStream](p) == nil {
							accepted++
							require.Positive(t, p.Size())
							if mechanism != SparseVector { // which takes long to calibrate
								require.False(t, math.IsNaN(p.Threshold()) || math.IsNaN(p.StdDev()) || math.IsNaN(p.ErrorBound(10, 0.9)), "%+v", p)
							}
							continue
						}
						refused++
						require.True(t, math.IsNaN(p.Threshold()), "%+v", p)
						require.True(t, math.IsNaN(p.StdDev()), "%+v", p)
						require.True(t, math.IsNaN(p.ErrorBound(10, 0.9)), "%+v", p)
						require.Zero(t, p.Size())
						require.Zero(t, p.Guarantee(), "%+v", p)
					}
				}
			}
		}
	}
	require.Greater(t, accepted, 50)
	require.Greater(t, refused, 50)
	plan, err := Params{Counters: 4, Epsilon: 1, Dim: 100}.Plan(3)
	require.NoError(t, err)
	require.Len(t, plan.Costs, 3)
}
