// Package hadamard multiplies vectors by the Walsh–Hadamard matrix.
//
// The u × u matrix, u a power of two, has the entries H[i][j] = (−1)^{number of ones of i AND j}:
// ±1, not normalised. It is symmetric, H·H = u·I, and ‖Hx‖₂² = u·‖x‖₂². The product takes u·log₂ u
// additions, no multiplication and no memory.
package hadamard

import "math/bits"

// Int replaces x by Hx. Sums wrap around at 2⁶³: where ‖x‖₁ < 2⁶³ none does. It reports whether the
// length is a power of two; if it is not, x stays as it is.
func Int(x []int64) bool { return transform(x) }

// Float replaces x by Hx, rounded at each of the log₂ u levels of additions; so integers stay exact
// where ‖x‖₁ ≤ 2⁵³. It reports whether the length is a power of two; if it is not, x stays as it
// is.
func Float(x []float64) bool { return transform(x) }

// Size returns the least power of two that is at least n, the length to which a vector of n
// coordinates is padded with zeros: 1 for n = 0, and 0 where it would be 2⁶⁴.
func Size(n uint64) uint64 { return 1 << bits.Len64(max(n, 1)-1) }

// inCache is the length up to which a vector stays in the first level cache: 32 KiB.
const inCache = 1 << 12

type number interface{ int64 | float64 }

// transform replaces x by Hx. H of size u is, in blocks of half the size, (H H; H −H): so it
// transforms the quarters, one after the other while each is in the cache, and combines them.
func transform[T number](x []T) bool {
	n := len(x)
	if n == 0 || n&(n-1) != 0 {
		return false
	}
	blocks(x)
	return true
}

func blocks[T number](x []T) {
	if len(x) <= inCache {
		levels(x)
		return
	}
	q := len(x) / 4
	for i := 0; i < len(x); i += q {
		blocks(x[i : i+q])
	}
	combine(x, q)
}

// levels transforms x level by level, two levels at a time, the first four in one pass over the
// memory.
func levels[T number](x []T) {
	h := 1
	if len(x) >= 16 {
		sixteens(x)
		h = 16
	}
	for ; 4*h <= len(x); h *= 4 {
		for i := 0; i < len(x); i += 4 * h {
			combine(x[i:i+4*h], h)
		}
	}
	if 2*h <= len(x) {
		a, b := x[:h], x[h:][:h]
		for j := range a {
			a[j], b[j] = a[j]+b[j], a[j]-b[j]
		}
	}
}

// sixteens transforms each sixteen elements.
func sixteens[T number](x []T) {
	for ; len(x) >= 16; x = x[16:] {
		v := (*[16]T)(x)
		v[0], v[1], v[2], v[3] = four(v[0], v[1], v[2], v[3])
		v[4], v[5], v[6], v[7] = four(v[4], v[5], v[6], v[7])
		v[8], v[9], v[10], v[11] = four(v[8], v[9], v[10], v[11])
		v[12], v[13], v[14], v[15] = four(v[12], v[13], v[14], v[15])
		v[0], v[4], v[8], v[12] = four(v[0], v[4], v[8], v[12])
		v[1], v[5], v[9], v[13] = four(v[1], v[5], v[9], v[13])
		v[2], v[6], v[10], v[14] = four(v[2], v[6], v[10], v[14])
		v[3], v[7], v[11], v[15] = four(v[3], v[7], v[11], v[15])
	}
}

// combine makes the transform of length 4h of four transformed vectors of length h.
func combine[T number](x []T, h int) {
	a, b, c, d := x[:h], x[h:][:h], x[2*h:][:h], x[3*h:][:h]
	for j := range a {
		a[j], b[j], c[j], d[j] = four(a[j], b[j], c[j], d[j])
	}
}

// four is the transform of length 4.
func four[T number](a, b, c, d T) (T, T, T, T) {
	a, b, c, d = a+b, a-b, c+d, c-d
	return a + c, b + d, a - c, b - d
}
