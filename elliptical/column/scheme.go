package column

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// A scheme says which integers a row adds to the coordinates that are released, and how far one row
// moves them: for each row, or under Replace each pair of rows, with differences dᵢ,
//
//	pure ε:  Σ |dᵢ|/reachᵢ ≤ 1, so Laplace noise of scale reachᵢ/ε in each coordinate is ε-private
//	ρ-zCDP:  Σ (dᵢ/reachᵢ)² ≤ 1, so Gaussian noise of σᵢ = reachᵢ/√(2ρ) is ρ-zCDP
//
// With t = τ/H in [−1, 1] the schemes are, under AddRemove,
//
//	pure, 1 moment   (1 − t)/2, (1 + t)/2                    reach 1: both are ≥ 0 and add up to 1
//	pure, 2          p₀ = (1−t²)/(1+κ), p± = ((t²+κ)/(1+κ) ± t)/2 with κ = 3/5; reach Λ = 41/40
//	zCDP, 1          the same as pure, 1                     reach 1: Σl² = (1+t²)/2
//	zCDP, 2          l₀ = 1−t², l± = (t² ± t)/2              reach 1: Σl² = 1 − (3/2)t²(1−t²)
//	zCDP, learned    ¼, t                                    reach √17/4: Σl² = 1/16 + t²
//
// The last are the Lagrange polynomials at Fejér's nodes −1, 0, 1, and no Gaussian noise has less
// variance in any of them. For κ: where |t| ≤ (t²+κ)/(1+κ) all three are ≥ 0 and add up to 1; else
// the norm is |t| + (1−t²)/(1+κ), a parabola with its top Λ(κ) = (1+κ)/4 + 1/(1+κ) at (1+κ)/2. A
// smaller κ suits the variance of values in the middle of the range (2/5 has 1 to 7 % less error
// for ages and uniform numbers), a larger one that of values at its ends (2/5 has 2 to 5 % more for
// incomes, baskets, latencies and rare events), and count and mean have noise in proportion to Λ.
// As three numbers are released for three unknowns, no other weights are without bias; the bounds
// that moments keep to, n ≥ Σt² ≥ (Σt)²/n, say more only where n is not large against 1/ε. Under
// Replace, with δ = |t − t′| ≤ 2 and so |t² − t′²| ≤ δ(2−δ),
//
//	1 moment         t                 reach 2
//	pure, 2          t, t²             reaches 9/4, 9/4: δ(3−δ)·4/9 is at most 1, at δ = 3/2
//	zCDP, 2          t, t²             reaches 2, 77/64: with the top at δ = √5 − 1,
//	                                   4δ²(2−δ)/(2+δ) ≤ 1.2012² < (77/64)²
//
// Where the range is learned, t = 0 is the centre and so the mean nearly: what the count's noise
// adds to it is in proportion to the mean, and the count gets little. That has the variance (1 +
// 1/16)(1 + 16m²) where the first line has 2(1 + m²).
//
// All polynomials are scaled to integers, and the reaches with them, rounded up: inequalities
// between polynomials hold at the rational points too. TestReaches enumerates them.
type scheme struct {
	at []coordinate
	// count, first and second are the weights with which the coordinates add up to the number of
	// rows, Σt and Σt². nil where that is not released; the count under Replace is public.
	count, first, second []float64
}

// coordinate is one released number: a row adds of[0] + of[1]·τ + of[2]·τ².
type coordinate struct {
	of    [3]int64
	reach int64
}

// scheme returns the scheme of valid Params for τ in {−h, …, h}.
func (p Params) scheme(h int64) scheme {
	f, square := float64(h), float64(h)*float64(h)
	pure := !p.gaussian()
	switch {
	case p.only() == Count:
		return scheme{at: []coordinate{{[3]int64{1, 0, 0}, 1}}, count: []float64{1}}
	case p.only() == Sum:
		return scheme{at: []coordinate{{[3]int64{0, 1, 0}, h}}, first: []float64{1 / f}}
	case p.Relation == budget.Replace && p.moments() == 1:
		return scheme{at: []coordinate{{[3]int64{0, 1, 0}, 2 * h}}, first: []float64{1 / f}}
	case p.Relation == budget.Replace:
		s := scheme{first: []float64{1 / f, 0}, second: []float64{0, 1 / square}}
		if pure {
			s.at = []coordinate{{[3]int64{0, 1, 0}, ceil(9*h, 4)}, {[3]int64{0, 0, 1}, ceil(9*h*h, 4)}}
		} else {
			s.at = []coordinate{{[3]int64{0, 1, 0}, 2 * h}, {[3]int64{0, 0, 1}, h*h + ceil(13*h*h, 64)}}
		}
		return s
	case p.learns() && !pure:
		c := ceil(h, 4)
		reach := int64(math.Ceil(math.Sqrt(float64(h*h+c*c)) * exact.Up))
		return scheme{
			at:    []coordinate{{[3]int64{c, 0, 0}, reach}, {[3]int64{0, 1, 0}, reach}},
			count: []float64{1 / float64(c), 0}, first: []float64{0, 1 / f},
		}
	case p.moments() == 1:
		return scheme{
			at:    []coordinate{{[3]int64{h, -1, 0}, 2 * h}, {[3]int64{h, 1, 0}, 2 * h}},
			count: []float64{1 / (2 * f), 1 / (2 * f)}, first: []float64{-1 / (2 * f), 1 / (2 * f)},
		}
	case pure: // in units of 1/(16H²)
		r, w := ceil(82*h*h, 5), 1/(16*square)
		return scheme{
			at:     []coordinate{{[3]int64{10 * h * h, 0, -10}, r}, {[3]int64{3 * h * h, -8 * h, 5}, r}, {[3]int64{3 * h * h, 8 * h, 5}, r}},
			count:  []float64{w, w, w},
			first:  []float64{0, -w, w},
			second: []float64{-0.6 * w, w, w},
		}
	}
	r, w := 2*h*h, 1/(2*square)
	return scheme{
		at:     []coordinate{{[3]int64{2 * h * h, 0, -2}, r}, {[3]int64{0, -h, 1}, r}, {[3]int64{0, h, 1}, r}},
		count:  []float64{w, w, w},
		first:  []float64{0, -w, w},
		second: []float64{0, w, w},
	}
}

// ceil returns ⌈a/b⌉ for a ≥ 0.
func ceil(a, b int64) int64 { return (a + b - 1) / b }
