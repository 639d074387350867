package budget

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/check"
)

// Split returns a guarantee such that n releases with it use up what remains, if nothing else is
// spent before; it spends nothing. It has the noise and the δ of like, and the greatest ε, ρ or μ,
// whichever like is asked for by, that Spend accepts n times. The noise of several parts is scaled
// by one factor; with Gaussian noise for an (ε, δ) among them the last release may be refused.
//
// Errors: [ErrParams] if n is not in [1, 2³⁰], or like is asked for by several or subsampled;
// [ErrMismatch] for another unit; [ErrBudget] if too little is left; or the journal's.
func (l *Ledger) Split(n int, like Guarantee) (Guarantee, error) {
	amount, several := like.releases().Amounts()
	switch {
	case n < 1 || n > mostMany:
		return Guarantee{}, check.ParamsError("budget", "n", n, "an integer in [1, 2³⁰]")
	case !like.promised || amount == nil:
		return Guarantee{}, check.ParamsError("budget", "like", like, "a guarantee of one release by one of ε, ρ and μ")
	case l.refuses != nil:
		return Guarantee{}, l.refuses
	case like.unit != l.takes:
		return Guarantee{}, check.MismatchError("budget", "Unit", l.takes, like.unit)
	}
	b := l.lock()
	releases, before := b.releases(), l.states()
	b.mu.Unlock()
	// Times rounds up, by more than n exact additions do: what it allows, Spend accepts n times.
	x, r := 0.0, amount(0)
	if l.allows(before, r.Times(n)) {
		x = l.greatest(before, math.MaxFloat64, amount, n)
		r = amount(x)
	}
	if !l.allows(before, r.Times(n)) || r.Asked == amount(0).Asked && l.epsilon > 0 {
		return Guarantee{}, check.BudgetError("budget", like.Times(n), func() any { return l.remaining(before) })
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	g := promise(like.unit, r, like.on)
	q := quota{part: l.part, each: g, left: n}
	if several { // room for the roundings of whoever divides ε among the parts
		g = promise(like.unit, amount(x*(1-0x1p-45)), like.on)
	}
	known := b.quota
	known.read = false
	switch {
	case b.releases() != releases:
		return g, nil
	case known == q:
		b.quota = q
		return g, nil
	case b.journal.Broken != nil:
		return Guarantee{}, b.journal.Broken
	}
	if err := b.appendQuota(q); err != nil {
		return Guarantee{}, err
	}
	l.splitInto(q)
	l.compact()
	return g, nil
}

// isLeft reports whether g is left of a Split. What was read is asked for at the first such
// release, as Split asked, and forgotten if more than the budget: then Spend asks for each release.
// So whatever a journal says of a Split it can be read, and no more is spent than the budget, also
// where another version or machine computes other last digits.
func (l *Ledger) isLeft(g Guarantee) bool {
	b := l.open()
	if b.quota.has(l.part, g) && b.quota.read {
		spent := 0
		for spent < len(b.entries) && b.quota.isOf(b.entries[len(b.entries)-1-spent], b.known) {
			spent++
		}
		if b.quota.read = !l.covers(spent) && !l.covers(0); b.quota.read {
			b.quota = quota{}
		}
	}
	return b.quota.has(l.part, g)
}

// covers reports whether the budget allows what is left of the Split, where the last entries are of
// it as well and so bounded by what was split. No sum is rounded twice: this is what Split asked.
func (l *Ledger) covers(spent int) bool {
	b, before := l.open(), *l
	before.book = new(book)
	first := len(b.entries) - spent
	for _, e := range b.entries[:first] {
		before.remember(e, b.known[e.guarantee])
	}
	n := b.quota.left
	for _, e := range b.entries[first:] {
		n += int(e.count)
	}
	return before.allows(before.states(), b.quota.each.releases().Times(n))
}
