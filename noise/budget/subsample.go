package budget

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/round"

	"github.com/dpsketch/dpsketch/internal/fault"
)

// Subsampled returns the guarantee of a release that was made on a secret random sample of the
// records instead of all, where g is its guarantee for the sample as the input: (ln(1 + γ(e^ε −
// 1)), γδ)-DP with γ = fraction.
//
//	relation    sample                                                                 proof
//	AddRemove   Poisson: each record is in it with probability γ, independently        Theorem 8
//	Replace     m of n records, uniformly, without replacement, m/n = γ, m, n public   Theorem 9
//
// The theorems are those of Balle, Barthe and Gaboardi, Privacy Amplification by Subsampling
// (NeurIPS 2018), and no other pairing is covered: Poisson sampling under Replace has a larger δ. A
// smaller γ gives a stronger guarantee, so the sampler may round it down: [BernoulliAtMost] makes
// the [Bernoulli] that decides exactly whether a record is in, and fraction may be the float64
// quotient m/n.
//
// Nobody may learn which records were in. All releases behind g see one and the same sample;
// releases on fresh samples are amplified each and then composed. As one of several, (ε, δ) is (Σε,
// Σδ): to amplify at another δ, and where zCDP is among the releases, begin with
// ApproxDP(g.EpsilonAt(δ), δ, u).
//
// The error wraps [ErrParams] unless fraction is in (0, 1] and g free of ρ and μ, and [ErrMismatch]
// for vectors and groups.
func (g Guarantee) Subsampled(fraction float64) (Guarantee, error) {
	switch {
	case !(fraction > 0 && fraction <= 1):
		return Guarantee{}, fault.Params("budget", "fraction", fraction, "a number in (0, 1]")
	case !g.promised:
		return Guarantee{}, nil
	case g.unit.vectorial() || g.unit.many > 1:
		return Guarantee{}, fault.Mismatch("budget", "Unit", g.unit, "one element, user, key, row or party, of which a sample can be drawn")
	case g.concentrated() > 0:
		return Guarantee{}, fault.Params("budget", "Guarantee", g, "no ρ and no μ: begin with ApproxDP(g.EpsilonAt(δ), δ, u)")
	}
	// With P and R the laws of the output when the sample is drawn without the record in question
	// and when that is then put in, AddRemove compares P with Q = (1−γ)P + γR, where R and P are
	// (ε, δ)-close in both directions. With c = 1 + γ(e^ε − 1),
	//
	//	Q − cP = γ(R − e^ε·P) ≤ γδ, and P − cQ ≤ (1 − c(1 − γ + γe^{−ε}))·P + cγe^{−ε}δ ≤ γδ on every event,
	//
	// because R ≥ e^{−ε}(P − δ), c(1 − γ + γe^{−ε}) = 1 + γ(1−γ)(e^ε−1)(1−e^{−ε}) ≥ 1 and c ≤ e^ε.
	// Under Replace the laws are (1−γ)P + γR and (1−γ)P + γR′, P without the record, R and R′ with
	// it before and after, and all three are (ε, δ)-close, since replacing the record by a uniform
	// one outside of the sample turns R into P:
	//
	//	(1−γ)P + γR − c((1−γ)P + γR′) = γ(R − (e^ε − c)·P − cR′) ≤ γδ, for (e^ε − c) + c = e^ε and (1−γ)(c−1) = γ(e^ε − c).
	epsilon, delta := 0.0, 0.0
	if g.epsilon > 0 {
		epsilon = min(g.epsilon, round.Above(subsampledEpsilon(g.epsilon, fraction)))
	}
	if g.delta > 0 {
		delta = min(g.delta, round.Above(fraction*g.delta))
	}
	return ApproxDP(epsilon, delta, g.unit), nil
}

// subsampledEpsilon returns ln(1 + γ(e^ε − 1)) for γ in (0, 1], for round.Above to round.
//
// A relative error in γ, e^ε − 1 or ln is at most one of that size in the result: the room that
// round.Above leaves holds those of these three, and that of a γ that is a rounded quotient.
func subsampledEpsilon(epsilon, fraction float64) float64 {
	if epsilon <= 700 {
		return math.Log1p(fraction * math.Expm1(epsilon))
	}
	// Below ln(1 + γe^ε) = ln(1 + e^t), with the error of t in t.
	l := round.Log(fraction)
	t := epsilon + l + (epsilon-l)*0x1p-50
	if t > 0 {
		return t + math.Log1p(math.Exp(-t))
	}
	return math.Log1p(math.Exp(t))
}
