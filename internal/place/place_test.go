package place

import (
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
)

// Words is the definition, in exact arithmetic.
func TestWords(t *testing.T) {
	h := New([16]byte{1, 2, 3, 9: 7}, [16]byte{5, 6})
	require.Equal(t, uint64(0x030201), h.K0)
	require.True(t, h.K1&1 == 1 && h.K2&1 == 1 && h.K2>>63 == 1)
	word := func(x uint64) *big.Int { return new(big.Int).SetUint64(x) }
	low := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 64), big.NewInt(1))
	for key := range uint64(1000) {
		key *= key * key
		product := new(big.Int).Mul(word(h.K1), word(key^h.K0))
		y := new(big.Int).Xor(new(big.Int).Rsh(product, 64), new(big.Int).And(product, low))
		product.Mul(word(h.K2), y)
		u, v := h.Words(key)
		require.Equal(t, new(big.Int).Rsh(product, 64).Uint64(), u)
		require.Equal(t, product.And(product, low).Uint64(), v)
	}
}
