package sets

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/wire"
)

// Words is the definition, in exact arithmetic.
func TestWords(t *testing.T) {
	h := NewHash([16]byte{1, 2, 3, 9: 7}, [16]byte{5, 6})
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

// Of two levels of 70 cells, 6 bits of each second word are cells.
func TestTable(t *testing.T) {
	require.Equal(t, []int{1, 1, 2}, []int{Stride(1), Stride(64), Stride(65)})
	full := []uint64{0, math.MaxUint64, 0, 1 << 6}
	require.Equal(t, 58+1, PaddingOnes(full, 70))
	read := func(words uint64, data []byte) ([]uint64, error) {
		r := wire.NewReader("sets", data)
		table := ReadTable(r, words, 70)
		return table, r.Done()
	}
	_, err := read(4, AppendTable(nil, full))
	require.ErrorContains(t, err, "ones behind the cells of a level")
	ClearPadding(full, 70)
	require.Equal(t, []uint64{0, 63, 0, 0}, full)
	Or(full, []uint64{1, 64, 2, 1})
	require.Equal(t, []uint64{1, 127, 2, 1}, full)
	ClearPadding(full, 70)
	again, err := read(4, AppendTable(nil, full))
	require.NoError(t, err)
	require.Equal(t, full, again)
	_, err = read(6, AppendTable(nil, full))
	require.ErrorContains(t, err, "fewer bits than the Params say")
}
