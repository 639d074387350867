package groupby

import (
	"math"
	"slices"

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

// table sums by key. Sums are exact, so they do not depend on the order. The entries lie in the
// order of arrival; slots holds their numbers, counted from 1, by open addressing with linear
// probing, and 0 where empty.
type table[K hashing.Key] struct {
	hasher  keyhash.Hasher[K]
	entries []entry[K]
	slots   []uint32 // at least twice as many as entries
}

// maxEntries is the most keys that a table takes.
const maxEntries = math.MaxUint32

// newTable returns an empty table with room for n keys.
func newTable[K hashing.Key](n int) table[K] {
	n = max(n, 128)
	return table[K]{keyhash.New[K](), make([]entry[K], 0, n), make([]uint32, 2*n)}
}

// slot returns the slot of the key, or the empty one where it belongs.
func (t *table[K]) slot(key K) uint64 {
	i := keyhash.Reduce(t.hasher.Hash(key), len(t.slots))
	for t.slots[i] != 0 && t.entries[t.slots[i]-1].key != key {
		if i++; i == uint64(len(t.slots)) {
			i = 0
		}
	}
	return i
}

// add adds to the cell of the key.
func (t *table[K]) add(key K, c cell) {
	if i, ok := t.entry(key); ok {
		t.entries[i].add(c)
	}
}

// find returns the number of the key's entry, false if it has none.
func (t *table[K]) find(key K) (i uint32, ok bool) {
	n := t.slots[t.slot(key)]
	return n - 1, n != 0
}

// entry returns the number of the key's entry, which may be new; false if there are maxEntries
// others.
func (t *table[K]) entry(key K) (i uint32, ok bool) {
	at := t.slot(key)
	if n := t.slots[at]; n != 0 {
		return n - 1, true
	}
	if uint64(len(t.entries)) == maxEntries {
		return 0, false
	}
	if 2*(len(t.entries)+1) > len(t.slots) {
		t.grow(2 * len(t.slots))
		at = t.slot(key)
	}
	t.entries = append(t.entries, entry[K]{key: key})
	t.slots[at] = uint32(len(t.entries))
	return uint32(len(t.entries) - 1), true
}

// add adds to a cell.
func (a *cell) add(b cell) {
	a.weight, a.rest, a.value, a.others = sum(a.weight, b.weight), sum(a.rest, b.rest), sum(a.value, b.value), sum(a.others, b.others)
}

// grow makes room for half as many entries as slots.
func (t *table[K]) grow(slots int) {
	t.entries = slices.Grow(t.entries, slots/2-len(t.entries))
	t.slots = make([]uint32, slots)
	for i := range t.entries {
		t.slots[t.slot(t.entries[i].key)] = uint32(i + 1)
	}
}

// reserve makes room for n more entries.
func (t *table[K]) reserve(n int) {
	if most := maxEntries - uint64(len(t.entries)); n > 0 && uint64(n) <= most && 2*(len(t.entries)+n) > len(t.slots) {
		t.grow(2 * (len(t.entries) + n))
	}
}

// sum returns a + b, kept within [−limit, limit], for a and b that are.
func sum(a, b int64) int64 { return max(min(a+b, limit), -limit) }
