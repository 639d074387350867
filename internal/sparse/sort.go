package sparse

import (
	"math/bits"
	"slices"

	"github.com/dpsketch/dpsketch/internal/keytable"
	"github.com/dpsketch/dpsketch/internal/wire"
)

// Entry is a key with its total or its released value, in steps.
type Entry[K wire.Key] = keytable.Entry[K]

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
	records := make([]record, len(entries))
	for i, e := range entries {
		records[i] = record{keys.Bits(e.Key) ^ flip, e.Steps}
	}
	radixSort(records, make([]record, len(records)))
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

// radixSort sorts by the bits, with as much room beside. It splits by the highest byte in which
// records differ, and goes on with each part.
func radixSort(records, room []record) {
	const few, mask = 24, 1<<8 - 1
	differ := uint64(0)
	for i := range records {
		differ |= records[i].bits ^ records[0].bits
	}
	if len(records) <= few || differ == 0 {
		insertionSort(records)
		return
	}
	shift := max(bits.Len64(differ)-8, 0)
	var ends [mask + 2]uint32 // of each byte one further: where it begins, and then where it ends
	for i := range records {
		ends[records[i].bits>>shift&mask+1]++
	}
	for b := range mask {
		ends[b+1] += ends[b]
	}
	for _, r := range records {
		place := &ends[r.bits>>shift&mask]
		room[*place] = r
		*place++
	}
	copy(records, room)
	start := uint32(0)
	for _, end := range ends[:mask+1] {
		if end > start {
			radixSort(records[start:end], room[start:end])
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

// merge merges two sorted lists of different keys into one.
func merge[K wire.Key](a, b []Entry[K]) []Entry[K] {
	merged := make([]Entry[K], 0, len(a)+len(b))
	for _, e := range a {
		for len(b) > 0 && wire.Compare(b[0].Key, e.Key) < 0 {
			merged, b = append(merged, b[0]), b[1:]
		}
		merged = append(merged, e)
	}
	return append(merged, b...)
}
