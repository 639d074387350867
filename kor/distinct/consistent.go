package distinct

import (
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/kor"
	"github.com/dpsketch/dpsketch/kor/internal/sets"
)

// Several numbers of one release each have noise, so that a week could have fewer keys than its
// last day, or both sets more keys together than either. Estimates are therefore projected on
// numbers that can be: the nearest in least squares, weighted by the inverse of their covariance.
// Whatever the truth is, it is one of the numbers that can be, and a projection on a convex set is
// at most as far from it, in these squares, as what is projected. It is post-processing. Intervals
// are those of each number by itself, and go on to its estimate.

// fitted is a size whose estimate agrees with those of others.
type fitted struct {
	sets.Size
	estimate float64
}

// agreeing returns the size with another estimate.
func agreeing(size sets.Size, estimate float64) kor.Cardinality {
	return kor.Cardinality{Source: fitted{size, estimate}}
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

// ascendingFit returns the numbers that do not fall and are nearest to x, where x[i] counts with a
// weight: neighbours that fall get their mean.
func ascendingFit(x, weight []float64) []float64 {
	type pool struct {
		mean, weight float64
		n            int
	}
	var pools []pool
	for i, v := range x {
		p := pool{v, weight[i], 1}
		for k := len(pools) - 1; k >= 0 && pools[k].mean > p.mean; k-- {
			all := p.weight + pools[k].weight
			p = pool{(p.mean*p.weight + pools[k].mean*pools[k].weight) / all, all, p.n + pools[k].n}
			pools = pools[:k]
		}
		pools = append(pools, p)
	}
	var fit []float64
	for _, p := range pools {
		fit = append(fit, slices.Repeat([]float64{p.mean}, p.n)...)
	}
	return fit
}

// nonNegativeFit returns the θ ≥ 0 that is nearest to x, of the given covariance. With the numbers
// of a set S at 0 the others are x_F − Σ_FS·Σ_SS⁻¹·x_S, at the distance x_Sᵀ·Σ_SS⁻¹·x_S: of all
// sets that leave nothing below 0 the one of least distance is right.
func nonNegativeFit(x vector, covariance matrix) vector {
	best, least := vector{}, math.Inf(1)
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
		if !ok {
			continue
		}
		pull := inverse.times(inS)
		distance, fit := pull.dot(inS), x
		for i := range fit {
			if fit[i] -= covariance[i].dot(pull); set>>i&1 == 1 {
				fit[i] = 0
			}
		}
		if slices.Min(fit[:]) >= 0 && distance < least {
			best, least = fit, distance
		}
	}
	if math.IsInf(least, 1) {
		for i := range x {
			best[i] = max(x[i], 0)
		}
	}
	return best
}

// simplexFit returns the shares, at least 0 and 1 in all, that are nearest to x in squares: all are
// lowered by one number, and what falls below 0 is 0.
func simplexFit(x []float64) []float64 {
	sorted := slices.Clone(x)
	slices.Sort(sorted)
	slices.Reverse(sorted)
	sum, lower := 0.0, 0.0
	for i, v := range sorted {
		sum += v
		if by := (sum - 1) / float64(i+1); v > by {
			lower = by
		}
	}
	fit := make([]float64, len(x))
	for i, v := range x {
		fit[i] = max(v-lower, 0)
	}
	return fit
}
