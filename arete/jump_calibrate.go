package arete

import "math"

// fit returns the jump law of the given shape with the least mean number of jumps that the
// certificate passes, up to 1e-4 of it, or false if it finds none. The loss of the worst shift is
// about −ln c and a constant, so Newton's method in ln c takes a few steps.
func fit(epsilon float64, steps, width int64, core float64) (law jump, ok bool) {
	const goal, rounds = 2e-5, 12 // the loss aimed at lies this much below ε, on average
	// An atom of about f(0), and ν(k) = c/(2W) at a distance of H: e^ε is their quotient.
	c := 2 * float64(width) * skellam(core, 0) * math.Exp(-epsilon)
	for range rounds {
		law = newJump(epsilon, steps, width, core, c)
		over := law.scan(epsilon) - epsilon
		if over <= 0 && over >= -2*goal {
			return law, true
		}
		if math.IsInf(over, 0) || math.IsNaN(over) {
			return law, false
		}
		c *= math.Exp(over + goal)
	}
	return law, false
}
