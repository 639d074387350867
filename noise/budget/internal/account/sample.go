package account

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/internal/loss"
)

// Sample returns what the releases promise on a secret sample with γ = fraction in (0, 1), of
// records that are added or removed if the sample is Poisson, else replaced: (ln(1 + γ(e^ε − 1)),
// γδ)-DP. known reports whether it also has the exact losses of that sample; without, ρ and μ must
// be 0.
//
// With P and R the distributions of the output when the sample is drawn without the record in
// question and when that is then put in, AddRemove compares P with Q = (1−γ)P + γR, where R and P
// are (ε, δ)-close in both directions. With c = 1 + γ(e^ε − 1),
//
//	Q − cP = γ(R − e^ε·P) ≤ γδ and
//	P − cQ ≤ (1 − c(1 − γ + γe^{−ε}))·P + cγe^{−ε}δ ≤ γδ on every event,
//
// because R ≥ e^{−ε}(P − δ), c(1 − γ + γe^{−ε}) = 1 + γ(1−γ)(e^ε−1)(1−e^{−ε}) ≥ 1 and c ≤ e^ε.
// Under Replace the outputs are (1−γ)P + γR and (1−γ)P + γR′, P without the record, R and R′ with
// it before and after, and all three are (ε, δ)-close, since replacing the record by a uniform one
// outside of the sample turns R into P:
//
//	(1−γ)P + γR − c((1−γ)P + γR′) = γ(R − (e^ε − c)·P − cR′) ≤ γδ,
//
// for (e^ε − c) + c = e^ε and (1−γ)(c−1) = γ(e^ε − c).
func (r Releases) Sample(fraction float64, poisson bool) (sample Releases, known bool) {
	epsilon, delta := 0.0, 0.0
	if r.Asked.Epsilon > 0 {
		epsilon = min(r.Asked.Epsilon, exact.Above(SampledEpsilon(r.Asked.Epsilon, fraction)))
	}
	if r.Asked.Delta > 0 {
		delta = min(r.Asked.Delta, exact.Above(fraction*r.Asked.Delta))
	}
	sample = ApproxDP(epsilon, delta)
	sample.Asked.Rho, sample.Asked.MuSquares = r.Asked.Rho, r.Asked.MuSquares // no worse than all
	if pair, ok := r.Pair.sample(fraction); ok && poisson {
		sample.Pair, known = pair, true
	}
	return sample, known
}

// sample returns what bounds a Poisson sample, and false if the releases are not of one known kind.
//
// The proof is in package loss for noise without escape. With an escape w, P and Q have weight w
// where the other has none, and for the sample (1−γ)Q + γP against Q the part where P alone is has
// weight γw, and that where Q alone is (1−γ)w at a loss of ln(1−γ), the least there is: so it is no
// worse than the sample of the noise with an escape of γw. Against (1−γ)Q + γP the profile of Q is
// (1 − α(1−γ))·w + (1−w)·s(α), s ≥ 1 − α that of the sample without escape, and the first factor is
// γ − (α−1)(1−γ), so this too is at most γw + (1−γw)·s(α). A sample of a sample is one with the
// product of the fractions.
//
// Gaussian noise of a large μ hides nothing of a record in the sample. That the record is not in it
// has probability 1−γ, and then P and Q are the same: so they have a common part of that weight,
// and are bounded by an escape of γ.
func (p Pair) sample(fraction float64) (Pair, bool) {
	if p.Rho > 0 || p.unknown() || p.HasKeys() {
		return Pair{}, false
	}
	var x Kind
	switch {
	case len(p.Kinds) == 0 && p.MuSquares > 0: // many are one
		x = Kind{Family: SampledGaussian, Size: exact.SqrtUp(p.MuSquares), Fraction: 1, Count: 1}
	case len(p.Kinds) == 1 && p.MuSquares == 0 && p.Kinds[0].Count == 1:
		x = p.Kinds[0]
	default:
		return Pair{}, false
	}
	x.Fraction = exact.ProductUp(x.Fraction, fraction)
	switch {
	case x.Family == SampledGaussian && x.Steps > 0:
		return Pair{}, false
	case x.Family == SampledGaussian && x.Size > loss.MostSampledMu:
		return Pair{PairSums: PairSums{Escape: x.Fraction}}, true
	}
	k := Kinds{x}
	sample := Pair{PairSums{ResponseRho: k.rho(), Escape: exact.ProductUp(fraction, p.Escape)}, k}
	if p.Escapes > 0 {
		sample.Escapes = Ungrouped
	}
	return sample, true
}

// SampledEpsilon returns ln(1 + γ(e^ε − 1)) for γ in (0, 1], for exact.Above to round.
//
// A relative error in γ, e^ε − 1 or ln is at most one of that size in the result: the room that
// exact.Above leaves holds those of these three, and that of a γ that is a rounded quotient.
func SampledEpsilon(epsilon, fraction float64) float64 {
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
