package kor

import (
	"iter"
	"math"
	"math/bits"
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/kor/internal/sets"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

type secret = private.State[state]

// Builder sketches a set. It never prints its private data, which leave it only by
// [Builder.Release], [Builder.Share] and [Builder.AppendPrivateState]. It is for one goroutine at a
// time; a call panics if it sees another.
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

// New returns the Builder of an empty set, or an error that wraps [ErrParams]. An ε above 20
// protects hardly anybody.
func New(p Params) (*Builder, error) {
	p = p.normal()
	var count noise.DiscreteLaplace
	law, err := p.flips()
	if err == nil && p.CountShare > 0 {
		count, err = p.countLaw()
	}
	if err != nil {
		return nil, err
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

// Guarantee returns [Params.Guarantee]; nothing for a zero builder.
func (b *base) Guarantee() budget.Guarantee { return b.guarantee }

// Released reports whether the builder has been released or is a zero builder.
func (b *base) Released() bool { return private.Released(b.secret) }

// Toggle adds the key if it is absent and removes it if it is present.
func (b *Builder) Toggle(key uint64) { private.Use(b.secret, (*state).toggle, key) }

// ToggleSlice toggles keys in half the time.
func (b *Builder) ToggleSlice(keys []uint64) { private.Use(b.secret, (*state).toggleAll, keys) }

// ToggleKey toggles keys of any type: an integer as in [Builder.Toggle], a string or an array by
// its hashing.Fingerprint under Params.Seed.
func ToggleKey[K hashing.Key](b *Builder, keys ...K) {
	for _, key := range keys {
		b.Toggle(sets.Word(b.params.Seed, key))
	}
}

// toggle has functions as parameters of what it calls so that it is inlined; see [private.Use].
func (s *state) toggle(key uint64) { byMembers(s, key, (*state).flip, (*state).toggleMember) }

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

// ToggleWeighted is Toggle for a key of a weight in (0, 1]; the sketch estimates the sum of the
// weights. The weight must be a public function of the key, the same for all parties: a key with m
// weights is protected like m keys. A weight above 1 counts as 1; NaN, 0 and negative weights do
// nothing. N keys of weight w have a relative sampling error √((1/w − 1)/N).
func (b *Builder) ToggleWeighted(key uint64, weight float64) {
	w, ok := validWeight(weight)
	if !ok {
		return
	}
	if s := private.Enter(b.secret); s != nil {
		s.toggleWeighted(key, w)
		private.Leave(b.secret)
	}
}

func (s *state) toggleAll(keys []uint64) {
	byMembers(s, keys, (*state).flipAll, (*state).toggleMembers)
}

// Merge replaces the set by its symmetric difference with the other one, whose Builder gives up its
// data, before any noise: the machine must be trusted with both. The error wraps [ErrMismatch] if
// the Params differ or other is b itself, and [ErrReleased].
func (b *Builder) Merge(other *Builder) error {
	return b.merge(&sets.OrZero(other).base, "Builder")
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

// Release spends ε and returns the private sketch. The error wraps [ErrReleased].
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

// placement says which bit of a table a key flips.
//
// A key has two 64-bit words u and v. It is at a level by u, and there in cell ⌊v·n/2⁶⁴⌋. Let s =
// (ū+1)/2⁶⁴, uniform on (0, 1], with ū the digits of u in reverse order. A key of weight w is at
// level i if s ∈ (w/2^{i+1}, w/2^i] (thesis, section 3.4.1). Where s > w, or i ≥ L, it is at no
// level and flips nothing.
//
// The law of the levels is exact: the comparisons are made in integers, so Pr[s ≤ w/2^i] =
// ⌊w·2^{64−i}⌋/2⁶⁴ over a uniform u. For w = 1 the level is the number of trailing zeros of u; only
// u = 0, which is at no level, is put at level 63 beside 2⁶³, as that saves a comparison.
//
// Privacy holds for every function from keys to bits. The accuracy statements are for u and v fully
// random, as in the thesis. Pairwise independence would give the expected number of keys in a cell
// and no more; the number of odd cells of a run of keys is then far from what it is for a random
// function, so the families of package hashing that have a proof do not serve here. Anyone who
// knows the Seed can choose keys that meet in one cell: this spoils an estimate, not the privacy of
// others.
type placement struct {
	k0, k1, k2 uint64      // those of a sets.Hash
	cells      uint64      // of a level
	starts     [65]uint64  // the first word of the level, by the number of zeros that end u
	lower      [256]uint32 // the same by the lowest byte of u, if it is not 0
}

func newPlacement(p Params) placement {
	k := sets.NewHash(p.Seed.Derive(1), p.Seed.Derive(2))
	h := placement{k0: k.K0, k1: k.K1, k2: k.K2, cells: uint64(p.Cells)}
	for zeros := range h.starts {
		h.starts[zeros] = uint64(min(zeros, 63) * p.stride())
	}
	for i := range h.lower {
		h.lower[i] = uint32(h.starts[min(bits.TrailingZeros8(uint8(i)), 7)])
	}
	return h
}

// words returns u and v.
func (h *placement) words(key uint64) (u, v uint64) {
	hash := sets.Hash{K0: h.k0, K1: h.k1, K2: h.k2}
	return hash.Words(key)
}

// at returns the word and the bit of a key of weight 1. The levels from L on lie behind the table.
func (h *placement) at(key uint64) (word, bit uint64) {
	u, v := h.words(key)
	cell, _ := bits.Mul64(h.cells, v)
	return h.starts[bits.TrailingZeros64(u)] + cell>>6, 1 << (cell & 63)
}

// each yields the word and the bit of each of many keys of weight 1. The level is read by the
// lowest byte of u, except for one key in 256: this takes fewer instructions than counting zeros.
// The loop is inlined, with what it yields to, and reads the numbers of h again for each key, as it
// has no registers left for them.
func (h *placement) each(keys []uint64) iter.Seq2[uint64, uint64] {
	return func(yield func(word, bit uint64) bool) {
		for _, key := range keys {
			hi, lo := bits.Mul64(h.k1, key^h.k0)
			u, v := bits.Mul64(h.k2, hi^lo)
			cell, _ := bits.Mul64(h.cells, v)
			start := uint64(h.lower[u&255])
			if u&255 == 0 {
				start = h.starts[bits.TrailingZeros64(u)]
			}
			if !yield(start+cell>>6, 1<<(cell&63)) {
				return
			}
		}
	}
}

// flip flips the bit of a key of weight w in (0, 1].
func (h *placement) flip(table []uint64, key uint64, w float64) {
	if i, bit := h.weighted(key, w); i < uint64(len(table)) {
		table[i] ^= bit
	}
}

// set sets it.
func (h *placement) set(table []uint64, key uint64, w float64) {
	if i, bit := h.weighted(key, w); i < uint64(len(table)) {
		table[i] |= bit
	}
}

// weighted returns the word and the bit of a key of weight w in (0, 1], a word behind every table
// for a key at no level.
func (h *placement) weighted(key uint64, w float64) (word, bit uint64) {
	if w == 1 {
		return h.at(key)
	}
	u, v := h.words(key)
	level := weightedLevel(bits.Reverse64(u), w)
	if level < 0 {
		return math.MaxUint64, 0
	}
	cell, _ := bits.Mul64(h.cells, v)
	return h.starts[level] + cell>>6, 1 << (cell & 63)
}

// weightedLevel returns the level of a key of weight w in (0, 1] with the reversed word ū: the i
// with w/2^{i+1} < s ≤ w/2^i, negative if s > w.
//
// Written as s = x·2^{−a} and w = y·2^{−b} with x and y in [1, 2), s ≤ w/2^i if and only if a > b +
// i, or a = b + i and x ≤ y. So i is a − b if x ≤ y, else a − b − 1. x·2⁶³ and y·2⁶³ are integers,
// as w has 53 binary digits.
func weightedLevel(reversed uint64, w float64) int {
	frac, exp := math.Frexp(w) // w = frac·2^exp, frac in [½, 1)
	y, b := uint64(frac*0x1p64), 1-exp
	if reversed == math.MaxUint64 { // s = 1
		if w == 1 {
			return 0
		}
		return -1
	}
	a := bits.LeadingZeros64(reversed+1) + 1
	if (reversed+1)<<(a-1) <= y {
		return a - b
	}
	return a - b - 1
}

// validWeight returns the weight that counts: 1 for what is larger, and false for what is not a
// number above 0.
func validWeight(w float64) (float64, bool) { return min(w, 1), w > 0 }

// xor makes sum the XOR of two releases of the same Params, without counts.
func (sum *release) xor(r, o *release) error {
	if err := r.matches(o); err != nil {
		return err
	}
	parts, err := xorParts(r.parts, o.parts)
	if err != nil {
		return err
	}
	sum.params, sum.parts, sum.bits, sum.stream = r.params, parts, slices.Clone(r.bits), r.stream
	xor(sum.bits, o.bits)
	return sameBits(parts, sum.bits)
}

// sameBits returns an error if bits are left though all releases have cancelled: two encodings that
// claim to be of one release are not.
func sameBits(parts []part, bits []uint64) error {
	if len(parts) == 0 && slices.ContainsFunc(bits, func(word uint64) bool { return word != 0 }) {
		return check.MismatchError("kor", "bits of a release", "some", "others")
	}
	return nil
}

// SymmetricDifference returns the sketch of the keys that are in exactly one of the two sets,
// without counts; s ⊕ s is empty. The error wraps [ErrMismatch] if the Params are not equal (for
// different ε use [XOR]), or if other is nil or zero.
func (s *Sketch) SymmetricDifference(other *Sketch) (*Sketch, error) {
	sum := &Sketch{}
	if err := sum.xor(&sets.OrZero(s).release, &sets.OrZero(other).release); err != nil {
		return nil, err
	}
	return sum, nil
}

// matches returns an error unless both are released and have the same Params.
func (r *release) matches(o *release) error {
	if !r.valid() || !o.valid() {
		return check.MismatchError("kor", "Sketch", "one that was not released", "a released one")
	}
	return check.Equal("kor", r.params, o.params)
}

// XOR returns the sketch of the keys that are in an odd number of the sets. The result has the
// largest Epsilon, and no CountShare if one of the two differs. The error wraps [ErrParams] without
// arguments and [ErrMismatch] if Seed, Cells or Levels differ.
func XOR(sketches ...*Sketch) (*Sketch, error) {
	if len(sketches) == 0 {
		return nil, bad("number of sketches", 0, "at least 1")
	}
	first := sets.OrZero(sketches[0])
	if !first.valid() {
		return nil, check.MismatchError("kor", "Sketch", "one that was not released", "a released one")
	}
	sum := &release{params: first.params, parts: first.parts, bits: slices.Clone(first.bits)}
	for _, s := range sketches[1:] {
		o, p := sets.OrZero(s).release, &sum.params
		if q := &o.params; q.Epsilon != p.Epsilon || q.CountShare != p.CountShare {
			p.Epsilon, p.CountShare = max(q.Epsilon, p.Epsilon), 0
			q.Epsilon, q.CountShare = p.Epsilon, 0
		}
		if err := sum.matches(&o); err != nil {
			return nil, err
		}
		parts, err := xorParts(sum.parts, o.parts)
		if err != nil {
			return nil, err
		}
		sum.parts = parts
		xor(sum.bits, o.bits)
	}
	if err := sameBits(sum.parts, sum.bits); err != nil {
		return nil, err
	}
	return &Sketch{*sum}, nil
}

// members are the keys of a Builder that counts, with their weights in steps of the grid. Only the
// noisy sum of the weights is released.
type members map[uint64]int32

const (
	countBits = 20 // weights are rounded to multiples of 2⁻²⁰ for the count
	maxCount  = 1 << 62
)

// toggle adds the key, or removes it if it is present.
func (m members) toggle(key uint64, w float64) {
	m.flip(key, int32(math.RoundToEven(math.Ldexp(w, countBits))))
}

func (m members) flip(key uint64, steps int32) {
	if _, present := m[key]; present {
		delete(m, key)
		return
	}
	m[key] = steps
}

// countLaw returns the noise of the count in steps: discrete Laplace noise for the ε of the count.
//
// The sum of the steps is an integer, below 2⁵³ as there are fewer than 2³² keys in memory, and one
// key more or less changes it by at most 2²⁰. So the noisy sum is ε₂-private, the bits are
// ε₁-private, and both together ε-private, with ε₁ + ε₂ ≤ ε by [Params.split].
func (p Params) countLaw() (noise.DiscreteLaplace, error) {
	_, epsilon := p.split()
	return sets.Laplace(epsilon, 1<<countBits) // of scale at most 2⁵⁰, as ε₂ ≥ 2⁻³⁰
}

// sum returns the sum of the weights in steps, without noise.
func (m members) sum() (steps int64) {
	for _, s := range m {
		steps += int64(s)
	}
	return steps
}
