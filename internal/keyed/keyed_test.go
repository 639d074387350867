package keyed

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/internal/wire"
)

func TestAllAndTop(t *testing.T) {
	keys, numbers := []string{"a", "b", "c", "d", "e"}, []float64{2, math.NaN(), 7, 2, math.Inf(-1)}
	all := All(len(keys), func(i int) (string, float64) { return keys[i], numbers[i] })
	read := func(n int) (got []string) {
		for key, x := range Top(all, n) {
			got = append(got, key)
			for i := range keys {
				if keys[i] == key && !math.IsNaN(x) {
					require.Equal(t, numbers[i], x)
				}
			}
		}
		return got
	}
	require.Equal(t, []string{"c", "a", "d", "e", "b"}, read(9))
	require.Equal(t, []string{"c", "a"}, read(2))
	require.Empty(t, read(0))
	require.Empty(t, read(-1))
	for key := range all {
		require.Equal(t, "a", key)
		break
	}
	for key := range Top(all, 5) {
		require.Equal(t, "c", key)
		break
	}
}

func TestRead(t *testing.T) {
	keys := wire.KeysOf[int]()
	read := func(list ...int) (got []int, err error) {
		var data []byte
		for _, key := range list {
			data = keys.Append(data, key)
		}
		r := wire.NewReader("keyed", data)
		Read(r, len(list), func(i int, key int) {
			require.Len(t, got, i)
			got = append(got, key)
		})
		return got, r.Done()
	}
	got, err := read(-3, 0, 9)
	require.NoError(t, err)
	require.Equal(t, []int{-3, 0, 9}, got)
	for _, list := range [][]int{{1, 1, 2}, {2, 1, 3}} {
		got, err = read(list...)
		require.ErrorIs(t, err, fault.ErrFormat)
		require.Len(t, got, 2, "it stops there")
	}
	r := wire.NewReader("keyed", nil)
	Read(r, 1<<30, func(int, int) {})
	require.ErrorIs(t, r.Err(), fault.ErrFormat)
}
