package fleet

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/dpsketch/dpsketch/noise/budget"
)

// terms are what a budget is, the same for ever.
type terms struct {
	epsilon, delta float64
	unit           budget.Unit
	rule           string
}

// leastShare is the smallest part of a budget that can be leased.
const leastShare = 0x1p-30

func errShare(share float64) error {
	return fmt.Errorf("fleet: share = %v: want a number in [2⁻³⁰, 1]: %w", share, budget.ErrParams)
}

// escapes returns the δ of RhoRule, and whether the rule is one by ρ.
func (t terms) escapes() (escapes float64, rho bool, err error) {
	kind, text, found := strings.Cut(t.rule, " ")
	if found {
		escapes, err = strconv.ParseFloat(text, 64)
	}
	if err != nil || kind != "rho" && t.rule != "mu" {
		return 0, false, fmt.Errorf("fleet: rule = %q: want mu, rho, or rho and the δ of approximate releases: %w", t.rule, budget.ErrParams)
	}
	return escapes, kind == "rho", nil
}

// ledger returns the whole budget with nothing spent.
func (t terms) ledger() (*budget.Ledger, error) {
	escapes, rho, err := t.escapes()
	if err != nil {
		return nil, err
	}
	if rho {
		return budget.NewLedger(t.epsilon, t.delta, t.unit, budget.RhoRule(escapes))
	}
	return budget.NewLedger(t.epsilon, t.delta, t.unit, budget.MuRule())
}

// slice returns a fresh Ledger for a share of the budget, and what to book for it.
//
// The Ledger adds up by the same rule, for an (ε′, δ′) found in float64: it may allow a little more
// than the share, or less. So what is booked is not computed from the share. It is a guarantee that
// the fresh Ledger refuses. The rule compares one sum with one limit (RhoRule two with two, and
// each part of what is booked is refused alone), so the limit is below what is booked, and whatever
// the Ledger accepts later adds up to no more than the limit: see lease_proof.md.
func (t terms) slice(share float64) (*budget.Ledger, budget.Guarantee, error) {
	none := budget.Guarantee{}
	if !(share >= leastShare && share <= 1) {
		return nil, none, errShare(share)
	}
	whole, err := t.ledger()
	if err != nil {
		return nil, none, err
	}
	escapes, rho, _ := t.escapes()
	share *= 1 - 0x1p-32 // n slices of one nth fit, whatever the roundings below
	// With δ itself a small share might be allowed at ε′ = 0, and more than it. With this one it is
	// not, as the δ of N(0, σ²) at ε = 0 is concave in 1/σ.
	delta := t.delta * math.Sqrt(share)
	most := whole.Remaining()
	var booked budget.Guarantee
	var parts []budget.Guarantee
	var l *budget.Ledger
	if rho {
		escapes *= share
		epsilon := budget.ZCDP(rhoOf(most)*share, t.unit).WithEscape(escapes).EpsilonAt(delta)
		if l, err = budget.NewLedger(epsilon, delta, t.unit, budget.RhoRule(escapes)); err != nil {
			return nil, none, err
		}
		booked = budget.ZCDP(rhoOf(l.Remaining())*(1+0x1p-48), t.unit)
		parts = append(parts, booked)
		if escapes > 0 {
			escaping := budget.ApproxDP(0, escapes*(1+0x1p-48), t.unit)
			parts = append(parts, escaping)
			if booked, err = budget.Compose(booked, escaping); err != nil {
				return nil, none, err
			}
		}
	} else {
		epsilon := budget.GDP(most.Mu()*math.Sqrt(share), t.unit).EpsilonAt(delta)
		if l, err = budget.NewLedger(epsilon, delta, t.unit, budget.MuRule()); err != nil {
			return nil, none, err
		}
		booked = budget.GDP(math.Nextafter(l.Remaining().Mu(), math.Inf(1)), t.unit)
		parts = append(parts, booked)
	}
	for _, part := range parts {
		if !part.Promises() || l.Accepts(part) {
			return nil, none, errors.New("fleet: no guarantee is known that is above the slice")
		}
	}
	return l, booked, nil
}

// rhoOf returns the ρ that a rule by ρ counts for a release by ε.
func rhoOf(g budget.Guarantee) float64 { return g.Epsilon() * math.Tanh(g.Epsilon()/2) }

// share returns which part of the whole is left in a ledger of these terms.
func (t terms) share(l *budget.Ledger) float64 {
	whole, err := t.ledger()
	if err != nil {
		return 0
	}
	most, left := whole.Remaining(), l.Remaining()
	escapes, rho, _ := t.escapes()
	if !rho {
		return fraction(left.Mu()*left.Mu(), most.Mu()*most.Mu())
	}
	part := fraction(rhoOf(left), rhoOf(most))
	if escapes == 0 || l.Accepts(budget.ApproxDP(0, escapes, t.unit)) {
		return part
	}
	lo, hi := 0., 1. // of the escapes
	for range 40 {
		mid := (lo + hi) / 2
		if l.Accepts(budget.ApproxDP(0, mid*escapes, t.unit)) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return min(part, lo)
}

// fraction returns a/b, 0 where b is 0.
func fraction(a, b float64) float64 {
	if !(b > 0) {
		return 0
	}
	return min(1, a/b)
}
