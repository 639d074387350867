package threshold

import (
	"cmp"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/dpsketch/dpsketch/internal/totals"
	"github.com/dpsketch/dpsketch/internal/wire"
)

type key = wire.Key

// entry is a key with its total or its released value, in steps.
type entry[K key] = totals.Entry[K]

// radixFrom is the number of entries from which on the radix sort is faster.
const radixFrom = 256

// sortEntries sorts by key.
func sortEntries[K key](entries []entry[K], keys wire.Keys[K]) {
	if len(entries) < radixFrom || keys.Class() == wire.TextKey {
		slices.SortFunc(entries, func(a, b entry[K]) int { return cmp.Compare(a.Key, b.Key) })
		return
	}
	flip := uint64(0)
	if keys.Class() == wire.SignedKey {
		flip = 1 << 63 // negative keys first
	}
	other := make([]record, len(entries))
	if unsafe.Sizeof(entries[0].Key) == 8 { // the same memory as records
		records := unsafe.Slice((*record)(unsafe.Pointer(unsafe.SliceData(entries))), len(entries))
		for i := range records {
			records[i].bits ^= flip
		}
		radixSort(records, other, false)
		for i := range records {
			records[i].bits ^= flip
		}
		return
	}
	records := make([]record, len(entries))
	for i, e := range entries {
		records[i] = record{keys.Bits(e.Key) ^ flip, e.Steps}
	}
	radixSort(records, other, false)
	for i, r := range records {
		key, _ := keys.FromBits(r.bits ^ flip)
		entries[i] = entry[K]{Key: key, Steps: r.steps}
	}
}

// record is an entry with an integer key, as unsigned bits in the same order.
type record struct {
	bits  uint64
	steps int64
}

// radixSort sorts by the bits: records in place or, if move is true, into other, which has the same length. It splits by the highest byte
// in which records differ, and goes on with each part.
func radixSort(records, other []record, move bool) {
	const digit, mask, few = 8, 1<<8 - 1, 24
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
	sum := uint32(0)
	for i, n := range ends {
		ends[i] = sum
		sum += n
	}
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
func find[K key](entries []entry[K], key K) (i int, found bool) {
	return slices.BinarySearchFunc(entries, key, func(e entry[K], key K) int { return cmp.Compare(e.Key, key) })
}

// merge merges two sorted lists of different keys into one.
func merge[K key](a, b []entry[K]) []entry[K] {
	merged := make([]entry[K], 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if a[0].Key < b[0].Key {
			merged, a = append(merged, a[0]), a[1:]
		} else {
			merged, b = append(merged, b[0]), b[1:]
		}
	}
	return append(append(merged, a...), b...)
}
