package budget

import (
	"errors"
	"strconv"
	"strings"
	"sync"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/noise/budget/internal/account"
	"github.com/dpsketch/dpsketch/noise/budget/internal/durable"
)

var (
	// ErrParams reports a public parameter outside its range.
	ErrParams = check.ErrParams
	// ErrMismatch reports guarantees for different units.
	ErrMismatch = check.ErrMismatch
	// ErrBudget reports a guarantee that a [Ledger] does not accept, and what remains.
	ErrBudget = check.ErrBudget
	// ErrFormat reports bytes or text that do not encode a value of this package.
	ErrFormat = check.ErrFormat
	// ErrSpent reports a name that was paid for before: see [Ledger.SpendOnce].
	ErrSpent = errors.New("already spent")
	// ErrReleased reports a Builder that has been released before.
	ErrReleased = check.ErrReleased
)

// Ledger is a privacy budget for any number of goroutines; a copy is the same Ledger, and
// everything in it is public. Spend before a release, and release only if there was no error. All
// accepted releases together are (ε, δ)-DP by the bounds of [Guarantee].
//
// Releases may depend on earlier results; their guarantees and order must not, without a [Rule]. A
// budget divided by n pays for n releases, if δ/n is 0 or at least 2⁻¹⁰²².
type Ledger struct {
	epsilon, delta float64
	unit           Unit
	takes          Unit    // of releases: unit, or in a part that when added or removed
	filter         *filter // nil: the plan rule
	part           string  // "" is the whole
	refuses        error   // of what is no part
	*book                  // nil in the zero Ledger, which no Guarantee is for
}

// NewLedger returns a budget of (ε, δ). With a rule guarantees may depend on what earlier releases
// showed; these then have the guarantee of the whole budget, not [Ledger.Spent]. Error: [ErrParams]
// unless epsilon is 0 or in [2⁻⁹⁰⁰, 2⁹⁰⁰], delta 0 or in [2⁻¹⁰²², 1), and u valid, or for two
// rules, or one that allows nothing.
func NewLedger(epsilon, delta float64, u Unit, rules ...Rule) (*Ledger, error) {
	switch {
	case len(rules) > 1:
		return nil, check.ParamsError("budget", "number of rules", len(rules), "at most 1")
	case epsilon != 0 && !(epsilon >= 0x1p-900 && epsilon <= 0x1p900):
		return nil, check.ParamsError("budget", "epsilon", epsilon, "0 or a number in [2⁻⁹⁰⁰, 2⁹⁰⁰]")
	case delta != 0 && !(delta >= 0x1p-1022 && delta < 1):
		return nil, check.ParamsError("budget", "delta", delta, "0 or a number in [2⁻¹⁰²², 1)")
	}
	if err := u.check(); err != nil {
		return nil, err
	}
	l := &Ledger{epsilon: epsilon + 0, delta: delta + 0, unit: u, takes: u, book: new(book)}
	for _, r := range rules {
		var err error
		if l.filter, err = newFilter(l.epsilon, l.delta, r); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// ledgerBy returns a Ledger, with the rule of a filter unless that is the zero Rule.
func ledgerBy(epsilon, delta float64, u Unit, r Rule) (*Ledger, error) {
	if r == (Rule{}) {
		return NewLedger(epsilon, delta, u)
	}
	return NewLedger(epsilon, delta, u, r)
}

// Budget returns the ε and the δ of the whole.
func (l *Ledger) Budget() (epsilon, delta float64) { return l.epsilon, l.delta }

// Unit returns whom accepted releases must protect.
func (l *Ledger) Unit() Unit { return l.takes }

// rule returns the rule of a filter, the zero Rule of other ledgers.
func (l *Ledger) rule() Rule {
	if l.filter == nil {
		return Rule{}
	}
	return l.filter.Rule
}

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
	guarantee  int // index in known
	count      uint64
	output     string // what ReleaseOnce drew, encoded; "" without
}

// quota is releases that are left of a Split, which is the last that was asked for, with nothing
// else spent since. All n together are within the budget, so fewer are: they are not asked for one
// by one, as the lattice of fewer may be coarser, which matters where little is left.
type quota struct {
	part string
	each Guarantee
	left int
	read bool // from a journal or an encoding, and not yet known to be within the budget
}

// open returns the book, an empty one for the zero Ledger.
func (l *Ledger) open() *book {
	if l.book == nil {
		return new(book)
	}
	return l.book
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

// isOf reports whether releases can be of the Split.
func (q quota) isOf(e entry, known []Guarantee) bool {
	return e.part == q.part && q.covers(known[e.guarantee])
}

// has reports whether g is one of them, or no worse.
func (q quota) has(part string, g Guarantee) bool {
	return q.left > 0 && q.part == part && q.covers(g)
}

// covers reports whether g is bounded by each for certain.
func (q quota) covers(g Guarantee) bool {
	return g.unit == q.each.unit && g.promised && g.releases().NoWorse(q.each.releases())
}

// without returns what is left of them once g is spent.
func (q quota) without(part string, g Guarantee) quota {
	if !q.has(part, g) {
		return quota{}
	}
	q.left--
	return q
}

func checkName(name string) error {
	if !validName(name) {
		return check.ParamsError("budget", "name", strconv.Quote(name), "1 to 200 bytes of ASCII without spaces")
	}
	return nil
}

func validName(name string) bool {
	return len(name) >= 1 && len(name) <= 200 && strings.IndexFunc(name, func(r rune) bool { return r < '!' || r > '~' }) < 0
}

// mostOutput bounds what is stored of one release.
const mostOutput = 1 << 28

func validOutput(output string) bool { return len(output) >= 1 && len(output) <= mostOutput }
