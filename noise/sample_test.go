package noise

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// sampled is what the sampler tests need of a distribution.
type sampled interface {
	CDF(x float64) float64
	Survival(x float64) float64
	Sample(src *Source, step float64) float64
}

// gridMass returns Pr[(k−½)·step < X ≤ (k+½)·step], without cancellation in either tail.
func gridMass(d sampled, k int, step float64) float64 {
	lo, hi := (float64(k)-0.5)*step, (float64(k)+0.5)*step
	if k > 0 {
		return d.Survival(lo) - d.Survival(hi)
	}
	return d.CDF(hi) - d.CDF(lo)
}

// samplePValue returns the p-value of n draws of the sampler on the grid against the distribution
// want.
func samplePValue(sample, want sampled, step float64, reach, n int) float64 {
	var src Source
	observed := make([]int64, 2*reach+3) // the ends gather the tails
	for range n {
		k := sample.Sample(&src, step) / step
		observed[int(min(max(k, float64(-reach-1)), float64(reach+1)))+reach+1]++
	}
	expected := make([]float64, len(observed))
	for k := -reach; k <= reach; k++ {
		expected[k+reach+1] = gridMass(want, k, step)
	}
	edge := (float64(reach) + 0.5) * step
	expected[0], expected[len(expected)-1] = want.CDF(-edge), want.Survival(edge)
	return dptest.ChiSquarePValue(observed, expected)
}

// newSampled makes the distribution of the name.
func newSampled(t *testing.T, name string, scale float64) sampled {
	t.Helper()
	var d sampled
	var err error
	switch name {
	case "Laplace":
		d, err = NewLaplace(scale)
	case "Gaussian":
		d, err = NewGaussian(scale)
	case "DiscreteLaplace":
		d, err = NewDiscreteLaplace(scale)
	case "DiscreteGaussian":
		d, err = NewDiscreteGaussian(scale)
	case "Geometric":
		d, err = NewGeometric(scale)
	}
	require.NoError(t, err)
	return d
}

var continuous = []string{"Laplace", "Gaussian"}

var discrete = []string{"DiscreteLaplace", "DiscreteGaussian", "Geometric"}

// controlDraws returns how many draws of the wrong distribution samplePValue needs to give less
// than 1e-10, but for a probability of e^{−25}.
//
// With d + 1 cells, each expected ten times or more, its statistic is χ² with d degrees of freedom
// and, for the wrong distribution, noncentrality λ, n times the divergence of the two distributions
// over the cells. A χ² is above d + 2√(dx) + 2x with probability e^{−x} at most, and a noncentral
// one below d + λ − 2√((d+2λ)x) likewise (Birgé, An alternative point of view on Lepski's method,
// 2001, Lemma 8.1). So n is enough if the second, at x = 25, is at least the first at x = ln 1e10.
func controlDraws(wrong, want sampled, step float64, reach int) int {
	for n := 1000; ; n += n / 4 {
		d, x2, g := -1.0, 0.0, 0.0
		var p, q float64
		for k := -reach - 1; k <= reach+1; k++ {
			a, b := gridMass(want, k, step), gridMass(wrong, k, step)
			if k < -reach {
				a, b = want.CDF((-float64(reach)-0.5)*step), wrong.CDF((-float64(reach)-0.5)*step)
			} else if k > reach {
				a, b = want.Survival((float64(reach)+0.5)*step), wrong.Survival((float64(reach)+0.5)*step)
			}
			if p, q = p+a, q+b; float64(n)*p >= 10 { // as the test pools cells
				d++
				x2 += float64(n) * (p - q) * (p - q) / p
				g += 2 * float64(n) * (q*math.Log(q/p) - (q - p))
				p, q = 0, 0
			}
		}
		lambda, x := min(x2, g), math.Log(1e10)
		if lambda-2*math.Sqrt((d+2*lambda)*25) >= 2*math.Sqrt(d*x)+2*x {
			return n
		}
	}
}

func TestSamplersFollowTheirLaw(t *testing.T) {
	const n = 100_000 // of which the claim takes a fifth where the tests are to be short
	for _, name := range append(continuous, discrete...) {
		for _, c := range []struct{ scale, step float64 }{
			{0.25, 1}, {0.3, 1}, {0.7, 1}, {0.9, 1}, {1, 1}, {1.5, 1}, {2, 1}, {3.7, 1}, {6, 1}, {10, 1}, {40, 1},
			{1, 0.25}, {1000, 64}, {0x1p-500, 0x1p-501}, {0x1p700 * 1.3, 0x1p699}, {0x1.3p28, 0x1p27},
		} {
			integer := slices.Contains(discrete, name)
			if integer && (c.step < 1 || c.scale > 1e9) {
				continue
			}
			d := newSampled(t, name, c.scale)
			t.Run(fmt.Sprintf("%s/%v/%v", name, c.scale, c.step), func(t *testing.T) {
				reach := 2 + int(8*c.scale/c.step)
				want := d
				if integer && c.step > 1 {
					want = shifted{d} // halves are rounded up
				}
				few := n / 5
				if c.scale < 0.3*c.step { // one cell would be left
					few = n
				}
				draws := dptest.Fewer(n, few)
				if dptest.Long() {
					draws = 30 * n
				}
				if dptest.Deep() {
					draws = 100 * n
				}
				p := samplePValue(d, want, c.step, reach, draws)
				dptest.Alarm(t, 1e-10)
				require.Greater(t, p, 1e-10, "χ²")
				if c.scale/c.step >= 1 && c.scale/c.step <= 10 && (c.scale == 2 || c.scale == 10 && !testing.Short() || dptest.Long()) {
					wrong := newSampled(t, name, c.scale*1.05)
					dptest.Alarm(t, 1e-10)
					require.Less(t, samplePValue(wrong, want, c.step, reach, controlDraws(wrong, want, c.step, reach)), 1e-10, "5 %% more scale must be noticed")
				}
			})
		}
	}
}

// shifted moves an integer distribution by −½, so that no integer lies on an edge between grid
// cells and one on the edge counts up.
type shifted struct{ sampled }

func (s shifted) CDF(x float64) float64      { return s.sampled.CDF(x - 0.5) }
func (s shifted) Survival(x float64) float64 { return s.sampled.Survival(x - 0.5) }

// fineGrid tests draws on a fine grid: the shape by KS, and the lowest digits uniform and
// independent of the size, above and below edge.
func fineGrid(t *testing.T, name string, d sampled, step float64, n int, edge float64, shape bool) {
	t.Helper()
	var src Source
	samples := make([]float64, n)
	low, far, near := make([]int64, 64), make([]int64, 8), make([]int64, 8)
	for i := range samples {
		x := d.Sample(&src, step)
		require.Zero(t, math.Mod(x, step), name)
		samples[i] = x
		k := int64(x / step)
		switch {
		case math.Abs(x) >= 0x1p52*step:
			continue
		case math.Abs(x) > edge:
			far[k&7]++
		default:
			near[k&7]++
		}
		low[k&63]++
	}
	if shape {
		dptest.KS(t, name, samples, d.CDF, 1e-10)
	}
	dptest.ChiSquare(t, name+", low digits", low, equal(64), 1e-10)
	dptest.Homogeneity(t, name+", low digits by size", far, near, 1e-10)
}

func TestSamplersOnAFineGrid(t *testing.T) {
	for _, name := range continuous {
		for _, step := range []float64{0x1p-19, 0x1p-30, 0x1p-40, 0x1p-46} {
			fineGrid(t, fmt.Sprintf("%s on 2^%v", name, math.Log2(step)), newSampled(t, name, 1), step, dptest.Fewer(50_000, 10_000), 0.7, true)
		}
	}
}

// probe compares two ways to release a number by the lowest digits and the precision of what comes
// out.
func probe(release func(x float64) float64, x, y float64) float64 {
	n := dptest.Fewer(100_000, 20_000)
	features := func(x float64) []int64 {
		counts := make([]int64, 64)
		for range n {
			out := release(x)
			frac, exp := math.Frexp(out)
			mantissa := int64(frac * (1 << 53))
			// The place of the last binary digit, from 2⁻⁶⁰ up, and the digit at 2⁻⁵⁰ when there is
			// one.
			last := -60
			if mantissa != 0 {
				last = exp - 53 + trailingZeros(mantissa)
			}
			counts[min(max(last+62, 0), 63)]++
		}
		return counts
	}
	return dptest.HomogeneityPValue(features(x), features(y))
}

func trailingZeros(m int64) int {
	n := 0
	for ; m&1 == 0; m >>= 1 {
		n++
	}
	return n
}

// Mironov's attack and its relatives: the low bits of x + noise tell x apart when the noise is a
// float64. Ours shows nothing; the same probe sees through the naive sampler at once.
func TestLowBitsShowNothing(t *testing.T) {
	var src Source
	const step = 0x1p-40
	onGrid := func(x float64) float64 { return math.Round(x/step) * step }
	naive := func(x float64) float64 {
		u := float64(src.Uint64()>>11)*0x1p-53 - 0.5
		return x - math.Copysign(math.Log1p(-2*math.Abs(u)), u)
	}
	for _, name := range continuous {
		d := newSampled(t, name, 1)
		exact := func(x float64) float64 { return onGrid(x) + d.Sample(&src, step) }
		dptest.Alarm(t, 1e-10)
		require.Greater(t, probe(exact, 0, 1), 1e-10, name)
		dptest.Alarm(t, 1e-10)
		require.Greater(t, probe(exact, 1, math.Nextafter(1, 2)), 1e-10, name)
		dptest.Alarm(t, 1e-10)
		require.Greater(t, probe(exact, 1.0/3, math.Nextafter(1.0/3, 1)), 1e-10, name)
	}
	dptest.Alarm(t, 1e-10)
	require.Less(t, probe(naive, 0, 1), 1e-10, "the probe must catch a naive sampler")
}

// ε from 400,000 draws at 0 and at 1, with the noise for ε = 1 and, as the control, with half of
// it.
func TestAudit(t *testing.T) {
	const n = 200_000
	audit := func(d sampled, step float64) float64 {
		var src Source
		p, q := int64(0), int64(0)
		for range n {
			if 1+d.Sample(&src, step) >= 1 { // at 1 half the mass, at 0 e^{−ε}/2
				p++
			}
			if d.Sample(&src, step) >= 1 {
				q++
			}
		}
		return dptest.EpsilonLowerBound(p, n, q, n, 0, 1-1e-10)
	}
	for _, c := range []struct {
		name string
		step float64
	}{{"Laplace", 0x1p-40}, {"DiscreteLaplace", 1}} {
		dptest.Alarm(t, 1e-10)
		require.LessOrEqual(t, audit(newSampled(t, c.name, 1), c.step), 1.0, c.name)
		dptest.Alarm(t, 1e-10)
		require.Greater(t, audit(newSampled(t, c.name, 0.5), c.step), 1.0, "half the noise must be noticed: %s", c.name)
	}
}

func FuzzSample(f *testing.F) {
	f.Add(1.0, 0x1p-40)
	f.Add(1e300, 1.0)
	f.Add(0x1p-900, 0x1p900)
	f.Fuzz(func(t *testing.T, scale, step float64) {
		var src Source
		check := func(d sampled, err error) {
			if err != nil {
				require.ErrorIs(t, err, ErrParams)
				return
			}
			x := d.Sample(&src, step)
			if powerOfTwo(step) && scale/step <= maxGridScale && scale <= maxGridScale {
				require.False(t, math.IsNaN(x))
			}
			if !math.IsNaN(x) {
				require.Zero(t, math.Mod(x, step), "%v is no multiple of %v", x, step)
			}
		}
		laplace, err := NewLaplace(scale)
		check(laplace, err)
		gaussian, err := NewGaussian(scale)
		check(gaussian, err)
		discreteLaplace, err := NewDiscreteLaplace(scale)
		check(discreteLaplace, err)
		discreteGaussian, err := NewDiscreteGaussian(scale)
		check(discreteGaussian, err)
		geometric, err := NewGeometric(scale)
		check(geometric, err)
	})
}
