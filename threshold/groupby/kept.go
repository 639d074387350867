package groupby

import (
	"slices"

	"github.com/dpsketch/dpsketch/internal/quantile"
	"github.com/dpsketch/dpsketch/threshold/groupby/internal/ranges"
)

// This file makes two passes within one Release: over the keys that each user gave, which the
// Builder keeps as numbers of its table.

// users are what users gave, one after the other.
type users struct {
	ends []int    // where each user's keys end
	keys []uint32 // numbers in the table
	sums []int64  // of the values, if there are values: see axis; with Values two of each key
	// of the values, if there are Levels
	picks []int64
}

// keep adds a user with the keys and sums of values in the state.
func (s *state[K]) keep() {
	u := &s.users
	u.keys, u.sums = append(u.keys, s.numbers...), append(u.sums, s.sums...)
	for _, pick := range s.picks {
		u.picks = append(u.picks, settled(pick))
	}
	u.ends = append(u.ends, len(u.keys))
}

// append adds the users of another state, whose keys have these numbers here.
func (u *users) append(other users, numbers []uint32) {
	begin := len(u.keys)
	for _, i := range other.keys {
		u.keys = append(u.keys, numbers[i])
	}
	for _, end := range other.ends {
		u.ends = append(u.ends, begin+end)
	}
	u.sums, u.picks = append(u.sums, other.sums...), append(u.picks, other.picks...)
}

// all yields where each user's keys begin and end.
func (u *users) all(yield func(from, to int) bool) {
	from := 0
	for _, to := range u.ends {
		if !yield(from, to) {
			return
		}
		from = to
	}
}

// releaseKept finds keys in two passes and then counts: each user in all keys that are shown.
func (s *state[K]) releaseKept() *Groups[K] {
	found := make([]bool, len(s.table.cells))
	s.pass(found, s.shows(s.law.first, s.law.discovery))
	s.pass(found, s.shows(s.law.kernel, s.law.weight))
	clear(s.table.cells)
	s.pick(found)
	for from, to := range s.users.all {
		s.count(found, from, to)
	}
	return s.release(func(i int) (int64, bool) { return 0, found[i] })
}

// pass adds to found what one pass shows of the other keys, of which each user chooses as many as
// get weight.
func (s *state[K]) pass(found []bool, show func(i int) (int64, bool)) {
	for i := range s.table.cells {
		s.table.cells[i].weight = 0
	}
	var left []uint32
	for from, to := range s.users.all {
		left = left[:0]
		for _, i := range s.users.keys[from:to] {
			if !found[i] {
				left = append(left, i)
			}
		}
		s.weigh(left)
	}
	for i := range found {
		if !found[i] {
			_, found[i] = show(i)
		}
	}
}

// pick chooses a clip by the numbers of keys that users are shown with, before a value is looked
// at.
func (s *state[K]) pick(found []bool) {
	for from, to := range s.users.all {
		if l := len(s.shown(found, from, to)); l > 0 {
			s.lose(l, false)
		}
	}
	s.at = s.choose()
}

// shown sets s.numbers and s.sums to a user's shown keys and what is kept of their values, except
// for those whose range is to be learned and those that quantiles are of.
func (s *state[K]) shown(found []bool, from, to int) []uint32 {
	s.numbers, s.sums = s.numbers[:0], s.sums[:0]
	for j := from; j < to; j++ {
		if i := s.users.keys[j]; found[i] {
			s.numbers = append(s.numbers, i)
			if s.params.columns() == 1 {
				s.sums = append(s.sums, s.users.sums[j])
			}
		}
	}
	return s.numbers
}

// count adds a user's counts and values to the shown keys, and what he has of other keys to the
// others.
func (s *state[K]) count(found []bool, from, to int) {
	shown := s.shown(found, from, to)
	l := len(shown)
	if s.params.Others {
		s.others = sum(s.others, int64(min(to-from-l, othersLimit))*unit)
	}
	if l > 0 && !s.params.KeysOnly {
		s.giveAll(shown, s.sums, cell{count: s.params.counts(l, s.clip().full)}, nil)
	}
}

// keptSpots returns what returns the weights of the users' values in a key that is shown, in order:
// place is the rank of each such key plus 1, or 0, and there are so many. Each key's are sorted by
// themselves, when they are asked for.
func (s *state[K]) keptSpots(place []uint32, shown int) func(i int, cells []quantile.Cell) []quantile.Cell {
	const bits = 11 // of a weight
	each := func(visit func(place uint32, value uint64)) {
		for from, to := range s.users.all {
			l := 0
			for _, i := range s.users.keys[from:to] {
				l += int(min(place[i], 1))
			}
			x := s.params.spreadWeight(l)
			for j := from; j < to && x > 0; j++ {
				if at := place[s.users.keys[j]]; at > 0 {
					visit(at, uint64(uint32(s.users.picks[j]))<<bits|uint64(x))
				}
			}
		}
	}
	ends := make([]int, shown+1)
	each(func(place uint32, _ uint64) { ends[place]++ })
	for i := range shown {
		ends[i+1] += ends[i]
	}
	values, next := make([]uint64, ends[shown]), slices.Clone(ends)
	each(func(place uint32, value uint64) {
		values[next[place-1]] = value
		next[place-1]++
	})
	return func(i int, cells []quantile.Cell) []quantile.Cell {
		of := values[ends[i]:ends[i+1]]
		slices.Sort(of)
		for _, value := range of {
			at, x := uint32(value>>bits), int64(value&(1<<bits-1))
			if n := len(cells); n > 0 && cells[n-1].Index == at {
				cells[n-1].Weight = sum(cells[n-1].Weight, x)
			} else {
				cells = append(cells, quantile.Cell{Index: at, Weight: x})
			}
		}
		return cells
	}
}

// learn releases the values of the shown groups, whose numbers in the table are given, by a range
// that it learns.
func (s *state[K]) learn(g *Groups[K], numbers []uint32) {
	if !s.params.Values {
		return
	}
	place := make([]uint32, len(s.table.keys)) // of the group, and one
	counts := make([]float64, len(g.groups))
	for i, n := range numbers {
		place[n], counts[i] = uint32(i+1), g.noisy(g.groups[i])
	}
	users := func(yield func(keys []uint32, values []float64) bool) {
		var keys []uint32
		var values []float64
		for from, to := range s.users.all {
			keys, values = keys[:0], values[:0]
			for j := from; j < to; j++ {
				if at := place[s.users.keys[j]]; at > 0 {
					keys, values = append(keys, at-1), append(values, ranges.Join(s.users.sums[2*j], s.users.sums[2*j+1]))
				}
			}
			if !yield(keys, values) {
				return
			}
		}
	}
	sums := ranges.Release(users, counts, s.law.value(s.at)/unit, s.params.TailIndex, s.noise)
	g.radius, g.lost, g.mostLost = sums.Radius, sums.Lost, sums.Most
	for i := range g.groups {
		g.groups[i].scale, g.groups[i].value = sums.Scales[i], sums.Values[i]
	}
}
