package misragries

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
)

// sketch is Algorithm 1 of the paper: k counters, zero counters kept, the smallest zero key evicted.
//
// The update path is that of the plain Misra-Gries sketch, which frees counters that reach zero. That
// changes no positive counter, and the zero keys that Algorithm 1 would still hold are found when asked
// for (see retained). Decrementing all counters raises decrements; an entry stores its counter plus that.
type sketch[K hashing.Key] struct {
	k          int
	decrements uint64     // how often all counters were decremented
	entries    []entry[K] // the positive counters, in no particular order
	settled    int        // entries[settled:] were inserted since the last decrement
	zeros      []K        // the keys whose counter reached zero at the last decrement
	index      index
	hasher     hasher[K]
}

type entry[K hashing.Key] struct {
	key   K
	total uint64 // the counter plus decrements; 2⁶⁴ elements cannot be added one by one
}

func newSketch[K hashing.Key](k int) *sketch[K] {
	const initial = 1024
	s := &sketch[K]{k: k, hasher: newHasher[K]()}
	s.grow(min(k, initial))
	return s
}

// grow makes room for n entries.
func (s *sketch[K]) grow(n int) {
	entries := make([]entry[K], len(s.entries), n)
	copy(entries, s.entries)
	s.entries = entries
	s.index = newIndex(n)
	s.reindex()
}

// add processes one element.
func (s *sketch[K]) add(key K) {
	var h uint64
	if s.hasher.text { // hash, inlined by hand
		h = s.hasher.ofString(key)
	} else {
		h = s.hasher.ofInteger(key)
	}
	slot := s.index.start(h)
	tag := s.index.tag(h)
	for {
		content := s.index.slots[slot]
		if content == 0 {
			break
		}
		if content&^s.index.mask == tag {
			if e := &s.entries[content&s.index.mask-1]; e.key == key {
				e.total++
				return
			}
		}
		if slot++; slot == uint64(len(s.index.slots)) {
			slot = 0
		}
	}
	switch {
	case len(s.entries) == s.k:
		s.decrement()
	case len(s.entries) == cap(s.entries):
		s.grow(min(s.k, 2*len(s.entries)))
		s.insert(key, h)
	default:
		s.entries = append(s.entries, entry[K]{key, s.decrements + 1})
		s.index.slots[slot] = tag | uint32(len(s.entries))
	}
}

// insert stores a new key with counter 1 where the place in the index is not known.
func (s *sketch[K]) insert(key K, h uint64) {
	s.entries = append(s.entries, entry[K]{key, s.decrements + 1})
	s.index.put(h, len(s.entries))
}

// decrement lowers all k counters by one and frees those that reach zero. It takes O(k) time and happens
// at most once in k+1 elements, since it undoes k earlier increments and drops the element at hand.
func (s *sketch[K]) decrement() {
	s.decrements++
	if s.zeros == nil {
		s.zeros = make([]K, s.k)
	}
	// Every entry is written to both lists, and stays in one: no branch that nothing could predict.
	zeros, kept := s.zeros[:s.k], 0
	for i := range s.entries {
		e := s.entries[i]
		zeros[i-kept] = e.key
		s.entries[kept] = e
		if e.total != s.decrements {
			kept++
		}
	}
	s.settled = kept
	s.zeros = zeros[:len(s.entries)-kept]
	if kept < len(s.entries) {
		clear(zeros[len(s.zeros):])
		clear(s.entries[kept:])
		s.entries = s.entries[:kept]
		s.reindex()
	}
}

func (s *sketch[K]) reindex() {
	clear(s.index.slots)
	for i := range s.entries {
		s.index.put(s.hasher.hash(s.entries[i].key), i+1)
	}
}

// retained returns the zero keys of Algorithm 1, sorted.
//
// Let Z be the keys at zero after the last decrement and I the distinct keys that got a counter since.
// Every arrival of a key of I removes one key from Algorithm 1's zero keys: the key itself if it is
// among them, else the smallest. So all of I leaves Z, and of Z \ I exactly |I| − |I ∩ Z| keys are evicted. An
// eviction takes the smallest zero key, so by the time it takes a key of Z \ I all smaller ones are gone:
// what is evicted of Z \ I are its smallest keys, whatever the order of the arrivals. Before the first
// decrement the zero keys are dummies, which sort after all keys, and the first decrement needs k positive counters, so none is left.
func (s *sketch[K]) retained() []K {
	since := s.entries[s.settled:]
	if len(s.zeros) <= len(since) {
		return nil
	}
	inserted := make([]K, len(since))
	for i := range since {
		inserted[i] = since[i].key
	}
	slices.Sort(inserted)
	var remaining []K // Z \ I
	for _, key := range s.zeros {
		if _, found := slices.BinarySearch(inserted, key); !found {
			remaining = append(remaining, key)
		}
	}
	slices.Sort(remaining)
	evicted := len(inserted) - (len(s.zeros) - len(remaining))
	return remaining[evicted:]
}

// counter is a stored key and its count.
type counter[K hashing.Key] struct {
	key   K
	count int64
}

// counters returns what Algorithm 1 holds, without dummies, sorted by key.
func (s *sketch[K]) counters() []counter[K] {
	zeros := s.retained()
	all := make([]counter[K], 0, len(s.entries)+len(zeros))
	for _, e := range s.entries {
		all = append(all, counter[K]{e.key, saturate(e.total - s.decrements)})
	}
	for _, key := range zeros {
		all = append(all, counter[K]{key, 0})
	}
	slices.SortFunc(all, func(a, b counter[K]) int { return cmp.Compare(a.key, b.key) })
	return all
}

// saturate turns a count into an int64 with room for noise.
func saturate(count uint64) int64 {
	const limit = 1 << 62
	return int64(min(count, limit))
}

// index finds entries by hash: open addressing with linear probing at a load of at most 8/13. A slot holds
// an entry's number, counted from 1, in its low bits, and as many bits of the hash as fit above; 0 is empty.
type index struct {
	slots []uint32
	mask  uint32 // selects the entry's number
}

func indexSize(entries int) int { return entries/8*13 + entries%8*2 + 1 }

func newIndex(entries int) index {
	return index{
		slots: make([]uint32, indexSize(entries)),
		mask:  1<<bits.Len(uint(entries)) - 1,
	}
}

// start maps the hash to a slot through its high bits.
func (x *index) start(h uint64) uint64 {
	hi, _ := bits.Mul64(h, uint64(len(x.slots)))
	return hi
}

// tag returns the low bits of the hash, in the place they take in a slot.
func (x *index) tag(h uint64) uint32 { return uint32(h) &^ x.mask }

func (x *index) put(h uint64, number int) {
	slot := x.start(h)
	for x.slots[slot] != 0 {
		if slot++; slot == uint64(len(x.slots)) {
			slot = 0
		}
	}
	x.slots[slot] = x.tag(h) | uint32(number)
}
