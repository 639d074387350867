package budget

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/noise/budget/internal/account"
)

// allows reports whether r is within the budget after what was spent before: by the sums, in
// microseconds, or by the accountant, in milliseconds.
func (l *Ledger) allows(before []state, r account.Releases) bool {
	if !r.Valid() {
		return false
	}
	for _, s := range before {
		whole := l.after(s, r)
		if l.filter != nil {
			if !l.filter.allows(whole) {
				return false
			}
		} else if !l.bySums(whole) && !l.certified(s, r, whole) {
			return false
		}
	}
	return true
}

// limit is the ε that is accepted.
func (l *Ledger) limit() float64 { return l.epsilon * exact.Up }

// bySums reports whether the bounds (A) to (D) allow the whole.
func (l *Ledger) bySums(whole account.Releases) bool {
	return whole.Valid() && whole.Bound(l.delta) <= l.limit()
}

// certified reports whether the whole that r makes with what was spent before is within the budget
// by the accountant.
func (l *Ledger) certified(before state, r, whole account.Releases) bool {
	promising := func() bool { return l.promising(before, r, whole) }
	further := func(more int) account.Releases { return l.after(before, r.Times(more+1)) }
	return l.open().certifier.Certify(whole, promising, further, l.limit(), l.delta)
}

// promising reports whether the accountant can be expected to allow r, in microseconds.
func (l *Ledger) promising(before state, r, whole account.Releases) bool {
	return l.open().certifier.Promising(before.Kinds, r, whole, !before.twice, l.limit(), l.delta)
}

// amounts are releases by ε, ρ, μ or δ.
type amounts = func(x float64) account.Releases

// greatest returns the greatest number x in [0, end) for which n times r(x) is accepted, if r(0)
// is.
func (l *Ledger) greatest(before []state, end float64, r amounts, n int) float64 {
	for _, s := range before {
		end = min(end, l.greatestAfter(s, end, r, n))
	}
	return end
}

// greatestAfter is greatest for one state.
func (l *Ledger) greatestAfter(before state, end float64, r amounts, n int) float64 {
	whole := func(x float64) account.Releases { return l.after(before, r(x).Times(n)) }
	within := func(r account.Releases) bool { return l.open().certifier.Within(r, l.limit(), l.delta) }
	last := func(end float64, accepted func(float64) bool) float64 {
		return math.Nextafter(exact.LeastFloat(0, end, func(x float64) bool { return !accepted(x) }), 0)
	}
	if l.filter != nil {
		return last(end, func(x float64) bool { return l.filter.allows(whole(x)) })
	}
	least := last(end, func(x float64) bool { return l.bySums(whole(x)) })
	const some = 0x1p-60 // ε, ρ, μ or δ
	if !whole(some).Composes() {
		return least
	}
	// No more than what is accepted once, which is found without composing anything where g is a
	// release by ε.
	most := end
	if r(some).Pair.Kinds.Single() && !whole(some).Pair.HasKeys() && !before.twice {
		most = last(end, func(x float64) bool { return l.promising(before, r(x), l.after(before, r(x))) })
	} else {
		most = max(2*least, some)
		for most < end/2 && within(whole(most)) {
			most *= 2
		}
	}
	if n == 1 && within(whole(most)) {
		return max(least, most)
	}
	if most <= least {
		return least
	}
	// Between them by the whole's ε, from above: −x is a decreasing function's argument.
	found := exact.LeastRoot(-most, -least, func(x float64) float64 { return l.epsilonOf(whole(-x)) - l.limit() })
	return max(least, -found)
}

// epsilonOf returns the ε of the releases at the δ of the budget.
func (l *Ledger) epsilonOf(r account.Releases) float64 {
	if !r.Valid() {
		return math.Inf(1)
	}
	return l.open().certifier.EpsilonAt(r, l.delta)
}

// epsilonAfter returns the ε of a state by the rule of the ledger.
func (l *Ledger) epsilonAfter(s state) float64 {
	switch {
	case s.Count == 0:
		return 0
	case l.filter != nil:
		return l.filter.epsilonOf(s.Releases())
	}
	return l.epsilonOf(s.Releases())
}

// worst returns the state with the largest ε by the rule of the ledger.
func (l *Ledger) worst(states []state) (worst state) {
	most := -1.0
	for _, s := range states {
		if len(states) == 1 {
			return s
		}
		if epsilon := l.epsilonAfter(s); epsilon > most {
			worst, most = s, epsilon
		}
	}
	return worst
}

// Remaining returns the largest guarantee that Spend accepts for one release now: (ε − Σε, δ −
// Σδ)-DP, or the greatest ε and for that the greatest δ. Several releases may get more.
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
