package dptest

import (
	"math"
	"testing"
)

// EpsilonLowerBound returns the greatest ε that samples refute: with the given confidence the
// mechanism is not (ε′, δ)-private for any ε′ below it. An event was hit hitsP times in nP releases
// on one input and hitsQ times in nQ releases on a neighbouring one. The bound is ln((p − δ)/q)
// with the Clopper–Pearson lower bound p and upper bound q, at half the error each, and 0 where
// that is negative or nothing can be said.
//
// The event must be chosen without these samples, else the confidence is void: choose it on a first
// run. The bound is one-sided; audit the swapped roles as well.
func EpsilonLowerBound(hitsP, nP, hitsQ, nQ int64, delta, confidence float64) float64 {
	if !(delta >= 0) {
		return 0
	}
	each := 1 - (1-confidence)/2
	p, _ := ClopperPearson(hitsP, nP, each)
	_, q := ClopperPearson(hitsQ, nQ, each)
	if p <= delta {
		return 0
	}
	return max(0, math.Log((p-delta)/q))
}

// Audit fails the test if samples refute that the mechanism is (epsilon, delta)-private; see
// [EpsilonLowerBound]. If the claim is true it fails with at most the probability falseReject.
func Audit(t testing.TB, name string, hitsP, nP, hitsQ, nQ int64, epsilon, delta, falseReject float64) {
	t.Helper()
	Alarm(t, falseReject)
	valid := nP > 0 && nQ > 0 && hitsP >= 0 && hitsP <= nP && hitsQ >= 0 && hitsQ <= nQ &&
		epsilon >= 0 && delta >= 0 && falseReject > 0 && falseReject < 1
	if !valid {
		t.Errorf("%s: audit: the check is not possible with this data", name)
		return
	}
	if bound := EpsilonLowerBound(hitsP, nP, hitsQ, nQ, delta, 1-falseReject); bound > epsilon {
		t.Errorf("%s: audit: %d of %d against %d of %d prove ε ≥ %.6g at δ = %g, claimed ε = %g",
			name, hitsP, nP, hitsQ, nQ, bound, delta, epsilon)
	}
}
