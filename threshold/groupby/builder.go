package groupby

import (
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

type secret[K hashing.Key] = private.State[state[K]]

// Builder counts the users of each key, and sums their values. It holds private data: it prints
// nothing of it, and [Builder.Release] is the only way out, but for what
// [Builder.AppendPrivateState] moves within a trusted pipeline. One goroutine at a time may use it;
// a call panics where it sees another one at work.
type Builder[K hashing.Key] struct {
	secret[K]
	params    Params
	guarantee budget.Guarantee
}

// state is what a Builder holds.
type state[K hashing.Key] struct {
	params    Params
	law       calibration
	way       way
	table     table[K]
	found     int   // so many of the table's first entries has a first pass found, or are listed
	shortfall int64 // what clipping has cost a key at most, summed over users
	others    int64 // what is added to the others already
	users     users // of a Builder that keeps them
	src       noise.Source
	keys      []K // of one user, for reuse, as are the next three
	pairs     []pair[K]
	sums      []float64
	numbers   []int32
}

// way is which pass a state is for.
type way uint8

const (
	once    way = iota // the only one
	keeping            // both of two
	finding            // the first of two
	second             // the second of two
	listing            // the only one, over a public list
)

// pair is a key with a user's value.
type pair[K hashing.Key] struct {
	key   K
	value float64
}

// New returns an empty Builder, or an error that wraps [ErrParams]. It calibrates the release,
// which takes about 5 ms, with two passes 20 ms, and 50 ms at most. Params that were calibrated
// before take microseconds.
//
// What is asked for may be far too much, for experiments: an ε above 20 or a δ above .01 protects
// hardly anybody.
func New[K hashing.Key](p Params) (*Builder[K], error) {
	if p.listed { // of a release by NewListed: its keys are all shown, whoever has them
		return nil, bad("Params", "of listed keys", "those of keys to be found: NewListed takes a list")
	}
	p = p.normal()
	law, err := p.calibrate()
	if err != nil {
		return nil, err
	}
	w := once
	if p.Passes == 2 {
		w = keeping
	}
	return &Builder[K]{private.New(state[K]{params: p, law: law, way: w, table: newTable[K](0)}), p, p.Guarantee()}, nil
}

// Grow makes room for n more keys, so that adding them does not copy the table: a hint, for those
// who know how many to expect.
func (b *Builder[K]) Grow(n int) {
	if s := private.Enter(b.secret); s != nil {
		s.table.reserve(n)
		private.Leave(b.secret)
	}
}

// Guarantee returns what Release promises to each user: [Params.Guarantee]. A Builder that New did
// not make promises nothing.
func (b *Builder[K]) Guarantee() budget.Guarantee { return b.guarantee }

// AddUser adds one user with all keys of that user, each counted once. They must come in one call,
// of one of the Builders that are merged: a second call counts as a second user, and the guarantee
// then protects a call, not a user. With Min and Max, the user's value is 0 in each key.
//
// If a user has more than MaxKeys keys, MaxKeys of them count, drawn uniformly by secret
// randomness. Once there are 2³² − 1 distinct keys, new ones do not count, and the guarantee ends.
// A string key is kept as it is, so the memory it shares stays alive. After Release, and on a
// zero Builder, AddUser does nothing.
func (b *Builder[K]) AddUser(keys []K) {
	s := private.Enter(b.secret)
	if s == nil {
		return
	}
	s.give(keys)
	s.addUser(nil)
	private.Leave(b.secret)
}

// give sets s.keys to the distinct ones, sorted, so that randomness chooses and not the caller.
func (s *state[K]) give(keys []K) {
	s.keys = append(s.keys[:0], keys...)
	if len(keys) > 1 {
		wire.Sort(s.keys)
		s.keys = slices.Compact(s.keys)
	}
}

// AddUserValues adds one user with all keys of that user and a value for each, as [Builder.AddUser]
// does. The values of a key that is there more than once are summed, and the sum is clamped to
// [Min, Max]; NaN counts as 0.
//
// Without Min and Max, and where keys and values are not of one length, the values could only be
// dropped in silence: the Builder gives up its data instead, and Release returns an error that says
// so.
func (b *Builder[K]) AddUserValues(keys []K, values []float64) {
	switch {
	case !b.params.values():
		private.Poison(b.secret, "was given values, and its Params have no Min and Max")
		return
	case len(keys) != len(values):
		private.Poison(b.secret, "was given keys and values that are not of one length")
		return
	}
	s := private.Enter(b.secret)
	if s == nil {
		return
	}
	s.pairs = s.pairs[:0]
	for i, key := range keys {
		value := values[i]
		if value != value {
			value = 0
		}
		s.pairs = append(s.pairs, pair[K]{key, value})
	}
	slices.SortStableFunc(s.pairs, func(a, b pair[K]) int { return wire.Compare(a.key, b.key) })
	s.keys = s.keys[:0]
	sums := s.sums[:0]
	for _, g := range s.pairs {
		if n := len(s.keys); n > 0 && s.keys[n-1] == g.key {
			sums[n-1] += g.value
			continue
		}
		s.keys, sums = append(s.keys, g.key), append(sums, g.value)
	}
	s.sums = sums
	s.addUser(sums)
	private.Leave(b.secret)
}

// addUser adds a user with the distinct keys in s.keys; sums are their values, nil for 0.
func (s *state[K]) addUser(sums []float64) {
	if len(s.keys) == 0 {
		return
	}
	switch s.way {
	case keeping:
		s.keep(sums)
	case finding:
		s.weigh(s.keys)
	case second:
		s.addSecond(sums)
	case listing:
		s.addListed(sums)
	default:
		s.addOnce(sums)
	}
}

// Released reports whether the Builder has been released, and therefore ignores what it is given.
func (b *Builder[K]) Released() bool { return private.Released(b.secret) }
