package noise

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// spread returns the distance that a tenth of all draws exceed on either side.
func spread(d named) float64 { return d.Quantile(0.9) }

// Every multiple of the step has the probability of the numbers that round to it, and another
// parameter is noticed.
func TestHeavySamplersFollowTheirLaw(t *testing.T) {
	const n = 40_000
	for _, d := range heavyLaws(t, 1) {
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

// Three million draws of twelve laws, of all families, with -deep ten million; each test rejects a
// right sampler with probability 1e-10.
func TestLongHeavySamplers(t *testing.T) {
	dptest.NeedsLong(t)
	laws, n := heavyLaws(t, 1), 3_000_000
	if dptest.Deep() {
		n = 10_000_000
	}
	for i := range 12 {
		d := laws[i*(len(laws)-1)/11]
		s := d.distribution.(sampled)
		step := math.Exp2(math.Round(math.Log2(spread(d) / 4)))
		dptest.Alarm(t, 1e-10)
		require.Greater(t, samplePValue(s, s, step, 200, n), 1e-10, "%s on %g", d.name, step)
	}
}

// At all sizes of the data the law on the grid is the same.
func TestHeavySamplersScale(t *testing.T) {
	n := dptest.Fewer(20_000, 5_000)
	for _, unit := range []float64{0x1.8p-800, 0x1.3p-300, 0x1.7p500, 0x1.1p800} {
		for _, d := range heavyLaws(t, unit)[20:30] {
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
	for _, d := range heavyLaws(t, 1) {
		s := d.distribution.(sampled)
		if e, ok := s.(Staircase); ok && (e.law.epsilon == 8 || e.law.epsilon == 0.5) {
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

// The slow paths, forced: each by itself has the law.
func TestHeavySlowPaths(t *testing.T) {
	dptest.NotShort(t, "half a second")
	n := int64(max(dptest.Full(400, 100), 100))
	var src Source
	stairs, _ := NewStaircase(1.5, 1, 0.3)
	hits := int64(0)
	blind := stairs
	blind.law.core = math.NaN() // no comparison with it decides
	for range n {
		if blind.inCore(&src) {
			hits++
		}
	}
	_, rest, sum := stairs.law.weights()
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
		g, _ := newPowerGrid(studentLaw, shape, 3, 1)
		p := newProposal(shape)
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
	for _, law := range []powerLaw{paretoLaw, studentLaw} {
		g := powerGrid{law: law, shape: 3, scale: 2, half: 0.125, units: 2, m: 3}
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
			if law == studentLaw {
				expected[i] = math.Pow((4+1)/(4+x*x), 1.5)
			}
			dptest.Tail(t, fmt.Sprint("digits ", law, i), observed[i], n, expected[i], 1e-10)
		}
	}
	for _, shape := range []float64{1.2, 2, 2.1} { // cells of many k up to α = 2, of one above
		g, _ := newPowerGrid(paretoLaw, shape, 3, 0x1p-44)
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
	for _, d := range heavyLaws(t, 3) {
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
	for _, d := range heavyLaws(t, 1) {
		if p, ok := d.distribution.(Pareto); ok && p.law.shape < 1.5 {
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
