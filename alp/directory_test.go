package alp

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// All indices are found and no others, however they hash: also if all fall into one bucket.
func TestDirectory(t *testing.T) {
	for _, n := range []int{0, 1, 2, 9, 1000} {
		for _, crowd := range []uint64{1 << 20, 1} {
			var slots []directorySlot
			values := map[uint64]float64{}
			for i := range uint64(n) {
				s := directorySlot{Index: unmix(i * (math.MaxUint64 / 1024 / crowd)), Value: float64(i + 1)}
				slots, values[s.Index] = append(slots, s), s.Value
			}
			slices.SortFunc(slots, func(a, b directorySlot) int { return cmp.Compare(a.Index, b.Index) })
			d := newDirectory(slots)
			for index, value := range values {
				require.Equal(t, value, d.value(index))
			}
			for i := range uint64(4000) {
				require.Equal(t, values[i], d.value(i))
				require.Equal(t, values[unmix(i)], d.value(unmix(i)))
			}
			for i := uint64(0); i < 4000; i += batchSize {
				part, places := make([]uint64, batchSize-i%3), [batchSize]int{}
				for k := range part { // half of them are there
					if part[k] = unmix(i + uint64(k)); k%2 == 0 && n > 0 {
						part[k] = slots[(int(i)+k)%n].Index
					}
				}
				d.positions(part, &places)
				for k, index := range part {
					require.Equal(t, d.position(index), places[k])
					if places[k] >= 0 {
						require.Equal(t, values[index], d.slot(places[k]).Value)
					}
				}
			}
		}
	}
}

// unmix is the inverse of mixBits: the products with the inverses of its factors modulo 2⁶⁴, and
// its shifts undone.
func unmix(y uint64) uint64 {
	inverse := func(odd uint64) uint64 {
		x := odd
		for range 6 { // Newton: each round doubles the digits
			x *= 2 - odd*x
		}
		return x
	}
	y ^= y>>31 ^ y>>62
	y *= inverse(0x94d049bb133111eb)
	y ^= y>>27 ^ y>>54
	y *= inverse(0xbf58476d1ce4e5b9)
	y ^= y>>30 ^ y>>60
	return y - 0x9e3779b97f4a7c15
}
