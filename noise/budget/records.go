package budget

import (
	"fmt"
	"iter"
	"slices"
	"strconv"

	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/noise/budget/internal/account"
)

// remember adds releases to what was spent.
func (l *Ledger) remember(e entry, g Guarantee) {
	b := l.open()
	if b.index == nil {
		b.index, b.names, b.spent = map[Guarantee]int{}, map[string]int{}, map[string][2]account.Total{}
	}
	i, ok := b.index[g]
	if !ok {
		i = len(b.known)
		b.known, b.index[g] = append(b.known, g), i
	}
	e.guarantee = i
	spent, r := b.spent[e.part], g.releases()
	spent[0] = spent[0].Plus(l.booked(r, e.part != ""), e.count)
	if e.part != "" && l.unit.relation == Replace {
		spent[1] = spent[1].Plus(l.replaced(r, g.unit), e.count)
	}
	b.spent[e.part], b.quota = spent, b.quota.without(e.part, g)
	b.on = b.on.and(g.on.list()...)
	if last := len(b.entries) - 1; e.name != "" {
		b.names[e.name] = last + 1
	} else if last >= 0 && b.entries[last].name == "" && b.entries[last].part == e.part && b.entries[last].guarantee == i {
		b.entries[last].count += e.count
		return
	}
	b.entries = append(b.entries, e)
}

// restore remembers what was spent once, and reports whether that is possible.
func (l *Ledger) restore(e entry, g Guarantee) bool {
	switch _, spent := l.names[e.name]; {
	case spent, e.name != "" && (!validName(e.name) || e.count != 1), e.count < 1 || e.count > account.MostCount:
		return false
	case e.output != "" && (e.name == "" || !validOutput(e.output)):
		return false
	}
	part := l.partNamed(e.part)
	if part.refuses != nil || g.unit != part.takes || !g.promised || e.part != "" && !l.replaced(g.releases(), g.unit).Valid() {
		return false
	}
	l.remember(e, g)
	return true
}

// restoreQuota remembers what was split, and reports whether there can be such a Split.
func (l *Ledger) restoreQuota(q quota) bool {
	part := l.partNamed(q.part)
	if q.left < 1 || q.left > mostMany || !q.each.promised || part.refuses != nil || q.each.unit != part.takes {
		return false
	}
	q.read = true
	l.splitInto(q)
	return true
}

// splitInto remembers what was split.
func (l *Ledger) splitInto(q quota) {
	b := l.open()
	b.quota = q
	b.splits++
}

// possible reports whether something is promised with all that was remembered.
func (l *Ledger) possible() bool {
	return !slices.ContainsFunc(l.states(), func(s state) bool { return !s.Releases().Valid() })
}

// Record is a release, or several equal ones in a row without a name.
type Record struct {
	Name      string    // of [Ledger.SpendOnce]
	Part      string    // of the data, "" is the whole
	Guarantee Guarantee // of one release
	Releases  int       // how many
	// Share is the fraction of the budget that they took: of the ε spent, in
	// proportion to ρ, or to ε by SumRule; a part under Replace counts twice.
	Share float64
}

// All yields what was spent, in order.
func (l *Ledger) All() iter.Seq[Record] {
	b := l.lock()
	entries, known := slices.Clone(b.entries), b.known[:len(b.known):len(b.known)]
	b.mu.Unlock()
	weight := func(e entry) float64 {
		g, times := known[e.guarantee], float64(e.count)
		if e.part != "" && l.unit.relation == Replace {
			times *= 2
		}
		if l.rule().by == bySums {
			return g.asked.Epsilon * times
		}
		return exact.SumUp(g.pair.Concentrated(), g.pair.Keys.MuSquares()/2) * times
	}
	spent := map[string]float64{}
	for _, e := range entries {
		spent[e.part] += weight(e)
	}
	most := 0.0
	for part, weight := range spent {
		if part != "" {
			most = max(most, weight)
		}
	}
	all := 0.0
	if total := spent[""] + most; total > 0 && l.epsilon > 0 {
		all = l.Epsilon() / l.epsilon / total
	}
	return func(yield func(Record) bool) {
		for _, e := range entries {
			if !yield(Record{e.name, e.part, known[e.guarantee], int(e.count), weight(e) * all}) {
				return
			}
		}
	}
}

// Spent returns the composition of what was spent on the whole and on the part that spent most.
func (l *Ledger) Spent() Guarantee {
	b := l.lock()
	states, on := l.states(), b.on
	b.mu.Unlock()
	spent := l.worst(states).Releases()
	if l.filter != nil {
		spent.Pair.Kinds = nil
	}
	return promise(l.unit, spent, on)
}

// Epsilon returns the ε that was spent, at the δ of the budget, by the rule.
func (l *Ledger) Epsilon() float64 {
	return l.epsilonAfter(l.worst(l.locked()))
}

// String says what was spent, such as "ε = 7.59 of 10 at δ = 1e-6, 50 releases, for one user, added
// or removed".
func (l Ledger) String() string {
	b := l.lock()
	count := b.releases()
	b.mu.Unlock()
	text := strconv.Itoa(count) + " releases"
	if count == 1 {
		text = "1 release"
	}
	delta := number(l.delta)
	if (account.Sums{Delta: l.delta}).HardlyAny() {
		delta += " (hardly any protection)"
	}
	return fmt.Sprintf("ε = %.4g of %s at δ = %s, %s, for %v", l.Epsilon(), number(l.epsilon), delta, text, l.unit)
}
