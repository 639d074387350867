package groupby

import (
	"github.com/dpsketch/dpsketch/internal/subset"
	"github.com/dpsketch/dpsketch/noise"
)

// addOnce adds a user to a Builder of one pass.
func (s *state[K]) addOnce(sums []float64) {
	l := len(s.keys)
	kept := min(l, s.params.most)
	g := s.law.gives[kept]
	give := cell{weight: g.weight, rest: g.rest}
	if !s.params.KeysOnly {
		short := unit - g.count
		if kept < l {
			short = unit
		}
		s.shortfall = sum(s.shortfall, short)
	}
	if s.params.Others {
		give.others = residual(l)
	}
	if kept == l && !s.params.values() {
		for _, key := range s.keys {
			s.table.add(key, give)
		}
		return
	}
	order := s.order(l)
	for _, i := range choose(order, kept, &s.src) {
		if s.params.values() {
			give.value = s.params.scaled(g.count, valueAt(sums, i))
		}
		s.table.add(s.keys[i], give)
	}
	if s.params.Others {
		for _, i := range order[kept:] {
			s.table.add(s.keys[i], cell{others: give.others})
		}
	}
}

// order returns 0, …, l − 1.
func (s *state[K]) order(l int) []int32 {
	s.numbers = s.numbers[:0]
	for i := range l {
		s.numbers = append(s.numbers, int32(i))
	}
	return s.numbers
}

// valueAt returns the i-th value, 0 if there are none.
func valueAt(sums []float64, i int32) float64 {
	if sums == nil {
		return 0
	}
	return sums[i]
}

// choose moves k of the elements to the front, by chance where these are not all, and returns them.
func choose[T any](all []T, k int, src *noise.Source) []T {
	if k == len(all) {
		return all
	}
	return subset.Draw(all, k, src.Uint64N)
}

// weigh gives their weight to as many of the keys as get one.
func (s *state[K]) weigh(keys []K) {
	k := min(len(keys), s.params.most)
	if k == 0 {
		return
	}
	give := cell{weight: s.law.gives[k].weight}
	for _, key := range choose(keys, k, &s.src) {
		s.table.add(key, give)
	}
}
