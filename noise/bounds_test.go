package noise

import (
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every operation on intervals of width 0 to 3 encloses the rational result for both ends, and by few units.
func TestBoundsEnclose(t *testing.T) {
	const prec = 80
	var src Source
	number := func() bounds { // in [½, 1)
		lo := new(big.Int).SetUint64(src.Uint64() | 1<<63)
		lo.Lsh(lo, prec-64)
		return bounds{lo, new(big.Int).Add(lo, big.NewInt(int64(src.Uint64N(4))))}
	}
	rat := func(n *big.Int) *big.Rat { return new(big.Rat).SetFrac(n, one(prec)) }
	encloses := func(b bounds, least, most *big.Rat, width int64) {
		t.Helper()
		require.LessOrEqual(t, rat(b.lo).Cmp(least), 0)
		require.GreaterOrEqual(t, rat(b.hi).Cmp(most), 0)
		require.LessOrEqual(t, new(big.Int).Sub(b.hi, b.lo).Int64(), width)
	}
	for range full(500, 100) {
		x, y := number(), number()
		xl, xh, yl, yh := rat(x.lo), rat(x.hi), rat(y.lo), rat(y.hi)
		encloses(x.mul(y, prec), new(big.Rat).Mul(xl, yl), new(big.Rat).Mul(xh, yh), 8)
		encloses(x.quo(y, prec), new(big.Rat).Quo(xl, yh), new(big.Rat).Quo(xh, yl), 22)
		m, n := src.Uint64N(100)+1, src.Uint64N(100)+1
		factor := new(big.Rat).SetFrac64(int64(m), int64(n))
		encloses(x.scale(m, n), new(big.Rat).Mul(xl, factor), new(big.Rat).Mul(xh, factor), 302)
		powLo, powHi := big.NewRat(1, 1), big.NewRat(1, 1)
		for k := range uint64(12) {
			encloses(x.pow(k, prec), powLo, powHi, 64)
			powLo.Mul(powLo, xl)
			powHi.Mul(powHi, xh)
		}
	}
}
