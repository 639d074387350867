package threshold

import (
	"fmt"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/sparse"
)

// Method is a mechanism. All except DenseLaplace release a key only if its noisy value reaches the
// threshold.
type Method uint8

const (
	// Auto chooses: see [Plan.Candidates].
	Auto Method = iota
	// ExponentialRounding, for δ > 0: a value v below R counts as R with
	// probability (e^{v/b}−1)/(e^{R/b}−1), else as 0; then Laplace noise of scale
	// b = Δ/ε. It is valid under every relation and has the least threshold where
	// one user changes one or a few keys.
	ExponentialRounding
	// LinearRounding, for δ > 0: as ExponentialRounding, with probability v/R.
	// With R = Δ it is Algorithm 9 (Threshold2) with its least threshold. If
	// values are real and MaxKeys is not given, Auto does not choose it: the
	// guarantee needs that all that changes for a key is in one call of Add.
	LinearRounding
	// Laplace, for δ > 0 and MaxKeys or Integers: Laplace noise of scale Δ/ε
	// without rounding.
	Laplace
	// Gaussian, for δ > 0 and MaxKeys: independent normal noise at its exact joint
	// δ. A Sensitivity below MaxKeys·MaxValue does not reduce its noise.
	Gaussian
	// CorrelatedGaussian, for δ > 0, MaxKeys and Stored, where users only add values ≥ 0
	// (AddRemove, not Signed): normal noise of which a part is shared by all keys.
	CorrelatedGaussian
	// PureLaplace needs Dim: Laplace noise on all d coordinates, and a threshold.
	// It is ε-private. Keys without a value are sometimes released: see FalseKeys.
	PureLaplace
	// DenseLaplace needs Dim ≤ 2²⁶: Laplace noise on all d coordinates, all of
	// them released, ε-private. It is chosen by default only for listed keys.
	DenseLaplace
)

// String returns the name of the constant.
func (m Method) String() string { return check.EnumName(m, sparse.MethodNames, "Method") }

// MarshalText returns the name of the constant, for JSON and flags.
func (m Method) MarshalText() ([]byte, error) { return check.EnumText(m, sparse.MethodNames, "Method") }

// UnmarshalText reads the name of a constant.
func (m *Method) UnmarshalText(text []byte) error {
	return check.ParseEnum(m, text, sparse.MethodNames, "Method")
}

// Candidate is a mechanism that the Params allow, or the reason why they do not.
type Candidate struct {
	Method Method
	// Threshold is the least value that is released, and StdDev the standard
	// deviation of its noise, both in the units of the data. NaN where Reason is
	// given.
	Threshold, StdDev float64
	// Reason says why the mechanism is not possible here; "" if it is.
	Reason string
}

// String says what the candidate needs, or why it is not possible.
func (c Candidate) String() string {
	if c.Reason != "" {
		return fmt.Sprintf("%v: not possible, %s", c.Method, c.Reason)
	}
	return fmt.Sprintf("%v: threshold %.4g, standard deviation %.4g", c.Method, c.Threshold, c.StdDev)
}
