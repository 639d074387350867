package budget

import (
	"math"
	"sync"

	"github.com/dpsketch/dpsketch/internal/exact"
)

// lawCache keeps the laws of the last few multisets that a Ledger was asked about.
type lawCache struct {
	mu      sync.Mutex
	entries [4]struct {
		of  kinds
		law laws
	}
	next    int
	samples sampleCache
}

// of returns the law of the losses.
func (c *lawCache) of(k kinds) laws {
	if k == "" {
		return laws{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.entries {
		if e.of == k {
			return e.law
		}
	}
	e := &c.entries[c.next%len(c.entries)]
	c.next++
	e.of, e.law = k, k.measure()
	return e.law
}

// epsilonOf returns g.EpsilonAt(δ) for the δ of the budget.
func (l *Ledger) epsilonOf(g Guarantee) float64 {
	if !g.promised {
		return math.Inf(1)
	}
	most := g.boundAt(l.delta)
	if most > 0 && g.exactable() {
		if a, ok := g.account(l.open().laws.of(g.pair.kinds)); ok {
			return a.epsilonAt(l.delta, most)
		}
	}
	return most
}

// within reports whether the whole is within the budget by the accountant.
func (l *Ledger) within(whole Guarantee) bool {
	if !whole.promised || !whole.exactable() {
		return false
	}
	a, ok := whole.account(l.open().laws.of(whole.pair.kinds))
	return ok && a.within(l.limit(), l.delta)
}

// limit is the ε that is accepted.
func (l *Ledger) limit() float64 { return l.epsilon * exact.Up }

// allows reports whether g is within the budget after what was spent before: by the sums, in
// microseconds, or by the accountant, in milliseconds.
func (l *Ledger) allows(before []state, g Guarantee) bool {
	if !g.promised {
		return false
	}
	for _, s := range before {
		whole := l.after(s, g)
		if l.filter != nil {
			if !l.filter.allows(l, whole) {
				return false
			}
		} else if !l.bySums(whole) && !l.certified(s, g, whole) {
			return false
		}
	}
	return true
}

// bySums reports whether the bounds (A) to (D) allow the whole.
func (l *Ledger) bySums(whole Guarantee) bool {
	return whole.promised && whole.boundAt(l.delta) <= l.limit()
}

// hopes reports whether the accountant can be expected to allow g, in microseconds where the law of
// what was spent is known. For one release by ε it convolves the law of what was spent with ±ε
// without any lattice. The lattice only makes the answer larger, by up to .1 %: what is refused
// here would be refused there, apart from rounding.
func (l *Ledger) hopes(before state, g Guarantee) bool {
	whole := l.after(before, g)
	bounds := whole.pair.bounds()
	if whole.promised && !whole.exactable() {
		return l.bySums(whole) // exact
	}
	if !whole.promised || !(bounds.fraction(l.delta) > 0) || bounds.delta > l.delta {
		return false
	}
	if !g.pair.kinds.single() || g.pair.rho > 0 || g.pair.muSquares > 0 || whole.pair.hasKeys() || before.twice {
		return true
	}
	epsilon := g.pair.kinds.at(0).size
	whole.pair.kinds = before.kinds
	rest, ok := whole.account(l.open().laws.of(before.kinds))
	if !ok && before.kinds != "" {
		return false
	}
	q := math.Exp(-epsilon)
	delta := (rest.profile(l.limit()-epsilon) + q*rest.profile(l.limit()+epsilon)) / (1 + q)
	return delta <= bounds.fraction(l.delta)
}

// greatest returns the greatest number x in [0, end) for which n times g(x) is accepted, if g(0)
// is.
func (l *Ledger) greatest(before []state, end float64, g func(float64) Guarantee, n int) float64 {
	least := end
	for _, s := range before {
		least = min(least, l.greatestAfter(s, end, g, n))
	}
	return least
}

// greatestAfter is greatest for one state.
func (l *Ledger) greatestAfter(before state, end float64, g func(float64) Guarantee, n int) float64 {
	whole := func(x float64) Guarantee {
		if part := g(x); part.promised {
			return l.after(before, part.Times(n))
		}
		return Guarantee{}
	}
	last := func(end float64, accepted func(float64) bool) float64 {
		return math.Nextafter(exact.LeastFloat(0, end, func(x float64) bool { return !accepted(x) }), 0)
	}
	if l.filter != nil {
		return last(end, func(x float64) bool { return l.filter.allows(l, whole(x)) })
	}
	least := last(end, func(x float64) bool { return l.bySums(whole(x)) })
	const some = 0x1p-60 // ε, ρ, μ or δ
	if !whole(some).exactable() {
		return least
	}
	// No more than what is accepted once, which is found without composing anything where g is a
	// release by ε.
	most := end
	if g(some).pair.kinds.single() && !whole(some).pair.hasKeys() && !before.twice {
		most = last(end, func(x float64) bool { return l.hopes(before, g(x)) })
	} else {
		most = max(2*least, some)
		for most < end/2 && l.within(whole(most)) {
			most *= 2
		}
	}
	if n == 1 && l.within(whole(most)) {
		return max(least, most)
	}
	if most <= least {
		return least
	}
	// Between them by the whole's ε, from above: −x is a decreasing function's argument.
	found := exact.LeastRoot(-most, -least, func(x float64) float64 {
		epsilon := l.epsilonOf(whole(-x))
		if math.IsInf(epsilon, 1) {
			return math.Inf(1)
		}
		if epsilon <= l.limit() {
			return min(epsilon-l.limit(), 0)
		}
		return epsilon - l.limit()
	})
	return max(least, -found)
}
