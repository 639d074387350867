package groupby

import (
	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/keyhash"
)

// limit is where a sum saturates: beyond 2³² users of a key.
const limit = 1 << 61

// cell is what users have given to a key, in steps.
type cell struct {
	weight int64 // ≥ 0: what shows the key
	rest   int64 // of the count, in 1/fine of a step: see rest
	value  int64
	others int64 // ≥ 0
}

// entry is a key with its cell.
type entry[K hashing.Key] struct {
	key K
	cell
}

// table sums by key. Sums are exact, so they do not depend on the order, in which the entries lie.
type table[K hashing.Key] struct {
	hasher  keyhash.Hasher[K]
	slots   keyhash.Slots // with room for as many as the entries have
	entries []entry[K]
}

// newTable returns an empty table with room for n keys.
func newTable[K hashing.Key](n int) table[K] {
	n = max(n, 128)
	return table[K]{keyhash.New[K](), keyhash.NewSlots(n), make([]entry[K], 0, n)}
}

// add adds to the cell of the key.
func (t *table[K]) add(key K, c cell) {
	if i, ok := t.entry(key); ok {
		t.entries[i].add(c)
	}
}

// find returns the number of the key's entry, false if it has none.
func (t *table[K]) find(key K) (i uint32, ok bool) {
	h := t.hasher.Hash(key)
	for slot, n := t.slots.First(h); n != 0; slot, n = t.slots.Next(slot, h) {
		if t.entries[n-1].key == key {
			return n - 1, true
		}
	}
	return 0, false
}

// entry returns the number of the key's entry, which may be new; false if there are as many others
// as there can be.
func (t *table[K]) entry(key K) (i uint32, ok bool) {
	h := t.hasher.Hash(key)
	slot, n := t.slots.First(h)
	for ; n != 0; slot, n = t.slots.Next(slot, h) {
		if t.entries[n-1].key == key {
			return n - 1, true
		}
	}
	if len(t.entries) == cap(t.entries) {
		if uint64(len(t.entries)) == keyhash.MaxEntries {
			return 0, false
		}
		t.grow(int(min(2*uint64(len(t.entries)), keyhash.MaxEntries)))
		return t.entry(key)
	}
	t.entries = append(t.entries, entry[K]{key: key})
	t.slots.Set(slot, h, uint32(len(t.entries)))
	return uint32(len(t.entries) - 1), true
}

// add adds to a cell.
func (a *cell) add(b cell) {
	a.weight, a.rest, a.value, a.others = sum(a.weight, b.weight), sum(a.rest, b.rest), sum(a.value, b.value), sum(a.others, b.others)
}

// grow makes room for so many entries.
func (t *table[K]) grow(most int) {
	t.entries = append(make([]entry[K], 0, most), t.entries...)
	t.slots.Grow(most)
}

// reserve makes room for n more entries.
func (t *table[K]) reserve(n int) {
	if n > cap(t.entries)-len(t.entries) && uint64(n) <= keyhash.MaxEntries-uint64(len(t.entries)) {
		t.grow(len(t.entries) + n)
	}
}

// sum returns a + b, kept within [−limit, limit], for a and b that are.
func sum(a, b int64) int64 { return max(min(a+b, limit), -limit) }
