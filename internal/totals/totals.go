// Package totals sums integers by key in a hash table, for the builders of sparse vectors.
package totals

import (
	"github.com/dpsketch/dpsketch/internal/keyhash"
	"github.com/dpsketch/dpsketch/internal/wire"
)

// Entry is a key with the sum of its values, in steps of a grid.
type Entry[K wire.Key] struct {
	Key   K
	Steps int64
}

// Table sums by key. The entries lie in the order of arrival.
type Table[K wire.Key] struct {
	hasher  keyhash.Hasher[K]
	slots   keyhash.Slots // with room for as many as the entries have
	entries []Entry[K]
	limit   int64
}

// New returns an empty table whose sums saturate at ±limit, which is at most 2⁶¹.
func New[K wire.Key](limit int64) Table[K] {
	const initial = 16
	return Table[K]{keyhash.New[K](), keyhash.NewSlots(initial), make([]Entry[K], 0, initial), limit}
}

// Add adds the steps, at most ±limit, to the sum of the key. Once there are 2³² − 1 keys, others
// are ignored.
func (t *Table[K]) Add(key K, steps int64) {
	h := t.hasher.Hash(key)
	slot, n := t.slots.First(h)
	for ; n != 0; slot, n = t.slots.Next(slot, h) {
		if e := &t.entries[n-1]; e.Key == key {
			e.Steps = min(max(e.Steps+steps, -t.limit), t.limit)
			return
		}
	}
	if len(t.entries) == cap(t.entries) {
		if uint64(len(t.entries)) == keyhash.MaxEntries {
			return
		}
		t.grow(int(min(2*uint64(len(t.entries)), keyhash.MaxEntries)))
		t.Add(key, steps)
		return
	}
	t.entries = append(t.entries, Entry[K]{key, steps})
	t.slots.Set(slot, h, uint32(len(t.entries)))
}

// Entries returns all keys that were added, in the order of arrival, on which nothing released may
// depend. It is the memory of the table, which the caller may overwrite once nothing more is added.
func (t *Table[K]) Entries() []Entry[K] { return t.entries }

// Reserve makes room for n more keys.
func (t *Table[K]) Reserve(n int) {
	if n > cap(t.entries)-len(t.entries) && uint64(n) <= keyhash.MaxEntries-uint64(len(t.entries)) {
		t.grow(len(t.entries) + n)
	}
}

// grow makes room for so many entries.
func (t *Table[K]) grow(most int) {
	t.entries = append(make([]Entry[K], 0, most), t.entries...)
	t.slots.Grow(most)
}
