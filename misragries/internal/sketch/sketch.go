// Package sketch counts: the Misra-Gries sketch of Algorithm 1 of Lebeda and Tětek, TODS 2025
// (doi 10.1145/3716375), its merge, that of users (Algorithm 4) and its reduction (Algorithm 3). It
// knows no noise: what it holds is private.
package sketch

import (
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/keytable"
	"github.com/dpsketch/dpsketch/internal/wire"
)

// Sketch is Algorithm 1 of the paper: k counters, zero counters kept, the smallest zero key
// evicted.
//
// The update path is that of the plain Misra-Gries sketch, which frees counters that reach zero.
// That changes no positive counter, and the zero keys that Algorithm 1 would still hold are found
// when asked for (see retained). Decrementing all counters raises decrements; an entry stores its
// counter plus that.
type Sketch[K hashing.Key] struct {
	k          int
	decrements uint64 // how often all counters were decremented
	// the positive counters, in order of arrival; there is always room for one more
	entries []entry[K]
	settled int // entries[settled:] were inserted since the last decrement
	zeros   []K // the keys whose counter reached zero at the last decrement
	index   index
	hasher  keytable.Hasher[K]
	weights *weights[K] // holds all of it from AddN until plain; else nil
}

type entry[K hashing.Key] struct {
	key   K
	total uint64 // the counter plus decrements; 2⁶⁴ elements cannot be added one by one
}

// New returns an empty sketch of k counters.
func New[K hashing.Key](k int) *Sketch[K] {
	s := &Sketch[K]{k: k, hasher: keytable.NewHasher[K]()}
	s.grow(min(k, initialCounters))
	return s
}

// initialCounters is how many there is room for at first.
const initialCounters = 1024

// grow makes room for n entries.
func (s *Sketch[K]) grow(n int) {
	entries := make([]entry[K], len(s.entries), n+1)
	copy(entries, s.entries)
	s.entries = entries
	s.index = newIndex(n)
	s.reindex()
}

// Add processes one element. The function of this name has the fast way.
func (s *Sketch[K]) Add(key K) { s.addProbing(key, s.hasher.Hash(key)) }

// selectEntry returns the place of the entry that the slot names, or n if it is empty; and how many
// of n entries there are with that one. In arithmetic: the compiler makes a branch of a condition
// that selects an address, and in a loop of max(n, i+1) too.
func selectEntry(slot uint16, n uint64) (i, count uint64) {
	i = uint64(slot) - 1
	empty := uint64(int64(i) >> 63) // all ones, or 0
	return i ^ (i^n)&empty, n - empty
}

// addProbing processes one element, of hash h.
func (s *Sketch[K]) addProbing(key K, h uint64) {
	if s.weights != nil {
		s.weights.add(key, 1)
		return
	}
	slot, tag := s.index.start(h), s.index.tag(h)
	for {
		content := s.index.at(slot)
		if content == 0 {
			break
		}
		if content&^s.index.mask == tag {
			if e := &s.entries[content&s.index.mask-1]; e.key == key {
				e.total++
				return
			}
		}
		slot = s.index.next(slot)
	}
	switch {
	case len(s.entries) == s.k:
		s.decrement()
		return
	case len(s.entries) == cap(s.entries)-1:
		s.grow(min(s.k, 2*len(s.entries)))
		slot, tag = s.index.vacant(h), s.index.tag(h)
	}
	s.entries = append(s.entries, entry[K]{key, s.decrements + 1})
	s.index.set(slot, tag|uint32(len(s.entries)))
}

// decrement lowers all k counters by one and frees those that reach zero. It takes O(k) time and
// happens at most once in k+1 elements, since it undoes k earlier increments and drops the element
// at hand.
func (s *Sketch[K]) decrement() {
	s.decrements++
	if s.zeros == nil {
		s.zeros = make([]K, s.k)
	}
	// Every entry is written to both lists, and stays in one: no branch that nothing could
	// predict.
	zeros, kept := s.zeros[:s.k], 0
	entries, decrements := s.entries, s.decrements
	for i, e := range entries {
		zeros[i-kept] = e.key
		entries[kept] = e
		if e.total != decrements {
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

func (s *Sketch[K]) reindex() {
	s.index.clear()
	for i := range s.entries {
		s.index.put(s.hasher.Hash(s.entries[i].key), i)
	}
}

// retained returns the zero keys of Algorithm 1, sorted.
//
// Let Z be the keys at zero after the last decrement and I the distinct keys that got a counter
// since. Every arrival of a key of I removes one key from Algorithm 1's zero keys: the key itself
// if it is among them, else the smallest. So all of I leaves Z, and of Z \ I exactly |I| − |I ∩ Z|
// keys are evicted. An eviction takes the smallest zero key, so by the time it takes a key of Z \ I
// all smaller ones are gone: what is evicted of Z \ I are its smallest keys, whatever the order of
// the arrivals. Before the first decrement the zero keys are dummies, which sort after all keys,
// and the first decrement needs k positive counters, so none is left.
func (s *Sketch[K]) retained() []K {
	since := s.entries[s.settled:]
	if len(s.zeros) <= len(since) {
		return nil
	}
	inserted := make([]K, len(since))
	for i := range since {
		inserted[i] = since[i].key
	}
	wire.Sort(inserted)
	var remaining []K // Z \ I
	for _, key := range s.zeros {
		if _, found := slices.BinarySearchFunc(inserted, key, wire.Compare[K]); !found {
			remaining = append(remaining, key)
		}
	}
	wire.Sort(remaining)
	evicted := len(inserted) - (len(s.zeros) - len(remaining))
	return remaining[evicted:]
}

// Counter is a stored key and its count. The counters of a sketch are below 2⁶³: no more than 2⁶²
// come from elsewhere or a merge, 2⁶² + 2⁶⁰ from Read, and nobody adds 2⁶⁰ elements one by one
// after. AddN, which could, stops: see mostTotal.
type Counter[K hashing.Key] struct {
	Key   K
	Count int64
}

// Counters returns what Algorithm 1 holds, without dummies, sorted by key.
func (s *Sketch[K]) Counters() []Counter[K] {
	s.plain()
	zeros := s.retained()
	all := make([]Counter[K], 0, len(s.entries)+len(zeros))
	for _, e := range s.entries {
		all = append(all, Counter[K]{e.key, int64(e.total - s.decrements)})
	}
	for _, key := range zeros {
		all = append(all, Counter[K]{key, 0})
	}
	Sort(all)
	return all
}

// Decrements returns D.
func (s *Sketch[K]) Decrements() int64 { return int64(s.plain().decrements) }

// Sort sorts by key.
func Sort[K hashing.Key](counters []Counter[K]) {
	slices.SortFunc(counters, func(a, b Counter[K]) int { return wire.Compare(a.Key, b.Key) })
}

// Limit is where counts saturate. It leaves room for noise in an int64.
const Limit = 1 << 62

// Saturate cuts a count off at the limit.
//
// The cut is monotone and 1-Lipschitz, so it may be taken of what is compared key by key: reduced
// counters, sums of them, the counters of merged sketches, a counter with the shared noise in it.
// It must not be taken of the counters of one stream before they are reduced or meet the shared
// noise. Where all k counters fall by one (state S1), those at the limit would not, and the proofs
// compare them with the others.
func Saturate(count uint64) int64 { return int64(min(count, Limit)) }
