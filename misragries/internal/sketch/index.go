package sketch

import (
	"math/bits"

	"github.com/dpsketch/dpsketch/internal/keytable"
)

// index finds entries by hash: open addressing with linear probing. An entry is in the first slot
// that was empty, from the one its hash maps to, when it came, and no slot is emptied but all at
// once. So a search may stop at an empty slot.
//
// A slot holds an entry's number, counted from 1; 0 is empty. Up to 2¹⁶ − 1 entries fit slots of 16
// bits, at a load of at most 2/13: for 95 of 100 elements the first slot decides, and with half of
// the slots, where that is 90, an element takes a sixth more time. More entries take slots of 32
// bits, at a load of at most 8/13, with as many bits of the hash as fit above the number: they
// spare loads of entries that are not cached.
type index struct {
	size   uint64 // the number of slots
	narrow []uint16
	wide   []uint32 // nil if narrow is in use
	mask   uint32   // selects the entry's number
}

// indexSlots returns the number of slots for so many entries, and the bytes of each.
func indexSlots(entries int) (slots, bytes int) {
	slots = entries/8*13 + entries%8*2 + 1
	if entries < 1<<16 {
		return 4 * slots, 2
	}
	return slots, 4
}

// Size returns the bytes of a sketch whose counters are all in use, for uint64 keys.
func Size(counters int) int64 {
	const entry, zero = 16, 8
	slots, bytes := indexSlots(counters)
	return int64(counters)*(entry+zero) + int64(slots)*int64(bytes)
}

func newIndex(entries int) index {
	slots, bytes := indexSlots(entries)
	if bytes == 2 {
		return index{size: uint64(slots), narrow: make([]uint16, slots), mask: 1<<32 - 1}
	}
	return index{size: uint64(slots), wide: make([]uint32, slots), mask: 1<<bits.Len(uint(entries)) - 1}
}

func (x *index) at(slot uint64) uint32 {
	if x.wide == nil {
		return uint32(x.narrow[slot])
	}
	return x.wide[slot]
}

func (x *index) set(slot uint64, content uint32) {
	if x.wide == nil {
		x.narrow[slot] = uint16(content)
	} else {
		x.wide[slot] = content
	}
}

func (x *index) clear() {
	clear(x.narrow)
	clear(x.wide)
}

// start returns the slot that the hash maps to.
func (x *index) start(h uint64) uint64 { return keytable.Reduce(h, int(x.size)) }

// next returns the slot after the given one.
func (x *index) next(slot uint64) uint64 {
	if slot++; slot == x.size {
		return 0
	}
	return slot
}

// vacant returns the first empty slot from the start on.
func (x *index) vacant(h uint64) uint64 {
	slot := x.start(h)
	for x.at(slot) != 0 {
		slot = x.next(slot)
	}
	return slot
}

// put puts entry i, of hash h, where it belongs.
func (x *index) put(h uint64, i int) { x.set(x.vacant(h), x.tag(h)|uint32(i+1)) }

// tag returns the low bits of the hash, in the place they take in a slot.
func (x *index) tag(h uint64) uint32 { return uint32(h) &^ x.mask }
