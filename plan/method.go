package plan

import (
	"github.com/dpsketch/dpsketch/internal/enum"
	"github.com/dpsketch/dpsketch/plan/internal/means"
)

// Method is a way to compute the mean. What package plan/thesis releases has a Method of its own,
// which [New] refuses.
type Method uint8

const (
	// Auto is TwoPass for sparse rows that are NonNegative, else Adaptive. It is Plain where the
	// public numbers say that Plain is better: where a quantile would more probably miss the data
	// than not, or the Resolution is so near Max that there is nothing to find. Scales that are
	// given and Symmetric exclude Plain.
	Auto = Method(means.Auto)
	// Adaptive finds centres, scales if they pay, and the clipping norm by private quantiles:
	// Algorithm 17 of the thesis, improved.
	Adaptive = Method(means.Adaptive)
	// TwoPass releases the sums of sparse NonNegative rows twice: unscaled for a small part of the
	// budget, then scaled by what the first pass shows. Dense rows are refused: clipped around the
	// origin, as here, they have up to 25 times the error of Adaptive.
	TwoPass = Method(means.TwoPass)
	// Plain is the Gaussian mechanism. Rows are clipped at the public bound on their norm, √d·Max,
	// or that of the ranges.
	Plain = Method(means.Plain)
)

// String returns the name of the constant.
func (m Method) String() string { return enum.Name(m, means.MethodNames, "Method") }

// MarshalText returns the name of the constant, for JSON and flags.
func (m Method) MarshalText() ([]byte, error) { return enum.Text(m, means.MethodNames, "Method") }

// UnmarshalText reads the name of a constant.
func (m *Method) UnmarshalText(text []byte) error {
	return enum.Parse(m, text, means.MethodNames, "Method")
}
