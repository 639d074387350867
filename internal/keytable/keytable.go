// Package keytable has hash tables in memory, by keys of the types that the library takes: the
// hash, the slots that find an entry, and a table of sums.
package keytable

import (
	"crypto/rand"
	"encoding/binary"
	"hash/maphash"
	"math"
	"math/bits"
	"reflect"
	"unsafe"

	"github.com/dpsketch/dpsketch/internal/wire"
)

// Hasher hashes the keys of one table. It is keyed by the operating system's randomness, so nobody
// can choose keys that collide, and two Hashers agree on nothing: what it returns must leave no
// trace in what is released.
type Hasher[K wire.Key] struct {
	text bool         // K is a string type
	seed maphash.Seed // for strings: the hash of Go's maps
	a, b uint64       // for integers and arrays
}

// NewHasher returns a Hasher under a new key.
func NewHasher[K wire.Key]() Hasher[K] {
	var key [16]byte
	rand.Read(key[:])
	return Hasher[K]{
		text: reflect.TypeFor[K]().Kind() == reflect.String,
		seed: maphash.MakeSeed(),
		a:    binary.LittleEndian.Uint64(key[:8]),
		b:    binary.LittleEndian.Uint64(key[8:]) | 1,
	}
}

// IsText reports whether K is a string type. Where strings are larger than integers the compiler
// knows.
func (h *Hasher[K]) IsText() bool {
	var key K
	return unsafe.Sizeof(key) == unsafe.Sizeof("") && h.text
}

// IsArray reports whether K is an array of 16 bytes.
func (h *Hasher[K]) IsArray() bool {
	var key K
	return unsafe.Sizeof(key) == 16 && !h.text
}

// Hash returns 64 bits, of which the high ones are the best.
func (h *Hasher[K]) Hash(key K) uint64 {
	switch {
	case h.IsText():
		return h.OfString(key)
	case h.IsArray():
		return h.OfArray(key)
	}
	return h.OfInteger(key)
}

// OfString is Hash where K is a string type: the hash of Go's maps.
func (h *Hasher[K]) OfString(key K) uint64 {
	return maphash.String(h.seed, *(*string)(unsafe.Pointer(&key)))
}

// OfInteger is Hash where K is an integer type: the two halves of the 128-bit product (x ⊕ a)·b,
// added without carry, as in the hash of Go's maps where there are no AES instructions. It is
// small enough to be inlined, which OfArray would undo.
func (h *Hasher[K]) OfInteger(key K) uint64 {
	if unsafe.Sizeof(key) == 4 {
		return h.product(uint64(*(*uint32)(unsafe.Pointer(&key))))
	}
	return h.product(*(*uint64)(unsafe.Pointer(&key)))
}

// OfArray is Hash where K is an array of 16 bytes: x is the hash of their halves, under the same
// key turned.
func (h *Hasher[K]) OfArray(key K) uint64 {
	array := (*[16]byte)(unsafe.Pointer(&key)) // which need not be aligned
	first, second := binary.NativeEndian.Uint64(array[:8]), binary.NativeEndian.Uint64(array[8:])
	hi, lo := bits.Mul64(first^h.b, second^bits.RotateLeft64(h.a, 32))
	return h.product(hi ^ lo ^ second)
}

// product is the hash of 64 bits.
func (h *Hasher[K]) product(x uint64) uint64 {
	hi, lo := bits.Mul64(x^h.a, h.b)
	return hi ^ lo
}

// Reduce maps a hash to [0, n), evenly, through its high bits; to 0 if n = 0.
func Reduce(h uint64, n int) uint64 {
	hi, _ := bits.Mul64(h, uint64(n))
	return hi
}

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
func (s *Slots) Word(h uint64) uint64 { return s.words[s.place(h)] }

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
		slot = s.after(slot)
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

// Entry is a key with the sum of its values, in steps of a grid.
type Entry[K wire.Key] struct {
	Key   K
	Steps int64
}

// Totals sums by key. The entries lie in the order of arrival.
type Totals[K wire.Key] struct {
	hasher  Hasher[K]
	slots   Slots // with room for as many as the entries have
	entries []Entry[K]
	limit   int64
}

// NewTotals returns an empty table whose sums saturate at ±limit, which is at most 2⁶¹.
func NewTotals[K wire.Key](limit int64) Totals[K] {
	const initial = 16
	return Totals[K]{NewHasher[K](), NewSlots(initial), make([]Entry[K], 0, initial), limit}
}

// Add adds the steps, at most ±limit, to the sum of the key. Once there are 2³² − 1 keys, others
// are ignored.
func (t *Totals[K]) Add(key K, steps int64) {
	h := t.hasher.Hash(key)
	slot, n := t.slots.First(h)
	for ; n != 0; slot, n = t.slots.Next(slot, h) {
		if e := &t.entries[n-1]; e.Key == key {
			e.Steps = min(max(e.Steps+steps, -t.limit), t.limit)
			return
		}
	}
	if len(t.entries) == cap(t.entries) {
		if uint64(len(t.entries)) == MaxEntries {
			return
		}
		t.grow(int(min(2*uint64(len(t.entries)), MaxEntries)))
		t.Add(key, steps)
		return
	}
	t.entries = append(t.entries, Entry[K]{key, steps})
	t.slots.Set(slot, h, uint32(len(t.entries)))
}

// Entries returns all keys that were added, in the order of arrival, on which nothing released may
// depend. It is the memory of the table, which the caller may overwrite once nothing more is added.
func (t *Totals[K]) Entries() []Entry[K] { return t.entries }

// Reserve makes room for n more keys.
func (t *Totals[K]) Reserve(n int) {
	if n > cap(t.entries)-len(t.entries) && uint64(n) <= MaxEntries-uint64(len(t.entries)) {
		t.grow(len(t.entries) + n)
	}
}

// grow makes room for so many entries.
func (t *Totals[K]) grow(most int) {
	t.entries = append(make([]Entry[K], 0, most), t.entries...)
	t.slots.Grow(most)
}
