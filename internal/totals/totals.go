// Package totals sums integers by key in a hash table, for the builders of sparse vectors.
package totals

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/keyhash"
	"github.com/dpsketch/dpsketch/internal/wire"
)

// Entry is a key with the sum of its values, in steps of a grid.
type Entry[K wire.Key] struct {
	Key   K
	Steps int64
}

// Table sums by key. The entries lie in the order of arrival; slots holds their numbers, counted from 1, by open addressing with
// linear probing, and 0 where empty.
type Table[K wire.Key] struct {
	hasher  keyhash.Hasher[K]
	entries []Entry[K]
	slots   []uint32 // at least twice as many as there can be entries before both grow
	limit   int64
}

// maxEntries is the most keys that a table takes.
const maxEntries = math.MaxUint32

// New returns an empty table whose sums saturate at ±limit, which is at most 2⁶¹.
func New[K wire.Key](limit int64) Table[K] {
	const initial = 16
	return Table[K]{hasher: keyhash.New[K](), entries: make([]Entry[K], 0, initial), slots: make([]uint32, 2*initial), limit: limit}
}

// Add adds the steps, at most ±limit, to the sum of the key. Once there are 2³² − 1 keys, others are ignored.
func (t *Table[K]) Add(key K, steps int64) {
	slot := t.start(key)
	for ; t.slots[slot] != 0; slot = t.next(slot) {
		if e := &t.entries[t.slots[slot]-1]; e.Key == key {
			e.Steps = min(max(e.Steps+steps, -t.limit), t.limit)
			return
		}
	}
	if len(t.entries) == cap(t.entries) {
		if uint64(len(t.entries)) == maxEntries {
			return
		}
		t.grow(int(min(2*uint64(len(t.entries)), maxEntries)))
		slot = t.vacant(key)
	}
	t.entries = append(t.entries, Entry[K]{key, steps})
	t.slots[slot] = uint32(len(t.entries))
}

// Entries returns all keys that were added, in the order of arrival, on which nothing released may depend. It is the memory of the table, which the caller may
// overwrite once nothing more is added.
func (t *Table[K]) Entries() []Entry[K] { return t.entries }

// Reserve makes room for n more keys.
func (t *Table[K]) Reserve(n int) {
	if n > cap(t.entries)-len(t.entries) && uint64(n) <= maxEntries-uint64(len(t.entries)) {
		t.grow(len(t.entries) + n)
	}
}

// grow makes room for so many entries.
func (t *Table[K]) grow(most int) {
	entries := make([]Entry[K], len(t.entries), most)
	copy(entries, t.entries)
	t.entries, t.slots = entries, make([]uint32, 2*most)
	for i := range t.entries {
		t.slots[t.vacant(t.entries[i].Key)] = uint32(i + 1)
	}
}

// start returns the slot that the key maps to.
func (t *Table[K]) start(key K) uint64 { return keyhash.Reduce(t.hasher.Hash(key), len(t.slots)) }

// next returns the slot after the given one.
func (t *Table[K]) next(slot uint64) uint64 {
	if slot++; slot == uint64(len(t.slots)) {
		return 0
	}
	return slot
}

// vacant returns the first empty slot from the start on.
func (t *Table[K]) vacant(key K) uint64 {
	slot := t.start(key)
	for t.slots[slot] != 0 {
		slot = t.next(slot)
	}
	return slot
}
