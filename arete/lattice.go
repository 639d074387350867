package arete

import (
	"fmt"
	"math"
	"sort"
	"sync"

	"github.com/dpsketch/dpsketch/internal/exact"
)

// Lattice is infinitely divisible noise on a lattice, calibrated and certified: X = (Δ/H)·Z with an
// integer Z. Get it from New and [Mechanism.Lattice].
//
// Its methods describe Z, in steps of length [Lattice.Step]; its mean is 0. They return NaN for a
// NaN, on the zero Lattice, and where they would need a table of more than 2²³ masses, or of a core
// of variance above 2500. It is immutable and safe for concurrent use.
type Lattice struct {
	params Params
	noise  distribution
	whole  sampler
	tables *tables
}

// Params returns the parameters that the noise is calibrated for.
func (l *Lattice) Params() Params { return l.params }

// String names the noise and all its parameters, exactly: equal texts are equal noise.
func (l *Lattice) String() string {
	if !l.valid() {
		return "arete.Lattice (not made by this package)"
	}
	text := fmt.Sprintf("%v, %d steps of %v:", l.noise.law, l.noise.size, l.Step())
	switch j, d := l.noise.jump, l.noise.arete; l.noise.law {
	case Jump:
		text += fmt.Sprintf(" V = %v, W = %d, c = %v, p = 1 − %d/2⁶⁴, q = %d/2⁶⁴", j.core, j.width, j.jumps, j.beyond, j.again)
	case DiscreteArete:
		text += fmt.Sprintf(" α = %v, s = %v, r = %v", d.shape, d.tail, d.core)
	case DiscreteLaplace:
		text += fmt.Sprintf(" scale %v", l.noise.scale)
	case Gaussian:
		text += fmt.Sprintf(" σ = %v", l.noise.scale)
	}
	return text
}

// Step returns Δ/H, the distance between adjacent points, in the units of the data.
func (l *Lattice) Step() float64 { return l.params.sensitivity() / float64(l.noise.size) }

// Certify computes the certificate again: loss, a proved upper bound on ln Pr[Z = k]/Pr[Z = k+j]
// over all k and all |j| ≤ H, and whether it is at most Epsilon. For Gaussian noise loss is +Inf,
// and ok says whether Delta or Rho is proved.
func (l *Lattice) Certify() (loss float64, ok bool) {
	if !l.valid() {
		return math.NaN(), false
	}
	if l.noise.law == Gaussian {
		return math.Inf(1), l.params.gaussianHolds(l.noise.scale, l.noise.size, 1)
	}
	loss = l.noise.loss(l.params.Epsilon)
	return loss, loss <= l.params.Epsilon
}

// valid reports whether l comes from a constructor.
func (l *Lattice) valid() bool { return l.noise.size > 0 }

// tables holds the masses that were computed so far.
type tables struct {
	mutex  sync.Mutex
	masses *oneSided
}

// maxTable is the largest number of masses.
const maxTable = 1 << 23

// upTo returns the masses that |Z| = k takes, or nil if they are too many.
func (l *Lattice) upTo(k float64) *oneSided {
	need := k + l.noise.reach(45)
	if !(need <= maxTable) || l.noise.jump.core > finestCore {
		return nil
	}
	l.tables.mutex.Lock()
	defer l.tables.mutex.Unlock()
	if l.tables.masses == nil || len(l.tables.masses.g) < int(need) {
		size := int(need)
		if l.tables.masses != nil { // the next arguments may be larger still
			size = min(max(size, 2*len(l.tables.masses.g)), maxTable)
		}
		l.tables.masses = l.noise.oneSided(size)
	}
	return l.tables.masses
}

// Prob returns Pr[Z = x], 0 unless x is an integer.
func (l *Lattice) Prob(x float64) float64 {
	if !l.valid() || math.IsNaN(x) {
		return math.NaN()
	}
	if d, ok := l.noise.closed(); ok {
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

// Survival returns Pr[Z > x].
func (l *Lattice) Survival(x float64) float64 {
	switch d, ok := l.noise.closed(); {
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
	switch d, ok := l.noise.closed(); {
	case !l.valid() || !(p >= 0 && p <= 1):
		return math.NaN()
	case ok:
		return d.Quantile(p)
	case p == 0:
		return math.Inf(-1)
	case p == 1:
		return math.Inf(1)
	}
	// Z is symmetric: Pr[Z ≤ −k] is Pr[Z > k−1]. Where the tail is not known the search ends.
	k := float64(exact.LeastInt(0, func(k int64) bool {
		tail := l.Survival(float64(k))
		return p > 0.5 && !(tail > 1-p) || p <= 0.5 && !(tail >= p)
	}))
	if k += 0 * l.Survival(k); p > 0.5 {
		return k
	}
	return 0 - k
}

// Variance returns E[Z²].
func (l *Lattice) Variance() float64 {
	if !l.valid() {
		return math.NaN()
	}
	return l.noise.variance()
}

// MeanAbs returns E|Z|.
func (l *Lattice) MeanAbs() float64 {
	switch d, ok := l.noise.closed(); {
	case !l.valid():
		return math.NaN()
	case ok:
		return d.MeanAbs()
	case l.noise.jumps() && fine(l.noise.size, l.noise.jump.core):
		return l.noise.jump.meanAbs()
	}
	if o := l.upTo(0); o != nil {
		return o.meanAbs()
	}
	return math.NaN()
}

// All distributions on the lattice are Z = A − B with independent A and B of one distribution on 0,
// 1, 2, …, infinitely divisible: the sum of the jumps upwards, and of those downwards. So what is
// to know about Z follows from the masses g of A, by sums of positive terms only, accurate into the
// tails:
//
//	Pr[Z = k] = Σ_y g(y)·g(y+k),  Pr[Z > k] = Σ_y g(y)·Pr[A > y+k],
//	E|Z| = 2·Σ_k Pr[A ≤ k]·Pr[A > k].
//
// oneSided holds g(0), …, g(M−1) to a relative error of slack, and Pr[A > y] without
// what lies beyond M.
type oneSided struct {
	g      []float64
	tail   []float64 // tail[y] = g(y+1) + … + g(M−1)
	beyond float64   // at least Pr[A ≥ M]
	slack  float64
	terms  int // that head takes
}

// newOneSided completes what is known of g.
func newOneSided(g []float64, beyond, slack float64) *oneSided {
	tail := make([]float64, len(g))
	for y := len(g) - 1; y > 0; y-- {
		tail[y-1] = tail[y] + g[y]
	}
	return &oneSided{g, tail, beyond, slack, min(len(g), maxHead)}
}

// prob returns Σ g(y)·g(y+k) for k ≥ 0: a lower bound of Pr[Z = k], short of it by at most beyond²,
// and beyond·g(M−k) where g decreases.
func (o *oneSided) prob(k int) float64 { return o.correlate(o.g, k) }

// maxHead is how many terms of a sum a certificate takes. Lattices of more steps than that have so
// few jumps that the others hardly count.
const maxHead = 1 << 13

// head returns the first terms of prob(k): a lower bound of Pr[Z = k], short of it by less than
// rest.
func (o *oneSided) head(k int) float64 {
	return o.correlate(o.g[:min(len(o.g), k+o.terms)], k)
}

// rest bounds what head leaves out, the terms with y ≥ terms and those with y + k ≥ M: the former
// are at most Pr[A ≥ terms]², as both factors are masses of A there, the latter Pr[A ≥ M].
func (o *oneSided) rest() float64 {
	if len(o.g) <= o.terms {
		return o.beyond
	}
	far := o.tail[o.terms-1] + o.beyond
	return far*far + o.beyond
}

// shorten has head take no more terms than it needs for a relative 1e-8 of what is at least least.
func (o *oneSided) shorten(least float64) {
	o.terms = sort.Search(o.terms, func(y int) bool { return y > 0 && o.tail[y-1]*o.tail[y-1] <= 1e-8*least })
}

// survival returns Pr[Z > k] for k ≥ 0.
func (o *oneSided) survival(k int) float64 { return o.correlate(o.tail, k) }

// correlate returns Σ g(y)·h(y+k).
func (o *oneSided) correlate(h []float64, k int) float64 {
	if k >= len(h) {
		return 0
	}
	sum, h := 0.0, h[k:]
	for y, x := range h {
		sum += o.g[y] * x
	}
	return sum
}

// meanAbs returns E|Z|.
func (o *oneSided) meanAbs() float64 {
	sum, below := 0.0, 0.0
	for y, x := range o.tail {
		below += o.g[y]
		sum += below * x
	}
	return 2 * sum
}

// panjerSlack bounds the relative error of n masses made by a recursion of positive terms: the
// error of g(m) is at most the largest one before it and what its own sums add, which are sums of
// at most n terms, of n + 8 roundings each way. That a sum over y has n terms more is in it.
func panjerSlack(n int) float64 { return 2 * float64(n+64) * float64(n+64) * 0x1p-53 }

// tilts is how many x Chernoff's bound is tried at, from 0 to the limit where ln E e^{xA}, the
// exponent, becomes infinite.
const tilts = 10

// chernoff returns a bound on Pr[A ≥ m], the least of e^{−x·m}·E e^{xA} over some x.
func chernoff(exponent func(x float64) float64, limit, m float64) float64 {
	least := 0.0
	for i := 1; i < tilts; i++ {
		x := limit * float64(i) / tilts
		if log := exponent(x) - x*m; log < least { // not for NaN
			least = log
		}
	}
	return math.Exp(least) * (1 + slackLoss)
}

// chernoffReach returns an m with Pr[A ≥ m] ≤ e^{−nats}, near the least by the same bound.
func chernoffReach(exponent func(x float64) float64, limit, nats float64) float64 {
	least := math.Inf(1)
	for i := 1; i < tilts; i++ {
		x := limit * float64(i) / tilts
		if m := (exponent(x) + nats) / x; m < least {
			least = m
		}
	}
	return least
}
