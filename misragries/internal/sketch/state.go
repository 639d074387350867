package sketch

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/wire"
)

// Given returns the standard sketch with what the counters, in [0, 2⁶²], have above the least: at
// most k.
func Given[K hashing.Key](k int, counters map[K]int64, least int64) *Sketch[K] {
	s := New[K](k)
	s.grow(max(min(len(counters), k), min(k, initialCounters)))
	for key, count := range counters {
		if count > least {
			s.entries = append(s.entries, entry[K]{key, uint64(count - least)})
		}
	}
	s.reindex()
	return s
}

// mostRead bounds the counters and D of a sketch that Read reads. No stream comes near, also one
// that went on from counters from elsewhere: 2⁶⁰ elements take a machine decades. And with as many
// elements after it, c and D stay below 1½·2⁶², as Merge relies on.
const mostRead = Limit + 1<<60

// Append appends all that decides how the sketch goes on and what is released of it.
func (s *Sketch[K]) Append(dst []byte) []byte {
	s.plain()
	keys := wire.KeysOf[K]()
	dst = binary.LittleEndian.AppendUint64(dst, s.decrements)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(s.settled))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(s.entries)))
	for _, e := range s.entries {
		dst = keys.Append(dst, e.key)
		dst = binary.LittleEndian.AppendUint64(dst, e.total)
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(s.zeros)))
	for _, key := range s.zeros {
		dst = keys.Append(dst, key)
	}
	return dst
}

// Read reads what Append wrote into an empty sketch, of which at most k counters are positive, and
// checks what the methods rely on.
func (s *Sketch[K]) Read(r *wire.Reader, k int, dim uint64) {
	keys := wire.KeysOf[K]()
	foreign := func(key K) bool { return dim > 0 && Outside(key, dim) }
	if s.decrements = r.Uint64(); s.decrements > mostRead {
		r.Fail("an impossible number of decrements")
	}
	settled := r.Uint32()
	n := r.Count(k, keys.MinSize()+8)
	if r.Err() != nil {
		return
	}
	s.grow(max(n, 1))
	for range n {
		e := entry[K]{keys.Read(r), r.Uint64()}
		if r.Err() == nil && (e.total <= s.decrements || e.total-s.decrements > mostRead || foreign(e.key) || s.find(e.key) >= 0) {
			r.Fail("an impossible counter")
		}
		if r.Err() != nil {
			return
		}
		s.entries = append(s.entries, e)
		s.index.put(s.hasher.Hash(e.key), len(s.entries)-1)
	}
	if s.settled = int(min(settled, math.MaxInt32)); s.settled > n {
		r.Fail("a wrong number of settled counters")
	}
	if n = r.Count(s.k, keys.MinSize()); n > 0 {
		s.zeros = make([]K, n, s.k)
	}
	for i := range s.zeros {
		s.zeros[i] = keys.Read(r)
	}
	distinct := slices.Compact(slices.SortedFunc(slices.Values(s.zeros), wire.Compare[K]))
	if len(distinct) != n || slices.ContainsFunc(distinct, foreign) {
		r.Fail("impossible zeros")
	}
}
