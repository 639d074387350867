package misragries

import (
	"github.com/dpsketch/dpsketch/internal/check"
)

// Method is a mechanism that releases a sketch. One stream can have each.
type Method uint8

const (
	// Auto chooses.
	Auto Method = iota
	// KeptZeros is Algorithm 2 of the paper: counters, zeros included, have shared
	// and own discrete Laplace noise. The default for one stream.
	KeptZeros
	// FreedZeros is the same for a sketch that frees counters at zero (section
	// 5.1). The default for counters from elsewhere.
	FreedZeros
	// SparseVector releases the positive counters as a sparse vector. The default
	// for merged sketches and users with several keys.
	SparseVector
	// ReducedSum sums reduced sketches (Algorithm 3). A [Sum] takes it if
	// MaxLength shows that it needs no larger counts than TrimmedSum.
	ReducedSum
	// TrimmedSum reduces them only by the mean of the smallest counters, up to a
	// private cap. The default of a [Sum].
	TrimmedSum
	// PureUniverse adds noise to all Dim keys and releases the k largest (section
	// 6). The default if Delta is 0.
	PureUniverse

	lastMethod = PureUniverse
)

var methodNames = []string{
	"Auto", "KeptZeros", "FreedZeros", "SparseVector", "ReducedSum", "TrimmedSum", "PureUniverse",
}

// String returns the name of the constant.
func (m Method) String() string { return check.EnumName(m, methodNames, "Method") }

// MarshalText returns the name.
func (m Method) MarshalText() ([]byte, error) { return check.EnumText(m, methodNames, "Method") }

// UnmarshalText reads a name.
func (m *Method) UnmarshalText(text []byte) error {
	return check.ParseEnum(m, text, methodNames, "Method")
}

// mechanism is what a Method does: what it releases of a sketch, with which noise, and how many
// counts it may not tell.
type mechanism struct {
	zeros   bool // the zero counters as well
	shared  bool // the counters with noise that they share, and which D has with the other sign
	sparse  bool // the positive counters and D, by package sparse
	reduced bool // what the counters are above the mean of all, and the length of the stream
	trimmed bool // what they are above that of the j smallest, and W
	top     bool // the k largest of all keys of the universe, else those at the threshold or above
}

// mechanisms has a row for each Method.
var mechanisms = [lastMethod + 1]mechanism{
	KeptZeros:    {shared: true, zeros: true},
	FreedZeros:   {shared: true},
	SparseVector: {sparse: true},
	ReducedSum:   {reduced: true},
	TrimmedSum:   {trimmed: true},
	PureUniverse: {reduced: true, top: true},
}

// input is what a release starts from.
type input uint8

const (
	oneStream     input = iota // a Builder
	givenCounters              // a Builder of FromMisraGries
	merged                     // a Builder that others were merged into
	summed                     // a Sum
	users                      // a UserBuilder

	lastInput = users
)

// possible lists the mechanisms of each input. Without δ, Auto takes the first that needs none.
// Else it takes the first; for users, the one with the least threshold; for a sum see
// [Params.leastOf].
var possible = [lastInput + 1][]Method{
	oneStream:     {KeptZeros, FreedZeros, ReducedSum, TrimmedSum, SparseVector, PureUniverse},
	givenCounters: {FreedZeros, ReducedSum, TrimmedSum, SparseVector, PureUniverse},
	merged:        {SparseVector, PureUniverse},
	summed:        {TrimmedSum, ReducedSum, PureUniverse},
	users:         {SparseVector, KeptZeros, PureUniverse},
}

// String is the constructor, for errors and plans.
func (in input) String() string {
	return []string{"New", "FromMisraGries", "Builder.Merge", "NewSum", "NewUserBuilder"}[in]
}
