package main

import (
	"github.com/dpsketch/dpsketch/kor/distinct"
	"github.com/dpsketch/dpsketch/misragries/series"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// usersShare is the part of ε that counts different users; the rest is for the keys.
const usersShare = 0.25

// spend makes the budget of a series and spends it, once for all steps: on the keys, and on the
// different users of each period.
//
// What a user does in any 168 steps lies in two periods, each of which has a RunningBuilder of its
// own. There it changes at most the slot in which the user comes first, or whether he comes at all,
// and so the slot in which one cell is set. So increments move by at most 2 in ℓ₁, as if a key were
// added, and both periods together cost what two keys do.
func spend(epsilon, delta float64, keys series.Params, users distinct.Params) (*budget.Ledger, error) {
	ledger, err := budget.NewLedger(epsilon, delta, keys.Guarantee().Unit())
	if err != nil {
		return nil, err
	}
	if err := ledger.Spend(keys.Guarantee()); err != nil {
		return nil, err
	}
	period, err := distinct.NewRunningBuilder(users)
	if err != nil {
		return nil, err
	}
	g, err := period.Guarantee().Stable(ledger.Unit(), 2)
	if err != nil {
		return nil, err
	}
	return ledger, ledger.Spend(g)
}
