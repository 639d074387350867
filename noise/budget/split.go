package budget

import (
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/exact"
)

// Split returns a guarantee such that n releases with it use up what remains. It is like with other
// noise: it has the δ of like, and the greatest ε, ρ or μ for which Spend accepts all n, if nothing
// else is spent before. So the Guarantee of a Builder says what Epsilon of its Params may be. Split
// spends nothing. like is asked for by one of ε, ρ and μ; its amount does not matter, and its δ may
// be 0. The law of its noise matters: each of n releases like [Gaussian] may have five times the ε
// of n like [ApproxDP]. If like has several parts, such as the bits and the count of a sketch, the
// noise of all becomes larger or smaller by one factor. Then μ grows like ε, where Gaussian noise
// that is made for an (ε, δ) has a μ that does not: of n releases with such noise as one of several
// parts the last may be refused.
//
// A journal keeps what was split: after a restart too Spend accepts all that are left of the n.
//
// The error wraps [ErrParams] if n is not in [1, 2³⁰], or if like is of no such kind or subsampled,
// since its amount then says nothing about its noise; [ErrMismatch] if like is for another unit;
// and [ErrBudget] if too little is left; or it is that of the journal.
func (l *Ledger) Split(n int, like Guarantee) (Guarantee, error) {
	part, several := like.sized()
	switch {
	case n < 1 || n > mostMany:
		return Guarantee{}, check.ParamsError("budget", "n", n, "an integer in [1, 2³⁰]")
	case part == nil:
		return Guarantee{}, check.ParamsError("budget", "like", like, "a guarantee of one release by one of ε, ρ and μ")
	case l.refuses != nil:
		return Guarantee{}, l.refuses
	case like.unit != l.takes:
		return Guarantee{}, check.MismatchError("budget", "Unit", l.takes, like.unit)
	}
	releases := l.releases()
	before := l.locked()
	// Times rounds up, by more than n exact additions do: what it allows, Spend accepts n times.
	x, g := 0.0, part(0)
	if l.allows(before, g.Times(n)) {
		x = l.greatest(before, math.MaxFloat64, part, n)
		g = part(x)
	}
	if !l.allows(before, g.Times(n)) || g.sums == part(0).sums && l.epsilon > 0 {
		return Guarantee{}, check.BudgetError("budget", like.Times(n), func() any { return l.remaining(before) })
	}
	b := l.open()
	b.mu.Lock()
	defer b.mu.Unlock()
	q := quota{part: l.part, each: g, left: n}
	if several { // room for the roundings of whoever divides ε among the parts
		g = part(x * (1 - 0x1p-45))
	}
	known := b.quota
	known.read = false
	switch {
	case b.releases() != releases:
		return g, nil
	case known == q:
		b.quota = q
		return g, nil
	case b.journal == nil:
	case b.journal.broken != nil:
		return Guarantee{}, b.journal.broken
	default:
		if err := b.journal.appendQuota(q); err != nil {
			return Guarantee{}, err
		}
	}
	l.splitInto(q)
	if b.journal != nil {
		b.journal.compact(l)
	}
	return g, nil
}

// quota is releases that are left of a Split, which is the last that was asked for, with nothing
// else spent since. All n together are within the budget, so fewer are: they are not asked for one
// by one, as the lattice of fewer may be coarser, which matters where little is left.
type quota struct {
	part string
	each Guarantee
	left int
	read bool // from a journal or an encoding, and not yet known to be within the budget
}

// restoreQuota remembers what was split, and reports whether there can be such a Split.
func (l *Ledger) restoreQuota(q quota) bool {
	of := l.ofPart(q.part)
	if q.left < 1 || q.left > mostMany || !q.each.promised || of.refuses != nil || q.each.unit != of.takes {
		return false
	}
	q.read = true
	l.splitInto(q)
	return true
}

// splitInto remembers what was split.
func (l *Ledger) splitInto(q quota) {
	b := l.open()
	b.quota = q
	b.splits++
}

// isLeft reports whether g is left of a Split. What was read is asked for at the first such
// release, as Split asked, and forgotten if more than the budget: then Spend asks for each release.
// So whatever a journal says of a Split it can be read, and no more is spent than the budget, also
// where another version or machine computes other last digits.
func (l *Ledger) isLeft(g Guarantee) bool {
	b := l.open()
	if b.quota.has(l.part, g) && b.quota.read {
		spent := 0
		for spent < len(b.entries) && b.quota.isOf(b.entries[len(b.entries)-1-spent], b.known) {
			spent++
		}
		if b.quota.read = !l.covers(spent) && !l.covers(0); b.quota.read {
			b.quota = quota{}
		}
	}
	return b.quota.has(l.part, g)
}

// isOf reports whether releases can be of the Split.
func (q quota) isOf(e entry, known []Guarantee) bool {
	return e.part == q.part && known[e.of].noWorse(q.each)
}

// covers reports whether the budget allows what is left of the Split, where the last entries are of
// it as well and so bounded by what was split. No sum is rounded twice: this is what Split asked.
func (l *Ledger) covers(spent int) bool {
	b, before := l.open(), *l
	before.book = new(book)
	first := len(b.entries) - spent
	for _, e := range b.entries[:first] {
		before.remember(e, b.known[e.of])
	}
	n := b.quota.left
	for _, e := range b.entries[first:] {
		n += int(e.count)
	}
	return before.allows(before.states(), b.quota.each.Times(n))
}

// has reports whether g is one of them, or no worse.
func (q quota) has(part string, g Guarantee) bool {
	return q.left > 0 && q.part == part && g.noWorse(q.each)
}

// noWorse reports whether g is bounded by h for certain, whatever else is released: the same laws,
// each of a lesser amount. All bounds by the sums increase with each. Of the laws only those of
// Laplace noise may differ, continuous or on a lattice, or of randomized response: at a smaller ε
// such noise is that at the larger one with independent noise added (of two Laplace laws the ratio
// of the characteristic functions, a² (b²+t²)/(b² (a²+t²)) for ε of a < b, is that of 0 with
// probability a²/b² and else Laplace noise at a; of geometric ones likewise), so a function of what
// the larger shows; on a sample too.
func (g Guarantee) noWorse(h Guarantee) bool {
	x, y := g.list(), h.list()
	if g.unit != h.unit || !g.promised || g.pair.beside != h.pair.beside || g.pair.keys != h.pair.keys || g.pair.kinds.len() != h.pair.kinds.len() {
		return false
	}
	for i := range x[:plainSums] {
		if x[i] > y[i] {
			return false
		}
	}
	for i := range g.pair.kinds.len() {
		a, b := g.pair.kinds.at(i), h.pair.kinds.at(i)
		if a.law != laplacian { // of others it is not known that they increase
			a.size, b.size = max(a.size, b.size), min(a.size, b.size)
		}
		if a.law != b.law || a.steps != b.steps || a.fraction != b.fraction || a.count != b.count || a.size > b.size {
			return false
		}
	}
	return true
}

// without returns what is left of them once g is spent.
func (q quota) without(part string, g Guarantee) quota {
	if !q.has(part, g) {
		return quota{}
	}
	q.left--
	return q
}

// sized returns releases like g by their ε, ρ or μ, whichever g was asked for by, and whether they
// have several parts; nil if g was asked for by several of these.
func (g Guarantee) sized() (sized func(x float64) Guarantee, several bool) {
	var of func(x float64) Guarantee
	p, u := g.pair, g.unit
	var law lossKind
	one := p.kinds.len() == 1
	if one {
		law = p.kinds.at(0)
		one = law.count == 1 && p.rho == 0 && p.muSquares == 0
	}
	gaussian := p.kinds == "" && p.responses == 0 && p.rho == 0 && p.muSquares > 0
	switch {
	case !g.promised || g.rho > 0 && (g.epsilon > 0 || g.muSquares > 0) || g.epsilon > 0 && g.muSquares > 0:
		return nil, false
	case slices.ContainsFunc(p.kinds.list(), func(x lossKind) bool { return x.fraction < 1 }):
		return nil, false
	case g.rho > 0 && gaussian:
		of = func(x float64) Guarantee { return gaussianZCDP(x, u).WithEscape(g.delta) }
	case g.rho > 0 && one && law.law == latticeGaussian:
		of = func(x float64) Guarantee {
			if x == 0 {
				return ZCDP(0, u).WithEscape(g.delta)
			}
			return DiscreteGaussian(float64(law.steps)/math.Sqrt(2*x), int64(law.steps), u).WithEscape(g.delta)
		}
	case g.rho > 0 && p.kinds == "" && p.muSquares == 0:
		of = func(x float64) Guarantee { return ZCDP(x, u).WithEscape(g.delta) }
	case g.muSquares > 0 && gaussian:
		of = func(x float64) Guarantee { return GDP(x, u).WithEscape(g.delta) }
	case gaussian && g.delta > p.escape && g.rho == 0:
		of = func(x float64) Guarantee {
			noise := Gaussian(x, exact.DifferenceDown(g.delta, p.escape), u)
			return ApproxDP(x, g.delta, u).WithPair(noise.WithEscape(p.escape))
		}
	case one && law.law == laplacian && g.rho == 0 && g.muSquares == 0:
		of = func(x float64) Guarantee {
			law.size = x
			return ApproxDP(x, g.delta, u).WithPair(withKind(PureDP(x, u), law).WithEscape(p.escape))
		}
	case p.kinds == "" && p.rho == 0 && p.muSquares == 0 && g.rho == 0 && g.muSquares == 0:
		of = func(x float64) Guarantee { return ApproxDP(x, g.delta, u) }
	default:
		of, several = g.scaled, true
	}
	return func(x float64) Guarantee { return of(x).under(g.on) }, several
}

// scaled returns g with noise such that Σε, Σρ or Σμ is x, whichever g was asked for by: the noise
// of all its parts becomes larger or smaller by one factor, and no δ changes.
func (g Guarantee) scaled(x float64) Guarantee {
	if x == 0 {
		return promise(g.unit, sums{delta: g.delta}, pair{escape: g.pair.escape})
	}
	// ε and μ are multiplied by that, and ρ by its square.
	var factor float64
	switch mu := sqrtUp(g.muSquares); {
	case g.epsilon > 0:
		factor = exact.QuotientUp(x, g.epsilon)
	case g.rho > 0:
		factor = exact.SqrtUp(exact.QuotientUp(x, g.rho))
	default:
		factor = exact.QuotientUp(x, mu)
	}
	square := exact.ProductUp(factor, factor)
	// tanh(tx) ≤ max(1, t)·tanh(x)
	s := sums{
		epsilon:   exact.ProductUp(factor, g.epsilon),
		responses: exact.ProductUp(max(factor, square), g.responses),
		delta:     g.delta,
		rho:       exact.ProductUp(square, g.rho),
		muSquares: exact.ProductUp(square, g.muSquares),
	}
	s.responses = min(s.responses, responseRho(s.epsilon))
	p := g.pair
	if p.unknown() || p.hasKeys() {
		return promise(g.unit, s, pairOf(s))
	}
	p.rho, p.muSquares = exact.ProductUp(square, p.rho), exact.ProductUp(square, p.muSquares)
	list := p.kinds.list()
	for i := range list {
		if list[i].law == latticeGaussian {
			list[i].size /= factor // a σ
		} else {
			list[i].size = exact.ProductUp(factor, list[i].size)
		}
		if !list[i].valid() {
			return promise(g.unit, s, pairOf(s))
		}
	}
	p.kinds = makeKinds(list)
	p.responses = p.kinds.rho()
	if g.responses == g.pair.responses {
		s.responses = p.responses // the same releases
	}
	return promise(g.unit, s, p)
}
