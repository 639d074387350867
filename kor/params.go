package kor

import (
	"cmp"
	"fmt"
	"math"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/kor/internal/sets"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

const (
	maxEpsilon = 44 // of noise.RandomizedResponse
	maxCells   = 1<<31 - 1
	maxLevels  = 64      // hash words have 64 bits, so no key is at a deeper level
	maxBits    = 1 << 33 // of a whole sketch: 1 GiB
)

// Params are the public numbers of a sketch.
type Params struct {
	// Epsilon is ε of the whole release, in [2⁻³⁰, 44].
	Epsilon float64
	// Cells is n, the number of bits per level, at least 1. The error falls as
	// 1/√n. 0 is 4096.
	Cells int
	// Levels is L, in [1, 64]: level i holds a key of weight w with probability
	// w/2^(i+1). Sets of up to about 2^L·n/8 keys have full accuracy. 0 is 24.
	Levels int
	// Seed selects the hash functions. It is public. The parties must agree on it
	// before they look at their data. The zero Seed is refused.
	Seed hashing.Seed
	// CountShare is the fraction of ε, in [0, 1), that is spent on a noisy count
	// of the set, with standard deviation √2/(CountShare·ε); 0 means no count.
	// With CountShare a Builder holds its keys, some 40 bytes each.
	CountShare float64
}

// bad returns the error for a field or an argument.
func bad(field string, value any, want string) error {
	return check.ParamsError("kor", field, value, want)
}

// normal returns the Params with the defaults.
func (p Params) normal() Params {
	p.Cells = cmp.Or(p.Cells, 4096)
	p.Levels = cmp.Or(p.Levels, 24)
	p.CountShare += 0 // no −0
	return p
}

// validate checks the fields.
func (p Params) validate() error {
	if err := check.Epsilon("kor", p.Epsilon, maxEpsilon); err != nil {
		return err
	}
	switch {
	case p.Cells < 1 || p.Cells > maxCells:
		return bad("Cells", p.Cells, "0 or an integer in [1, 2³¹)")
	case p.Levels < 1 || p.Levels > maxLevels:
		return bad("Levels", p.Levels, "0 or an integer in [1, 64]")
	case p.words() > maxBits/64:
		return bad("Cells", p.Cells, fmt.Sprintf("at most 2³³ bits in all: %d levels of %d cells take %d bytes", p.Levels, p.Cells, 8*p.words()))
	case p.Seed.IsZero():
		return bad("Seed", p.Seed, "a Seed that the parties agreed on, from hashing.NewSeed, say")
	case !(p.CountShare >= 0 && p.CountShare < 1):
		return bad("CountShare", p.CountShare, "a number in [0, 1)")
	}
	if bits, count := p.split(); bits < check.MinEpsilon || p.CountShare > 0 && count < check.MinEpsilon {
		return bad("CountShare", p.CountShare, "0 or a share that leaves count and sketch an ε of at least 2⁻³⁰ each")
	}
	return nil
}

// validateStream is validate for sketches of streams, which have no count.
func (p Params) validateStream() error {
	if err := p.validate(); err != nil {
		return err
	}
	if p.CountShare != 0 {
		return bad("CountShare", p.CountShare, "0 for a stream, whose distinct keys are not counted")
	}
	return nil
}

// stride returns the number of words of a level: each begins with a new word, and bits behind Cells
// stay 0.
func (p Params) stride() int { return sets.Stride(p.Cells) }

// words returns the number of words of all levels, also where that is too many.
func (p Params) words() uint64 { return uint64(p.stride()) * uint64(p.Levels) }

// split returns the ε of the bits and of the count. Their exact sum is at most Epsilon: the
// difference is off by at most half an ulp before it is moved down by one.
func (p Params) split() (bits, count float64) {
	if p.CountShare == 0 {
		return p.Epsilon, 0
	}
	count = p.Epsilon * p.CountShare
	return math.Nextafter(p.Epsilon-count, 0), count
}

// unit is one key of the set, or of a stream one key with all its occurrences.
var unit = budget.Key(budget.AddRemove)

// Guarantee returns ε-differential privacy for one key, whatever its weight, added or removed; in a
// stream, with all its occurrences. Invalid Params promise nothing.
func (p Params) Guarantee() budget.Guarantee {
	p = p.normal()
	if p.validate() != nil {
		return budget.Guarantee{}
	}
	g := budget.PureDP(p.Epsilon, unit)
	law, err := p.countLaw()
	if p.CountShare == 0 || err != nil {
		return g
	}
	// one bit, and independently the count, which moves by at most 2²⁰ steps; of one unit, so no
	// error
	bits, count := p.split()
	parts, _ := budget.Compose(budget.PureDP(bits, unit), budget.DiscreteLaplace(count, law.Scale(), unit))
	return g.WithPair(parts)
}

// flips returns the law of the flips.
//
// Theorem (thesis, Lemma 3.2, for p ≥ 1/(e^ε + 1) itself). For every choice of the hash functions
// and all weights the release is ε-private. Proof. A key is at one level at most, and there in one
// cell. So two sets that differ in one key have tables that are equal or differ in one bit. Each
// bit is flipped independently with probability p ≤ ½. The probabilities of an output under the two
// tables have all factors in common but that of this bit, p in one and 1 − p in the other: their
// ratio is at most (1−p)/p ≤ e^ε. ∎
func (p Params) flips() (noise.Bernoulli, error) {
	if err := p.validate(); err != nil {
		return noise.Bernoulli{}, err
	}
	epsilon, _ := p.split()
	return noise.RandomizedResponse(epsilon)
}

// size returns the length in bytes of the encoding of one release.
func (p Params) size() int { return fixedSize + partSize + 8*int(p.words()) }

// Sentinel errors, shared by all packages; match them with errors.Is.
var (
	ErrParams   = check.ErrParams
	ErrMismatch = check.ErrMismatch
	ErrFormat   = check.ErrFormat
	ErrReleased = check.ErrReleased
)
