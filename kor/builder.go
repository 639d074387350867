package kor

import (
	"math/bits"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/kor/internal/sets"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

type secret = private.State[state]

// Builder sketches a set. It holds private data, which it never prints. The data leave it only by
// [Builder.Release] or [Builder.Share], with noise, and by [Builder.AppendPrivateState], without
// noise, for another machine of a trusted pipeline. One goroutine at a time may use it; a call
// panics if it sees another one at work.
type Builder struct{ base }

// base is what a Builder and a StreamBuilder have in common.
type base struct {
	secret
	params    Params
	guarantee budget.Guarantee
}

// state is what they hold.
type state struct {
	place   placement
	table   []uint64
	members members               // of a Builder that counts, else nil
	count   noise.DiscreteLaplace // for their sum
	params  Params
	origin  origin
	law     noise.Bernoulli
	stream  bool // so the table holds the cells with a key
	src     noise.Source
}

// New returns the Builder of an empty set, or an error that wraps [ErrParams].
//
// For experiments an ε above 20 is accepted too, which protects hardly anybody.
func New(p Params) (*Builder, error) {
	p = p.normal()
	law, err := p.flips()
	if err != nil {
		return nil, err
	}
	var count noise.DiscreteLaplace
	if p.CountShare > 0 {
		if count, err = p.countLaw(); err != nil {
			return nil, err
		}
	}
	return &Builder{newBase(p, law, count, false)}, nil
}

// newBase returns what a builder of nothing has.
func newBase(p Params, flips noise.Bernoulli, count noise.DiscreteLaplace, stream bool) base {
	var set members
	if p.CountShare > 0 {
		set = members{}
	}
	return base{private.New(state{
		place: newPlacement(p), table: make([]uint64, p.words()), members: set, count: count, params: p, origin: newOrigin(), law: flips, stream: stream,
	}), p, p.Guarantee()}
}

// Guarantee returns what Release promises: ε-differential privacy for one key, added or removed; in
// a stream, with all its occurrences. A zero builder promises nothing.
func (b *base) Guarantee() budget.Guarantee { return b.guarantee }

// Released reports whether there has been a release, after which more keys do nothing. A zero
// builder counts as released.
func (b *base) Released() bool { return private.Released(b.secret) }

// Toggle adds the key to the set if it is absent and removes it if it is present: it flips one bit.
// The sketch remembers no keys, so an element that comes twice is gone. For data with duplicates
// use package kor/distinct, whose Add ignores them. For keys of other types use [ToggleKey]. After
// Release, and on the zero Builder, Toggle does nothing.
func (b *Builder) Toggle(key uint64) { private.Use(b.secret, (*state).toggle, key) }

// ToggleSlice toggles each of the keys, in half the time per key.
func (b *Builder) ToggleSlice(keys []uint64) { private.Use(b.secret, (*state).toggleAll, keys) }

// ToggleKey toggles keys of any type. An integer is the same key as in [Builder.Toggle]; a string
// or an array is toggled by its hashing.Fingerprint under Params.Seed.
func ToggleKey[K hashing.Key](b *Builder, keys ...K) {
	for _, key := range keys {
		b.Toggle(word(b.params.Seed, key))
	}
}

// toggle has functions as parameters of what it calls so that it is inlined; see [private.Use].
func (s *state) toggle(key uint64) { byMembers(s, key, (*state).flip, (*state).toggleMember) }

// word returns the 64 bits that stand for a key: of an integer its value, so that it is one key in
// whatever way it comes, of others the fingerprint.
func word[K hashing.Key](seed hashing.Seed, key K) uint64 {
	if keys := wire.KeysOf[K](); keys.Integers() {
		return keys.Bits(key)
	}
	return hashing.Fingerprint(seed, key)
}

func byMembers[K any](s *state, keys K, without, with func(*state, K)) {
	if s.members == nil {
		without(s, keys)
	} else {
		with(s, keys)
	}
}

// flip flips the bit of a key. The zeros that end u are counted with a one above them: so u = 0 is
// at level 63, and the count takes an instruction less.
func (s *state) flip(key uint64) {
	hi, lo := bits.Mul64(s.place.k1, key^s.place.k0) // as in placement.at
	u, v := bits.Mul64(s.place.k2, hi^lo)
	cell, _ := bits.Mul64(s.place.cells, v)
	if i := s.place.starts[bits.TrailingZeros64(u|1<<63)] + cell>>6; i < uint64(len(s.table)) {
		s.table[i] ^= 1 << (cell & 63)
	}
}

func (s *state) flipAll(keys []uint64) {
	table := s.table
	for i, bit := range s.place.each(keys) {
		if i < uint64(len(table)) {
			table[i] ^= bit
		}
	}
}

// toggleMember toggles the key of a Builder that counts.
func (s *state) toggleMember(key uint64) { s.toggleWeighted(key, 1) }

func (s *state) toggleMembers(keys []uint64) {
	for _, key := range keys {
		s.toggleMember(key)
	}
}

func (s *state) toggleWeighted(key uint64, w float64) {
	s.place.flip(s.table, key, w)
	if s.members != nil {
		s.members.toggle(key, w)
	}
}

// ToggleWeighted is Toggle for a key of the given weight in (0, 1]: the sketch then estimates the
// sum of the weights. The weight must be a public function of the key: the same in every call and
// for all parties. The guarantee is for a key with one weight, since another weight selects another
// bit: a key that comes with m weights is protected like m keys. A weight above 1 counts as 1. With
// a weight that is NaN, 0 or negative nothing happens.
//
// With weights the sketch samples the keys: a key of weight w is at no level with probability 1 −
// w. So, in addition to the error of the sketch, N keys of weight w have the relative sampling
// error √((1/w − 1)/N).
func (b *Builder) ToggleWeighted(key uint64, weight float64) {
	w, ok := validWeight(weight)
	if !ok {
		return
	}
	s := private.Enter(b.secret)
	if s == nil {
		return
	}
	s.toggleWeighted(key, w)
	private.Leave(b.secret)
}

func (s *state) toggleAll(keys []uint64) {
	byMembers(s, keys, (*state).flipAll, (*state).toggleMembers)
}

// Merge replaces the Builder's set by its symmetric difference with the other Builder's set; for
// disjoint sets it is the union. The other Builder gives up its data. This happens before any
// noise, so the machine that merges must be trusted with both sets.
//
// The error wraps [ErrMismatch] if the Params differ or other is b itself, and [ErrReleased] if one
// was released. On an error nothing changes.
func (b *Builder) Merge(other *Builder) error {
	if other == nil {
		other = new(Builder)
	}
	return b.merge(&other.base, "Builder")
}

func (b *base) merge(other *base, name string) error {
	return private.Merge(b.secret, other.secret, "kor: Merge", name, func(s, o *state) error {
		switch err := check.Equal("kor", b.params, other.params); {
		case err != nil:
			return err
		case s.stream:
			sets.Or(s.table, o.table)
			return nil
		}
		xor(s.table, o.table)
		for key, steps := range o.members {
			s.members.flip(key, steps)
		}
		return nil
	})
}

// Release spends the budget and returns the private sketch. The Builder gives up its data; a second
// Release returns an error that wraps [ErrReleased].
func (b *Builder) Release() (*Sketch, error) {
	s, err := private.Take(b.secret, "kor: Release: the Builder")
	if err != nil {
		return nil, err
	}
	s.randomize(s.law)
	r := &Sketch{s.released()}
	if s.members != nil {
		r.counted, r.count = true, s.members.sum()+s.count.SampleInt(&s.src)
	}
	return r, nil
}

// released returns the release of a table that has its noise.
func (s *state) released() release {
	return release{params: s.params, parts: []part{newPart(s.params, s.law, 1, s.origin)}, bits: s.table, stream: s.stream}
}

// randomize flips every bit with the probability of the law. What lies behind the cells of a level
// stays 0.
func (s *state) randomize(law noise.Bernoulli) {
	law.Flip(&s.src, s.table)
	sets.ClearPadding(s.table, s.params.Cells)
}

// xor adds the table b to a.
func xor(a, b []uint64) {
	b = b[:len(a)]
	for i := range a {
		a[i] ^= b[i]
	}
}
