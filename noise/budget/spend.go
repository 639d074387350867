package budget

import (
	"fmt"
	"strconv"

	"github.com/dpsketch/dpsketch/internal/check"
)

// Spend spends g, or nothing with an error: [ErrMismatch] for another unit ([Guarantee.For]
// converts), [ErrBudget] if g promises nothing or more than what remains.
func (l *Ledger) Spend(g Guarantee) error { return l.take("", g) }

// SpendOnce is Spend for an output with a name, such as 2026-11-22/visits, drawn and paid for once:
// a service that stopped in between publishes what it stored, or nothing.
//
// Errors: those of Spend; [ErrSpent] if the name was spent, [ErrMismatch] if with another guarantee
// or part; [ErrParams] unless it has 1 to 200 bytes of ASCII, '!' to '~'.
func (l *Ledger) SpendOnce(name string, g Guarantee) error {
	if err := checkName(name); err != nil {
		return err
	}
	return l.take(name, g)
}

// Accepts reports whether Spend would accept g now.
func (l *Ledger) Accepts(g Guarantee) bool {
	b := l.lock()
	before, part, broken := l.states(), l.isLeft(g), b.journal.Broken
	b.mu.Unlock()
	return g.unit == l.takes && l.refuses == nil && broken == nil && (part || l.allows(before, g.releases()))
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
	if err := l.refusal(g); err != nil {
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
	switch known := b.known[e.guarantee]; {
	case !known.Equal(g):
		return "", false, check.MismatchError("budget", "Guarantee of "+name, known, g)
	case e.part != l.part:
		return "", false, check.MismatchError("budget", "part of "+name, strconv.Quote(e.part), strconv.Quote(l.part))
	}
	return e.output, true, nil
}

// refusal returns why g cannot be spent, or nil.
func (l *Ledger) refusal(g Guarantee) error {
	b := l.open()
	before := l.states()
	switch {
	case l.refuses != nil:
		return l.refuses
	case !g.promised:
		return fmt.Errorf("budget: the guarantee promises nothing, as one of invalid Params: %w", ErrBudget)
	case g.unit != l.takes:
		return check.MismatchError("budget", "Unit", l.takes, fmt.Sprintf("%v, which Guarantee.For may convert", g.unit))
	case b.journal.Broken != nil:
		return b.journal.Broken
	case !l.isLeft(g) && !l.allows(before, g.releases()):
		return check.BudgetError("budget", g, func() any { return l.remaining(before) })
	}
	return nil
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
