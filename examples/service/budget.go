package main

import (
	"github.com/dpsketch/dpsketch/kor/distinct"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// usersShare is the part of ε for the numbers of distinct users. The reports have theirs by a flag,
// and the keys have the rest.
const usersShare = 0.25

// spend makes the budget of a series and spends it, once for all steps. Three things are bought,
// for what one user does in any 168 steps:
//
//	keys     all slices of the series, however many there are
//	users    two periods of a RunningBuilder
//	reports  all daily reports that these steps can change
//
// Their ε and δ add up to those of the budget.
//
// 168 steps lie in two periods, each of which has a RunningBuilder of its own. There they change at
// most the slot in which the user comes first, or whether the user comes at all, and so the slot in
// which one cell is set. So increments move by at most 2 in ℓ₁, as if a key were added, and both
// periods together cost what two keys do. For the reports see reportParams.
func (h head) spend(epsilon, delta, share float64) (*budget.Ledger, error) {
	unit := h.Keys.Guarantee().Unit()
	ledger, err := budget.NewLedger(epsilon, delta, unit)
	if err != nil {
		return nil, err
	}
	period, err := distinct.NewRunningBuilder(h.Users)
	if err != nil {
		return nil, err
	}
	users, err := period.Guarantee().Stable(unit, 2)
	if err != nil {
		return nil, err
	}
	err = ledger.SpendOnce("keys", h.Keys.Guarantee())
	if err == nil {
		err = ledger.SpendOnce("users", users)
	}
	if err != nil || h.Reports.Epsilon == 0 {
		return ledger, err
	}
	all, err := reportsGuarantee(h.Reports, unit)
	if err != nil {
		return nil, err
	}
	// The ledger books the reports' share of ε and δ. A ledger of that share says that it is
	// enough.
	part, err := budget.NewLedger(epsilon*share, delta*share, unit)
	if err == nil {
		err = part.Spend(all)
	}
	if err == nil {
		err = ledger.SpendOnce("reports", budget.ApproxDP(epsilon*share, delta*share, unit))
	}
	return ledger, err
}
