package groupby

import "github.com/dpsketch/dpsketch/internal/exact"

// othersLimit is B: a user's keys count at most B together in [Groups.Others].
const othersLimit = 32

// weight returns ⌊S/√l⌋, so l·weight² ≤ S²: what a user gives to each of l keys.
func weight(l int) int64 { return exact.FloorSqrt(unit * unit / int64(l)) }

// clipped returns x = ⌊S·min(1, √(full/l))⌋, so l·x² ≤ full·S²: what a user counts in each of l
// keys.
func clipped(l, full int) int64 {
	if l <= full {
		return unit
	}
	return exact.FloorSqrt(int64(full) * unit * unit / int64(l))
}

// fine is how many steps of a rest are one of a weight.
const fine = 16

// mostSum is beyond what users of a key give: 2³³ of them.
const mostSum = 1 << 53

// rest returns what is released beside the weights of a key: fine·count − mix·weight. A user who
// gives the weight w and the count x to each of his keys adds fine·x − mix·w to it. Without that
// difference he would add up to C times as much as his weights do; with it, half of that.
func rest(count, weight, mix int64) int64 {
	return fine*min(count, mostSum) - mix*min(weight, mostSum)
}

// residual returns ⌊S·min(1, B/l)⌋, so l·residual ≤ B·S.
func residual(l int) int64 { return min(unit, othersLimit*unit/int64(l)) }
