package means

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/cryptotest"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/stretchr/testify/require"
)

// The theorem of scale.go: no parts of ρ have less error than those in proportion to
// (wσ)^{2p/(p+2)}, which the factors of the thesis and of Relative have, and which are equal where
// p goes to 0.
func TestSplitOfRelative(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2)) // test data
	for range 200 {
		d, p := 2+rng.IntN(6), math.Exp2(8*rng.Float64()-4)
		sigma := make([]float64, d)
		for i := range sigma {
			sigma[i] = math.Pow(10, 9*rng.Float64())
		}
		// parts are those that factors have
		parts := func(factor func(s float64) float64) []float64 {
			s, sum := make([]float64, d), 0.0
			for i, x := range sigma {
				s[i] = x * x * factor(x) * factor(x)
				sum += s[i]
			}
			for i := range s {
				s[i] /= sum
			}
			return s
		}
		for _, relative := range []bool{false, true} {
			of := Params{P: p, Relative: relative, Max: 0x1p100}
			errorOf := func(s []float64) (sum float64) {
				for i, x := range sigma {
					if relative {
						x = 1
					}
					sum += math.Pow(x/math.Sqrt(s[i]), p)
				}
				return sum
			}
			best := parts(of.factor)
			for range 50 {
				other, sum := slices.Clone(best), 0.0
				for i := range other {
					other[i] *= math.Exp(rng.NormFloat64() * math.Exp2(-8*rng.Float64()))
					sum += other[i]
				}
				for i := range other {
					other[i] /= sum
				}
				require.GreaterOrEqual(t, errorOf(other), errorOf(best)*(1-1e-12), "relative %v, p = %v", relative, p)
			}
			if relative {
				for _, s := range best {
					require.InEpsilon(t, 1/float64(d), s, 1e-9, "the same share for all")
				}
			}
		}
		small := parts((&Params{P: 1e-6}).factor)
		require.InEpsilon(t, 1/float64(d), slices.Min(small), 1e-4, "p → 0")
	}
}

// mixed returns n rows of d columns of mixed units, and the mean and the standard deviation of each
// column.
func mixed(n, d int, columns ...func(rng *rand.Rand) float64) (x [][]float64, mean, sd []float64) {
	rng := rand.New(rand.NewPCG(9, uint64(n))) // test data
	x, mean, sd = make([][]float64, n), make([]float64, d), make([]float64, d)
	for j := range x {
		x[j] = make([]float64, d)
		for i := range x[j] {
			x[j][i] = columns[i%len(columns)](rng)
			mean[i] += x[j][i] / float64(n)
		}
	}
	for i := range sd {
		for _, row := range x {
			sd[i] += (row[i] - mean[i]) * (row[i] - mean[i]) / float64(n)
		}
		sd[i] = math.Sqrt(sd[i])
	}
	return x, mean, sd
}

func rating(rng *rand.Rand) float64    { return min(max(6.5+1.5*rng.NormFloat64(), 0), 10) }
func boxOffice(rng *rand.Rand) float64 { return min(1e7*math.Exp(1.5*rng.NormFloat64()), 1e10) }
func year(rng *rand.Rand) float64      { return math.Round(2000 + 15*rng.NormFloat64()) }
func minutes(rng *rand.Rand) float64   { return math.Round(105 + 20*rng.NormFloat64()) }
func dose(rng *rand.Rand) float64      { return 1e-6 * rng.ExpFloat64() }

func seldom(rng *rand.Rand) float64 {
	if rng.Float64() < 0.2 {
		return 1
	}
	return 0
}

// relativeErrors returns the root mean square of the errors of each column over releases, in its
// standard deviations, and the median over releases of that over all columns.
func relativeErrors(t testing.TB, p Params, releases int, x [][]float64, mean, sd []float64) (each []float64, median float64) {
	t.Helper()
	each, p.Workers = make([]float64, len(mean)), 1 // in one order of draws
	var all []float64
	for range releases {
		m, sum := release(t, p, x), 0.0
		for i := range each {
			e := (m.Values[i] - mean[i]) / sd[i]
			each[i] += e * e / float64(releases)
			sum += e * e / float64(len(each))
		}
		all = append(all, math.Sqrt(sum))
	}
	for i := range each {
		each[i] = math.Sqrt(each[i])
	}
	slices.Sort(all)
	return each, all[releases/2]
}

// Five columns of a table of films, ρ = ½: the noise of the mean rating was half a thousand ratings
// and more, as errors counted in one unit and scales below Max/2²⁴ as that. Noise is fixed.
func TestRelativeFilms(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 6)
	x, mean, sd := mixed(2000, 5, rating, boxOffice, year, minutes, seldom)
	p := Params{Rho: 0.5, Dim: 5, Max: 1e10, Relation: budget.AddRemove}
	half := func(p Params) float64 { return 1.96 * release(t, p, x).Errors[0] }
	before := half(p)
	p.Relative = true
	t.Logf("half-width of the mean rating: %.3g, in one unit %.3g", half(p), before)
	require.Less(t, half(p), 0.04)
	require.Greater(t, before, 500.)
	each, _ := relativeErrors(t, p, 10, x, mean, sd)
	for i, e := range each {
		require.Less(t, e, 0.05, "column %d", i)
	}
}

// Columns whose scales differ by 10⁹ cost what equal ones do, within 1.3, in 2 to 20 columns. Noise
// is fixed.
func TestRelativeCost(t *testing.T) {
	dptest.NotShort(t, "medians of a few releases say nothing")
	cryptotest.SetGlobalRandom(t, 7)
	for _, d := range []int{2, 5, 20} {
		for _, relation := range []budget.Relation{budget.AddRemove, budget.Replace} {
			scale := 1.0
			equal := func(rng *rand.Rand) float64 { return 3 + rng.NormFloat64() }
			columns := make([]func(rng *rand.Rand) float64, d)
			for i := range columns {
				columns[i] = func(rng *rand.Rand) float64 {
					return equal(rng) * math.Pow(scale, float64(i)/float64(d-1))
				}
			}
			var errs []float64
			for _, scale = range []float64{1, 1e9} {
				x, mean, sd := mixed(5000, d, columns...)
				p := Params{Rho: 0.5, Dim: d, Max: 1e11, Relative: scale > 1, Relation: relation}
				_, e := relativeErrors(t, p, dptest.Full(50, 15), x, mean, sd)
				errs = append(errs, e)
			}
			t.Logf("%d columns, %v: %.3g equal, %.3g", d, relation, errs[0], errs[1])
			require.Less(t, errs[1], 1.3*errs[0])
		}
	}
}

// A table of mixed units, n = 1000 to 10⁵, 5 and 50 columns, in standard deviations of the columns:
// Relative beside errors in one unit. Noise is fixed.
func TestRelativeTable(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 8)
	for _, c := range []struct {
		n, d int
		most float64
	}{{1000, 5, 0.04}, {10_000, 5, 0.006}, {100_000, 5, 0.0012}, {1000, 50, 0.25}, {10_000, 50, 0.006}, {100_000, 50, 0.0012}} {
		if c.n*c.d > 50_000 && !dptest.Long() {
			continue
		}
		x, mean, sd := mixed(c.n, c.d, rating, boxOffice, year, minutes, seldom, dose)
		p := Params{Rho: 0.5, Dim: c.d, Max: 1e10, Relation: budget.AddRemove}
		_, before := relativeErrors(t, p, 5, x, mean, sd)
		p.Relative = true
		each, now := relativeErrors(t, p, dptest.Full(20, 9), x, mean, sd)
		t.Logf("n = %d, %d columns: %.3g, before %.3g; columns %.2g", c.n, c.d, now, before, each[:min(6, c.d)])
		require.Less(t, now, c.most)
		require.Greater(t, before, 1000*now)
	}
}

// A column that is constant, one with rare events and one of NaN have no scale: they are left out,
// do no harm to the others, and NoiseInterval says how far rare events may take the mean. Noise is
// fixed.
func TestRelativeWithoutScale(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 9)
	rare := func(rng *rand.Rand) float64 {
		if rng.Float64() < 0.002 {
			return 1
		}
		return 0
	}
	x, mean, sd := mixed(5000, 5, rating, year, func(*rand.Rand) float64 { return 7 }, rare, func(*rand.Rand) float64 { return math.NaN() })
	for _, relation := range []budget.Relation{budget.AddRemove, budget.Replace} {
		p := Params{Rho: 0.5, Dim: 5, Max: 1e10, Relative: true, Relation: relation}
		for range dptest.Full(50, 10) {
			m := release(t, p, x)
			checkValid(t, m)
			for i := range 2 {
				require.InDelta(t, mean[i], m.Values[i], 0.05*sd[i], "column %d", i)
				require.Less(t, m.Errors[i], 0.01*sd[i])
			}
			require.InDelta(t, 7, m.Values[2], 1e-5)
			require.InDelta(t, 0, m.Values[3], 1e-9)
			require.Less(t, mean[3], 1.96*m.Errors[3])
			for i := 2; i < 5; i++ {
				require.Equal(t, 4e10, m.Scales[i])
				lo, hi := m.Bounded(i, 0.95)
				require.Equal(t, []float64{-1e10, 1e10}, []float64{lo, hi})
			}
		}
		for _, rows := range [][][]float64{slices.Repeat([][]float64{{1, 2, 3, 4, 5}}, 500), nil, {{1, 2, 3, 4, 5}}} {
			for _, method := range []Method{Auto, Adaptive} {
				p.Method = method
				m := release(t, p, rows)
				checkValid(t, m)
			}
		}
	}
}

// All scales share what they spend: where that is too little for so many columns, many are far off,
// and they would not be if each had what is for all. Noise is fixed.
func TestRelativeScalesShare(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 13)
	x, _, sd := mixed(1000, 256, func(rng *rand.Rand) float64 { return rng.NormFloat64() })
	off := 0
	m := release(t, Params{Rho: 0.01, Dim: 256, Max: 1e10, Relative: true, Method: Adaptive, Relation: budget.Replace}, x)
	for i, s := range sd {
		if r := m.Scales[i] / s; r < 0.5 || r > 2 {
			off++
		}
	}
	t.Logf("%d of 256 scales are off", off)
	require.Greater(t, off, 50)
}

// Nothing depends on Max where no Resolution is given: with a Max of 10⁴ to 10²⁴ the errors of
// columns of about 1 are the same. Scales once counted as Max/2²⁴ at least. Noise is fixed.
func TestScaleFree(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 11)
	x, mean, sd := mixed(3000, 4, rating, dose, minutes, year)
	narrow, meanOf, sdOf := mixed(3000, 4, rating, rating, minutes, minutes)
	for _, relative := range []bool{true, false} {
		if !relative {
			x, mean, sd = narrow, meanOf, sdOf
		}
		var first float64
		for _, bound := range []float64{1e4, 1e10, 1e17, 1e24} {
			_, e := relativeErrors(t, Params{Rho: 0.5, Dim: 4, Max: bound, Relative: relative}, 25, x, mean, sd)
			first = max(first, 0)
			if first == 0 {
				first = e
			}
			t.Logf("relative %v, Max %g: %.3g", relative, bound, e)
			require.InEpsilon(t, first, e, 0.4, fmt.Sprint(relative, bound))
		}
	}
}

// Without scales a Plan has NaN for what depends on them: the noise was that of columns that vary
// by the Resolution, 34.5 for 2.2·10⁵. Relative noise depends on none.
func TestPlanWithoutScales(t *testing.T) {
	p := Params{Rho: 0.5, Dim: 5, Rows: 10_000, Max: 1e10}
	o := dptest.OK(p.Plan(nil))(t)
	require.True(t, math.IsNaN(o.Noise) && math.IsNaN(o.StdDev) && math.IsNaN(o.Sampling) && o.Plain > 0 && o.Enough && o.Failure < 0.01, "%+v", o)
	require.Error(t, dptest.Err(p.Fit(1, nil)))
	known := dptest.OK(p.Plan([]float64{1, 1e7, 15, 20, 0.4}))(t)
	require.Greater(t, known.Noise, 1000.)
	p.Method = Plain
	o = dptest.OK(p.Plan(nil))(t)
	require.True(t, o.Noise == o.Plain && o.StdDev > 0 && math.IsNaN(o.Sampling))
	p.Relative = true
	o = dptest.OK(p.Plan(nil))(t)
	require.True(t, math.IsNaN(o.Noise) && math.IsNaN(o.Plain) && o.Sampling > 0)
	p.Method = Auto
	o = dptest.OK(p.Plan(nil))(t)
	require.True(t, math.IsNaN(o.Plain) && o.Enough && o.LeastRows < 1000, "%+v", o)
	known = dptest.OK(p.Plan([]float64{1, 1e7, 15, 20, 0.4}))(t)
	require.InEpsilon(t, known.Noise, o.Noise, 1e-9)
	require.Greater(t, known.Plain, 1e6*known.Noise)
	require.InEpsilon(t, math.Sqrt(5./10_000), o.Sampling, 1e-9)
	n := dptest.OK(p.Fit(0.001, nil))(t)
	p.Rows = n
	require.LessOrEqual(t, dptest.OK(p.Plan(nil))(t).Noise, 0.001)
	// what comes is what was planned
	cryptotest.SetGlobalRandom(t, 12)
	x, _, sd := mixed(10_000, 5, rating, minutes, minutes, year, rating)
	p.Rows = 10_000
	o = dptest.OK(p.Plan(nil))(t)
	m := release(t, p, x)
	for i := range sd {
		require.InEpsilon(t, o.StdDev, m.Errors[i]/sd[i], 0.35)
	}
}
