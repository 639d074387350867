package distinct

import (
	"math/bits"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/kor/internal/sets"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// base is what all builders of this package have in common; S is what they hold.
type base[S any, P kept[S]] struct {
	secret[S]
	params    Params
	guarantee budget.Guarantee
}

type secret[S any] = private.State[S]

// Guarantee returns what is promised.
func (b *base[S, P]) Guarantee() budget.Guarantee { return b.guarantee }

// Released reports a released or zero builder.
func (b *base[S, P]) Released() bool { return private.Released(b.secret) }

func (b *base[S, P]) seed() hashing.Seed { return b.params.Seed }

// merge adds what other holds by absorb, which may refuse, and takes it.
func (b *base[S, P]) merge(other *base[S, P], absorb func(into, from *S) error) error {
	_, name := P(nil).kind()
	return private.Merge(b.secret, other.secret, "distinct: Merge", name, absorb)
}

// Builder counts distinct keys: each sets one bit of a table.
type Builder struct{ base[state, *state] }

// state is what a Builder holds.
type state struct {
	place  placement
	table  []uint64
	params Params
	laws   laws
	src    noise.Source
}

// New returns an empty Builder. An ε above 20 protects hardly anybody.
func New(p Params) (*Builder, error) {
	p = p.normal()
	laws, err := p.laws()
	if err = p.windowless(err); err != nil {
		return nil, err
	}
	return &Builder{base[state, *state]{private.New(newState(p, laws)), p, p.Guarantee()}}, nil
}

// newState returns the state of an empty set.
func newState(p Params, l laws) state {
	return state{place: newPlacement(p.Seed, p.Cells, p.stride(), p.Levels), table: make([]uint64, p.words()), params: p, laws: l}
}

// Add adds keys, many in one call in less time per key. Repeated keys change nothing.
func (b *Builder) Add(keys ...uint64) {
	private.OneOrMany(b, keys, (*Builder).addOne, (*Builder).addMany)
}

func (b *Builder) addOne(key uint64) { private.Use(b.secret, (*state).set, key) }

func (b *Builder) addMany(keys []uint64) { private.Use(b.secret, (*state).setAll, keys) }

func (s *state) set(key uint64) { s.place.set(s.table, key) }

func (s *state) setAll(keys []uint64) { s.place.setAll(s.table, keys) }

// Adder is any builder of this package.
type Adder interface {
	Add(keys ...uint64)
	addOne(key uint64)
	seed() hashing.Seed
}

// AddKey adds integers as Add does, strings and arrays by their hashing.Fingerprint under
// Params.Seed: a number is not its string.
func AddKey[K hashing.Key](b Adder, keys ...K) {
	if plain, ok := b.(*Builder); ok && len(keys) == 1 { // without a call through the interface
		plain.addOne(sets.Word(plain.params.Seed, keys[0]))
	} else if ok {
		addKeys(plain, keys)
	} else {
		seed := b.seed()
		for _, key := range keys {
			b.addOne(sets.Word(seed, key))
		}
	}
}

// addKeys is AddKey of many keys, which are collected.
func addKeys[K hashing.Key](b *Builder, keys []K) {
	var words [64]uint64
	for len(keys) > 0 {
		part := words[:min(len(keys), len(words))]
		for i := range part {
			if text, ok := any(keys[i]).(string); ok { // without one more call
				part[i] = hashing.Fingerprint(b.params.Seed, text)
			} else {
				part[i] = sets.Word(b.params.Seed, keys[i])
			}
		}
		b.addMany(part)
		keys = keys[len(part):]
	}
}

// Merge adds, without noise, the set of other, which gives it up: the machine must be trusted with
// both.
func (b *Builder) Merge(other *Builder) error {
	return b.merge(&sets.OrZero(other).base, (*state).absorb)
}

func (s *state) absorb(o *state) error {
	if err := check.Equal("distinct", s.params, o.params); err != nil {
		return err
	}
	sets.Or(s.table, o.table)
	return nil
}

// Release spends ε and returns the private sketch.
func (b *Builder) Release() (*Sketch, error) {
	s, err := private.Take(b.secret, "distinct: Release: the Builder")
	if err != nil {
		return nil, err
	}
	n := ones(s.table) + s.laws.count.SampleInt(&s.src)
	r := &Sketch{total: total{release: release{s.params, numbers{n}}}, id: hashing.NewSeed()}
	if s.params.published() {
		s.laws.flips.Flip(&s.src, s.table)
		sets.ClearPadding(s.table, s.params.Cells)
		r.bits = s.table
	}
	return r, nil
}

// ones returns T, the number of ones of a table.
func ones(table []uint64) (t int64) {
	for _, word := range table {
		t += int64(bits.OnesCount64(word))
	}
	return t
}

// placement says which bit of a table a key sets. With t a word of the key, t·n = cell·2⁶⁴ + f: the
// cell is ⌊t·n/2⁶⁴⌋, and the level min(number of leading zeros of f, L−1). So every key sets a bit,
// at level i with probability r_i = 2^{−i−1}, at the last one with r_{L−1} = 2^{−L+1}: for a
// uniform t, the probability of a cell and a level or deeper ones is within 2⁻⁶⁴ of the product.
//
// t is the lower half of k₂·y, with y and the numbers k of [sets.Hash]. A digit of t depends on
// all lower ones of y; the uppermost say the cell, those below the level.
//
// Privacy holds for every function from keys to bits; the accuracy statements are for a fully
// random t. TestRegularKeys compares them on runs, grids and other regular sets.
type placement struct {
	k0, k1, k2 uint64      // those of a sets.Hash
	cells      uint64      // of a level
	starts     [65]uint64  // of the level, by the number of digits of f
	upper      [256]uint32 // the same by the upper byte of f; behind every table if that is 0
}

// beyond is a word behind every table, whose words are at most maxBits/64 and whose stamps are at
// most maxBits/8.
const beyond = 1 << 31

func newPlacement(seed hashing.Seed, cells, stride, levels int) placement {
	k := sets.NewHash(seed.Derive(1), seed.Derive(2))
	h := placement{k0: k.K0, k1: k.K1, k2: k.K2, cells: uint64(cells)}
	for digits := range h.starts {
		h.starts[digits] = uint64(min(64-digits, levels-1)) * uint64(stride)
	}
	for i := range h.upper {
		h.upper[i] = uint32(h.starts[bits.Len64(uint64(i)<<56)])
	}
	h.upper[0] = beyond
	return h
}

// word returns t.
func (h *placement) word(key uint64) uint64 {
	hi, lo := bits.Mul64(h.k1, key^h.k0)
	return (hi ^ lo) * h.k2
}

// cell returns the number of the cell among those of all levels, for a stride of cells. f|1 has the
// level of f, and its length takes an instruction less than that of a number that may be 0.
func (h *placement) cell(key uint64) uint64 {
	cell, f := bits.Mul64(h.cells, h.word(key))
	return h.starts[bits.Len64(f|1)] + cell
}

// set sets the bit of a key.
func (h *placement) set(table []uint64, key uint64) { h.mark(table, h.word(key)) }

// mark sets the bit of a key whose word is t.
func (h *placement) mark(table []uint64, t uint64) {
	cell, f := bits.Mul64(h.cells, t)
	if word := h.starts[bits.Len64(f|1)] + cell>>6; word < uint64(len(table)) {
		table[word] |= 1 << (cell & 63)
	}
}

// setAll sets the bits of the keys. The level is read by the upper byte of f, which takes fewer
// instructions than counting digits; one key of 256, whose byte is 0, needs all of f.
func (h *placement) setAll(table []uint64, keys []uint64) {
	for {
		n := h.setUsual(table, keys)
		if n == len(keys) {
			return
		}
		h.set(table, keys[n])
		keys = keys[n+1:]
	}
}

// setUsual sets the bits of the first keys, up to one whose byte is 0, and returns their number.
func (h *placement) setUsual(table []uint64, keys []uint64) int {
	k0, k1, k2, cells := h.k0, h.k1, h.k2, h.cells
	for i, key := range keys {
		hi, lo := bits.Mul64(k1, key^k0)
		cell, f := bits.Mul64(cells, (hi^lo)*k2)
		word := uint64(h.upper[f>>56]) + cell>>6
		if word >= uint64(len(table)) {
			return i
		}
		table[word] |= 1 << (cell & 63)
	}
	return len(keys)
}
