package threshold

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/keyhash"
)

// table sums by key. The entries lie in the order of arrival; slots holds their numbers, counted from 1, by open addressing with
// linear probing, and 0 where empty.
type table[K key] struct {
	hasher  keyhash.Hasher[K]
	entries []entry[K]
	slots   []uint32 // at least twice as many as there can be entries before both grow
}

// maxEntries is the most keys that a table takes.
const maxEntries = math.MaxUint32

func newTable[K key]() table[K] {
	const initial = 256
	return table[K]{hasher: keyhash.New[K](), entries: make([]entry[K], 0, initial), slots: make([]uint32, 2*initial)}
}

// add adds the steps to the total of the key. Once there are maxEntries keys, others are ignored.
func (t *table[K]) add(key K, steps int64) {
	slot := t.start(key)
	for ; t.slots[slot] != 0; slot = t.next(slot) {
		if e := &t.entries[t.slots[slot]-1]; e.key == key {
			e.steps = saturatingSum(e.steps, steps)
			return
		}
	}
	if len(t.entries) == cap(t.entries) {
		if uint64(len(t.entries)) == maxEntries {
			return
		}
		t.grow()
		slot = t.vacant(key)
	}
	t.entries = append(t.entries, entry[K]{key, steps})
	t.slots[slot] = uint32(len(t.entries))
}

// grow makes room for twice the entries.
func (t *table[K]) grow() {
	most := int(min(2*uint64(len(t.entries)), maxEntries))
	entries := make([]entry[K], len(t.entries), most)
	copy(entries, t.entries)
	t.entries, t.slots = entries, make([]uint32, 2*most)
	for i := range t.entries {
		t.slots[t.vacant(t.entries[i].key)] = uint32(i + 1)
	}
}

// start returns the slot that the key maps to.
func (t *table[K]) start(key K) uint64 { return keyhash.Reduce(t.hasher.Hash(key), len(t.slots)) }

// next returns the slot after the given one.
func (t *table[K]) next(slot uint64) uint64 {
	if slot++; slot == uint64(len(t.slots)) {
		return 0
	}
	return slot
}

// vacant returns the first empty slot from the start on.
func (t *table[K]) vacant(key K) uint64 {
	slot := t.start(key)
	for t.slots[slot] != 0 {
		slot = t.next(slot)
	}
	return slot
}
