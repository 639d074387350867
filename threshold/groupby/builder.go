package groupby

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/internal/subset"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

type secret[K hashing.Key] = private.State[state[K]]

// Builder sums what users give to keys. It holds private data: it prints nothing of it, and
// [Builder.Release] is the only way out, but for what [Builder.AppendPrivateState] moves within a
// trusted pipeline. One goroutine at a time may use it; a call panics where it sees another one at
// work.
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
	found     int   // so many of the table's first entries has a first pass found
	shortfall int64 // what clipping has cost a key at most, summed over users
	others    int64 // what is added to the others already
	users     users // of a Builder that keeps them
	src       noise.Source
	keys      []K // of one user, for reuse, as are the next two
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
)

// pair is a key with a user's value.
type pair[K hashing.Key] struct {
	key   K
	value float64
}

// New returns an empty Builder, or an error that wraps [ErrParams]. It calibrates the release,
// which takes some 0.1 s, with two passes 0.3 s.
func New[K hashing.Key](p Params) (*Builder[K], error) {
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

// AddUser adds one user with all keys that he has, each counted once. All of them must come in one
// call, in one of the Builders that are merged: a second call is a second user, and the guarantee
// of the release then is for one call. With Min and Max, the user's value is 0 in each key.
//
// Of a user with more than MaxKeys keys, MaxKeys of them count, chosen uniformly by secret
// randomness. New keys do not count once there are 2³² − 1,
// where the guarantee ends. A string key is kept as it is, so the memory it shares stays alive.
// After Release, and on a Builder that New did not make, AddUser does nothing.
func (b *Builder[K]) AddUser(keys ...K) {
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
		slices.Sort(s.keys)
		s.keys = slices.Compact(s.keys)
	}
}

// AddUserValues adds one user with the values of all his keys, as [Builder.AddUser] does. The
// values of a key are summed, and the sum is clamped to [Min, Max]; NaN counts as 0. Without Min
// and Max the values do not count.
func (b *Builder[K]) AddUserValues(values iter.Seq2[K, float64]) {
	if b.Released() || values == nil {
		return
	}
	var given []pair[K] // the caller's code runs outside of Enter and Leave
	for key, value := range values {
		if value != value {
			value = 0
		}
		given = append(given, pair[K]{key, value})
	}
	s := private.Enter(b.secret)
	if s == nil {
		return
	}
	slices.SortStableFunc(given, func(a, b pair[K]) int { return cmp.Compare(a.key, b.key) })
	s.keys = s.keys[:0]
	sums := s.sums[:0]
	for _, g := range given {
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
	default:
		s.addOnce(sums)
	}
}

// addOnce adds a user to a Builder of one pass.
func (s *state[K]) addOnce(sums []float64) {
	l := len(s.keys)
	kept := min(l, s.params.MaxKeys)
	g := s.law.gives[kept]
	give := cell{weight: g.weight, rest: g.rest}
	if !s.params.KeysOnly {
		short := unit - g.count
		if kept < l {
			short = unit
		}
		s.shortfall = sum(s.shortfall, short)
	}
	if s.params.Others {
		give.others = residual(l)
	}
	if kept == l && !s.params.values() {
		for _, key := range s.keys {
			s.table.add(key, give)
		}
		return
	}
	order := s.order(l)
	for _, i := range choose(order, kept, &s.src) {
		if s.params.values() {
			give.value = s.params.scaled(g.count, valueAt(sums, i))
		}
		s.table.add(s.keys[i], give)
	}
	if s.params.Others {
		for _, i := range order[kept:] {
			s.table.add(s.keys[i], cell{others: give.others})
		}
	}
}

// order returns 0, …, l − 1.
func (s *state[K]) order(l int) []int32 {
	s.numbers = s.numbers[:0]
	for i := range l {
		s.numbers = append(s.numbers, int32(i))
	}
	return s.numbers
}

// valueAt returns the i-th value, 0 if there are none.
func valueAt(sums []float64, i int32) float64 {
	if sums == nil {
		return 0
	}
	return sums[i]
}

// choose moves k of the elements to the front, by chance where these are not all, and returns them.
func choose[T any](all []T, k int, src *noise.Source) []T {
	if k == len(all) {
		return all
	}
	return subset.Draw(all, k, src.Uint64N)
}

// weigh gives their weight to as many of the keys as get one.
func (s *state[K]) weigh(keys []K) {
	k := min(len(keys), s.params.MaxKeys)
	if k == 0 {
		return
	}
	give := cell{weight: s.law.gives[k].weight}
	for _, key := range choose(keys, k, &s.src) {
		s.table.add(key, give)
	}
}

// Merge adds the users of another Builder, and that one gives up its data: the trusted merge,
// before any noise, of machines that one machine may see. The users of the two must be different: a
// user in both is two users, and is protected less. Group by user first where data is spread by
// other things.
//
// The error wraps [ErrMismatch] if the Params differ, if the two are not for the same pass after the
// same [Discovery], or if other is b itself, and [ErrReleased] if one was released. Then nothing has
// changed.
func (b *Builder[K]) Merge(other *Builder[K]) error {
	if other == nil {
		return fmt.Errorf("groupby: Merge: a Builder is %w", fault.ErrReleased)
	}
	return merge(b.secret, other.secret)
}

// merge adds the data of other, and takes it.
func merge[K hashing.Key](into, other secret[K]) error {
	if private.Released(into) || private.Released(other) {
		return fmt.Errorf("groupby: Merge: a Builder is %w", fault.ErrReleased)
	}
	if private.Same(into, other) {
		return fault.Mismatch("groupby", "Builder", "itself", "another one")
	}
	s := private.Enter(into)
	defer private.Leave(into)
	if err := s.matches(private.Enter(other)); err != nil {
		private.Leave(other)
		return err
	}
	private.Leave(other)
	o, err := private.Take(other, "groupby: Merge: the other Builder")
	if err != nil {
		return err
	}
	numbers := make([]uint32, len(o.table.entries))
	for i, e := range o.table.entries {
		s.table.add(e.key, e.cell)
		numbers[i], _ = s.table.entry(e.key)
	}
	s.users.append(o.users, numbers)
	s.shortfall = sum(s.shortfall, o.shortfall)
	return nil
}

// matches returns an error that wraps ErrMismatch if the two states cannot be merged.
func (s *state[K]) matches(o *state[K]) error {
	if err := sameParams(s.params, o.params); err != nil {
		return err
	}
	if s.way != o.way {
		return fault.Mismatch("groupby", "pass", s.way, o.way)
	}
	same := func(a, b entry[K]) bool { return a.key == b.key }
	if !slices.EqualFunc(s.table.entries[:s.found], o.table.entries[:o.found], same) {
		return fault.Mismatch("groupby", "Discovery", "the keys of one", "those of another")
	}
	return nil
}

// Released reports whether the Builder has been released, and therefore ignores what it is given.
func (b *Builder[K]) Released() bool { return private.Released(b.secret) }

// sameParams returns an error that wraps ErrMismatch and names the first field that differs.
func sameParams(a, b Params) error {
	for _, f := range []struct {
		name string
		a, b any
	}{
		{"Epsilon", a.Epsilon, b.Epsilon}, {"Delta", a.Delta, b.Delta}, {"MaxKeys", a.MaxKeys, b.MaxKeys},
		{"Passes", a.Passes, b.Passes},
		{"CountShare", a.CountShare, b.CountShare}, {"Clip", a.Clip, b.Clip}, {"Min", a.Min, b.Min}, {"Max", a.Max, b.Max},
		{"Relation", a.Relation, b.Relation}, {"KeysOnly", a.KeysOnly, b.KeysOnly}, {"Others", a.Others, b.Others},
	} {
		if f.a != f.b {
			return fault.Mismatch("groupby", f.name, f.a, f.b)
		}
	}
	return nil
}
