package budget

import (
	"iter"
	"slices"
	"sync"

	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/noise/budget/internal/account"
	"github.com/dpsketch/dpsketch/noise/budget/internal/durable"
)

// book is what was spent, for all copies of a Ledger and all of its parts.
type book struct {
	journal durable.Journal // the zero Journal: in memory only

	mu      sync.Mutex
	entries []entry
	known   []Guarantee // of the entries, each once
	index   map[Guarantee]int
	names   map[string]int // of entries with a name
	// By part, "" for the whole: what was spent, and what that costs a unit that is
	// replaced within the part.
	spent  map[string][2]account.Total
	on     conditions // of all that was spent
	quota  quota
	splits uint64 // records of the journal that are of Split

	certifier account.Certifier
}

// entry is a run of releases with one guarantee, or one release with a name.
type entry struct {
	part, name string
	of         int // index in known
	count      uint64
	output     string // what ReleaseOnce drew, encoded; "" without
}

// open returns the book, an empty one for the zero Ledger.
func (l *Ledger) open() *book {
	if l.book == nil {
		return new(book)
	}
	return l.book
}

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
	e.of = i
	spent := b.spent[e.part]
	spent[0] = spent[0].Plus(l.booked(g, e.part != ""), e.count)
	if e.part != "" && l.unit.relation == Replace {
		spent[1] = spent[1].Plus(l.replaced(g), e.count)
	}
	b.spent[e.part], b.quota = spent, b.quota.without(e.part, g)
	b.on = b.on.and(g.on.list()...)
	if last := len(b.entries) - 1; e.name != "" {
		b.names[e.name] = last + 1
	} else if last >= 0 && b.entries[last].name == "" && b.entries[last].part == e.part && b.entries[last].of == i {
		b.entries[last].count += e.count
		return
	}
	b.entries = append(b.entries, e)
}

// lock returns the book, locked, for the caller to unlock.
func (l *Ledger) lock() *book {
	b := l.open()
	b.mu.Lock()
	return b
}

// releases returns how many there were.
func (b *book) releases() (n int) {
	for _, s := range b.spent {
		n += s[0].Count
	}
	return n
}

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
	b := l.lock()
	entries, known := slices.Clone(b.entries), b.known[:len(b.known):len(b.known)]
	b.mu.Unlock()
	weight := func(e entry) float64 {
		g, times := known[e.of], float64(e.count)
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
