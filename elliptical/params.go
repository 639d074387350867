package elliptical

import (
	"fmt"
	"math"

	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// Sentinel errors, shared by all packages of the library; match them with errors.Is.
var (
	ErrParams   = fault.ErrParams
	ErrMismatch = fault.ErrMismatch
	ErrFormat   = fault.ErrFormat
	ErrReleased = fault.ErrReleased
)

const (
	minEpsilon = 0x1p-30
	maxEpsilon = 0x1p10
	minDelta   = 1e-300
	minRho     = 0x1p-40
	maxRho     = 0x1p20
	minWidth   = 0x1p-100 // of Widths and Weights
	maxWidth   = 0x1p100
	maxOffset  = 0x1p16 // of |Lower| in widths
	minPower   = 0x1p-10
	maxPower   = 64
	maxDim     = 1 << 26
)

// Params are the public numbers of a release. They are comparable, and every method answers before any data is seen.
//
// Widths or Ellipsoid are required, and one guarantee: Rho, or Epsilon with or without Delta. All other fields may be 0 or empty; what
// that means stands with each.
type Params struct {
	// Widths are Δ₁, …, Δ_d in the units of the data, each in [2⁻¹⁰⁰, 2¹⁰⁰], d at most 2²⁶ (less where ε is so small that the noise is 2³⁰
	// widths and more): coordinate i of a row is in an interval of length Δᵢ. A coordinate of width 0 is the same in every row and not
	// private; leave it out.
	Widths Vector
	// Ellipsoid stands in the place of Widths where coordinates are correlated: the matrix M of [PackSymmetric], d at most 512, such
	// that rows x have xᵀM⁻¹x ≤ ¼ and so two rows differ by at most 1 in that norm; others are scaled to it. The noise is Gaussian of
	// covariance in proportion to M, which no other Gaussian noise beats in any coordinate. Lower, Weights, Power, Shape and Count have
	// no part in it.
	Ellipsoid Vector
	// Lower are the left ends of the intervals, each at most 2¹⁶·Δᵢ in absolute value (what is farther from 0 should be counted from
	// a public number near it). Empty stands for −Δᵢ/2: intervals around 0.
	Lower Vector

	// Rho is ρ of ρ-zCDP by Gaussian noise, in [2⁻⁴⁰, 2²⁰], or 0 where Epsilon is given.
	Rho float64
	// Epsilon is ε, in [2⁻³⁰, 2¹⁰], or 0 where Rho is given.
	Epsilon float64
	// Delta is δ, in [1e-300, 1), of (ε, δ)-DP by Gaussian noise; with 0 the release is purely ε-private by Laplace noise.
	Delta float64
	// Relation says what neighbours are: budget.Replace, one row replaced by another; budget.AddRemove, one row more or less.
	// 0 is Replace.
	Relation budget.Relation

	// Power is the p of the error E‖η‖ₚᵖ = Σ E|ηᵢ|ᵖ that the noise η is shaped for, in [2⁻¹⁰, 64]. 0 is 2, the mean squared error.
	Power float64
	// Shape says how the noise is spread over the coordinates. 0 is Optimal, for the Power.
	Shape Shape
	// Weights are b₁, …, b_d of Algorithms 15 and 16 for Shape Weighted, in any unit, each in [2⁻¹⁰⁰, 2¹⁰⁰]: the noise of coordinate i is
	// in proportion to aᵢ/bᵢ, its sensitivity (Δᵢ under Replace) by bᵢ. Empty for the other Shapes.
	Weights Vector
	// Count releases the number of rows too, where that is private and intervals are not around 0: each row then counts from the middle
	// of its intervals, which under AddRemove halves what it can change, and the noisy count, times the middle, is added back. It needs
	// AddRemove, Lower, Shape Optimal and at least one interval whose middle is not 0.
	Count bool
}

// Shape says how noise is spread over the coordinates.
type Shape uint8

const (
	// Optimal minimises E‖η‖ₚᵖ for the Power p (Lemmas 4.8 and 4.11).
	Optimal Shape = iota
	// Spherical is the same noise in every coordinate: the plain Gaussian and Laplace mechanisms.
	Spherical
	// MinimumVolume is noise in proportion to the sensitivity: the ellipsoid of minimum volume around the box.
	MinimumVolume
	// Weighted takes b from Weights.
	Weighted
)

// String returns the name of the constant.
func (s Shape) String() string {
	switch s {
	case Optimal:
		return "Optimal"
	case Spherical:
		return "Spherical"
	case MinimumVolume:
		return "MinimumVolume"
	case Weighted:
		return "Weighted"
	}
	return fmt.Sprintf("Shape(%d)", uint8(s))
}

// resolved returns the Params with their defaults filled in and without −0.
func (p Params) resolved() Params {
	p.Rho, p.Epsilon, p.Delta, p.Power = p.Rho+0, p.Epsilon+0, p.Delta+0, p.Power+0
	if p.Relation == 0 {
		p.Relation = budget.Replace
	}
	if p.Power == 0 {
		p.Power = 2
	}
	return p
}

// bad returns the error for a field.
func bad(field string, value any, want string) error {
	return fault.Params("elliptical", field, value, want)
}

func between(x, least, most float64) bool { return x >= least && x <= most }

// validateGuarantee checks the guarantee and its relation.
func (p Params) validateGuarantee() error {
	switch {
	case p.Rho != 0 && (p.Epsilon != 0 || p.Delta != 0):
		return bad("Rho", p.Rho, "0 where Epsilon or Delta is given")
	case p.Rho != 0 && !between(p.Rho, minRho, maxRho):
		return bad("Rho", p.Rho, "a number in [2⁻⁴⁰, 2²⁰], or Epsilon")
	case p.Rho == 0 && !between(p.Epsilon, minEpsilon, maxEpsilon):
		return bad("Epsilon", p.Epsilon, "a number in [2⁻³⁰, 2¹⁰], or Rho")
	case p.Delta != 0 && !(p.Delta >= minDelta && p.Delta < 1):
		return bad("Delta", p.Delta, "0 or a number in [1e-300, 1)")
	case p.Relation != budget.Replace && p.Relation != budget.AddRemove:
		return bad("Relation", p.Relation, "Replace or AddRemove")
	}
	return nil
}

// validate checks resolved Params, but for what only the calibration finds: see factor and drawable.
func (p Params) validate() error {
	if err := p.validateGuarantee(); err != nil {
		return err
	}
	if p.Ellipsoid.Len() > 0 {
		return p.validateEllipsoid()
	}
	d := p.Widths.Len()
	switch {
	case d == 0 || d > maxDim:
		return bad("Widths.Len()", d, "1 to 2²⁶ coordinates")
	case !between(p.Power, minPower, maxPower):
		return bad("Power", p.Power, "0 or a number in [2⁻¹⁰, 64]")
	case p.Shape > Weighted:
		return bad("Shape", p.Shape, "one of the constants")
	case p.Lower.Len() != 0 && p.Lower.Len() != d:
		return bad("Lower.Len()", p.Lower.Len(), "0 or as many as Widths")
	case p.Shape == Weighted && p.Weights.Len() != d:
		return bad("Weights.Len()", p.Weights.Len(), "as many as Widths")
	case p.Shape != Weighted && p.Weights.Len() != 0:
		return bad("Weights.Len()", p.Weights.Len(), "0 unless Shape is Weighted")
	case p.Count && (p.Relation != budget.AddRemove || p.Lower.Len() == 0 || p.Shape != Optimal):
		return bad("Count", p.Count, "false unless Relation is AddRemove, Lower is given and Shape is Optimal")
	}
	middle := false
	for i := range d {
		width := p.Widths.At(i)
		if !between(width, minWidth, maxWidth) {
			return bad(fmt.Sprintf("Widths[%d]", i), width, "a number in [2⁻¹⁰⁰, 2¹⁰⁰]")
		}
		if p.Lower.Len() > 0 && !between(p.Lower.At(i), -maxOffset*width, maxOffset*width) {
			return bad(fmt.Sprintf("Lower[%d]", i), p.Lower.At(i), "at most 2¹⁶ times the width in absolute value")
		}
		if p.Shape == Weighted && !between(p.Weights.At(i), minWidth, maxWidth) {
			return bad(fmt.Sprintf("Weights[%d]", i), p.Weights.At(i), "a number in [2⁻¹⁰⁰, 2¹⁰⁰]")
		}
		middle = middle || p.middle(i) != 0
	}
	if p.Count && !middle {
		return bad("Count", p.Count, "false where all intervals are around 0: a row of zeros says nothing there")
	}
	return nil
}

// lower returns the left end of interval i.
func (p Params) lower(i int) float64 {
	if p.Lower.Len() == 0 {
		return -p.Widths.At(i) / 2
	}
	return p.Lower.At(i)
}

// middle returns the middle of interval i.
func (p Params) middle(i int) float64 { return p.lower(i) + p.Widths.At(i)/2 }

// replace reports whether neighbours differ in one row replaced.
func (p Params) replace() bool { return p.Relation == budget.Replace }

// laplace reports whether the noise is Laplace noise.
func (p Params) laplace() bool { return p.Rho == 0 && p.Delta == 0 }

// Guarantee returns what the release of these Params promises under the Relation: ρ-zCDP, (ε, δ)-DP or ε-DP. Invalid Params promise
// nothing. It takes as long as [New].
func (p Params) Guarantee() budget.Guarantee {
	m, err := New(p)
	if err != nil {
		return budget.Guarantee{}
	}
	return m.Guarantee()
}

// guarantee is Guarantee of resolved Params that are valid or zero.
func (p Params) guarantee() budget.Guarantee {
	switch {
	case p.Rho > 0:
		return budget.ZCDP(p.Rho, budget.Row(p.Relation))
	case p.Delta > 0:
		return budget.ApproxDP(p.Epsilon, p.Delta, budget.Row(p.Relation))
	case p.Epsilon > 0:
		return budget.PureDP(p.Epsilon, budget.Row(p.Relation))
	}
	return budget.Guarantee{}
}

// Variance returns the variance of the noise of coordinate i, in squared units of the data; NaN for invalid Params or no such coordinate.
// It takes time in proportion to d: for many coordinates make a [Mechanism] once.
func (p Params) Variance(i int) float64 {
	m, err := New(p)
	if err != nil {
		return math.NaN()
	}
	return m.Variance(i)
}

// ExpectedError returns E‖η‖ₚᵖ = Σ E|ηᵢ|ᵖ of the noise η, for any power > 0, whatever the Power that its shape is for. NaN for invalid
// Params and powers.
func (p Params) ExpectedError(power float64) float64 {
	m, err := New(p)
	if err != nil {
		return math.NaN()
	}
	return m.ExpectedError(power)
}
