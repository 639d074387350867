package jl

import "github.com/dpsketch/dpsketch/internal/check"

// Norm is the norm in which neighbouring vectors are close.
type Norm uint8

const (
	// L1: two vectors with ‖x − x′‖₁ ≤ Sensitivity.
	L1 Norm = iota
	// L2: two vectors with ‖x − x′‖₂ ≤ Sensitivity.
	L2
)

var normNames = []string{"L1", "L2"}

// String returns the name of the constant.
func (n Norm) String() string { return check.EnumName(n, normNames, "Norm") }
