package misragries

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/misragries/internal/sketch"
	"github.com/dpsketch/dpsketch/noise"
)

// Hidden95 has the noise of the private shifts of all servers: at 95 % Laplace noise reaches 1.63
// standard deviations, a sum of many 1.65. Where the j smallest counters are unused nothing else is
// lost, so a key of that count is shown.
func TestHidden95HasAllShifts(t *testing.T) {
	const m = 128
	p, c, err := Params{Counters: 64, Epsilon: 1, Delta: 1e-6}.check(summed)
	require.NoError(t, err)
	row := p.row(c, m)
	deviation := math.Sqrt(c.noise().Variance()+m*discreteLaplace(c.Shift).Variance()) / c.per
	require.InEpsilon(t, 1.64, (row.Hidden95-row.Threshold-row.Bias)/deviation, 0.03)

	sketches := make([][]counter[int], m)
	for i := range sketches {
		sketches[i] = []counter[int]{{Key: 7, Count: int64(int(math.Ceil(row.Hidden95))+i) / m}}
	}
	s := hold(t, p, summed, 0, sketches...)
	var src noise.Source
	const n, least = 4000, 0.92
	shown := 0
	for range n {
		shown += s.release(&src).Len()
	}
	// Chernoff: the chance of a share `least` or less where p is .95, e^{−n·KL}.
	dptest.Alarm(t, math.Exp(-n*(least*math.Log(least/0.95)+(1-least)*math.Log((1-least)/0.05))))
	require.GreaterOrEqual(t, float64(shown), least*n)
}

// Units below R count as R with the probability of the kernel, else as nothing; others stay. Then
// they have noise, and those at the threshold are shown: the law of each value among many.
func TestUnitsFollowTheKernel(t *testing.T) {
	for _, m := range []Method{TrimmedSum, ReducedSum} {
		_, c, err := Params{Counters: 3, Epsilon: 1, Delta: 0.1, Method: m}.check(summed)
		require.NoError(t, err)
		require.Greater(t, c.From, int64(8))
		const each, cells = 4000, 30
		values := []int64{1, c.From / 2, c.From - 1, c.From, c.From + 3, c.Threshold + 2}
		var units []counter[int]
		for i := range each * len(values) {
			units = append(units, counter[int]{Key: i, Count: values[i%len(values)]})
		}
		counts := make([][]int64, len(values))
		for i := range counts {
			counts[i] = slices.Repeat([]int64{0}, cells+1)
			counts[i][0] = each
		}
		released := releaseRounded(new(noise.Source), c, units)
		require.True(t, slices.IsSortedFunc(released, func(a, b counter[int]) int { return a.Key - b.Key }))
		for _, one := range released {
			row := counts[one.Key%len(values)]
			row[0]--
			row[min(one.Count-c.Threshold+1, cells)]++
		}
		d := c.noise()
		for i, v := range values {
			base, weight := c.base(v)
			masses := []float64{1 - weight*d.Survival(float64(c.Threshold-base)-0.5)}
			for x := range int64(cells) - 1 {
				masses = append(masses, weight*d.Prob(float64(c.Threshold+x-base)))
			}
			dptest.ChiSquare(t, fmt.Sprintf("%v, %d units", m, v), counts[i], masses, 1e-10)
		}
	}
}

// W of a sketch without decrements is max(0, A + N + o), A = 0 of unused counters, and j·T where
// all are far above the cap: both have the noise that the proof needs.
func TestShiftsHaveNoise(t *testing.T) {
	p := Params{Counters: 1, Epsilon: 0.7, Delta: 0.01, Method: TrimmedSum}
	_, c, err := p.check(summed)
	require.NoError(t, err)
	shift, most := discreteLaplace(c.Shift), discreteLaplace(c.CapScale)
	full := sketch.Given(1, map[int]int64{7: 1 << 40}, 0)
	const reach = 80
	for name, s := range map[string]*sketch.Sketch[int]{"N": sketch.New[int](1), "N + T": full} {
		counts, masses := make([]int64, reach+1), make([]float64, reach)
		var src noise.Source
		for range 5000 {
			counts[min(prepare(&src, c, 1, s).lost, reach)]++
		}
		for x := -20 * float64(reach); x <= 20*reach; x++ { // of T
			p, at := most.Prob(x), x+float64(c.Cap+c.Offset)
			if s != full {
				p, at = 1, float64(c.Offset)
			}
			masses[0] += p * shift.CDF(-at)
			for w := 1.0; w < reach; w++ {
				masses[int(w)] += p * shift.Prob(w-at)
			}
			if s != full {
				break
			}
		}
		dptest.ChiSquare(t, name, counts, masses, 1e-10)
	}
}
