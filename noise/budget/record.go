package budget

import (
	"iter"
	"slices"

	"github.com/dpsketch/dpsketch/internal/exact"
)

// Record is a release that was paid for, or several equal ones in a row without a name.
type Record struct {
	Name      string    // given to [Ledger.SpendOnce], "" without one
	Part      string    // of the data, see [Ledger.Part]; "" is the whole
	Guarantee Guarantee // of one release
	Releases  int       // how many
	// Share is the fraction of the budget that they took. The shares of the whole
	// and of the part that spent most add up to Epsilon divided by the budget's ε.
	// Accounting is not additive, so that total is divided in proportion to ρ, or
	// to ε by SumRule; a part under Replace counts twice.
	Share float64
}

// All yields what was spent so far, and on what, in order. A journal keeps it.
func (l *Ledger) All() iter.Seq[Record] {
	b := l.open()
	b.mu.Lock()
	entries, known := slices.Clone(b.entries), b.known[:len(b.known):len(b.known)]
	b.mu.Unlock()
	weight := func(e entry) float64 {
		g, times := known[e.of], float64(e.count)
		if e.part != "" && l.unit.relation == Replace {
			times *= 2
		}
		if l.rule().by == bySums {
			return g.epsilon * times
		}
		return exact.SumUp(g.pair.concentrated(), g.pair.keys.MuSquares()/2) * times
	}
	spent := map[string]float64{}
	for _, e := range entries {
		spent[e.part] += weight(e)
	}
	most := 0.0
	for part, of := range spent {
		if part != "" {
			most = max(most, of)
		}
	}
	all := 0.0
	if total := spent[""] + most; total > 0 && l.epsilon > 0 {
		all = l.Epsilon() / l.epsilon / total
	}
	return func(yield func(Record) bool) {
		for _, e := range entries {
			if !yield(Record{e.name, e.part, known[e.of], int(e.count), weight(e) * all}) {
				return
			}
		}
	}
}
