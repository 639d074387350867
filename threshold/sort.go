package threshold

import (
	"cmp"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/dpsketch/dpsketch/internal/wire"
)

type key = wire.Key

// entry is a key with its total or its released value, in steps.
type entry[K key] struct {
	key   K
	steps int64
}

// radixFrom is the number of entries from which on the radix sort is faster.
const radixFrom = 256

// sortEntries sorts by key.
func sortEntries[K key](entries []entry[K], keys wire.Keys[K]) {
	if len(entries) < radixFrom || keys.Class() == wire.TextKey {
		slices.SortFunc(entries, func(a, b entry[K]) int { return cmp.Compare(a.key, b.key) })
		return
	}
	flip := uint64(0)
	if keys.Class() == wire.SignedKey {
		flip = 1 << 63 // negative keys first
	}
	if unsafe.Sizeof(entries[0].key) == 8 { // the same memory as records
		records := unsafe.Slice((*record)(unsafe.Pointer(unsafe.SliceData(entries))), len(entries))
		for i := range records {
			records[i].bits ^= flip
		}
		copy(records, radixSort(records, make([]record, len(entries)))) // onto itself, or from the other
		for i := range records {
			records[i].bits ^= flip
		}
		return
	}
	records := make([]record, len(entries))
	for i, e := range entries {
		records[i] = record{keys.Bits(e.key) ^ flip, e.steps}
	}
	for i, r := range radixSort(records, make([]record, len(entries))) {
		key, _ := keys.FromBits(r.bits ^ flip)
		entries[i] = entry[K]{key, r.steps}
	}
}

// record is an entry with an integer key, as unsigned bits in the same order.
type record struct {
	bits  uint64
	steps int64
}

// A digit is a byte: 256 places in a block are few enough to stay in the first level of the cache.
const (
	digit    = 8
	mask     = 1<<digit - 1
	inCache  = 1 << 12 // records that stay in the cache through all digits
	tooShort = 48      // records for which clearing the counts costs more than comparing
)

// radixSort sorts by the bits. It uses other, of the same length, and returns the one of the two that is sorted.
//
// What does not fit into the cache is first split by the highest digit in which the records differ, what does is sorted by one digit after
// the other, the least first, leaving out those in which all agree.
func radixSort(records, other []record) []record {
	if len(records) < tooShort {
		slices.SortFunc(records, func(a, b record) int { return cmp.Compare(a.bits, b.bits) })
		return records
	}
	differ := uint64(0)
	for i := range records {
		differ |= records[i].bits ^ records[0].bits
	}
	if len(records) > inCache && differ > mask {
		ends := distribute(records, other, bits.Len64(differ)-digit)
		start := uint32(0)
		for _, end := range ends {
			if sorted := radixSort(other[start:end], records[start:end]); end > start && &sorted[0] != &records[start] {
				copy(records[start:end], sorted)
			}
			start = end
		}
		return records
	}
	for shift := 0; differ>>shift != 0; shift += digit {
		if differ>>shift&mask != 0 {
			distribute(records, other, shift)
			records, other = other, records
		}
	}
	return records
}

// distribute moves the records to other, sorted by the digit at shift and otherwise in order, and returns where the records
// of each digit end.
func distribute(records, other []record, shift int) (ends [mask + 1]uint32) {
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
	return ends
}

// merge merges two sorted lists of different keys into one.
func merge[K key](a, b []entry[K]) []entry[K] {
	merged := make([]entry[K], 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if a[0].key < b[0].key {
			merged, a = append(merged, a[0]), a[1:]
		} else {
			merged, b = append(merged, b[0]), b[1:]
		}
	}
	return append(append(merged, a...), b...)
}
