package means

import (
	"fmt"
	"math"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/quantile"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/stretchr/testify/require"
)

func TestInvalidParams(t *testing.T) {
	good := Params{Rho: 1, Dim: 5, Max: 10, Relation: budget.Replace}
	nan, inf, tiny := math.NaN(), math.Inf(1), math.SmallestNonzeroFloat64
	bad := map[string][]Params{}
	set := func(field string, change func(*Params)) {
		p := good
		change(&p)
		bad[field] = append(bad[field], p)
	}
	for _, x := range []float64{-1, nan, inf, -inf, tiny} {
		set("Rho", func(p *Params) { p.Rho = x })
		set("Max", func(p *Params) { p.Max = x })
		set("Resolution", func(p *Params) { p.Resolution = x })
		set("P", func(p *Params) { p.P = x })
		set("Failure", func(p *Params) { p.Failure = x })
		set("Margin", func(p *Params) { p.Margin = x })
		set("Steps.Clip", func(p *Params) { p.Steps.Clip = map[bool]float64{true: 1, false: x}[x == tiny] })
		set("Steps.Floor", func(p *Params) { p.Steps.Floor = map[bool]float64{true: 11, false: x}[x == tiny] })
		set("Shares.Centre", func(p *Params) { p.Shares.Centre = x })
		set("Shares.Scale", func(p *Params) { p.Shares.Scale = x })
		set("Shares.Clip", func(p *Params) { p.Shares.Clip = x })
		set("Shares.Divisor", func(p *Params) { p.Shares.Divisor = x })
	}
	set("Rho", func(p *Params) { p.Rho = 0 })
	set("Rho", func(p *Params) { p.Rho = 0x1p21 })
	set("Max", func(p *Params) { p.Max = 0 })
	set("Max", func(p *Params) { p.Max = 0x1p101 })
	set("Resolution", func(p *Params) { p.Resolution = 11 })
	set("P", func(p *Params) { p.P = 65 })
	set("Failure", func(p *Params) { p.Failure = 0.6 })
	set("Margin", func(p *Params) { p.Margin = 0.99 })
	set("Margin", func(p *Params) { p.Margin = 1025 })
	set("Shares", func(p *Params) { p.Shares = Shares{0.5, 0.3, 0.1, 0.1} })
	for _, n := range []int{-1, math.MinInt} {
		set("Dim", func(p *Params) { p.Dim = n })
		set("Rows", func(p *Params) { p.Rows = n })
		set("Workers", func(p *Params) { p.Workers = n })
		set("Steps.Group", func(p *Params) { p.Steps.Group = n })
		set("Steps.Search", func(p *Params) { p.Steps.Search = n })
	}
	set("Dim", func(p *Params) { p.Dim = 0 })
	set("Dim", func(p *Params) { p.Dim = MaxDim + 1 })
	set("Workers", func(p *Params) { p.Workers = 1025 })
	set("Steps.Group", func(p *Params) { p.Steps.Group = 1025 })
	set("Steps.Search", func(p *Params) { p.Steps.Search = 65 })
	set("Relation", func(p *Params) { p.Relation = 3 })
	set("Method", func(p *Params) { p.Method = lastMethod + 1 })
	set("Method", func(p *Params) { p.Method = TwoPass })
	set("Method", func(p *Params) { p.Method, p.NonNegative = InstanceOptimal, true })
	set("Steps.Centre", func(p *Params) { p.Steps.Centre = Origin + 1 })
	set("Steps.Centre", func(p *Params) { p.NonNegative, p.Method, p.Steps.Centre = true, TwoPass, Median })
	set("Steps.Centre", func(p *Params) { p.NonNegative, p.Method, p.Steps.Centre = true, Thesis, Median })
	set("Steps.Scaling", func(p *Params) { p.Steps.Scaling = Unscaled + 1 })
	set("Steps.Spread", func(p *Params) { p.Steps.Spread = lastSpread + 1 })
	set("Steps.Spread", func(p *Params) { p.Steps.Spread = Means })
	set("Steps.Spread", func(p *Params) { p.Steps.Spread, p.Relation = Pairs, budget.AddRemove })
	set("Steps.Base", func(p *Params) { p.Steps.Base = quantile.Log })
	for field, list := range bad {
		for _, p := range list {
			dptest.Refused(t, dptest.Err(New(p)), check.ErrParams, "plan: "+field+" = ", "%+v", p)
			require.ErrorIs(t, dptest.Err(p.Plan(nil)), check.ErrParams)
		}
	}
}

func TestDefaults(t *testing.T) {
	m := dptest.OK(New(Params{Rho: 1, Dim: 5, NonNegative: true, Shares: Shares{Clip: math.Copysign(0, -1)}, Relation: budget.Replace}))(t)
	p := m.Params()
	require.Equal(t, p, p.Resolved())
	require.False(t, math.Signbit(p.Shares.Clip))
	require.Equal(t, Auto, p.Method, "decided at Release")
	require.Equal(t, TwoPass, p.chosen(1e6, true, nil).Method)
	require.Equal(t, Adaptive, p.chosen(1e6, false, nil).Method)
	require.Equal(t, []float64{1, 0x1p-100, 1, 0.005, 0}, []float64{p.Max, p.Resolution, p.P, p.Failure, p.Margin})
	require.Equal(t, budget.ZCDP(1, budget.Row(budget.Replace)), m.params.Guarantee())
	for _, method := range []Method{Auto, Adaptive, Thesis, Plain, InstanceOptimal} {
		for _, nonNegative := range []bool{false, true} {
			p := Params{Rho: 1, Dim: 5, Max: 3, NonNegative: nonNegative, Method: method, Relation: budget.Replace}.Resolved()
			require.Equal(t, p, p.Resolved(), "idempotent")
		}
	}
	require.Equal(t, "Method(6)", (lastMethod + 1).String())
}

// The budget never exceeds the total, whatever is asked for, nor do the parts of many quantiles.
func TestBudget(t *testing.T) {
	for _, n := range []float64{0, 1, 3, 2048, 1 << 40} {
		require.LessOrEqual(t, max(n, 1)*each(0.1, n), 0.1)
		require.InEpsilon(t, 0.1, max(n, 1)*each(0.1, n), 1e-12)
	}
	for _, total := range []float64{0.1, 1, MinRho, check.MaxRho, 1.0 / 3} {
		b := spending{total: total}
		sum := 0.0
		for range 40 {
			sum += b.take(total / 30)
		}
		sum += b.take(math.Inf(1)) + b.take(total)
		require.LessOrEqual(t, sum, total)
		require.GreaterOrEqual(t, sum, total*(1-1e-13))
	}
}

func TestPlanning(t *testing.T) {
	a := Params{Rho: 1, Dim: 2048, Rows: 4000, Max: 25 * math.Sqrt(2048), Resolution: 1, Relation: budget.Replace}
	one := []float64{1}
	o := dptest.OK(a.Plan(one))(t)
	require.True(t, o.Enough, "%v", o)
	require.InEpsilon(t, 0.74, o.Noise, 0.1, "Gaussian A at ρ = 1: √(1.045² − .717²)")
	require.InEpsilon(t, math.Sqrt(2048.0/4000), o.Sampling, 1e-9)
	require.Greater(t, o.Plain, 500*o.Noise)
	require.Less(t, o.LeastRows, 4000)
	a.Rows, a.Rho = 500, 0.125
	o = dptest.OK(a.Plan(one))(t)
	require.False(t, o.Enough)
	require.Greater(t, o.Failure, 0.5)
	a.Rows = o.LeastRows
	again := dptest.OK(a.Plan(one))(t)
	require.True(t, again.Enough && again.LeastRows == a.Rows, "%v", again)
	a.Rows--
	again = dptest.OK(a.Plan(one))(t)
	require.False(t, again.Enough)
	skewed := dptest.OK(Params{Rho: 1, Dim: 512, Rows: 10000, Max: 1e5, Resolution: 1, Relation: budget.Replace}.Plan(dptest.Powers(512, 1)))(t)
	flat := dptest.OK(Params{Rho: 1, Dim: 512, Rows: 10000, Max: 1e5, Resolution: 1, Steps: Steps{Scaling: Unscaled}, Relation: budget.Replace}.Plan(dptest.Powers(512, 1)))(t)
	require.Less(t, skewed.Noise, 0.6*flat.Noise)
	for _, scales := range [][]float64{{1, 2}, {0}, {-1}, {math.NaN()}, {math.Inf(1)}} {
		require.ErrorIs(t, dptest.Err(Params{Rho: 1, Dim: 512, Rows: 10000, Max: 1e5, Relation: budget.Replace}.Plan(scales)), check.ErrParams)
	}
	for _, m := range []Method{TwoPass, Plain, Thesis} {
		dptest.OK(Params{Rho: 1, Dim: 3, Rows: 1, NonNegative: true, Method: m, Relation: budget.Replace}.Plan(nil))(t)
	}
}

// Fit is the inverse of the Noise that Plan tells.
func TestFit(t *testing.T) {
	for _, p := range []Params{
		{Rho: 0.5, Dim: 100, Max: 1000, Resolution: 1, Relation: budget.Replace}, {Rho: 0.01, Dim: 1, Max: 10, Relation: budget.AddRemove},
		{Rho: 1, Dim: 5000, NonNegative: true, Relation: budget.Replace}, {Rho: 1, Dim: 20, Max: 1, Method: Plain, Relation: budget.Replace}, {Rho: 2, Dim: 7, Max: 1, Method: Adaptive, Relation: budget.Replace},
	} {
		for _, noise := range []float64{0.001, 0.1, 3} {
			n := dptest.OK(p.Fit(noise, []float64{0.3 * p.filled().Max}))(t)
			good := func(n int) bool {
				q := p
				q.Rows = n
				o := dptest.OK(q.Plan([]float64{0.3 * p.filled().Max}))(t)
				return o.Noise <= noise && (o.Enough || o.Method == Plain)
			}
			require.True(t, good(n), "%+v: %v", p, noise)
			require.False(t, n > 1 && good(n-1), "%+v: %v", p, noise)
		}
	}
	good := Params{Rho: 1, Dim: 2, Max: 1, Relation: budget.Replace}
	for _, noise := range []float64{0, -1, math.NaN(), 1e-300} {
		require.ErrorIs(t, dptest.Err(good.Fit(noise, nil)), check.ErrParams)
	}
	require.ErrorIs(t, dptest.Err(Params{}.Fit(1, nil)), check.ErrParams)
	require.ErrorIs(t, dptest.Err(good.Fit(1, []float64{-1})), check.ErrParams)
}

// What is smaller than all that matters is planned for as the least that matters: no number of the
// The Plan underflows to 0/0.
func TestPlanForTinyScales(t *testing.T) {
	for _, p := range []Params{{Rho: 1, Dim: 5, Rows: 1000, Max: 1, Relation: budget.Replace}, {Rho: 1, Dim: 1, Rows: 1 << 30, Max: 0x1p-100, Resolution: 0x1p-159, P: maxP, Relation: budget.Replace}, {Rho: MinRho, Dim: 2, Rows: 9, NonNegative: true, Relation: budget.Replace}} {
		for _, scale := range []float64{5e-324, 0x1p-1022, 0x1p-200, 0x1p-4 * p.filled().Resolution} {
			o := dptest.OK(p.Plan([]float64{scale}))(t)
			require.True(t, o.Noise > 0 && o.Plain > 0 && o.Sampling > 0, "%+v %v: %+v", p, scale, o)
			least := dptest.OK(p.Plan([]float64{0x1p-4 * p.filled().Resolution}))(t)
			require.Equal(t, least, o)
		}
	}
}

// How many rows are clipped, and the budget of C, are what limit.go says: by the rule, for
// symmetric rows, and where they are given.
func TestDepth(t *testing.T) {
	const l = 4.9 // of β = 0.005
	for _, d := range []int{1, 4, 16, 100, 10_000} {
		for _, rho := range []float64{0.01, 1} {
			for _, n := range []float64{100, 1000, 1e5, 1e8} {
				for _, relation := range []budget.Relation{budget.Replace, budget.AddRemove} {
					p := Params{Method: Adaptive, Dim: d, Rho: rho, Max: 1, Relation: relation}.Resolved()
					got, s := p.depth(n, only), map[budget.Relation]float64{budget.Replace: 2, budget.AddRemove: 1}[relation]
					f := min(max(l*l/(18*s*s*float64(d)), 0.005), 0.2)
					k := max(3*s*math.Sqrt(float64(d)/rho), l/math.Sqrt(2*f*rho))
					if k > n/8 {
						k = n / 8
						f = min(max(f, l*l/(2*rho*k*k)), 0.4)
					}
					name := fmt.Sprintf("d = %d, ρ = %v, n = %v, %v", d, rho, n, relation)
					require.InEpsilon(t, k, got.rows, 0.01, name)
					require.InEpsilon(t, f*rho, got.rho, 0.02, name)
					require.GreaterOrEqual(t, math.Sqrt(2*got.rho)*got.rows, min(0.99*l, math.Sqrt(0.8*rho)*n/8), "C is above all rows with a probability of about e^−L at most: %s", name)
					p.Symmetric = true
					want := max(min(17*math.Sqrt(max(float64(d), 36)/rho)/n, 1.0/8), 1.0/1024)
					require.InDelta(t, want, p.depth(n, only).rows/n, 1e-12, name)
					require.InDelta(t, min(want, 3.0/32), min(p.depth(n, first).rows/n, want), 1e-12, name)
					p.Steps.Clip = 0.75
					require.Equal(t, n/4, p.depth(n, only).rows)
					p.Shares.Clip = 0.25
					require.Equal(t, 0.25*rho, p.depth(n, only).rho)
				}
			}
		}
	}
}

// The base measure of C has all keys once, falls as the axis goes up, by 16 in each of 8 octaves
// from 2M₁ on, and by 2⁴⁴ at most. If nothing is known of the rows that are not 0, it falls by 4 up
// to the end.
func TestTiltedBase(t *testing.T) {
	a := quantile.LogAxis(100*0x1p-48, 100, normBits)
	for _, typical := range []float64{0, 1e-30, 0x1p-20, 1, 50, 100, 1e9} {
		base, next, last := tilted(a, typical, true), uint64(0), uint64(math.MaxUint64)
		for _, r := range base {
			require.Equal(t, next, r.Start)
			require.True(t, r.End > r.Start && r.Weight >= 1 && r.Weight < last, "%v", base)
			next, last = r.End, r.Weight
		}
		require.Equal(t, a.Keys, next)
	}
	base := tilted(a, 0x1p-20, true)
	require.Equal(t, uint64(a.Key(0x1p-19)), base[0].End)
	for i, r := range base[1:9] {
		require.Equal(t, quantile.Region{Start: base[i].End, End: base[i].End + 1<<normBits, Weight: base[i].Weight / 16}, r)
	}
	require.Equal(t, []uint64{1 << 44, 2048, 1}, []uint64{base[0].Weight, base[9].Weight, base[len(base)-1].Weight})
	a = quantile.LogAxis(0x1p-20, 1, normBits)
	falls := func(known bool) (by []uint64) {
		base := tilted(a, a.Unit, known)
		for i, r := range base[1:] {
			by = append(by, base[i].Weight/r.Weight)
		}
		return by
	}
	require.Equal(t, []uint64{16, 16, 16, 16, 16, 16, 16, 16, 4, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}, falls(true), "of 19 octaves")
	require.Equal(t, []uint64{4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4}, falls(false), "of 19 octaves from 2M₁ on")
}

// Auto is Plain where that is better by the public numbers, and only if nothing is asked for.
func TestAutoFallsBackToPlain(t *testing.T) {
	for _, c := range []struct {
		name string
		p    Params
		n    float64
		want Method
	}{
		{"many rows", Params{Max: 1000, Relation: budget.Replace}, 1000, Adaptive},
		{"few rows", Params{Max: 1000, Relation: budget.Replace}, 20, Plain},
		{"few rows, a step", Params{Max: 1000, Steps: Steps{Undivided: true}, Relation: budget.Replace}, 20, Adaptive},
		{"few rows, a share", Params{Max: 1000, Shares: Shares{Clip: 0.1}, Relation: budget.Replace}, 20, Adaptive},
		{"few rows, a method", Params{Max: 1000, Method: Adaptive, Relation: budget.Replace}, 20, Adaptive},
		{"nothing to find", Params{Max: 1000, Resolution: 1000, Relation: budget.Replace}, 1000, Plain},
		{"bits", Params{NonNegative: true, Resolution: 1}, 1000, Plain},
		{"fractions", Params{NonNegative: true}, 1000, Adaptive},
	} {
		c.p.Rho, c.p.Dim, c.p.Relation = 1, 2, budget.Replace
		require.Equal(t, c.want, c.p.Resolved().chosen(c.n, false, nil).Method, c.name)
		m := release(t, c.p, make([][]float64, int(c.n)))
		checkValid(t, m)
		require.Equal(t, c.want, m.Params.Method, c.name)
		c.p.Rows = int(c.n)
		o := dptest.OK(c.p.Plan(nil))(t)
		require.Equal(t, c.want, o.Method, c.name)
	}
	p := Params{Rho: 0.125, Dim: 2048, Rows: 4000, Max: 25 * math.Sqrt(2048), Resolution: 1, Relation: budget.Replace}
	o := dptest.OK(p.Plan(nil))(t)
	require.False(t, o.Enough, "for columns that differ in scale")
	require.Equal(t, Adaptive, o.Method, "but a pilot saves enough where they are alike")
	m := dptest.OK(New(Params{Rho: 1, Dim: 2, Max: 1000, Resolution: 1000, Relation: budget.Replace}))(t)
	m = dptest.OK(m.WithScales([]float64{1, 2}))(t)
	out := dptest.OK(m.Release(t.Context(), make([][]float64, 1000)))(t)
	require.Equal(t, Adaptive, out.Params.Method, "scales that are given are used")
}
