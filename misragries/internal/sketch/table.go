package sketch

import (
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/keytable"
)

// Table adds up counts by key. What it is given waits in lists, which it adds up once they hold
// many counts and more than it has keys: so its memory is not cached and evicted for each list.
type Table[K hashing.Key] struct {
	sums    []Counter[K] // in order of arrival: the hashes leave no trace in it
	slots   keytable.Slots
	hasher  keytable.Hasher[K]
	waiting [][]Counter[K]
	counts  int // in these lists
}

// mostWaiting is how many counts may wait where there are few keys: 4 MB of them.
const mostWaiting = 1 << 18

// NewTable returns an empty Table.
func NewTable[K hashing.Key]() Table[K] {
	return Table[K]{slots: keytable.NewSlots(0), hasher: keytable.NewHasher[K]()}
}

// Add adds counts, at most 2⁶² each, to those of their keys, which saturate. It keeps the list.
func (t *Table[K]) Add(counts []Counter[K]) {
	t.waiting, t.counts = append(t.waiting, counts), t.counts+len(counts)
	if t.counts > max(mostWaiting, len(t.sums)) {
		t.Sums()
	}
}

// Merge adds what the other Table holds, which is not used again.
func (t *Table[K]) Merge(other *Table[K]) {
	if len(other.sums) > len(t.sums) {
		*t, *other = *other, *t
	}
	t.waiting, t.counts = append(t.waiting, other.waiting...), t.counts+other.counts
	t.Add(other.sums)
}

// Sums returns the sum of each key, in the order in which the keys arrived.
func (t *Table[K]) Sums() []Counter[K] {
	const block = 16
	var hashes, words [block]uint64
	if len(t.sums)+t.counts > cap(t.sums) {
		t.sums = slices.Grow(t.sums, t.counts)
		t.slots.Grow(cap(t.sums))
	}
	for _, counts := range t.waiting {
		// a block of keys at a time, so that their slots and counts are fetched at once
		for part := range slices.Chunk(counts, block) {
			for i, c := range part {
				hashes[i] = t.hasher.Hash(c.Key)
				words[i] = t.slots.Word(hashes[i])
			}
			for i, c := range part {
				t.add(c, hashes[i], words[i])
			}
		}
	}
	t.waiting, t.counts = nil, 0
	return t.sums
}

// add adds one count, of a key of hash h, whose first slot had the word.
func (t *Table[K]) add(c Counter[K], h, word uint64) {
	n := keytable.Match(word, h)
	if n == 0 || t.sums[n-1].Key != c.Key {
		var slot uint64
		slot, n = t.slots.First(h)
		for n > 0 && t.sums[n-1].Key != c.Key {
			slot, n = t.slots.Next(slot, h)
		}
		if n == 0 {
			t.sums = append(t.sums, c)
			t.slots.Set(slot, h, uint32(len(t.sums)))
			return
		}
	}
	t.sums[n-1].Count = Saturate(uint64(t.sums[n-1].Count) + uint64(c.Count))
}
