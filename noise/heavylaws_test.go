package noise

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/integrate/quad"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// named is a law for the tests that all of this file's laws share.
type named struct {
	distribution
	name  string
	scale float64 // a typical size of X
	ends  []float64
}

// stairEnds returns the discontinuities of a staircase's density in units of Δ.
func stairEnds(epsilon, gamma float64) []float64 {
	var ends []float64
	for j := range int(40/epsilon) + 40 {
		ends = append(ends, float64(j)+gamma)
	}
	return ends
}

// heavyLaws returns staircases, Pareto and Student-type laws of all shapes, at the given unit.
func heavyLaws(t testing.TB, unit float64) (all []named) {
	t.Helper()
	for _, epsilon := range []float64{0.01, 0.5, 1, 3, 8, 20} {
		for _, gamma := range []float64{0, 0.25, 1 / (1 + math.Exp(epsilon/2)), 1} {
			d := dptest.OK(NewStaircase(epsilon, unit, gamma))(t)
			all = append(all, named{d, fmt.Sprintf("Staircase(%g, %g, %g)", epsilon, unit, gamma), d.MeanAbs(), stairEnds(epsilon, gamma)})
		}
	}
	for _, shape := range []float64{1.3, 1.999, 2, 2.5, 3, 3.5, 4, 7.7, 60, mostStudent, 1e4, mostShape} {
		p := dptest.OK(NewPareto(shape, unit))(t)
		all = append(all, named{p, fmt.Sprintf("Pareto(%g, %g)", shape, unit), unit / shape, nil})
		if shape >= 2 && shape <= mostStudent {
			s := dptest.OK(NewStudent(shape, unit))(t)
			all = append(all, named{s, fmt.Sprintf("Student(%g, %g)", shape, unit), unit / math.Sqrt(shape), nil})
		}
	}
	return all
}

func TestHeavyTails(t *testing.T) {
	type tails struct{ survival, cdf, log dptest.Worst }
	var pareto, student, stairs tails
	record := func(w *tails, d distribution, row []float64) {
		n := len(row)
		x, want, logWant := row[n-3], row[n-2], row[n-1]
		if want > 0x1p-1000 {
			w.survival.See(d.Survival(x), want, row...)
			w.cdf.See(d.CDF(-x), want, row...)
		}
		if math.Abs(logWant) > 0x1p-1000 {
			w.log.See(d.LogSurvival(x), logWant, row...)
		}
	}
	heavy := func(law string, columns int) [][]float64 { return dptest.Rows(t, "testdata/heavy.txt", law, columns) }
	for _, row := range heavy("pareto", 5) {
		d := dptest.OK(NewPareto(row[0], row[1]))(t)
		record(&pareto, d, row)
	}
	for _, row := range heavy("student", 5) {
		d := dptest.OK(NewStudent(row[0], row[1]))(t)
		record(&student, d, row)
	}
	for _, row := range heavy("staircase", 6) {
		d := dptest.OK(NewStaircase(row[0], row[1], row[2]))(t)
		record(&stairs, d, row)
	}
	for name, w := range map[string]*tails{"Pareto": &pareto, "Student": &student, "Staircase": &stairs} {
		limit := map[string]float64{"Pareto": 2e-13, "Student": 2e-13, "Staircase": 1e-14}[name]
		w.survival.Check(t, name+" Survival", limit)
		w.cdf.Check(t, name+" CDF", limit)
		w.log.Check(t, name+" LogSurvival", limit)
	}
}

func TestHeavyMoments(t *testing.T) {
	var variance, meanAbs, student dptest.Worst
	for _, row := range dptest.Rows(t, "testdata/heavy.txt", "stairmoments", 4) {
		d := dptest.OK(NewStaircase(row[0], 1, row[1]))(t)
		variance.See(d.Variance(), row[2], row...)
		meanAbs.See(d.MeanAbs(), row[3], row...)
	}
	for _, row := range dptest.Rows(t, "testdata/heavy.txt", "studentmoments", 2) {
		d := dptest.OK(NewStudent(row[0], 1))(t)
		student.See(d.MeanAbs(), row[1], row...)
	}
	variance.Check(t, "Staircase Variance", 5e-15)
	meanAbs.Check(t, "Staircase MeanAbs", 5e-15)
	student.Check(t, "Student MeanAbs", 5e-15)

	p, _ := NewPareto(3, 2.5)
	s, _ := NewStudent(3, 2.5)
	assert.Equal(t, 2.5, p.MeanAbs(), "the paper's footnote 10")
	assert.InEpsilon(t, 2.5, s.MeanAbs(), 1e-15)
	for _, d := range []distribution{p, s} {
		assert.Equal(t, math.Inf(1), d.Variance())
	}
	p, _ = NewPareto(2, 1)
	s, _ = NewStudent(2, 1)
	assert.Equal(t, []float64{math.Inf(1), math.Inf(1)}, []float64{p.MeanAbs(), s.MeanAbs()})
	p, _ = NewPareto(5, 3)
	s, _ = NewStudent(5, 3)
	assert.InEpsilon(t, 3, p.Variance(), 1e-15)
	assert.InEpsilon(t, 4.5, s.Variance(), 1e-15)
}

// integral returns ∫ f over [0, ∞), pieces of geometrically growing length cut at the ends too, by
// Gauss and Legendre.
func integral(f func(float64) float64, d named, from, to float64) float64 {
	cuts := []float64{from}
	next := func(x float64) float64 { return x + math.Max(0.25*d.scale, 0.25*x) }
	ends := d.ends
	for x := from; x < to; {
		y := min(next(x), to)
		for len(ends) > 0 && ends[0] <= x {
			ends = ends[1:]
		}
		if len(ends) > 0 && ends[0] < y {
			y = ends[0]
		}
		cuts = append(cuts, y)
		x = y
	}
	sum := 0.0
	for i := 1; i < len(cuts); i++ {
		sum += quad.Fixed(f, cuts[i-1], cuts[i], 40, quad.Legendre{}, 0)
	}
	return sum
}

// The first route: the density integrates to the CDF, and to the moments. The tails are integrated
// as far as they matter.
func TestProbIntegratesToCDF(t *testing.T) {
	for _, d := range heavyLaws(t, 1) {
		from := 0.0
		for _, z := range []float64{0.1, 0.7, 1, 2.2, 5, 19} {
			to := z * d.scale
			got := integral(d.Prob, d, from, to)
			want := d.Survival(from) - d.Survival(to)
			assert.InDelta(t, want, got, 1e-13+2e-10*want, "%s in [%g, %g]", d.name, from, to)
			from = to
		}
		if far := d.Quantile(1 - 1e-16); len(d.ends) == 0 && far < 1e30 {
			assert.InEpsilon(t, 0.5, integral(d.Prob, d, 0, far), 1e-11, d.name)
			if far*far*d.Survival(far) < 1e-13 {
				second := 2 * integral(func(x float64) float64 { return x * x * d.Prob(x) }, d, 0, far)
				assert.InEpsilon(t, d.Variance(), second, 1e-9+1e3*far*far*d.Survival(far), d.name)
			}
		}
		if far := d.Quantile(1 - 1e-13); far*d.Survival(far) < 1e-9 && d.scale < 4 && far < 40 {
			first := 2 * integral(func(x float64) float64 { return x * d.Prob(x) }, d, 0, far)
			assert.InEpsilon(t, d.MeanAbs(), first, 1e-9+20*far*d.Survival(far)/d.MeanAbs(), d.name)
		}
	}
}

func TestHeavyQuantile(t *testing.T) {
	for _, unit := range []float64{1, 0.3, 0x1p-900, 0x1p200} {
		for _, d := range heavyLaws(t, unit) {
			last := math.Inf(-1)
			for _, p := range []float64{1e-300, 1e-50, 1e-17, 1e-9, 1e-4, 0.01, 0.1, 0.2, 0.4, 0.4999, 0.5 - 1e-12, 0.5, 0.5 + 1e-12, 0.7, 0.99, 1 - 1e-9, 1 - 0x1p-53} {
				x := d.Quantile(p)
				assert.GreaterOrEqual(t, x, last, "%s at %g", d.name, p)
				last = x
				if math.IsInf(x, 0) {
					// out of range indeed
					assert.Less(t, d.LogSurvival(math.MaxFloat64), -d.LogSurvival(0))
					assert.GreaterOrEqual(t, d.LogSurvival(math.MaxFloat64)+1e-12, math.Log(min(p, 1-p)), "%s at %g", d.name, p)
					continue
				}
				assert.InDelta(t, p, d.CDF(x), 1e-12, "%s at %g", d.name, p)
				if s, ok := d.distribution.(Staircase); ok && s.law.epsilon > 3 {
					// at the end of a step a float64 x does not determine CDF to 1e-12 of it
					continue
				}
				if p <= 0.5 {
					assert.InEpsilon(t, p, d.CDF(x), 4e-12, "%s at %g", d.name, p)
				} else {
					assert.InEpsilon(t, 1-p, d.Survival(x), 4e-12, "%s at %g", d.name, p)
				}
			}
			assert.Equal(t, []float64{math.Inf(-1), math.Inf(1)}, []float64{d.Quantile(0), d.Quantile(1)})
		}
	}
}

func TestHeavyEnds(t *testing.T) {
	inf := math.Inf(1)
	for _, unit := range []float64{0x1p-900, 1, 0x1p900} {
		for _, d := range heavyLaws(t, unit) {
			for _, got := range []float64{d.CDF(math.NaN()), d.Survival(math.NaN()), d.LogSurvival(math.NaN()), d.Quantile(math.NaN()), d.Prob(math.NaN()),
				d.LogProb(math.NaN()), d.Quantile(-0.1), d.Quantile(1.1), d.Quantile(inf), d.Quantile(-5e-324)} {
				assert.True(t, math.IsNaN(got), "%s: %g", d.name, got)
			}
			assert.Equal(t, []float64{0, 1, 1, 0}, []float64{d.CDF(-inf), d.CDF(inf), d.Survival(-inf), d.Survival(inf)}, d.name)
			assert.Equal(t, []float64{0, -inf}, []float64{d.LogSurvival(-inf), d.LogSurvival(inf)}, d.name)
			assert.Equal(t, []float64{0, 0, -inf, -inf}, []float64{d.Prob(-inf), d.Prob(inf), d.LogProb(-inf), d.LogProb(inf)}, d.name)
			assert.Equal(t, 0.0, d.Mean())
			assert.InDelta(t, 0.5, d.CDF(0), 1e-15, d.name)
			for _, x := range []float64{5e-324, 1e-300, 1e300, math.MaxFloat64, -math.MaxFloat64} {
				for i, got := range []float64{d.CDF(x), d.Survival(x), d.LogSurvival(x), d.Prob(x), d.LogProb(x)} {
					assert.False(t, math.IsNaN(got) || i < 3 && got > 1, "%s at %g: %d: %g", d.name, x, i, got)
				}
			}
			for _, p := range []float64{5e-324, 1e-308, 0x1p-53, 0.5, 1 - 0x1p-53} {
				assert.False(t, math.IsNaN(d.Quantile(p)), "%s at %g", d.name, p)
			}
			last := 1.0
			for z := -60.0; z < 60; z += 0.13 * float64(dptest.Fewer(1, 5)) {
				x := z * d.scale
				s := d.Survival(x)
				assert.LessOrEqual(t, s, last*(1+1e-13), "%s at %g", d.name, x)
				assert.InDelta(t, 1, s+d.CDF(x), 4e-15, "%s at %g", d.name, x)
				assert.Equal(t, d.Prob(x), d.Prob(-x))
				if s > 1e-290 {
					assert.InEpsilon(t, s, math.Exp(d.LogSurvival(x)), 2e-12, "%s at %g", d.name, x)
				}
				if p := d.Prob(x); p*d.scale > 1e-290 && p > 1e-290 && !math.IsInf(p, 1) {
					// else a denormal on the way
					assert.InEpsilon(t, p, math.Exp(d.LogProb(x)), 2e-12, "%s at %g", d.name, x)
				}
				last = s
			}
		}
	}
}

func TestHeavyNewRejects(t *testing.T) {
	for _, v := range outside {
		_, e1 := NewStaircase(1, v, 0.5)
		requireParams(t, e1, "sensitivity", v)
		_, e2 := NewPareto(3, v)
		requireParams(t, e2, "scale", v)
		_, e3 := NewStudent(3, v)
		requireParams(t, e3, "scale", v)
		_, e4 := NewStaircase(v, 1, 0.5)
		requireParams(t, e4, "epsilon", v)
		_, e5 := StaircaseGamma(v)
		requireParams(t, e5, "epsilon", v)
		_, e6 := StaircaseGammaVariance(v)
		requireParams(t, e6, "epsilon", v)
	}
	for _, v := range []float64{-1, -5e-324, math.Nextafter(1, 2), math.NaN(), math.Inf(1)} {
		dptest.Refused(t, dptest.Err(NewStaircase(1, 1, v)), ErrParams, "noise: gamma = ")
	}
	for _, v := range []float64{0, 1, -1, 0x1p21, math.NaN(), math.Inf(1), math.Inf(-1), 5e-324} {
		dptest.Refused(t, dptest.Err(NewPareto(v, 1)), ErrParams, "noise: shape = ")
		require.ErrorIs(t, dptest.Err(NewStudent(v, 1)), ErrParams)
	}
	require.ErrorIs(t, dptest.Err(NewStudent(math.Nextafter(2, 0), 1)), ErrParams)
	for _, v := range []float64{0x1p-31, 513} {
		_, err := NewStaircase(v, 1, 0.5)
		requireParams(t, err, "epsilon", v)
	}
	s := dptest.OK(NewStaircase(0.5, 3, math.Copysign(0, -1)))(t)
	again, _ := NewStaircase(0.5, 3, 0)
	require.Equal(t, again, s)
	epsilon, sensitivity, gamma := s.Parameters()
	require.False(t, math.Signbit(gamma))
	require.Equal(t, []float64{0.5, 3}, []float64{epsilon, sensitivity})
	p, _ := NewPareto(1.5, 7)
	u, _ := NewStudent(2.5, 8)
	require.Equal(t, []float64{1.5, 7, 2.5, 8}, []float64{p.Shape(), p.Scale(), u.Shape(), u.Scale()})
}
