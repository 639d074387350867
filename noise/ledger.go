package noise

import (
	"fmt"
	"math"
	"math/big"
	"sync"

	"github.com/dpsketch/dpsketch/internal/fault"
)

// Ledger is a privacy budget that any number of goroutines spend from: call Spend before a release, and make the release
// only if there was no error. What is accepted composes to an (ε, δ)-DP whole by the bounds of [Guarantee], so that many
// small releases, and zCDP ones, cost far less than the sum of their ε. Everything in a Ledger is public.
//
// The releases may be chosen adaptively, but not the guarantees that are spent on them: these, and their order, must not
// depend on what earlier releases showed. Otherwise a test of the whole, like this one, does not bound the whole by
// (ε, δ), only nearly (arXiv 2602.15815). Two cases are exempt, because a single sum decides: δ = 0, and any δ if
// all that is spent is zCDP (Whitehouse, Ramdas, Rogers, Wu, Fully-Adaptive Composition in Differential Privacy, ICML 2023).
//
// The sums are kept to 200 binary digits, rounded up, so they do not drift. But float64 amounts do not add up as their
// decimals do: ten times the float64 0.1 is more than 1. Hence a tolerance: accepted is a whole with EpsilonAt(δ) ≤ ε·(1 + 2⁻⁵⁰),
// and [Guarantee.EpsilonAt] has the same tolerance for δ. So a budget divided by n pays for n releases, for every n (as long
// as δ/n is 0 or at least 2⁻¹⁰²²): each part is off by a relative 2⁻⁵³, their sum by another 2⁻⁵².
type Ledger struct {
	epsilon, delta float64
	relation       Relation

	mu   sync.Mutex // go vet reports copies
	sums sums
}

// sums are Σε, Σε²/2, Σδ and Σρ, and 0 where nil. Nobody changes the numbers.
type sums [4]*big.Float

// NewLedger returns a budget of (ε, δ) under the relation r with nothing spent.
//
// The error wraps [ErrParams] unless epsilon is 0 or in [2⁻⁹⁰⁰, 2⁹⁰⁰], delta 0 or in [2⁻¹⁰²², 1), and r a known relation.
func NewLedger(epsilon, delta float64, r Relation) (*Ledger, error) {
	if err := checkEpsilonOrZero(epsilon); err != nil {
		return nil, err
	}
	if delta != 0 {
		if err := checkDelta(delta); err != nil {
			return nil, err
		}
	}
	if !r.valid() {
		return nil, fault.Params("noise", "Relation", r, "AddRemove, Replace, L1, L2 or OneBit")
	}
	return &Ledger{epsilon: epsilon + 0, delta: delta + 0, relation: r}, nil
}

// Spend takes g from the budget, or returns an error and takes nothing.
//
// The error wraps [ErrMismatch] if g is under another relation, and [ErrBudget] if the budget does not allow g after
// all that was accepted before, or g promises nothing. Concurrent calls never spend more than the budget together.
func (l *Ledger) Spend(g Guarantee) error {
	if g.relation != l.relation {
		return fault.Mismatch("noise", "Relation", l.relation, g.relation)
	}
	if before, ok := l.spend(g); !ok {
		return fault.Budget("noise", g, l.remaining(before))
	}
	return nil
}

// spend takes g if the budget allows it, and returns what was spent before.
func (l *Ledger) spend(g Guarantee) (before sums, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before = l.sums
	if ok = l.allows(before, g); ok {
		l.sums = before.plus(g)
	}
	return before, ok
}

// spent returns what was spent so far.
func (l *Ledger) spent() sums {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sums
}

// Accepts reports whether Spend would take g now. It takes nothing.
func (l *Ledger) Accepts(g Guarantee) bool { return g.relation == l.relation && l.allows(l.spent(), g) }

// Spent returns the composition of all that Spend took, each of the four sums rounded up: 0-DP at the beginning.
func (l *Ledger) Spent() Guarantee { return l.spent().guarantee(l.relation) }

// Remaining returns the most that Spend accepts for one release now. It is one of two:
//
//   - (ε − Σε, δ − Σδ)-DP, which is what basic composition leaves;
//   - (ε′, δ′)-DP with the greatest ε′ accepted, and for that the greatest δ′, 0 if below 2⁻³⁰·δ, as it mostly is. This is more where
//     earlier releases, zCDP or many small ones, are worth a conversion that needs the δ.
//
// More is what shows a larger ε at (δ − Σδ)/(1 − Σδ), and at a tie the first. Once it is spent, what is left is
// dust. For several releases there may be more: ask Accepts.
func (l *Ledger) Remaining() Guarantee { return l.remaining(l.spent()) }

func (l *Ledger) remaining(before sums) Guarantee {
	spent := before.guarantee(l.relation)
	most := l.greatest(before, math.MaxFloat64, func(epsilon float64) Guarantee { return PureDP(epsilon, l.relation) })
	if spent.rho == 0 && spent.epsilon <= l.epsilon*roundUp {
		// Accepted, since no bound exceeds Σε at Σδ. What the tolerance has overdrawn counts as 0.
		epsilon := differenceDown(max(l.epsilon, spent.epsilon), spent.epsilon)
		delta := differenceDown(max(l.delta, spent.delta), spent.delta)
		// If bound (C) is what accepts most, that is never more, but for roundings.
		if most.EpsilonAt(delta/(1-spent.delta)) <= epsilon+0x1p-40*most.epsilon {
			return ApproxDP(epsilon, delta, l.relation)
		}
	}
	with := func(delta float64) Guarantee { return ApproxDP(most.epsilon, delta, l.relation) }
	if l.allows(before, with(l.delta*0x1p-30)) {
		return l.greatest(before, 1, with)
	}
	return most
}

// greatest returns g of the greatest number in [0, end) for which it is accepted, where g(0) is.
func (l *Ledger) greatest(before sums, end float64, g func(float64) Guarantee) Guarantee {
	refused := leastSafe(0, end, func(x float64) bool { return !l.allows(before, g(x)) })
	return g(math.Nextafter(refused, 0))
}

// String returns the budget and what was spent of it.
func (l *Ledger) String() string {
	return fmt.Sprintf("%v of %v spent", l.Spent(), ApproxDP(l.epsilon, l.delta, l.relation))
}

// allows reports whether g is within the budget after what was spent before.
func (l *Ledger) allows(before sums, g Guarantee) bool {
	return g.promised && before.plus(g).guarantee(l.relation).EpsilonAt(l.delta) <= l.epsilon*roundUp
}

// plus returns the sums with g.
func (s sums) plus(g Guarantee) sums {
	for i, x := range [...]float64{g.epsilon, g.halfSquares, g.delta, g.rho} {
		if x == 0 {
			continue
		}
		y := new(big.Float).SetPrec(200).SetMode(big.ToPositiveInf).SetFloat64(x)
		if s[i] != nil {
			y.Add(y, s[i])
		}
		s[i] = y
	}
	return s
}

// guarantee returns the composition with these sums, each rounded up.
func (s sums) guarantee(r Relation) Guarantee {
	var up [len(s)]float64
	for i, x := range s {
		if x == nil {
			continue
		}
		nearest, accuracy := x.Float64()
		if accuracy == big.Below {
			nearest = math.Nextafter(nearest, math.Inf(1))
		}
		up[i] = nearest
	}
	if !(up[2] < 1) || !r.valid() {
		return Guarantee{relation: r}
	}
	return Guarantee{relation: r, promised: true, epsilon: up[0], halfSquares: up[1], delta: up[2], rho: up[3]}
}
