package plan

import (
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/plan/internal/means"
)

// Method is how the mean is computed. Releases of package plan/thesis have Methods of their own,
// which [New] refuses.
type Method uint8

const (
	// Auto is TwoPass for sparse NonNegative rows, else Adaptive; or Plain if
	// a quantile would miss the data with a probability above ½, or the
	// Resolution is near Max. Given scales, and Symmetric, exclude Plain.
	Auto = Method(means.Auto)
	// Adaptive finds centres, scales if they pay, and the clipping norm by
	// private quantiles: Algorithm 17 of the thesis, improved.
	Adaptive = Method(means.Adaptive)
	// TwoPass releases the sums of sparse NonNegative rows twice: unscaled for
	// a small part of the budget, then scaled by what the first pass shows.
	TwoPass = Method(means.TwoPass)
	// Plain is the Gaussian mechanism. Rows are clipped at the public bound on
	// their norm, √d·Max or the bound from the ranges.
	Plain = Method(means.Plain)
)

// String returns the name.
func (m Method) String() string { return check.EnumName(m, means.MethodNames, "Method") }

// MarshalText returns the name.
func (m Method) MarshalText() ([]byte, error) { return check.EnumText(m, means.MethodNames, "Method") }

// UnmarshalText reads a name.
func (m *Method) UnmarshalText(text []byte) error {
	return check.ParseEnum(m, text, means.MethodNames, "Method")
}
