package budget

import (
	"math"
	"math/big"
	"sync"
)

// book is what was spent, for all copies of a Ledger and all of its parts.
type book struct {
	journal *journal // nil: in memory only

	mu      sync.Mutex
	entries []entry
	known   []Guarantee // of the entries, each once
	index   map[Guarantee]int
	names   map[string]int // of entries with a name
	// By part, "" for the whole: what was spent, and what that costs a unit that is
	// replaced within the part.
	spent  map[string][2]exactSums
	quota  quota
	splits uint64 // records of the journal that are of Split

	laws lawCache
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
		b.index, b.names, b.spent = map[Guarantee]int{}, map[string]int{}, map[string][2]exactSums{}
	}
	i, ok := b.index[g]
	if !ok {
		i = len(b.known)
		b.known, b.index[g] = append(b.known, g), i
	}
	e.of = i
	spent := b.spent[e.part]
	spent[0] = spent[0].plus(l.booked(g, e.part != ""), e.count)
	if e.part != "" && l.unit.relation == Replace {
		spent[1] = spent[1].plus(l.replaced(g), e.count)
	}
	b.spent[e.part], b.quota = spent, b.quota.without(e.part, g)
	if last := len(b.entries) - 1; e.name != "" {
		b.names[e.name] = last + 1
	} else if last >= 0 && b.entries[last].name == "" && b.entries[last].part == e.part && b.entries[last].of == i {
		b.entries[last].count += e.count
		return
	}
	b.entries = append(b.entries, e)
}

// releases returns how many there were.
func (l *Ledger) releases() int {
	b := l.open()
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.releases()
}

func (b *book) releases() (n int) {
	for _, s := range b.spent {
		n += s[0].releases
	}
	return n
}

// exactSums holds the sums of a Guarantee in the order of its encoding, 0 where nil, without any
// rounding, and the laws of the releases. The numbers are never changed in place.
type exactSums struct {
	sums     [allSums]*big.Float
	kinds    kinds
	unknown  bool // kinds is not all
	beside   beside
	on       conditions
	releases int
}

// newSum returns an exact 0: sums of 2⁵³ numbers in [2⁻¹⁰⁷⁴, 2¹⁰²⁴) fit.
func newSum() *big.Float { return new(big.Float).SetPrec(2304) }

// plus returns the sums with n times g.
func (s exactSums) plus(g Guarantee, n uint64) exactSums {
	one := exactSums{kinds: g.pair.kinds.times(n), unknown: g.pair.unknown(), beside: g.pair.beside.times(n), on: g.on, releases: int(n)}
	one.unknown = one.unknown || one.kinds == "" && g.pair.kinds != ""
	for i, x := range g.list() {
		if x > 0 {
			one.sums[i] = newSum().SetFloat64(x)
			one.sums[i].Mul(one.sums[i], newSum().SetUint64(n))
		}
	}
	return s.join(one)
}

// join returns the sums of both.
func (s exactSums) join(t exactSums) exactSums {
	s.releases += t.releases
	s.unknown = s.unknown || t.unknown
	s.beside = s.beside.plus(t.beside)
	s.on = s.on.and(t.on.list()...)
	if t.kinds != "" && !s.unknown {
		s.kinds = makeKinds(append(s.kinds.list(), t.kinds.list()...))
		s.unknown = s.kinds == ""
	}
	if s.unknown {
		s.kinds = ""
	}
	for i, x := range t.sums {
		switch {
		case s.sums[i] == nil:
			s.sums[i] = x
		case x != nil:
			s.sums[i] = newSum().Add(s.sums[i], x)
		}
	}
	return s
}

// guarantee returns the composition with these sums, each rounded up.
func (s exactSums) guarantee(u Unit) Guarantee {
	var up [len(s.sums)]float64
	for i, x := range s.sums {
		if x == nil {
			continue
		}
		nearest, accuracy := x.Float64()
		if accuracy == big.Below {
			nearest = math.Nextafter(nearest, math.Inf(1))
		}
		up[i] = nearest
	}
	return guaranteeOf(u, up, s.beside, s.kinds).under(s.on)
}
