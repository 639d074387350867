package plan

import "github.com/dpsketch/dpsketch/internal/enum"

// Method is a way to compute the mean.
type Method uint8

const (
	// Auto is TwoPass for sparse rows that are NonNegative, else Adaptive; but Plain where that is
	// better by the public numbers: where rows are so few that a quantile would more probably miss
	// than not, or Unit so near to Max that there is nothing to find. Steps, Shares or scales that
	// are given exclude Plain. A Plan is for dense rows, but where the Method is TwoPass.
	Auto Method = iota
	// Adaptive is PLAN with the steps that this package improves.
	Adaptive
	// TwoPass releases the sums of sparse rows that are NonNegative twice: unscaled with a small
	// budget, then scaled to what the first pass shows. Dense rows are clipped around the origin as
	// well, and so up to 25 times worse than by Adaptive: Release refuses them.
	TwoPass
	// Thesis is Algorithm 17 as it stands in the thesis, with honest quantiles, to compare with.
	Thesis
	// Plain is the Gaussian mechanism: rows are clipped at the public bound on their norm,
	// [Params.NormBound].
	Plain
	// InstanceOptimal is the mechanism of Huang, Liang and Yi (NeurIPS 2021), to compare with: see
	// iome.go.
	InstanceOptimal

	lastMethod = InstanceOptimal
)

var methodNames = []string{"Auto", "Adaptive", "TwoPass", "Thesis", "Plain", "InstanceOptimal"}

// String returns the name of the constant.
func (m Method) String() string { return enum.Name(m, methodNames, "Method") }

// Centre says around which point rows are clipped.
type Centre uint8

const (
	// AutoCentre is Median for dense rows, and Origin for sparse ones.
	AutoCentre Centre = iota
	// Median is a private median of every coordinate.
	Median
	// Origin is 0, and costs nothing.
	Origin

	lastCentre = Origin
)

var centreNames = []string{"AutoCentre", "Median", "Origin"}

// String returns the name of the constant.
func (c Centre) String() string { return enum.Name(c, centreNames, "Centre") }

// Scaling says whether coordinates are scaled before rows are clipped.
type Scaling uint8

const (
	// AutoScaling decides after a look at the scales of a few coordinates, if the gain is worth the
	// budget.
	AutoScaling Scaling = iota
	// Scaled always scales.
	Scaled
	// Unscaled never does.
	Unscaled

	lastScaling = Unscaled
)

var scalingNames = []string{"AutoScaling", "Scaled", "Unscaled"}

// String returns the name of the constant.
func (s Scaling) String() string { return enum.Name(s, scalingNames, "Scaling") }

// Spread is an estimator of the standard deviation of a coordinate.
type Spread uint8

const (
	// AutoSpread is Deviations, or Means for Thesis with NonNegative.
	AutoSpread Spread = iota
	// Deviations is the median of |x − μ̃|, which estimates 0.6745·σ of Gaussian data.
	Deviations
	// Pairs is Algorithm 18: the median over groups of Steps.Group disjoint pairs of half the sum
	// of their squared differences. It needs Replace, since a row more would change all pairs
	// behind it.
	Pairs
	// Direct is the .841 quantile less μ̃ (section 5.C.2).
	Direct
	// Means is √(q̃(1 − q̃)) for a noisy mean q̃ of binary rows.
	Means

	lastSpread = Means
)

var spreadNames = []string{"AutoSpread", "Deviations", "Pairs", "Direct", "Means"}

// String returns the name of the constant.
func (s Spread) String() string { return enum.Name(s, spreadNames, "Spread") }

// Steps selects the steps of a release. The zero value leaves all to the Method.
type Steps struct {
	Centre  Centre
	Scaling Scaling
	Spread  Spread
	// Group is the k of Algorithm 18, in [1, 2¹⁰]; 0 is 1.
	Group int
	// Base is the base measure of the quantiles: AutoBase or Uniform.
	// InstanceOptimal has Uniform.
	Base Base
	// Search is the number T of steps, at most 64, of the binary search that
	// finds the quantiles. 0 is the exponential mechanism.
	Search int
	// Clip is the part of the rows, in (0, 1), that is not clipped. 0 leaves it
	// to the rule of depth.go, Thesis and InstanceOptimal to theirs. For TwoPass
	// a number given is that of the second pass.
	Clip float64
	// Undivided leaves the clipped mean as it is, nearer to the centre than the
	// mean. Else it is divided by a private γ, the mean of min(1, C/‖y‖).
	Undivided bool
	// Unshrunk takes scales as they are. Else log σ̂ is shrunk to its median by
	// what its noise is of its variance.
	Unshrunk bool
	// Regularized adds ‖σ̂^e‖₁/d to σ̂^e, e = 2p/(p+2), as assumption 5.1 of
	// the thesis and Definition 5.6 allow.
	Regularized bool
	// Floor is the least standard deviation, in the units of the data.
	Floor float64
}

// Shares are parts of Rho, each 0 or less than 1, of at least 2⁻³⁸ once multiplied by Rho, and
// together at most 0.99. The sum gets what they leave.
type Shares struct {
	Centre  float64
	Scale   float64 // for TwoPass the sums of the first pass
	Clip    float64 // for TwoPass half of it for each pass
	Divisor float64
}

// total returns the sum of the shares.
func (s Shares) total() float64 { return s.Centre + s.Scale + s.Clip + s.Divisor }
