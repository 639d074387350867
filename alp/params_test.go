package alp

import (
	"math"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/stretchr/testify/require"
)

// Each field by itself: what New accepts and refuses.
func TestParamsFields(t *testing.T) {
	base := Params{Epsilon: 1, Delta: 1e-6, Sparsity: 10}
	nan, inf, least := math.NaN(), math.Inf(1), math.SmallestNonzeroFloat64
	floats := map[string]struct {
		field func(p *Params) *float64
		good  []float64
		bad   []float64
	}{
		"Epsilon": {func(p *Params) *float64 { return &p.Epsilon }, []float64{check.MinEpsilon, 0.1, 1, 30, maxEpsilon}, []float64{0, -1, nan, inf, -inf, least, check.MinEpsilon / 2, maxEpsilon * 2}},
		// 0: there is no Dim
		"Delta":       {func(p *Params) *float64 { return &p.Delta }, []float64{1e-100, 1e-9, 0.9}, []float64{0, -1, nan, inf, least, 1, 2}},
		"Sensitivity": {func(p *Params) *float64 { return &p.Sensitivity }, []float64{0, check.MinReal, 3.5, check.MaxReal}, []float64{-1, nan, inf, least, check.MaxReal * 2}},
		"Max":         {func(p *Params) *float64 { return &p.Max }, []float64{0, check.MinReal, 5, 1e9, check.MaxReal}, []float64{-1, nan, inf, least}},
		"Base":        {func(p *Params) *float64 { return &p.Base }, []float64{0, 1.001, 2, 100}, []float64{-1, nan, inf, least, 1, 1e9}},
		"Alpha":       {func(p *Params) *float64 { return &p.Alpha }, []float64{0, 1, 5, 13, 100}, []float64{-1, nan, inf, least, 1e9}},
		"Bits":        {func(p *Params) *float64 { return &p.Bits }, []float64{0, 0.5, 30, 1000}, []float64{-1, nan, inf, least, 1e10}},
		"Split":       {func(p *Params) *float64 { return &p.Split }, []float64{0, 0.1, 0.35, 0.9}, []float64{-1, nan, inf, least, 0.01, 0.99, 1}},
		// 1 is below the list's threshold
		"Turn":      {func(p *Params) *float64 { return &p.Turn }, []float64{0, 1e3}, []float64{-1, nan, inf, least, 1}},
		"FalseKeys": {func(p *Params) *float64 { return &p.FalseKeys }, []float64{0, 1, 100}, []float64{-1, nan, inf, 1e9}},
		"share":     {func(p *Params) *float64 { return &p.share }, []float64{0, 0.1, 0.5}, []float64{-1, nan, inf, least, 0.6, 1}},
	}
	for name, f := range floats {
		for _, x := range f.good {
			p := base
			*f.field(&p) = x
			dptest.OK(New(p))(t, "%s = %v", name, x)
		}
		for _, x := range f.bad {
			p := base
			*f.field(&p) = x
			dptest.Refused(t, dptest.Err(New(p)), ErrParams, "alp: ", "%s = %v", name, x)
		}
	}
	for name, spoil := range map[string]func(p *Params){
		"negative Sparsity":  func(p *Params) { p.Sparsity = -1 },
		"TwoVectors":         func(p *Params) { p.TwoVectors = true },
		"Structure":          func(p *Params) { p.Structure = 9 },
		"no Max":             func(p *Params) { p.Structure = ColumnsOnly },
		"one level":          func(p *Params) { p.Levels = 1 },
		"odd Levels":         func(p *Params) { p.Levels = 12 },
		"many Levels":        func(p *Params) { p.Levels = 512 },
		"linear with Levels": func(p *Params) { p.Linear, p.Levels = true, 8 },
		"negative Columns":   func(p *Params) { p.Columns = -1 },
		"many Columns":       func(p *Params) { p.Columns = maxColumns + 1 },
		"half an integer":    func(p *Params) { p.Integers, p.Sensitivity = true, 1.5 },
		"pure without Dim":   func(p *Params) { p.Delta = 0 },
	} {
		p := base
		spoil(&p)
		require.ErrorIs(t, dptest.Err(New(p)), ErrParams, name)
	}
}

// A table that would not fit into memory is refused, with its size; nothing of that size is
// allocated on the way, and nothing is promised.
func TestTooLarge(t *testing.T) {
	for want, p := range map[string]Params{
		"12500000000000 bytes": {Epsilon: 1, Delta: 1e-6, Sparsity: math.MaxInt32, Bits: 1e12 / math.MaxInt32 * 100},
		"2²⁰ steps":            {Epsilon: 1, Max: 1e5, Sparsity: 1, Variant: Variant{Levels: 256, Columns: 1}},
		"Columns":              {Epsilon: 1, Max: 1e5, Sparsity: 10, Structure: ColumnsOnly, Variant: Variant{Levels: 16, Columns: maxColumns}},
	} {
		require.ErrorContains(t, dptest.Err(New(p)), want)
		require.ErrorIs(t, dptest.Err(p.Plan()), ErrParams)
		require.False(t, p.Guarantee().Promises(), "%+v", p)
	}
}

// From Epsilon, Delta, Dim and Sparsity alone; pure without Delta; and Params that resolve stay as
// they are.
func TestResolved(t *testing.T) {
	for _, p := range sweep() {
		r := dptest.OK(p.resolved())(t, "%+v", p)
		again := dptest.OK(r.resolved())(t)
		require.Equal(t, r, again)
		require.True(t, r.Sparsity == 0 || r.filledIn() || r.Seed.IsZero())
		require.Positive(t, len(r.Structure.String()))
	}
	r := dptest.OK(Params{Epsilon: 1, Delta: 1e-9, Dim: 1 << 40, Sparsity: 1000}.resolved())(t)
	require.Equal(t, SplitAxis, r.Structure)
	require.True(t, budget.ApproxDP(1, 1e-9, budget.L1(1)).Equal(r.Guarantee()))
	r = dptest.OK(Params{Epsilon: 1, Dim: 1 << 40, Sparsity: 1000}.resolved())(t)
	require.Equal(t, SplitAxis, r.Structure)
	require.True(t, budget.PureDP(1, budget.L1(1)).Equal(r.Guarantee()))
	r = dptest.OK(Params{Epsilon: 1, Delta: 1e-9, Max: 8, Sparsity: 1000}.resolved())(t)
	require.Equal(t, ColumnsOnly, r.Structure)
	require.True(t, budget.PureDP(1, budget.L1(1)).Equal(r.Guarantee()))
	require.False(t, Params{}.Guarantee().Promises())
	require.Equal(t, "Structure(77)", Structure(77).String())
}

// What is chosen where Levels and Columns are 0; and columns that a small share of ε would make
// wider than a table of their law may be are divided.
func TestChosenColumns(t *testing.T) {
	list, far := Params{Epsilon: 1, Delta: 1e-6, Sparsity: 100}, Params{Epsilon: 1, Delta: 1e-12, Sparsity: 100}
	only, wide := Params{Epsilon: 1, Max: 40, Sparsity: 100}, Params{Epsilon: 1, Delta: 1e-6, Sparsity: 100, Variant: Variant{Split: 0.9, Turn: 3000}}
	for _, c := range []struct {
		p               Params
		bits            float64
		columns, levels int
	}{
		{list, 60, 1, 16}, {list, 99, 1, 16}, {list, 149, 1, 16}, {list, 150, 1, 32}, {list, 599, 1, 32}, {list, 600, 1, 64}, {far, 60, 1, 32}, {far, 100, 1, 32},
		{only, 100, 2, 8}, {only, 300, 2, 16}, {only, 1000, 2, 32}, {wide, 100, 0, 32}, {wide, 600, 0, 64},
	} {
		c.p.Bits = c.bits
		s := dptest.OK(c.p.shape())(t, "%+v", c.p)
		require.Equal(t, c.levels, s.params.Levels, "%+v", c.p)
		if c.columns > 0 {
			require.Equal(t, c.columns, s.params.Columns, "%+v", c.p)
		}
	}
}

// A Turn that is given may lie where φ₁ is the list's threshold, which is above its rounding radius
// (Theorem 2), and no lower, for New and for a decoder.
func TestTurnIsNotBelowTheThreshold(t *testing.T) {
	for _, p := range []Params{
		{Epsilon: 1, Delta: 1e-6, Sparsity: 5, Integers: true}, {Epsilon: 0.3, Delta: 1e-9, Sparsity: 5}, {Epsilon: 2, Dim: 1 << 40, Sparsity: 5, Signed: true},
		{Epsilon: 1, Delta: 1e-6, Sparsity: 5, Structure: Composition},
	} {
		r := dptest.OK(p.resolved())(t)
		least, _, err := r.listReach()
		require.NoError(t, err)
		step, _ := r.grid()
		a, _ := r.split()
		lowest := math.Ceil(least / float64(a))
		p.Turn = lowest * step
		r = dptest.OK(p.resolved())(t)
		require.Equal(t, lowest*step, r.Turn)
		g := dptest.OK(r.geometry())(t)
		require.GreaterOrEqual(t, float64(g.slopeBelow*g.turn), least)
		p.Turn = (lowest - 1) * step
		require.ErrorIs(t, dptest.Err(New(p)), ErrParams)
		r.Turn = p.Turn
		spoilt := releaseOf(t, Params{Epsilon: p.Epsilon, Delta: p.Delta, Dim: p.Dim, Sparsity: 5, Integers: p.Integers, Signed: p.Signed, Structure: p.Structure})
		r.Seed = spoilt.shape.params.Seed
		spoilt.shape.params = r
		data := dptest.OK(spoilt.MarshalBinary())(t)
		require.ErrorIs(t, new(Projection).UnmarshalBinary(data), ErrFormat)
	}
}

// sweep returns valid Params of all kinds and sizes.
func sweep() (list []Params) {
	for _, epsilon := range []float64{check.MinEpsilon, 1e-3, 0.1, 1, 10, 60, maxEpsilon} {
		for _, delta := range []float64{0, 1e-9} {
			for _, max := range []float64{0, 1e-3, 30} {
				base := Params{Epsilon: epsilon, Delta: delta, Dim: 1 << 20, Max: max, Sparsity: 5}
				signed, pair, integers, logarithmic, unary, linear, composition, unknown := base, base, base, base, base, base, base, base
				signed.Signed = true
				pair.Signed, pair.TwoVectors, pair.Integers = true, true, true
				integers.Integers, integers.Sensitivity = true, 3
				logarithmic.Base, logarithmic.Integers = 1.5, true
				unary.Levels, unary.Independent = 2, true
				linear.Linear, linear.Columns = true, 7
				composition.Structure, composition.Base = Composition, 3
				unknown.Sparsity, unknown.share = 0, 0.2
				list = append(list, base, signed, pair, integers, logarithmic, unary, linear, composition, unknown)
				for i := range list {
					list[i].Bits = 30
				}
			}
		}
	}
	return list
}

// Whatever the Params and the values, a release estimates and encodes; also with columns so wide
// that the list would hold whatever reaches the middle of their first bin.
func TestEverythingReleases(t *testing.T) {
	wide := Params{Epsilon: 3, Delta: 1e-9, Dim: 1000, Sparsity: 2, Integers: true, Structure: Composition, Variant: Variant{Levels: 2, Linear: true, Alpha: 4e5, Columns: 8, Turn: 1.5e6}}
	for i, p := range append([]Params{wide}, sweep()...) {
		if i%7 > 0 && !dptest.Long() || i%4 > 0 && testing.Short() {
			continue
		}
		b := dptest.OK(New(p))(t, "%+v", p)
		for j, v := range []float64{0, 1, -1, 1e-9, 1e300, -1e300, math.Inf(1), math.Inf(-1), math.NaN(), 5e-324, 17.5} {
			b.Add(uint64(j), v)
		}
		b.Add(p.Dim, 1e9)
		v := dptest.OK(b.Release())(t, "%+v", p)
		for index := range uint64(20) {
			x := v.Estimate(index)
			lo, hi := v.Interval(index, 0.9)
			require.True(t, !math.IsNaN(x) && !math.IsInf(x, 0) && lo <= hi, "%+v: %v in [%v, %v]", p, x, lo, hi)
		}
		data := dptest.OK(v.MarshalBinary())(t)
		require.NoError(t, new(Projection).UnmarshalBinary(data), "%+v", v.Params())
		lo, hi := v.Interval(p.Dim, 0.9)
		require.Equal(t, []float64{0, 0, 0}, append(v.EstimateAll([]uint64{p.Dim}, nil), lo, hi), "outside Dim")
		require.Zero(t, v.Estimate(p.Dim))
	}
}

// The guarantee is for vectors at a distance of Sensitivity; a Builder, its Params and its release
// tell the same, before and after.
func TestGuarantee(t *testing.T) {
	for _, c := range []struct {
		p    Params
		want budget.Guarantee
	}{
		{Params{Epsilon: 1, Delta: 1e-6, Sparsity: 3, Sensitivity: 2.5}, budget.ApproxDP(1, 1e-6, budget.L1(2.5))},
		{Params{Epsilon: 2, Dim: 1000, Sparsity: 3}, budget.PureDP(2, budget.L1(1))},
		{Params{Epsilon: 2, Delta: 1e-6, Max: 5, share: 0.1}, budget.PureDP(2, budget.L1(1))},
	} {
		b := dptest.OK(New(c.p))(t)
		require.True(t, c.want.Equal(c.p.Guarantee()))
		require.True(t, c.want.Equal(b.Guarantee()))
		v := dptest.OK(b.Release())(t)
		require.True(t, c.want.Equal(v.Guarantee()))
		require.True(t, c.want.Equal(b.Guarantee()))
		require.True(t, c.want.Equal(v.Params().Guarantee()))
	}
	require.False(t, new(Builder).Guarantee().Promises())
	require.False(t, new(Projection).Guarantee().Promises())
}
