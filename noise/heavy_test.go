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
func heavyDistributions(t testing.TB, unit float64) (all []testDistribution) {
	t.Helper()
	for _, epsilon := range []float64{0.01, 0.5, 1, 3, 8, 20} {
		for _, gamma := range []float64{0, 0.25, 1 / (1 + math.Exp(epsilon/2)), 1} {
			d := dptest.OK(NewStaircase(epsilon, unit, gamma))(t)
			all = append(all, testDistribution{distribution: d, name: fmt.Sprintf("Staircase(%g, %g, %g)", epsilon, unit, gamma), scale: d.MeanAbs(), ends: stairEnds(epsilon, gamma)})
		}
	}
	for _, shape := range []float64{1.3, 1.999, 2, 2.5, 3, 3.5, 4, 7.7, 60, mostStudent, 1e4, mostShape} {
		p := dptest.OK(NewPareto(shape, unit))(t)
		all = append(all, testDistribution{distribution: p, name: fmt.Sprintf("Pareto(%g, %g)", shape, unit), scale: unit / shape})
		if shape >= 2 && shape <= mostStudent {
			s := dptest.OK(NewStudent(shape, unit))(t)
			all = append(all, testDistribution{distribution: s, name: fmt.Sprintf("Student(%g, %g)", shape, unit), scale: unit / math.Sqrt(shape)})
		}
	}
	return all
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

// integral returns ∫ f from one number to another, in pieces of geometrically growing length cut at
// the ends too, by Gauss and Legendre.
func integral(f func(float64) float64, d testDistribution, from, to float64) float64 {
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

// spread returns the distance that a tenth of all draws exceed on either side.
func spread(d testDistribution) float64 { return d.Quantile(0.9) }

// Every multiple of the step has the probability of the numbers that round to it, at all sizes of
// the data, and another parameter is noticed. With -long some have three million draws, with -deep
// ten.
func TestHeavySamplersFollowTheirLaw(t *testing.T) {
	const n = 40_000
	for _, unit := range []float64{1, 0x1.8p-800, 0x1.3p-300, 0x1.7p500, 0x1.1p800} {
		all, sizes := heavyDistributions(t, unit), []float64{1, 8} // cells in a spread
		if unit != 1 {
			all, sizes = all[20:30], []float64{4}
		}
		for i, d := range all {
			draws := dptest.Fewer(n, n/5)
			if unit == 1 && i%4 == 0 && dptest.Long() {
				draws = 3_000_000
			}
			if unit == 1 && i%4 == 0 && dptest.Deep() {
				draws = 10_000_000
			}
			s := d.distribution.(sampled)
			for _, cells := range sizes {
				step := math.Exp2(math.Round(math.Log2(spread(d) / cells)))
				dptest.Alarm(t, 1e-10)
				require.Greater(t, samplePValue(s, s, step, 60, draws), 1e-10, "%s on %g", d.name, step)
			}
		}
	}
	control := func(wrong, right sampled, step float64, reach, n int) {
		dptest.Alarm(t, 1e-10)
		require.Less(t, samplePValue(wrong, right, step, reach, n), 1e-10, "%v must be noticed", wrong)
	}
	control(dptest.OK(NewPareto(3, 1.1))(t), dptest.OK(NewPareto(3, 1))(t), 0.25, 60, 4*n)
	control(dptest.OK(NewStudent(4, 1.1))(t), dptest.OK(NewStudent(4, 1))(t), 0.25, 60, n)
	control(dptest.OK(NewStaircase(2, 1, 0.4))(t), dptest.OK(NewStaircase(2, 1, 0.3))(t), 0.0625, 200, n)
}

func TestHeavySamplersOnAFineGrid(t *testing.T) {
	n := max(dptest.Full(5_000, 2000), 2000)
	for _, d := range heavyDistributions(t, 1) {
		if e, ok := d.distribution.(Staircase); ok && (e.formulas.epsilon == 8 || e.formulas.epsilon == 0.5) {
			continue
		}
		for _, bits := range []int{14, 30, 40} {
			if testing.Short() && bits != 30 {
				continue
			}
			step := math.Exp2(max(math.Round(math.Log2(spread(d)))-float64(bits), -45))
			fineGrid(t, fmt.Sprintf("%s on %g", d.name, step), d.distribution.(sampled), step, n, d.Quantile(0.75), bits < 40 || d.Survival(0x1p60*step) < 1e-9)
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
