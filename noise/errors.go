package noise

import "github.com/dpsketch/dpsketch/internal/fault"

// ErrParams reports a public parameter outside its range. The text names the parameter, its value
// and the range.
var ErrParams = fault.ErrParams

// Every scale, sensitivity, ε and ρ lies in [leastParam, mostParam]: powers of two so far from the
// ends of float64 that a quotient of two of them, and the remainder of that quotient, neither
// overflows nor underflows. A discrete scale is at most mostDiscrete, where a tail of 1e-300 still
// lies below 2⁶⁰.
const (
	leastParam   = 0x1p-900
	mostParam    = 0x1p900
	mostDiscrete = 0x1p50

	wantParam    = "a number in [2⁻⁹⁰⁰, 2⁹⁰⁰]"
	wantDiscrete = "a number in [2⁻⁹⁰⁰, 2⁵⁰]"
)

// checkParam returns an error that wraps [ErrParams] unless v is in [leastParam, mostParam].
func checkParam(field string, v float64) error {
	if !(v >= leastParam && v <= mostParam) {
		return fault.Params("noise", field, v, wantParam)
	}
	return nil
}

// checkDiscrete returns an error that wraps [ErrParams] unless v is in [leastParam, mostDiscrete].
func checkDiscrete(field string, v float64) error {
	if !(v >= leastParam && v <= mostDiscrete) {
		return fault.Params("noise", field, v, wantDiscrete)
	}
	return nil
}
