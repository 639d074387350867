package jl

import (
	"math/bits"
	"math/rand/v2"

	"github.com/dpsketch/dpsketch/hashing"
)

// The labels under which the parts of a transform derive their seeds. They are part of the format.
const (
	labelBlock    = 0 << 32 // plus r, a block of the SJLT
	labelSigns    = 1 << 32 // plus i, sixty rows of the Rademacher transform
	labelDiagonal = 2 << 32 // the signs before a Hadamard matrix
	labelSample   = 3 << 32 // the rows of the SRHT
	labelEntries  = 4 << 32 // the entries of the Normal transform and of P
	labelSecond   = 5 << 32 // the second half of the key of a stream
)

// polynomial returns a hash function of the independence that the Params ask for, 4 if none.
func (p Params) polynomial(label uint64) hashing.Polynomial {
	h, err := hashing.NewPolynomial(p.Seed.Derive(label), p.independence())
	if err != nil {
		panic("jl: an independence that was not checked") // unreachable
	}
	return h
}

// polynomialBytes returns how much memory such a function takes: its coefficients, and four words
// that are not coefficients.
func (p Params) polynomialBytes() int { return 8 * (p.independence() + 4) }

// stream is public randomness that is read from the front to the back: the words of ChaCha8, whose
// definition does not change.
type stream struct{ words *rand.ChaCha8 }

func newStream(seed hashing.Seed) *stream {
	second := seed.Derive(labelSecond)
	var key [32]byte
	copy(key[:16], seed[:])
	copy(key[16:], second[:])
	return &stream{rand.NewChaCha8(key)}
}

func (s *stream) next() uint64 { return s.words.Uint64() }

// below returns a uniform number below n ≥ 1 (Lemire's method).
func (s *stream) below(n uint64) uint64 {
	for {
		hi, lo := bits.Mul64(s.next(), n)
		if lo >= -n%n {
			return hi
		}
	}
}
