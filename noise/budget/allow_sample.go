package budget

import (
	"slices"
	"sync"
)

// The laws of samples take a tenth of a second on as many points as many small releases need, and
// each Spend asks for another one. So a Ledger asks for fewer points first: what is within the
// budget by a larger bound is. And it asks for more releases of the same kind than there are: if
// these are within the budget, fewer are, and the next Spends need not ask.

// samplePointsOf are the numbers of points that are tried one after the other.
var samplePointsOf = [...]int{1 << 11, 1 << 13, samplePoints}

// sampleCache is what a Ledger knows of releases with samples.
type sampleCache struct {
	mu     sync.Mutex
	within [8]Guarantee // the budget holds for these, the zero Guarantee for none
	next   int
	rungs  [len(samplePointsOf)]struct {
		ahead  int       // how many more releases to ask for
		beyond Guarantee // for which that many points do not suffice, or none
	}
}

// certified reports whether the whole that g makes with what was spent before is within the budget
// by the accountant.
func (l *Ledger) certified(before state, g, whole Guarantee) bool {
	if !whole.pair.kinds.sampled() {
		return l.hopes(before, g) && l.within(whole)
	}
	c := &l.open().laws.samples
	c.mu.Lock()
	defer c.mu.Unlock()
	if slices.ContainsFunc(c.within[:], whole.partOf) {
		return true
	}
	if !l.hopes(before, g) {
		return false
	}
	for i, points := range samplePointsOf {
		rung := &c.rungs[i]
		if rung.beyond.partOf(whole) && points < samplePoints {
			continue
		}
		if rung.ahead > 0 {
			if further := l.after(before, g.Times(rung.ahead+1)); l.withinOn(further, points) {
				c.within[c.next%len(c.within)] = further
				c.next++
				rung.ahead = min(2*rung.ahead, 1<<20)
				return true
			}
			rung.ahead /= 4
		}
		if l.withinOn(whole, points) {
			rung.ahead = max(rung.ahead, 1)
			return true
		}
		rung.beyond = whole
	}
	return false
}

// withinOn is within, with the laws of samples on so many points.
func (l *Ledger) withinOn(whole Guarantee, points int) bool {
	if points == samplePoints {
		return l.within(whole)
	}
	if !whole.promised || !whole.exactable() {
		return false
	}
	a, ok := whole.account(whole.pair.kinds.measureOn(points))
	return ok && a.within(l.limit(), l.delta)
}

// partOf reports whether h is g and perhaps more releases, by the pairs of both: then what bounds h
// bounds g.
func (g Guarantee) partOf(h Guarantee) bool {
	p, q := g.pair, h.pair
	if !g.promised || !h.promised || g.unit != h.unit || p.keys != q.keys || p.unknown() != q.unknown() || p.escape > q.escape || p.rho > q.rho || p.muSquares > q.muSquares {
		return false
	}
	j, others := 0, q.kinds.list()
	for _, x := range p.kinds.list() {
		for j < len(others) && others[j].compare(x) < 0 {
			j++
		}
		if j == len(others) || others[j].compare(x) != 0 || others[j].count < x.count {
			return false
		}
	}
	return true
}
