package budget

import (
	"maps"
	"slices"
	"strconv"

	"github.com/dpsketch/dpsketch/internal/check"
)

// Part returns the ledger of a part of the data, such as the events of one endpoint or the rows of
// one country, which spends from the budget of l. A public rule, such as the value of a column,
// must put each element, key or row into one part. Then releases on different parts do not add up:
// the budget must cover the part that spends most plus what was spent from l itself, on the whole
// data. A part begins with its first release.
//
// Under Replace a row can move from one part to another, and the number of rows of a part is no
// longer public. So the Unit of releases on parts is a row that is added or removed. The ledger
// charges for a row that is replaced within its part, and for a row that leaves one part and enters
// another: see part_proof.md.
//
// Only in a ledger with a [Rule] may the choice of the part depend on earlier results, as amounts
// may. These parts refuse everything: a part of a part, a part without a valid name (see
// [Ledger.SpendOnce]), and a part of users, parties, vectors or groups. For users see
// [Ledger.PartOfUsers].
func (l *Ledger) Part(name string) *Ledger {
	return l.divided(name, "each element, key or row in one part; PartOfUsers is for users who are each in one", element, own, key, row)
}

// PartOfUsers is Part for users and parties. The caller must know that all data of each user are in
// one part: users by country, say, if nobody has data in two. It would be wrong for the endpoints
// that users visit.
func (l *Ledger) PartOfUsers(name string) *Ledger {
	return l.divided(name, "each user or party in one part; Part is for elements, keys and rows", user, party)
}

func (l *Ledger) divided(name, want string, of ...kind) *Ledger {
	p := *l
	p.part, p.takes.relation = name, AddRemove
	switch {
	case l.part != "" || l.refuses != nil:
		p.refuses = check.MismatchError("budget", "Ledger", "a part", "the whole")
	case !validName(name):
		p.refuses = check.ParamsError("budget", "name of a part", strconv.Quote(name), "1 to 200 bytes of ASCII without spaces")
	case l.unit.many != 1 || !slices.Contains(of, l.unit.kind):
		p.refuses = check.MismatchError("budget", "Unit", l.unit, want)
	case l.unit.kind == own:
		p.takes = Element(AddRemove)
	}
	return &p
}

// state is what the budget has to hold for: what was spent on one neighbour's part, or on the two
// that it moves between; and what a release of the ledger adds to it.
type state struct {
	exactSums
	moves bool // a release on a part as one of the two
	twice bool // a release on a part for a unit replaced within it
}

// states returns all of them, each once.
func (l *Ledger) states() (list []state) {
	b := l.open()
	whole := b.spent[""][0]
	if l.part == "" && len(b.spent) < 2 && b.spent[""][0].releases == b.releases() {
		return []state{{exactSums: whole}}
	}
	seen := map[Guarantee]bool{}
	add := func(s state) {
		g := s.guarantee(l.unit)
		if s.twice || !seen[g] {
			list = append(list, s)
		}
		seen[g] = seen[g] || !s.twice
	}
	inPart, replace := l.part != "", l.unit.relation == Replace
	spent := b.spent[l.part]
	switch {
	case inPart && replace:
		add(state{whole.join(spent[1]), false, true})
	case inPart:
		add(state{whole.join(spent[0]), true, false})
	}
	parts := slices.Sorted(maps.Keys(b.spent))
	for i, p := range parts {
		s := b.spent[p]
		switch {
		case p == "" || p == l.part:
		case !inPart && !replace:
			add(state{exactSums: whole.join(s[0])})
		case !inPart:
			add(state{exactSums: whole.join(s[1])})
			for _, q := range parts[:i] {
				if q != "" {
					add(state{exactSums: whole.join(s[0]).join(b.spent[q][0])})
				}
			}
		case replace:
			add(state{whole.join(spent[0]).join(s[0]), true, false})
		}
	}
	return list
}

// locked returns the states now.
func (l *Ledger) locked() []state {
	b := l.open()
	b.mu.Lock()
	defer b.mu.Unlock()
	return l.states()
}

// booked returns what of g is added up. The bounds of keys do not hold in a filter, where their κ
// would have to be fixed beforehand; and where a unit moves from one part to another, added in one
// and removed in the other, those of samples, which tell the two apart. What stands there is as it
// was asked for.
func (l *Ledger) booked(g Guarantee, part bool) Guarantee {
	g.unit = l.unit
	sampled := slices.ContainsFunc(g.pair.kinds.list(), func(x lossKind) bool { return x.fraction < 1 })
	if l.filter != nil && g.pair.hasKeys() || part && sampled && l.unit.relation == Replace {
		g.pair = pairOf(g.sums)
	}
	return g
}

// replaced returns what g of a part says of a unit of the ledger within it, one that is replaced.
func (l *Ledger) replaced(g Guarantee) Guarantee {
	of, err := g.For(l.unit)
	if err != nil {
		return Guarantee{}
	}
	return l.booked(of, false)
}

// after returns the whole that g makes with what was spent before.
func (l *Ledger) after(before state, g Guarantee) Guarantee {
	if before.twice {
		g = l.replaced(g)
	} else {
		g = l.booked(g, before.moves)
	}
	if !g.promised {
		return Guarantee{}
	}
	return before.plus(g, 1).guarantee(l.unit)
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

// epsilonAfter returns the ε of a state by the rule of the ledger.
func (l *Ledger) epsilonAfter(s state) float64 {
	whole := s.guarantee(l.unit)
	switch {
	case s.releases == 0:
		return 0
	case l.filter != nil:
		return l.filter.epsilon(l, whole)
	}
	return l.epsilonOf(whole)
}
