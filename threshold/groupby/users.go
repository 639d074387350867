package groupby

import (
	"math"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/threshold/groupby/internal/ranges"
)

// gather sets s.numbers to the distinct keys of a user and s.sums, if there are values, to the sums
// of theirs, with Values as two halves. A key whose value is NaN is as if it were not there. A mark
// of a key that is s.given or more says that the user has it already, and where.
func (s *state[K]) gather(keys []K, values []float64) {
	numbers, sums, samples, rows, marks := s.numbers[:0], s.sums[:0], s.samples[:0], s.rows[:0], s.table.marks
	s.keys = s.keys[:0]
	columns := s.params.columns()
	var found [ahead]uint32
	var hashes [ahead]uint64
	for n, key := range keys {
		if n%ahead == 0 {
			found, hashes = s.table.seek(keys[n:min(n+ahead, len(keys))])
		}
		if values != nil && math.IsNaN(values[n]) {
			continue
		}
		i, ok := found[n%ahead]-1, found[n%ahead] > 0
		switch {
		case ok:
		case s.params.listed:
			if i, ok = s.table.find(key); !ok {
				s.keys = append(s.keys, key)
				continue
			}
		default:
			if i, ok = s.table.entry(key, hashes[n%ahead]); !ok {
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

// drawSome moves k of the elements to the front, at random where these are not all, and returns
// them.
func drawSome[T any](all []T, k int, src *noise.Source) []T {
	if k == len(all) {
		return all
	}
	return exact.DrawSubset(all, k, src.Uint64N)
}

// retainedUsers are what users gave, one after the other.
type retainedUsers struct {
	ends []int    // where each user's keys end
	keys []uint32 // numbers in the table
	sums []int64  // of the values, if there are values: see axis; with Values two of each key
	// of a value, if there are Levels
	cells []uint32
}

// add adds a user with these keys, and what there is of his values.
func (u *retainedUsers) add(keys []uint32, sums, samples []int64) {
	u.keys, u.sums = append(u.keys, keys...), append(u.sums, sums...)
	for _, sample := range samples {
		u.cells = append(u.cells, uint32(sample))
	}
	u.ends = append(u.ends, len(u.keys))
}

// append adds the users of another state, whose keys have these numbers here.
func (u *retainedUsers) append(other retainedUsers, numbers []uint32) {
	begin := len(u.keys)
	for _, i := range other.keys {
		u.keys = append(u.keys, numbers[i])
	}
	for _, end := range other.ends {
		u.ends = append(u.ends, begin+end)
	}
	u.sums, u.cells = append(u.sums, other.sums...), append(u.cells, other.cells...)
}

// all yields where each user's keys begin and end.
func (u *retainedUsers) all(yield func(from, to int) bool) {
	from := 0
	for _, to := range u.ends {
		if !yield(from, to) {
			return
		}
		from = to
	}
}

// values yields, of each user, the groups of his shown keys and his values in these, where a range
// is learned. groupOf is the group of each key plus 1, or 0.
func (u *retainedUsers) values(groupOf []uint32) ranges.Users {
	return func(yield func(groups []uint32, values []float64) bool) {
		var groups []uint32
		var values []float64
		for from, to := range u.all {
			groups, values = groups[:0], values[:0]
			for j := from; j < to; j++ {
				if at := groupOf[u.keys[j]]; at > 0 {
					groups, values = append(groups, at-1), append(values, ranges.Join(u.sums[2*j], u.sums[2*j+1]))
				}
			}
			if !yield(groups, values) {
				return
			}
		}
	}
}

// state is what a Builder holds.
type state[K hashing.Key] struct {
	params      Params
	axis        axis
	calibrated  calibration
	pass        pass[K]
	table       table[K]
	found       int   // how many of the table's first keys a first pass has found, or are listed
	clipping          // how users of many keys are clipped
	others      int64 // what is added to the others already
	named       bool  // the number of rows without a user is released
	nameless    int64 // that number
	scale       scale
	cellWeights cellWeights   // nil without Levels
	users       retainedUsers // of a Builder that keeps them
	src         noise.Source

	numbers []uint32 // of one user, for reuse: his keys, and the sums of their values
	sums    []int64
	samples []int64
	rows    []int64 // with Average: how many values each key has
	keys    []K     // those that are not listed
	given   uint64  // marks below it are of earlier users: see gather
}

// newState returns the state of an empty Builder whose table has the keys of an index. All that it
// holds is sized here, by the Params.
func newState[K hashing.Key](p Params, calibrated calibration, w pass[K], keys index[K], found int) (s state[K]) {
	n, width := len(calibrated.clips), 0 // of the losses of a key: FullKeys is chosen from sums
	if n > 1 && p.Passes == 1 {
		width = n
	}
	s = state[K]{params: p, axis: p.axis(), scale: p.scale(), calibrated: calibrated, pass: w, table: newTable(keys, width), found: found,
		clipping: clipping{counts: calibrated.counts, shorts: make([]int64, n), losses: make([]int64, n)}, given: 1}
	if p.Levels[0] != 0 {
		s.cellWeights = cellWeights{}
	}
	return
}

// pass is one pass over the users: what it does with the user who was gathered.
type pass[K hashing.Key] interface{ add(s *state[K]) }

// noise returns what draws exact normal noise, rounded to steps, or discrete Laplace noise where δ
// is 0; 0 where the scale is 0, of what is not released or is the same for all users.
func (s *state[K]) noise(scale float64) func() int64 {
	if scale == 0 {
		return func() int64 { return 0 }
	}
	normal, err := noise.NewGaussian(scale)
	laplace, other := noise.NewDiscreteLaplace(scale)
	switch {
	case err != nil || other != nil:
		panic("groupby: no noise for a valid calibration") // unreachable
	case s.params.pure():
		return func() int64 { return laplace.SampleInt(&s.src) }
	}
	return func() int64 { return int64(normal.Sample(&s.src, 1)) }
}
