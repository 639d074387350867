package main

import (
	"fmt"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/kor"
	"github.com/dpsketch/dpsketch/misragries"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// options are the flags.
type options struct {
	count          string // frequent, distinct or both
	elements       int
	shards         int
	counters       int
	relative       float64 // standard error of the distinct count
	largest        float64 // distinct count
	epsilon, delta float64 // of all releases together
	share          float64 // of ε, for the distinct count if it is not alone
	input, output  string
	top            int
	confidence     float64
	compare        bool
	arguments      []string // that are no flags: a mistake, as flags after them are not read
}

// releases are what a run releases, each with its part of the budget. Nil is no release.
type releases struct {
	frequent *misragries.Params
	distinct *kor.Params
	ledger   *budget.Ledger // both are spent
}

// releases divides the budget. The distinct count takes its share of ε and no δ, the frequent keys
// the rest and all of δ.
//
// The guarantees add up for what both protect, one element of the input. One key with all its
// elements is protected by the distinct count alone.
func (o options) releases() (r releases, err error) {
	distinct := o.share * o.epsilon
	switch o.count {
	case "frequent":
		distinct = 0
	case "distinct":
		distinct = o.epsilon
	case "both":
		if !(o.share > 0 && o.share < 1) {
			return r, fmt.Errorf("-share %v: want a number between 0 and 1", o.share)
		}
	default:
		return r, fmt.Errorf("-count %q: want frequent, distinct or both", o.count)
	}
	if r.ledger, err = budget.NewLedger(o.epsilon, o.delta, budget.Element(budget.AddRemove)); err != nil {
		return r, err
	}
	if o.count != "frequent" {
		p, err := kor.PlanStream(distinct, o.relative, o.largest, 1)
		if err != nil {
			return r, err
		}
		p.Seed = hashing.NewSeed()
		r.distinct = &p
		cost, err := p.Guarantee().Stable(budget.Element(budget.AddRemove), 1) // an element adds or removes one key at most
		if err != nil {
			return r, err
		}
		if err := r.ledger.Spend(cost); err != nil {
			return r, err
		}
	}
	if o.count != "distinct" {
		r.frequent = &misragries.Params{Counters: o.counters, Epsilon: o.epsilon - distinct, Delta: o.delta}
		if err := r.ledger.Spend(r.frequent.Guarantee()); err != nil {
			return r, err
		}
	}
	return r, nil
}
