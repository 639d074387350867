package sketch

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/hashing"
)

// A Table adds up as a map does, as it grows and beyond 2¹⁶ keys, merges, and its counts saturate.
func TestTable(t *testing.T) {
	checkTable(t, 70_000, func(i int) uint64 { return uint64(i) << 20 })
	checkTable(t, 3000, func(i int) string { return fmt.Sprint(i) })
	checkTable(t, 3000, func(i int) [16]byte { return [16]byte{byte(i), 15: byte(i >> 8)} })
}

func checkTable[K hashing.Key](t *testing.T, keys int, key func(i int) K) {
	rng := rand.New(rand.NewPCG(3, 4))
	table, want := NewTable[K](), map[K]int64{}
	for i := range 8 {
		var counts []Counter[K]
		for range keys / 3 {
			c := Counter[K]{key(rng.IntN(keys)), rng.Int64N(1000)}
			if rng.IntN(100) == 0 {
				c.Count = Limit - 5
			}
			counts = append(counts, c)
			want[c.Key] = Saturate(uint64(want[c.Key]) + uint64(c.Count))
		}
		if i < 4 {
			table.Add(counts)
			continue
		}
		other := NewTable[K]()
		other.Add(counts)
		switch i {
		case 5: // without sums
		case 6: // fewer sums
			other.Sums()
			table.Sums()
		case 7: // more sums
			other.Sums()
			one := NewTable[K]()
			one.Add(counts[:1])
			one.Sums()
			want[counts[0].Key] = Saturate(uint64(want[counts[0].Key]) + uint64(counts[0].Count))
			one.Merge(&other)
			other = one
		}
		table.Merge(&other)
	}
	got := map[K]int64{}
	for _, c := range table.Sums() {
		got[c.Key] += c.Count
	}
	require.Len(t, table.Sums(), len(want))
	require.True(t, maps.Equal(want, got))
}
