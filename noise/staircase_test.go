package noise

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/exact"
)

// No γ has less error than the two functions say, the value is the published one, and the yardstick
// of Geng and Viswanath is met.
func TestStaircaseGamma(t *testing.T) {
	for _, epsilon := range []float64{0x1p-30, 1e-3, 0.1, 1, 2, 3, 5, 8, 12, 20, 100, 512} {
		forAbs := dptest.OK(StaircaseGamma(epsilon))(t)
		forVariance := dptest.OK(StaircaseGammaVariance(epsilon))(t)
		at := func(gamma float64) Staircase {
			return dptest.OK(NewStaircase(epsilon, 1, gamma))(t)
		}
		for i := range 1001 {
			gamma := float64(i) / 1000
			assert.GreaterOrEqual(t, at(gamma).MeanAbs(), at(forAbs).MeanAbs()*(1-1e-15), "ε = %g, γ = %g", epsilon, gamma)
			assert.GreaterOrEqual(t, at(gamma).Variance(), at(forVariance).Variance()*(1-1e-15), "ε = %g, γ = %g", epsilon, gamma)
		}
		assert.InEpsilon(t, 1/(2*math.Sinh(epsilon/2)), at(forAbs).MeanAbs(), 1e-13, "e^{ε/2}/(e^ε−1)")
		if b := math.Exp(-epsilon); epsilon >= 0.1 && epsilon < 40 {
			published := -b/(1-b) + math.Cbrt((b-2*b*b+2*b*b*b*b-b*b*b*b*b)/2)/(1-b)/(1-b)
			assert.InEpsilon(t, published, forVariance, 1e-11, "Geng and Viswanath, at ε = %g", epsilon)
		}
	}
}

// The mechanism is ε-private: the density falls by exactly e^{−ε} over Δ, and never by more over
// less; not so at half the sensitivity.
func TestStaircaseIsPrivate(t *testing.T) {
	worst := func(d Staircase, shift float64) (loss float64) {
		for x := -7.003; x < 7; x += 0.0137 {
			for _, y := range []float64{x + shift, x - shift, x + 0.61*shift} {
				loss = max(loss, d.LogProb(x)-d.LogProb(y))
			}
		}
		return loss
	}
	for _, epsilon := range []float64{0.1, 1, 5, 20} {
		for _, gamma := range []float64{0, 0.1, 0.5, 1} {
			d := dptest.OK(NewStaircase(epsilon, 1, gamma))(t)
			require.InEpsilon(t, epsilon, worst(d, 1), 1e-12)
			half, _ := NewStaircase(epsilon, 0.5, gamma)
			require.InEpsilon(t, 2*epsilon, worst(half, 1), 1e-12, "half the noise must be noticed")
		}
	}
}

// roundQuick agrees with rational arithmetic wherever it decides.
func TestSegmentRoundQuick(t *testing.T) {
	var src Source
	undecided := 0
	for i := range dptest.Fewer(20_000, 4_000) {
		s := segment{units: math.Ldexp(1+float64(src.Uint64()>>12)*0x1p-52, int(src.Uint64()%60)-14), slope: float64(src.Uint64()>>11) * 0x1p-53}
		if i%2 == 0 {
			s.whole, s.start, s.slope = float64(src.Uint64N(50)), s.slope, 1
		}
		w := src.Uint64()
		if i%4 < 2 { // next to a half
			target := (math.Floor(s.units*(s.whole+s.start+s.slope*0.5)) + 0.5) / s.units
			if u := (target - s.whole - s.start) / s.slope; u > 0 && u < 1 {
				w = uint64(u*0x1p64) + src.Uint64N(5) - 2
			}
		}
		got, decided := s.roundQuick(w)
		if !decided {
			undecided++
			continue
		}
		for _, u := range []*big.Rat{newLazy(w, 64).lower(), newLazy(w, 64).upper()} {
			u.Mul(u, exact.Rat(s.slope)).Add(u, exact.Rat(s.start)).Add(u, exact.Rat(s.whole)).Mul(u, exact.Rat(s.units))
			require.Equal(t, got, roundRat(u).Int64(), "%+v, w = %#x", s, w)
		}
	}
	require.Positive(t, undecided, "the boundary was not tried")
}
