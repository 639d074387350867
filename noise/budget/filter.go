package budget

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/internal/round"
	"github.com/dpsketch/dpsketch/internal/search"
)

// Rule says how a Ledger adds up releases whose guarantees may depend on results: see [NewLedger].
// The zero Rule is none.
type Rule struct {
	by      ruleKind
	escapes float64 // δ* of RhoRule
}

type ruleKind uint8

const (
	bySums ruleKind = iota + 1
	byRho
	byMu
)

// SumRule adds up ε and δ: Σε ≤ ε and Σδ ≤ δ. It takes pure and approximate releases.
func SumRule() Rule { return Rule{by: bySums} }

// RhoRule adds up ρ, with ε·tanh(ε/2) for a release by ε and ½μ² for one by μ, and the δ of
// approximate releases for itself: Σδ ≤ escapes, and Σρ at most what the remaining (δ − escapes)/(1
// − escapes) allows. It takes all releases; escapes may be 0 where none has a δ. (Feldman and
// Zrnic, NeurIPS 2021; Whitehouse, Ramdas, Rogers, Wu, Fully-Adaptive Composition in Differential
// Privacy, ICML 2023.)
func RhoRule(escapes float64) Rule { return Rule{by: byRho, escapes: escapes} }

// MuRule adds up μ²: Σμ² is at most the μ² of Gaussian noise that is exactly (ε, δ)-DP. It takes
// releases by μ only. (Why: release i is what a Brownian motion with drift shows from the sum of μ²
// before it to the sum after it. So all releases together, whatever they depend on, show no more
// than one such motion until a fixed time.)
func MuRule() Rule { return Rule{by: byMu} }

// filter is what a Rule allows: the greatest sums.
type filter struct {
	Rule
	rho, muSquares float64
}

// newFilter returns what a rule allows of a budget.
func newFilter(l *Ledger, r Rule) (*filter, error) {
	f := &filter{Rule: r}
	// The greatest number for which the test holds.
	greatest := func(allowed func(float64) bool) float64 {
		return math.Nextafter(search.Float(0, math.MaxFloat64, func(x float64) bool { return !allowed(x) }), 0)
	}
	switch {
	case r.by == bySums:
	case r.by != byRho && r.by != byMu:
		return nil, fault.Params("budget", "Rule", "none", "SumRule, RhoRule or MuRule")
	case !(l.delta > 0):
		return nil, fault.Params("budget", "delta", l.delta, "a number above 0 for a filter by ρ or μ")
	case r.by == byMu:
		f.muSquares = greatest(func(x float64) bool { return x == 0 || gaussianDelta(x, l.epsilon) <= l.delta })
	case !(r.escapes >= 0 && r.escapes < l.delta):
		return nil, fault.Params("budget", "escapes", r.escapes, "a number in [0, delta)")
	default:
		left := negLogUp(sums{delta: r.escapes}.fraction(l.delta))
		f.rho = greatest(func(x float64) bool { return zcdpEpsilon(x, left) <= l.epsilon })
	}
	return f, nil
}

// allows reports whether the whole is within the rule. As for a Ledger, a whole may exceed Σε and
// Σδ by a relative 2⁻⁵⁰, so that a budget divided by n pays for n.
func (f *filter) allows(l *Ledger, whole Guarantee) bool {
	if !whole.promised {
		return false
	}
	p := whole.pair
	switch f.by {
	case bySums:
		return whole.concentrated() == 0 && whole.epsilon <= l.limit() && whole.delta*round.Down <= l.delta
	case byRho:
		return p.escape*round.Down <= f.escapes && p.concentrated() <= f.rho
	}
	return p.responses == 0 && p.rho == 0 && p.escape == 0 && p.muSquares <= f.muSquares
}

// epsilon returns the ε that the rule gives to what was spent, for String.
func (f *filter) epsilon(l *Ledger, whole Guarantee) float64 {
	switch f.by {
	case bySums:
		return whole.epsilon
	case byRho:
		return zcdpEpsilon(whole.pair.concentrated(), negLogUp(sums{delta: f.escapes}.fraction(l.delta)))
	}
	if whole.pair.muSquares == 0 {
		return 0
	}
	return gaussianEpsilon(whole.pair.muSquares, l.delta)
}

// remaining returns the most that the rule accepts for one release.
func (f *filter) remaining(l *Ledger, before exact) Guarantee {
	spent := before.guarantee(l.unit)
	switch f.by {
	case bySums:
		return ApproxDP(round.DifferenceDown(max(l.epsilon, spent.epsilon), spent.epsilon), round.DifferenceDown(max(l.delta, spent.delta), spent.delta), l.unit)
	case byRho:
		return PureDP(l.greatest(before, math.MaxFloat64, func(x float64) Guarantee { return PureDP(x, l.unit) }, 1), l.unit)
	}
	return GDP(l.greatest(before, 0x1p500, func(x float64) Guarantee { return GDP(x, l.unit) }, 1), l.unit)
}
