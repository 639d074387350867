package misragries

import (
	"slices"

	"github.com/dpsketch/dpsketch/internal/keyhash"
	"github.com/dpsketch/dpsketch/internal/private"
)

// AddSlice adds the keys in their order. It does what a loop over [Builder.Add] does, in about .7
// of its time for integers.
func (b *Builder[K]) AddSlice(keys []K) {
	s := private.Enter(b.secret)
	if s == nil {
		return
	}
	for s.dim != 0 {
		n := slices.IndexFunc(keys, func(key K) bool { return outside(key, s.dim) })
		if n < 0 {
			break
		}
		s.sketch.addSlice(keys[:n])
		keys = keys[n+1:]
	}
	s.sketch.addSlice(keys)
	private.Leave(b.secret)
}

// addSlice is a loop over Builder.Add with the state of the sketch in registers. It interrupts that
// for each key that is left to addProbing, which sees and changes the state that Add would have
// left.
func (s *sketch[K]) addSlice(keys []K) {
	if s.hasher.IsText() || s.index.wide != nil {
		for _, key := range keys {
			s.add(key)
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

// addDirectly processes elements as Builder.Add does, up to the first that is left to addProbing.
// It returns how many, and the hash of that one.
func (s *sketch[K]) addDirectly(keys []K) (done int, h uint64) {
	hash, slots, decrements := s.hasher, s.index.narrow, s.decrements
	n, entries := uint64(len(s.entries)), s.entries[:cap(s.entries)]
	for done < len(keys) {
		key := keys[done]
		if hash.IsArray() {
			h = hash.OfArray(key)
		} else {
			h = hash.OfInteger(key)
		}
		slot := keyhash.Reduce(h, len(slots))
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
