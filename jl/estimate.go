package jl

import (
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/internal/check"
)

// The unbiased estimators, and what is made of them. They are for sketches that were released
// separately, so that their noise is independent.
//
// Theorem. ‖Sx + φ‖² − (Dim·E η² + k·E φ²) has mean ‖x‖², whatever the noise η on the input and φ
// on the output is, as long as it is independent of S and has mean 0:
// E‖S(x+η)‖² = E‖x+η‖² = ‖x‖² + Dim·E η², and φ adds k·E φ². For the difference of two sketches
// both parties' moments are added, and ⟨Sx + φ, Sy + ψ⟩ needs no correction. The moments are those
// of the noise as it is drawn (noisekind.go).
//
// With Laplace noise of scale √s/ε that subtracts 4ks/ε² from a squared distance; the thesis'
// Theorem 4.3 prints 2ks/ε², which leaves a bias of 2ks/ε².

// SquaredNorm returns the unbiased estimate of ‖x‖₂², in squared units of the data. It may be
// negative; clipping it at 0 does not increase its error. NaN for the zero Sketch.
func (s *Sketch) SquaredNorm() float64 {
	if len(s.terms) == 0 {
		return math.NaN()
	}
	return squares(s.rows()) - s.params.spread().correction(s.noise())
}

// SquaredDistance returns the unbiased estimate of ‖x − y‖₂², in squared units of the data. It may
// be negative; clipping it at 0 does not increase its error. The noise of the two sketches may
// differ. The error wraps [ErrMismatch] if their transforms differ. It also wraps it if both hold
// the same release, as a sketch does with itself, its copy, or a sum that contains it: their noise
// is not independent.
func (s *Sketch) SquaredDistance(other *Sketch) (float64, error) {
	if err := s.comparable(other); err != nil {
		return math.NaN(), err
	}
	return squares(s.difference(other)) - s.params.spread().correction(s.noise().plus(other.noise())), nil
}

// Dot returns the unbiased estimate of ⟨x, y⟩. The error is that of [Sketch.SquaredDistance].
func (s *Sketch) Dot(other *Sketch) (float64, error) {
	if err := s.comparable(other); err != nil {
		return math.NaN(), err
	}
	sum, unit := 0.0, s.unit()*other.unit()
	for i, v := range s.values {
		sum += float64(v) * float64(other.values[i])
	}
	return sum * unit, nil
}

// Cosine returns an estimate of ⟨x, y⟩/(‖x‖·‖y‖), the quotient of the unbiased estimates, clipped
// to [−1, 1]. As a quotient it is biased. It is NaN if the estimate of a squared norm is at most 0:
// then the vectors are too short for their noise. The error is that of [Sketch.SquaredDistance].
func (s *Sketch) Cosine(other *Sketch) (float64, error) {
	dot, err := s.Dot(other)
	if err != nil {
		return math.NaN(), err
	}
	x, y := s.SquaredNorm(), other.SquaredNorm()
	if !(x > 0 && y > 0) {
		return math.NaN(), nil
	}
	return min(max(dot/(math.Sqrt(x)*math.Sqrt(y)), -1), 1), nil
}

// squares returns ‖v‖₂².
func squares(v []float64) (sum float64) {
	for _, x := range v {
		sum += x * x
	}
	return sum
}

// SquaredNormInterval returns bounds that contain ‖x‖₂², for x as it is on the grid, with at least
// the given confidence, over the draw of the noise and of the Seed. This holds for any x, by
// Chebyshev's inequality and by fourth moments (moments_proof.md). In standard errors, at 90 and at
// 99 %:
//
//	the noise is most of the error          2.3 to 2.4, 4.2 to 4.9
//	the matrix is, Sparsity about √Rows/2   2.5, 4.5
//	the matrix is, Sparsity 1               3.2, 10
//
// The last row cannot be better for every x: two heavy coordinates collide with probability 1/Rows.
// The same holds for Params.Independence below 8, and for other transforms where the matrix is most
// of the error. hi is +Inf where there are too few rows. NaN for a confidence outside [0, 1) and
// for the zero Sketch.
//
// Where the scale of the noise is computed from the matrix (Params.Norm L2, Normal, FJLT), it is a
// constant only given the Seed. The formula treats it as a constant, so the confidence is then
// approximate: the noise's share of the width meets it for the draw of the noise, and the
// transform's share for the draw of the Seed.
func (s *Sketch) SquaredNormInterval(confidence float64) (lo, hi float64) {
	if len(s.terms) == 0 || !check.Confidence(confidence) {
		return math.NaN(), math.NaN()
	}
	unit := s.step
	lo, hi = s.in(unit).within(1 - confidence)
	return lo * unit * unit, hi * unit * unit
}

// within returns bounds of ‖x‖₂² that fail with a probability of at most miss.
func (s *Sketch) within(miss float64) (lo, hi float64) {
	return s.params.interval(s.noise(), s.SquaredNorm(), miss)
}

// in returns the sketch in another unit of the data, a power of two. In the larger step of what is
// compared, squares of squares stay far from overflow; in that of the data they need not.
func (s *Sketch) in(unit float64) *Sketch {
	t := *s
	t.step /= unit
	t.terms = slices.Clone(s.terms)
	for i := range t.terms {
		n := &t.terms[i].noise
		n.Scale, n.Step = n.Scale/unit, n.Step/unit
	}
	return &t
}

// SquaredDistanceInterval is [Sketch.SquaredNormInterval] for ‖x − y‖₂².
func (s *Sketch) SquaredDistanceInterval(other *Sketch, confidence float64) (lo, hi float64, err error) {
	if err := s.comparable(other); err != nil || !check.Confidence(confidence) {
		return math.NaN(), math.NaN(), err
	}
	unit := max(s.step, other.step)
	s, other = s.in(unit), other.in(unit)
	d, err := s.SquaredDistance(other)
	lo, hi = s.params.interval(s.noise().plus(other.noise()), d, 1-confidence)
	return lo * unit * unit, hi * unit * unit, err
}

// DotInterval is [Sketch.SquaredNormInterval] for ⟨x, y⟩. The variance depends on the norms, which
// are replaced by the upper ends of their own intervals. Each of the three parts gets a third of
// the error probability.
func (s *Sketch) DotInterval(other *Sketch, confidence float64) (lo, hi float64, err error) {
	if err := s.comparable(other); err != nil || !check.Confidence(confidence) {
		return math.NaN(), math.NaN(), err
	}
	unit := max(s.step, other.step)
	s, other = s.in(unit), other.in(unit)
	dot, err := s.Dot(other)
	miss := (1 - confidence) / 3
	_, x := s.within(miss)
	_, y := other.within(miss)
	if math.IsInf(x, 1) || math.IsInf(y, 1) {
		return math.Inf(-1), math.Inf(1), err
	}
	reach := s.params.spread().innerReach(s.noise(), other.noise(), x, y, miss)
	return (dot - reach) * unit * unit, (dot + reach) * unit * unit, err
}
