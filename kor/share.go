package kor

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/kor/internal/sets"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// maxParties is the most parties among which noise is shared.
const maxParties = 1 << 20

// Share is the table of a set with an n-th of the noise, for a secure aggregation that publishes
// only the XOR of n parties' shares. It is not public, and never prints its content.
type Share struct {
	secret
	guarantee budget.Guarantee
}

// shareFlips returns the law of the flips of one of n parties, p_n = (1 − (1−2p)^{1/n})/2 rounded
// up: the XOR of n independent flips is 1 with probability ½·(1 − (1−2p_n)ⁿ) ≥ p. That is never
// above ½, so the aggregate is ε-private like a release of one party with p.
func (p Params) shareFlips(parties int) (noise.Bernoulli, error) {
	whole, err := p.flips()
	switch {
	case err != nil:
		return noise.Bernoulli{}, err
	case p.CountShare != 0:
		return noise.Bernoulli{}, bad("CountShare", p.CountShare, "0 where noise is shared: nobody knows the count of the aggregate")
	case parties < 1 || parties > maxParties:
		return noise.Bernoulli{}, bad("number of parties", parties, "an integer in [1, 2²⁰]")
	case parties == 1:
		return whole, nil
	}
	// The logarithm is within a relative 2⁻⁵⁰ and expm1 within another 2⁻⁵²: together less than
	// half of what is added.
	return noise.BernoulliAtLeast(min(0.5, -math.Expm1(logSign(whole.K())/float64(parties))/2*(1+0x1p-47)))
}

// Share ends the Builder and returns the share of one of n parties, which have the noise of one
// release together. If parties may drop out, or collude and reveal their noise, let n be the number
// that surely do neither. The error wraps [ErrReleased], or [ErrParams] unless parties is in [1,
// 2²⁰] and CountShare is 0.
func (b *Builder) Share(parties int) (*Share, error) {
	if b.Released() {
		return nil, private.Missing(b.secret, "kor: Share: the Builder")
	}
	law, err := b.params.shareFlips(parties)
	if err != nil {
		return nil, err
	}
	s, err := private.Take(b.secret, "kor: Share: the Builder")
	if err != nil {
		return nil, err
	}
	s.randomize(law)
	return &Share{private.New(state{table: s.table, law: law}), shareGuarantee(law)}, nil
}

// Guarantee returns what protects the set from anyone who sees the share: ε′ = ln((1 − p_n)/p_n),
// far more than ε.
func (s *Share) Guarantee() budget.Guarantee { return s.guarantee }

// shareGuarantee returns what flips by themselves promise. (1−p)/p − 1 = 2·(2⁶³ − k)/k, where the
// difference is exact: so the result is within a relative 2⁻⁵⁰, also for p near ½, before it is
// moved up.
func shareGuarantee(law noise.Bernoulli) budget.Guarantee {
	k := law.K()
	return budget.PureDP(math.Log1p(2*float64(1<<63-k)/float64(k))*(1+0x1p-48), unit)
}

// Bytes returns the 8·Levels·⌈Cells/64⌉ bytes of the share. Nil for the zero Share.
func (s *Share) Bytes() []byte {
	held := private.Enter(s.secret)
	if held == nil {
		return nil
	}
	defer private.Leave(s.secret)
	return sets.AppendTable(nil, held.table)
}

// Aggregate returns the sketch of the symmetric difference of all parties' sets, from the bytes of
// every share, or from the one XOR that a secure protocol has computed, which counts as n shares.
// parties is the n of [Builder.Share]. The sketch is ε-private for a change of one key in any
// number of the sets together. The error wraps [ErrParams] for bad Params or parties, and for 2 to
// n − 1 slices; [ErrMismatch] for bytes that cannot be the XOR of such shares, and for a share that
// is there twice, except in tables so small that two may be equal by chance.
func Aggregate(p Params, parties int, shares ...[]byte) (*Sketch, error) {
	p = p.normal()
	law, err := p.shareFlips(parties)
	if err != nil {
		return nil, err
	}
	if n := len(shares); n != 1 && n < parties || n == 0 || n > maxParties {
		return nil, bad("number of shares", n, fmt.Sprintf("1, which is the XOR of all, or from %d to 2²⁰", parties))
	}
	// Shares of two parties are equal with a probability below e⁻¹⁰⁰ then, whatever their sets are:
	// a cell differs with a probability of 2p(1 − p) at least.
	tells := 2*law.Prob()*(1-law.Prob())*float64(p.Cells*p.Levels) >= 100
	sum, seen := make([]uint64, p.words()), map[[sha256.Size]byte]bool{}
	for _, share := range shares {
		if uint64(len(share)) != 8*p.words() {
			return nil, check.MismatchError("kor", "bytes of a share", len(share), 8*p.words())
		}
		if tells {
			hash := sha256.Sum256(share)
			if seen[hash] {
				return nil, check.MismatchError("kor", "one of the shares", "there twice", "one share of each party: equal ones cancel, and so does their noise")
			}
			seen[hash] = true
		}
		for i := range sum {
			sum[i] ^= binary.LittleEndian.Uint64(share[8*i:])
		}
	}
	if ones := sets.PaddingOnes(sum, p.Cells); ones != 0 {
		return nil, check.MismatchError("kor", "bits behind the cells of a level", ones, 0)
	}
	return &Sketch{release{params: p, parts: []part{newPart(p, law, uint32(max(parties, len(shares))), newOrigin())}, bits: sum}}, nil
}
