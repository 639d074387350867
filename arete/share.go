package arete

import (
	"fmt"
	"math"

	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// Share is the noise of one of n parties that release the sum of their numbers, where nobody is
// trusted with the sum before it has noise. Each party publishes nothing but [Share.Mask], under a
// protocol of secure aggregation that reveals only the sum of all; then [Share.Sum] is the release.
// All arithmetic is modulo Params.Modulus, by default 2⁶⁴ as for int64.
//
// The sum of n shares has exactly the calibrated distribution (for Gaussian noise see gaussian.go),
// so the noise is that of one trusted party. If missing of n parties may drop out, or reveal their
// noise, a Share is one of n − missing: that many parties together have the calibrated noise, and
// further shares add to it, by up to √(n/(n − missing)). What is protected is the number of a party
// that takes part: no one can tell it from none (0, under AddRemove) or from another (under
// Replace).
//
// Numbers are rounded to the lattice at random, without bias: n of them have a standard deviation
// of at most √n/2 steps. All parties must use the same noise: where processors differ, compare
// [Lattice.String].
//
// A Share is for one goroutine at a time, and for one party: it holds the party's randomness, which
// it never prints.
type Share struct {
	secret
	lattice *Lattice
	parties int          // n
	need    int          // the number of shares that make the calibrated distribution
	noise   distribution // of their sum
}

type secret = private.State[drawing]

// drawing is what a party draws with.
type drawing struct {
	noise sampler
	src   noise.Source
}

// maxParties bounds the number of parties: what they send together, 2⁴⁰ steps each at most, fits an
// int64 with room for the noise.
const maxParties = 1 << 20

// Share returns the noise of one of n parties, of which up to missing may drop out or collude with
// the receiver. All use the same Params, n and missing. The error wraps [ErrParams] unless 0 ≤
// missing < n ≤ 2²⁰. Who drops out must not depend on the shares.
func (m *Mechanism) Share(n, missing int) (*Share, error) {
	switch {
	case !m.valid():
		return nil, errZero("Mechanism")
	case n < 1 || n > maxParties:
		return nil, bad("n", n, "an integer in [1, 2²⁰]")
	case missing < 0 || missing >= n:
		return nil, bad("missing", missing, "an integer in [0, n)")
	case !m.lattice.params.holds(n, m.lattice.noise.size):
		return nil, bad("Modulus", m.lattice.params.Modulus, fmt.Sprintf("0 or more than 2n·H = %d: the sum of n numbers of up to H steps must fit", 2*int64(n)*m.lattice.noise.size))
	}
	need := n - missing
	law, err := m.lattice.noise.sampler(uint64(need))
	if err != nil {
		return nil, err
	}
	sum := m.lattice.noise.share(uint64(need))
	if sum.law == Gaussian && !m.lattice.params.gaussianHolds(sum.scale, sum.size, need) {
		// unreachable: the lattice is fine
		return nil, bad("n", n, "fewer parties: n shares of Gaussian noise do not add up to it")
	}
	return &Share{private.New(drawing{noise: law}), m.lattice, n, need, sum}, nil
}

// Guarantee returns what [Share.Sum] promises for one party.
func (s *Share) Guarantee() budget.Guarantee {
	if !s.valid() {
		return budget.Guarantee{}
	}
	p := s.lattice.params
	return p.promise(budget.Party(p.relation()))
}

// valid reports whether s comes from a Mechanism.
func (s *Share) valid() bool { return s.lattice != nil }

// Noise draws the noise of the party, in steps of the lattice; with a Modulus, as uint64(s.Noise())
// in [0, Modulus). On the zero Share, and on one that two goroutines used at once, it is a uniform
// word, and hides any value.
func (s *Share) Noise() int64 {
	d := private.Enter(s.secret)
	if d == nil {
		return s.uniform()
	}
	k := d.noise.SampleInt(&d.src)
	private.Leave(s.secret)
	return word(k, s.lattice.params.Modulus)
}

// Mask returns what the party contributes: its number, in steps of the lattice, plus its noise,
// with a Modulus as a word like [Share.Noise]. The number is first clamped, to [−Δ, Δ] under
// AddRemove and to [0, Δ] under Replace, then rounded at random; NaN counts as the middle. So under
// Replace send numbers in [a, a+Δ] as x − a, and add n·a to the sum.
//
// The result is private only within the sum: do not publish it. Call Mask once for each sum; each
// spends the budget again.
func (s *Share) Mask(x float64) int64 {
	d := private.Enter(s.secret)
	if d == nil {
		return s.uniform()
	}
	k := s.point(x, &d.src) + d.noise.SampleInt(&d.src)
	private.Leave(s.secret)
	return word(k, s.lattice.params.Modulus)
}

// uniform is what a Share gives that has no distribution: a uniform word, of 64 bits if there is no
// Modulus.
func (s *Share) uniform() int64 {
	var modulus uint64
	if s.valid() {
		modulus = s.lattice.params.Modulus
	}
	return int64(new(noise.Source).Uint64N(modulus))
}

// holds reports whether the sum of n numbers of up to this many steps is told from any other.
func (p Params) holds(n int, steps int64) bool {
	return p.Modulus == 0 || uint64(n)*uint64(steps) <= (p.Modulus-1)/2
}

// word returns k modulo the modulus, in [0, modulus) as a uint64. 0 is 2⁶⁴.
func word(k int64, modulus uint64) int64 {
	switch {
	case modulus == 0:
		return k
	case k >= 0:
		return int64(uint64(k) % modulus)
	}
	return int64(modulus - 1 - uint64(^k)%modulus) // −k − 1 = ^k
}

// signed returns what a word stands for, the integer within ±modulus/2 that it is congruent to. An
// int64 that is no word, as it is negative or not below the modulus, stands for itself.
func signed(k int64, modulus uint64) int64 {
	if modulus > 0 && uint64(k) >= modulus {
		k = word(k, modulus)
	}
	if modulus > 0 && uint64(k) > modulus/2 {
		k -= int64(modulus)
	}
	return k
}

// point clamps and rounds x to the lattice. It is steps that are clamped, to ±H under AddRemove and
// to 0 … H under Replace, and both ends are points: whatever x and the random digits are, one party
// moves the sum by at most H. How its own digits fall depends on nothing else, so they change no
// sensitivity.
func (s *Share) point(x float64, src *noise.Source) int64 {
	p, size := s.lattice.params, s.noise.size
	low, high := -float64(size), float64(size)
	if p.relation() == budget.Replace {
		low = 0
	}
	y := x / p.sensitivity() * float64(size)
	if p.onIntegers(size) {
		y = x * (float64(size) / p.sensitivity())
	}
	if math.IsNaN(y) {
		y = (low + high) / 2
	}
	return int64(noise.RandomizedRound(src, min(max(y, low), high), 1))
}

// Sum returns the release. total is the sum, modulo 2⁶⁴ or the Modulus, of what Mask returned to
// the given number of parties: int64(w) for the word w of the protocol. The error wraps [ErrParams]
// if these are fewer than n − missing: then do not publish the total. It does not depend on the
// total.
func (s *Share) Sum(total int64, parties int) (*Value, error) {
	switch {
	case !s.valid():
		return nil, errZero("Share")
	case parties < s.need || parties > s.parties:
		return nil, bad("parties", parties, fmt.Sprintf("an integer in [%d, %d]: the number of parties that share the noise", s.need, s.parties))
	}
	v := newValue(s.lattice.params, s.noise, signed(total, s.lattice.params.Modulus))
	v.shared, v.parties, v.need = true, parties, s.need
	return &v, nil
}
