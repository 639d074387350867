package figures

import (
	"math"
	"math/rand/v2"
)

// unary simulates one entry of the thesis's ALP (Algorithms 2 to 5) and its relatives: m bits of
// which the first ⌊x/width⌋ are ones, and one more by a rounding rule; collisions with saturated
// entries make ones of zeros; every bit flips with probability p; the estimate is the mean of the
// prefixes in which ones outnumber zeros the most.
type unary struct {
	bits      int
	width     float64                    // of a bit, in units of the value
	flip      float64                    // p
	up        func(part float64) float64 // the probability that the started bit is a one
	collision float64
}

// estimate returns an estimate of x.
func (u unary) estimate(rng *rand.Rand, x float64) float64 {
	whole := math.Floor(x / u.width)
	ones := int(whole)
	if rng.Float64() < u.up(x/u.width-whole) {
		ones++
	}
	sum, best := 0, 0
	total, count := 0, 1 // of the arguments of the maximum, 0 being the first
	for i := range u.bits {
		bit := i < ones || rng.Float64() < u.collision
		if rng.Float64() < u.flip {
			bit = !bit
		}
		if sum--; bit {
			sum += 2
		}
		switch {
		case sum > best:
			best, total, count = sum, i+1, 1
		case sum == best:
			total, count = total+i+1, count+1
		}
	}
	return float64(total) / float64(count) * u.width
}

// linear is the thesis's code: linear rounding and p = 1/(α+2), ε = 1.
func linear(alpha, most, collision float64) unary {
	return unary{int(math.Ceil(most / alpha)), alpha, 1 / (alpha + 2), func(part float64) float64 { return part }, collision}
}

// meanAbs returns the mean absolute error over values drawn by draw.
func (u unary) meanAbs(runs int, draw func(*rand.Rand) float64) float64 {
	rng := rand.New(rand.NewPCG(7, uint64(u.bits)))
	sum := 0.0
	for range runs {
		x := draw(rng)
		sum += math.Abs(u.estimate(rng, x) - x)
	}
	return sum / float64(runs)
}
