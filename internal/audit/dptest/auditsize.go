package dptest

import "math"

// AuditSize returns how many releases on each of two inputs an [Audit] wants. event is the less
// likely input's probability of the event, lossy the privacy loss of the control on it (so the
// likelier probability is e^lossy·event), and epsilon < lossy the claim that the control must
// refute at the level falseReject with at least the probability 1 − miss:
//
//	n·event ≥ (z_{α/2}·(1 + e^{−lossy/2}) + z_β·√(1 + e^−lossy))² / (lossy − ε)²,
//	α = falseReject, β = miss
//
// Reason: with p = e^lossy·event, the logarithms of the two relative frequencies have standard
// errors 1/√(np) and 1/√(n·event) (less, where the events are likely). The two Clopper–Pearson
// bounds, at α/2 each, take z_{α/2} of each off their difference: z_{α/2}(1 +
// e^{−lossy/2})/√(n·event). The difference itself has the standard error √(1 +
// e^−lossy)/√(n·event). TestAuditSize computes the power exactly: it is what is asked for, and more
// where ten hits would do.
//
// δ is not in it: for δ > 0 take lossy = ln((p − δ)/event). NaN arguments or lossy ≤ epsilon give
// 0.
func AuditSize(event, lossy, epsilon, falseReject, miss float64) int {
	if !(event > 0 && event <= 1 && lossy > epsilon && epsilon >= 0 && falseReject > 0 && falseReject < 1 && miss > 0 && miss < 1) {
		return 0
	}
	root := upperNormal(falseReject/2)*(1+math.Exp(-lossy/2)) + max(upperNormal(miss), 0)*math.Sqrt(1+math.Exp(-lossy))
	return int(math.Ceil(root * root / ((lossy - epsilon) * (lossy - epsilon)) / event))
}

// upperNormal returns z with Pr[Z > z] = p for a standard normal Z.
func upperNormal(p float64) float64 { return math.Sqrt2 * math.Erfcinv(2*p) }
