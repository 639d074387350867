package budget

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/noise/budget/internal/account"
)

// Rule adds up releases whose guarantees may depend on results; the zero Rule is none.
type Rule struct {
	by      ruleKind
	share   float64 // of Gaussian noise, in MixedRule
	escapes float64 // δ* of RhoRule and MixedRule
}

type ruleKind uint8

const (
	bySums ruleKind = iota + 1
	byRho
	byMu
	byBoth
)

// SumRule adds up ε and δ. It accepts pure and approximate releases.
func SumRule() Rule { return Rule{by: bySums} }

// RhoRule adds up ρ, with ε·tanh(ε/2) for a release by ε and ½μ² for one by μ, and separately δ: Σδ
// ≤ escapes, in [0, delta), and Σρ is at most what (δ − escapes)/(1 − escapes) allows (arXiv
// 2203.05481).
func RhoRule(escapes float64) Rule { return Rule{by: byRho, escapes: escapes} }

// MuRule adds up μ²: Σμ² is at most the μ² of Gaussian noise that is exactly (ε, δ)-DP. It accepts
// only releases by μ.
func MuRule() Rule { return Rule{by: byMu} }

// The proof of MuRule: release i shows a Brownian motion with drift from the sum of μ² before it to
// the sum after it. So all releases together, whatever they depend on, show at most one such motion
// until a fixed time.

// MixedRule adds up μ² of releases by μ, and ρ of others as [RhoRule]: Σμ² ≤ 2·share·x and Σρ ≤ (1
// − share)·x, share in (0, 1), with the largest x that is (ε, δ)-DP. Releases by μ that exceed
// their share count as ½μ².
func MixedRule(share, escapes float64) Rule { return Rule{byBoth, share, escapes} }

// String says how the rule adds up.
func (r Rule) String() string {
	escapes := ""
	if r.escapes > 0 {
		escapes = ", and δ up to " + number(r.escapes)
	}
	switch r.by {
	case bySums:
		return "ε and δ add up, whatever they depend on"
	case byRho:
		return "ρ adds up, whatever it depends on" + escapes
	case byMu:
		return "μ² adds up, whatever it depends on"
	case byBoth:
		return "μ² adds up to " + number(r.share) + " of the budget and ρ to the rest, whatever they depend on" + escapes
	}
	return "exact composition of guarantees that do not depend on results"
}

// filter is what a Rule allows: the greatest sums.
type filter struct {
	Rule
	epsilon, delta float64 // of the budget
	rho, muSquares float64
}

// newFilter returns what a rule allows of a budget.
func newFilter(epsilon, delta float64, r Rule) (*filter, error) {
	f := &filter{Rule: r, epsilon: epsilon, delta: delta}
	// The greatest number for which the test holds.
	greatest := func(allowed func(float64) bool) float64 {
		return math.Nextafter(exact.LeastFloat(0, math.MaxFloat64, func(x float64) bool { return !allowed(x) }), 0)
	}
	left := r.left(delta)
	switch {
	case r.by == bySums:
	case r.by != byRho && r.by != byMu && r.by != byBoth:
		return nil, check.ParamsError("budget", "Rule", "none", "SumRule, RhoRule, MuRule or MixedRule")
	case !(delta > 0):
		return nil, check.ParamsError("budget", "delta", delta, "a number above 0 for a filter by ρ or μ")
	case r.by == byMu:
		f.muSquares = greatest(func(x float64) bool { return x == 0 || account.GaussianDelta(x, epsilon) <= delta })
	case !(r.escapes >= 0 && r.escapes < delta):
		return nil, check.ParamsError("budget", "escapes", r.escapes, "a number in [0, delta)")
	case r.by == byRho:
		f.rho = greatest(func(x float64) bool { return account.ConcentratedEpsilon(x, left) <= epsilon })
	case !(r.share > 0 && r.share < 1):
		return nil, check.ParamsError("budget", "share", r.share, "a number in (0, 1)")
	default:
		most := r.mixed(greatest(func(x float64) bool { return r.mixed(x).DeltaAt(epsilon) <= left })).Asked
		f.muSquares, f.rho = most.MuSquares, most.Rho
	}
	return f, nil
}

// left returns what the escapes leave of δ.
func (r Rule) left(delta float64) float64 { return account.Sums{Delta: r.escapes}.Fraction(delta) }

// mixed returns what x allows of releases by μ and by ρ.
func (r Rule) mixed(x float64) account.Releases { return mixed(2*r.share*x, (1-r.share)*x) }

// mixed returns Gaussian noise of μ² and a ρ.
func mixed(muSquares, rho float64) account.Releases {
	return account.Unpaired(account.Sums{MuSquares: muSquares, Rho: rho})
}

// allows reports whether the whole is within the rule. As for a Ledger, a whole may exceed Σε and
// Σδ by a relative 2⁻⁵⁰, so that a budget divided by n pays for n.
func (f *filter) allows(whole account.Releases) bool {
	if !whole.Valid() {
		return false
	}
	asked, p := whole.Asked, whole.Pair
	switch f.by {
	case bySums:
		return asked.Concentrated() == 0 && asked.Epsilon <= f.epsilon*exact.Up && asked.Delta*exact.Down <= f.delta
	case byRho:
		return p.Escape*exact.Down <= f.escapes && p.Concentrated() <= f.rho
	case byBoth:
		beyond := exact.ProductUp(0.5, exact.DifferenceUp(max(p.MuSquares, f.muSquares), f.muSquares))
		return p.Escape*exact.Down <= f.escapes && exact.SumUp(beyond, exact.SumUp(p.ResponseRho, p.Rho)) <= f.rho
	}
	return p.ResponseRho == 0 && p.Rho == 0 && p.Escape == 0 && p.MuSquares <= f.muSquares
}

// epsilonOf returns the ε that the rule gives to what was spent, for String.
func (f *filter) epsilonOf(whole account.Releases) float64 {
	p := whole.Pair
	switch {
	case f.by == bySums:
		return whole.Asked.Epsilon
	case f.by == byRho:
		return account.ConcentratedEpsilon(p.Concentrated(), f.left(f.delta))
	case f.by == byBoth:
		return mixed(p.MuSquares, exact.SumUp(p.ResponseRho, p.Rho)).EpsilonAt(f.left(f.delta))
	case p.MuSquares == 0:
		return 0
	}
	return account.GaussianEpsilon(p.MuSquares, f.delta)
}
