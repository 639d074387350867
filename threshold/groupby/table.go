package groupby

import "github.com/dpsketch/dpsketch/hashing"

// limit is where a sum saturates: beyond 2³² users of a key.
const limit = 1 << 61

// cell is what users have given to a key, in steps.
type cell struct {
	weight int64 // ≥ 0: what shows the key
	rest   int64 // of the count, in 1/fine of a step: see rest
	value  int64
	others int64 // ≥ 0
}

// add adds to a cell.
func (a *cell) add(b cell) {
	a.weight, a.rest, a.value, a.others = sum(a.weight, b.weight), sum(a.rest, b.rest), sum(a.value, b.value), sum(a.others, b.others)
}

// sum returns a + b, kept within [−limit, limit], for a and b that are.
func sum(a, b int64) int64 { return max(min(a+b, limit), -limit) }

// table sums by key. Sums are exact, so they do not depend on the order in which the keys lie.
type table[K hashing.Key] struct {
	index[K]
	cells []cell   // one of each key
	marks []uint64 // likewise: see state.gather
}

// newTable returns an empty table with room for n keys.
func newTable[K hashing.Key](n int) table[K] {
	x := newIndex[K](n)
	return table[K]{x, make([]cell, 0, cap(x.keys)), make([]uint64, 0, cap(x.keys))}
}

// tableOf returns a table with these different keys, in this order.
func tableOf[K hashing.Key](keys []K) table[K] {
	t := newTable[K](len(keys))
	for _, key := range keys {
		t.entry(key)
	}
	return t
}

// entry returns the number of the key's cell, which may be new; false if there are as many others
// as there can be.
func (t *table[K]) entry(key K) (i uint32, ok bool) {
	i, ok = t.number(key)
	if ok && int(i) == len(t.cells) {
		t.fit()
		t.cells, t.marks = append(t.cells, cell{}), append(t.marks, 0)
	}
	return i, ok
}

// fit gives the cells and marks the room of the keys.
func (t *table[K]) fit() {
	if room := cap(t.keys); cap(t.cells) < room {
		t.cells = append(make([]cell, 0, room), t.cells...)
		t.marks = append(make([]uint64, 0, room), t.marks...)
	}
}
