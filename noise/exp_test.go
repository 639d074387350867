package noise

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/exact"
)

// Whatever float64 decides is what exact arithmetic decides, near the boundary too.
func TestCompareExp64IsRight(t *testing.T) {
	var src Source
	n := dptest.Fewer(20_000, 4_000)
	decidedCount, undecidedCount := 0, 0
	for i := range n {
		x := math.Ldexp(float64(src.Uint64()>>11), -53+int(src.Uint64()%10)-6)
		w := src.Uint64()
		if i%2 == 0 { // U within a few times the margin of e^{−x}
			near := math.Exp(-x)*0x1p64 + (float64(int64(src.Uint64()))*0x1p-63)*0x1p22
			if near < 0 || near >= 0x1p64 {
				continue
			}
			w = uint64(near)
		}
		below, decided := compareExp64(float64(w>>11)*0x1p-53, x)
		if !decided {
			undecidedCount++
			continue
		}
		decidedCount++
		exact := new(big.Rat).SetFloat64(x)
		want, sure := newLazy(w, 64).compareExp(exact, exact)
		require.True(t, sure)
		require.Equal(t, want, below, "x = %v, w = %#x", x, w)
	}
	require.Greater(t, undecidedCount, n/dptest.Fewer(20, 40), "the boundary was not tried")
	require.Greater(t, decidedCount, n/2)
}

// The float64 exponents of the samplers are as near to the exact ones as [margin] asks, and the
// condition that does suffice is not the one with e^{−x} alone.
func TestExponentsAreNearEnough(t *testing.T) {
	near := func(approx float64, truth *big.Rat) bool {
		x, _ := truth.Float64()
		if x >= 40 && approx >= 40 {
			return true
		}
		off := new(big.Rat).Sub(exact.Rat(approx), truth)
		distance, _ := off.Abs(off).Float64()
		return distance <= 0x1p-47*math.Exp(min(x, approx))
	}
	require.False(t, near(1, big.NewRat(100, 1)))
	require.Less(t, 99*math.Exp(-100), 0x1p-47, "what does not suffice")
	var src Source
	for range dptest.Fewer(4000, 1000) {
		sigma := math.Ldexp(1+float64(src.Uint64()>>12)*0x1p-52, int(src.Uint64N(100))-50)
		step := math.Floor(sigma) + 1
		y := int64((float64(int64(src.Uint64()))*0x1p-61*sigma + float64(src.Uint64N(9))))
		z := (math.Abs(float64(y)) - sigma*(sigma/step)) / sigma
		require.True(t, near(z*z/2, cksExponent(y, sigma, step)), "σ = %g, y = %d", sigma, y)
		least := int64(src.Uint64() >> (1 + src.Uint64N(63)))
		require.True(t, near(float64(least)/sigma, ratio(least, sigma)), "b = %g, n = %d", sigma, least)
	}
}

// The first 64 digits equal: the decision needs more, and comes out with the right frequency.
func TestLazyRefines(t *testing.T) {
	var src Source
	x := big.NewRat(1, 2)
	lo := exact.ExpNeg(x, 128).Lo
	first := new(big.Int).Rsh(lo, 64).Uint64()
	rest := float64(new(big.Int).And(lo, new(big.Int).SetUint64(math.MaxUint64)).Uint64()) * 0x1p-64
	n := int64(dptest.Fewer(5000, 1000))
	hits := int64(0)
	for range n {
		l := newLazy(first, 64)
		if l.belowExp(&src, x) {
			hits++
		}
		require.Greater(t, l.bits, uint(64))
	}
	dptest.Tail(t, "below after refinement", hits, n, rest, 1e-10)
}
