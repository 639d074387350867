package distinct

import (
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/kor/internal/sets"
)

// Several numbers of one release each have noise, so that a week could have fewer keys than its
// last day, or both sets more keys together than either. Estimates are therefore projected on
// numbers that can be: the nearest in least squares, weighted by the inverse of their covariance.
// Whatever the truth is, it is one of the numbers that can be, and a projection on a convex set is
// at most as far from it, in these squares, as what is projected. It is post-processing. Intervals
// are those of each number by itself, and go on to its estimate. (Shares have a prior: shares.go.)

// fitted is a size whose estimate agrees with those of others.
type fitted struct {
	sets.Size
	estimate float64
}

func (f fitted) Estimate() float64 { return f.estimate }

// Interval is that of the size, and goes on to the estimate.
func (f fitted) Interval(confidence float64) (lo, hi float64) {
	lo, hi = f.Size.Interval(confidence)
	if !math.IsNaN(lo) && !math.IsNaN(f.estimate) {
		lo, hi = min(lo, max(f.estimate, 0)), max(hi, f.estimate)
	}
	return lo, hi
}

// ascendingSizes returns the estimates that do not fall and are nearest to those of the sizes.
func ascendingSizes(sizes []count) []float64 {
	x, weight := make([]float64, len(sizes)), make([]float64, len(sizes))
	for i, c := range sizes {
		stdErr := c.StdErr()
		x[i], weight[i] = c.Estimate(), 1/(stdErr*stdErr)
	}
	return ascendingFit(x, weight)
}

// ascendingFit returns the numbers that do not fall and are nearest to x, where x[i] counts with a
// weight: of the means of x over ranges from at most i on, the least over their ends from i on, and
// of these the largest.
func ascendingFit(x, weight []float64) []float64 {
	fit := make([]float64, len(x))
	for i := range x {
		fit[i] = math.Inf(-1)
		for j := range i + 1 {
			least, sum, all := math.Inf(1), 0.0, 0.0
			for k := j; k < len(x); k++ {
				if sum, all = sum+weight[k]*x[k], all+weight[k]; k >= i {
					least = min(least, sum/all)
				}
			}
			fit[i] = max(fit[i], least)
		}
	}
	return fit
}

// nearestOfSum returns the nearest numbers from 0 to most that sum to want, or come closest: x less
// one number, cut off.
func nearestOfSum(x, most []float64, want float64) []float64 {
	reach, fit := 1+want, make([]float64, len(x))
	for _, v := range x {
		reach = max(reach, math.Abs(v))
	}
	beyond := func(lower float64) float64 {
		sum := -want
		for i, v := range x {
			fit[i] = min(max(v-lower, 0), most[i])
			sum += fit[i]
		}
		return sum
	}
	beyond(exact.LeastRoot(-3*reach, 3*reach, beyond))
	return fit
}

// nonNegativeFit returns the θ ≥ 0 that is nearest to x, of the given covariance. With the numbers
// of a set S at 0 the others are x_F − Σ_FS·Σ_SS⁻¹·x_S, at the distance x_Sᵀ·Σ_SS⁻¹·x_S: of all
// sets that leave nothing below 0 the one of least distance is right.
func nonNegativeFit(x vector, covariance matrix) vector {
	best, least := vector{max(x[0], 0), max(x[1], 0), max(x[2], 0)}, math.Inf(1)
	for set := range 8 {
		// the block of S, and 1 on the diagonal elsewhere
		block, inS := matrix{}, vector{}
		for i := range block {
			block[i][i] = 1
			for j := range block {
				if set>>i&1 == 1 && set>>j&1 == 1 {
					block[i][j] = covariance[i][j]
				}
			}
			if set>>i&1 == 1 {
				inS[i] = x[i]
			}
		}
		inverse, ok := block.inverse()
		pull := inverse.times(inS)
		distance, fit := pull.dot(inS), x
		for i := range fit {
			if fit[i] -= covariance[i].dot(pull); set>>i&1 == 1 {
				fit[i] = 0
			}
		}
		if ok && slices.Min(fit[:]) >= 0 && distance < least {
			best, least = fit, distance
		}
	}
	return best
}
