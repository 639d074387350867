// Package sketch counts: the Misra-Gries sketch of Algorithm 1 of Lebeda and Tětek, TODS 2025
// (doi 10.1145/3716375), its merge, that of users (Algorithm 4) and its reduction (Algorithm 3). It
// knows no noise: what it holds is private.
package sketch

import (
	"math/bits"
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/keytable"
	"github.com/dpsketch/dpsketch/internal/private"
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

// plain returns the sketch in the form that is released, merged and encoded: that before AddN.
func (s *Sketch[K]) plain() *Sketch[K] {
	if s.weights != nil {
		s.unweigh()
	}
	return s
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
