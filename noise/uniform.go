package noise

import "math/bits"

// Uint64N returns a uniform integer in [0, n); n = 0 stands for 2⁶⁴. It is exact: every integer has
// probability 1/n.
//
// Lemire, Fast Random Integer Generation in an Interval (ACM TOMACS 2019): of the 2⁶⁴ products n·w,
// those whose low word is at least 2⁶⁴ mod n have ⌊2⁶⁴/n⌋ in each class of equal high words. The
// others are drawn again.
func (s *Source) Uint64N(n uint64) uint64 {
	w := s.Uint64()
	if n == 0 {
		return w
	}
	hi, lo := bits.Mul64(w, n)
	if lo < n { // else it is at least 2⁶⁴ mod n for certain
		for excess := -n % n; lo < excess; {
			hi, lo = bits.Mul64(s.Uint64(), n)
		}
	}
	return hi
}
