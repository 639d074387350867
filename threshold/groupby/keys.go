package groupby

import (
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/exact"
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
	i, _, ok = x.look(key, x.hasher.Hash(key))
	return i, ok
}

// look returns the number of the key, whose hash is h, or where it belongs.
func (x *index[K]) look(key K, h uint64) (i uint32, slot uint64, ok bool) {
	slot, n := x.slots.First(h)
	for ; n != 0; slot, n = x.slots.Next(slot, h) {
		if x.keys[n-1] == key {
			return n - 1, slot, true
		}
	}
	return 0, slot, false
}

// ahead is how many keys are looked up together.
const ahead = 16

// seek returns the numbers of at most ahead keys plus one, or 0 where that takes enter, and their
// hashes.
func (x *index[K]) seek(keys []K) (numbers [ahead]uint32, hashes [ahead]uint64) {
	var words [ahead]uint64
	for j, key := range keys {
		hashes[j] = x.hasher.Hash(key)
		words[j] = x.slots.Word(hashes[j])
	}
	for j, key := range keys {
		if numbers[j] = keytable.Match(words[j], hashes[j]); numbers[j] > 0 && x.keys[numbers[j]-1] != key {
			numbers[j] = 0
		}
	}
	return numbers, hashes
}

// number returns the number of the key, which may be new; false if it is new and the index full.
func (x *index[K]) number(key K) (i uint32, ok bool) { return x.enter(key, x.hasher.Hash(key)) }

// enter is number for a key whose hash is h.
func (x *index[K]) enter(key K, h uint64) (i uint32, ok bool) {
	i, slot, found := x.look(key, h)
	if found {
		return i, true
	}
	if len(x.keys) == cap(x.keys) {
		if uint64(len(x.keys)) == keytable.MaxEntries {
			return 0, false
		}
		x.grow(int(min(2*uint64(len(x.keys)), keytable.MaxEntries)))
		_, slot, _ = x.look(key, h)
	}
	x.keys = append(x.keys, key)
	x.slots.Set(slot, h, uint32(len(x.keys)))
	return uint32(len(x.keys) - 1), true
}

// grow makes room for most keys in all.
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

// limit is where a sum over users saturates, which it does only beyond 2³² users of a key: until
// then it depends on no order.
const limit = 1 << 61

// cell is what users have given to a key, in steps.
type cell struct {
	weight int64 // ≥ 0: what shows the key
	count  int64 // ≥ 0; where FullKeys is chosen, as if nobody were clipped
	value  int64
	others int64 // ≥ 0
}

// add adds to a cell.
func (a *cell) add(b cell) {
	a.weight, a.count, a.value, a.others = sum(a.weight, b.weight), sum(a.count, b.count), sum(a.value, b.value), sum(a.others, b.others)
}

// sum returns a + b clamped to [−limit, limit], for a and b in that range.
func sum(a, b int64) int64 { return max(min(a+b, limit), -limit) }

// table sums by key. Sums are exact, so they do not depend on the order in which the keys lie.
type table[K hashing.Key] struct {
	index[K]
	cells  []cell   // one of each key
	marks  []uint64 // likewise: see state.gather
	width  int      // of each key in losses
	losses []int64  // what its count loses by each clip, where FullKeys is chosen in one pass
}

// newTable returns a table with the keys of an index, of which nobody has given anything, and with
// width losses of each. There is no other way to make one.
func newTable[K hashing.Key](x index[K], width int) table[K] {
	n := len(x.keys)
	return table[K]{index: x, cells: make([]cell, n), marks: make([]uint64, n), width: width, losses: make([]int64, n*width)}
}

// entry returns the number of the key's cell, which may be new; false if it is new and the table
// full.
func (t *table[K]) entry(key K, h uint64) (i uint32, ok bool) {
	i, ok = t.enter(key, h)
	if ok && int(i) == len(t.cells) {
		t.reserveColumns()
		t.cells, t.marks = append(t.cells, cell{}), append(t.marks, 0)
		t.losses = t.losses[:len(t.losses)+t.width]
	}
	return i, ok
}

// reserveColumns grows the columns to the capacity of the keys.
func (t *table[K]) reserveColumns() {
	if room := cap(t.keys); cap(t.cells) < room {
		t.cells = append(make([]cell, 0, room), t.cells...)
		t.marks = append(make([]uint64, 0, room), t.marks...)
		t.losses = append(make([]int64, 0, room*t.width), t.losses...)
	}
}

// lost returns what the count of a key loses by each clip.
func (t *table[K]) lost(i int) []int64 { return t.losses[i*t.width : (i+1)*t.width] }

// unit is S: weights, counts and values are integers in steps of 1/S.
const unit = 1 << 20

// weight returns ⌊S/√l⌋, so l·weight² ≤ S²: what a user gives to each of l keys.
func weight(l int) int64 { return exact.FloorSqrt(unit * unit / int64(l)) }

// clipped returns x = ⌊S·min(1, √(full/l))⌋, so l·x² ≤ full·S²: what a user counts in each of l
// keys.
func clipped(l, full int) int64 {
	if l <= full {
		return unit
	}
	return exact.FloorSqrt(int64(full) * unit * unit / int64(l))
}

// residual returns ⌊S·min(1, B/l)⌋, so l·residual ≤ B·S.
func residual(l int) int64 { return min(unit, othersLimit*unit/int64(l)) }

// othersLimit is B: a user's keys count at most B together in [Groups.Others].
const othersLimit = 32

// addTo adds the one list to the other.
func addTo(sums, more []int64) {
	for i, x := range more {
		sums[i] = sum(sums[i], x)
	}
}
