package budget

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/noise/budget/internal/account"
)

// Remaining returns the largest guarantee that Spend accepts once now: (ε − Σε, δ − Σδ)-DP, or the
// greatest ε and for that the greatest δ. Several may get more.
func (l *Ledger) Remaining() Guarantee { return l.remaining(l.locked()) }

// remaining is Remaining, of the two the one with the larger ε at (δ − Σδ)/(1 − Σδ).
func (l *Ledger) remaining(states []state) Guarantee {
	if !l.takes.Valid() {
		return Guarantee{}
	}
	spent := l.worst(states).Releases().Asked
	if l.filter != nil {
		return l.byRule(states, spent)
	}
	pure := func(epsilon float64) account.Releases { return account.ApproxDP(epsilon, 0) }
	most := pure(0)
	if l.allows(states, most) {
		most = pure(l.greatest(states, math.MaxFloat64, pure, 1))
	}
	if spent.Concentrated() == 0 && spent.Epsilon <= l.limit() {
		// Accepted, since no bound exceeds Σε at Σδ. If bound (C) is what accepts most, that is
		// never more, apart from rounding.
		left := l.difference(spent)
		if most.EpsilonAt(left.Asked.Delta/(1-spent.Delta)) <= left.Asked.Epsilon+0x1p-40*most.Asked.Epsilon && (len(states) == 1 && !states[0].twice || l.allows(states, left)) {
			return promise(l.takes, left, "")
		}
	}
	with := func(delta float64) account.Releases { return account.ApproxDP(most.Asked.Epsilon, delta) }
	if l.allows(states, with(l.delta*0x1p-30)) {
		most = with(l.greatest(states, 1, with, 1))
	}
	return promise(l.takes, most, "")
}

// byRule returns the most that the rule accepts for one release.
func (l *Ledger) byRule(before []state, spent account.Sums) Guarantee {
	if l.filter.by == bySums && len(before) == 1 && !before[0].twice {
		return promise(l.takes, l.difference(spent), "")
	}
	by, end := func(x float64) account.Releases { return account.ApproxDP(x, 0) }, math.MaxFloat64
	if l.filter.by == byMu {
		by, end = account.GDP, 0x1p500
	}
	return promise(l.takes, by(l.greatest(before, end, by, 1)), "")
}

// difference returns what basic composition leaves. What the tolerance has overdrawn counts as 0.
func (l *Ledger) difference(spent account.Sums) account.Releases {
	return account.ApproxDP(exact.DifferenceDown(max(l.epsilon, spent.Epsilon), spent.Epsilon), exact.DifferenceDown(max(l.delta, spent.Delta), spent.Delta))
}
