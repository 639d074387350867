package sketch

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/hashing"
)

// A Table adds up as a map does, as it grows and beyond 2¹⁶ keys, and its counts saturate.
func TestTable(t *testing.T) {
	checkTable(t, 70_000, func(i int) uint64 { return uint64(i) << 20 })
	checkTable(t, 3000, func(i int) string { return fmt.Sprint(i) })
	checkTable(t, 3000, func(i int) [16]byte { return [16]byte{byte(i), 15: byte(i >> 8)} })
}

func checkTable[K hashing.Key](t *testing.T, keys int, key func(i int) K) {
	rng := rand.New(rand.NewPCG(3, 4))
	table, want := NewTable[K](), map[K]int64{}
	for range 8 {
		var counts []Counter[K]
		for range keys / 3 {
			c := Counter[K]{key(rng.IntN(keys)), rng.Int64N(1000)}
			if rng.IntN(100) == 0 {
				c.Count = Limit - 5
			}
			counts = append(counts, c)
			want[c.Key] = Saturate(uint64(want[c.Key]) + uint64(c.Count))
		}
		table.Add(counts)
	}
	got := map[K]int64{}
	for _, c := range table.Counters {
		got[c.Key] += c.Count
	}
	require.Len(t, table.Counters, len(want))
	require.True(t, maps.Equal(want, got))
}
