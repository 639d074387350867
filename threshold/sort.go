package threshold

import (
	"cmp"
	"slices"

	"github.com/dpsketch/dpsketch/internal/wire"
)

type key = wire.Key

// entry is a key with its total or its released value, in steps.
type entry[K key] struct {
	key   K
	steps int64
}

const (
	digitBits = 8
	digits    = 64 / digitBits
	radixFrom = 512 // entries from which on the radix sort is faster
)

// sortEntries sorts by key. Integer keys take a radix sort, least digit first, that leaves out the digits in which all keys agree.
func sortEntries[K key](entries []entry[K], keys wire.Keys[K]) {
	if len(entries) < radixFrom || keys.Class() == wire.TextKey {
		slices.SortFunc(entries, func(a, b entry[K]) int { return cmp.Compare(a.key, b.key) })
		return
	}
	flip := uint64(0)
	if keys.Class() == wire.SignedKey {
		flip = 1 << 63 // negative keys first
	}
	var counts [digits][1 << digitBits]uint32
	for i := range entries {
		bits := keys.Bits(entries[i].key) ^ flip
		for d := range digits {
			counts[d][byte(bits>>(d*digitBits))]++
		}
	}
	from, to := entries, make([]entry[K], len(entries))
	first := keys.Bits(entries[0].key) ^ flip
	for d := range digits {
		shift := d * digitBits
		if int(counts[d][byte(first>>shift)]) == len(entries) {
			continue
		}
		next := uint32(0)
		for i, n := range counts[d] {
			counts[d][i] = next
			next += n
		}
		for _, e := range from {
			digit := byte((keys.Bits(e.key) ^ flip) >> shift)
			to[counts[d][digit]] = e
			counts[d][digit]++
		}
		from, to = to, from
	}
	if &from[0] != &entries[0] {
		copy(entries, from)
	}
}
