package sketch

import (
	"cmp"
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
)

// weights is Algorithm 1 for elements that come n at once: what n times add would leave, down to
// the order of arrival, in O(log k) amortised time whatever n is.
//
// An item stores its counter plus the number D of decrements, its total. Of n equal elements of a
// new key, where all k counters are positive, the first d = min(n, least counter) lower all
// counters by one each; then one counter at least is free, and the other n − d raise that of the
// key. In totals: D rises to min(D + n, least total), the items with that total go, and the new
// one, of total D + n by the old D, stays if that is above the new D. So all there is to find is
// the least total.
//
// No comparison-based algorithm takes constant time: adding k new keys of any weights, and then k
// of larger weights, removes the first k in the order of their weights, and so sorts them.
//
// The heap holds each item by a total that it once had. Totals only rise, so an item on top of the
// heap whose total has not changed has the least. One that has changed is put back by its new
// total, which the element that raised it pays for.
type weights[K hashing.Key] struct {
	k          int
	decrements uint64
	items      []item[K]
	free       []int // of the items, those that are not in use
	places     map[K]int
	heap       []rank
	arrivals   uint64 // the number of keys that got a counter
	settled    uint64 // arrivals at the last decrement
	zeros      []K    // the keys whose counter reached zero at the last decrement
}

// item is a positive counter.
type item[K hashing.Key] struct {
	key     K
	total   uint64
	arrival uint64
}

// rank is an item in the heap, by a total that it had.
type rank struct {
	total uint64
	place int
}

// mostTotal is where the totals c + D and D itself stop that AddN raises: merge relies on 1½·2⁶²
// for each counter and for D. What would go beyond does not count. The map x → max(x, min(x + n,
// mostTotal)) of totals and of D is monotone and moves no two apart, so those of neighbours differ
// as they do elsewhere: D rises by some b ≥ 0, the totals that both sides hold by 0 or more, all
// together by at most n.
const mostTotal = 3 << 61

// AddN processes n ≥ 1 equal elements.
func (s *Sketch[K]) AddN(key K, n uint64) {
	if s.weights == nil {
		s.weights = s.weigh()
		s.entries, s.zeros, s.index = nil, nil, index{} // no slots: all is left to addProbing
	}
	s.weights.add(key, n)
}

// weigh returns what the sketch holds.
func (s *Sketch[K]) weigh() *weights[K] {
	w := &weights[K]{k: s.k, decrements: s.decrements, places: map[K]int{}, zeros: slices.Clone(s.zeros)}
	for i, e := range s.entries {
		if i == s.settled {
			w.settled = w.arrivals
		}
		w.insert(e.key, e.total)
	}
	if s.settled == len(s.entries) {
		w.settled = w.arrivals
	}
	return w
}

// unweigh stores what the weights hold as counters.
func (s *Sketch[K]) unweigh() {
	w := s.weights
	s.weights = nil
	s.decrements, s.zeros = w.decrements, nil
	if len(w.zeros) > 0 {
		s.zeros = append(make([]K, 0, s.k), w.zeros...) // as decrement expects
	}
	items := make([]item[K], 0, len(w.places))
	for _, place := range w.places {
		items = append(items, w.items[place])
	}
	sortByArrival(items)
	s.settled = 0
	s.entries = make([]entry[K], 0, len(items))
	for _, it := range items {
		if it.arrival <= w.settled {
			s.settled++
		}
		s.entries = append(s.entries, entry[K]{it.key, it.total})
	}
	s.grow(max(len(items), min(s.k, initialCounters)))
}

func sortByArrival[K hashing.Key](items []item[K]) {
	slices.SortFunc(items, func(a, b item[K]) int { return cmp.Compare(a.arrival, b.arrival) })
}

func (w *weights[K]) add(key K, n uint64) {
	if place, stored := w.places[key]; stored {
		it := &w.items[place]
		it.total = raised(it.total, n)
		return
	}
	total := raised(w.decrements, n)
	if len(w.places) == w.k {
		w.decrements = min(total, w.least())
		w.settled = w.arrivals
		w.release()
	}
	if total > w.decrements {
		w.insert(key, total)
	}
}

// raised returns a total with n elements more, as far as they count.
func raised(total, n uint64) uint64 { return max(total, min(total+n, mostTotal)) }

// insert stores a new key.
func (w *weights[K]) insert(key K, total uint64) {
	w.arrivals++
	it, place := item[K]{key, total, w.arrivals}, len(w.items)
	if last := len(w.free) - 1; last >= 0 {
		place, w.free = w.free[last], w.free[:last]
		w.items[place] = it
	} else {
		w.items = append(w.items, it)
	}
	w.places[key] = place
	w.heap = append(w.heap, rank{total, place})
	w.up(len(w.heap) - 1)
}

// least returns the least total, and has an item of that total on top of the heap.
func (w *weights[K]) least() uint64 {
	for {
		top := &w.heap[0]
		if total := w.items[top.place].total; total != top.total {
			top.total = total
			w.down(0)
			continue
		}
		return top.total
	}
}

// release takes out the items whose counter has come to zero, and lists their keys as zeros.
func (w *weights[K]) release() {
	var out []item[K]
	for len(w.heap) > 0 && w.least() == w.decrements {
		place := w.heap[0].place
		last := len(w.heap) - 1
		w.heap[0] = w.heap[last]
		w.heap = w.heap[:last]
		w.down(0)
		out = append(out, w.items[place])
		delete(w.places, w.items[place].key)
		w.items[place] = item[K]{}
		w.free = append(w.free, place)
	}
	sortByArrival(out)
	w.zeros = w.zeros[:0]
	for _, it := range out {
		w.zeros = append(w.zeros, it.key)
	}
}

// up and down restore the order of the heap where the rank at i may be too small or too large.
func (w *weights[K]) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if w.heap[parent].total <= w.heap[i].total {
			return
		}
		w.heap[parent], w.heap[i] = w.heap[i], w.heap[parent]
		i = parent
	}
}

func (w *weights[K]) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(w.heap) {
			return
		}
		if right := child + 1; right < len(w.heap) && w.heap[right].total < w.heap[child].total {
			child = right
		}
		if w.heap[i].total <= w.heap[child].total {
			return
		}
		w.heap[i], w.heap[child] = w.heap[child], w.heap[i]
		i = child
	}
}
