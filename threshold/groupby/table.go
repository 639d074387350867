package groupby

import "github.com/dpsketch/dpsketch/hashing"

// limit is where a sum saturates: beyond 2⁴¹ users of a key.
const limit = 1 << 61

// cell is what users have given to a key, in steps.
type cell struct {
	weight int64 // ≥ 0: what shows the key
	count  int64 // ≥ 0
	value  int64 // |value| ≤ count
	others int64 // ≥ 0
}

// entry is a key with its cell.
type entry[K hashing.Key] struct {
	key K
	cell
}

// table sums by key; the zero table is empty. Sums are exact, so they do not depend on the order.
type table[K hashing.Key] struct {
	index   map[K]int // into entries
	entries []entry[K]
}

// add adds to the cell of the key.
func (t *table[K]) add(key K, c cell) {
	i, found := t.index[key]
	if !found {
		if t.index == nil {
			t.index = map[K]int{}
		}
		i = len(t.entries)
		t.index[key] = i
		t.entries = append(t.entries, entry[K]{key: key})
	}
	e := &t.entries[i].cell
	e.weight, e.count, e.others = sum(e.weight, c.weight), sum(e.count, c.count), sum(e.others, c.others)
	e.value = max(sum(e.value, c.value), -limit)
}

// sum returns a + b, at most limit, for a and b that are in [−limit, limit].
func sum(a, b int64) int64 { return min(a+b, limit) }
