package budget

import (
	"maps"
	"slices"
	"strconv"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/noise/budget/internal/account"
)

// Part returns the ledger of a part of the data, such as the events of one endpoint, which spends
// from l. A public rule must put each element, key or row into one part. Then only the part that
// spends most counts, and what l itself spends on the whole data. Under Replace, releases on parts
// are for a row added or removed, and the ledger charges for rows that move. Without a [Rule] the
// choice of the part must not depend on results.
//
// A part of a part, of users, parties, vectors or groups, or of an invalid name
// ([Ledger.SpendOnce]) refuses everything.
func (l *Ledger) Part(name string) *Ledger {
	return l.divided(name, "each element, key or row in one part; PartOfUsers is for users who are each in one", element, own, key, row)
}

// PartOfUsers is Part for users and parties with all their data in one part: by country, say, not
// by endpoint.
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

// partNamed returns the ledger of a part, l itself for "".
func (l *Ledger) partNamed(name string) *Ledger {
	if name == "" {
		return l
	}
	if part := l.Part(name); part.refuses == nil {
		return part
	}
	return l.PartOfUsers(name)
}

// state is what the budget has to hold for: what was spent on one neighbour's part, or on the two
// that it moves between; and what a release of the ledger adds to it.
type state struct {
	account.Total
	moves bool // a release on a part as one of the two
	twice bool // a release on a part for a unit replaced within it
}

// states returns all of them, each once.
func (l *Ledger) states() (list []state) {
	b := l.open()
	whole := b.spent[""][0]
	if l.part == "" && len(b.spent) < 2 && whole.Count == b.releases() {
		return []state{{Total: whole}}
	}
	seen := map[Guarantee]bool{}
	add := func(s state) {
		g := promise(l.unit, s.Releases(), "")
		if s.twice || !seen[g] {
			list = append(list, s)
		}
		seen[g] = seen[g] || !s.twice
	}
	inPart, replace := l.part != "", l.unit.relation == Replace
	spent := b.spent[l.part]
	switch {
	case inPart && replace:
		add(state{whole.Join(spent[1]), false, true})
	case inPart:
		add(state{whole.Join(spent[0]), true, false})
	}
	parts := slices.Sorted(maps.Keys(b.spent))
	for i, p := range parts {
		s := b.spent[p]
		switch {
		case p == "" || p == l.part:
		case !inPart && !replace:
			add(state{Total: whole.Join(s[0])})
		case !inPart:
			add(state{Total: whole.Join(s[1])})
			for _, q := range parts[:i] {
				if q != "" {
					add(state{Total: whole.Join(s[0]).Join(b.spent[q][0])})
				}
			}
		case replace:
			add(state{whole.Join(spent[0]).Join(s[0]), true, false})
		}
	}
	return list
}

// locked returns the states now.
func (l *Ledger) locked() []state {
	defer l.lock().mu.Unlock()
	return l.states()
}

// booked returns what of g is added up. The bounds of keys do not hold in a filter, where their κ
// would have to be fixed beforehand; and where a unit moves from one part to another, added in one
// and removed in the other, those of samples, which tell the two apart. What stands there is as it
// was asked for.
func (l *Ledger) booked(r account.Releases, part bool) account.Releases {
	if l.filter != nil && r.Pair.HasKeys() || part && r.Pair.Kinds.Sampled() && l.unit.relation == Replace {
		return account.Unpaired(r.Asked)
	}
	return r
}

// replaced returns what r of a part, for the unit of releases on it, says of a unit of the ledger
// within it, one that is replaced.
func (l *Ledger) replaced(r account.Releases, u Unit) account.Releases {
	n, _ := u.steps(l.unit)
	if r, ok := r.Group(n, pathOf(u, l.unit)); ok {
		return l.booked(r, false)
	}
	return account.None()
}

// after returns the whole that r makes with what was spent before.
func (l *Ledger) after(before state, r account.Releases) account.Releases {
	if before.twice {
		r = l.replaced(r, l.takes)
	} else {
		r = l.booked(r, before.moves)
	}
	if !r.Valid() {
		return r
	}
	return before.Plus(r, 1).Releases()
}
