package main

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/dpsketch/dpsketch/threshold/groupby"
)

// levels are those of the quantiles by key: the median, p90 and p99.
var levels = [8]float64{.5, .9, .99}

// reports counts the distinct users of each key in the open day, for keys that nobody listed, and
// the quantiles of their values. All users count, whether their events have tokens or not: package
// groupby bounds what a user with any number of keys changes. A nil one does nothing.
type reports struct {
	rows  *groupby.Rows[string, string]
	names map[string]string // of the day, so that rows keep no request in memory
}

// newReports returns the reports of a new day, nil for Params without ε.
func newReports(p groupby.Params) (*reports, error) {
	if p.Epsilon == 0 {
		return nil, nil
	}
	rows, err := groupby.NewRows[string, string](p)
	return &reports{rows, map[string]string{}}, err
}

// add adds an event. Where reports are of values, value is that of the event, NaN if it has none:
// such an event does not count in reports, and the names in it are not kept.
func (r *reports) add(e event, value float64) {
	switch {
	case r == nil:
	case r.rows.Params().Levels[0] == 0:
		r.rows.Add(r.keep(e.User), r.keep(e.Key))
	case value == value:
		r.rows.AddValue(r.keep(e.User), r.keep(e.Key), value)
	}
}

// keep returns a name that shares no memory with a request.
func (r *reports) keep(name string) string {
	kept, ok := r.names[name]
	if !ok {
		kept = strings.Clone(name)
		r.names[kept] = kept
	}
	return kept
}

// state returns the private state.
func (r *reports) state() ([]byte, error) {
	if r == nil {
		return nil, nil
	}
	return r.rows.AppendPrivateState(nil)
}

// restore takes the private state up.
func (r *reports) restore(state []byte) error {
	if r == nil {
		return nil
	}
	return r.rows.RestorePrivateState(state)
}

// valued reports whether events have values that count.
func (h head) valued() bool { return h.Reports.Levels[0] != 0 }

// met returns how many reports of so many steps a window can meet, ⌈(window − 1)/length⌉ + 1: one
// that ends with the window's first step, and those that the other steps need. Of these all are
// within the window but the first and the last.
func met(window, length int) int { return (window-1+length-1)/length + 1 }

// reportParams returns the Params of each report, where all that what one user does in a week can
// change share ε and δ.
//
// A week is any 168 steps. It meets at most 8 days. Take out what a user did in it: of 6 days all
// that he did is gone, but of the first and the last day only a part. There he is neither added nor
// removed, but replaced by one with less. So the reports protect a user who is replaced, which
// includes one who is removed: one who is replaced by a user without keys. They are 8 equal
// releases, calibrated together.
//
// Quantiles protect a user who is added or removed, and no other. Then the first and the last day
// are two steps each: the user goes, and comes back with less. So the release has to be such that 6
// times its guarantee, and twice that for a group of two, are within ε and δ. 6 releases compose to
// less than the sum of their ε, so each has between a sixth and a tenth of ε.
func reportParams(epsilon, delta, low, high float64) (groupby.Params, error) {
	p := groupby.Params{Epsilon: epsilon, Delta: delta, Relation: budget.Replace, Passes: 1, FullKeys: groupby.AutoFullKeys, Releases: met(week, day)}
	if low == 0 && high == 0 {
		_, err := p.Plan()
		return p, err
	}
	for quarters := 24.0; quarters <= 40; quarters++ {
		x := epsilon / quarters * 4
		n := float64(met(week, day))
		// (n − 2)·δ and 2·δ·(1 + e^ε), as Guarantee.Group has it
		p = groupby.Params{Epsilon: x, Delta: delta / (n + 2*math.Exp(x)) * (1 - 0x1p-40), Passes: 1, FullKeys: 4, Min: low, Max: high, Levels: levels}
		all, err := reportsGuarantee(p, budget.User(0, budget.AddRemove))
		if err != nil {
			return p, err
		}
		if all.EpsilonAt(delta) <= epsilon {
			return p, nil
		}
	}
	return p, fmt.Errorf("no share of ε = %v and δ = %v is small enough for a report with quantiles", epsilon, delta)
}

// reportsGuarantee returns what the reports promise to the unit u, which is what one user does in
// any week: see reportParams.
func reportsGuarantee(p groupby.Params, u budget.Unit) (budget.Guarantee, error) {
	n := met(week, day)
	if _, err := p.Plan(); err != nil {
		return budget.Guarantee{}, err
	}
	one, err := p.Guarantee().Stable(u, 1)
	if err != nil || p.Levels[0] == 0 {
		return one.Times(n), err
	}
	two, err := p.Guarantee().Stable(u, 2)
	if err != nil {
		return budget.Guarantee{}, err
	}
	whole := float64(n-2) * p.Delta
	return budget.Compose(budget.ApproxDP(one.Times(n-2).EpsilonAt(whole), whole, u), two.Times(2))
}

// report is a day's report, for readers.
type report struct {
	Day        int          `json:"day"`
	From       int          `json:"from"` // the first step
	To         int          `json:"to"`   // the step after the last one
	Begin      time.Time    `json:"begin"`
	End        time.Time    `json:"end"`
	Guarantee  string       `json:"guarantee"` // of all reports together
	Confidence float64      `json:"confidence"`
	Keys       []reportLine `json:"keys"`
}

// reportLine is a key with the number of its users.
type reportLine struct {
	row
	Quantiles []quantile `json:"quantiles,omitempty"`
}

// quantile is one of the users' values in a key.
type quantile struct {
	Level float64  `json:"level"`
	Value *float64 `json:"value"` // null where too few users have a value
	Low   float64  `json:"low"`
	High  float64  `json:"high"`
}

// describeReport returns the report of the day that ends with a step, the largest numbers first.
func (p *published) describeReport(to int, g *groupby.Groups[string]) *report {
	h := p.head
	r := &report{to/day - 1, to - day, to, h.end(to - day), h.end(to), p.promise, confidence, []reportLine{}}
	for key, users := range g.Top(g.Len()) {
		low, high := g.Interval(key, confidence)
		line := reportLine{row: row{key, max(users, 0), max(low, 0), finite(high)}}
		for _, level := range g.Params().Levels {
			if level == 0 {
				break
			}
			q := quantile{Level: level, Value: known(g.Quantile(key, level))}
			if q.Low, q.High = g.QuantileInterval(key, level, confidence); q.Low == g.Params().Min && q.High == g.Params().Max {
				q.Value = nil // as where users sent no values
			}
			line.Quantiles = append(line.Quantiles, q)
		}
		r.Keys = append(r.Keys, line)
	}
	return r
}

// known returns nil for NaN.
func known(x float64) *float64 {
	if x != x {
		return nil
	}
	return &x
}
