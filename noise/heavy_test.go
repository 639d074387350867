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

// named is a distribution for the tests of this file.
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

// heavyDistributions returns staircases, Pareto and Student-type distributions of all shapes, at
// the given unit.
func heavyDistributions(t testing.TB, unit float64) (all []named) {
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
	heavy := func(name string, columns int) [][]float64 { return dptest.Rows(t, "testdata/heavy.txt", name, columns) }
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
	for _, d := range heavyDistributions(t, 1) {
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
		for _, d := range heavyDistributions(t, unit) {
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
				if s, ok := d.distribution.(Staircase); ok && s.formulas.epsilon > 3 {
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
		for _, d := range heavyDistributions(t, unit) {
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

// spread returns the distance that a tenth of all draws exceed on either side.
func spread(d named) float64 { return d.Quantile(0.9) }

// Every multiple of the step has the probability of the numbers that round to it, and another
// parameter is noticed.
func TestHeavySamplersFollowTheirLaw(t *testing.T) {
	const n = 40_000
	for _, d := range heavyDistributions(t, 1) {
		s := d.distribution.(sampled)
		for _, cells := range []float64{1, 8} { // in a spread
			step := math.Exp2(math.Round(math.Log2(spread(d) / cells)))
			p := samplePValue(s, s, step, 60, dptest.Fewer(n, n/5))
			dptest.Alarm(t, 1e-10)
			require.Greater(t, p, 1e-10, "%s on %g", d.name, step)
		}
	}
	pareto, _ := NewPareto(3, 1)
	wrong, _ := NewPareto(3, 1.1)
	dptest.Alarm(t, 1e-10)
	require.Less(t, samplePValue(wrong, pareto, 0.25, 60, 4*n), 1e-10, "10 %% more scale must be noticed")
	student, _ := NewStudent(4, 1)
	wide, _ := NewStudent(4, 1.1)
	dptest.Alarm(t, 1e-10)
	require.Less(t, samplePValue(wide, student, 0.25, 60, n), 1e-10, "10 %% more scale must be noticed")
	stairs, _ := NewStaircase(2, 1, 0.3)
	flat, _ := NewStaircase(2, 1, 0.4)
	dptest.Alarm(t, 1e-10)
	require.Less(t, samplePValue(flat, stairs, 0.0625, 200, n), 1e-10, "another γ must be noticed")
}

// Three million draws of twelve distributions, of all families, with -deep ten million; each test
// rejects a right sampler with probability 1e-10.
func TestLongHeavySamplers(t *testing.T) {
	dptest.NeedsLong(t)
	all, n := heavyDistributions(t, 1), 3_000_000
	if dptest.Deep() {
		n = 10_000_000
	}
	for i := range 12 {
		d := all[i*(len(all)-1)/11]
		s := d.distribution.(sampled)
		step := math.Exp2(math.Round(math.Log2(spread(d) / 4)))
		dptest.Alarm(t, 1e-10)
		require.Greater(t, samplePValue(s, s, step, 200, n), 1e-10, "%s on %g", d.name, step)
	}
}

// At all sizes of the data the distribution on the grid is the same.
func TestHeavySamplersScale(t *testing.T) {
	n := dptest.Fewer(20_000, 5_000)
	for _, unit := range []float64{0x1.8p-800, 0x1.3p-300, 0x1.7p500, 0x1.1p800} {
		for _, d := range heavyDistributions(t, unit)[20:30] {
			s := d.distribution.(sampled)
			step := math.Exp2(math.Round(math.Log2(spread(d) / 4)))
			dptest.Alarm(t, 1e-10)
			require.Greater(t, samplePValue(s, s, step, 60, n), 1e-10, "%s on %g", d.name, step)
		}
	}
}

// On fine grids: the shape by KS, and the lowest digits uniform and independent of the size.
func TestHeavySamplersOnAFineGrid(t *testing.T) {
	n := max(dptest.Full(5_000, 2000), 2000)
	uniform := make([]float64, 32)
	for i := range uniform {
		uniform[i] = 1.0 / 32
	}
	for _, d := range heavyDistributions(t, 1) {
		s := d.distribution.(sampled)
		if e, ok := s.(Staircase); ok && (e.formulas.epsilon == 8 || e.formulas.epsilon == 0.5) {
			continue
		}
		for _, bits := range []int{14, 30, 40} {
			if testing.Short() && bits != 30 {
				continue
			}
			step := math.Exp2(max(math.Round(math.Log2(spread(d)))-float64(bits), -45))
			var src Source
			samples := make([]float64, n)
			low, far, near := make([]int64, 32), make([]int64, 8), make([]int64, 8)
			edge := d.Quantile(0.75)
			inside := int64(0)
			for i := range samples {
				x := s.Sample(&src, step)
				require.Zero(t, math.Mod(x, step), d.name)
				samples[i] = x
				k := int64(x / step)
				if math.Abs(x) >= 0x1p52*step {
					continue
				}
				inside++
				low[k&31]++
				if math.Abs(x) > edge {
					far[k&7]++
				} else {
					near[k&7]++
				}
			}
			name := fmt.Sprintf("%s on %g", d.name, step)
			if bits < 40 || d.Survival(0x1p60*step) < 1e-9 {
				dptest.KS(t, name, samples, d.CDF, 1e-10)
			}
			dptest.ChiSquare(t, name+", low digits", low, uniform, 1e-10)
			dptest.Homogeneity(t, name+", low digits by size", far, near, 1e-10)
		}
	}
}

// The slow paths, forced: each by itself has the distribution.
func TestHeavySlowPaths(t *testing.T) {
	dptest.NotShort(t, "half a second")
	n := int64(max(dptest.Full(400, 100), 100))
	var src Source
	stairs, _ := NewStaircase(1.5, 1, 0.3)
	hits := int64(0)
	blind := stairs
	blind.formulas.coreProb = math.NaN() // no comparison with it decides
	for range n {
		if blind.inCore(&src) {
			hits++
		}
	}
	_, rest, sum := stairs.formulas.weights()
	dptest.Tail(t, "core", hits, n, 0.3*rest/sum, 1e-10)

	line := segment{units: 7.3, whole: 2, start: 0.3, slope: 1}
	observed, expected := make([]int64, 9), make([]float64, 9)
	for range n {
		observed[line.roundExactly(&src, newLazy(src.Uint64(), 64))-17]++
	}
	for k := range expected {
		lo, hi := max(float64(k)+16.5, 2.3*7.3), min(float64(k)+17.5, 3.3*7.3)
		expected[k] = max(hi-lo, 0) / 7.3
	}
	dptest.ChiSquare(t, "segment", observed, expected, 1e-10)

	for _, shape := range []float64{2.5, 3, 5} {
		d, _ := NewStudent(shape, 3)
		g, _ := newPowerGrid(studentKind, shape, 3, 1)
		p := newStudentProposal(shape)
		observed, expected := make([]int64, 30), make([]float64, 30)
		for range n {
			for {
				cell, _, ok := g.studentExactly(&src, p, newLazy(src.Uint64(), 64), newLazy(src.Uint64()>>1, 63), 0)
				if ok {
					observed[min(cell, 29)]++
					break
				}
			}
		}
		for k := range expected {
			expected[k] = 2 * (d.Survival(float64(k)/2) - d.Survival(float64(k+1)/2))
		}
		expected[29] = 2 * d.Survival(29.0/2)
		dptest.ChiSquare(t, fmt.Sprint("Student, α = ", shape), observed, expected, 1e-10)
	}

	// The digits within a cell: x uniform but for the fall of the density, here made large.
	for _, kind := range []powerKind{paretoKind, studentKind} {
		g := powerGrid{kind: kind, shape: 3, scale: 2, half: 0.125, units: 2, m: 3}
		observed, expected := make([]int64, 4), make([]float64, 4)
		// the square of the density is six and more standard deviations off in the last cell
		n := int64(400)
		for i := range observed { // u in a cell of 8, with the exact test at every draw
			for range n {
				if g.acceptDigits(&src, cell{1, 0}, newLazy(uint64(2*i), g.m), newLazy(src.Uint64(), 64)) {
					observed[i]++
				}
			}
			x := 1 + (2*float64(i)+0.5)/8
			expected[i] = math.Pow((2+1)/(2+x), 3)
			if kind == studentKind {
				expected[i] = math.Pow((4+1)/(4+x*x), 1.5)
			}
			dptest.Tail(t, fmt.Sprint("digits ", kind, i), observed[i], n, expected[i], 1e-10)
		}
	}
	for _, shape := range []float64{1.2, 2, 2.1} { // cells of many k up to α = 2, of one above
		g, _ := newPowerGrid(paretoKind, shape, 3, 0x1p-44)
		for _, truth := range []int64{0, 3, 17, 1<<24 - 1, 1 << 24, 1<<24 + 1, 1<<40 + 12345, 1<<50 - 1, g.beyond() - 1, g.beyond(), mostCell} {
			calls := 0
			got := g.bisect(0, mostCell, func(k int64) bool { calls++; return k <= truth })
			require.Equal(t, g.cellOf(truth), got)
			require.Less(t, calls, 130)
			require.LessOrEqual(t, got.start(), truth)
		}
	}
}

func TestHeavySampleGrids(t *testing.T) {
	var src Source
	for _, d := range heavyDistributions(t, 3) {
		s := d.distribution.(sampled)
		for _, step := range []float64{0, -1, 0.3, 3, math.NaN(), math.Inf(1), math.Inf(-1)} {
			require.True(t, math.IsNaN(s.Sample(&src, step)), "%s, step %v", d.name, step)
		}
		require.True(t, math.IsNaN(s.Sample(&src, 0x1p-46)), d.name)
	}
	for _, unit := range []float64{0x1p-900, 1, 0x1p900} {
		stairs, _ := NewStaircase(1, unit, 0.3)
		pareto, _ := NewPareto(3, unit)
		student, _ := NewStudent(3, unit)
		for _, d := range []sampled{stairs, pareto, student} {
			require.Equal(t, 0.0, d.Sample(&src, 0x1p1023), "%v", d)
			require.False(t, math.IsNaN(d.Sample(&src, unit)))
		}
	}
	// A tail so heavy that most draws are beyond any grid, and a grid so coarse that the scale is
	// 2⁻¹⁸⁰⁰ of it.
	heavy, _ := NewPareto(1+0x1p-10, 0x1p-900)
	runs, beyond := dptest.Fewer(200, 80), 0
	for range runs {
		x := heavy.Sample(&src, 0x1p-900)
		require.LessOrEqual(t, math.Abs(x), 0x1p61*0x1p-900)
		if math.Abs(x) == 0x1p61*0x1p-900 {
			beyond++
		}
	}
	// Pr = 2^{−61/1024} = 0.959, and of 60 of 80 or fewer below 1e-9
	require.Greater(t, beyond, runs*3/4)
	for _, shape := range []float64{1 + 0x1p-9, 1 + 0x1p-8} {
		n := int64(dptest.Fewer(400, 80))
		heavy, _ := NewPareto(shape, 0x1p-900)
		hits := int64(0)
		for range n {
			if heavy.Sample(&src, 0x1p900) != 0 {
				hits++
			}
		}
		dptest.Tail(t, "coarse grid", hits, n, math.Exp2(-1799*(shape-1)), 1e-10)
	}
}

func TestHeavySamplesDoNotAllocate(t *testing.T) {
	var src Source
	for _, d := range heavyDistributions(t, 1) {
		if p, ok := d.distribution.(Pareto); ok && p.formulas.shape < 1.5 {
			continue // one draw in 10⁴ leaves float64
		}
		s := d.distribution.(sampled)
		for _, step := range []float64{0x1p-10, 0x1p-38} {
			// The slow path, once in 900 draws at most, allocates: one of 50 draws takes it with a
			// probability below 0.06, and in each of eight times with one below 2e-10. A new key of
			// the Source, once in 1,024 words, is less than 1 a draw.
			least := math.Inf(1)
			for i := 0; i < 8 && least > 0; i++ {
				least = min(least, testing.AllocsPerRun(50, func() { s.Sample(&src, step) }))
			}
			require.Zero(t, least, "%s on %g", d.name, step)
		}
	}
}
