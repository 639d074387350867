package misragries

import (
	"fmt"
	"log/slog"
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/noise"
)

// UserBuilder counts in how many users' sets each key is, where a user has up to MaxKeys distinct keys, and hides a whole user. It holds
// private data, as a Builder does. One goroutine at a time may use it.
//
// It is the sketch of Algorithm 4 (PAMG), released by SparseVector with noise that grows with √k and not with m; or, where that
// has the lower threshold, as for m below about √k, that of Algorithm 1, released by KeptZeros with ε/m. The Params can ask for either.
type UserBuilder[K hashing.Key] struct {
	state **userState[K] // as in Builder
}

// userState is nil once released. One of the two sketches is in use.
type userState[K hashing.Key] struct {
	params Params
	law    scheme
	users  *userSketch[K] // SparseVector
	stream *sketch[K]     // KeptZeros
	src    noise.Source
	keys   []K // of one user
}

// NewUserBuilder returns an empty UserBuilder, or an error that wraps [ErrParams]. MaxKeys must be at least 1 and at most Counters: with more keys
// a user the sketch says nothing.
func NewUserBuilder[K hashing.Key](p Params) (*UserBuilder[K], error) {
	l, err := checkFor[K](p, Users)
	if err != nil {
		return nil, err
	}
	p.Delta += 0 // no −0
	s := &userState[K]{params: p, law: l}
	if l.mechanism == SparseVector {
		s.users = newUserSketch[K](p.Counters, p.MaxKeys)
	} else {
		s.stream = newSketch[K](p.Counters)
	}
	return &UserBuilder[K]{&s}, nil
}

// AddUser counts one user's keys, each once, however often it is given. Of more than MaxKeys distinct keys it counts MaxKeys, chosen uniformly by
// secret randomness. All keys of a user must come in one call: a second call is a second user. Where Dim is given, keys outside [0, Dim)
// do not count. After Release it does nothing.
func (b *UserBuilder[K]) AddUser(keys ...K) {
	if b.Released() {
		return
	}
	s := *b.state
	given := s.keys[:0]
	for _, key := range keys {
		if s.params.Dim == 0 || !outside(key, s.params.Dim) {
			given = append(given, key)
		}
	}
	slices.Sort(given)
	distinct := slices.Compact(given)
	if m := s.params.MaxKeys; len(distinct) > m {
		for i := range m {
			j := i + int(s.src.Uint64N(uint64(len(distinct)-i)))
			distinct[i], distinct[j] = distinct[j], distinct[i]
		}
		distinct = distinct[:m]
		slices.Sort(distinct)
	}
	if s.users != nil {
		s.users.addUser(distinct)
	} else {
		s.stream.addSlice(distinct)
	}
	clear(given) // so that no key of a string type stays alive
	s.keys = given[:0]
}

// Released reports whether the UserBuilder has been released, or merged into another.
func (b *UserBuilder[K]) Released() bool { return b.state == nil || *b.state == nil }

// Merge adds the sketch of the other UserBuilder, which gives up its data (Corollary 28): users are on one server or the other. It needs the sketch
// of Algorithm 4, so Params whose mechanism is SparseVector; its noise is the same for merged sketches.
//
// The errors are those of [Builder.Merge].
func (b *UserBuilder[K]) Merge(other *UserBuilder[K]) error {
	if b.Released() || other == nil || other.Released() {
		return fmt.Errorf("misragries: Merge: a UserBuilder is %w", fault.ErrReleased)
	}
	s, o := *b.state, *other.state
	switch {
	case s == o:
		return intoItself("a UserBuilder")
	case s.params != o.params:
		return fault.Mismatch("misragries", "Params", s.params, o.params)
	case s.users == nil:
		return fault.Params("misragries", "Mechanism", s.params.Mechanism,
			"SparseVector in both UserBuilders that are to be merged: by these Params they are "+s.law.mechanism.String()+", which does not merge")
	}
	*other.state = nil
	s.users.merge(o.users)
	return nil
}

// Release spends the budget and returns the private histogram of the number of users per key. The UserBuilder gives up its data; a second
// Release returns an error that wraps [ErrReleased].
func (b *UserBuilder[K]) Release() (*Histogram[K], error) {
	if b.Released() {
		return nil, fmt.Errorf("misragries: Release: the UserBuilder is %w", fault.ErrReleased)
	}
	s := *b.state
	*b.state = nil
	h := newHistogram[K](s.params, Users, s.law)
	if s.stream != nil {
		h.counts, h.decrements = releaseShared(&s.src, s.law, s.stream.counters(), int64(s.stream.decrements))
		return h, nil
	}
	var err error
	if h.vector, err = releaseSparse(h.params, Users, s.users.positive()); err != nil {
		return nil, err
	}
	return h, nil
}

const redactedUsers = "misragries.UserBuilder (private)"

// Format prints a fixed text under every verb.
func (b UserBuilder[K]) Format(f fmt.State, _ rune) { fmt.Fprint(f, redactedUsers) }

// LogValue logs a fixed text.
func (b UserBuilder[K]) LogValue() slog.Value { return slog.StringValue(redactedUsers) }

// MarshalText encodes a fixed text, so that JSON and XML hold nothing else.
func (b UserBuilder[K]) MarshalText() ([]byte, error) { return []byte(redactedUsers), nil }
