package keyhash

import "math"

// Slots are the part of a hash table that finds entries by the hash of their key: open addressing
// with linear probing. The entries lie elsewhere and have the numbers 1, 2, …; a slot holds such a
// number below the upper half of the hash, and 0 is empty. That half spares most looks at entries
// of other keys, which are seldom cached, and is enough to place an entry when the slots grow: they
// do so in one pass from the first to the last, without a look at any key.
type Slots struct{ words []uint64 }

// MaxEntries is the largest number of an entry.
const MaxEntries = math.MaxUint32

// NewSlots returns empty slots with room for so many entries.
func NewSlots(entries int) Slots { return Slots{make([]uint64, slotsFor(entries))} }

// slotsFor returns how many slots so many entries need: half as many more, and at least one that
// stays empty, where a search ends.
func slotsFor(entries int) int { return entries + entries/2 + 1 }

// Word returns what stands in the first slot of hash h, 0 if nothing: for [Match]. Where many are
// asked for one after the other, they are fetched at the same time.
func (s *Slots) Word(h uint64) uint64 {
	if at := s.place(h); at < uint64(len(s.words)) {
		return s.words[at]
	}
	return 0
}

// Match returns the number of the entry that a word is of if it may have hash h, else 0.
func Match(word, h uint64) uint32 {
	if (word^h)>>32 == 0 {
		return uint32(word)
	}
	return 0
}

// First returns the first slot that may be that of the key with hash h, and its number; or the
// empty slot where that key belongs, and 0.
func (s *Slots) First(h uint64) (slot uint64, number uint32) {
	return s.from(s.place(h), h)
}

// Next is First for the slots after the given one.
func (s *Slots) Next(slot, h uint64) (next uint64, number uint32) {
	return s.from(s.after(slot), h)
}

func (s *Slots) from(slot, h uint64) (at uint64, number uint32) {
	words := s.words
	for slot < uint64(len(words)) {
		w := words[slot]
		if w == 0 || (w^h)>>32 == 0 {
			return slot, uint32(w)
		}
		if slot++; slot == uint64(len(words)) {
			slot = 0
		}
	}
	return slot, 0
}

// Set puts the number of an entry with hash h into an empty slot.
func (s *Slots) Set(slot, h uint64, number uint32) {
	s.words[slot] = h&^math.MaxUint32 | uint64(number)
}

// Grow makes room for so many entries, no fewer than there are.
func (s *Slots) Grow(entries int) {
	old := s.words
	s.words = make([]uint64, slotsFor(entries))
	for _, w := range old {
		if w == 0 {
			continue
		}
		slot := s.place(w)
		for s.words[slot] != 0 {
			slot = s.after(slot)
		}
		s.words[slot] = w
	}
}

// place returns the slot that a hash maps to, by its upper half.
func (s *Slots) place(h uint64) uint64 { return Reduce(h&^math.MaxUint32, len(s.words)) }

// after returns the slot after the given one.
func (s *Slots) after(slot uint64) uint64 {
	if slot++; slot == uint64(len(s.words)) {
		return 0
	}
	return slot
}
