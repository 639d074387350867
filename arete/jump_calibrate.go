package arete

import "math"

const (
	// tailGap is how much ε exceeds the loss in the far tail, where a certificate knows all masses.
	// The noise hardly depends on it.
	tailGap = 1e-5
	// mostMasses and finestCore are the H and V up to which a certificate computes all masses: so
	// that these fit into float64, and in a few milliseconds.
	mostMasses, finestCore = 1 << 11, 2500
)

// fine reports whether the lattice of a jump law is too fine for a table of its masses.
func fine(steps int64, core float64) bool { return steps > mostMasses || core > finestCore }

// fit returns the jump law of the given shape with the least mean number of jumps that the
// certificate passes, up to 1e-4 of it, or false if it finds none. The loss of the worst shift is
// about −ln c and a constant, so Newton's method in ln c takes a few steps.
func fit(epsilon float64, steps, width int64, core float64) (law jump, ok bool) {
	if fine(steps, core) {
		return fitFine(epsilon, steps, width, core)
	}
	const goal, rounds = 2e-5, 12 // the loss aimed at lies this much below ε, on average
	c := firstJumps(epsilon, width, core)
	for range rounds {
		law = newJump(epsilon-tailGap, steps, width, core, c)
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

// firstJumps returns a c to start from: an atom of about f(0), and ν(k) = c/(2W) at a distance of
// H; e^ε is their quotient.
func firstJumps(epsilon float64, width int64, core float64) float64 {
	return 2 * float64(width) * skellam(core, 0) * math.Exp(-epsilon)
}

// fitFine is fit by [fineCertificate], which says yes or no. At a small ε it wants a tail that
// loses less than ε by some percent.
func fitFine(epsilon float64, steps, width int64, core float64) (law jump, ok bool) {
	certificate := newFineCertificate(epsilon, steps, width, core)
	for _, gap := range []float64{0.003, 0.03, 0.06} {
		low := firstJumps(epsilon, width, core)
		high, proved := low, false
		try := func(c float64) bool {
			j := newJump(epsilon-gap, steps, width, core, c)
			yes := certificate.proves(j)
			if yes && (!ok || j.jumps < law.jumps) {
				law, ok = j, true
			}
			return yes
		}
		for range 12 {
			if proved = try(high); proved {
				break
			}
			low, high = high, 1.1*high
		}
		for i := 0; proved && i < 14; i++ {
			if middle := (low + high) / 2; try(middle) {
				high = middle
			} else {
				low = middle
			}
		}
		if epsilon >= 6 {
			break
		}
	}
	return law, ok
}
