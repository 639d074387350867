package elliptical

import (
	"math"
	"strings"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/stretchr/testify/require"
)

func TestVector(t *testing.T) {
	values := []float64{1.5, -2, math.Inf(1), math.Copysign(0, -1), 5e-324}
	v := VectorOf(values...)
	require.Equal(t, 5, v.Len())
	for i, x := range values {
		require.Equal(t, x+0, v.At(i))
	}
	require.False(t, math.Signbit(v.At(3)))
	require.True(t, math.IsNaN(v.At(-1)) && math.IsNaN(v.At(5)) && math.IsNaN(Vector{}.At(0)) && math.IsNaN(VectorOf(math.NaN()).At(0)))
	require.True(t, v == VectorOf(v.Values()...))
	require.True(t, v != VectorOf(1.5))
	require.True(t, Vector{} == VectorOf())
	values[0] = 9
	require.Equal(t, 1.5, v.At(0))
	require.Equal(t, "[1 2]", VectorOf(1, 2).String())
	require.Equal(t, "[0 0 0 0 0 0 0 0]… (20 numbers)", VectorOf(make([]float64, 20)...).String())
	require.Equal(t, map[Params]bool{{Min: VectorOf(-0.5, -1), Max: VectorOf(0.5, 1)}: true}, map[Params]bool{{Min: VectorOf(-0.5, -1), Max: VectorOf(0.5, 1)}: true})
}

// Every field at its edges. An error names the field and its public value.
func TestParamsAreChecked(t *testing.T) {
	good := Params{Min: VectorOf(-2, -0.5), Max: VectorOf(2, 0.5), Rho: 1, Relation: budget.Replace}
	strange := []float64{-1, math.NaN(), math.Inf(1), math.Inf(-1), 5e-324, math.MaxFloat64}
	spoiled := map[string][]Params{}
	spoil := func(field string, change func(p *Params)) {
		p := good
		change(&p)
		spoiled[field] = append(spoiled[field], p)
	}
	for _, x := range strange {
		spoil("Rho", func(p *Params) { p.Rho = x })
		spoil("Epsilon", func(p *Params) { p.Rho, p.Epsilon = 0, x })
		spoil("Max[1]", func(p *Params) { p.Min, p.Max = VectorOf(0, 0), VectorOf(4, x) })
		spoil("Weights[0]", func(p *Params) { p.Weights = VectorOf(x, 1) })
		if x != 5e-324 && x != -1 && x != math.MaxFloat64 {
			spoil("Min[1]", func(p *Params) { p.Min, p.Max = VectorOf(0, x), VectorOf(4, x+1) })
		}
	}
	for _, x := range []float64{-1, math.NaN(), 1, math.Inf(1), math.Inf(-1), 5e-324} {
		spoil("Delta", func(p *Params) { p.Rho, p.Epsilon, p.Delta = 0, 1, x })
	}
	spoil("Epsilon", func(p *Params) { p.Rho = 0 })
	spoil("Epsilon", func(p *Params) { p.Rho, p.Delta = 0, 0.1 })
	spoil("Epsilon", func(p *Params) { p.Epsilon = 1 })
	spoil("Delta", func(p *Params) { p.Delta = 0.1 })
	spoil("Min.Len()", func(p *Params) { p.Min = Vector{} })
	spoil("Max.Len()", func(p *Params) { p.Max = Vector{} })
	spoil("Max.Len()", func(p *Params) { p.Max = VectorOf(1) })
	spoil("Max[0]", func(p *Params) { p.Min, p.Max = VectorOf(0, 1), VectorOf(0, 2) })
	spoil("Max[0]", func(p *Params) { p.Min, p.Max = VectorOf(5, 1), VectorOf(4, 2) })
	spoil("Min[1]", func(p *Params) { p.Min, p.Max = VectorOf(0, 1e6), VectorOf(1, 1e6+1) })
	spoil("Weights.Len()", func(p *Params) { p.Weights = VectorOf(1, 1, 1) })
	spoil("Weights.Len()", func(p *Params) { p.Rho, p.Epsilon, p.Shape, p.Weights = 0, 1, Box, VectorOf(1, 1) })
	spoil("Weights.Len()", func(p *Params) {
		p.Count, p.Relation, p.Min, p.Weights = true, budget.AddRemove, VectorOf(0, 0), VectorOf(1, 1)
	})
	spoil("Shape", func(p *Params) { p.Shape = 4 })
	for _, r := range []budget.Relation{3, 77} {
		spoil("Relation", func(p *Params) { p.Relation = r })
	}
	spoil("Count", func(p *Params) { p.Count = true })
	spoil("Count", func(p *Params) { p.Count, p.Min = true, VectorOf(0, 0) })
	spoil("Count", func(p *Params) { p.Count, p.Relation = true, budget.AddRemove })
	for field, list := range spoiled {
		for _, p := range list {
			for _, err := range []error{second(New(p)), second(NewBuilder(p))} {
				require.ErrorIs(t, err, ErrParams, "%+v", p)
				require.True(t, strings.HasPrefix(err.Error(), "elliptical: "+field+" = "), "%v for %s", err, field)
			}
			require.Equal(t, budget.Guarantee{}, p.Guarantee())
			require.True(t, math.IsNaN(p.deviation(0)) && math.IsNaN(p.errorOf(2)))
		}
	}
}

func second[T any](_ T, err error) error { return err }

// The limits of all fields together calibrate, sample and encode.
func TestExtremeParams(t *testing.T) {
	list := []Params{}
	for _, p := range []Params{{Rho: check.MinRho}, {Rho: check.MaxRho}, {Epsilon: check.MinEpsilon}, {Epsilon: check.MaxEpsilon}, {Epsilon: check.MinEpsilon, Delta: check.MinDelta}, {Epsilon: check.MaxEpsilon, Delta: 0.999}} {
		p = p.around(minWidth, maxWidth, 1)
		list = append(list, p)
		list = append(list, p.spherical(), p.volume())
		q := p
		q.Weights = VectorOf(maxWidth, minWidth, 1)
		list = append(list, q)
		q = p
		q.Relation = budget.AddRemove
		q.Min = VectorOf(minWidth*(maxOffset-1), -maxWidth*maxOffset, 5e-324)
		q.Max = VectorOf(minWidth*maxOffset, -maxWidth*(maxOffset-1), 1)
		list = append(list, q)
		q.Count = true
		list = append(list, q)
	}
	for _, p := range list {
		b := dptest.OK(NewBuilder(p))(t, "%+v", p)
		for _, x := range []float64{math.Inf(1), math.Inf(-1), math.NaN(), 1} {
			b.Add([]float64{x, x, x})
		}
		s := dptest.OK(b.Release())(t)
		for i, x := range s.All() {
			require.False(t, math.IsNaN(x) || math.IsInf(x, 0))
			require.Greater(t, s.StdDev(i), 0.0)
			low, high := s.Interval(i, 0.99)
			require.True(t, low <= x && x <= high, "%+v", p)
			c := s.noise.coordinates[i]
			require.LessOrEqual(t, c.scale, c.step*maxScale)
		}
		data := dptest.OK(s.MarshalBinary())(t)
		var again Sum
		require.NoError(t, again.UnmarshalBinary(data), "%+v", p)
		require.Equal(t, s, &again)
	}
}

// Steps of the grid are 2⁻⁴⁵ of the noise at least. With noise of 2³⁰ widths and more than 2¹⁴
// coordinates, these alone would be more than all widths; noise that is calibrated to them is too
// large for the grid, and cannot be drawn.
func TestNoiseCanAlwaysBeDrawn(t *testing.T) {
	for _, base := range []Params{{Epsilon: check.MinEpsilon}, {Epsilon: check.MinEpsilon, Shape: Independent}, {Epsilon: check.MinEpsilon, Delta: check.MinDelta}} {
		p := base
		refused, many := 0, 1<<16
		if p.Delta > 0 {
			many = 1 << 20
			if !dptest.Long() {
				continue
			}
		}
		for _, d := range []int{2, 1 << 14, many} {
			widths := make([]float64, d)
			for i := range widths {
				widths[i] = minWidth
			}
			widths[0] = 1
			if p = base.around(widths...); p.Shape == Optimal {
				p = p.spherical()
			}
			m, err := New(p)
			if err != nil {
				require.ErrorIs(t, err, ErrParams)
				require.Equal(t, budget.Guarantee{}, p.Guarantee())
				refused++
				continue
			}
			for _, c := range m.noise.coordinates {
				require.LessOrEqual(t, c.scale, c.step*0x1p46)
			}
			sum := dptest.OK(m.Release(make([]float64, d)))(t)
			require.Less(t, math.Abs(sum.Estimate(0)), 1000*m.stdDev(0)) // e^{−1000}
		}
		require.Equal(t, 1, refused, "%d coordinates, the control, must be refused: %v", many, p.Shape)
		if p.Delta == 0 && base.Shape == Independent {
			p.Shape, p.Weights = Optimal, Vector{} // which is Box there, and its noise has 128 bits
			m := dptest.OK(New(p))(t)
			require.Equal(t, Box, m.Params().Shape)
		}
	}
}

func TestPlanning(t *testing.T) {
	m := dptest.OK(New(Params{Min: VectorOf(-2, -0.5), Max: VectorOf(2, 0.5), Rho: 0.5, Delta: math.Copysign(0, -1)}))(t)
	require.Equal(t, Params{Min: VectorOf(-2, -0.5), Max: VectorOf(2, 0.5), Rho: 0.5, Relation: budget.AddRemove}, m.Params(), "0 is AddRemove")
	require.True(t, budget.ZCDP(0.5, budget.Row(budget.AddRemove)).WithPair(budget.GDP(math.Nextafter(1, 2), budget.Row(budget.AddRemove))).Equal(m.Guarantee()))
	require.Equal(t, budget.Gaussian(1, 0.1, budget.Row(budget.AddRemove)), Params{Min: VectorOf(-0.5), Max: VectorOf(0.5), Epsilon: 1, Delta: 0.1, Relation: budget.AddRemove}.Guarantee())
	require.Equal(t, budget.PureDP(1, budget.Row(budget.Replace)), Params{Min: VectorOf(-0.5), Max: VectorOf(0.5), Epsilon: 1, Relation: budget.Replace}.Guarantee())
	require.Equal(t, "elliptical.Mechanism: Gaussian noise, Optimal, for 2 coordinates, ρ = 0.5 (zCDP) for one row, added or removed", m.String())
	for _, i := range []int{-1, 2, math.MaxInt} {
		require.True(t, math.IsNaN(planned(m.params).StdDev(i)))
	}
	for _, c := range []float64{-0.1, 1, math.NaN(), math.Inf(1)} {
		require.True(t, math.IsNaN(m.noise.halfWidth(0, c)))
	}
	for _, p := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		require.True(t, math.IsNaN(m.noise.expectedError(p)))
	}
	require.Equal(t, "Shape(9)", Shape(9).String())
	require.Equal(t, "Box Independent", Box.String()+" "+Independent.String())
	// the largest powers of the least noise: Γ(p) wins
	for _, q := range []Params{Params{Epsilon: 1024}.around(0x1p-100), Params{Rho: 0x1p20}.around(0x1p-100), {Min: VectorOf(-0.5, -1), Max: VectorOf(0.5, 1), Epsilon: 1, Delta: 0.5}} {
		for _, power := range []float64{0x1p999, 0x1.8p1010, 0x1p1020, math.MaxFloat64} {
			require.True(t, math.IsInf(q.errorOf(power), 1), "%+v %v", q, power)
		}
	}
}
