package elliptical

import (
	"fmt"
	"iter"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/dpsketch/dpsketch/noise/budget"
)

// Sum is a released sum of rows: public, immutable, safe for concurrent readers. All that it
// computes is post-processing and costs no budget. Divided by a number of rows n it is a mean, and
// its errors in proportion.
type Sum struct {
	params Params
	law    law
	steps  []int64 // one for each coordinate of the law
}

// Params returns the parameters of the release, with the defaults filled in.
func (s *Sum) Params() Params { return s.params }

// Guarantee returns the guarantee of the release.
func (s *Sum) Guarantee() budget.Guarantee { return s.params.guarantee() }

// Len returns d, the number of coordinates.
func (s *Sum) Len() int { return s.law.dim }

// Estimate returns the noisy sum of coordinate i, in the units of the data: unbiased, but for rows
// outside their interval and the rounding of rows to the grid, each by at most 2⁻³³ of the width,
// 2⁻⁴⁵ of the noise, or 2⁻³⁶ of the interval's distance from 0. NaN if there is no such coordinate.
func (s *Sum) Estimate(i int) float64 {
	if i < 0 || i >= s.law.dim {
		return math.NaN()
	}
	c := s.law.at[i]
	if s.law.lower != nil {
		sum := 0.0
		for j, x := range s.law.lower[i] {
			sum += x * float64(s.steps[j])
		}
		return sum * c.step
	}
	if !s.params.Count {
		return float64(s.steps[i]) * c.step
	}
	return float64(s.steps[i])*c.step + s.Count()*(float64(c.centre)*c.step)
}

// Values returns the noisy sums of all coordinates as a new slice.
func (s *Sum) Values() []float64 {
	values := make([]float64, s.Len())
	for i := range values {
		values[i] = s.Estimate(i)
	}
	return values
}

// All yields the coordinates with their noisy sums, in order.
func (s *Sum) All() iter.Seq2[int, float64] {
	return func(yield func(int, float64) bool) {
		for i := range s.Len() {
			if !yield(i, s.Estimate(i)) {
				return
			}
		}
	}
}

// Count returns the noisy number of rows, NaN unless the Params ask for it.
func (s *Sum) Count() float64 {
	if !s.params.Count {
		return math.NaN()
	}
	return float64(s.steps[s.law.dim]) * s.law.at[s.law.dim].step
}

// CountVariance returns the variance of the noise of Count, NaN unless the Params ask for it.
func (s *Sum) CountVariance() float64 {
	if !s.params.Count {
		return math.NaN()
	}
	return square(s.law.deviation(s.law.dim))
}

// Variance returns the variance of the noise of coordinate i, in squared units of the data; NaN if
// there is no such coordinate.
func (s *Sum) Variance(i int) float64 { return s.law.variance(i) }

// Covariance returns the covariance of the noise as a new matrix: diagonal but for Count, which all
// coordinates share, and Ellipsoid. It needs d² numbers of memory, and returns nil for the zero Sum
// and for d above 2¹⁴.
func (s *Sum) Covariance() *mat.SymDense {
	if s.law.dim == 0 || s.law.dim > 1<<14 {
		return nil
	}
	c := mat.NewSymDense(s.law.dim, nil)
	for i := range s.law.dim {
		for j := range i + 1 {
			c.SetSym(i, j, s.law.covariance(i, j))
		}
	}
	return c
}

// ExpectedError returns E‖η‖ₚᵖ of the noise η that was added: see [Mechanism.ExpectedError].
func (s *Sum) ExpectedError(p float64) float64 { return s.law.expectedError(p) }

// Interval returns bounds that hold the true sum of coordinate i, of rows as they were rounded to
// the grid (see [Sum.Estimate]) or ready, with the given confidence over the noise, for any one
// coordinate fixed before the release. NaN if there is no such coordinate, and for a confidence
// outside [0, 1).
func (s *Sum) Interval(i int, confidence float64) (lo, hi float64) {
	if i < 0 || i >= s.law.dim {
		return math.NaN(), math.NaN()
	}
	x, r := s.Estimate(i), s.law.halfWidth(i, confidence)
	return x - r, x + r
}

// String says what was released under which guarantee.
func (s *Sum) String() string {
	return fmt.Sprintf("elliptical.Sum: %d coordinates with %s noise, %v, %v", s.Len(), s.law.name(), s.params.Shape, s.Guarantee())
}
