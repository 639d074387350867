package groupby

import (
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/rounding"
	"github.com/dpsketch/dpsketch/internal/wire"
)

// The passes over the users, and what each does with a user and releases.
type (
	onePass[K hashing.Key]    struct{ lastPass[K] } // the only one
	twoPasses[K hashing.Key]  struct{}              // both of two, over users in memory
	firstPass[K hashing.Key]  struct{}              // the first of two: a Discovery's
	secondPass[K hashing.Key] struct {              // the second of two
		lastPass[K]
		begun bool // see Builder.SecondPass
	}
	listedPass[K hashing.Key] struct{ lastPass[K] } // the only one, over a public list
)

// unbegun is the second pass after a Discovery until Builder.SecondPass.
func unbegun[K hashing.Key]() pass[K] { return secondPass[K]{} }

// releasing is a pass that a release ends: any but a Discovery's.
type releasing[K hashing.Key] interface {
	pass[K]
	release(s *state[K]) *Groups[K]
}

// allPasses returns all passes, in the order of their numbers in a private state.
func allPasses[K hashing.Key]() []pass[K] {
	return []pass[K]{onePass[K]{}, twoPasses[K]{}, firstPass[K]{}, secondPass[K]{begun: true}, listedPass[K]{}, secondPass[K]{}}
}

// passName names a pass in errors.
func passName[K hashing.Key](w pass[K]) string {
	return [...]string{"the only pass", "two passes in one", "the first pass", "the second pass", "the only pass, over a list", "a second pass that was not begun"}[slices.Index(allPasses[K](), w)]
}

// add gives the user's weight to his keys.
func (firstPass[K]) add(s *state[K]) {
	if len(s.numbers) > 0 {
		s.lose(1, len(s.numbers), false)
		s.weigh(s.numbers)
	}
}

// add adds a user to his keys as he comes.
func (onePass[K]) add(s *state[K]) {
	numbers, sums := s.numbers, s.sums
	l := len(numbers)
	if l == 0 {
		return
	}
	counted := min(l, s.params.most)
	losses := s.lose(1, counted, counted < l)
	give := cell{weight: weight(counted), count: s.countOf(losses)}
	if s.params.Others {
		give.others = residual(l)
	}
	if counted == l {
		s.giveAll(numbers, sums, give, losses)
		if s.cellWeights != nil {
			s.giveSamples(numbers, s.samples, l)
		}
		return
	}
	all := make([]int, l)
	for n := range all {
		all[n] = n
	}
	order := drawSome(all, counted, &s.src)
	for _, n := range order {
		s.giveAll(numbers[n:n+1], sums[min(n, len(sums)):min(n+1, len(sums))], give, losses)
		if s.cellWeights != nil {
			s.giveSamples(numbers[n:n+1], s.samples[n:n+1], counted)
		}
	}
	if s.params.Others {
		for _, n := range order[counted:l] {
			s.table.cells[numbers[n]].add(cell{others: give.others})
		}
	}
}

// add adds a user with the listed keys in s.numbers, and the others in s.keys.
func (listedPass[K]) add(s *state[K]) {
	if s.params.Others {
		wire.Sort(s.keys)
		s.others = sum(s.others, int64(min(len(slices.Compact(s.keys)), othersLimit))*unit)
	}
	l := len(s.numbers)
	if l == 0 {
		return
	}
	losses := s.lose(1, l, false)
	s.giveAll(s.numbers, s.sums, cell{count: s.countOf(losses)}, losses)
	s.giveSamples(s.numbers, s.samples, l)
}

// add adds a user, who counts in all of his keys, and whose weight is for those that the first pass
// has not found.
func (secondPass[K]) add(s *state[K]) {
	if len(s.numbers) == 0 {
		return
	}
	if !s.params.KeysOnly {
		s.giveAll(s.numbers, s.sums, cell{count: unit - s.lose(1, len(s.numbers), false)[s.chosen.clip]}, nil)
		s.giveSamples(s.numbers, s.samples, len(s.numbers))
	}
	left := slices.DeleteFunc(s.numbers, func(i uint32) bool { return int(i) < s.found })
	if s.params.Others && len(left) > 0 {
		s.giveAll(left, nil, cell{others: residual(len(left))}, nil)
	}
	s.weigh(left)
}

// weigh gives the user's weight to the keys, or to a random part of them where they are too many.
func (s *state[K]) weigh(numbers []uint32) {
	w, some := s.weightFor(numbers)
	for _, i := range some {
		e := &s.table.cells[i]
		e.weight = sum(e.weight, w)
	}
}

// weightFor returns the weight of a user with these keys, and the keys that get it.
func (s *state[K]) weightFor(numbers []uint32) (w int64, some []uint32) {
	k := min(len(numbers), s.params.most)
	if k == 0 {
		return 0, nil
	}
	return weight(k), drawSome(numbers, k, &s.src)
}

// shows returns what draws whether a key of some weight is shown, and by which noisy one. The keys
// that a first pass has found are, and those of a list.
func (s *state[K]) shows(kernel rounding.Quadratic, sigma float64) func(i int, weight int64) (noisy int64, ok bool) {
	normal := s.noise(sigma)
	return func(i int, weight int64) (int64, bool) {
		if i < s.found {
			return 0, true
		}
		return kernel.Show(weight, normal, s.src.Uint64N)
	}
}

// add retains a user with keys.
func (twoPasses[K]) add(s *state[K]) {
	if len(s.numbers) > 0 {
		s.users.add(s.numbers, s.sums, s.samples)
	}
}

// release finds keys in two passes and then counts: each user in all keys that are shown.
func (twoPasses[K]) release(s *state[K]) *Groups[K] {
	found := make([]uint8, len(s.table.cells)) // 1 where it is
	s.find(found, s.shows(s.calibrated.first, s.calibrated.discovery))
	s.find(found, s.shows(s.calibrated.kernel, s.calibrated.weight))
	clear(s.table.cells)
	s.chooseClip(found)
	for from, to := range s.users.all {
		s.count(found, from, to)
	}
	return s.release(func(i int, _ int64) (int64, bool) { return 0, found[i] > 0 })
}

// find adds to found what one pass shows of the other keys, to which alone users give weight.
func (s *state[K]) find(found []uint8, show func(i int, weight int64) (int64, bool)) {
	weights := make([]int64, len(found))
	var left []uint32
	for from, to := range s.users.all {
		left = left[:0]
		for _, i := range s.users.keys[from:to] {
			if found[i] == 0 {
				left = append(left, i)
			}
		}
		w, some := s.weightFor(left)
		for _, i := range some {
			weights[i] = sum(weights[i], w)
		}
	}
	for i, weight := range weights {
		if found[i] > 0 {
			continue
		}
		if _, ok := show(i, weight); ok {
			found[i] = 1
		}
	}
}

// shown returns how many of a user's keys are shown.
func (s *state[K]) shown(found []uint8, from, to int) (l int) {
	for _, i := range s.users.keys[from:to] {
		l += int(found[i])
	}
	return l
}

// count adds a user's counts and values to the shown keys, and what he has of other keys to the
// others. Values whose range is to be learned, and those of quantiles, are added later.
func (s *state[K]) count(found []uint8, from, to int) {
	l := s.shown(found, from, to)
	if s.params.Others {
		s.others = sum(s.others, int64(min(to-from-l, othersLimit))*unit)
	}
	if l == 0 || s.params.KeysOnly {
		return
	}
	x, values := s.clip().counts(l), s.params.columns() == 1
	for j := from; j < to; j++ {
		i := s.users.keys[j]
		e, x := &s.table.cells[i], x*int64(found[i])
		if e.count = sum(e.count, x); values {
			e.value = sum(e.value, s.axis.scaled(x, s.users.sums[j]))
		}
	}
}

// chooseClip chooses a clip by the numbers of keys that users are shown with, before a value is
// looked at.
func (s *state[K]) chooseClip(found []uint8) {
	var users []int64 // by that number
	for from, to := range s.users.all {
		l := s.shown(found, from, to)
		users = append(users, make([]int64, max(l+1-len(users), 0))...)
		users[l]++
	}
	for l, n := range users {
		if l > 0 && n > 0 {
			s.lose(n, l, false)
		}
	}
	s.chosen = s.choose(s.noise)
}

// countOf returns what a user counts in a key who loses that much by each clip; where the clip is
// not chosen yet, as if he lost nothing.
func (s *state[K]) countOf(losses []int64) int64 {
	switch {
	case len(losses) == 0: // KeysOnly
		return 0
	case s.table.width > 0:
		return unit
	}
	return unit - losses[s.chosen.clip]
}

// lastPass is a pass whose release shows keys by their weights.
type lastPass[K hashing.Key] struct{}

func (lastPass[K]) release(s *state[K]) *Groups[K] {
	return s.release(s.shows(s.calibrated.kernel, s.calibrated.weight))
}

// release draws independently for each key and sorts what is shown, so the distribution of what is
// released does not depend on the order of arrival. A key without weight gets no draw: it is
// hidden, whatever its count.
func (s *state[K]) release(show func(i int, weight int64) (noisy int64, ok bool)) *Groups[K] {
	p := s.params
	g := &Groups[K]{params: p}
	if s.table.width > 0 {
		s.chosen = s.choose(s.noise)
	}
	g.chosen, g.noises = s.chosen, p.noises(s.calibrated, s.chosen)
	rests, values := s.noise(s.calibrated.rest(s.chosen)), s.noise(s.calibrated.value(s.chosen))
	groupOf := make([]uint32, len(s.table.cells)) // the number of the group of a key, from 1 on
	for i, e := range s.table.cells {
		weight, ok := show(i, e.weight)
		if !ok {
			s.others = sum(s.others, e.others)
			continue
		}
		r := group[K]{key: s.table.keys[i]}
		if p.weighs() {
			r.weight = weight
		}
		if !p.KeysOnly {
			r.rest = s.restOf(i) + rests()
		}
		if p.columns() == 1 {
			r.value = e.value + values()
		}
		g.groups = append(g.groups, r)
		groupOf[i] = uint32(len(g.groups))
	}
	s.quantiles(g.groups, groupOf)
	if p.Values {
		g.learn(s.users.values(groupOf), s.calibrated.value(s.chosen)/unit, s.noise)
	}
	slices.SortFunc(g.groups, func(a, b group[K]) int { return wire.Compare(a.key, b.key) })
	g.groups = slices.Clip(slices.Clone(g.groups))
	if p.weighs() {
		g.threshold = s.calibrated.kernel.Threshold
	}
	if !p.KeysOnly {
		g.shortfall = s.shorts[s.chosen.clip] + s.noise(s.calibrated.shortfall)()
	}
	if p.Others {
		g.others = s.others + s.noise(s.calibrated.others)()
	}
	if s.named {
		g.named, g.nameless = true, s.nameless+s.noise(s.calibrated.nameless())()
	}
	g.addUp()
	return g
}

// restOf returns the rest of a key by the clip that was chosen.
func (s *state[K]) restOf(i int) int64 {
	e, count := s.table.cells[i], s.table.cells[i].count
	if s.table.width > 0 {
		count -= s.table.lost(i)[s.chosen.clip]
	}
	return rest(count, e.weight, s.clip().mix)
}
