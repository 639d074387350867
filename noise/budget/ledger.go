package budget

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"sync"

	"github.com/dpsketch/dpsketch/internal/round"

	"github.com/dpsketch/dpsketch/internal/fault"
)

// Ledger is a privacy budget that any number of goroutines spend from: call Spend before a release,
// and make the release only if there was no error. What is accepted composes to an (ε, δ)-DP whole
// by the bounds of [Guarantee], so that many small releases, and Gaussian ones, cost far less than
// the sum of their ε. Everything in a Ledger is public.
//
// The releases may be chosen adaptively, but not the guarantees that are spent on them: these, and
// their order, must not depend on what earlier releases showed. Otherwise a test of the whole, like
// this one, does not bound the whole by (ε, δ): with a first release at ε = ½ whose result decides
// whether the rest of the budget goes to a second one or to revealing everything with probability
// δ, each course of events is accepted, and together they have 1.38·δ. A [Rule] is for
// amounts that depend on results.
//
// The sums are kept to 200 binary digits, rounded up, so they do not drift. But float64 amounts do
// not add up as their decimals do: ten times the float64 0.1 is more than 1. Hence a tolerance:
// accepted is a whole with EpsilonAt(δ) ≤ ε·(1 + 2⁻⁵⁰), and [Guarantee.EpsilonAt] has the same
// tolerance for δ. So a budget divided by n pays for n releases, for every n (as long as δ/n is 0
// or at least 2⁻¹⁰²²): each part is off by a relative 2⁻⁵³, their sum by another 2⁻⁵².
//
// A copy of a Ledger is the same Ledger: what one spends, both have spent. Only its encoding is a
// copy of what was spent so far.
type Ledger struct {
	epsilon, delta float64
	unit           Unit
	filter         *filter // nil: the plan rule
	*book                  // nil in the zero Ledger, which no Guarantee is for
}

// book is what was spent, for all copies of a Ledger.
type book struct {
	journal *journal // nil: in memory only

	mu         sync.Mutex
	spentSoFar exact
	ids        map[string]Guarantee // of SpendOnce
	parts      parts

	laws lawCache
}

// open returns the book, an empty one for the zero Ledger.
func (l *Ledger) open() *book {
	if l.book == nil {
		return new(book)
	}
	return l.book
}

// exact are the sums of a Guarantee in the order of its encoding, 0 where nil, and the laws of the
// releases. Nobody changes the numbers.
type exact struct {
	sums     [allSums]*big.Float
	kinds    kinds
	unknown  bool // kinds is not all
	beside   beside
	releases int
}

// NewLedger returns a budget of (ε, δ) for the unit u with nothing spent.
//
// With a rule, guarantees may depend on what earlier releases showed. It is one rule, chosen
// beforehand, as to take the best of several afterwards would not be sound. What was spent is
// bounded by the budget then, not by the sums of [Ledger.Spent], as these depend on results
// themselves.
//
// The error wraps [ErrParams] unless epsilon is 0 or in [2⁻⁹⁰⁰, 2⁹⁰⁰], delta 0 or in [2⁻¹⁰²², 1),
// and u a unit; and for two rules, or one that would allow nothing: RhoRule and MuRule need a delta
// above 0, and escapes must be in [0, delta).
func NewLedger(epsilon, delta float64, u Unit, rules ...Rule) (*Ledger, error) {
	switch {
	case len(rules) > 1:
		return nil, fault.Params("budget", "number of rules", len(rules), "at most 1")
	case epsilon != 0 && !(epsilon >= 0x1p-900 && epsilon <= 0x1p900):
		return nil, fault.Params("budget", "epsilon", epsilon, "0 or a number in [2⁻⁹⁰⁰, 2⁹⁰⁰]")
	case delta != 0 && !(delta >= 0x1p-1022 && delta < 1):
		return nil, fault.Params("budget", "delta", delta, "0 or a number in [2⁻¹⁰²², 1)")
	}
	if err := u.check(); err != nil {
		return nil, err
	}
	l := &Ledger{epsilon: epsilon + 0, delta: delta + 0, unit: u, book: new(book)}
	for _, r := range rules {
		var err error
		if l.filter, err = newFilter(l, r); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// Spend takes g from the budget, or returns an error and takes nothing.
//
// The error wraps [ErrMismatch] if g is for another unit: [Guarantee.For] and [Guarantee.Stable]
// convert. It wraps [ErrBudget] if the budget does not allow g after all that was accepted before,
// or g promises nothing. Concurrent calls never spend more than the budget together.
func (l *Ledger) Spend(g Guarantee) error {
	switch {
	case !g.promised:
		return fmt.Errorf("budget: the guarantee promises nothing, as one of invalid Params: %w", ErrBudget)
	case g.unit != l.unit:
		return fault.Mismatch("budget", "Unit", l.unit, g.unit)
	}
	return l.take("", g)
}

// SpendOnce is Spend for a release with a name. If that name was spent before it takes nothing, and
// first is false. So a service that stopped between spending and answering can ask again. A name
// stands for one output, drawn once: a caller that finds first false must publish the output that
// was stored then. To draw another one, pay for it under another name.
//
// The error is that of Spend, or wraps [ErrMismatch] if another guarantee was spent under that
// name, or [ErrParams] unless the name has 1 to 200 bytes of ASCII, from '!' to '~'.
func (l *Ledger) SpendOnce(name string, g Guarantee) (first bool, err error) {
	if !validName(name) {
		return false, fault.Params("budget", "name", strconv.Quote(name), "1 to 200 bytes of ASCII without spaces")
	}
	if known, ok := l.spentAs(name); ok {
		if !known.Equal(g) {
			return false, fault.Mismatch("budget", "Guarantee of "+name, known, g)
		}
		return false, nil
	}
	switch {
	case !g.promised:
		return false, fmt.Errorf("budget: the guarantee promises nothing, as one of invalid Params: %w", ErrBudget)
	case g.unit != l.unit:
		return false, fault.Mismatch("budget", "Unit", l.unit, g.unit)
	}
	err = l.take(name, g)
	if errors.Is(err, errKnown) { // by a concurrent call
		return l.SpendOnce(name, g)
	}
	return err == nil, err
}

var errKnown = errors.New("spent before")

func validName(name string) bool {
	return len(name) >= 1 && len(name) <= 200 && strings.IndexFunc(name, func(r rune) bool { return r < '!' || r > '~' }) < 0
}

// spentAs returns what was spent under a name.
func (l *Ledger) spentAs(name string) (Guarantee, bool) {
	b := l.open()
	b.mu.Lock()
	defer b.mu.Unlock()
	g, ok := b.ids[name]
	return g, ok
}

// take spends g under a name, or none.
func (l *Ledger) take(name string, g Guarantee) error {
	l.mu.Lock()
	before := l.spentSoFar
	err := l.record(name, g)
	l.mu.Unlock()
	if errors.Is(err, ErrBudget) {
		return fault.Budget("budget", g, func() any { return l.remaining(before) })
	}
	return err
}

// record takes g if the budget allows it: into the journal first, if there is one, then into
// memory.
func (l *Ledger) record(name string, g Guarantee) error {
	if _, ok := l.ids[name]; ok {
		return errKnown
	}
	if l.journal != nil && l.journal.broken != nil {
		return l.journal.broken
	}
	if !l.parts.has(g) && !l.allows(l.spentSoFar, g) {
		return ErrBudget
	}
	if l.journal != nil {
		if err := l.journal.append(name, g); err != nil {
			return err
		}
	}
	l.remember(name, g)
	return nil
}

// remember adds g to what was spent.
func (l *Ledger) remember(name string, g Guarantee) {
	l.spentSoFar, l.parts = l.spentSoFar.plus(l.booked(g)), l.parts.without(g)
	if name != "" {
		if l.ids == nil {
			l.ids = map[string]Guarantee{}
		}
		l.ids[name] = g
	}
}

// spent returns what was spent so far.
func (l *Ledger) spent() exact {
	b := l.open()
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.spentSoFar
}

// Accepts reports whether Spend would take g now. It takes nothing.
func (l *Ledger) Accepts(g Guarantee) bool {
	b := l.open()
	b.mu.Lock()
	before, part := b.spentSoFar, b.parts.has(g)
	b.mu.Unlock()
	return g.unit == l.unit && l.Err() == nil && (part || l.allows(before, g))
}

// Spent returns the composition of all that Spend took, each of the sums rounded up: ε = 0 at the
// beginning.
func (l *Ledger) Spent() Guarantee {
	spent := l.spent().guarantee(l.unit)
	if l.filter != nil {
		spent.pair.kinds = ""
	}
	return spent
}

// Remaining returns the most that Spend accepts for one release now. It is one of two:
//
//   - (ε − Σε, δ − Σδ)-DP, which is what basic composition leaves;
//   - (ε′, δ′)-DP with the greatest ε′ accepted, and for that the greatest δ′, 0 if below 2⁻³⁰·δ,
//     as it mostly is. This is more where earlier releases, zCDP or many small ones, are worth a
//     composition that needs the δ.
//
// More is what shows a larger ε at (δ − Σδ)/(1 − Σδ), and at a tie the first. Once it is spent,
// what is left is dust where δ is 0. With a δ another release moves the lattice of the accountant,
// and a small one may still be accepted. For several releases there may be more: ask Accepts.
func (l *Ledger) Remaining() Guarantee { return l.remaining(l.spent()) }

func (l *Ledger) remaining(before exact) Guarantee {
	if l.filter != nil {
		return l.filter.remaining(l, before)
	}
	spent := before.guarantee(l.unit)
	most := PureDP(0, l.unit)
	if l.allows(before, most) {
		most = PureDP(l.greatest(before, math.MaxFloat64, func(epsilon float64) Guarantee { return PureDP(epsilon, l.unit) }, 1), l.unit)
	}
	if spent.concentrated() == 0 && spent.epsilon <= l.epsilon*round.Up {
		// Accepted, since no bound exceeds Σε at Σδ. What the tolerance has overdrawn counts as 0.
		epsilon := round.DifferenceDown(max(l.epsilon, spent.epsilon), spent.epsilon)
		delta := round.DifferenceDown(max(l.delta, spent.delta), spent.delta)
		// If bound (C) is what accepts most, that is never more, but for roundings.
		if most.EpsilonAt(delta/(1-spent.delta)) <= epsilon+0x1p-40*most.epsilon {
			return ApproxDP(epsilon, delta, l.unit)
		}
	}
	with := func(delta float64) Guarantee { return ApproxDP(most.epsilon, delta, l.unit) }
	if l.allows(before, with(l.delta*0x1p-30)) {
		return with(l.greatest(before, 1, with, 1))
	}
	return most
}

// Budget returns the ε and the δ of the whole.
func (l *Ledger) Budget() (epsilon, delta float64) { return l.epsilon, l.delta }

// Unit returns whom the budget protects.
func (l *Ledger) Unit() Unit { return l.unit }

// String says what was spent of the budget, such as "ε = 7.59 of 10 at δ = 1e-6, 50 releases, for
// one user, added or removed". The ε is what the releases together have at the δ of the budget.
func (l Ledger) String() string {
	before := l.spent()
	var spent float64
	if whole := before.guarantee(l.unit); l.filter != nil {
		spent = l.filter.epsilon(&l, whole)
	} else {
		spent = l.epsilonOf(whole)
	}
	if before.releases == 0 {
		spent = 0
	}
	releases := "1 release"
	if before.releases != 1 {
		releases = fmt.Sprintf("%d releases", before.releases)
	}
	return fmt.Sprintf("ε = %.4g of %s at δ = %s, %s, for %v", spent, number(l.epsilon), number(l.delta), releases, l.unit)
}

// after returns the whole that g makes with what was spent before.
func (l *Ledger) after(before exact, g Guarantee) Guarantee {
	return before.plus(l.booked(g)).guarantee(l.unit)
}

// booked returns what of g is added up. The bounds of keys do not hold in a filter, where their κ
// would have to be fixed beforehand: what stands there is as it was asked for.
func (l *Ledger) booked(g Guarantee) Guarantee {
	if l.filter != nil && g.pair.hasKeys() {
		g.pair = pairOf(g.sums)
	}
	return g
}

// plus returns the sums with g.
func (s exact) plus(g Guarantee) exact {
	s.releases++
	s.unknown = s.unknown || g.pair.unknown()
	s.beside = s.beside.plus(g.pair.beside)
	if g.pair.kinds != "" && !s.unknown {
		s.kinds = makeKinds(append(s.kinds.list(), g.pair.kinds.list()...))
		s.unknown = s.kinds == ""
	}
	if s.unknown {
		s.kinds = ""
	}
	for i, x := range g.list() {
		if x == 0 {
			continue
		}
		y := newSum().SetFloat64(x)
		if s.sums[i] != nil {
			y.Add(y, s.sums[i])
		}
		s.sums[i] = y
	}
	return s
}

// guarantee returns the composition with these sums, each rounded up.
func (s exact) guarantee(u Unit) Guarantee {
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
	return guaranteeOf(u, up, s.beside, s.kinds)
}
