package kor

import (
	"slices"

	"github.com/dpsketch/dpsketch/internal/check"
)

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

// SymmetricDifference returns the sketch of the keys that are in exactly one of the two sets; each
// may itself be a symmetric difference. The operation is commutative, associative and self-inverse:
// s ⊕ s is the empty sketch, and (s ⊕ t) ⊕ t has the bits and the noise of s. It is post-processing
// and costs no budget; see [Sketch.Guarantee] for what all releases promise together. Counts are
// dropped.
//
// The error wraps [ErrMismatch] if the Params, the Seed included, are not equal, or if other is nil
// or was never released. If parties have different ε, use [XOR].
func (s *Sketch) SymmetricDifference(other *Sketch) (*Sketch, error) {
	if s == nil || other == nil {
		return nil, check.MismatchError("kor", "Sketch", "nil", "a released one")
	}
	sum := &Sketch{}
	if err := sum.xor(&s.release, &other.release); err != nil {
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

// XOR returns the sketch of the keys that are in an odd number of the sets: the symmetric
// difference of k parties. Unlike [Sketch.SymmetricDifference] it accepts parties with different
// Epsilon and CountShare; each release keeps its noise. The Params of the result have the largest
// Epsilon, and no CountShare if these differ.
//
// The error wraps [ErrParams] without arguments and [ErrMismatch] if Seed, Cells or Levels differ.
func XOR(sketches ...*Sketch) (*Sketch, error) {
	if len(sketches) == 0 {
		return nil, bad("number of sketches", 0, "at least 1")
	}
	first := sketches[0]
	if first == nil || !first.valid() {
		return nil, check.MismatchError("kor", "Sketch", "one that was not released", "a released one")
	}
	sum := &release{params: first.params, parts: first.parts, bits: slices.Clone(first.bits)}
	for _, s := range sketches[1:] {
		if s == nil {
			return nil, check.MismatchError("kor", "Sketch", "nil", "a released one")
		}
		o, p := s.release, &sum.params
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
