package misragries

import (
	"math"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// What the tests know of mechanisms by name.

// universe reports whether the mechanism draws noise for all Dim keys.
func (m Method) universe() bool { return m == PureUniverse }

// reduces reports whether the mechanism releases reduced sketches.
func (m Method) reduces() bool { return m.universe() || m == ReducedSum || m == ShiftedSum }

// shifts reports whether sketches are reduced by a private shift.
func (m Method) shifts() bool { return m == ShiftedSum }

// calibrateShifted is calibrateSum with a private shift.
func calibrateShifted(k int, epsilon, delta float64) (law sumLaw, bound string, ok bool) {
	law, ok = calibrateShift(k, epsilon, inward(delta))
	return law, "private shift", ok
}

func calibrateEither(k int, epsilon, delta float64, shifted bool) (law sumLaw, bound string, ok bool) {
	if shifted {
		return calibrateShifted(k, epsilon, delta)
	}
	return calibrateSum(k, epsilon, delta)
}

// sumLogDelta returns ln δ of the release at ε: the least of the bounds that hold for the law, 0 if
// none does.
func sumLogDelta(k int, epsilon float64, law sumLaw) float64 {
	if k < 1 || !(epsilon >= 0) || !(law.scale > 0) || law.from < 1 || law.threshold <= law.from {
		return 0
	}
	if law.shift != 0 {
		return law.shiftLogDelta(k, epsilon)
	}
	return math.Min(law.l1LogDelta(k, epsilon), law.concentrationLogDelta(k, epsilon))
}

// of returns the Params for users or events of m, in the field that the input has for it.
func (p Params) of(in Input, m int) Params {
	p.MaxKeys, p.MaxElements = 0, m
	if in == Users {
		p.MaxKeys, p.MaxElements = m, 0
	}
	return p
}

// full returns n with -long, else few.
func full(n, few int) int {
	if dptest.Long() {
		return n
	}
	return few
}

// notShort leaves a test out where they are to be short: one that repeats what an exact test shows
// by many releases, or for more sizes.
func notShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("not among the short tests")
	}
}
