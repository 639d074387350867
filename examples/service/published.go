package main

import (
	"sync"

	"github.com/dpsketch/dpsketch/kor/distinct"
	"github.com/dpsketch/dpsketch/misragries/series"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/dpsketch/dpsketch/threshold/groupby"
)

const confidence = 0.95

// published is all that has been published. It is public: any number of goroutines may read it and
// compute from it, which costs no budget.
type published struct {
	head    head
	ledger  *budget.Ledger
	promise string // of all reports

	mu       sync.RWMutex
	timeline *series.Timeline[string]
	users    []users
	last     *report // nil before the first one

	drawing sync.Mutex
	pages   map[int][]byte // for each window, as of drawn
	drawn   int            // steps
}

// users is the number of distinct users from the beginning of a period to the end of a step.
type users struct {
	From     int      `json:"from"` // the first step
	To       int      `json:"to"`   // the step after the last one
	Estimate float64  `json:"estimate"`
	Low      float64  `json:"low"`
	High     *float64 `json:"high"` // null where there is no bound
}

// row is a key with its estimated count and the bounds of it.
type row struct {
	Key      string   `json:"key"`
	Estimate float64  `json:"estimate"`
	Low      float64  `json:"low"`
	High     *float64 `json:"high"` // null where there is no bound
}

// newPublished returns what is published before the first step. The reports have a share of ε and
// δ.
func newPublished(h head, l *budget.Ledger, share float64) (*published, error) {
	t, err := series.NewTimeline[string](h.Keys)
	epsilon, delta := l.Budget()
	promise := budget.ApproxDP(epsilon*share, delta*share, l.Unit()).String()
	return &published{head: h, ledger: l, timeline: t, promise: promise}, err
}

// restore adds what an earlier run has published, encoded.
func (p *published) restore(slice, visitors, report []byte) error {
	s := new(series.Slice[string])
	if err := s.UnmarshalBinary(slice); err != nil {
		return err
	}
	var r *distinct.Running
	if visitors != nil {
		r = new(distinct.Running)
		if err := r.UnmarshalBinary(visitors); err != nil {
			return err
		}
	}
	var g *groupby.Groups[string]
	if report != nil {
		g = new(groupby.Groups[string])
		if err := g.UnmarshalBinary(report); err != nil {
			return err
		}
	}
	return p.add(s, r, g)
}

// add publishes the slice of the next step, and at the end of a day the number of users and the
// report; else these are nil.
func (p *published) add(s *series.Slice[string], r *distinct.Running, g *groupby.Groups[string]) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.timeline.Append(s); err != nil {
		return err
	}
	to := s.Step() + 1
	if r != nil {
		u := users{From: s.Step() / week * week, To: to, Estimate: max(r.Estimate(), 0)}
		low, high := r.Interval(confidence)
		u.Low, u.High = low, finite(high)
		p.users = append(p.users, u)
	}
	if g != nil {
		p.last = p.describeReport(to, g)
	}
	if to%week == 0 && to > keep {
		p.timeline.Forget(to - keep)
		for p.users[0].To <= to-keep {
			p.users = p.users[1:]
		}
	}
	return nil
}

// steps returns the number of steps that are published.
func (p *published) steps() int {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.timeline.Len()
}

// first returns the first step that a window can have.
func (p *published) first() int {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.timeline.First()
}

// window returns what is known of the steps from, …, to − 1.
func (p *published) window(from, to int) (*series.Window[string], error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.timeline.Window(from, to)
}

// visitors returns the numbers of users, in order.
func (p *published) visitors() []users {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.users[:len(p.users):len(p.users)]
}

// lastReport returns the report of the last day, nil before the first one.
func (p *published) lastReport() *report {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.last
}

// rows lists the n keys with the largest estimates, the largest first.
func rows(w *series.Window[string], n int) []row {
	list := []row{}
	for key := range w.Top(n) {
		list = append(list, rowOf(w, key))
	}
	return list
}

func rowOf(w *series.Window[string], key string) row {
	low, high := w.Interval(key, confidence)
	return row{key, max(w.Estimate(key), 0), low, finite(high)}
}

// finite returns nil where there is no bound.
func finite(bound float64) *float64 {
	if bound > 1<<62 {
		return nil
	}
	return &bound
}
