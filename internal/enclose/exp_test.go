package enclose

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// e^{−1} to 60 digits.
const inverseE = "0.367879441171442321595523770161460867445811131031767834507837"

func TestExpNeg(t *testing.T) {
	for _, prec := range []uint{64, 128, 192} {
		unit := new(big.Float).SetPrec(400).SetMantExp(big.NewFloat(1), -int(prec))
		lo, hi := ends(big.NewRat(1, 1), prec)
		want, _, err := big.ParseFloat(inverseE, 10, 400, big.ToNearestEven)
		require.NoError(t, err)
		scaled := want.Quo(want, unit)
		require.LessOrEqual(t, new(big.Float).SetInt(lo).Cmp(scaled), 0)
		require.GreaterOrEqual(t, new(big.Float).SetInt(hi).Cmp(scaled), 0)
		require.LessOrEqual(t, new(big.Int).Sub(hi, lo).Int64(), int64(3), "the bounds are tight")
	}
	lo, hi := ends(new(big.Rat), 64)
	require.Zero(t, lo.Cmp(hi), "e⁰ is exact")
	lo, hi = ends(new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), 1000)), 64)
	require.Zero(t, lo.Sign())
	require.EqualValues(t, 1, hi.Int64())
}

// ends returns the two ends of [ExpNeg].
func ends(x *big.Rat, prec uint) (lo, hi *big.Int) {
	e := ExpNeg(x, prec)
	return e.Lo, e.Hi
}

// e^{−x}·e^{−y} = e^{−(x+y)}, math.Exp to its own precision, and refinement of bounds by more bits.
func TestExpNegIsConsistent(t *testing.T) {
	src := rand.New(rand.NewPCG(3, 4))
	for range 1000 {
		x := new(big.Rat).SetFrac64(int64(src.Uint64()>>12), int64(1)<<(30+src.Uint64()%22))
		y := new(big.Rat).SetFrac64(int64(src.Uint64()>>30), int64(1)<<32)
		const prec = 128
		xl, xh := ends(x, prec)
		yl, yh := ends(y, prec)
		sl, sh := ends(new(big.Rat).Add(x, y), 2*prec)
		require.LessOrEqual(t, new(big.Int).Mul(xl, yl).Cmp(sh), 0)
		require.GreaterOrEqual(t, new(big.Int).Mul(xh, yh).Cmp(sl), 0)
		require.LessOrEqual(t, new(big.Int).Sub(xh, xl).Int64(), int64(3))
		fx, _ := x.Float64()
		approx, _ := new(big.Float).SetMantExp(new(big.Float).SetInt(xl), -prec).Float64()
		if fx < 40 {
			require.InEpsilon(t, math.Exp(-fx), approx, 1e-12)
		}
		fine, _ := ends(x, prec+64)
		require.LessOrEqual(t, new(big.Int).Lsh(xl, 64).Cmp(new(big.Int).Add(fine, big.NewInt(1))), 0)
	}
}

func FuzzExpNeg(f *testing.F) {
	f.Add(uint64(1), uint64(2), uint8(64))
	f.Add(uint64(math.MaxUint64), uint64(1), uint8(255))
	f.Fuzz(func(t *testing.T, a, b uint64, prec uint8) {
		x := new(big.Rat).SetFrac(new(big.Int).SetUint64(a), new(big.Int).SetUint64(max(b, 1)))
		lo, hi := ends(x, uint(prec))
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
