package exact

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// edges are integers where carries and signs go wrong.
func edges() (all []int64) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, x := range []int64{0, 1, 2, 3, 1 << 31, 1 << 32, 1 << 52, 1<<53 + 1, 1 << 62, math.MaxInt64} {
		all = append(all, x, -x, rng.Int64()>>rng.IntN(60), -rng.Int64()>>rng.IntN(60))
	}
	return append(all, math.MinInt64)
}

// All operations are those of math/big, modulo 2¹²⁸.
func TestInt128AgainstBig(t *testing.T) {
	modulus := new(big.Int).Lsh(big.NewInt(1), 128)
	same := func(want *big.Int, got Int128) {
		difference := new(big.Int).Sub(want, got.Big())
		require.Zero(t, difference.Mod(difference, modulus).Sign(), "%v, want %v", got.Big(), want)
	}
	var all []Int128
	for _, x := range edges() {
		require.Equal(t, big.NewInt(x), Int128Of(x).Big())
		for _, y := range edges() {
			p := Product128(x, y)
			require.Zero(t, new(big.Int).Mul(big.NewInt(x), big.NewInt(y)).Cmp(p.Big()))
			all = append(all, p, Int128{x, uint64(y)})
		}
	}
	for i, w := range all {
		x := all[i*7919%len(all)]
		same(new(big.Int).Add(w.Big(), x.Big()), w.Plus(x))
		same(new(big.Int).Sub(w.Big(), x.Big()), w.Minus(x))
		require.Equal(t, w.Big().Cmp(x.Big()) < 0, w.Less(x))
		require.Equal(t, w, Int128OfBig(w.Big()))
		times := x.Hi & math.MaxInt64
		same(new(big.Int).Mul(w.Big(), big.NewInt(times)), w.Times(times))
		for _, n := range []uint{0, 1, 31, 63} {
			require.Equal(t, new(big.Int).Rsh(w.Big(), n).String(), w.Shr(n).Big().String())
			same(new(big.Int).Lsh(w.Big(), n), w.Shl(n))
			same(new(big.Int).Lsh(w.Big(), n+64), w.Shl(n+64))
		}
		f, _ := new(big.Float).SetInt(w.Big()).Float64()
		require.Equal(t, f, w.Float64())
		if math.Abs(f) < 0x1p127 {
			require.Equal(t, f, Int128OfFloat(f).Float64())
		}
	}
}
