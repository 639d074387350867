package groupby

import (
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/keytable"
	"github.com/dpsketch/dpsketch/internal/wire"
)

// index numbers distinct keys 0, 1, … as they come.
type index[K hashing.Key] struct {
	hasher keytable.Hasher[K]
	slots  keytable.Slots // with room for as many as the keys have
	keys   []K
}

// newIndex returns an empty index with room for n keys.
func newIndex[K hashing.Key](n int) index[K] {
	n = max(n, 128)
	return index[K]{keytable.NewHasher[K](), keytable.NewSlots(n), make([]K, 0, n)}
}

// indexOf returns an index with these different keys, in this order.
func indexOf[K hashing.Key](keys []K) index[K] {
	x := newIndex[K](len(keys))
	for _, key := range keys {
		x.number(key)
	}
	return x
}

// find returns the number of the key, false if it has none.
func (x *index[K]) find(key K) (i uint32, ok bool) {
	i, _, _, ok = x.look(key)
	return i, ok
}

// look returns the number of the key, or where it belongs.
func (x *index[K]) look(key K) (i uint32, slot, h uint64, ok bool) {
	h = x.hasher.Hash(key)
	slot, n := x.slots.First(h)
	for ; n != 0; slot, n = x.slots.Next(slot, h) {
		if x.keys[n-1] == key {
			return n - 1, slot, h, true
		}
	}
	return 0, slot, h, false
}

// ahead is how many keys are looked up together.
const ahead = 16

// seek sets numbers to the numbers of at most ahead keys plus one, or 0 where that takes number.
func (x *index[K]) seek(keys []K, numbers *[ahead]uint32) {
	var hashes, words [ahead]uint64
	for j, key := range keys {
		hashes[j] = x.hasher.Hash(key)
		words[j] = x.slots.Word(hashes[j])
	}
	for j, key := range keys {
		if numbers[j] = keytable.Match(words[j], hashes[j]); numbers[j] > 0 && x.keys[numbers[j]-1] != key {
			numbers[j] = 0
		}
	}
}

// number returns the number of the key, which may be new; false if there are as many others as
// there can be.
func (x *index[K]) number(key K) (i uint32, ok bool) {
	i, slot, h, found := x.look(key)
	if found {
		return i, true
	}
	if len(x.keys) == cap(x.keys) {
		if uint64(len(x.keys)) == keytable.MaxEntries {
			return 0, false
		}
		x.grow(int(min(2*uint64(len(x.keys)), keytable.MaxEntries)))
		_, slot, h, _ = x.look(key)
	}
	x.keys = append(x.keys, key)
	x.slots.Set(slot, h, uint32(len(x.keys)))
	return uint32(len(x.keys) - 1), true
}

// grow makes room for so many keys.
func (x *index[K]) grow(most int) {
	x.keys = append(make([]K, 0, most), x.keys...)
	x.slots.Grow(most)
}

// reserve makes room for n more keys.
func (x *index[K]) reserve(n int) {
	if n > cap(x.keys)-len(x.keys) && uint64(n) <= keytable.MaxEntries-uint64(len(x.keys)) {
		x.grow(len(x.keys) + n)
	}
}

// sorted returns the numbers of all keys, those from the first on in the order of the keys, and
// where each of them stands there.
func (x *index[K]) sorted(first int) (order, ranks []uint32) {
	order, ranks = make([]uint32, len(x.keys)), make([]uint32, len(x.keys))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order[first:], func(a, b uint32) int { return wire.Compare(x.keys[a], x.keys[b]) })
	for rank, i := range order {
		ranks[i] = uint32(rank)
	}
	return order, ranks
}
