package sketch

import (
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/keytable"
)

// Table adds up counts by key.
type Table[K hashing.Key] struct {
	Counters []Counter[K] // in order of arrival: the hashes leave no trace in it
	slots    keytable.Slots
	hasher   keytable.Hasher[K]
}

// NewTable returns an empty Table.
func NewTable[K hashing.Key]() Table[K] {
	return Table[K]{slots: keytable.NewSlots(0), hasher: keytable.NewHasher[K]()}
}

// Add adds counts, at most 2⁶² each, to those of their keys, which saturate.
func (t *Table[K]) Add(counts []Counter[K]) {
	for _, c := range counts {
		h := t.hasher.Hash(c.Key)
		slot, n := t.find(c.Key, h)
		if n > 0 {
			t.Counters[n-1].Count = Saturate(uint64(t.Counters[n-1].Count) + uint64(c.Count))
			continue
		}
		if len(t.Counters) == cap(t.Counters) {
			t.Counters = slices.Grow(t.Counters, max(len(t.Counters), len(counts)))
			t.slots.Grow(cap(t.Counters))
			slot, _ = t.find(c.Key, h)
		}
		t.Counters = append(t.Counters, c)
		t.slots.Set(slot, h, uint32(len(t.Counters)))
	}
}

// find returns the slot and the number of the key of hash h, or where it belongs, and 0.
func (t *Table[K]) find(key K, h uint64) (slot uint64, n uint32) {
	slot, n = t.slots.First(h)
	for n > 0 && t.Counters[n-1].Key != key {
		slot, n = t.slots.Next(slot, h)
	}
	return slot, n
}
