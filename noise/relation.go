package noise

import "strconv"

// Relation says which pairs of inputs a guarantee calls neighbours. Guarantees under different relations do
// not compose. The zero Relation is none of them.
type Relation uint8

const (
	// AddRemove: one input is the other with one record (one user, one element) more.
	AddRemove Relation = iota + 1
	// Replace: the inputs have the same number of records and differ in one.
	Replace
	// L1: real vectors with ‖x − x′‖₁ ≤ Δ, the declared sensitivity.
	L1
	// L2: real vectors with ‖x − x′‖₂ ≤ Δ, the declared sensitivity.
	L2
	// OneBit: bit vectors that differ in one bit.
	OneBit
)

// valid reports whether r is one of the constants.
func (r Relation) valid() bool { return r >= AddRemove && r <= OneBit }

// String returns the name of the constant.
func (r Relation) String() string {
	switch r {
	case AddRemove:
		return "AddRemove"
	case Replace:
		return "Replace"
	case L1:
		return "L1"
	case L2:
		return "L2"
	case OneBit:
		return "OneBit"
	}
	return "Relation(" + strconv.Itoa(int(r)) + ")"
}
