package enclose

import (
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
		e := Exactly(x, prec)
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
	half := Exactly(big.NewRat(1, 2), prec)
	require.Zero(t, half.Lo.Cmp(half.Hi))
	require.Equal(t, Unit(prec), Interval{new(big.Int), new(big.Int)}.ExpNeg(prec))
}
