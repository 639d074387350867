package jl

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/calibrated"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// Sketch is a released sketch, or a sum of such: public, immutable, safe for concurrent readers.
// The zero Sketch gives NaN. Methods of two sketches return an error that wraps [ErrMismatch] if
// their transforms differ, or if both hold the same release.
type Sketch struct {
	params Params // of the first term
	step   float64
	values []int64 // A·x + noise, in steps
	terms  []term  // what was added up: one term of a release, more of a sum

	releases []identity // of the terms, ascending
}

// term is the guarantee and the noise of one release in a sum.
type term struct {
	release             identity
	epsilon, delta, rho float64
	noise               calibrated.Noise
	input               bool // on the coordinates of the vector
}

// newTerm returns the term of a release of these Params, which has no identity yet.
func newTerm(p Params, n calibrated.Noise) term {
	return term{epsilon: p.Epsilon, delta: p.Delta, rho: p.Rho, noise: n, input: p.Input}
}

// newSketch returns what one release makes.
func newSketch(p Params, n calibrated.Noise, values []int64) *Sketch {
	terms := []term{newTerm(p, n)}
	terms[0].release = newIdentity()
	return &Sketch{params: p, step: n.Step, values: values, terms: terms, releases: identities(terms)}
}

// Params returns those of the release, with the Noise used; of a sum, of its first term.
func (s *Sketch) Params() Params { return s.params }

// Terms returns the number of releases in a sum; 1 for a release.
func (s *Sketch) Terms() int { return len(s.terms) }

// Guarantee returns the guarantee of the release; of a sum, the composition of all its terms, for a
// user who is in all of them.
func (s *Sketch) Guarantee() budget.Guarantee {
	if len(s.terms) == 0 {
		return budget.Guarantee{}
	}
	all := make([]budget.Guarantee, len(s.terms))
	for i, t := range s.terms {
		all[i] = t.guarantee(s.params.Change.unit())
	}
	if len(all) == 1 {
		return all[0]
	}
	g, err := budget.Compose(all...)
	if err != nil {
		return budget.Guarantee{} // unreachable: the units agree
	}
	return g
}

// guarantee returns what the release of the term promises.
func (t term) guarantee(u budget.Unit) budget.Guarantee {
	switch {
	case t.rho > 0:
		return budget.ZCDP(t.rho, u).WithPair(budget.GDP(exact.SqrtUp(2*t.rho), u))
	case t.noise.Kind == calibrated.Gaussian:
		return budget.Gaussian(t.epsilon, t.delta, u)
	case t.noise.Kind == calibrated.DiscreteLaplace:
		return budget.DiscreteLaplace(t.epsilon, t.noise.Scale, u)
	case t.noise.Kind == calibrated.Staircase:
		return budget.PureDP(t.epsilon, u)
	}
	return budget.Laplace(t.epsilon, u)
}

// Row returns the noisy value of a row of the normalised sketch, (Sx + φ)ᵢ, in the units of the
// data. Its noise has the StdDev of the [Plan], in a sum √Terms times that. NaN outside [0, Rows).
func (s *Sketch) Row(i int) float64 {
	if i < 0 || i >= len(s.values) {
		return math.NaN()
	}
	return float64(s.values[i]) * s.unit()
}

// unit returns what a step is in the normalised sketch.
func (s *Sketch) unit() float64 { return s.step * s.params.factor() }

// stdDev returns the standard deviation of the noise of one row of the normalised sketch, in the
// units of the data. NaN for the zero Sketch.
func (s *Sketch) stdDev() float64 {
	if len(s.terms) == 0 {
		return math.NaN()
	}
	return math.Sqrt(s.params.spread().correction(s.noise()) / float64(s.params.Rows))
}

// noise returns the noise of all terms.
func (s *Sketch) noise() (sum disturbance) {
	for _, t := range s.terms {
		sum = sum.plus(s.params.noiseOf(t.noise, t.input))
	}
	return sum
}

// settled returns the Params with the Sparsity and the Independence that 0 stands for.
func (p Params) settled() Params {
	p.Sparsity, p.Independence = p.sparsity(), p.independence()
	return p
}

// comparable returns an error that wraps ErrMismatch unless the sketches are of one transform and
// their noise is independent.
func (s *Sketch) comparable(other *Sketch) error {
	if len(s.terms) == 0 || other == nil || len(other.terms) == 0 {
		return fmt.Errorf("jl: a Sketch that was neither released nor decoded has no rows to compare: %w", check.ErrMismatch)
	}
	if s.params != other.params {
		p, q := s.params.settled().selecting(), other.params.settled().selecting()
		p.Change, q.Change = Change{}, Change{}
		if err := check.Equal("jl", p, q); err != nil {
			return err
		}
	}
	if shared(s.releases, other.releases) {
		return fmt.Errorf("jl: the two sketches hold the same release, and noise is not independent of itself: %w", check.ErrMismatch)
	}
	return nil
}

// difference returns the rows of the normalised difference. Where the grids agree the difference is
// exact, so that two long vectors may be close.
func (s *Sketch) difference(other *Sketch) []float64 {
	d := make([]float64, len(s.values))
	if s.step == other.step {
		unit := s.unit()
		for i, v := range s.values {
			d[i] = float64(v-other.values[i]) * unit
		}
		return d
	}
	a, b := s.unit(), other.unit()
	for i, v := range s.values {
		d[i] = float64(v)*a - float64(other.values[i])*b
	}
	return d
}

// rows returns the rows of the normalised sketch.
func (s *Sketch) rows() []float64 {
	rows, unit := make([]float64, len(s.values)), s.unit()
	for i, v := range s.values {
		rows[i] = float64(v) * unit
	}
	return rows
}

// maxTerms is the most releases in a sum.
const maxTerms = 1 << 16

// Sum returns the sketch of the sum of the two vectors, with the noise of both, for which its
// estimates correct. The error wraps [ErrMismatch] also if the grids, Change or Integers differ, or
// for more than 2¹⁶ terms.
func (s *Sketch) Sum(other *Sketch) (*Sketch, error) {
	if err := s.comparable(other); err != nil {
		return nil, err
	}
	switch {
	case s.params.Change.String() != other.params.Change.String():
		return nil, check.MismatchError("jl", "Change", s.params.Change, other.params.Change)
	case s.params.Integers != other.params.Integers:
		return nil, check.MismatchError("jl", "Integers", s.params.Integers, other.params.Integers)
	case s.step != other.step:
		return nil, check.MismatchError("jl", "grid", s.step, other.step)
	case len(s.terms)+len(other.terms) > maxTerms:
		return nil, fmt.Errorf("jl: %d terms, want at most 2¹⁶: %w", len(s.terms)+len(other.terms), check.ErrMismatch)
	}
	sum := &Sketch{params: s.params, step: s.step, values: make([]int64, len(s.values))}
	for i, v := range s.values {
		sum.values[i] = min(max(v+other.values[i], -maxValue), maxValue)
	}
	sum.terms = append(append(sum.terms, s.terms...), other.terms...)
	sum.releases = identities(sum.terms)
	return sum, nil
}

// String says what was released, and under which guarantee.
func (s *Sketch) String() string {
	if len(s.terms) == 0 {
		return "jl.Sketch: nothing released"
	}
	return fmt.Sprintf("jl.Sketch: %v of %d rows for %d coordinates, %v noise of standard deviation %.4g a row, terms: %d, %v",
		s.params.Transform, s.params.Rows, s.params.Dim, s.params.Noise, s.stdDev(), s.Terms(), s.Guarantee())
}

// identity tells releases apart: 128 public random bits, which copies of a Sketch and its encoding
// carry too. The estimates subtract what independent noise adds, so a sketch is not compared with
// itself, nor with a sum that it is in: ‖Sx + φ − (Sx + φ)‖² is 0, from which the noise of two
// sketches would be taken away. Two releases have the same identity with a probability of 2⁻¹²⁸.
type identity hashing.Seed

func newIdentity() identity { return identity(hashing.NewSeed()) }

// compare orders identities.
func (a identity) compare(b identity) int { return bytes.Compare(a[:], b[:]) }

// identities returns those of the terms, ascending.
func identities(terms []term) []identity {
	all := make([]identity, len(terms))
	for i, t := range terms {
		all[i] = t.release
	}
	slices.SortFunc(all, identity.compare)
	return all
}

// shared reports whether two ascending lists have a common element.
func shared(a, b []identity) bool {
	return slices.ContainsFunc(a, func(x identity) bool {
		_, found := slices.BinarySearchFunc(b, x, identity.compare)
		return found
	})
}

// repeated reports whether an ascending list has an element twice.
func repeated(all []identity) bool { return len(slices.Compact(slices.Clone(all))) < len(all) }

// The unbiased estimators, and what is made of them. They are for sketches that were released
// separately, so that their noise is independent.
//
// Theorem. ‖Sx + φ‖² − (Dim·E η² + k·E φ²) has mean ‖x‖², whatever the noise η on the input and φ
// on the output is, as long as it is independent of S and has mean 0:
// E‖S(x+η)‖² = E‖x+η‖² = ‖x‖² + Dim·E η², and φ adds k·E φ². For the difference of two sketches
// both parties' moments are added, and ⟨Sx + φ, Sy + ψ⟩ needs no correction. The moments are those
// of the noise as it is drawn (calibrated.Noise).
//
// With Laplace noise of scale √s/ε that subtracts 4ks/ε² from a squared distance; the thesis'
// Theorem 4.3 prints 2ks/ε², which leaves a bias of 2ks/ε².

// SquaredNorm returns the unbiased estimate of ‖x‖₂², in squared units of the data. It may be
// negative; clipping it at 0 does not increase its error.
func (s *Sketch) SquaredNorm() float64 {
	if len(s.terms) == 0 {
		return math.NaN()
	}
	return squares(s.rows()) - s.params.spread().correction(s.noise())
}

// SquaredDistance returns the unbiased estimate of ‖x − y‖₂², which may be negative. The noise of
// the two sketches may differ.
func (s *Sketch) SquaredDistance(other *Sketch) (float64, error) {
	if err := s.comparable(other); err != nil {
		return math.NaN(), err
	}
	return squares(s.difference(other)) - s.params.spread().correction(s.noise().plus(other.noise())), nil
}

// Dot returns the unbiased estimate of ⟨x, y⟩.
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

// Cosine returns the quotient of the unbiased estimates for ⟨x, y⟩/(‖x‖·‖y‖), clipped to [−1, 1],
// and so biased; NaN if an estimated squared norm is at most 0.
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
// the given confidence. They are 2.3 to 2.5 standard errors away at 90 %, and 4.2 to 4.9 at 99 %;
// 3.2 and 10 if the matrix is most of the error, with Sparsity 1, Independence below 8 or another
// transform. hi is +Inf where there are too few rows. NaN for a confidence outside [0, 1).
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

// in returns the sketch in another unit, a power of two. In units of the larger step of two
// sketches that are compared, fourth powers stay far from overflow; in the units of the data they
// need not.
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

// DotInterval is [Sketch.SquaredNormInterval] for ⟨x, y⟩.
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
