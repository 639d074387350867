package jl

import (
	"fmt"
	"math"

	"github.com/dpsketch/dpsketch/internal/calibrated"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// Sketch is a released sketch, or a sum of such: public, immutable, safe for concurrent readers.
// All that it computes is post-processing and costs no budget.
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

// Params returns the parameters of the release, with the Noise that was used. For a sum they are
// those of the first of its terms.
func (s *Sketch) Params() Params { return s.params }

// Terms returns the number of releases in a sum; 1 for a release, 0 for the zero Sketch.
func (s *Sketch) Terms() int { return len(s.terms) }

// Guarantee returns the guarantee of the release. For a sum it is the composition of all its terms,
// which holds for a user who is in all of them. A user who is in only one of them has the guarantee
// of that one.
func (s *Sketch) Guarantee() budget.Guarantee {
	if len(s.terms) == 0 {
		return budget.Guarantee{}
	}
	all := make([]budget.Guarantee, len(s.terms))
	for i, t := range s.terms {
		all[i] = t.guarantee(s.params.unit())
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

// mismatch returns the error that names the first field of the transform in which two Params
// differ, or otherwise Params as a whole.
func (p Params) mismatch(q Params) error {
	for _, f := range []struct {
		name string
		a, b any
	}{
		{"Transform", p.Transform, q.Transform}, {"Dim", p.Dim, q.Dim}, {"Rows", p.Rows, q.Rows}, {"Sparsity", p.sparsity(), q.sparsity()},
		{"Independence", p.independence(), q.independence()}, {"Seed", p.Seed, q.Seed}, {"Norm", p.Norm, q.Norm},
		{"Params", p, q},
	} {
		if f.a != f.b {
			return check.MismatchError("jl", f.name, f.a, f.b)
		}
	}
	return nil
}

// comparable returns an error that wraps ErrMismatch unless the sketches are of one transform and
// their noise is independent.
func (s *Sketch) comparable(other *Sketch) error {
	if len(s.terms) == 0 || other == nil || len(other.terms) == 0 {
		return fmt.Errorf("jl: a Sketch that was neither released nor decoded has no rows to compare: %w", check.ErrMismatch)
	}
	p, q := s.params, other.params
	if p.Transform != q.Transform || p.Dim != q.Dim || p.Rows != q.Rows || p.sparsity() != q.sparsity() ||
		p.independence() != q.independence() || p.Seed != q.Seed {
		return p.mismatch(q)
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

// Sum returns the sketch of the sum of the two vectors. Its noise is the noise of both, and its
// estimates correct for it. Sum is post-processing. The error wraps [ErrMismatch] if the transforms
// or grids differ (equal Params give equal ones); if the Norms, Sensitivities or Integers differ,
// as no single guarantee would then describe the sum; if they hold a common release, as a sketch
// does with itself; or if they have more than 2¹⁶ terms.
func (s *Sketch) Sum(other *Sketch) (*Sketch, error) {
	if err := s.comparable(other); err != nil {
		return nil, err
	}
	switch {
	case s.params.Norm != other.params.Norm:
		return nil, check.MismatchError("jl", "Norm", s.params.Norm, other.params.Norm)
	case s.params.Protects != other.params.Protects:
		return nil, check.MismatchError("jl", "Protects", s.params.Protects, other.params.Protects)
	case s.params.sensitivity() != other.params.sensitivity():
		return nil, check.MismatchError("jl", "Sensitivity", s.params.sensitivity(), other.params.sensitivity())
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
