package groupby

import "github.com/dpsketch/dpsketch/hashing"

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

// sum returns a + b, kept within [−limit, limit], for a and b that are.
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

// entry returns the number of the key's cell, which may be new; false if there are as many others
// as there can be.
func (t *table[K]) entry(key K) (i uint32, ok bool) {
	i, ok = t.number(key)
	if ok && int(i) == len(t.cells) {
		t.fit()
		t.cells, t.marks = append(t.cells, cell{}), append(t.marks, 0)
		t.losses = t.losses[:len(t.losses)+t.width]
	}
	return i, ok
}

// fit gives all that lies beside the keys the room of these.
func (t *table[K]) fit() {
	if room := cap(t.keys); cap(t.cells) < room {
		t.cells = append(make([]cell, 0, room), t.cells...)
		t.marks = append(make([]uint64, 0, room), t.marks...)
		t.losses = append(make([]int64, 0, room*t.width), t.losses...)
	}
}

// lost returns what the count of a key loses by each clip.
func (t *table[K]) lost(i int) []int64 { return t.losses[i*t.width : (i+1)*t.width] }
