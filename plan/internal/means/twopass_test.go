package means

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/cryptotest"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// τ² is what it was made with, to its sampling error, 0 where passes agree, and 0 where no mean
// stands out from the noise. With relative errors of 0.1 in 400 means of 20 to 100 standard
// deviations each tells τ² to within its √2-fold and a little more for the noise, so the mean is
// within 10 %: six of these are 0.006.
func TestClippingVariance(t *testing.T) {
	rng := rand.New(rand.NewPCG(61, 62)) // test data
	make4 := func(tau, least, most float64) (a, b, va, vb []float64) {
		for range 400 {
			theta := least + (most-least)*rng.Float64()
			a = append(a, theta*(1+tau*rng.NormFloat64())+rng.NormFloat64())
			b = append(b, theta+0.5*rng.NormFloat64())
			va, vb = append(va, 1), append(vb, 0.25)
		}
		return a, b, va, vb
	}
	require.InDelta(t, 0.01, clippingVariance(make4(0.1, 20, 100)), 0.006)
	require.Less(t, clippingVariance(make4(0, 20, 100)), 0.0002)
	require.Zero(t, clippingVariance(make4(1, 0, 0)))
	for _, x := range []float64{0, 5e-324, 1e-200, 1e200, math.MaxFloat64, math.Inf(1), math.NaN()} {
		got := clippingVariance([]float64{x, 1}, []float64{1, x}, []float64{1e-9, x}, []float64{1e-9, x})
		require.True(t, got >= 0 && got <= math.MaxFloat64, "%v: %v", x, got)
	}
}

// Counts of words in mails of very different lengths: the longest mails have most of the common
// words, and clipping them drew the ten largest means down by 2 to 4 %, with a half-width of half a
// per cent. A margin that the norms choose leaves a third of that, and 0.6 of the error in all,
// and leaves rows of about the same length as they were. Noise is fixed.
func TestWordsOfMails(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 1)
	rng := rand.New(rand.NewPCG(5, 6)) // test data
	const n, d = 20_000, 500
	cumulated, sum := make([]float64, d), 0.0
	for i := range cumulated {
		sum += 1 / (float64(i) + 3)
		cumulated[i] = sum
	}
	words := func(spread float64) (Sparse, []float64) {
		x, mean := Sparse{Offsets: []int{0}}, make([]float64, d)
		for range n {
			for range 1 + int(math.Exp(3+spread*rng.NormFloat64())) {
				i, _ := slices.BinarySearch(cumulated, rng.Float64()*sum)
				x.Indices, mean[i] = append(x.Indices, uint32(i)), mean[i]+1./n
			}
			x.Offsets = append(x.Offsets, len(x.Indices))
		}
		return x, mean
	}
	lost := func(p Params, x Sparse, mean []float64) (top, all, margin float64) {
		p.Rho, p.Dim, p.Max, p.NonNegative, p.Method = 0.5, d, 1000, true, TwoPass
		releases := dptest.Full(5, 3)
		for range releases {
			m := releaseSparse(t, p, x)
			for i := range mean {
				all += math.Abs(m.Values[i]-mean[i]) / float64(releases)
				if i < 10 {
					top += (1 - m.Values[i]/mean[i]) / 10 / float64(releases)
				}
			}
			margin = m.Params.Margin
		}
		return top, all, margin
	}
	x, mean := words(1.2)
	before, allBefore, _ := lost(Params{Margin: 1}, x, mean)
	now, all, g := lost(Params{}, x, mean)
	t.Logf("the ten largest lack %.2g of their means, %.2g with the margin 1; all errors %.3g, %.3g", now, before, all, allBefore)
	require.Greater(t, before, 0.02)
	require.Less(t, now, 0.4*before)
	require.Less(t, all, 0.75*allBefore)
	require.Greater(t, g, 1.2)
	x, mean = words(0.1)
	_, _, g = lost(Params{}, x, mean)
	require.Less(t, g, 1.05)
}
