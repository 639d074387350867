package series

import (
	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/wire"
)

// limit is where a count saturates.
const limit = 1 << 52

// sums are the counts of one key in the open nodes of nested spans, each without what the shorter
// ones hold: an element adds to the first alone.
type sums [maxSpans]int64

// raise counts n ≥ 0 elements. A sum that saturates keeps its distance to that of a neighbour: both
// are cut at the same number.
func (s *sums) raise(n int64) { s[0] = min(s[0]+min(n, limit), limit) }

// carry closes the node of the i-th of n spans: the next longer one takes over its count. It
// returns the count.
func (s *sums) carry(i, n int) int64 {
	count := s[i]
	s[i] = 0
	if i+1 < n {
		s[i+1] = min(s[i+1]+count, limit)
	}
	return count
}

// tally counts keys in nested spans.
type tally[K hashing.Key] struct {
	at   map[K]int // index into rows
	rows []row[K]
}

type row[K hashing.Key] struct {
	key  K
	sums sums
}

// add counts n elements. It copies a key that is new: what is counted lives for weeks.
func (t *tally[K]) add(key K, n int) {
	i, found := t.at[key]
	if !found {
		i = len(t.rows)
		if t.at == nil {
			t.at = map[K]int{}
		}
		key = wire.Clone(key)
		t.at[key] = i
		t.rows = append(t.rows, row[K]{key: key})
	}
	t.rows[i].sums.raise(int64(n))
}

// of returns the count of a key in the open node of the i-th span, which is due to close: the nodes
// of shorter spans have been carried.
func (t *tally[K]) of(key K, i int) int64 {
	at, found := t.at[key]
	if !found {
		return 0
	}
	return t.rows[at].sums[i]
}

// carry closes the node of the i-th of n spans. With the longest one all is forgotten.
func (t *tally[K]) carry(i, n int) {
	if i == n-1 {
		*t = tally[K]{}
		return
	}
	for at := range t.rows {
		t.rows[at].sums.carry(i, n)
	}
}
