package groupby

// This file makes two passes within one Release: over the keys that each user gave, which the
// Builder keeps as numbers of entries of its table.

// users are what users gave, one after the other.
type users struct {
	ends   []int    // where each user's keys end
	keys   []uint32 // entries of the table
	places []int32  // of the values, if there are values: see place
}

// wholePlace stands for the largest value.
const wholePlace = 1 << 30

// place returns the place of the value in [Min, Max] from its middle, in [−2³⁰, 2³⁰].
func (p Params) place(value float64) int32 { return int32(p.scaled(wholePlace, value)) }

// keep adds a user with the distinct keys in s.keys and the places of their values.
func (s *state[K]) keep(sums []float64) {
	for n, key := range s.keys {
		i, ok := s.table.entry(key)
		if !ok {
			continue
		}
		s.users.keys = append(s.users.keys, i)
		if s.params.values() {
			s.users.places = append(s.users.places, s.params.place(valueAt(sums, int32(n))))
		}
	}
	s.users.ends = append(s.users.ends, len(s.users.keys))
}

// append adds the users of another state, whose entries have these numbers here.
func (u *users) append(other users, numbers []uint32) {
	begin := len(u.keys)
	for _, i := range other.keys {
		u.keys = append(u.keys, numbers[i])
	}
	for _, end := range other.ends {
		u.ends = append(u.ends, begin+end)
	}
	u.places = append(u.places, other.places...)
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
	found := make([]bool, len(s.table.entries))
	s.pass(found, s.shows(s.law.first, s.law.discovery))
	s.pass(found, s.shows(s.law.kernel, s.law.weight))
	for i := range s.table.entries {
		s.table.entries[i].cell = cell{}
	}
	for from, to := range s.users.all {
		s.count(found, from, to)
	}
	return s.release(func(i int) (int64, bool) { return 0, found[i] })
}

// pass adds to found what one pass shows of the other keys, of which each user chooses as many as
// get weight.
func (s *state[K]) pass(found []bool, show func(i int) (int64, bool)) {
	for i := range s.table.entries {
		s.table.entries[i].weight = 0
	}
	var left []uint32
	for from, to := range s.users.all {
		left = left[:0]
		for _, i := range s.users.keys[from:to] {
			if !found[i] {
				left = append(left, i)
			}
		}
		k := min(len(left), s.params.most)
		if k == 0 {
			continue
		}
		w := s.law.gives[k].weight
		for _, i := range choose(left, k, &s.src) {
			e := &s.table.entries[i]
			e.weight = sum(e.weight, w)
		}
	}
	for i := range found {
		if !found[i] {
			_, found[i] = show(i)
		}
	}
}

// count adds a user's counts and values to the shown keys, and what he has of other keys to the
// others.
func (s *state[K]) count(found []bool, from, to int) {
	l := 0
	for _, i := range s.users.keys[from:to] {
		if found[i] {
			l++
		}
	}
	if s.params.Others {
		s.others = sum(s.others, int64(min(to-from-l, othersLimit))*unit)
	}
	if l == 0 || s.params.KeysOnly {
		return
	}
	x := clipped(l, s.params.FullKeys)
	s.shortfall = sum(s.shortfall, unit-x)
	give := cell{rest: rest(x, 0, 0)}
	for j := from; j < to; j++ {
		if i := s.users.keys[j]; found[i] {
			if s.params.values() {
				give.value = x * int64(s.users.places[j]) / wholePlace
			}
			s.table.entries[i].add(give)
		}
	}
}
