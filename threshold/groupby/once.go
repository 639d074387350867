package groupby

import (
	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/noise"
)

// giveAll adds to the cells of a user's keys; sums are his values, and losses what he loses in each
// key by each clip.
func (s *state[K]) giveAll(numbers []uint32, sums []int64, give cell, losses []int64) {
	t := &s.table
	for n, i := range numbers {
		if len(sums) > 0 {
			give.value = s.axis.scaled(give.count, sums[n])
		}
		t.cells[i].add(give)
		if t.width > 0 {
			for j, x := range losses {
				lost := &t.losses[int(i)*t.width+j]
				*lost = sum(*lost, x)
			}
		}
	}
}

// addOnce adds a user with these keys, and the sums of his values, to a Builder of one pass.
func (s *state[K]) addOnce(numbers []uint32, sums []int64) {
	l := len(numbers)
	kept := min(l, s.params.most)
	losses := s.lose(kept, kept < l)
	give := cell{weight: weight(kept), count: s.counts(losses)}
	if s.params.Others {
		give.others = residual(l)
	}
	if kept == l {
		s.giveAll(numbers, sums, give, losses)
		if s.spots != nil {
			s.spread(numbers, s.picks, l)
		}
		return
	}
	order := choose(s.indices(l), kept, &s.src)
	for _, n := range order {
		s.giveAll(numbers[n:n+1], sums[min(n, len(sums)):min(n+1, len(sums))], give, losses)
		if s.spots != nil {
			s.spread(numbers[n:n+1], s.picks[n:n+1], kept)
		}
	}
	if s.params.Others {
		for _, n := range order[kept:l] {
			s.table.cells[numbers[n]].add(cell{others: give.others})
		}
	}
}

// indices returns 0, …, l − 1.
func (s *state[K]) indices(l int) []int {
	s.order = s.order[:0]
	for n := range l {
		s.order = append(s.order, n)
	}
	return s.order
}

// choose moves k of the elements to the front, by chance where these are not all, and returns them.
func choose[T any](all []T, k int, src *noise.Source) []T {
	if k == len(all) {
		return all
	}
	return exact.DrawSubset(all, k, src.Uint64N)
}

// weigh gives their weight to as many of the keys as get one.
func (s *state[K]) weigh(numbers []uint32) {
	k := min(len(numbers), s.params.most)
	if k == 0 {
		return
	}
	w := weight(k)
	for _, i := range choose(numbers, k, &s.src) {
		e := &s.table.cells[i]
		e.weight = sum(e.weight, w)
	}
}
