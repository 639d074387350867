package sketch

import (
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/keyhash"
)

// Table adds up counts by key.
type Table[K hashing.Key] struct {
	Counters []Counter[K] // in order of arrival: the hashes leave no trace in it
	index    index
	hasher   keyhash.Hasher[K]
}

// NewTable returns an empty Table.
func NewTable[K hashing.Key]() Table[K] {
	return Table[K]{index: newIndex(0), hasher: keyhash.New[K]()}
}

// Add adds counts, at most 2⁶² each, to those of their keys, which saturate.
func (t *Table[K]) Add(counts []Counter[K]) {
	for _, c := range counts {
		h := t.hasher.Hash(c.Key)
		if i := t.find(c.Key, h); i >= 0 {
			t.Counters[i].Count = Saturate(uint64(t.Counters[i].Count) + uint64(c.Count))
			continue
		}
		if n := len(t.Counters); n == cap(t.Counters) {
			t.Counters = slices.Grow(t.Counters, max(n, len(counts)))
			t.index = newIndex(cap(t.Counters))
			for i := range t.Counters {
				t.place(i, t.hasher.Hash(t.Counters[i].Key))
			}
		}
		t.Counters = append(t.Counters, c)
		t.place(len(t.Counters)-1, h)
	}
}

// place notes where the counter of hash h is.
func (t *Table[K]) place(i int, h uint64) {
	t.index.set(t.index.vacant(h), t.index.tag(h)|uint32(i+1))
}

// find returns the place of the key of hash h, or −1.
func (t *Table[K]) find(key K, h uint64) int {
	tag := t.index.tag(h)
	for slot := t.index.start(h); ; slot = t.index.next(slot) {
		content := t.index.at(slot)
		if content == 0 {
			return -1
		}
		if i := int(content&t.index.mask) - 1; content&^t.index.mask == tag && t.Counters[i].Key == key {
			return i
		}
	}
}
