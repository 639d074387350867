package elliptical

import (
	"fmt"
	"iter"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/exact"
)

// Sum is a released sum of rows: public, immutable, safe for concurrent readers. All that it
// computes is post-processing. Divided by a public number of rows it is a mean, and so are its
// errors. Numbers of coordinates that there are none of are NaN.
type Sum struct {
	calibration
	steps []exact.Int128 // one for each coordinate of the noise
}

// Len returns d, the number of coordinates.
func (s *Sum) Len() int { return s.noise.dim }

// Estimate returns the noisy sum of coordinate i, in the units of the data: unbiased, apart from
// rows outside their interval and the rounding of rows to the grid, each by at most 2⁻³³ of the
// width, 2⁻⁴⁵ of the noise, or 2⁻³⁶ of the interval's distance from 0.
func (s *Sum) Estimate(i int) float64 {
	if i < 0 || i >= s.noise.dim {
		return math.NaN()
	}
	c := s.noise.coordinates[i]
	if s.noise.lower != nil {
		sum := 0.0
		for j, x := range s.noise.lower[i] {
			sum += x * s.steps[j].Float64()
		}
		return sum * c.step
	}
	if !s.params.Count {
		return s.steps[i].Float64() * c.step
	}
	return s.steps[i].Float64()*c.step + s.Count()*s.noise.centre(i)
}

// Values returns the noisy sums of all coordinates as a new slice.
func (s *Sum) Values() []float64 {
	values := make([]float64, s.Len())
	for i := range values {
		values[i] = s.Estimate(i)
	}
	return values
}

// All yields the coordinates with their noisy sums.
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
	return s.steps[s.noise.dim].Float64() * s.noise.coordinates[s.noise.dim].step
}

// StdDev returns the standard deviation of the noise of coordinate i, in units of the data.
func (s *Sum) StdDev(i int) float64 { return math.Sqrt(s.noise.variance(i)) }

// Covariance returns the covariance of the noise as a new matrix: diagonal, except with Count or
// Ellipsoid. It is nil for the zero Sum and for d above 2¹⁴.
func (s *Sum) Covariance() *mat.SymDense {
	if s.noise.dim == 0 || s.noise.dim > 1<<14 {
		return nil
	}
	c := mat.NewSymDense(s.noise.dim, nil)
	for i := range s.noise.dim {
		for j := range i + 1 {
			c.SetSym(i, j, s.noise.covariance(i, j))
		}
	}
	return c
}

// Interval returns bounds that contain the true sum of coordinate i with the given confidence in
// [0, 1), else NaN, for any one coordinate fixed before the release. The true sum is that of the
// rows after rounding to the grid, or the ready sum. Near the ceiling of 2⁶⁸ widths it is open on
// that side.
func (s *Sum) Interval(i int, confidence float64) (lo, hi float64) {
	if i < 0 || i >= s.noise.dim {
		return math.NaN(), math.NaN()
	}
	return s.around(i, s.noise.halfWidth(i, confidence))
}

// SimultaneousInterval is Interval for all coordinates at once: their bounds contain all true sums
// together with the given confidence.
func (s *Sum) SimultaneousInterval(i int, confidence float64) (lo, hi float64) {
	if i < 0 || i >= s.noise.dim {
		return math.NaN(), math.NaN()
	}
	return s.around(i, s.noise.halfWidthOfAll(i, confidence))
}

// around returns the interval of half width r around the estimate, open where the sum or the count
// may have saturated.
func (s *Sum) around(i int, r float64) (lo, hi float64) {
	x, steps, ceiling := s.Estimate(i), s.steps[i].Float64(), maxTotal-r/s.noise.coordinates[i].step
	lo, hi = x-r, x+r
	above, below := steps >= ceiling, steps <= -ceiling
	if s.params.Count {
		full := s.Count() >= maxRows/2 // where the noise is at most 2⁵² rows: else nobody knows
		above, below = above || full, below || full
	}
	if above {
		hi = math.Inf(1)
	}
	if below {
		lo = math.Inf(-1)
	}
	return lo, hi
}

// Mean returns the mean of coordinate i over the rows, clamped to its interval, near the middle if
// the noise leaves no rows. NaN without Params.Count.
func (s *Sum) Mean(i int) float64 {
	if !s.params.Count || i < 0 || i >= s.noise.dim {
		return math.NaN()
	}
	mean := s.noise.centre(i) + s.steps[i].Float64()*s.noise.coordinates[i].step/max(s.Count(), 1)
	least, most := s.params.ends(i)
	return min(max(mean, least), most)
}

// MeanInterval returns bounds that contain the mean of coordinate i (see [Sum.Mean]) with the given
// confidence in [0, 1), for any one coordinate fixed before the release: all of its interval if the
// noise leaves no rows. NaN where Mean is. The bounds are Fieller's (1954).
func (s *Sum) MeanInterval(i int, confidence float64) (lo, hi float64) {
	if !s.params.Count || i < 0 || i >= s.noise.dim || !check.Confidence(confidence) {
		return math.NaN(), math.NaN()
	}
	// Let D̃ be the released sum of deviations from the centre c, and Ñ the released count. At the
	// true mean θ, D̃ − (θ−c)Ñ equals ηᵢ − (θ−c)η₀, which exceeds its quantile q(|θ−c|) in absolute
	// value with probability 1 − confidence. All θ that pass this test are returned. As q does not
	// decrease, a test of a range of θ with its largest q rejects none of these; it is repeated on
	// the range that remains.
	const rounds = 3
	c := s.noise.centre(i)
	least, most := s.params.ends(i)
	deviations, rows := s.steps[i].Float64()*s.noise.coordinates[i].step, s.Count()
	own, rounding := s.noise.part(i, 1)
	lo, hi = least, most
	for range rounds {
		shared, more := s.noise.part(s.noise.dim, max(hi-c, c-lo))
		q := s.noise.reach(own, shared, 1-confidence) + rounding + more
		if !(rows > 0) || rows >= maxRows/2 { // the count may have saturated there
			return least, most
		}
		lo, hi = max(lo, c+(deviations-q)/rows), min(hi, c+(deviations+q)/rows)
		if !(lo <= hi) { // no mean in the interval explains what was released
			return least, most
		}
	}
	return lo, hi
}

// String says what was released under which guarantee.
func (s *Sum) String() string {
	return fmt.Sprintf("elliptical.Sum: %d coordinates with %s noise, %v, %v", s.Len(), s.noise.kind, s.params.Shape, s.Guarantee())
}
