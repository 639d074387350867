package ranges

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/exact"
)

// Unit is S: what a user gives is an integer in steps of Δ/S. Sums of 2³² users stay below 2⁶³.
const Unit = 1 << 26

// Half octaves: bin b holds 2^{b/2} ≤ x < 2^{(b+1)/2}.
const (
	lowest  = -2 * 30 // of magnitudes: values are multiples of least
	highest = 2 * 80
	bins    = highest - lowest + 1
)

// Values are multiples of least, and cut off at bound.
const (
	least = 0x1p-30
	bound = 0x1p56
	upper = 0x1p13 // of the upper half of a value
)

// Split returns a value as high·2¹³ + low·2⁻³⁰, both integers at most 2⁴³: so halves of 2²⁰ values
// are summed exactly, in any order, and wrap around beyond. NaN counts as 0, and what is beyond
// ±2⁵⁶ as these.
func Split(value float64) (high, low int64) {
	if value != value {
		return 0, 0
	}
	value = min(max(value, -bound), bound)
	whole := math.Trunc(value / upper)
	return int64(whole), int64(math.RoundToEven((value - whole*upper) / least))
}

// Join returns the value of two halves, or of their sums.
func Join(high, low int64) float64 {
	return float64(float64(high)*upper) + float64(float64(low)*least)
}

// bin returns the half octave of x ≥ 0, from 0 to bins − 1; the ends hold what is beyond them.
func bin(x float64) int {
	if x == 0 {
		return 0
	}
	fraction, exponent := math.Frexp(x) // x = fraction·2^exponent, fraction in [½, 1)
	b := 2 * (exponent - 1)
	if fraction >= math.Sqrt2/2 {
		b++
	}
	return min(max(b, lowest), highest) - lowest
}

// edge returns the lower end of a bin.
func edge(b int) float64 { return edges[b] }

var edges = func() (all [bins]float64) {
	for b := range all {
		n := b + lowest
		all[b] = math.Ldexp([2]float64{1, math.Sqrt2}[n&1], n>>1)
	}
	return all
}()

// histogram is a user's vector in step A: ⌊S·c/‖c‖₂⌋ for the numbers c of his values by bin, and
// shorter where float64 made it longer than S.
func histogram(c []int64) {
	squared := 0.0
	for _, n := range c {
		squared += float64(n) * float64(n)
	}
	if squared == 0 {
		return
	}
	for b, n := range c {
		c[b] = int64(Unit / math.Sqrt(squared) * float64(n))
	}
	for length(c) > Unit*Unit {
		for b := range c {
			c[b] = max(c[b]-1, 0)
		}
	}
}

// length returns the square of the norm of a histogram with entries of at most S.
func length(c []int64) (squared uint64) {
	for _, n := range c {
		squared += uint64(n * n)
	}
	return squared
}

// share returns ⌊S·min(1, 2/√l)⌋, what a user with l values gives to each key in step B: l·share² ≤
// 4S².
func share(l int) int64 { return exact.FloorSqrt(4 * Unit * Unit / int64(max(l, 4))) }

// level clips a vector: it returns the largest τ with Σ min(|q|, τ)² ≤ S², after it has
// made q of z: ⌊S·|z|/R⌋ with the sign of z, at most S. So ‖min(|q|, τ)‖₂ ≤ S whatever float64
// rounds, and however long the vector is.
func level(q []int64, z []float64, radius float64) (top int64) {
	for i, x := range z {
		size := math.Abs(x) / radius * Unit
		if !(size < Unit) { // NaN, too: a quotient of infinities
			size = Unit
		}
		q[i] = int64(size)
	}
	low, high := int64(0), int64(Unit)
	if fits(q, high) {
		return high
	}
	for high-low > 1 { // low fits, high does not
		if middle := (low + high) / 2; fits(q, middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// fits reports whether Σ min(q, top)² ≤ S².
func fits(q []int64, top int64) bool {
	squared := uint64(0)
	for _, x := range q {
		x = min(x, top)
		if squared += uint64(x * x); squared > Unit*Unit {
			return false
		}
	}
	return true
}
