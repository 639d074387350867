package kor

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/kor/internal/sets"
	"github.com/dpsketch/dpsketch/noise"
)

// StreamBuilder sketches a stream, in which keys may come any number of times (thesis, section
// 3.6). It holds private data, like a [Builder]. It is for sums of weights of distinct keys, and
// for one sketch of fixed size of many streams; otherwise kor/distinct has a half to a quarter of
// the error.
type StreamBuilder struct{ base }

// streamFlips returns the law of the flips of a stream: the least k/2⁶⁴ that is at least e^{−ε}/2.
//
// Theorem. The release is ε-private when a key with all its occurrences is added to the stream or
// removed from it, for every choice of the hash functions and all weights, and so is the release
// when occurrences of one key are added or removed. (An occurrence of a key that has others changes
// nothing at all: the table is the same.) Proof. Given the stream, the cells are independent: a
// cell of which no key came is 1 with probability p, each other one is a fair coin, and stays one
// when it is flipped. All occurrences of a key belong to one cell or none. So adding the key
// changes the law of one bit at most, from (1−p, p) to (½, ½), which changes no probability by more
// than the factor max(½/p, 2·(1−p)): ½/p ≤ e^ε, and 2·(1−p) ≤ 2 − e^{−ε} ≤ e^ε as e^ε + e^{−ε} ≥ 2.
// ∎
//
// Each release of one stream, which may have grown between them, is a function of the data and of
// coins of its own: k of them are kε-private. The loss is kε apart from the rounding of p, by k
// ones in the cell of the key. With a coin for every occurrence, as in the thesis, all releases of
// a table share its coins, and two of them cost ln(½(1+(2e^ε−1)²)), 2.34 at ε = 1, not 2ε.
//
// The thesis leaves p to the reader. As a bit with keys is uniform, p = e^{−ε}/2 is enough and less
// than the 1/(e^ε + 1) of a set.
func (p Params) streamFlips() (noise.Bernoulli, error) {
	if err := p.validateStream(); err != nil {
		return noise.Bernoulli{}, err
	}
	// exp is within 1 ulp, and so is the last product: together within 2⁻⁵¹, a quarter of what is
	// added.
	return noise.BernoulliAtLeast(min(0.5, math.Exp(-p.Epsilon)/2*(1+0x1p-49)))
}

// NewStreamBuilder returns the StreamBuilder of an empty stream, or an error that wraps
// [ErrParams]. CountShare must be 0. An ε above 20 protects hardly anybody.
func NewStreamBuilder(p Params) (*StreamBuilder, error) {
	p = p.normal()
	law, err := p.streamFlips()
	if err != nil {
		return nil, err
	}
	return &StreamBuilder{newBase(p, law, noise.DiscreteLaplace{}, true)}, nil
}

// Add counts one occurrence of each of the keys, many in one call in less time per key.
func (b *StreamBuilder) Add(keys ...uint64) {
	private.OneOrMany(b, keys, (*StreamBuilder).addOne, (*StreamBuilder).addMany)
}

func (b *StreamBuilder) addOne(key uint64) { private.Use(b.secret, (*state).set, key) }

func (b *StreamBuilder) addMany(keys []uint64) { private.Use(b.secret, (*state).setAll, keys) }

// AddKey adds keys of any type, as [ToggleKey] reads them.
func AddKey[K hashing.Key](b *StreamBuilder, keys ...K) {
	for _, key := range keys {
		b.addOne(sets.Word(b.params.Seed, key))
	}
}

// set sets the bit of a key.
func (s *state) set(key uint64) {
	hi, lo := bits.Mul64(s.place.k1, key^s.place.k0) // as in placement.at
	u, v := bits.Mul64(s.place.k2, hi^lo)
	cell, _ := bits.Mul64(s.place.cells, v)
	if i := s.place.starts[bits.TrailingZeros64(u|1<<63)] + cell>>6; i < uint64(len(s.table)) {
		s.table[i] |= 1 << (cell & 63)
	}
}

func (s *state) setAll(keys []uint64) {
	table := s.table
	for i, bit := range s.place.each(keys) {
		if i < uint64(len(table)) {
			table[i] |= bit
		}
	}
}

// AddWeighted is Add for a key of a weight, as in [Builder.ToggleWeighted].
func (b *StreamBuilder) AddWeighted(key uint64, weight float64) {
	w, ok := validWeight(weight)
	if !ok {
		return
	}
	if s := private.Enter(b.secret); s != nil {
		s.place.set(s.table, key, w)
		private.Leave(b.secret)
	}
}

// Merge adds the stream of the other StreamBuilder, with the rules of [Builder.Merge].
func (b *StreamBuilder) Merge(other *StreamBuilder) error {
	return b.merge(&sets.OrZero(other).base, "StreamBuilder")
}

// Release spends ε and returns the private sketch. The error wraps [ErrReleased].
func (b *StreamBuilder) Release() (*StreamSketch, error) {
	s, err := private.Take(b.secret, "kor: Release: the StreamBuilder")
	if err != nil {
		return nil, err
	}
	tossCoins(s.table, s.src.Uint64)
	s.randomize(s.law)
	return &StreamSketch{s.released()}, nil
}

// tossCoins makes every bit of the table that is 1 a fair coin.
func tossCoins(table []uint64, coins func() uint64) {
	for i, word := range table {
		if word != 0 {
			table[i] = word & coins()
		}
	}
}

// StreamSketch is a released sketch of a stream, or the union of several. The zero StreamSketch
// answers NaN.
type StreamSketch struct{ release }

// String says what was released.
func (s *StreamSketch) String() string { return s.text("kor.StreamSketch", "a stream") }

// Union returns the sketch of all streams together. The error wraps [ErrMismatch] if the Params are
// not equal, if other is nil or zero, or if one release is in both, whose keys would cancel.
func (s *StreamSketch) Union(other *StreamSketch) (*StreamSketch, error) {
	s, other = sets.OrZero(s), sets.OrZero(other)
	if id, ok := common(s.parts, other.parts); ok {
		return nil, fmt.Errorf("kor: Union: release %v is in both sketches, and its keys would cancel: %w", id, check.ErrMismatch)
	}
	sum := &StreamSketch{}
	if err := sum.xor(&s.release, &other.release); err != nil {
		return nil, err
	}
	return sum, nil
}
