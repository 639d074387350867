package noise

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/check"
)

// ErrParams reports a public parameter outside its range. The text names the parameter, its value
// and the range.
var ErrParams = check.ErrParams

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
		return check.ParamsError("noise", field, v, wantParam)
	}
	return nil
}

// checkDiscrete returns an error that wraps [ErrParams] unless v is in [leastParam, mostDiscrete].
func checkDiscrete(field string, v float64) error {
	if !(v >= leastParam && v <= mostDiscrete) {
		return check.ParamsError("noise", field, v, wantDiscrete)
	}
	return nil
}

// checkDelta returns an error that wraps [ErrParams] unless delta is in [2⁻¹⁰²², 1).
func checkDelta(delta float64) error {
	if !(delta >= 0x1p-1022 && delta < 1) {
		return check.ParamsError("noise", "delta", delta, "a number in [2⁻¹⁰²², 1)")
	}
	return nil
}

// checkEpsilonOrZero returns an error that wraps [ErrParams] unless epsilon is 0 or in [leastParam,
// mostParam].
func checkEpsilonOrZero(epsilon float64) error {
	if epsilon != 0 && !(epsilon >= leastParam && epsilon <= mostParam) {
		return check.ParamsError("noise", "epsilon", epsilon, "0 or "+wantParam)
	}
	return nil
}

// checkScale returns the calibrated scale, or an error that blames the sensitivity if no
// distribution has that scale.
func checkScale(scale, sensitivity float64, want string) (float64, error) {
	if !(scale >= leastParam && scale <= mostParam) {
		return math.NaN(), check.ParamsError("noise", "sensitivity", sensitivity, want)
	}
	return scale, nil
}
