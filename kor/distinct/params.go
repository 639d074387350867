package distinct

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/kor/internal/sets"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

const (
	maxEpsilon = 44 // of noise.RandomizedResponse
	minCells   = 16 // below, the formula for the variance of the count is too far off
	maxCells   = 1<<31 - 1
	maxLevels  = 64
	maxBits    = 1 << 33 // of a whole sketch: 1 GiB
)

// Params are the public numbers of a sketch, equal in merged builders.
type Params struct {
	// Epsilon is ε of the whole release, in [2⁻³⁰, 44].
	Epsilon float64
	// Cells is n, the number of bits per level, at least 16. 0 is 2048, for a
	// relative error of 1.5 %.
	Cells int
	// Levels is L, in [1, 64], for counts up to 2^L·n/4. 0 is 24, for 8·10⁹ keys.
	Levels int
	// CountShare is the fraction of ε, in (0, 1], for the count, the rest for the
	// noisy bits, which [Compare] and [Union] need. 0 is 1. Only [New] and
	// [Builder.Release] take less than 1.
	CountShare float64
	// Spans are the windows of a [WindowBuilder] in days, ascending, each at most
	// 255. 0 is 1, 7 and 30. Other builders refuse them.
	Spans [8]int
	// Seed selects the hash functions. It is public, not zero, and agreed on by
	// all who merge or compare before they look at their data.
	Seed hashing.Seed
}

// bad returns the error for a field or an argument.
func bad(field string, value any, want string) error {
	return check.ParamsError("distinct", field, value, want)
}

// seeded returns the Params with a Seed, for what does not depend on it.
func (p Params) seeded() Params {
	if p.Seed.IsZero() {
		p.Seed = hashing.Seed{1}
	}
	return p
}

// normal returns the Params with the defaults.
func (p Params) normal() Params {
	p.Cells = cmp.Or(p.Cells, 2048)
	p.Levels = cmp.Or(p.Levels, 24)
	p.CountShare = cmp.Or(p.CountShare, 1)
	return p
}

// validate checks the fields.
func (p Params) validate() error {
	if err := check.Epsilon("distinct", p.Epsilon, maxEpsilon); err != nil {
		return err
	}
	switch {
	case p.Cells < minCells || p.Cells > maxCells:
		return bad("Cells", p.Cells, "0 or an integer in [16, 2³¹)")
	case p.Levels < 1 || p.Levels > maxLevels:
		return bad("Levels", p.Levels, "0 or an integer in [1, 64]")
	case p.words() > maxBits/64:
		return bad("Cells", p.Cells, fmt.Sprintf("at most 2³³ bits in all: %d levels of %d cells take %d bytes",
			p.Levels, p.Cells, 8*p.words()))
	case !(p.CountShare >= 0 && p.CountShare <= 1):
		return bad("CountShare", p.CountShare, "a number in [0, 1]")
	case !ascending(p.Spans):
		return bad("Spans", p.Spans, "0 or ascending numbers of days in [1, 255], zeros behind them")
	case p.Seed.IsZero():
		return bad("Seed", p.Seed, "a Seed that the parties agreed on, from hashing.NewSeed, say")
	}
	if bits, count := p.split(); count < check.MinEpsilon || p.published() && bits < check.MinEpsilon {
		return bad("CountShare", p.CountShare, "0, 1 or a share that leaves count and bits an ε of at least 2⁻³⁰ each")
	}
	return nil
}

// windowless returns the error, or another one for Spans, which only a WindowBuilder has.
func (p Params) windowless(err error) error {
	if err == nil && p.Spans != [8]int{} {
		return bad("Spans", p.Spans, "0 without a WindowBuilder")
	}
	return err
}

// published reports whether the bits are part of the release.
func (p Params) published() bool { return p.CountShare > 0 && p.CountShare < 1 }

// stride returns the number of words of a level: each begins with a new word.
func (p Params) stride() int { return sets.Stride(p.Cells) }

// words returns the number of words of all levels, also where that is too many.
func (p Params) words() uint64 { return uint64(p.stride()) * uint64(p.Levels) }

// split returns the ε of the bits and of the count. Their exact sum is at most Epsilon: the
// difference is off by at most half an ulp before it is moved down by one.
func (p Params) split() (bits, count float64) {
	if !p.published() {
		return 0, p.Epsilon
	}
	count = p.Epsilon * p.CountShare
	return math.Nextafter(p.Epsilon-count, 0), count
}

// unit is one key with all its occurrences.
var unit = budget.Key(budget.AddRemove)

// Guarantee returns ε-differential privacy for a key; invalid Params promise nothing.
func (p Params) Guarantee() budget.Guarantee {
	if p = p.normal(); p.validate() != nil {
		return budget.Guarantee{}
	}
	bits, count := p.split()
	// of one unit, so no error
	parts, _ := budget.Compose(budget.PureDP(bits, unit), budget.PureDP(count, unit))
	return budget.PureDP(p.Epsilon, unit).WithPair(parts)
}

// laws are what a release draws from.
type laws struct {
	flips noise.Bernoulli // of each bit, if bits are published
	count noise.DiscreteLaplace
}

// laws returns the noise of a release.
//
// Theorem. For every choice of the hash functions a release is ε-private. Proof. The table is a
// function of the set of the keys: a key, however often it comes, sets one bit. So two sets that
// differ in one key have tables that are equal or differ in one bit, and numbers of ones that
// differ by at most 1. The count T + Z, Z discrete Laplace of scale ≥ 1/ε₂, is ε₂-private. Each bit
// is flipped independently with probability p ≥ 1/(e^ε₁ + 1), so one changed bit changes no
// probability of the flipped table by more than the factor (1−p)/p ≤ e^ε₁. Z and the flips are
// independent, and ε₁ + ε₂ ≤ ε. ∎ Both factors are attained together: by a table with that bit and
// a large count.
func (p Params) laws() (l laws, err error) {
	if err = p.validate(); err != nil {
		return laws{}, err
	}
	bits, count := p.split()
	if l.count, err = sets.Laplace(count, 1); err == nil && p.published() {
		l.flips, err = noise.RandomizedResponse(bits)
	}
	return l, err
}

// Sentinel errors, shared by all packages, for errors.Is. [ErrParams]: a number or a day out of
// range. [ErrMismatch]: other Params, or a builder with itself. [ErrFormat]: bytes that nothing was
// encoded to, or encoding what was neither released nor decoded. [ErrReleased]: a released or a
// zero builder.
var (
	ErrParams   = check.ErrParams
	ErrMismatch = check.ErrMismatch
	ErrFormat   = check.ErrFormat
	ErrReleased = check.ErrReleased
)

// windowed returns the Params with Spans.
func (p Params) windowed() Params {
	if p.Spans == ([8]int{}) {
		p.Spans = [8]int{1, 7, 30}
	}
	return p
}

// ascending reports whether there are ascending numbers of days, with zeros behind them.
func ascending(spans [8]int) bool {
	for i, days := range spans {
		if days < 0 || days > math.MaxUint8 || i > 0 && days > 0 && (days <= spans[i-1] || spans[i-1] == 0) {
			return false
		}
	}
	return true
}

// windows returns the lengths of the windows.
func (p *Params) windows() []int {
	n := 0
	for n < len(p.Spans) && p.Spans[n] > 0 {
		n++
	}
	return p.Spans[:n]
}

// window returns the number of classes that are in the window of that many days, 0 for no window.
func (p *Params) window(days int) int { return slices.Index(p.windows(), days) + 1 }
