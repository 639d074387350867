package budget

import "github.com/dpsketch/dpsketch/internal/check"

// Relation says how two neighbouring inputs differ in a [Unit]. The zero Relation is neither.
type Relation uint8

const (
	// AddRemove: one input is the other with one unit more.
	AddRemove Relation = iota + 1
	// Replace: both inputs have the same number of units, which is public, and differ in one.
	Replace
)

var relationNames = []string{AddRemove: "AddRemove", Replace: "Replace"}

// Valid reports whether r is one of the constants.
func (r Relation) Valid() bool { return r == AddRemove || r == Replace }

// String returns the name of the constant.
func (r Relation) String() string { return check.EnumName(r, relationNames, "Relation") }
