package quantile

import (
	"math"
	"math/bits"

	"github.com/dpsketch/dpsketch/noise"
)

// mass is an integer of 256 bits, the lowest first: a sum of weights, in units of 2⁻¹⁸². A float64
// of at least 2⁻¹³⁰ is such an integer, and 2⁶² places of weight 1 or little more fit.
type mass [4]uint64

const unitBits = leastBits + 52

// massOf returns weight·length for a weight in [2⁻¹³⁰, 2).
func massOf(weight float64, length int64) (m mass) {
	b := math.Float64bits(weight)
	hi, lo := bits.Mul64(b&(1<<52-1)|1<<52, uint64(length))
	shift := uint(b>>52) - 1023 - 52 + unitBits
	i, r := shift/64, shift%64
	m[i], m[i+1] = lo<<r, hi<<r|lo>>(64-r)
	if i+2 < uint(len(m)) {
		m[i+2] = hi >> (64 - r)
	}
	return m
}

func (m mass) plus(n mass) mass {
	var carry uint64
	for i := range m {
		m[i], carry = bits.Add64(m[i], n[i], carry)
	}
	return m
}

// times returns m·2ⁿ, which fits.
func (m mass) times(n uint) (p mass) {
	words, r := int(n/64), n%64
	for i := len(m) - 1; i >= words; i-- {
		if p[i] = m[i-words] << r; r > 0 && i > words {
			p[i] |= m[i-words-1] >> (64 - r)
		}
	}
	return p
}

func (m mass) less(n mass) bool {
	for i := len(m) - 1; i > 0; i-- {
		if m[i] != n[i] {
			return m[i] < n[i]
		}
	}
	return m[0] < n[0]
}

// below returns a uniform integer in [0, m), by rejection.
func (m mass) below(src *noise.Source) (u mass) {
	top := len(m) - 1
	for top > 0 && m[top] == 0 {
		top--
	}
	for {
		for i := range top + 1 {
			u[i] = src.Uint64()
		}
		if u[top] >>= uint(bits.LeadingZeros64(m[top])); u.less(m) {
			return u
		}
	}
}
