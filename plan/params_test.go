package plan

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/dpsketch/dpsketch/plan/internal/means"
	"github.com/stretchr/testify/require"
)

// The engine checks the fields (its TestInvalidParams); these are the names that a user sees, and
// what the face alone refuses.
func TestInvalidParams(t *testing.T) {
	good := Params{Rho: 1, Dim: 5, Rows: 100, Max: 10}
	for field, change := range map[string]func(*Params){
		"Rho": func(p *Params) { p.Rho = math.NaN() }, "Dim": func(p *Params) { p.Dim = 0 }, "Max": func(p *Params) { p.Max = 0 },
		"Rows": func(p *Params) { p.Rows = -1 }, "Resolution": func(p *Params) { p.Resolution = 11 },
		"Relation": func(p *Params) { p.Relation = 3 }, "Workers": func(p *Params) { p.Workers = -1 },
		"Epsilon": func(p *Params) { p.Epsilon = 1 }, "Delta": func(p *Params) { p.Rho, p.Epsilon = 0, 1 },
		"Epsilon = 0": func(p *Params) { p.Rho = 0 }, "Epsilon = NaN": func(p *Params) { p.Rho, p.Epsilon, p.Delta = 0, math.NaN(), 0.1 },
		"Delta = 1e-300":   func(p *Params) { p.Rho, p.Epsilon, p.Delta = 0, 0x1p-20, 1e-300 },
		"Method = TwoPass": func(p *Params) { p.Method = TwoPass }, "Method = Method(6)": func(p *Params) { p.Method = 6 },
		"Method = Thesis": func(p *Params) { p.Method = Method(means.Thesis) }, "Method = InstanceOptimal": func(p *Params) { p.Method = Method(means.InstanceOptimal) },
	} {
		p := good
		change(&p)
		dptest.Refused(t, dptest.Err(New(p)), ErrParams, "plan: "+field, field)
		require.ErrorIs(t, dptest.Err(p.Plan()), ErrParams, field)
		require.ErrorIs(t, dptest.Err(p.Fit(1)), ErrParams, field)
		require.False(t, p.Guarantee().Promises(), field)
	}
}

// Each field reaches the engine, and comes back with its default.
func TestParamsReachTheEngine(t *testing.T) {
	p := Params{
		Rho: 1, Dim: 2, Max: 3, Rows: 4, Relation: budget.Replace, NonNegative: true, Symmetric: true,
		Relative: true, Resolution: 0.5, Method: Plain, Workers: 7,
	}
	m := dptest.OK(New(p))(t)
	require.Equal(t, p, m.Params())
	m = dptest.OK(New(Params{Rho: 1, Dim: 5, NonNegative: true}))(t)
	require.Equal(t, Params{Rho: 1, Dim: 5, Max: 1, Relation: budget.AddRemove, NonNegative: true, Resolution: 0x1p-100}, m.Params())
	require.Equal(t, budget.ZCDP(1, budget.Row(budget.AddRemove)), m.Guarantee())
	p = Params{Epsilon: 1, Delta: 1e-6, Dim: 2, Max: 3, Rows: 4, Relation: budget.Replace, Resolution: 0.5, Method: Plain}
	require.Equal(t, p, dptest.OK(New(p))(t).Params())
	require.Equal(t, p, dptest.OK(p.Plan())(t).Params)
	m = dptest.OK(New(Params{Rho: 1, Dim: 5, NonNegative: true}))(t)
	require.Equal(t, "plan.Mechanism: means of 5 coordinates in [−1, 1] by Auto, "+m.Guarantee().String(), m.String())
}

// The Plan and the release have the same Params, and the Noise of the one is that of the other.
func TestPlanIsWhatComes(t *testing.T) {
	// test data
	x, _ := dptest.NormalRows(rand.New(rand.NewPCG(3, 4)), 5000, 0, dptest.Powers(40, 0))
	for _, p := range []Params{
		{Rho: 1, Dim: 40, Rows: 5000, Max: 100, Relation: budget.Replace, Symmetric: true},
		{Rho: 1, Dim: 40, Rows: 5000, Max: 100, Relation: budget.Replace, Method: Plain},
	} {
		o := dptest.OK(p.Plan(1))(t)
		require.True(t, o.Enough)
		require.InEpsilon(t, o.Noise, o.StdDev*math.Sqrt(40), 1e-9, "p = 2")
		m := dptest.OK(New(p))(t)
		out := dptest.OK(m.Release(t.Context(), x))(t)
		dptest.Alarm(t, 1e-10) // C and the scales are private, and within a tenth or so
		require.InEpsilon(t, o.StdDev, out.StdDev(7), 0.5)
		require.Equal(t, o.Params, out.Params())
		data := dptest.OK(out.MarshalBinary())(t)
		require.LessOrEqual(t, len(data), o.Bytes)
		require.NotContains(t, o.String(), "NaN")
	}
	few := dptest.OK(Params{Rho: 0.125, Dim: 2048, Rows: 500, Max: 1000}.Plan())(t)
	require.Contains(t, few.String(), "too few rows")
}

// Zero values have no budget, so they release nothing.
func TestZeroValuesReleaseNothing(t *testing.T) {
	var m Mechanism
	require.ErrorIs(t, dptest.Err(m.Release(t.Context(), [][]float64{{1, 2}, {3, 4}})), ErrParams)
	require.ErrorIs(t, dptest.Err(m.ReleaseSparse(t.Context(), Sparse{Offsets: []int{0, 1}, Indices: []uint32{0}})), ErrParams)
	require.ErrorIs(t, dptest.Err(m.WithScales(nil)), ErrParams)
	require.ErrorIs(t, dptest.Err(m.WithRanges(nil, nil)), ErrParams)
	require.False(t, m.Guarantee().Promises())
}

// What is released encodes, and decodes to the same, by every method.
func TestReleasesDecode(t *testing.T) {
	// test data
	x, _ := dptest.NormalRows(rand.New(rand.NewPCG(5, 6)), 300, 0.5, dptest.Powers(6, 1))
	ones := Sparse{Offsets: []int{0, 1, 3}, Indices: []uint32{2, 0, 5}}
	for _, p := range []Params{{Max: 100}, {Max: 100, Method: Adaptive}, {Max: 100, Method: Plain}, {NonNegative: true, Method: TwoPass}, {NonNegative: true}} {
		for _, relation := range []budget.Relation{budget.AddRemove, budget.Replace} {
			p.Rho, p.Dim, p.Relation = 5, 6, relation
			m := dptest.OK(New(p))(t)
			ranged := dptest.OK(m.WithRanges([]float64{0, 0, 0, 0, 0, 0}, []float64{1, 1, 1, 1, 1, 1}))(t)
			for _, m := range []*Mechanism{m, ranged} {
				out := dptest.OK(m.ReleaseSparse(t.Context(), ones))(t)
				usable(t, out)
				again, _ := dptest.RoundTrip(t, out)
				require.Equal(t, out, again)
				if p.Method == TwoPass {
					continue
				}
				out = dptest.OK(m.Release(t.Context(), x))(t)
				usable(t, out)
				again, _ = dptest.RoundTrip(t, out)
				require.Equal(t, out, again)
			}
		}
	}
}
