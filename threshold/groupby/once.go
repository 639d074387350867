package groupby

import (
	"github.com/dpsketch/dpsketch/internal/subset"
	"github.com/dpsketch/dpsketch/noise"
)

// giveAll adds to the cells of a user's keys, of which he counts x in each; sums are his values.
func (s *state[K]) giveAll(numbers []uint32, sums []int64, x int64, give cell) {
	cells := s.table.cells
	for n, i := range numbers {
		if len(sums) > 0 {
			give.value = s.axis.scaled(x, sums[n])
		}
		cells[i].add(give)
	}
}

// addOnce adds a user with these keys, and the sums of his values, to a Builder of one pass.
func (s *state[K]) addOnce(numbers []uint32, sums []int64) {
	l := len(numbers)
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
	if kept == l {
		s.giveAll(numbers, sums, g.count, give)
		return
	}
	order := choose(s.indices(l), kept, &s.src)
	for _, n := range order {
		s.giveAll(numbers[n:n+1], sums[min(n, len(sums)):min(n+1, len(sums))], g.count, give)
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
	return subset.Draw(all, k, src.Uint64N)
}

// weigh gives their weight to as many of the keys as get one.
func (s *state[K]) weigh(numbers []uint32) {
	k := min(len(numbers), s.params.most)
	w := s.law.gives[k].weight
	for _, i := range choose(numbers, k, &s.src) {
		e := &s.table.cells[i]
		e.weight = sum(e.weight, w)
	}
}
