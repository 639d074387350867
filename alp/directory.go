package alp

import (
	"cmp"
	"math/bits"
	"slices"
)

// directory is a set of indices with a value each. Index i belongs to bucket
// ⌊mixBits(i)·buckets/2⁶⁴⌋, one for each index; a bucket's indices lie side by side, in order. In
// front of them is a filter, so that nearly all other indices need no probe. Whatever the indices
// are, it takes O(n log n) to make and O(log n) to read. The zero directory is empty.
type directory struct {
	filter []uint64 // bit ⌊mixBits(i)·bits/2⁶⁴⌋ is set for each index
	starts []uint32 // of the buckets, and the end
	slots  []directorySlot
}

// directorySlot is an index with its value.
type directorySlot struct {
	Index uint64
	Value float64 // not 0
	Known uint64  // for what the caller finds out about it, atomically
}

// filterBits is how many bits of the filter there are for an index: others pass with a probability
// of 1/16.
const filterBits = 16

// newDirectory returns the directory of the slots, less than 2³², which it puts into another order.
func newDirectory(slots []directorySlot) directory {
	if len(slots) == 0 {
		return directory{}
	}
	slots = sortByHash(slots, func(s *directorySlot) uint64 { return mixBits(s.Index) })
	d := directory{make([]uint64, (len(slots)*filterBits+63)/64), make([]uint32, len(slots)+1), slots}
	for i := range slots {
		h := mixBits(slots[i].Index)
		bit := scaled(h, uint64(len(d.filter))*64)
		d.filter[bit/64] |= 1 << (bit % 64)
		d.starts[scaled(h, uint64(len(slots)))+1]++
	}
	for b := range slots {
		d.starts[b+1] += d.starts[b]
	}
	return d
}

// value returns the value of an index, 0 if there is none.
func (d *directory) value(index uint64) float64 {
	if at := d.position(index); at >= 0 {
		return d.slots[at].Value
	}
	return 0
}

// position returns where the slot of an index is, −1 if it has no value.
func (d *directory) position(index uint64) int {
	h := mixBits(index)
	if len(d.filter) == 0 || d.may(h) == 0 {
		return -1
	}
	return d.search(index, h)
}

// slot returns the slot at a position.
func (d *directory) slot(at int) *directorySlot { return &d.slots[at] }

// batchSize is the most indices that positions takes.
const batchSize = 128

// positions sets places[i] to position(indices[i]). It goes step by step, each step for all
// indices, without a branch that waits for memory: so cache misses overlap.
func (d *directory) positions(indices []uint64, places *[batchSize]int) {
	for i := range places {
		places[i] = -1
	}
	if len(d.filter) == 0 {
		return
	}
	var may [batchSize]int // which indices may have a value
	var first [batchSize]uint64
	n := uint64(0)
	for i, index := range indices {
		may[n%batchSize] = i
		n += d.may(mixBits(index))
	}
	for _, i := range may[:n] {
		places[i] = int(d.starts[scaled(mixBits(indices[i]), uint64(len(d.slots)))])
	}
	for k, i := range may[:n] {
		first[k] = d.slots[min(places[i], len(d.slots)-1)].Index
	}
	for k, i := range may[:n] {
		if first[k] != indices[i] {
			places[i] = d.search(indices[i], mixBits(indices[i]))
		}
	}
}

// may is 1 or 0: whether an index with these mixBits may have a value. The directory is not empty.
func (d *directory) may(h uint64) uint64 {
	bit := scaled(h, uint64(len(d.filter))*64)
	return d.filter[bit/64] >> (bit % 64) & 1
}

// search is position for an index that may have a value, and its mixBits.
func (d *directory) search(index, h uint64) int {
	b := scaled(h, uint64(len(d.slots)))
	const few = 8
	at, end := int(d.starts[b]), int(d.starts[b+1])
	if end-at > few {
		step, _ := slices.BinarySearchFunc(d.slots[at:end], h, func(s directorySlot, h uint64) int { return cmp.Compare(mixBits(s.Index), h) })
		at, end = at+step, min(at+step+1, end)
	}
	for ; at < end; at++ {
		if d.slots[at].Index == index {
			return at
		}
	}
	return -1
}

// sortByHash returns the items, less than 2³², sorted by their hashes, and may overwrite them.
// Hashes that are uniform take linear time: items are scattered into buckets by the first digits of
// their hashes, four to a bucket, and each bucket is sorted.
func sortByHash[T any](items []T, hash func(*T) uint64) []T {
	const each, few = 4, 32
	compare := func(a, b T) int { return cmp.Compare(hash(&a), hash(&b)) }
	if len(items) <= few {
		slices.SortFunc(items, compare)
		return items
	}
	buckets := uint64(len(items) / each)
	starts := make([]uint32, buckets+1)
	for i := range items {
		starts[scaled(hash(&items[i]), buckets)+1]++
	}
	for b := range buckets {
		starts[b+1] += starts[b]
	}
	sorted := make([]T, len(items))
	for i := range items {
		at := &starts[scaled(hash(&items[i]), buckets)]
		sorted[*at] = items[i]
		*at++
	}
	from := uint32(0) // each start has moved to the end of its bucket
	for _, end := range starts[:buckets] {
		if bucket := sorted[from:end]; len(bucket) > few {
			slices.SortFunc(bucket, compare)
		} else {
			insertByHash(bucket, hash)
		}
		from = end
	}
	return sorted
}

// insertByHash sorts a few items.
func insertByHash[T any](items []T, hash func(*T) uint64) {
	for i := 1; i < len(items); i++ {
		h := hash(&items[i])
		if hash(&items[i-1]) <= h {
			continue
		}
		item, j := items[i], i
		for ; j > 0 && hash(&items[j-1]) > h; j-- {
			items[j] = items[j-1]
		}
		items[j] = item
	}
}

// mixBits is a permutation in which every bit depends on all: the finaliser of SplitMix64 (Steele,
// Lea, Flood, OOPSLA 2014; variant 13 of Stafford).
func mixBits(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// scaled returns ⌊h·n/2⁶⁴⌋.
func scaled(h, n uint64) uint64 {
	at, _ := bits.Mul64(h, n)
	return at
}
