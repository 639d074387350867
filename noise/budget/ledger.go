package budget

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/noise/budget/internal/account"
)

var (
	// ErrParams reports a public parameter outside its range. The text names the parameter, its
	// value and the range.
	ErrParams = check.ErrParams
	// ErrMismatch reports guarantees for different units, which do not compose.
	ErrMismatch = check.ErrMismatch
	// ErrBudget reports a guarantee that a [Ledger] does not accept. The text names what was asked
	// and what remains.
	ErrBudget = check.ErrBudget
	// ErrFormat reports bytes or text that do not encode a value of this package.
	ErrFormat = check.ErrFormat
	// ErrSpent reports a name that was paid for before: see [Ledger.SpendOnce].
	ErrSpent = errors.New("already spent")
	// ErrReleased reports a Builder that has been released before.
	ErrReleased = check.ErrReleased
)

// Ledger is a privacy budget that any number of goroutines may spend from. Call Spend before a
// release, and make the release only if there was no error. All accepted releases together are (ε,
// δ)-DP by the bounds of [Guarantee]. Many small releases, and Gaussian ones, cost far less than
// the sum of their ε. Everything in a Ledger is public.
//
// The releases may depend on earlier results. The guarantees spent on them, and their order, must
// not: otherwise the total is not (ε, δ)-DP. For example, let the result of a first release at ε =
// ½ decide whether the rest of the budget goes to a second release or to revealing everything with
// probability δ. Either sequence would be accepted, but together they have 1.38·δ. If amounts
// depend on results, use a [Rule].
//
// Sums have 200 binary digits and are rounded up. But ten times the float64 0.1 is more than 1, so
// there is a tolerance: the ledger accepts EpsilonAt(δ) ≤ ε·(1 + 2⁻⁵⁰), and [Guarantee.EpsilonAt]
// has the same tolerance for δ. So a budget divided by n pays for n releases, for every n, if δ/n
// is 0 or at least 2⁻¹⁰²²: each part is off by a relative 2⁻⁵³, their sum by another 2⁻⁵².
//
// A copy of a Ledger value is the same Ledger: what one spends, both have spent. Only the encoding
// is an independent copy.
type Ledger struct {
	epsilon, delta float64
	unit           Unit
	takes          Unit    // of releases: unit, or in a part that when added or removed
	filter         *filter // nil: the plan rule
	part           string  // "" is the whole
	refuses        error   // of what is no part
	*book                  // nil in the zero Ledger, which no Guarantee is for
}

// NewLedger returns a budget of (ε, δ) for the unit u with nothing spent.
//
// With a rule, guarantees may depend on what earlier releases showed. There is at most one rule,
// since choosing the best of several afterwards would not be sound. The releases then have the
// guarantee of the whole budget, not that of [Ledger.Spent], which itself depends on results.
//
// The error wraps [ErrParams] unless epsilon is 0 or in [2⁻⁹⁰⁰, 2⁹⁰⁰], delta is 0 or in [2⁻¹⁰²²,
// 1), and u is valid; also for two rules, and for a rule that would allow nothing: RhoRule and
// MuRule need a delta above 0, and escapes must be in [0, delta).
//
// For experiments, budgets that protect hardly anybody are accepted: ε above 20, δ above 0.01. With
// such a δ String says so, whatever was spent; for ε see [Ledger.Spent].
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
		if l.filter, err = newFilter(l, r); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// Spend spends g from the budget, or returns an error and spends nothing.
//
// The error wraps [ErrMismatch] if g is for another unit: [Guarantee.For] converts. It wraps
// [ErrBudget] if g promises nothing or does not fit into what remains of the budget. Concurrent
// calls together never spend more than the budget.
func (l *Ledger) Spend(g Guarantee) error { return l.take("", g) }

// SpendOnce is Spend for a release with a name, which is paid for once: if it was before, nothing
// is spent, and the error wraps [ErrSpent]. A name stands for one output, drawn once. So a service
// that stopped between spending and answering must not draw again: it publishes what it stored, or
// nothing. [ReleaseOnce] spends, draws and stores in one record. To draw another output, pay for it
// under another name. If names begin with the day, as in 2026-11-22/visits, [Ledger.All] shows when
// it was spent.
//
// The error is that of Spend, or wraps [ErrSpent] as above, [ErrMismatch] if another guarantee, or
// another part, was spent under that name, or [ErrParams] unless the name has 1 to 200 bytes of
// ASCII, from '!' to '~'.
func (l *Ledger) SpendOnce(name string, g Guarantee) error {
	if err := checkName(name); err != nil {
		return err
	}
	return l.take(name, g)
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

// take spends g under a name, or none.
func (l *Ledger) take(name string, g Guarantee) error {
	defer l.lock().mu.Unlock()
	_, known, err := l.stored(name, g)
	switch {
	case err != nil:
		return err
	case known:
		return fmt.Errorf("budget: %s: %w", name, ErrSpent)
	}
	if err := l.check(g); err != nil {
		return err
	}
	return l.record(entry{part: l.part, name: name, count: 1}, g)
}

// stored returns what was drawn under a name, "" where that is not known, and whether g was spent
// under that name.
func (l *Ledger) stored(name string, g Guarantee) (output string, known bool, err error) {
	b := l.open()
	i, ok := b.names[name]
	if !ok {
		return "", false, nil
	}
	e := b.entries[i]
	switch known := b.known[e.of]; {
	case !known.Equal(g):
		return "", false, check.MismatchError("budget", "Guarantee of "+name, known, g)
	case e.part != l.part:
		return "", false, check.MismatchError("budget", "part of "+name, strconv.Quote(e.part), strconv.Quote(l.part))
	}
	return e.output, true, nil
}

// record books g, which was checked: in the journal first, if there is one, then in memory.
func (l *Ledger) record(e entry, g Guarantee) error {
	if err := l.open().append(e, g); err != nil {
		return err
	}
	l.remember(e, g)
	l.compact()
	return nil
}

// Spent returns the composition of everything that Spend accepted, with all sums rounded up: ε = 0
// at the beginning. With parts it covers the whole data and the part that has spent most.
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

// Epsilon returns the ε of everything that was spent, at the δ of the budget and by the rule of the
// ledger.
func (l *Ledger) Epsilon() float64 {
	return l.epsilonAfter(l.worst(l.locked()))
}

// Budget returns the ε and the δ of the whole.
func (l *Ledger) Budget() (epsilon, delta float64) { return l.epsilon, l.delta }

// Unit returns whom accepted releases must protect. For a part of a ledger under Replace, it is the
// unit added or removed.
func (l *Ledger) Unit() Unit { return l.takes }

// String says what was spent of the budget, such as "ε = 7.59 of 10 at δ = 1e-6, 50 releases, for
// one user, added or removed". The ε is that of all releases together, at the δ of the budget.
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
