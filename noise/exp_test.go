package noise

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/dptest"
)

// e^{−1} to 60 digits.
const inverseE = "0.367879441171442321595523770161460867445811131031767834507837"

func TestExpNegBounds(t *testing.T) {
	for _, prec := range []uint{64, 128, 192} {
		unit := new(big.Float).SetPrec(400).SetMantExp(big.NewFloat(1), -int(prec))
		lo, hi := expNegBounds(big.NewRat(1, 1), prec)
		want, _, err := big.ParseFloat(inverseE, 10, 400, big.ToNearestEven)
		require.NoError(t, err)
		scaled := want.Quo(want, unit)
		require.LessOrEqual(t, new(big.Float).SetInt(lo).Cmp(scaled), 0)
		require.GreaterOrEqual(t, new(big.Float).SetInt(hi).Cmp(scaled), 0)
		require.LessOrEqual(t, new(big.Int).Sub(hi, lo).Int64(), int64(3), "the bounds are tight")
	}
	lo, hi := expNegBounds(new(big.Rat), 64)
	require.Zero(t, lo.Cmp(hi), "e⁰ is exact")
	lo, hi = expNegBounds(new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), 1000)), 64)
	require.Zero(t, lo.Sign())
	require.EqualValues(t, 1, hi.Int64())
}

// e^{−x}·e^{−y} = e^{−(x+y)}, math.Exp to its own precision, and refinement of bounds by more bits.
func TestExpNegBoundsAreConsistent(t *testing.T) {
	var src Source
	for range full(2000, 500) {
		x := new(big.Rat).SetFrac64(int64(src.Uint64()>>12), int64(1)<<(30+src.Uint64()%22))
		y := new(big.Rat).SetFrac64(int64(src.Uint64()>>30), int64(1)<<32)
		const prec = 128
		xl, xh := expNegBounds(x, prec)
		yl, yh := expNegBounds(y, prec)
		sl, sh := expNegBounds(new(big.Rat).Add(x, y), 2*prec)
		require.LessOrEqual(t, new(big.Int).Mul(xl, yl).Cmp(sh), 0)
		require.GreaterOrEqual(t, new(big.Int).Mul(xh, yh).Cmp(sl), 0)
		require.LessOrEqual(t, new(big.Int).Sub(xh, xl).Int64(), int64(3))
		fx, _ := x.Float64()
		approx, _ := new(big.Float).SetMantExp(new(big.Float).SetInt(xl), -prec).Float64()
		if fx < 40 {
			require.InEpsilon(t, math.Exp(-fx), approx, 1e-12)
		}
		fine, _ := expNegBounds(x, prec+64)
		require.LessOrEqual(t, new(big.Int).Lsh(xl, 64).Cmp(new(big.Int).Add(fine, big.NewInt(1))), 0)
	}
}

// Whatever float64 decides is what exact arithmetic decides, near the boundary too.
func TestCompareExp64IsRight(t *testing.T) {
	var src Source
	n := full(20_000, 4_000)
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
	require.Greater(t, undecidedCount, n/full(20, 40), "the boundary was not tried")
	require.Greater(t, decidedCount, n/2)
}

func TestBernoulliExpHasTheRightFrequency(t *testing.T) {
	var src Source
	for _, x := range []float64{0, 1e-12, 0.01, 0.5, 1, 2, 7, 800} {
		n := int64(full(20_000, 5_000))
		fast, slow := int64(0), int64(0)
		exact := func() *big.Rat { return new(big.Rat).SetFloat64(x) }
		for i := range n {
			if bernoulliExp(&src, x, exact) {
				fast++
			}
			if i < n/10 && newLazy(src.Uint64(), 64).belowExp(&src, exact()) {
				slow++
			}
		}
		dptest.Tail(t, fmt.Sprint("float64, x = ", x), fast, n, math.Exp(-x), 1e-8)
		dptest.Tail(t, fmt.Sprint("exact, x = ", x), slow, n/10, math.Exp(-x), 1e-8)
	}
}

// The first 64 digits equal: the decision needs more, and comes out with the right frequency.
func TestLazyRefines(t *testing.T) {
	var src Source
	x := big.NewRat(1, 2)
	lo, _ := expNegBounds(x, 128)
	first := new(big.Int).Rsh(lo, 64).Uint64()
	rest := float64(new(big.Int).And(lo, new(big.Int).SetUint64(math.MaxUint64)).Uint64()) * 0x1p-64
	n := int64(full(5000, 1000))
	hits := int64(0)
	for range n {
		l := newLazy(first, 64)
		if l.belowExp(&src, x) {
			hits++
		}
		require.Greater(t, l.bits, uint(64))
	}
	dptest.Tail(t, "below after refinement", hits, n, rest, 1e-8)
}

func FuzzExpNegBounds(f *testing.F) {
	f.Add(uint64(1), uint64(2), uint8(64))
	f.Add(uint64(math.MaxUint64), uint64(1), uint8(255))
	f.Fuzz(func(t *testing.T, a, b uint64, prec uint8) {
		x := new(big.Rat).SetFrac(new(big.Int).SetUint64(a), new(big.Int).SetUint64(max(b, 1)))
		lo, hi := expNegBounds(x, uint(prec))
		require.GreaterOrEqual(t, lo.Sign(), 0)
		require.LessOrEqual(t, lo.Cmp(hi), 0)
		require.LessOrEqual(t, new(big.Int).Sub(hi, lo).Int64(), int64(3))
		fx, _ := x.Float64()
		top := math.Ldexp(math.Exp(-fx), int(prec))
		l, _ := new(big.Float).SetInt(lo).Float64()
		h, _ := new(big.Float).SetInt(hi).Float64()
		require.LessOrEqual(t, l, top*(1+1e-9)+1)
		require.GreaterOrEqual(t, h, top*(1-1e-9))
	})
}
