package calibrated

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise"
)

// examples are noises of every kind, on coarse and fine grids.
func examples() []Noise {
	return []Noise{
		{Laplace, 512, 0, 1}, {Laplace, 0.7, 0, 1}, {Laplace, 3, 0, 0.25}, {DiscreteLaplace, 0.25, 0, 1}, {DiscreteLaplace, 30, 0, 1}, {Gaussian, 40, 0, 8},
		{Gaussian, 3, 0, 1}, {DiscreteGaussian, 2.5, 0, 1}, {DiscreteGaussian, 0.3, 0, 1}, {Staircase, 12, 1, 1}, {Staircase, 8, 4, 0.5}, {Staircase, 100, 8, 1},
	}
}

// mass returns the probability of k steps.
func (n Noise) mass(k float64) float64 {
	d, k := n.Distribution(), math.Abs(k)
	if n.Kind == DiscreteLaplace || n.Kind == DiscreteGaussian {
		return math.Exp(d.LogProb(k))
	}
	return d.Survival((k-0.5)*n.Step) - d.Survival((k+0.5)*n.Step)
}

// A scale is that of package noise for the guarantee, and no kind has a guarantee that it has not.
func TestCalibrate(t *testing.T) {
	for _, c := range []struct {
		kind                Kind
		epsilon, delta, rho float64
		want                float64
	}{
		{Laplace, 0.5, 0, 0, 6}, {DiscreteLaplace, 0.5, 0, 0, 6}, {Laplace, 0.5, 1e-6, 0, 6},
		{Gaussian, 0, 0, 0.125, dptest.OK(noise.GaussianSigmaZCDP(0.125, 3))(t)}, {DiscreteGaussian, 0, 0, 0.125, dptest.OK(noise.GaussianSigmaZCDP(0.125, 3))(t)},
		{Gaussian, 1, 1e-6, 0, dptest.OK(noise.GaussianSigma(1, 1e-6, 3))(t)},
		{none, 1, 0, 0, 0}, {none, 0, 0, 1, 0}, {Laplace, 0, 0, 0.5, 0}, {Laplace, 1, 0, 0.5, 0}, {DiscreteGaussian, 1, 1e-6, 0, 0}, {Gaussian, 1, 0, 0, 0},
		{Staircase, 1, 0, 0, 0}, {Laplace, math.NaN(), 0, 0, 0}, {Gaussian, 0, 0, math.NaN(), 0},
	} {
		n, err := Calibrate(c.kind, c.epsilon, c.delta, c.rho, 3)
		if c.want == 0 {
			require.Error(t, err, "%v", c)
			require.Zero(t, n)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, Noise{c.kind, c.want, 0, 1}, n)
	}
}

// A draw exceeds its reach with at most that probability, by the masses of all integers, and it
// exceeds one step less with more.
func TestReach(t *testing.T) {
	for _, n := range examples() {
		for _, tail := range []float64{0.999, 0.5, 0.1, 1e-3, 1e-6} {
			inside := 0.0
			reach := n.Reach(tail)
			for k := 1.0; k <= reach; k++ {
				inside += 2 * n.mass(k)
			}
			inside += n.mass(0)
			require.Equal(t, math.Floor(reach), reach)
			require.LessOrEqual(t, 1-inside, tail*(1+1e-6)+1e-12, "%v %v", n, tail)
			if reach > 0 {
				require.Greater(t, 1-inside+2*n.mass(reach), tail*(1-1e-6)-1e-12, "%v %v", n, tail)
			}
		}
		require.Zero(t, n.Reach(1))
	}
}

// The moments are those of all integers, and the variance counts the rounding.
func TestMoments(t *testing.T) {
	for _, n := range examples() {
		var want [4]float64
		for k := 1.0; k < 70*n.Steps()+60; k++ {
			for i := range want {
				want[i] += 2 * math.Pow(k, 2*float64(i+1)) * n.mass(k)
			}
		}
		require.InEpsilon(t, want[0]*n.Step*n.Step, n.Variance(), 1e-7, "%v", n)
		require.InEpsilon(t, math.Sqrt(want[0])*n.Step, n.StdDev(), 1e-7, "%v", n)
		if n.Kind == Gaussian || n.Kind == DiscreteGaussian {
			continue
		}
		for i, m := range n.Moments() {
			require.InEpsilon(t, want[i], m, 1e-7, "%v, %d", n, i)
		}
	}
}

// Sample and Sampler draw the distribution: by χ² against the mass of each integer.
func TestSample(t *testing.T) {
	const draws, most = 20000, 12
	for _, n := range examples() {
		var src noise.Source
		step := max(math.Ceil(n.Reach(0.05)/most), 1) // integers in a cell
		for way, sample := range map[string]func() int64{"Sample": func() int64 { return n.Sample(&src) }, "Sampler": n.Sampler(&src)} {
			// the last cell has all that are far
			observed, expected := make([]int64, 2*most+2), make([]float64, 2*most+1)
			cell := func(k float64) int {
				if c := math.Round(k / step); math.Abs(c) <= most {
					return int(c) + most
				}
				return 2*most + 1
			}
			for range draws {
				observed[cell(float64(sample()))]++
			}
			for k := -(most + 1) * step; k <= (most+1)*step; k++ {
				if c := cell(k); c <= 2*most {
					expected[c] += n.mass(k)
				}
			}
			dptest.ChiSquare(t, fmt.Sprint(way, n), observed, expected, 1e-11)
		}
	}
}

// Noise that was not calibrated hides what it is added to: a draw is uniform over all int64.
func TestNotCalibrated(t *testing.T) {
	bad := []Noise{{}, {Kind: DiscreteGaussian + 1, Scale: 1, Step: 1}, {Kind: none, Scale: 1, Shape: 3, Step: 1}}
	for kind := Laplace; kind <= DiscreteGaussian; kind++ {
		bad = append(bad, Noise{Kind: kind, Step: 1}, Noise{Kind: kind, Scale: math.NaN(), Shape: 3, Step: 1}, Noise{Kind: kind, Scale: -1, Shape: 3, Step: 1})
	}
	var src noise.Source
	for _, n := range bad {
		for _, sample := range []func() int64{func() int64 { return n.Sample(&src) }, n.Sampler(&src)} {
			large, negative := 0, 0
			for range 400 {
				x := sample()
				if x>>61 != 0 && x>>61 != -1 {
					large++
				}
				if x < 0 {
					negative++
				}
			}
			require.InDelta(t, 300, large, 100, "%v", n)
			require.InDelta(t, 200, negative, 100, "%v", n)
			dptest.Alarm(t, 1e-20)
		}
		require.True(t, math.IsNaN(n.Variance()), "%v", n)
		require.True(t, math.IsNaN(n.Reach(0.1)), "%v", n)
		require.True(t, math.IsNaN(n.Distribution().Survival(1)), "%v", n)
	}
}

func TestOnGrid(t *testing.T) {
	for n, want := range map[Noise]bool{
		{Laplace, 512, 0, 1}: true, {Laplace, 511, 0, 1}: false, {Laplace, 0x1p20, 0, 1}: true, {Laplace, 0x1p20 + 1, 0, 1}: false, {Laplace, 600, 0, 0.75}: false,
		{Laplace, 512 * 0x1p-30, 0, 0x1p-30}: true, {Laplace, math.NaN(), 0, 1}: false, {Laplace, 512, 0, 0}: false, {Laplace, 512, 0, -1}: false,
		{Laplace, 512, 0, math.Inf(1)}: false, {Laplace, 512, 0, math.NaN()}: false, {}: false,
	} {
		require.Equal(t, want, n.OnGrid(512, 0x1p20), "%v", n)
	}
}
