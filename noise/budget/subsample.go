package budget

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/internal/loss"
)

// Subsampled returns the guarantee of a release that was made on a secret random sample of the
// records, if g is the guarantee of the release for the sample: (ln(1 + γ(e^ε − 1)), γδ)-DP with γ
// = fraction.
//
//	relation    sample                                                                 proof
//	AddRemove   Poisson: each record is in it with probability γ, independently        Theorem 8
//	Replace     m of n records, uniformly, without replacement, m/n = γ, m, n public   Theorem 9
//
// The theorems are those of Balle, Barthe and Gaboardi, Privacy Amplification by Subsampling
// (NeurIPS 2018), and no other pairing is covered: Poisson sampling under Replace has a larger δ. A
// smaller γ gives a stronger guarantee, so the sampler may round it down: [noise.BernoulliAtMost]
// makes a [noise.Bernoulli] that decides exactly whether a record is in the sample. fraction may be
// the float64 quotient m/n.
//
// For a Poisson sample the accountant keeps the exact law if g is one release by ε, with Laplace or
// with discrete Gaussian noise, or any number of releases by μ: a thousand samples of 1 % with
// Gaussian noise of σ = 1 have ε = 2.13 at δ = 1e-6. With μ above 65 the record counts as revealed
// if it is in the sample. EpsilonAt of many such releases takes a tenth of a second, and Spend of
// each some milliseconds, except where less than a few percent of the budget is left. String shows
// the μ or ρ without sampling. With Gaussian noise, Group and For also handle a user with up to 64
// elements, each sampled independently.
//
// The law of each sample leaves out a tail of probability 2⁻¹⁰⁰, about 8e-31, which counts as lost.
// If δ is below this times the number of releases, EpsilonAt falls back to a much larger bound.
//
// With Gaussian noise, For also converts a Poisson sample to replaced records. The thousand samples
// then have ε = 3.22.
//
// Nobody may learn which records are in the sample, and each call of Subsampled needs a new sample.
// If g is a composition, all its releases use the same sample, and (ε, δ) is (Σε, Σδ). To amplify
// at another δ, or with zCDP among the releases, begin with ApproxDP(g.EpsilonAt(δ), δ, u).
//
// The error wraps [ErrParams] unless fraction is in (0, 1] and g has no ρ or μ, except for Poisson
// samples of one law, as above; it wraps [ErrMismatch] for vectors and groups.
func (g Guarantee) Subsampled(fraction float64) (Guarantee, error) {
	law, isExact := g.sampled(fraction)
	switch {
	case !(fraction > 0 && fraction <= 1):
		return Guarantee{}, check.ParamsError("budget", "fraction", fraction, "a number in (0, 1]")
	case !g.promised:
		return Guarantee{}, nil
	case g.unit.vectorial() || g.unit.many > 1:
		return Guarantee{}, check.MismatchError("budget", "Unit", g.unit, "one element, user, key, row or party, of which a sample can be drawn")
	case fraction == 1:
		return g, nil
	case (g.rho > 0 || g.muSquares > 0) && (!isExact || g.epsilon > 0):
		want := "ε and δ, or one law by ρ or μ without others: begin with ApproxDP(g.EpsilonAt(δ), δ, u)"
		if g.unit.relation == Replace {
			want = "ε and δ, as samples without replacement have no rule by ρ or μ: begin with ApproxDP(g.EpsilonAt(δ), δ, u)"
		}
		return Guarantee{}, check.ParamsError("budget", "Guarantee", g, want)
	}
	// With P and R the laws of the output when the sample is drawn without the record in question
	// and when that is then put in, AddRemove compares P with Q = (1−γ)P + γR, where R and P are
	// (ε, δ)-close in both directions. With c = 1 + γ(e^ε − 1),
	//
	//	Q − cP = γ(R − e^ε·P) ≤ γδ and
	//	P − cQ ≤ (1 − c(1 − γ + γe^{−ε}))·P + cγe^{−ε}δ ≤ γδ on every event,
	//
	// because R ≥ e^{−ε}(P − δ), c(1 − γ + γe^{−ε}) = 1 + γ(1−γ)(e^ε−1)(1−e^{−ε}) ≥ 1 and c ≤ e^ε.
	// Under Replace the laws are (1−γ)P + γR and (1−γ)P + γR′, P without the record, R and R′ with
	// it before and after, and all three are (ε, δ)-close, since replacing the record by a uniform
	// one outside of the sample turns R into P:
	//
	//	(1−γ)P + γR − c((1−γ)P + γR′) = γ(R − (e^ε − c)·P − cR′) ≤ γδ,
	//
	// for (e^ε − c) + c = e^ε and (1−γ)(c−1) = γ(e^ε − c).
	epsilon, delta := 0.0, 0.0
	if g.epsilon > 0 {
		epsilon = min(g.epsilon, exact.Above(subsampledEpsilon(g.epsilon, fraction)))
	}
	if g.delta > 0 {
		delta = min(g.delta, exact.Above(fraction*g.delta))
	}
	of := ApproxDP(epsilon, delta, g.unit)
	if of.rho, of.muSquares = g.rho, g.muSquares; isExact { // a sample is no worse than all
		of.pair = law
	}
	return of.under(g.on), nil
}

// sampled returns what bounds a Poisson sample of g, and false if it is none, or of releases that
// are not of one known law.
//
// With the proof in package loss for a law without escape. Beside an escape w, P and Q have weight
// w where the other has none, and for the sample (1−γ)Q + γP against Q the part where P alone is
// has weight γw, and that where Q alone is (1−γ)w at a loss of ln(1−γ), the least there is: so it
// is no worse than the sample of the law with an escape of γw. Against (1−γ)Q + γP the profile of Q
// is (1 − α(1−γ))·w + (1−w)·s(α), s ≥ 1 − α that of the sample without escape, and the first factor
// is γ − (α−1)(1−γ), so this too is at most γw + (1−γw)·s(α). A sample of a sample is one with the
// product of the fractions.
//
// Gaussian noise of a large μ hides nothing of a record in the sample. That the record is not in it
// has probability 1−γ, and then P and Q are the same: so they have a common part of that weight,
// and are bounded by an escape of γ.
func (g Guarantee) sampled(fraction float64) (pair, bool) {
	p := g.pair
	if g.unit.relation != AddRemove || p.rho > 0 || p.unknown() || p.hasKeys() {
		return pair{}, false
	}
	var x lossKind
	switch {
	case p.kinds == "" && p.muSquares > 0: // many are one
		x = lossKind{law: gaussian, size: exact.SqrtUp(p.muSquares), fraction: 1, count: 1}
	case p.kinds.len() == 1 && p.muSquares == 0 && p.kinds.at(0).count == 1:
		x = p.kinds.at(0)
	default:
		return pair{}, false
	}
	x.fraction = exact.ProductUp(x.fraction, fraction)
	switch {
	case x.law == gaussian && x.steps > 0:
		return pair{}, false
	case x.law == gaussian && x.size > loss.MostSampledMu:
		return pair{escape: x.fraction}, true
	}
	k := makeKinds([]lossKind{x})
	of := pair{responses: k.rho(), escape: exact.ProductUp(fraction, p.escape), kinds: k}
	if p.beside > 0 {
		of.beside = ungrouped
	}
	return of, true
}

// subsampledEpsilon returns ln(1 + γ(e^ε − 1)) for γ in (0, 1], for exact.Above to round.
//
// A relative error in γ, e^ε − 1 or ln is at most one of that size in the result: the room that
// exact.Above leaves holds those of these three, and that of a γ that is a rounded quotient.
func subsampledEpsilon(epsilon, fraction float64) float64 {
	if epsilon <= 700 {
		return math.Log1p(fraction * math.Expm1(epsilon))
	}
	// Below ln(1 + γe^ε) = ln(1 + e^t), with the error of t in t.
	l := exact.Log(fraction)
	t := epsilon + l + (epsilon-l)*0x1p-50
	if t > 0 {
		return t + math.Log1p(math.Exp(-t))
	}
	return math.Log1p(math.Exp(t))
}
