package arete

import (
	"math"

	"github.com/dpsketch/dpsketch/noise"
)

// logarithmic draws K ≥ 1 with Pr[K = k] ∝ p^k/k, p = e^{−1/s}: the jumps of a negative binomial
// law. It is exact for the float64 s as it stands.
//
// The values to B = 2^J ≥ 1.4·s are in J+1 octaves, {1}, {2}, {3, 4}, {5, …, 8}, …, the others in
// blocks mB+1, …, (m+1)B, m ≥ 1. Each octave has about the same weight, and all blocks together
// have no more than one. A proposal draws m with Pr = (1−p^B)·p^{mB}, the number of whole blocks in
// a geometric G, and one of J+2 cases:
//
//	octave of 2^j values: only if m = 0; k uniform in it, accepted with (2^j/k)·p^{k−1}:
//	        weight (1−p^B)·p^{k−1}/k
//	blocks: only if m ≥ 1; k = mB+1+i, i uniform, accepted with (B/k)·p^i:
//	        weight (1−p^B)·p^{mB}·p^i/k
//
// So every k has the weight (1−p^B)·p^{k−1}/k. An event of probability p^i is a geometric draw that
// is at least i; 2^j/k is decided among integers.
type logarithmic struct {
	unit    noise.Geometric
	octaves uint
}

func newLogarithmic(s float64) (logarithmic, error) {
	unit, err := noise.NewGeometric(s)
	return logarithmic{unit, uint(max(0, math.Ceil(math.Log2(1.4*s))))}, err
}

func (l logarithmic) draw(src *noise.Source) int64 {
	for {
		octave := uint(src.Uint64N(uint64(l.octaves + 2)))
		blocks := uint64(l.unit.SampleInt(src)) >> l.octaves
		if (blocks == 0) != (octave <= l.octaves) {
			continue
		}
		var k, size, decay uint64
		switch octave {
		case 0:
			return 1
		case l.octaves + 1:
			size = 1 << l.octaves
			decay = src.Uint64() & (size - 1)
			k = blocks*size + 1 + decay
		default:
			size = 1 << (octave - 1)
			decay = size + src.Uint64()&(size-1)
			k = decay + 1
		}
		if src.Uint64N(k) < size && uint64(l.unit.SampleInt(src)) >= decay {
			return int64(k)
		}
	}
}
