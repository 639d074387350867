package keytable

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/wire"
)

// occupied returns how many of 1000 slots the keys fall into, the mean over 40 Hashers.
func occupied[K wire.Key](keys []K) int {
	const slots, hashers = 1000, 40
	total := 0
	for range hashers {
		h := NewHasher[K]()
		taken := map[uint64]bool{}
		for _, key := range keys {
			taken[Reduce(h.Hash(key), slots)] = true
		}
		total += len(taken)
	}
	return total / hashers
}

// Keys with little entropy spread over the slots like random ones: 1000 into 1000 slots occupy 632
// on average. A multiplication may do better or worse on regular keys, depending on its key, but
// hardly worse on average.
func TestSpread(t *testing.T) {
	check := func(name string, got int) {
		if got < 550 || got > 1000 {
			t.Errorf("%s: %d slots of 1000 are taken", name, got)
		}
	}
	for _, stride := range []int{1, 2, 1 << 10, 1 << 20, 997} {
		var a []int
		var b []int32
		var c []uint64
		var d []string
		for i := range 1000 {
			a = append(a, i*stride)
			b = append(b, int32(i*(stride&0xfffff|1)))
			c = append(c, uint64(i)*uint64(stride)<<20)
			d = append(d, fmt.Sprint(i*stride))
		}
		check("int", occupied(a))
		check("int32", occupied(b))
		check("uint64", occupied(c))
		check("string", occupied(d))
	}
}

// Arrays that differ in any one byte spread as well, in the first or the second half.
func TestSpreadOfArrays(t *testing.T) {
	for place := range 15 {
		keys := make([][16]byte, 1000)
		for i := range keys {
			keys[i][place], keys[i][place+1] = byte(i), byte(i>>8)
		}
		if got := occupied(keys); got < 550 {
			t.Errorf("bytes %d and %d: %d slots of 1000 are taken", place, place+1, got)
		}
	}
}

func TestHashersDisagree(t *testing.T) {
	a, b := NewHasher[uint64](), NewHasher[uint64]()
	if a.Hash(1) == b.Hash(1) && a.Hash(2) == b.Hash(2) {
		t.Error("two Hashers have one key")
	}
	if Reduce(1<<63, 0) != 0 {
		t.Error("Reduce to nothing")
	}
}

// numbered is a hash table of numbers that stand for themselves, by hashes of the test's choice.
type numbered struct {
	slots  Slots
	hashes []uint64
}

// find returns the number of the hash and how many entries it has looked at, or 0 and the slot
// where it belongs.
func (n *numbered) find(h uint64) (number uint32, looks int, slot uint64) {
	slot, number = n.slots.First(h)
	for number != 0 {
		looks++
		if n.hashes[number-1] == h {
			return number, looks, slot
		}
		slot, number = n.slots.Next(slot, h)
	}
	return 0, looks, slot
}

// add adds a new hash.
func (n *numbered) add(h uint64) {
	_, _, slot := n.find(h)
	n.hashes = append(n.hashes, h)
	n.slots.Set(slot, h, uint32(len(n.hashes)))
}

// Every entry is found before and after growth, and nothing else is: of hashes that are spread,
// that agree in the half that slots hold, that all belong into the last slot and so go on at the
// first, and that fill all the room there is.
func TestSlots(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for name, hash := range map[string]func(i int) uint64{
		"spread":     func(int) uint64 { return random.Uint64() },
		"half":       func(i int) uint64 { return 5<<32 | uint64(i) },
		"the last":   func(i int) uint64 { return math.MaxUint64 - uint64(i) },
		"four halfs": func(i int) uint64 { return uint64(i%4)<<62 | uint64(i) },
	} {
		n := &numbered{slots: NewSlots(0)}
		for room := range 200 {
			n.slots.Grow(room)
			for len(n.hashes) < room {
				n.add(hash(len(n.hashes)))
			}
			for i, h := range n.hashes {
				number, _, _ := n.find(h)
				require.EqualValues(t, i+1, number, name)
			}
			number, _, _ := n.find(1 << 60)
			require.Zero(t, number, name)
		}
	}
}

// Where the half that slots hold differs, no entry is looked at but that of the key, however full
// the slots are.
func TestSlotsSpareLooks(t *testing.T) {
	const entries = 1000
	n := &numbered{slots: NewSlots(entries)}
	for i := range uint64(entries) {
		n.add((i*0x9e3779b97f4a7c15)>>32<<32 | 7)
	}
	for _, h := range n.hashes {
		_, looks, _ := n.find(h)
		require.Equal(t, 1, looks)
		_, looks, _ = n.find(h ^ 1<<32)
		require.Zero(t, looks)
	}
}

// The table is a map that saturates, and keeps the order of arrival.
func TestTotalsAreAMap(t *testing.T) {
	const limit = 1000
	random := rand.New(rand.NewPCG(1, 2))
	integers, texts := NewTotals[int32](limit), NewTotals[string](limit)
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
	table, random := NewTotals[uint64](n), rand.New(rand.NewPCG(6, 7))
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
	table := NewTotals[uint64](1 << 61)
	for range 5 {
		table.Add(7, 1<<61)
		table.Add(8, -1<<61)
	}
	require.Equal(t, []Entry[uint64]{{7, 1 << 61}, {8, -1 << 61}}, table.Entries())
}

func TestAddDoesNotAllocate(t *testing.T) {
	table := NewTotals[string](1)
	table.Add("key", 1)
	require.Zero(t, testing.AllocsPerRun(100, func() { table.Add("key", 1) }))
}

// Sort is the stable sort, of keys that agree in many bytes or in none.
func TestSort(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8)) // test data
	for n := range 400 {
		items := make([]Entry[uint64], n*n/100)
		for i := range items {
			items[i] = Entry[uint64]{Key: rng.Uint64() >> (n % 64) << (n % 7), Steps: int64(i)}
		}
		want := slices.Clone(items)
		slices.SortStableFunc(want, func(a, b Entry[uint64]) int { return cmp.Compare(a.Key, b.Key) })
		Sort(items, make([]Entry[uint64], len(items)))
		require.Equal(t, want, items)
	}
}
