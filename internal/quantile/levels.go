package quantile

import (
	"math"
	"math/bits"

	"github.com/dpsketch/dpsketch/internal/exact"
)

// Rounds returns ⌈log₂(n + 1)⌉: a value lies in at most so many of the parts in which n quantiles
// are drawn.
func Rounds(n int) int { return bits.Len(uint(n)) }

// Part is where a level is drawn: between the quantiles of two other levels, −1 and the number of
// levels for the ends of the axis, at the level Level of what is there, which is Share of all.
type Part struct {
	Left, Right  int
	Level, Share float64
}

// Quantiles draws places before end for ascending levels in (0, 1): the middle one first, then
// those of the values on its either side (Kaplan, Schnapp, Stemmer, ICML 2022). Loss is that of
// each Choice, and draw is [Spread.Draw], of the level with the given number. The places are in
// ascending order.
func Quantiles(end int64, levels []float64, loss float64, draw func(i int, c Choice) int64) []int64 {
	found := make([]int64, len(levels))
	halve(levels, func(i int, p Part) {
		c := Choice{To: end, Level: p.Level, Loss: loss}
		if p.Left >= 0 {
			c.From = found[p.Left]
		}
		if p.Right < len(levels) {
			c.To = found[p.Right]
		}
		found[i] = draw(i, c)
	})
	return found
}

// Parts returns that of each level.
func Parts(levels []float64) []Part {
	parts := make([]Part, len(levels))
	halve(levels, func(i int, p Part) { parts[i] = p })
	return parts
}

// Leaf reports whether no other level is drawn on either side of one.
func Leaf(parts []Part, i int) bool {
	for _, p := range parts {
		if p.Left == i || p.Right == i {
			return false
		}
	}
	return true
}

// halve visits the levels, the middle one first.
func halve(levels []float64, visit func(i int, p Part)) {
	var within func(left, right int, below, above float64)
	within = func(left, right int, below, above float64) {
		i := (left + 1 + right) / 2
		if i == right {
			return
		}
		visit(i, Part{left, right, (levels[i] - below) / (above - below), above - below})
		within(left, i, below, levels[i])
		within(i, right, levels[i], above)
	}
	within(-1, len(levels), 0, 1)
}

// Errors returns what the error in rank of each level is, given that of a draw alone: a draw at the
// level ρ of its part adds 1 − ρ and ρ of the errors of the part's ends. They are added by add.
func Errors(levels []float64, of func(level float64) float64, add func(a, b float64) float64) []float64 {
	errors := make([]float64, len(levels))
	halve(levels, func(i int, p Part) {
		errors[i] = of(p.Level)
		if p.Left >= 0 {
			errors[i] = add(errors[i], (1-p.Level)*errors[p.Left])
		}
		if p.Right < len(levels) {
			errors[i] = add(errors[i], p.Level*errors[p.Right])
		}
	})
	return errors
}

// StepEpsilon returns ε₀ such that k steps, each with a window of ε₀x for a contributor of weight
// x ≤ 1, lose no more together than Gaussian noise of ratio mu does; also for 4096 steps at most of
// a contributor whose steps and x have k at most as steps·x². k is at most 200. See "Many steps" in
// spread_proof.md.
func StepEpsilon(mu float64, k int) float64 {
	whole := 2 * mu / math.Sqrt(float64(k))
	alone := whole / math.Sqrt(math.Pi/2)
	epsilon := max(alone, whole/constant(k))
	if epsilon > 1 { // the computed constant is for ε₀ ≤ 1
		epsilon = max(alone, 1)
	}
	return epsilon * exact.Down
}

// constant returns c_k of k steps, which for one is √(π/2).
func constant(k int) float64 {
	n := float64(k)
	switch {
	case k < 2:
		return math.Sqrt(math.Pi / 2)
	case k <= 16:
		return 1 + (0.2+0.06*math.Log(n))/n
	}
	return 1 + 0.5/n
}

// MeanError returns E|error| in rank of a draw, in units of weight, where values are spread
// smoothly: 1/κ.
func MeanError(level, loss float64) float64 { return 2 * math.Max(level, 1-level) / loss }

// Most returns what the error in rank of a draw among so many places exceeds with probability miss
// at most, whatever the values are: at one place at least the wanted rank is, so Pr[d > s] ≤
// places·(e^−κs + 2⁻¹³⁰).
func Most(places int64, level, loss, miss float64) float64 {
	n := float64(places)
	return math.Log(n/(miss-n*least)) * MeanError(level, loss) * exact.Up
}
