package groupby

import (
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
	table     table[K]
	shortfall int64 // what clipping has cost a key at most, summed over users
	src       noise.Source
	keys      []K // of one user, for reuse
}

// New returns an empty Builder, or an error that wraps [ErrParams]. It calibrates the release,
// which takes some 0.1 s.
func New[K hashing.Key](p Params) (*Builder[K], error) {
	p = p.normal()
	law, err := p.calibrate()
	if err != nil {
		return nil, err
	}
	return &Builder[K]{private.New(state[K]{params: p, law: law, table: newTable[K](0)}), p, p.Guarantee()}, nil
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
	s.keys = append(s.keys[:0], keys...)
	slices.Sort(s.keys)
	s.keys = slices.Compact(s.keys)
	s.addUser(nil)
	private.Leave(b.secret)
}

// AddUserValues adds one user with the values of all his keys, as [Builder.AddUser] does. The
// values of a key are summed, and the sum is clamped to [Min, Max]; NaN counts as 0. Without Min
// and Max the values do not count.
func (b *Builder[K]) AddUserValues(values iter.Seq2[K, float64]) {
	if b.Released() || values == nil {
		return
	}
	sums := map[K]float64{}
	for key, value := range values {
		if value != value {
			value = 0
		}
		sums[key] += value
	}
	s := private.Enter(b.secret)
	if s == nil {
		return
	}
	s.keys = s.keys[:0]
	for key := range sums {
		s.keys = append(s.keys, key)
	}
	slices.Sort(s.keys) // the randomness chooses, not the map
	s.addUser(sums)
	private.Leave(b.secret)
}

// addUser adds a user with the distinct keys in s.keys; sums has their values, nil for 0.
func (s *state[K]) addUser(sums map[K]float64) {
	l := len(s.keys)
	if l == 0 {
		return
	}
	kept := min(l, s.params.MaxKeys)
	if kept < l {
		subset.Draw(s.keys, kept, s.src.Uint64N)
	}
	give := cell{weight: weight(kept)}
	x := int64(0)
	if !s.params.KeysOnly {
		x = clipped(kept, s.params.Clip)
		give.rest = rest(x, give.weight, s.law.mix)
		short := unit - x
		if kept < l {
			short = unit
		}
		s.shortfall = sum(s.shortfall, short)
	}
	if s.params.Others {
		give.others = residual(l)
	}
	for _, key := range s.keys[:kept] {
		if s.params.values() {
			give.value = s.params.scaled(x, sums[key])
		}
		s.table.add(key, give)
	}
	if s.params.Others {
		for _, key := range s.keys[kept:] {
			s.table.add(key, cell{others: give.others})
		}
	}
}

// Merge adds the users of another Builder, and that one gives up its data: the trusted merge,
// before any noise, of machines that one machine may see. The users of the two must be different: a
// user in both is two users, and is protected less. Group by user first where data is spread by
// other things.
//
// The error wraps [ErrMismatch] if the Params differ or other is b itself, and [ErrReleased] if one
// was released. Then nothing has changed.
func (b *Builder[K]) Merge(other *Builder[K]) error {
	if other == nil || b.Released() || other.Released() {
		return fmt.Errorf("groupby: Merge: a Builder is %w", fault.ErrReleased)
	}
	if private.Same(b.secret, other.secret) {
		return fault.Mismatch("groupby", "Builder", "itself", "another one")
	}
	if err := sameParams(b.params, other.params); err != nil {
		return err
	}
	o, err := private.Take(other.secret, "groupby: Merge: the other Builder")
	if err != nil {
		return err
	}
	s := private.Enter(b.secret)
	for _, e := range o.table.entries {
		s.table.add(e.key, e.cell)
	}
	s.shortfall = sum(s.shortfall, o.shortfall)
	private.Leave(b.secret)
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
		{"CountShare", a.CountShare, b.CountShare}, {"Clip", a.Clip, b.Clip}, {"Min", a.Min, b.Min}, {"Max", a.Max, b.Max},
		{"Relation", a.Relation, b.Relation}, {"KeysOnly", a.KeysOnly, b.KeysOnly}, {"Others", a.Others, b.Others},
	} {
		if f.a != f.b {
			return fault.Mismatch("groupby", f.name, f.a, f.b)
		}
	}
	return nil
}
