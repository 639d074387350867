package alp

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/keyhash"
)

// total is an index with the sum of its values, in steps.
type total struct {
	index uint64
	steps int64
}

// totals sums by index. The entries lie in the order of arrival; slots holds their numbers, counted from 1, by open addressing with
// linear probing, and 0 where empty.
type totals struct {
	hasher  keyhash.Hasher[uint64]
	entries []total
	slots   []uint32 // at least twice as many as there can be entries before both grow
}

const (
	maxTotal   = 1 << 54 // where a total saturates, in steps: φ₁ of it is below 2⁶⁰
	maxEntries = math.MaxUint32
)

func newTotals() totals {
	const initial = 256
	return totals{hasher: keyhash.New[uint64](), entries: make([]total, 0, initial), slots: make([]uint32, 2*initial)}
}

// add adds the steps, at most ±maxTotal, to the total of the index. Once there are maxEntries indices, others are ignored.
func (t *totals) add(index uint64, steps int64) {
	slot := t.start(index)
	for ; t.slots[slot] != 0; slot = t.next(slot) {
		if e := &t.entries[t.slots[slot]-1]; e.index == index {
			e.steps = min(max(e.steps+steps, -maxTotal), maxTotal)
			return
		}
	}
	if len(t.entries) == cap(t.entries) {
		if uint64(len(t.entries)) == maxEntries {
			return
		}
		t.grow()
		slot = t.vacant(index)
	}
	t.entries = append(t.entries, total{index, steps})
	t.slots[slot] = uint32(len(t.entries))
}

// grow makes room for twice the entries.
func (t *totals) grow() {
	most := int(min(2*uint64(len(t.entries)), maxEntries))
	entries := make([]total, len(t.entries), most)
	copy(entries, t.entries)
	t.entries, t.slots = entries, make([]uint32, 2*most)
	for i := range t.entries {
		t.slots[t.vacant(t.entries[i].index)] = uint32(i + 1)
	}
}

// start returns the slot that the index maps to.
func (t *totals) start(index uint64) uint64 {
	return keyhash.Reduce(t.hasher.Hash(index), len(t.slots))
}

// next returns the slot after the given one.
func (t *totals) next(slot uint64) uint64 {
	if slot++; slot == uint64(len(t.slots)) {
		return 0
	}
	return slot
}

// vacant returns the first empty slot from the start on.
func (t *totals) vacant(index uint64) uint64 {
	slot := t.start(index)
	for t.slots[slot] != 0 {
		slot = t.next(slot)
	}
	return slot
}

// clamped returns the totals that are not 0 once clamped to ±limit, and to 0 from below unless signed. They take the memory of the table, which is not
// used again, and are in the order of arrival, on which nothing released may depend.
func (t *totals) clamped(limit int64, signed bool) []total {
	entries := t.entries[:0]
	for _, e := range t.entries {
		e.steps = min(max(e.steps, -limit), limit)
		if e.steps > 0 || e.steps < 0 && signed {
			entries = append(entries, e)
		}
	}
	return entries
}
