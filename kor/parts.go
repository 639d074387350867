package kor

import (
	"bytes"
	"math"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// part is one release whose bits are in a sketch. Its identity is public randomness and has nothing
// to do with the data: the first half was drawn with the Builder and goes with its private state,
// the second is drawn at the release.
//
// The parts of a sketch say what its noise is. XOR of sketches adds their noise, and noise cancels
// where one release is in both: so the parts of the XOR are those that are in one of the two, as
// for the sets, and independent each of the others. The flip probability p′ of the XOR is exact at
// every number of merges: 1 − 2p′ = Π (1 − 2pⱼ) over the parts, which is p₁ + p₂ − 2p₁p₂ for two. A
// sketch XORed with itself has no parts, no noise and no bits: it is the sketch of the empty set,
// and says so.
type part struct {
	id      hashing.Seed
	epsilon float64
	k       uint64 // every flip of a bit had probability k/2⁶⁴
	flips   uint32 // of each bit: n for an aggregate of n shares, else 1
}

// logSign returns ln(1 − 2p) of the part, ln E[(−1)^flip].
func (p part) logSign() float64 { return float64(p.flips) * logSign(p.k) }

// logSign returns ln(1 − 2k/2⁶⁴) for k ≤ 2⁶³.
func logSign(k uint64) float64 {
	if k > 1<<61 { // 2⁶³ − k is exact, and 1 − 2p far from 1
		return math.Log(float64(1<<63-k) * 0x1p-63)
	}
	return math.Log1p(-float64(k) * 0x1p-63)
}

// maxParts is the most releases that one sketch can be the XOR of.
const maxParts = 1 << 20

func compareParts(a, b part) int { return bytes.Compare(a.id[:], b.id[:]) }

// xorParts returns the parts that are in one of the two lists, both sorted by identity.
func xorParts(a, b []part) ([]part, error) {
	sum := make([]part, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch c := compareParts(a[0], b[0]); {
		case c < 0:
			sum, a = append(sum, a[0]), a[1:]
		case c > 0:
			sum, b = append(sum, b[0]), b[1:]
		case a[0] != b[0]:
			return nil, check.MismatchError("kor", "release "+a[0].id.String(), a[0].k, b[0].k)
		default:
			a, b = a[1:], b[1:]
		}
	}
	sum = append(append(sum, a...), b...)
	if len(sum) > maxParts {
		return nil, bad("number of releases", len(sum), "at most 2²⁰ in one sketch")
	}
	return sum, nil
}

// common returns a release that is in both lists.
func common(a, b []part) (id hashing.Seed, ok bool) {
	for len(a) > 0 && len(b) > 0 {
		switch c := compareParts(a[0], b[0]); {
		case c < 0:
			a = a[1:]
		case c > 0:
			b = b[1:]
		default:
			return a[0].id, true
		}
	}
	return id, false
}

// totalLogSign returns ln(1 − 2p′) of the XOR of all parts, 0 for none.
func totalLogSign(parts []part) (sum float64) {
	for _, p := range parts {
		sum += p.logSign()
	}
	return sum
}

// together returns what the releases behind the parts promise together. Without parts nothing is
// promised, though a sketch without parts holds nothing either.
func together(parts []part) budget.Guarantee {
	if len(parts) == 0 {
		return budget.Guarantee{}
	}
	all := make([]budget.Guarantee, len(parts))
	for i, p := range parts {
		all[i] = budget.PureDP(p.epsilon, unit)
	}
	g, _ := budget.Compose(all...) // one unit, so no error
	return g
}

// origin is the first half of an identity: that of the Builder whose data were released.
type origin [8]byte

func newOrigin() origin {
	seed := hashing.NewSeed()
	return origin(seed[:8])
}

// newPart returns the record of a fresh release.
func newPart(p Params, law noise.Bernoulli, flips uint32, from origin) part {
	id := hashing.NewSeed()
	copy(id[:], from[:])
	return part{id: id, epsilon: p.Epsilon, k: law.K(), flips: flips}
}

// origin returns the Builder that the release came from.
func (p part) origin() origin { return origin(p.id[:8]) }

// largestEpsilon returns the ε of the weakest release, 0 without parts.
func largestEpsilon(parts []part) (epsilon float64) {
	for _, p := range parts {
		epsilon = max(epsilon, p.epsilon)
	}
	return epsilon
}

// weakest returns the weakest of what the releases of one Builder promise together. They are
// adjacent, as the parts are sorted.
func weakest(parts []part) (g budget.Guarantee) {
	epsilon := 0.0
	for len(parts) > 0 {
		n := 1
		for n < len(parts) && parts[n].origin() == parts[0].origin() {
			n++
		}
		if all := together(parts[:n]); all.Epsilon() > epsilon {
			g, epsilon = all, all.Epsilon()
		}
		parts = parts[n:]
	}
	return g
}
