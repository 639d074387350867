package series

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
)

// published is what is published of a key that is known in steps since ≤ t < until: for each span
// the noisy counts of the nodes that end while it is known.
func published(spans []int, counts []float64, since, until int, noise func() float64) (values [][]int64, first []int) {
	for _, span := range spans {
		first = append(first, since/span)
		var list []int64
		for i := since / span; (i+1)*span <= until; i++ {
			sum := 0.0
			for t := max(i*span, since); t < (i+1)*span; t++ {
				sum += counts[t]
			}
			list = append(list, int64(sum+noise()))
		}
		values = append(values, list)
	}
	return values, first
}

// Least squares in a tree is least squares: the solution of the normal equations for all counts of
// steps, of random spans, episodes and windows. And few counts add up to the window.
func TestFitIsLeastSquares(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		spans := [][]int{{1, 2, 6}, {1, 4}, {1, 3, 6, 12}, {1}}[rng.IntN(4)]
		const steps = 30
		since := rng.IntN(steps - 1)
		until := since + 1 + rng.IntN(steps-since)
		from := rng.IntN(until)
		to := from + 1 + rng.IntN(steps-from)
		counts := make([]float64, steps)
		for i := range counts {
			counts[i] = float64(rng.IntN(50))
		}
		values, first := published(spans, counts, since, until, func() float64 { return float64(rng.IntN(21) - 10) })
		f := leastSquares{spans: spans, vars: wholes(spans), since: since, until: until, values: values, first: first, from: from, to: to}
		if to <= since {
			require.Zero(t, f.window().part)
			continue
		}
		n := until - since
		var design []float64
		var y []float64
		for l, span := range spans {
			for i, x := range values[l] {
				row := make([]float64, n)
				for t := max((first[l]+i)*span, since); t < (first[l]+i+1)*span; t++ {
					row[t-since] = 1
				}
				design, y = append(design, row...), append(y, float64(x))
			}
		}
		a := mat.NewDense(len(y), n, design)
		var normal, inverse mat.Dense
		normal.Mul(a.T(), a)
		require.NoError(t, inverse.Inverse(&normal))
		wanted := mat.NewVecDense(n, nil)
		truth := 0.0
		for t := max(from, since); t < min(to, until); t++ {
			wanted.SetVec(t-since, 1)
			truth += counts[t]
		}
		var weights, solution, right mat.VecDense
		right.MulVec(a.T(), mat.NewVecDense(len(y), y))
		solution.MulVec(&inverse, &right)
		weights.MulVec(&inverse, wanted)
		got := f.window()
		require.InDelta(t, mat.Dot(wanted, &solution), got.part, 1e-9)
		require.InDelta(t, mat.Dot(wanted, &weights), got.partVar, 1e-12)
		f.totals = make([][]float64, len(spans))
		for l := 1; l < len(spans); l++ {
			for i := range values[l] {
				f.totals[l] = append(f.totals[l], f.join(l, first[l]+i).total)
			}
		}
		kept := f.window()
		require.InDelta(t, got.part, kept.part, 1e-9)
		require.InDelta(t, got.partVar, kept.partVar, 1e-12)
		f.totals = nil

		quiet, _ := published(spans, counts, since, until, func() float64 { return 0 })
		f.values = quiet
		require.InDelta(t, truth, f.window().part, 1e-9)
		few := f.fewest()
		require.Equal(t, truth, few.sum)
		f.values = nil
		require.Equal(t, few.nodes, f.fewest().nodes, "which counts are summed up is public")
	}
}

// The tail of a sum of discrete Laplace variables is that of the convolution.
func TestLaplaceSum(t *testing.T) {
	for _, b := range []float64{0.3, 1, 4} {
		const most = 700
		one := make([]float64, 2*most+1)
		for k := -most; k <= most; k++ {
			one[k+most] = math.Exp(-math.Abs(float64(k))/b) * math.Tanh(0.5/b)
		}
		law := append([]float64{}, one...)
		for r := 1; r <= 20; r++ {
			s := newLaplaceSum(b, r)
			tail := 0.0
			for k := most; k >= 1; k-- {
				tail += law[k+most]
				if tail > 1e-25 {
					require.InEpsilon(t, tail, s.tail(float64(k)), 1e-9, "b = %g, r = %d, k = %d", b, r, k)
				}
			}
			for _, alpha := range []float64{0.5, 0.05, 1e-3, 1e-9} {
				h := s.beyond(alpha)
				require.LessOrEqual(t, 2*s.tail(h+1), alpha)
				if h > 0 {
					require.Greater(t, 2*s.tail(h)*(1+2e-9), alpha)
				}
			}
			if r == 17 {
				break
			}
			next := make([]float64, len(law))
			for i, x := range law {
				if x < 1e-40 {
					continue
				}
				for j, y := range one {
					if at := i + j - most; y > 1e-40 && at >= 0 && at < len(next) {
						next[at] += x * y
					}
				}
			}
			law = next
		}
	}
	// The half-widths of the package's documentation.
	for r, want := range map[int][2]float64{1: {12, 28}, 8: {32, 58}, 14: {42, 74}, 17: {46, 81}} {
		s := newLaplaceSum(4, r)
		require.Equal(t, want, [2]float64{s.beyond(0.05), s.beyond(0.001)}, "%d", r)
	}
	require.Zero(t, newLaplaceSum(4, 0).beyond(1e-9))
	wide := newLaplaceSum(1<<40, 3).beyond(1e-6)
	require.InEpsilon(t, newLaplaceSum(1<<30, 3).beyond(1e-6)*1024, wide, 1e-6)
}
