package thesis

import (
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/dpsketch/dpsketch/plan"
	"github.com/dpsketch/dpsketch/plan/internal/means"
)

// ErrParams is the error that [New] wraps; match it with errors.Is.
var ErrParams = check.ErrParams

// Instance is a mechanism of chapter 5 of the thesis, or the one that it compares with.
type Instance uint8

const (
	// Algorithm18 is Algorithm 17 as sections 5.7 and 5.D instantiate it: with the scales of
	// Algorithm 18 under Replace, Direct under AddRemove, and Means if NonNegative.
	Algorithm18 Instance = iota
	// Pairs has the scales of Algorithm 18: medians over groups of pairs of rows.
	// It needs Replace, since an added row would change all later pairs.
	Pairs
	// Direct has the scales of section 5.C.2: the .841 quantile minus the median.
	Direct
	// Means has the scales of section 5.7.1: √(q(1−q)) of noisy means q of binary rows. It needs
	// NonNegative.
	Means
	// IOME is instance-optimal mean estimation (Huang, Liang, Yi, NeurIPS 2021): medians of
	// randomly rotated coordinates by binary search, and spherical noise. NonNegative must be
	// false. NaN counts as 0 in the rotated rows, and as the centre from then on.
	IOME

	lastInstance = IOME
)

var instances = []string{"Algorithm18", "Pairs", "Direct", "Means", "IOME"}

// String returns the name of the constant.
func (i Instance) String() string { return check.EnumName(i, instances, "Instance") }

// MarshalText returns the name of the constant, for JSON and flags.
func (i Instance) MarshalText() ([]byte, error) { return check.EnumText(i, instances, "Instance") }

// UnmarshalText reads the name of a constant.
func (i *Instance) UnmarshalText(text []byte) error {
	return check.ParseEnum(i, text, instances, "Instance")
}

// Steps changes steps of a mechanism. The zero value is the published one.
type Steps struct {
	// Origin clips rows around 0 and spends nothing on medians. Sparse and
	// NonNegative rows are always clipped around 0, and rows of IOME never: for
	// sparse ones under AddRemove its noise is up to twice as large, as a row
	// that loses its entries stays away from the centre.
	Origin bool
	// Unscaled clips by the norm alone. IOME always does so.
	Unscaled bool
	// Group is the k of Algorithm 18, the pairs in a group, at most 2¹⁰. 0 is 1.
	Group int
	// Search is the number of steps, at most 64, of the binary search that finds
	// quantiles. 0 is the exponential mechanism, or 20 for IOME.
	Search int
	// Clip is the part of the rows, in (0, 1), that is not clipped. 0 is Lemma
	// 5.4, with the corrected radius.
	Clip float64
	// Floor is the least standard deviation, in the units of the data. 0 is
	// Max·d^{−1/5} if NonNegative.
	Floor float64
}

// Shares are parts of Rho. Each is 0, or less than 1 and at least 2⁻³⁸ once multiplied by Rho.
// Together they are at most 0.99, and the sum gets the rest. If all are 0, they are those of the
// paper.
type Shares struct {
	Centre, Scale, Clip float64
	Divisor             float64 // of a private number of rows
}

// Params are the public numbers of a release. They are comparable. Rho, Dim and, unless
// NonNegative, Max are required; all other fields may be 0.
type Params struct {
	// Rho is ρ, the whole budget, in [2⁻³⁰, 2²⁰].
	Rho float64
	// Dim is d, the number of coordinates, at most 2²⁴.
	Dim int
	// Max is an upper bound on abs(entry); 0 is 1 if NonNegative. IOME searches
	// for rotated coordinates within ±4·Max.
	Max float64
	// Rows, Relation and NonNegative are those of plan.Params.
	Rows        int
	Relation    budget.Relation
	NonNegative bool
	// P is the p of the ℓₚ error, in [1/16, 64]. 0 is 2, or 1 if NonNegative.
	P float64
	// Instance is the mechanism.
	Instance Instance
	// Steps and Shares change single steps, and what they spend.
	Steps  Steps
	Shares Shares
}

// engine returns the same for the engine of package plan.
func (p Params) engine() means.Params {
	s := means.Steps{Group: p.Steps.Group, Search: p.Steps.Search, Clip: p.Steps.Clip, Floor: p.Steps.Floor}
	s.Spread = map[Instance]means.Spread{Pairs: means.Pairs, Direct: means.Direct, Means: means.Means}[p.Instance]
	if p.Steps.Origin {
		s.Centre = means.Origin
	}
	if p.Steps.Unscaled {
		s.Scaling = means.Unscaled
	}
	method := means.Thesis
	if p.Instance == IOME {
		method = means.InstanceOptimal
	}
	return means.Params{
		Rho: p.Rho, Dim: p.Dim, Max: p.Max, Rows: p.Rows, Relation: p.Relation, NonNegative: p.NonNegative,
		P: p.P, Method: method, Steps: s, Shares: means.Shares(p.Shares),
	}
}

// validate checks the fields.
func (p Params) validate() error {
	bad := func(want string) error { return check.ParamsError("plan/thesis", "Instance", p.Instance, want) }
	switch {
	case p.Instance > lastInstance:
		return bad("one of the constants")
	case p.Instance == Pairs && p.Relation != budget.Replace:
		return bad("another one under AddRemove")
	case p.Instance == Means && !p.NonNegative:
		return bad("another one where entries may be negative")
	case p.Instance == IOME && p.NonNegative:
		return bad("another one if NonNegative, as it centres rows")
	}
	return p.engine().Validate()
}

// Guarantee returns what a release of these Params promises: ρ-zCDP under the Relation. Params that
// New would reject promise nothing.
func (p Params) Guarantee() budget.Guarantee {
	if p.validate() != nil {
		return budget.Guarantee{}
	}
	return p.engine().Guarantee()
}

// New returns a Mechanism of package plan that releases by these Params, or an error that wraps
// [ErrParams]. The Method in its Params is Thesis or InstanceOptimal, which [plan.New] refuses.
//
// For experiments, New also accepts values that protect hardly anybody: ε above 20, δ above 0.01.
func New(p Params) (*plan.Mechanism, error) {
	if err := p.validate(); err != nil {
		return nil, err
	}
	m, err := means.New(p.engine())
	if err != nil {
		return nil, err
	}
	return (*plan.Mechanism)(m), nil
}
