package approx

import (
	"cmp"
	"fmt"
	"math"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/noise/budget"
)

var (
	// ErrParams reports a public parameter outside its range. The text names the parameter, its
	// value and the range.
	ErrParams = check.ErrParams
	// ErrFormat reports bytes that are not the canonical encoding of a [Value] or an [Advised].
	ErrFormat = check.ErrFormat
	// ErrReleased reports a [Mechanism] whose queries are used up.
	ErrReleased = check.ErrReleased
)

// Noise names the distribution of the noise.
type Noise uint8

const (
	// AutoNoise is LaplaceNoise for a subexponential error. Else it is ParetoNoise or StudentNoise,
	// the one with the smaller E|Y|.
	AutoNoise Noise = iota
	// LaplaceNoise needs a subexponential error.
	LaplaceNoise
	// ParetoNoise needs a bounded moment α > 1.
	ParetoNoise
	// StudentNoise needs a bounded moment α ≥ 2.
	StudentNoise
)

var noiseNames = []string{"AutoNoise", "LaplaceNoise", "ParetoNoise", "StudentNoise"}

// String returns the name of the constant.
func (n Noise) String() string { return check.EnumName(n, noiseNames, "Noise") }

// Params are the public numbers of a private approximation: what is known about an estimator A of a
// function g, and the privacy that is wanted. They are comparable, and every method answers before
// any data is seen.
//
// Sensitivity and Error are promises about the estimator, for every input, and the guarantee rests
// on them. Clamping to ±Max does not weaken it: clamping is 1-Lipschitz, so the clamped A
// approximates the clamped g with the same Δ₁ and Δ₂. NaN counts as 0, so they hold for A with 0 in
// its place. To cover the rounding of A to a grid, Δ₁ is increased by the grid's step: the density
// of A + Y moves by at most half a step's shift, on both sides (for moments: Δ₂ by half a step, by
// Minkowski).
type Params struct {
	// Epsilon is ε of all Queries together, in [2⁻³⁰, 2¹⁰] and at least
	// 2⁻³⁸·Queries.
	Epsilon float64
	// Sensitivity is Δ₁, an upper bound on the difference of g between
	// neighbours, in the units of the data. 0 is 1.
	Sensitivity float64
	// Error is Δ₂, 0 or in [2⁻⁹⁰⁰, 2⁹⁰⁰]. With Moment 0 it is a subexponential
	// diameter of the error, Pr[|A−g| ≥ t] ≤ 2e^{−t/Δ₂} for all t; else
	// (E|A−g|^α)^{1/α} ≤ Δ₂. A and g may be real.
	Error float64
	// Moment is α, 0 or in (1, 2¹⁰].
	Moment float64
	// Queries is k, the number of answers from one execution of the estimator, in
	// [1, 2³⁰]. 0 is 1. More than one needs a subexponential error.
	Queries int
	// Noise is the distribution of the noise.
	Noise Noise
	// Max is an upper bound on |g|; estimates are clamped to ±Max. 0 is at
	// least 2³³ times the larger of Sensitivity and Error, or 2⁴⁶ times the
	// scale of the noise if that is less; any other Max is at most that.
	Max float64
	// Protects says who the neighbours are. Between them g differs by at most
	// Sensitivity. 0 is budget.L1(Sensitivity).
	Protects budget.Unit
	// Advice is for [Search] alone; 0 elsewhere.
	Advice Advice
}

// leastQueryEpsilon is the least ε for each query: with less, the noise would leave the grid (see
// choose).
const leastQueryEpsilon = 0x1p-38

// validate checks the fields one by one and together.
func (p Params) validate() error {
	if err := checkNumbers(p.Epsilon, p.sensitivity(), "Error", p.Error); err != nil {
		return err
	}
	bad := func(field string, value any, want string) error {
		return check.ParamsError("approx", field, value, want)
	}
	switch {
	case p.Advice != (Advice{}):
		return bad("Advice", p.Advice, "0, except for a Search")
	case p.Moment != 0 && !(p.Moment > 1 && p.Moment <= mostMoment):
		return bad("Moment", p.Moment, "0 or a number in (1, 2¹⁰]")
	case p.Queries < 0 || p.Queries > mostQueries:
		return bad("Queries", p.Queries, "an integer in [0, 2³⁰]")
	case p.Epsilon < leastQueryEpsilon*float64(p.queries()):
		return bad("Epsilon", p.Epsilon, "at least 2⁻³⁸·Queries")
	case p.Queries > 1 && p.Moment != 0:
		return bad("Queries", p.Queries, "at most 1 where Moment is given")
	case p.Noise > StudentNoise, p.Noise == LaplaceNoise && p.Moment != 0, p.Noise > LaplaceNoise && p.Moment == 0, p.Noise == StudentNoise && p.Moment < 2:
		return bad("Noise", p.Noise, "AutoNoise, LaplaceNoise where Moment is 0, ParetoNoise where it is not, or StudentNoise where it is at least 2")
	case p.Max != 0 && !(p.Max >= leastParam && p.Max <= mostParam):
		return bad("Max", p.Max, "0 or "+wantParam)
	}
	return nil
}

// sensitivity returns Δ₁, the default filled in.
func (p Params) sensitivity() float64 {
	return cmp.Or(p.Sensitivity, 1)
}

// unit returns for whom the guarantee is, the default filled in.
func (p Params) unit() budget.Unit {
	return cmp.Or(p.Protects, budget.L1(p.sensitivity()))
}

// queries returns k, with the default filled in.
func (p Params) queries() int { return max(p.Queries, 1) }

// normalized returns p without negative zeros.
func (p Params) normalized() Params {
	p.Sensitivity, p.Error, p.Moment, p.Max = p.Sensitivity+0, p.Error+0, p.Moment+0, p.Max+0
	return p
}

// Guarantee returns what all Queries together promise, or with Advice the whole search: ε for the
// unit. Invalid Params promise nothing.
func (p Params) Guarantee() budget.Guarantee {
	_, err := p.choose()
	if p.Advice != (Advice{}) {
		_, err = newSearch(p)
	}
	if err != nil {
		return budget.Guarantee{}
	}
	return budget.PureDP(p.Epsilon, p.unit())
}

// Plan is what a release will be, before any data is seen.
type Plan struct {
	Params Params // filled in
	// StdDev is the standard deviation of the noise, in the units of the data:
	// +Inf for a Moment of 3 or less.
	StdDev float64
	Bytes  int // of the encoding of a Value
	// Scale is the scale of the noise, in the units of the data.
	Scale float64
	// MeanAbs is E|Y| of the noise Y, in the units of the data: +Inf for a Moment
	// of 2 or less.
	MeanAbs float64
}

// Plan returns what a release will be. The error wraps [ErrParams].
func (p Params) Plan() (Plan, error) {
	n, err := p.choose()
	if err != nil {
		return Plan{}, err
	}
	p = p.normalized()
	p.Sensitivity, p.Protects, p.Queries, p.Noise = p.sensitivity(), p.unit(), p.queries(), n.noise
	return Plan{p, math.Sqrt(n.distribution().Variance()), valueSize, n.scale, n.distribution().MeanAbs()}, nil
}

// ErrorBound returns a bound on |value − g| of one released value, the error of the estimator
// included, that holds with the given confidence in [0, 1), provided |g| ≤ Max. NaN for another
// confidence and for the zero Plan.
func (p Plan) ErrorBound(confidence float64) float64 { return p.Params.errorBound(confidence) }

// String names the noise and its scale, in one line.
func (p Plan) String() string {
	return fmt.Sprintf("%v of scale %.4g, within %.4g with confidence 0.95, %d bytes", p.Params.Noise, p.Scale, p.ErrorBound(0.95), p.Bytes)
}

// errorBound is [Plan.ErrorBound], NaN for invalid Params.
func (p Params) errorBound(confidence float64) float64 {
	n, err := p.choose()
	if err != nil {
		return math.NaN()
	}
	return n.errorBound(p, confidence)
}

// Fit says how accurate an estimator must be: it returns p with the largest Error for which a
// released value is within bound of g with the given confidence. That is about ε·bound for one
// query, by Tětek's Lemmas 15 and 16 with their constants.
//
// The error wraps [ErrParams] if no Error is small enough, that is, if the noise for the
// Sensitivity alone is too large. The Error of the returned Params is then NaN, which [New]
// refuses.
func (p Params) Fit(bound, confidence float64) (Params, error) {
	refuse := func(field string, value float64, want string) (Params, error) {
		p.Error = math.NaN()
		return p, check.ParamsError("approx", field, value, want)
	}
	if !(bound >= leastParam && bound <= mostParam) {
		return refuse("bound", bound, wantParam)
	}
	if !check.Confidence(confidence) {
		return refuse("confidence", confidence, "a number in [0, 1)")
	}
	tooMuch := func(e float64) bool {
		// false also where the noise is so small against Max that there is none
		p.Error = e
		return p.errorBound(confidence) > bound
	}
	// the estimator's part alone is above a bound of Error
	lo, hi := max(bound*0x1p-40, leastParam), bound
	if tooMuch(lo) {
		return refuse("bound", bound, "more, or a smaller Sensitivity: its noise alone is larger")
	}
	p.Error = largest(lo, hi, 1+1e-9, tooMuch)
	if _, err := p.choose(); err != nil {
		p.Error = math.NaN()
		return p, err
	}
	return p, nil
}

// largest returns a number of [lo, hi] that is not too much, within the factor of one that is.
func largest(lo, hi, factor float64, tooMuch func(float64) bool) float64 {
	for hi > lo*factor {
		if mid := math.Sqrt(lo) * math.Sqrt(hi); tooMuch(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return lo
}
