package noise

import "math"

// A distribution that no constructor made, because its zero value was used or an error ignored,
// must not add nothing. Every method that draws from the zero value of a distribution returns
// something that hides what it is added to:
//
//   - A float64 is NaN. NaN + x is NaN, whatever x is.
//   - An int64 is uniform over all 2⁶⁴ values. With the addition of Go, which wraps around, x + U
//     is uniform for every x: a one-time pad. Code that computes the integer x + U in another way,
//     as with saturation, gets a function of a uniform number that x has moved by |x|: the total
//     variation distance of any two results is at most |x − x′|/2⁶⁴.
//   - A count of draws is that of such an int64, so that SampleTail and CountTail remain two views
//     of one noise, and a value passes a threshold with the same probability as any other, up to |x
//     − x′|/2⁶⁴.
//   - A bit is 0 or 1 with probability ½ each.
//
// Methods that do not draw return NaN.

// unbuiltInt draws from all int64.
func unbuiltInt(src *Source) int64 { return int64(src.Uint64()) }

// fewUnbuilt is the largest number of draws that unbuiltCount makes one by one.
const fewUnbuilt = 1 << 20

// unbuiltCount returns how many of draws uniform integers of [0, span) are below hits; span 0
// stands for 2⁶⁴. Beyond fewUnbuilt the binomial distribution is replaced by the normal one of the
// same mean and variance, so that no call takes for ever.
func unbuiltCount(src *Source, draws, hits, span uint64) uint64 {
	if draws > fewUnbuilt {
		p := float64(hits) / 0x1p64
		if span != 0 {
			p = float64(hits) / float64(span)
		}
		mean := float64(draws) * p
		z := gaussian(math.Sqrt(mean*(1-p))+0.5).Sample(src, 1)
		return uint64(min(max(mean+z, 0), float64(draws)*(1-0x1p-53)))
	}
	count := uint64(0)
	for range draws {
		if src.Uint64N(span) < hits {
			count++
		}
	}
	return count
}
