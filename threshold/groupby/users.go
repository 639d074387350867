package groupby

import (
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/threshold/groupby/internal/ranges"
)

// othersLimit is B: a user's keys count at most B together in [Groups.Others].
const othersLimit = 32

// weight returns ⌊S/√l⌋, so l·weight² ≤ S²: what a user gives to each of l keys.
func weight(l int) int64 { return exact.FloorSqrt(unit * unit / int64(l)) }

// clipped returns x = ⌊S·min(1, √(full/l))⌋, so l·x² ≤ full·S²: what a user counts in each of l
// keys.
func clipped(l, full int) int64 {
	if l <= full {
		return unit
	}
	return exact.FloorSqrt(int64(full) * unit * unit / int64(l))
}

// residual returns ⌊S·min(1, B/l)⌋, so l·residual ≤ B·S.
func residual(l int) int64 { return min(unit, othersLimit*unit/int64(l)) }

// gather sets s.numbers to the distinct keys of a user and s.sums, if there are values, to the sums
// of theirs, with Values as two halves. A key whose value is NaN is as if it were not there. A mark
// of a key that is s.given or more says that the user has it already, and where.
func (s *state[K]) gather(keys []K, values []float64) {
	numbers, sums, samples, rows, marks := s.numbers[:0], s.sums[:0], s.samples[:0], s.rows[:0], s.table.marks
	s.keys = s.keys[:0]
	columns := s.params.columns()
	var found [ahead]uint32
	for n, key := range keys {
		if n%ahead == 0 {
			s.table.seek(keys[n:min(n+ahead, len(keys))], &found)
		}
		if values != nil && math.IsNaN(values[n]) {
			continue
		}
		i, ok := found[n%ahead]-1, found[n%ahead] > 0
		switch {
		case ok:
		case s.pass == listedPass:
			if i, ok = s.table.find(key); !ok {
				s.keys = append(s.keys, key)
				continue
			}
		default:
			if i, ok = s.table.entry(key); !ok {
				continue
			}
		}
		if int(i) >= len(marks) {
			marks = s.table.marks
		}
		at := marks[i]
		if at < s.given {
			at = s.given + uint64(len(numbers))
			marks[i] = at
			numbers = append(numbers, i)
			for range columns {
				sums = append(sums, 0)
			}
			if s.cellWeights != nil {
				samples = append(samples, 0)
			}
			if s.params.Average {
				rows = append(rows, 0)
			}
		}
		if values == nil {
			continue
		}
		switch at -= s.given; columns {
		case 1:
			sums[at] += s.axis.row(values[n], s.params.Average) // wraps around: see mostSteps
		case 2:
			high, low := ranges.Split(values[n])
			sums[2*at] += high
			sums[2*at+1] += low
		}
		if s.params.Average {
			rows[at]++
		}
		if s.cellWeights != nil {
			samples[at] = larger(samples[at], s.scale.sample(values[n], s.src.Uint64N))
		}
	}
	s.numbers, s.sums, s.samples, s.rows = numbers, sums, samples, rows
	if values != nil && s.params.Average {
		s.params.averages(sums, rows)
	}
	s.given += uint64(len(numbers))
}

// addUser adds the user who was gathered.
func (s *state[K]) addUser() {
	switch {
	case s.pass == listedPass:
		s.addListed()
	case len(s.numbers) == 0:
	case s.pass == twoPasses:
		s.retain()
	case s.pass == secondPass:
		s.addSecond()
	default:
		s.addOnce(s.numbers, s.sums)
	}
}

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
	counted := min(l, s.params.most)
	losses := s.lose(counted, counted < l)
	give := cell{weight: weight(counted), count: s.counts(losses)}
	if s.params.Others {
		give.others = residual(l)
	}
	if counted == l {
		s.giveAll(numbers, sums, give, losses)
		if s.cellWeights != nil {
			s.spread(numbers, s.samples, l)
		}
		return
	}
	order := choose(s.indices(l), counted, &s.src)
	for _, n := range order {
		s.giveAll(numbers[n:n+1], sums[min(n, len(sums)):min(n+1, len(sums))], give, losses)
		if s.cellWeights != nil {
			s.spread(numbers[n:n+1], s.samples[n:n+1], counted)
		}
	}
	if s.params.Others {
		for _, n := range order[counted:l] {
			s.table.cells[numbers[n]].add(cell{others: give.others})
		}
	}
}

// addListed adds a user with the listed keys in s.numbers, and the others in s.keys.
func (s *state[K]) addListed() {
	if s.params.Others {
		wire.Sort(s.keys)
		s.others = sum(s.others, int64(min(len(slices.Compact(s.keys)), othersLimit))*unit)
	}
	l := len(s.numbers)
	if l == 0 {
		return
	}
	losses := s.lose(l, false)
	s.giveAll(s.numbers, s.sums, cell{count: s.counts(losses)}, losses)
	s.spread(s.numbers, s.samples, l)
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

// users are what users gave, one after the other.
type users struct {
	ends []int    // where each user's keys end
	keys []uint32 // numbers in the table
	sums []int64  // of the values, if there are values: see axis; with Values two of each key
	// of the values, if there are Levels
	samples []int64
}

// retain adds a user with the keys and sums of values in the state.
func (s *state[K]) retain() {
	u := &s.users
	u.keys, u.sums = append(u.keys, s.numbers...), append(u.sums, s.sums...)
	for _, sample := range s.samples {
		u.samples = append(u.samples, withoutBits(sample))
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
	u.sums, u.samples = append(u.sums, other.sums...), append(u.samples, other.samples...)
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
