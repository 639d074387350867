package quantile

import (
	"math"

	"github.com/dpsketch/dpsketch/noise"
)

// The binary search for a quantile (Smith 2011; Huang, Liang, Yi, NeurIPS 2021): T times a noisy
// count tells on which side of the middle of the interval the wanted rank lies.
//
// A step releases #{x ≤ middle} − t with Gaussian noise. Its sensitivity u is 1 where t is fixed
// and max(q, 1−q) where t = qn and a row is added (see weights.go), so with σ = u·√(T/(2ρ)) a step
// is ρ/T-zCDP, and T steps, chosen adaptively, are ρ-zCDP.
//
// Rank error. With probability 1 − β all T noises are within σ·√(2·ln(T/β)) (erfc(x) ≤ e^{−x²}), so
// the interval that is left holds or touches a point of rank error at most u·√(T·ln(T/β)/ρ). Lemma
// 5.4 of the thesis has 2ρ in the place of ρ; that is smaller than the bound on one noise.

// countGrid is the grid of the noise of a count, in units of a score.
const countGrid = 0x1p-4

// BinarySearch returns a quantile of the column, a key of the axis, by the given number of steps
// with a budget of rho in all. It stops where one key is left.
func (s *Sampler) BinarySearch(c Column, keys uint64, w *Weights, noisy noise.Gaussian, steps int) uint32 {
	from, to := uint64(0), keys // the answer is in [from, to)
	target := float64(w.Target(c.Size()))
	for range steps {
		if to-from < 2 {
			break
		}
		mid := from + (to-from)/2
		lo, _ := c.ranks(uint32(mid)) // values before mid
		if float64(lo*w.den)-target+noisy.Sample(&s.Src, countGrid) < 0 {
			from = mid
		} else {
			to = mid
		}
	}
	return uint32(from + (to-from)/2)
}

// SearchNoise returns the noise of one count, in units of a score.
func (w *Weights) SearchNoise(rho float64, steps int, ch Change) (noise.Gaussian, error) {
	u := w.den
	if ch == Added {
		u = max(w.num, w.den-w.num)
	}
	sigma, err := noise.GaussianSigmaZCDP(rho/float64(steps)*(1-0x1p-50), float64(u))
	if err != nil {
		return noise.Gaussian{}, err
	}
	return noise.NewGaussian(sigma)
}

// RankError returns the rank error that T steps exceed with probability at most beta.
func RankError(steps int, beta, rho, u float64) float64 {
	t := float64(steps)
	return u * math.Sqrt(t*math.Log(t/beta)/rho)
}
