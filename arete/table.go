package arete

import (
	"math"
	"sync"

	"github.com/dpsketch/dpsketch/internal/exact"
)

// tables holds the masses that were computed so far.
type tables struct {
	mutex  sync.Mutex
	masses *oneSided
}

// maxTable is the largest number of masses.
const maxTable = 1 << 23

// upTo returns the masses that |Z| = k takes, or nil if they are too many.
func (l *Lattice) upTo(k float64) *oneSided {
	need := k + l.spec.reach(45)
	if !(need <= maxTable) || l.spec.jump.core > finestCore {
		return nil
	}
	l.tables.mutex.Lock()
	defer l.tables.mutex.Unlock()
	if l.tables.masses == nil || len(l.tables.masses.g) < int(need) {
		size := int(need)
		if l.tables.masses != nil { // the next arguments may be larger still
			size = min(max(size, 2*len(l.tables.masses.g)), maxTable)
		}
		l.tables.masses = l.spec.oneSided(size)
	}
	return l.tables.masses
}

// Prob returns Pr[Z = x], 0 unless x is an integer. In the tails its relative error is about 1e-10.
func (l *Lattice) Prob(x float64) float64 {
	if !l.valid() || math.IsNaN(x) {
		return math.NaN()
	}
	if d, ok := l.spec.closed(); ok {
		return d.Prob(x)
	}
	if x != math.Floor(x) || math.IsInf(x, 0) {
		return 0
	}
	k := math.Abs(x)
	if o := l.upTo(k); o != nil {
		return o.prob(int(k))
	}
	return math.NaN()
}

// CDF returns Pr[Z ≤ x].
func (l *Lattice) CDF(x float64) float64 { return l.Survival(-math.Floor(x) - 1) }

// Survival returns Pr[Z > x]. In the upper tail its relative error is about 1e-10.
func (l *Lattice) Survival(x float64) float64 {
	switch d, ok := l.spec.closed(); {
	case !l.valid() || math.IsNaN(x):
		return math.NaN()
	case ok:
		return d.Survival(x)
	case math.IsInf(x, 1):
		return 0
	case x < 0:
		return 1 - l.Survival(-math.Floor(x)-1)
	}
	k := math.Floor(x)
	if o := l.upTo(k); o != nil {
		return o.survival(int(k))
	}
	return math.NaN()
}

// Quantile returns the least integer k with CDF(k) ≥ p: −Inf at 0, +Inf at 1, NaN outside [0, 1].
func (l *Lattice) Quantile(p float64) float64 {
	switch d, ok := l.spec.closed(); {
	case !l.valid() || !(p >= 0 && p <= 1):
		return math.NaN()
	case ok:
		return d.Quantile(p)
	case p == 0:
		return math.Inf(-1)
	case p == 1:
		return math.Inf(1)
	}
	// reached reports CDF(k) ≥ p, in the tail that loses nothing.
	reached := func(k float64) bool {
		if k >= 0 && p > 0.5 {
			return l.Survival(k) <= 1-p
		}
		return l.CDF(k) >= p
	}
	low, high := -1.0, 1.0
	for !reached(high) {
		low, high = high, 2*high
		if l.upTo(high) == nil {
			return math.NaN()
		}
	}
	for reached(low) {
		low, high = 2*low, low
		if l.upTo(-low) == nil {
			return math.NaN()
		}
	}
	return float64(exact.LeastInt(int64(low)+1, func(k int64) bool { return float64(k) >= high || reached(float64(k)) }))
}

// Variance returns E[Z²].
func (l *Lattice) Variance() float64 {
	if !l.valid() {
		return math.NaN()
	}
	return l.spec.variance()
}

// MeanAbs returns E|Z|. For jump laws on the finest lattices its relative error is 1e-6.
func (l *Lattice) MeanAbs() float64 {
	switch d, ok := l.spec.closed(); {
	case !l.valid():
		return math.NaN()
	case ok:
		return d.MeanAbs()
	case l.spec.jumps() && fine(l.spec.size, l.spec.jump.core):
		return l.spec.jump.meanAbs()
	}
	if o := l.upTo(0); o != nil {
		return o.meanAbs()
	}
	return math.NaN()
}
