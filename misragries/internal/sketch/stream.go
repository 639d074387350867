package sketch

import (
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/keytable"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/internal/wire"
)

// Stream is what a Builder holds: the sketch of one stream, or of several that were merged.
type Stream[K hashing.Key] struct {
	Sketch[K]
	Dim    uint64 // keys outside [0, Dim) do not count; 0: all do
	Given  bool   // it holds counters from elsewhere, of which D is not known
	Merged bool   // others were merged into it
}

// Outside reports whether an integer key is none of 0, …, dim−1. A negative key has bits of 2⁶³ or
// more, and dim is at most that.
func Outside[K hashing.Key](key K, dim uint64) bool { return wire.KeysOf[K]().Bits(key) >= dim }

// Add counts one element of the stream: it is the Add of a Builder, whose caller calls it directly
// as Builder.Add is inlined.
func Add[K hashing.Key](held private.State[Stream[K]], key K) {
	if private.Released(held) { // asked first, the compiler drops what Enter would ask again
		return
	}
	t := private.Enter(held)
	if t.Dim != 0 && Outside(key, t.Dim) {
		private.Leave(held)
		return
	}
	if t.hasher.IsText() { // comparing strings would need branches anyway
		t.addProbing(key, t.hasher.OfString(key))
		private.Leave(held)
		return
	}
	// Whether a key is stored is as good as random, and a mispredicted branch costs more than the
	// rest. So the key is written to the spare entry, behind the others, with a counter of 0; the
	// slot of its hash selects that entry if it is empty, else its own; and the selected entry, if
	// it has the key, is raised by one. If it was the spare one, it has become the last one. What
	// remains are branches that hardly ever go the other way.
	//
	// An empty slot means that the key is not stored (see index), so this is what addProbing does,
	// which does the rest: a slot taken by another key, the spare entry selected where it is the
	// last, and the index of wide slots.
	var h uint64 // Hash would not be inlined
	if t.hasher.IsArray() {
		h = t.hasher.OfArray(key)
	} else {
		h = t.hasher.OfInteger(key)
	}
	slots := t.index.narrow
	if slot := keytable.Reduce(h, len(slots)); slot < uint64(len(slots)) {
		n, entries := uint64(len(t.entries)), t.entries[:cap(t.entries)]
		entries[n] = entry[K]{key, t.decrements}
		i, count := selectEntry(slots[slot], n)
		if used := entries[:len(entries)-1]; i < uint64(len(used)) && used[i].key == key {
			used[i].total++
			slots[slot] = uint16(i + 1)
			t.entries = t.entries[:count]
			private.Leave(held)
			return
		}
	}
	t.addProbing(key, h)
	private.Leave(held)
}

// AddSlice does what a loop over Add does.
func AddSlice[K hashing.Key](held private.State[Stream[K]], keys []K) {
	t := private.Enter(held)
	if t == nil {
		return
	}
	for t.Dim != 0 {
		n := slices.IndexFunc(keys, func(key K) bool { return Outside(key, t.Dim) })
		if n < 0 {
			break
		}
		t.Sketch.AddSlice(keys[:n])
		keys = keys[n+1:]
	}
	t.Sketch.AddSlice(keys)
	private.Leave(held)
}

// AddN counts n equal elements, n ≥ 0.
func AddN[K hashing.Key](held private.State[Stream[K]], key K, n uint64) {
	t := private.Enter(held)
	if t == nil {
		return
	}
	if n > 0 && (t.Dim == 0 || !Outside(key, t.Dim)) {
		t.Sketch.AddN(key, n)
	}
	private.Leave(held)
}

// AddSlice is a loop over Add with the state of the sketch in registers. It interrupts that for
// each key that is left to addProbing, which sees and changes the state that Add would have left.
func (s *Sketch[K]) AddSlice(keys []K) {
	if s.hasher.IsText() || s.index.wide != nil {
		for _, key := range keys {
			s.Add(key)
		}
		return
	}
	for len(keys) > 0 {
		done, h := s.addDirectly(keys)
		if done == len(keys) {
			return
		}
		s.addProbing(keys[done], h)
		keys = keys[done+1:]
	}
}

// addDirectly processes elements as Add does, up to the first that is left to addProbing.
// It returns how many, and the hash of that one.
func (s *Sketch[K]) addDirectly(keys []K) (done int, h uint64) {
	hash, slots, decrements := s.hasher, s.index.narrow, s.decrements
	n, entries := uint64(len(s.entries)), s.entries[:cap(s.entries)]
	for done < len(keys) {
		key := keys[done]
		if hash.IsArray() {
			h = hash.OfArray(key)
		} else {
			h = hash.OfInteger(key)
		}
		slot := keytable.Reduce(h, len(slots))
		if slot >= uint64(len(slots)) {
			break
		}
		entries[n] = entry[K]{key, decrements}
		i, count := selectEntry(slots[slot], n)
		if i >= uint64(len(entries))-1 || entries[i].key != key {
			break
		}
		entries[i].total++
		slots[slot] = uint16(i + 1)
		n = count
		done++
	}
	s.entries = entries[:n]
	return done, h
}
