package alp

import (
	"math"
	"sort"
)

// The logarithmic axis (section 2.6). Columns hold f(v), f(v) = v up to the knee c = Δ/ln B and
// c·(1 + ln(v/c)) above it: one unit more of f is the factor B more of v. f grows by at most one
// for each step of v, so it preserves neighbours and Theorem 1 holds. The thesis has max(log_B(v·ln
// B), 0), which is 0 up to the knee: the identity there costs no more budget, and small values are
// not lost.
//
// On the machine f is a table of integers: logAxis.from[u] is the least v with f(v) ≥ u. They are
// forced to increase strictly, so a step of v passes at most one of them whatever their rounding,
// and f is monotone and moves by at most one.

// logAxis is a monotone map from steps of the value to points of the columns' axis, which moves by
// at most one for each step.
type logAxis struct {
	from []int64 // from[u] is the least v that is mapped to u; strictly increasing, from[0] = 0
}

// newLogAxis returns the map onto 0 … reach, with the knee in steps.
func newLogAxis(knee float64, reach int) *logAxis {
	a := &logAxis{make([]int64, reach+1)}
	for u := 1; u <= reach; u++ {
		v := float64(u)
		if v > knee {
			v = knee * math.Exp(v/knee-1)
		}
		a.from[u] = max(a.from[u-1]+1, int64(min(math.Ceil(v), maxTotal)))
	}
	return a
}

// point returns f(v) for v ≥ 0, at most reach.
func (a *logAxis) point(v int64) int64 {
	return int64(sort.Search(len(a.from), func(u int) bool { return a.from[u] > v })) - 1
}

// knee returns c in steps, at least 1.
func (p Params) knee(step float64) float64 {
	return max(p.sensitivity()/step/math.Log(p.Base), 1)
}

// onAxis returns f(v), not rounded, for v ≥ 0 steps.
func (p Params) onAxis(v, step float64) float64 {
	knee := p.knee(step)
	if v <= knee {
		return v
	}
	return knee * (1 + math.Log(v/knee))
}
