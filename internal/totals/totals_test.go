package totals

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// The table is a map that saturates, and keeps the order of arrival.
func TestTableIsAMap(t *testing.T) {
	const limit = 1000
	random := rand.New(rand.NewPCG(1, 2))
	integers, texts := New[int32](limit), New[string](limit)
	want, order := map[int32]int64{}, []int32{}
	for range 20_000 {
		key, steps := int32(random.IntN(3000)-1500), int64(random.IntN(2*limit+1)-limit)
		if _, known := want[key]; !known {
			order = append(order, key)
		}
		want[key] = min(max(want[key]+steps, -limit), limit)
		integers.Add(key, steps)
		texts.Add(strconv.Itoa(int(key)), steps)
	}
	require.Len(t, integers.Entries(), len(order))
	require.Len(t, texts.Entries(), len(order))
	for i, key := range order {
		require.Equal(t, Entry[int32]{key, want[key]}, integers.Entries()[i])
		require.Equal(t, Entry[string]{strconv.Itoa(int(key)), want[key]}, texts.Entries()[i])
	}
}

// Slots hold half of a hash, in which about ten pairs of 300,000 keys agree: they stay apart.
func TestKeysOfOneHalfHash(t *testing.T) {
	const n = 300_000
	table, random := New[uint64](n), rand.New(rand.NewPCG(6, 7))
	var keys [n]uint64
	for i := range keys {
		keys[i] = random.Uint64()
		table.Add(keys[i], int64(i))
	}
	for i, key := range keys {
		table.Add(key, int64(i))
	}
	require.Len(t, table.Entries(), n)
	for i, e := range table.Entries() {
		require.True(t, e.Key == keys[i] && e.Steps == min(2*int64(i), n))
	}
}

func TestSumsDoNotOverflow(t *testing.T) {
	table := New[uint64](1 << 61)
	for range 5 {
		table.Add(7, 1<<61)
		table.Add(8, -1<<61)
	}
	require.Equal(t, []Entry[uint64]{{7, 1 << 61}, {8, -1 << 61}}, table.Entries())
}

func TestAddDoesNotAllocate(t *testing.T) {
	table := New[string](1)
	table.Add("key", 1)
	require.Zero(t, testing.AllocsPerRun(100, func() { table.Add("key", 1) }))
}
