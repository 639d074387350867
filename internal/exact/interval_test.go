package exact

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every operation on intervals of width 0 to 3 encloses the rational result for both ends, and by
// few units.
func TestIntervalEncloses(t *testing.T) {
	const prec = 80
	src := rand.New(rand.NewPCG(1, 2))
	number := func() Interval { // in [½, 1)
		lo := new(big.Int).SetUint64(src.Uint64() | 1<<63)
		lo.Lsh(lo, prec-64)
		return Interval{lo, new(big.Int).Add(lo, big.NewInt(int64(src.Uint64N(4))))}
	}
	rat := func(n *big.Int) *big.Rat { return new(big.Rat).SetFrac(n, One(prec)) }
	encloses := func(b Interval, least, most *big.Rat, width int64) {
		t.Helper()
		require.LessOrEqual(t, rat(b.Lo).Cmp(least), 0)
		require.GreaterOrEqual(t, rat(b.Hi).Cmp(most), 0)
		require.LessOrEqual(t, new(big.Int).Sub(b.Hi, b.Lo).Int64(), width)
	}
	for range 200 {
		x, y := number(), number()
		xl, xh, yl, yh := rat(x.Lo), rat(x.Hi), rat(y.Lo), rat(y.Hi)
		encloses(x.Add(y), new(big.Rat).Add(xl, yl), new(big.Rat).Add(xh, yh), 6)
		if x.Lo.Cmp(y.Hi) >= 0 {
			encloses(x.Sub(y), new(big.Rat).Sub(xl, yh), new(big.Rat).Sub(xh, yl), 6)
		}
		encloses(x.Mul(y, prec), new(big.Rat).Mul(xl, yl), new(big.Rat).Mul(xh, yh), 8)
		encloses(x.Quo(y, prec), new(big.Rat).Quo(xl, yh), new(big.Rat).Quo(xh, yl), 22)
		m, n := src.Uint64N(100)+1, src.Uint64N(100)+1
		factor := new(big.Rat).SetFrac64(int64(m), int64(n))
		encloses(x.Scale(m, n), new(big.Rat).Mul(xl, factor), new(big.Rat).Mul(xh, factor), 302)
		powLo, powHi := big.NewRat(1, 1), big.NewRat(1, 1)
		for k := range uint64(12) {
			encloses(x.Pow(k, prec), powLo, powHi, 64)
			powLo.Mul(powLo, xl)
			powHi.Mul(powHi, xh)
		}
	}
}

// Rationals are enclosed by less than a unit, exactly where they are whole, and scaled and
// exponentiated by few units.
func TestIntervalsOfRationals(t *testing.T) {
	const prec = 100
	src := rand.New(rand.NewPCG(5, 6))
	rat := func(n *big.Int) *big.Rat { return new(big.Rat).SetFrac(n, One(prec)) }
	for range 500 {
		x := new(big.Rat).SetFrac64(int64(src.Uint64()>>20), int64(src.Uint64()>>30)+1)
		c := new(big.Rat).SetFrac64(int64(src.Uint64()>>50), int64(src.Uint64()>>50)+1)
		e := Enclose(x, prec)
		require.LessOrEqual(t, rat(e.Lo).Cmp(x), 0)
		require.GreaterOrEqual(t, rat(e.Hi).Cmp(x), 0)
		require.LessOrEqual(t, new(big.Int).Sub(e.Hi, e.Lo).Int64(), int64(1))
		product, want := e.Times(c), new(big.Rat).Mul(x, c)
		require.LessOrEqual(t, rat(product.Lo).Cmp(want), 0)
		require.GreaterOrEqual(t, rat(product.Hi).Cmp(want), 0)
		require.LessOrEqual(t, new(big.Int).Sub(product.Hi, product.Lo).Int64(), int64(1<<14+2))
		power, exact := e.ExpNeg(prec), ExpNeg(x, prec+20)
		require.LessOrEqual(t, new(big.Int).Lsh(power.Lo, 20).Cmp(exact.Hi), 0)
		require.GreaterOrEqual(t, new(big.Int).Lsh(power.Hi, 20).Cmp(exact.Lo), 0)
		require.LessOrEqual(t, new(big.Int).Sub(power.Hi, power.Lo).Int64(), int64(8))
	}
	half := Enclose(big.NewRat(1, 2), prec)
	require.Zero(t, half.Lo.Cmp(half.Hi))
	require.Equal(t, Unit(prec), Interval{new(big.Int), new(big.Int)}.ExpNeg(prec))
}

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

func TestLogRat(t *testing.T) {
	for _, x := range []float64{1, 1 + 0x1p-52, 1.25, 1.9999, 2, 3, 1e10, 1e300, math.MaxFloat64} {
		for _, prec := range []uint{20, 64, 200} {
			lo, hi := LogRat(Rat(x), prec)
			width := new(big.Rat).Sub(hi, lo)
			require.GreaterOrEqual(t, width.Sign(), 0)
			require.LessOrEqual(t, width.Cmp(new(big.Rat).SetFrac(big.NewInt(1), One(prec))), 0)
			// e^{−hi} ≤ 1/x ≤ e^{−lo}, by the series of the exponential
			inverse := new(big.Rat).Inv(Rat(x))
			scaled := new(big.Rat).Mul(inverse, new(big.Rat).SetInt(One(300)))
			least, _ := ends(hi, 300)
			_, most := ends(lo, 300)
			require.LessOrEqual(t, new(big.Rat).SetInt(least).Cmp(scaled), 0, "ln %g is too small", x)
			require.GreaterOrEqual(t, new(big.Rat).SetInt(most).Cmp(scaled), 0, "ln %g is too large", x)
		}
	}
}
