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
