package sparse

import (
	"math/bits"
	"slices"

	"github.com/dpsketch/dpsketch/internal/totals"
	"github.com/dpsketch/dpsketch/internal/wire"
)

// Entry is a key with its total or its released value, in steps.
type Entry[K wire.Key] = totals.Entry[K]

// radixFrom is the number of entries from which on the radix sort is faster.
const radixFrom = 256

// sortEntries sorts by key.
func sortEntries[K wire.Key](entries []Entry[K], keys wire.Keys[K]) {
	if len(entries) < radixFrom || !keys.Integers() {
		slices.SortFunc(entries, func(a, b Entry[K]) int { return wire.Compare(a.Key, b.Key) })
		return
	}
	flip := uint64(0)
	if keys.Class() == wire.SignedKey {
		flip = 1 << 63 // negative keys first
	}
	// The first split, by the highest byte in which keys differ, goes from entries to records.
	first, differ := keys.Bits(entries[0].Key), uint64(0)
	for i := range entries {
		differ |= keys.Bits(entries[i].Key) ^ first
	}
	shift := max(bits.Len64(differ)-digit, 0)
	var ends [mask + 1]uint32
	for i := range entries {
		ends[(keys.Bits(entries[i].Key)^flip)>>shift&mask]++
	}
	largest := cumulate(&ends)
	records := make([]record, len(entries))
	for _, e := range entries {
		r := record{keys.Bits(e.Key) ^ flip, e.Steps}
		place := &ends[r.bits>>shift&mask]
		records[*place] = r
		*place++
	}
	other := make([]record, largest)
	start := uint32(0)
	for _, end := range ends {
		radixSort(records[start:end], other[:end-start], false)
		start = end
	}
	for i, r := range records {
		key, _ := keys.FromBits(r.bits ^ flip)
		entries[i] = Entry[K]{Key: key, Steps: r.steps}
	}
}

// record is an entry with an integer key, as unsigned bits in the same order.
type record struct {
	bits  uint64
	steps int64
}

// radixSort sorts by the bits: records in place or, if move is true, into other, which has the same
// length. It splits by the highest byte in which records differ, and goes on with each part.
func radixSort(records, other []record, move bool) {
	const few = 24
	differ := uint64(0)
	for i := range records {
		differ |= records[i].bits ^ records[0].bits
	}
	if len(records) <= few || differ == 0 {
		insertionSort(records)
		if move {
			copy(other, records)
		}
		return
	}
	shift := max(bits.Len64(differ)-digit, 0)
	var ends [mask + 1]uint32
	for i := range records {
		ends[records[i].bits>>shift&mask]++
	}
	cumulate(&ends)
	for _, r := range records {
		place := &ends[r.bits>>shift&mask]
		other[*place] = r
		*place++
	}
	start := uint32(0)
	for _, end := range ends {
		if end > start {
			radixSort(other[start:end], records[start:end], !move)
		}
		start = end
	}
}

// digit is what one split looks at, in bits.
const (
	digit = 8
	mask  = 1<<digit - 1
)

// cumulate replaces counts by the sums of those before, and returns the largest count.
func cumulate(counts *[mask + 1]uint32) (largest uint32) {
	sum := uint32(0)
	for i, n := range counts {
		counts[i] = sum
		sum += n
		largest = max(largest, n)
	}
	return largest
}

func insertionSort(records []record) {
	for i := 1; i < len(records); i++ {
		r, j := records[i], i
		for ; j > 0 && records[j-1].bits > r.bits; j-- {
			records[j] = records[j-1]
		}
		records[j] = r
	}
}

// find returns the place of the key in a sorted list.
func find[K wire.Key](entries []Entry[K], key K) (i int, found bool) {
	return slices.BinarySearchFunc(entries, key, func(e Entry[K], key K) int { return wire.Compare(e.Key, key) })
}

// merge merges two sorted lists of different keys into one.
func merge[K wire.Key](a, b []Entry[K]) []Entry[K] {
	merged := make([]Entry[K], 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if wire.Compare(a[0].Key, b[0].Key) < 0 {
			merged, a = append(merged, a[0]), a[1:]
		} else {
			merged, b = append(merged, b[0]), b[1:]
		}
	}
	return append(append(merged, a...), b...)
}
