package elliptical

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// Sentinel errors, shared by all packages of the library; match them with errors.Is.
var (
	ErrParams   = check.ErrParams
	ErrMismatch = check.ErrMismatch
	ErrFormat   = check.ErrFormat
	ErrReleased = check.ErrReleased
)

const (
	minWidth  = 0x1p-100 // of Max − Min and of Weights
	maxWidth  = 0x1p100
	maxOffset = 0x1p16 // of |Min| in widths
	maxDim    = 1 << 26
)

// Params are the public numbers of a release, comparable. Min and Max, or Ellipsoid, or NormBound
// and Dim are required, and one guarantee: Rho, or Epsilon with or without Delta. All other fields
// may be 0 or empty.
type Params struct {
	// Min and Max are the ends of the intervals that the coordinates of a row
	// are clamped to, in the units of the data, d numbers each, d at most 2²⁶
	// (less where ε is so small that the noise is at least 2³⁰ widths). Each
	// width Δᵢ = Max − Min is in [2⁻¹⁰⁰, 2¹⁰⁰], and |Min| at most 2¹⁶·Δᵢ: from
	// values that are farther from 0 subtract a public number.
	Min, Max Vector
	// Ellipsoid replaces Min and Max where coordinates are correlated: the
	// matrix M of [PackSymmetric], d at most 512, such that rows x have xᵀM⁻¹x
	// ≤ ¼. Other rows are scaled to it. The noise is Gaussian with a
	// covariance proportional to M. Weights, Shape and Count do not apply.
	Ellipsoid Vector

	// NormBound, in [2⁻¹⁰⁰, 2¹⁰⁰], replaces Min and Max where rows of Dim
	// numbers, such as embeddings, have at most that Euclidean norm. Longer
	// rows are scaled to it. The noise is Gaussian and the same in every
	// coordinate. Weights and Shape do not apply.
	NormBound float64
	// Dim is d where NormBound is given, at most 2²⁴, else 0.
	Dim int

	// Rho is ρ of ρ-zCDP by Gaussian noise, in [2⁻⁶⁰, 2²⁰], or 0 with Epsilon.
	Rho float64
	// Epsilon is ε, in [2⁻³⁰, 2¹⁰], or 0 where Rho is given.
	Epsilon float64
	// Delta is δ, in [1e-300, 1), of (ε, δ)-DP by Gaussian noise; with 0 the
	// release is purely ε-private by Laplace noise.
	Delta float64
	// Relation is budget.AddRemove, which 0 stands for, or budget.Replace: the
	// number of rows is public then. For intervals around 0 AddRemove has half
	// the noise. For others use Count with it; without, the noise is for the
	// largest absolute value.
	Relation budget.Relation

	// Relative counts the error of each coordinate in its width, Max − Min,
	// for coordinates of different units. Weights must be empty.
	Relative bool
	// Shape is 0, Optimal, or under pure ε another constant; [New] puts Box or
	// Independent in the place of 0 there.
	Shape Shape
	// Weights replace the shape of the least mean squared error: b₁, …, b_d of
	// Algorithms 15 and 16, in any unit, each in [2⁻¹⁰⁰, 2¹⁰⁰]. The noise of
	// coordinate i is proportional to aᵢ/bᵢ: see the package page. They must
	// be empty for Box and with Count.
	Weights Vector
	// Count releases the number of rows, too, where that is private and
	// intervals are not around 0. Each row then counts from the middle of its
	// intervals, which under AddRemove halves what it can change. It needs
	// AddRemove, at least one interval whose middle is not 0, and no Weights.
	Count bool
}

// Shape says how noise is spread over the coordinates.
type Shape uint8

const (
	// Optimal minimises the mean squared error: for Gaussian noise by Lemma
	// 4.8; under pure ε by Box or Independent, whichever has less. Errors
	// count in the units of the data, or with Relative in widths.
	Optimal Shape = iota
	// Independent, under pure ε, is independent Laplace noise in each
	// coordinate, with the scales that minimise E‖η‖₂² (Lemma 4.11), or with
	// those given by the Weights.
	Independent
	// Box, under pure ε, is noise that is uniform on multiples of the box of
	// sensitivities: one radius for all coordinates of about the same
	// sensitivity. Its mean squared error is ½ to ⅙ of Laplace noise's for 2
	// and more equal coordinates. Where many releases share one budget with a
	// δ, Laplace noise composes better.
	Box
)

// String returns the name of the constant.
func (s Shape) String() string { return check.EnumName(s, shapeNames, "Shape") }

var shapeNames = []string{"Optimal", "Independent", "Box"}

// resolved returns the Params with their defaults filled in and without −0.
func (p Params) resolved() Params {
	p.Rho, p.Epsilon, p.Delta, p.NormBound = p.Rho+0, p.Epsilon+0, p.Delta+0, p.NormBound+0
	p.Relation = cmp.Or(p.Relation, budget.AddRemove)
	if p.pure() && p.Shape == Optimal && p.Weights.Len() > 0 {
		p.Shape = Independent
	}
	return p
}

// bad returns the error for a field.
func bad(field string, value any, want string) error {
	return check.ParamsError("elliptical", field, value, want)
}

func between(x, least, most float64) bool { return x >= least && x <= most }

// validate checks resolved Params, except for what only the calibration finds: see factor and
// drawable.
func (p Params) validate() error {
	err := cmp.Or(check.EpsilonOrRho("elliptical", p.Epsilon, p.Delta, p.Rho), check.Relation("elliptical", p.Relation))
	switch {
	case err != nil:
		return err
	case p.NormBound != 0:
		return p.validateBall()
	case p.Dim != 0:
		return bad("Dim", p.Dim, "0 without NormBound")
	case p.Ellipsoid.Len() > 0:
		return p.validateEllipsoid()
	}
	d := p.Min.Len()
	switch {
	case d == 0 || d > maxDim:
		return bad("Min.Len()", d, "1 to 2²⁶ coordinates")
	case p.Max.Len() != d:
		return bad("Max.Len()", p.Max.Len(), "as many as Min")
	case p.Relative && p.Weights.Len() != 0:
		return bad("Weights.Len()", p.Weights.Len(), "0 where Relative is true")
	case p.Shape > Box:
		return bad("Shape", p.Shape, "one of the constants")
	case p.Shape != Optimal && !p.pure():
		return bad("Shape", p.Shape, "Optimal for Gaussian noise")
	case p.Weights.Len() != 0 && p.Weights.Len() != d:
		return bad("Weights.Len()", p.Weights.Len(), "as many as Min")
	case p.Weights.Len() != 0 && (p.Shape == Box || p.Count):
		return bad("Weights.Len()", p.Weights.Len(), "0 where Shape is Box or Count is true")
	case p.Count && p.Relation != budget.AddRemove:
		return bad("Count", p.Count, "false unless Relation is AddRemove")
	}
	middle := false
	for i := range d {
		v := p.interval(i)
		low, width := v.low, v.width()
		if !between(math.Abs(low), 0, math.MaxFloat64) {
			return bad(fmt.Sprintf("Min[%d]", i), low, "a finite number")
		}
		if !between(width, minWidth, maxWidth) {
			want := fmt.Sprintf("a number above Min[%d] = %v by 2⁻¹⁰⁰ to 2¹⁰⁰", i, low)
			return bad(fmt.Sprintf("Max[%d]", i), p.Max.At(i), want)
		}
		if !between(low, -maxOffset*width, maxOffset*width) {
			want := fmt.Sprintf("at most 2¹⁶·(Max[%d] − Min[%d]) = %v in absolute value", i, i, maxOffset*width)
			return bad(fmt.Sprintf("Min[%d]", i), low, want)
		}
		if p.Weights.Len() > 0 && !between(p.Weights.At(i), minWidth, maxWidth) {
			return bad(fmt.Sprintf("Weights[%d]", i), p.Weights.At(i), "a number in [2⁻¹⁰⁰, 2¹⁰⁰]")
		}
		middle = middle || v.middle() != 0
	}
	if p.Count && !middle {
		return bad("Count", p.Count, "false where all intervals are around 0: a row of zeros says nothing there")
	}
	return nil
}

// interval is [Min, Max] of one coordinate.
type interval struct{ low, high float64 }

// interval returns that of coordinate i. (No copy of the Params is made, as this is asked for each
// of millions.)
func (p *Params) interval(i int) interval { return interval{p.Min.At(i), p.Max.At(i)} }

// width returns Δᵢ, up to the last digit: the sensitivity is that of the grid, see box.
func (v interval) width() float64 { return v.high - v.low }

func (v interval) middle() float64 { return v.low/2 + v.high/2 }

// replace reports whether neighbours differ in one row replaced.
func (p Params) replace() bool { return p.Relation == budget.Replace }

// laplace reports whether the guarantee is purely ε.
func (p Params) pure() bool { return p.Rho == 0 && p.Delta == 0 }

// Guarantee returns what the release of these Params promises under the Relation. Invalid Params
// promise nothing. It takes as long as [New].
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
		unit := budget.Row(p.Relation)
		return budget.ZCDP(p.Rho, unit).WithPair(budget.GDP(exact.SqrtUp(2*p.Rho), unit))
	case p.Delta > 0:
		return budget.Gaussian(p.Epsilon, p.Delta, budget.Row(p.Relation))
	case p.Epsilon > 0 && p.Shape != Optimal && p.Shape != Box:
		// the noise of a box is of all coordinates together
		return budget.Laplace(p.Epsilon, budget.Row(p.Relation))
	case p.Epsilon > 0:
		return budget.PureDP(p.Epsilon, budget.Row(p.Relation))
	}
	return budget.Guarantee{}
}

// Plan is what a release will be, before any data is seen.
type Plan struct {
	// Params are filled in: under pure ε with the Shape that Optimal stands for.
	Params Params
	Bytes  int // of the encoding of a Sum
}

// Plan returns what a release will be. It takes as long as [New]. The error wraps [ErrParams].
func (p Params) Plan() (Plan, error) {
	m, err := New(p)
	if err != nil {
		return Plan{}, err
	}
	return Plan{m.params, m.encoded()}, nil
}

// noise returns the calibrated noise, which is remembered; that of the zero Plan has no
// coordinates.
func (p Plan) noise() gridNoise {
	m, err := New(p.Params)
	if err != nil {
		return gridNoise{}
	}
	return m.noise
}

// StdDev returns the standard deviation of the noise of coordinate i, in units of the data: σᵢ for
// Gaussian noise, √2·sᵢ for Laplace noise, Δᵢ/√3 times the root mean square of the radius for Box,
// and with Count the middle times the count's in quadrature. NaN if there is no such coordinate.
func (p Plan) StdDev(i int) float64 {
	return math.Sqrt(p.noise().variance(i))
}

// Error returns E‖η‖ₚᵖ = Σ E|ηᵢ|ᵖ of the noise η for any finite power p > 0, else NaN. With shape b
// it is Γ((p+1)/2)/(ρ^{p/2}·√π)·Σ(Δᵢ/bᵢ)ᵖ for Gaussian noise under Replace (Lemma 4.7) and
// Γ(p+1)/εᵖ·Σ(Δᵢ/bᵢ)ᵖ for Laplace noise (Lemma 4.10).
func (p Plan) Error(power float64) float64 {
	l := p.noise()
	if l.dim == 0 {
		return math.NaN()
	}
	return l.expectedError(power)
}

// String says what a release will be, in one line.
func (p Plan) String() string {
	l := p.noise()
	return fmt.Sprintf("%s noise, %v, for %d coordinates, E‖η‖² = %.4g, %d bytes", l.kind, p.Params.Shape, l.dim, p.Error(2), p.Bytes)
}

// Vector is an immutable list of public numbers, one per coordinate, comparable with ==. The zero
// Vector is empty.
type Vector struct {
	bits string // IEEE 754 bits, eight bytes each: a string is immutable and comparable
}

// VectorOf returns the Vector of the numbers, which are copied; −0 counts as 0.
func VectorOf(values ...float64) Vector {
	bits := make([]byte, 0, 8*len(values))
	for _, x := range values {
		bits = binary.LittleEndian.AppendUint64(bits, math.Float64bits(x+0))
	}
	return Vector{string(bits)}
}

// Len returns the number of coordinates.
func (v Vector) Len() int { return len(v.bits) / 8 }

// At returns number i, counted from 0, or NaN if there is none.
func (v Vector) At(i int) float64 {
	if i < 0 || i >= v.Len() {
		return math.NaN()
	}
	return math.Float64frombits(v.word(i))
}

// word returns the bits of number i; 0 if there is none.
func (v Vector) word(i int) uint64 {
	if uint(i) >= uint(v.Len()) {
		return 0
	}
	s := v.bits[8*i:][:8]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// pick returns the numbers at some places, none of an empty Vector.
func (v Vector) pick(places []int) Vector {
	if v.Len() == 0 {
		return v
	}
	bits := make([]byte, 0, 8*len(places))
	for _, i := range places {
		bits = append(bits, v.bits[8*i:8*i+8]...)
	}
	return Vector{string(bits)}
}

// Values returns the numbers as a new slice.
func (v Vector) Values() []float64 {
	values := make([]float64, v.Len())
	for i := range values {
		values[i] = math.Float64frombits(v.word(i))
	}
	return values
}

// String prints the numbers, the first eight of a long list.
func (v Vector) String() string {
	const shown = 8
	if n := v.Len(); n > shown {
		return fmt.Sprintf("%v… (%d numbers)", Vector{v.bits[:8*shown]}.Values(), n)
	}
	return fmt.Sprint(v.Values())
}
