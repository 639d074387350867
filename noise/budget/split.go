package budget

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/internal/round"
)

// Split returns a guarantee such that n releases with it use up what remains. It has the kind and
// the δ of like, and the greatest ε, ρ or μ for which Spend accepts all n, if nothing else is spent
// before. Split spends nothing. like is one release by ε, ρ or μ; its amount does not matter, and
// its δ may be 0. The law of its noise matters: each of n releases like [Gaussian] may have five
// times the ε of n like [ApproxDP].
//
// The error wraps [ErrParams] if n is not in [1, 2³⁰], or if like is of no such kind or subsampled,
// since its amount then says nothing about its noise; [ErrMismatch] if like is for another unit;
// and [ErrBudget] if too little is left.
func (l *Ledger) Split(n int, like Guarantee) (Guarantee, error) {
	part := like.sized()
	switch {
	case n < 1 || n > mostMany:
		return Guarantee{}, fault.Params("budget", "n", n, "an integer in [1, 2³⁰]")
	case part == nil:
		return Guarantee{}, fault.Params("budget", "like", like, "a guarantee of one release by one of ε, ρ and μ")
	case l.refuses != nil:
		return Guarantee{}, l.refuses
	case like.unit != l.takes:
		return Guarantee{}, fault.Mismatch("budget", "Unit", l.takes, like.unit)
	}
	releases := l.releases()
	before := l.locked()
	// Times rounds up, by more than n exact additions do: what it allows, Spend accepts n times.
	g := part(0)
	if l.allows(before, g.Times(n)) {
		g = part(l.greatest(before, math.MaxFloat64, part, n))
	}
	if !l.allows(before, g.Times(n)) || g.sums == part(0).sums && l.epsilon > 0 {
		return Guarantee{}, fault.Budget("budget", like.Times(n), func() any { return l.remaining(before) })
	}
	b := l.open()
	b.mu.Lock()
	if b.releases() == releases {
		b.quota = quota{l.part, g, n}
	}
	b.mu.Unlock()
	return g, nil
}

// quota is releases that are left of a Split, which is the last that was asked for, with nothing
// else spent since. All n together are within the budget, so fewer are: they are not asked for one
// by one, as the lattice of fewer may be coarser, which matters where little is left.
type quota struct {
	part string
	each Guarantee
	left int
}

// has reports whether g is one of them.
func (q quota) has(part string, g Guarantee) bool {
	return q.left > 0 && q.part == part && q.each == g
}

// without returns what is left of them once g is spent.
func (q quota) without(part string, g Guarantee) quota {
	if !q.has(part, g) {
		return quota{}
	}
	return quota{part, g, q.left - 1}
}

// sized returns releases like g by their ε, ρ or μ, nil if g is not one release by one of these.
func (g Guarantee) sized() func(x float64) Guarantee {
	p, u := g.pair, g.unit
	var law lossKind
	one := p.kinds.len() == 1
	if one {
		law = p.kinds.at(0)
		one = law.fraction == 1 && p.rho == 0 && p.muSquares == 0
		law.count = 1
	}
	gaussian := p.kinds == "" && p.responses == 0 && p.rho == 0 && p.muSquares > 0
	switch {
	case !g.promised || g.rho > 0 && (g.epsilon > 0 || g.muSquares > 0) || g.epsilon > 0 && g.muSquares > 0:
		return nil
	case g.rho > 0 && gaussian:
		return func(x float64) Guarantee { return gaussianZCDP(x, u).WithEscape(g.delta) }
	case g.rho > 0 && one && law.law == latticeGaussian:
		return func(x float64) Guarantee {
			if x == 0 {
				return ZCDP(0, u).WithEscape(g.delta)
			}
			return DiscreteGaussian(float64(law.steps)/math.Sqrt(2*x), int64(law.steps), u).WithEscape(g.delta)
		}
	case g.rho > 0 && p.kinds == "" && p.muSquares == 0:
		return func(x float64) Guarantee { return ZCDP(x, u).WithEscape(g.delta) }
	case g.muSquares > 0 && gaussian:
		return func(x float64) Guarantee { return GDP(x, u).WithEscape(g.delta) }
	case g.rho > 0 || g.muSquares > 0:
		return nil
	case gaussian && g.delta > p.escape:
		return func(x float64) Guarantee {
			noise := Gaussian(x, round.DifferenceDown(g.delta, p.escape), u)
			return ApproxDP(x, g.delta, u).WithPair(noise.WithEscape(p.escape))
		}
	case one && law.law == laplacian:
		return func(x float64) Guarantee {
			law.size = x
			return ApproxDP(x, g.delta, u).WithPair(withKind(PureDP(x, u), law).WithEscape(p.escape))
		}
	case p.kinds == "" && p.rho == 0 && p.muSquares == 0:
		return func(x float64) Guarantee { return ApproxDP(x, g.delta, u) }
	}
	return nil
}
