package series

import (
	"maps"
	"strings"
)

// bucket holds the tokens that a user has left, at most Burst, as of the beginning of a step.
type bucket struct{ tokens, step int }

// refilled returns how many tokens every bucket is given from the beginning of one step to that of
// another: MaxElements in any steps as many as the longest of the Spans has. It is public.
func (p *Params) refilled(from, to int) int {
	given := func(step int) int64 { return int64(step) * int64(p.MaxElements) / int64(p.longest()) }
	return int(min(given(to)-given(from), maxElements))
}

// at returns the bucket as it is in a later step.
func (b bucket) at(p *Params, step int) bucket {
	return bucket{min(b.tokens+p.refilled(b.step, step), p.Burst), step}
}

// bucket returns that of a user in the open step. Nothing is kept of one that is full.
func (s *state[K]) bucket(user string) bucket {
	b := s.users[user]
	if b == nil {
		return bucket{s.params.Burst, s.steps}
	}
	return b.at(&s.params, s.steps)
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
	maps.DeleteFunc(s.users, func(_ string, b *bucket) bool { return b.at(&s.params, s.steps).tokens == s.params.Burst })
}
