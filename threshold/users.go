package threshold

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/internal/subset"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// UserBuilder sums the values of users by key, and sees to it that each user stays within the
// limits of the Params: MaxKeys, MaxValue and Sensitivity. It has no Add, which would know nothing
// of users.
//
// It holds private data, as [Builder] does, and is for one goroutine at a time.
type UserBuilder[K hashing.Key] struct {
	secret[K]
	guarantee budget.Guarantee
}

// NewUserBuilder returns an empty UserBuilder, or an error that wraps [ErrParams]: MaxKeys must be
// at least 1. It takes as long as [New].
func NewUserBuilder[K hashing.Key](p Params) (*UserBuilder[K], error) {
	if err := p.validate(); err == nil && p.MaxKeys == 0 {
		return nil, fault.Params("threshold", "MaxKeys", p.MaxKeys, "at least 1: the most keys that are kept of one user")
	}
	s, g, err := newState[K](p)
	if err != nil {
		return nil, err
	}
	return &UserBuilder[K]{s, g}, nil
}

// Guarantee returns what Release promises to each user: [Params.Guarantee]. A UserBuilder that
// NewUserBuilder did not make promises nothing.
func (b *UserBuilder[K]) Guarantee() budget.Guarantee { return b.guarantee }

// AddUser adds the keys of one user, 1 for each time a key occurs, within the limits of the Params:
// see [UserBuilder.AddUserValues].
func (b *UserBuilder[K]) AddUser(keys ...K) {
	counts := make(map[K]float64, len(keys))
	for _, key := range keys {
		counts[key]++
	}
	b.add(counts)
}

// AddUserValues adds the values of one user. All of them must come in one call: a second call is a
// second user.
//
// The values of each key are summed, and each sum is clamped to MaxValue, and to 0 from below
// unless Signed. If more than MaxKeys keys are left, MaxKeys of them are kept, chosen uniformly by
// secret randomness; in the order of the choice they then get what is left of Sensitivity. Dropping
// is the user's loss in accuracy and not in privacy: keep what matters. NaN counts as 0, and keys
// outside Dim do not count. After Release it does nothing.
func (b *UserBuilder[K]) AddUserValues(values iter.Seq2[K, float64]) {
	if b.Released() || values == nil {
		return
	}
	sums := map[K]float64{}
	for key, value := range values {
		if !math.IsNaN(value) {
			sums[key] += value
		}
	}
	b.add(sums)
}

// add adds one user's values, each key's summed.
func (b *UserBuilder[K]) add(sums map[K]float64) {
	s := private.Enter(b.secret)
	if s == nil {
		return
	}
	s.addUser(sums)
	private.Leave(b.secret)
}

// Released reports whether the UserBuilder has been released, and therefore ignores what it is
// given.
func (b *UserBuilder[K]) Released() bool { return private.Released(b.secret) }

// Release spends the budget and returns the private vector. The UserBuilder gives up its data; a
// second Release returns an error that wraps [ErrReleased].
func (b *UserBuilder[K]) Release() (*Vector[K], error) { return releaseOnce(b.secret) }

// addUser adds one user's values, each key's summed.
func (s *state[K]) addUser(sums map[K]float64) {
	limit, left := s.params.perKey(), s.params.total()
	type value struct {
		key K
		x   float64
	}
	var values []value
	for key, x := range sums {
		if s.params.Integers {
			x = math.Round(x)
		}
		x = min(max(x, -limit), limit)
		if x != 0 && !math.IsNaN(x) && (x > 0 || s.params.Signed) && !s.outside(key) {
			values = append(values, value{key, x})
		}
	}
	slices.SortFunc(values, func(a, b value) int { return cmp.Compare(a.key, b.key) }) // the randomness chooses, not the map
	keep := min(len(values), s.params.MaxKeys)
	for _, v := range subset.Draw(values, keep, s.src.Uint64N) {
		if !(left > 0) {
			break
		}
		x := math.Copysign(min(math.Abs(v.x), left), v.x)
		if left -= math.Abs(x); !s.params.Integers {
			left = math.Nextafter(left, 0) // what is spent is never more than Sensitivity
		}
		s.totals.Add(v.key, s.steps(x))
	}
}
