package alp

import (
	"cmp"
	"math/bits"
	"slices"
)

// directory finds the values of listed indices in about one probe. Index i belongs to bucket
// ⌊mix(i)·buckets/2⁶⁴⌋, one for each listed index; a bucket's indices lie side by side, in order.
// In front of them is a filter, so that nearly all indices that are not listed need no probe.
// Whatever the indices are, it takes O(n log n) to make and O(log n) to read.
type directory struct {
	filter []uint64 // bit ⌊mix(i)·bits/2⁶⁴⌋ is set for each listed index
	starts []uint32 // of the buckets, and the end
	slots  []slot
}

// slot is a listed index.
type slot struct {
	index uint64
	value float64 // not 0
}

// filterBits is how many bits of the filter there are for a listed index: others pass with a
// probability of 1/16.
const filterBits = 16

// newDirectory returns the directory of the slots, which it puts into another order.
func newDirectory(slots []slot) directory {
	if len(slots) == 0 {
		return directory{}
	}
	d := directory{make([]uint64, (len(slots)*filterBits+63)/64), make([]uint32, len(slots)+1), slots}
	slices.SortFunc(slots, func(a, b slot) int { return cmp.Compare(mix(a.index), mix(b.index)) })
	for _, s := range slots {
		h := mix(s.index)
		bit := scaled(h, uint64(len(d.filter))*64)
		d.filter[bit/64] |= 1 << (bit % 64)
		d.starts[scaled(h, uint64(len(slots)))+1]++
	}
	for b := range slots {
		d.starts[b+1] += d.starts[b]
	}
	return d
}

// find returns the value of an index, 0 if it is not listed.
func (d *directory) find(index uint64) float64 {
	if len(d.filter) == 0 {
		return 0
	}
	h := mix(index)
	if bit := scaled(h, uint64(len(d.filter))*64); d.filter[bit/64]>>(bit%64)&1 == 0 {
		return 0
	}
	b := scaled(h, uint64(len(d.slots)))
	const few = 8
	bucket := d.slots[d.starts[b]:d.starts[b+1]]
	if len(bucket) > few {
		at, _ := slices.BinarySearchFunc(bucket, h, func(s slot, h uint64) int { return cmp.Compare(mix(s.index), h) })
		bucket = bucket[at:min(at+1, len(bucket))]
	}
	for i := range bucket {
		if bucket[i].index == index {
			return bucket[i].value
		}
	}
	return 0
}

// scaled returns ⌊h·n/2⁶⁴⌋.
func scaled(h, n uint64) uint64 {
	at, _ := bits.Mul64(h, n)
	return at
}
