package groupby

import (
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/private"
)

// Merge adds the users of another Builder, which gives up its data. This happens before any noise,
// so the machine that merges must be trusted with all the data. No user may be in both Builders:
// such a user counts as two users and is protected less. If data are not split by user among the
// machines, group them by user first.
//
// The error wraps [ErrMismatch] if the Params or the listed keys differ, if the two are not for the
// same pass after the same [Discovery], or if other is b itself, and [ErrReleased] if one was
// released. On an error nothing changes.
func (b *Builder[K]) Merge(other *Builder[K]) error {
	if other == nil {
		other = new(Builder[K])
	}
	return merge(b.secret, other.secret)
}

// merge adds the data of other, and takes it.
func merge[K hashing.Key](into, other secret[state[K]]) error {
	return private.Merge(into, other, "groupby: Merge", "Builder", func(s, o *state[K]) error {
		if err := s.matches(o); err != nil {
			return err
		}
		numbers := make([]uint32, len(o.table.cells))
		for n, key := range o.table.keys {
			if i, ok := s.table.entry(key); ok {
				s.table.cells[i].add(o.table.cells[n])
				addTo(s.table.lost(int(i)), o.table.lost(n))
				numbers[n] = i
			}
		}
		for at, weight := range o.spots {
			s.spots.add(uint64(numbers[at>>32])<<32|at&(1<<32-1), weight)
		}
		s.users.append(o.users, numbers)
		addTo(s.shorts, o.shorts)
		s.others = sum(s.others, o.others)
		return nil
	})
}

// addTo adds the one list to the other.
func addTo(sums, more []int64) {
	for i, x := range more {
		sums[i] = sum(sums[i], x)
	}
}

// matches returns an error that wraps ErrMismatch if the two states cannot be merged.
func (s *state[K]) matches(o *state[K]) error {
	if err := check.Equal("groupby", s.params, o.params); err != nil {
		return err
	}
	if s.way != o.way {
		return check.MismatchError("groupby", "pass", s.way, o.way)
	}
	if s.at != o.at {
		return check.MismatchError("groupby", "FullKeys", s.clip().full, o.clip().full)
	}
	return s.sameFound(o.table.keys[:o.found])
}

// sameFound returns an error that wraps ErrMismatch unless these are the keys that were found, or
// listed.
func (s *state[K]) sameFound(keys []K) error { return sameKeys(s.table.keys[:s.found], keys) }

func sameKeys[K hashing.Key](ours, keys []K) error {
	if !slices.Equal(ours, keys) {
		return check.MismatchError("groupby", "Discovery or list", "the keys of one", "those of another")
	}
	return nil
}
