package sketch

import (
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/wire"
)

// reference is Algorithm 1 word by word: k counters, dummies first, the smallest zero key evicted,
// or the one that evict takes of so many in order.
type reference[K hashing.Key] struct {
	k          int
	counts     map[K]int64
	dummies    int // dummy keys still held; they sort after all keys
	decrements int64
	evict      func(n int) int
}

func newReference[K hashing.Key](k int) *reference[K] {
	return &reference[K]{k: k, counts: map[K]int64{}, dummies: k}
}

func (r *reference[K]) Add(key K) {
	if _, stored := r.counts[key]; stored {
		r.counts[key]++
		return
	}
	zeros := r.zeros()
	switch {
	case len(zeros) > 0 && r.evict != nil:
		delete(r.counts, zeros[r.evict(len(zeros))])
	case len(zeros) > 0:
		delete(r.counts, zeros[0])
	case r.dummies > 0:
		r.dummies--
	default:
		r.decrements++
		for other := range r.counts {
			r.counts[other]--
		}
		return
	}
	r.counts[key] = 1
}

func (r *reference[K]) zeros() (keys []K) {
	for key, count := range r.counts {
		if count == 0 {
			keys = append(keys, key)
		}
	}
	wire.Sort(keys)
	return keys
}

func (r *reference[K]) sorted() []Counter[K] {
	all := make([]Counter[K], 0, len(r.counts))
	for key, count := range r.counts {
		all = append(all, Counter[K]{key, count})
	}
	slices.SortFunc(all, func(a, b Counter[K]) int { return wire.Compare(a.Key, b.Key) })
	return all
}

// run feeds a stream to a new reference.
func run[K hashing.Key](k int, stream []K) *reference[K] {
	r := newReference[K](k)
	for _, key := range stream {
		r.Add(key)
	}
	return r
}
