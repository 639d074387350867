package misragries

import (
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/internal/sparse"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/misragries/internal/sketch"
	"github.com/dpsketch/dpsketch/noise"
)

// UserBuilder counts the users of each key and protects a whole user. Of a user with more than
// MaxElements distinct keys it counts MaxElements, drawn at random; the release is about the users
// for whom a key counted. It is private, and for one goroutine at a time.
//
// It uses Algorithm 4 (PAMG, Method SparseVector), whose noise is the same for every MaxElements:
// let few users have more. Where the threshold is lower (m below about √k), Auto is Algorithm 1
// with ε/m.
type UserBuilder[K hashing.Key] struct {
	base[userState[K]]
}

// userState has the sketch of Algorithm 4 or that of single keys.
type userState[K hashing.Key] struct {
	sketch *sketch.Sketch[K]
	src    noise.Source
	keys   []K // of one user
}

// NewUserBuilder returns an empty UserBuilder, or an error that wraps [ErrParams]. ε above 20, or δ
// above 0.01, protects hardly anybody.
func NewUserBuilder[K hashing.Key](p Params) (*UserBuilder[K], error) {
	p, c, err := checkFor[K](p, users)
	if err != nil {
		return nil, err
	}
	b := &UserBuilder[K]{base[userState[K]]{params: p, calibration: c, promise: p.guarantee(c)}}
	b.secret = private.New(userState[K]{sketch: b.empty()})
	return b, nil
}

// empty returns a sketch without users: of MaxElements counters more than k if they are counted
// together.
func (b *UserBuilder[K]) empty() *sketch.Sketch[K] {
	if b.calibration.together {
		return sketch.New[K](b.params.Counters + b.params.MaxElements)
	}
	return sketch.New[K](b.params.Counters)
}

// AddUser counts one user's keys; repeated keys count one time. A second call is a second user.
func (b *UserBuilder[K]) AddUser(keys []K) {
	s := private.Enter(b.secret)
	if s == nil {
		return
	}
	given := s.keys[:0]
	for _, key := range keys {
		if b.params.Dim == 0 || !sketch.Outside(key, b.params.Dim) {
			given = append(given, key)
		}
	}
	wire.Sort(given)
	distinct := slices.Compact(given)
	if m := b.params.MaxElements; len(distinct) > m {
		distinct = exact.DrawSubset(distinct, m, s.src.Uint64N)
		wire.Sort(distinct)
	}
	if b.calibration.together {
		s.sketch.AddUser(distinct, b.params.Counters)
	} else {
		s.sketch.AddSlice(distinct)
	}
	clear(given) // so that no key of a string type stays alive
	s.keys = given[:0]
	private.Leave(b.secret)
}

// Merge adds the sketch of the other UserBuilder, which gives up its data, with the errors of
// [Builder.Merge]. Each user must be on one server only. Set Method to SparseVector on all servers.
func (b *UserBuilder[K]) Merge(other *UserBuilder[K]) error {
	if other == nil {
		other = new(UserBuilder[K])
	}
	return private.Merge(b.secret, other.secret, "misragries: Merge", "UserBuilder", func(s, o *userState[K]) error {
		switch {
		case b.params != other.params:
			return check.MismatchError("misragries", "Params", b.params, other.params)
		case !b.calibration.together:
			return bad("Method", b.params.Method,
				"SparseVector, or PureUniverse with more MaxElements, in both UserBuilders that are to be merged: by these Params they are "+b.calibration.method.String()+" of single keys")
		}
		s.sketch.Merge(o.sketch, b.params.Counters)
		return nil
	})
}

// Release is [Builder.Release] for the number of users per key.
func (b *UserBuilder[K]) Release() (*Histogram[K], error) {
	s, err := private.Take(b.secret, "misragries: Release: the UserBuilder")
	if err != nil {
		return nil, err
	}
	return releaseSketch(&s.src, b.params, b.calibration, s.sketch, false), nil
}

// releaseSparse cuts counters and D off at 2⁵³, where a float64 is exact: in one way, so that (c,
// −D) moves with one sign still.
func releaseSparse[K hashing.Key](src *noise.Source, l sparse.Law, counters []sketch.Counter[K], decrements int64) ([]sketch.Counter[K], int64) {
	const most = 1 << 53
	entries := make([]sparse.Entry[K], len(counters))
	for i, c := range counters {
		entries[i] = sparse.Entry[K]{Key: c.Key, Steps: l.Whole(min(c.Count, most))}
	}
	return fromVector(sparse.Release(src, l, entries, l.Whole(min(decrements, most)), nil))
}
