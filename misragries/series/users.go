package series

import (
	"maps"
	"math"
	"strings"

	"github.com/dpsketch/dpsketch/internal/check"
)

// seenTimes is how many times MaxElements and Burst of a user's elements are seen: elements above
// that are in no number that is published.
const seenTimes = 16

// bucket holds the tokens that a user has left, at most Burst, as of the beginning of a step; and
// the number of elements that will be seen, at most 16 times Burst, which is never less.
type bucket struct{ tokens, sights, step int }

// refilled returns how many tokens a user's bucket is given from the beginning of one step to that
// of another: MaxElements in any steps as many as the longest of the Spans has, times so many for
// those of sights.
func (p *Params) refilled(user string, times, from, to int) int {
	phase, span := p.phase(user), int64(p.longest())
	given := func(step int) int64 { return (int64(step)*int64(p.MaxElements) + phase) * int64(times) / span }
	return int(min(given(to)-given(from), seenTimes*maxElements))
}

// phase is a hash (FNV-1a) of a user's name, in which a restored state agrees, below the longest of
// the Spans. It says when tokens come: in the same steps, all users would be counted in these.
func (p *Params) phase(user string) int64 {
	hash := uint64(14695981039346656037)
	for _, c := range []byte(user) {
		hash = (hash ^ uint64(c)) * 1099511628211
	}
	return int64(hash % uint64(p.longest()))
}

// at returns the user's bucket as it is in a later step.
func (b bucket) at(p *Params, user string, step int) bucket {
	return bucket{
		min(b.tokens+p.refilled(user, 1, b.step, step), p.Burst),
		min(b.sights+p.refilled(user, seenTimes, b.step, step), seenTimes*p.Burst), step,
	}
}

// fullBucket is that of a user who has done nothing for long.
func (p *Params) fullBucket(step int) bucket { return bucket{p.Burst, seenTimes * p.Burst, step} }

// bucket returns that of a user in the open step. Nothing is kept of one that is full.
func (s *state[K]) bucket(user string) bucket {
	b := s.users[user]
	if b == nil {
		return s.params.fullBucket(s.steps)
	}
	return b.at(&s.params, user, s.steps)
}

// keep notes a bucket. (A pointer, as a map takes over the string of the last assignment, which may
// be part of a large buffer.)
func (s *state[K]) keep(user string, b bucket) {
	if kept := s.users[user]; kept != nil {
		*kept = b
	} else {
		s.users[strings.Clone(user)] = &b
	}
}

// forgetUsers forgets those whose buckets are full.
func (s *state[K]) forgetUsers() {
	maps.DeleteFunc(s.users, func(user string, b *bucket) bool {
		return b.at(&s.params, user, s.steps) == s.params.fullBucket(s.steps)
	})
}

// Counted returns bounds that contain the share of the elements in the window that count, with at
// least the given confidence over the noise. With a share of 1/3 a count of 100 stands for about
// 300 elements.
//
// Elements of a user above 16 times MaxElements and Burst are not seen: the share is then that of
// the elements below. Keys outside of Dim are in neither number. At ε = 1 with the default Spans
// and Burst, a week's share of 1/3 is known to ±.1, at .95, from about 10⁵·MaxElements elements.
// Far below [Plan].CountedFrom elements the bounds are 0 and 1.
//
// Without MaxElements the bounds are 1 and 1.
func (w *Window[K]) Counted(confidence float64) (lo, hi float64) {
	switch {
	case w == nil || !w.valid() || !check.Confidence(confidence):
		return math.NaN(), math.NaN()
	case w.params.MaxElements == 0:
		return 1, 1
	}
	var least, most [2]float64
	for i, n := range w.elements {
		half := newLaplaceSum(w.calibration.elements[i].Scale(), n.nodes).beyond((1 - confidence) / 2)
		least[i], most[i] = max(n.sum-half, 0), max(n.sum+half, 0)
	}
	if hi = 1; most[0] < least[1] {
		hi = most[0] / least[1]
	}
	if least[0] > 0 {
		lo = least[0] / max(least[0], most[1]) // those that count are among those that are seen
	}
	return min(lo, hi), hi
}
