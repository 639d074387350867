package alp

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/fault"
)

// Prior is what is assumed of an entry before its cells are read. It concerns decoding alone and
// costs no budget.
//
// An entry is 0 with probability Zero. Else it has, with probability Learned, a value drawn like
// those of the entries of this release, which the table as a whole tells approximately, small
// values being at least as likely as large ones; and with the rest a value that is uniform on the
// columns' axis. The learned law gives the values at the end of the axis, where many entries may
// have been clamped to Max, no more than the uniform law gives a length of Δ/ε; and where the table
// holds too few entries to tell, the law is uniform.
type Prior struct {
	// Zero is in [0, 1).
	Zero float64
	// Learned is in [0, 1].
	Learned float64
}

// DefaultPrior returns the prior of a new release: an entry is 0 with probability ½, and else like
// the entries of the release with probability ½.
//
// With Zero = 0 every estimate is that of an entry known not to be 0: entries that are not 0 have
// less error then, by a tenth or less, and zeros far more.
func DefaultPrior() Prior { return Prior{Zero: 0.5, Learned: 0.5} }

// WithPrior returns the same release, with the same table, read under another prior. The error
// wraps [ErrParams].
func (p *Projection) WithPrior(prior Prior) (*Projection, error) {
	switch {
	case !(prior.Zero >= 0 && prior.Zero < 1):
		return nil, fault.Params("alp", "Zero", prior.Zero, "a number in [0, 1)")
	case !(prior.Learned >= 0 && prior.Learned <= 1):
		return nil, fault.Params("alp", "Learned", prior.Learned, "a number in [0, 1]")
	}
	q := *p
	if p.decoder != nil {
		q.decoder = p.decoder.under(Prior{prior.Zero + 0, prior.Learned + 0})
	}
	return &q, nil
}

// Prior returns the prior that estimates are made under.
func (p *Projection) Prior() Prior {
	if p.decoder == nil {
		return Prior{}
	}
	return p.decoder.prior
}

// uniform is the law of the value of an entry that is not 0 and not listed, if all points of the
// axis are equally likely, and as much goes on above the columns where there is a list.
type uniform struct {
	density []float64 // of each bin; the bins and the tail sum to 1
	tail    tail
	unit    float64 // the weight of a length of Δ/ε
}

// leastDensity stands for the density of bins that a list leaves nothing: where it leaves nothing
// of any bin, all are alike.
const leastDensity = 0x1p-900

// uniformPrior computes it.
func (s *shape) uniformPrior(g *bins, l *listing) uniform {
	u := uniform{density: make([]float64, g.total())}
	for b := range g.used {
		u.density[b] = max(l.absent(s.steps(g.position(b, 0.5))), leastDensity)
	}
	bin := s.lastBin(g)
	unit := 1 / s.params.kappa()
	total := sum(u.density)
	if l != nil {
		u.tail.scale = l.scale / float64(s.above)
		u.tail.mass = l.absent(float64(s.turn)) * min(u.tail.scale, unit) / bin
		u.tail.mean = (float64(s.turn) + u.tail.scale) * s.step
		total += u.tail.mass
	}
	for b := range u.density {
		u.density[b] /= total
	}
	u.tail.mass /= total
	u.unit = min(unit/bin/total, 1)
	return u
}

// start returns the load that fit begins with: half of the entries uniform, and half above all
// columns, or at their end if there is no list.
func (u *uniform) start(g *bins, rate float64) load {
	l := make(load, g.total()+1)
	for b, d := range u.density {
		l[b] = rate / 2 * d
	}
	l[g.end()] += rate / 2
	return l
}

// end returns the bin of the load that counts the entries which fill all columns.
func (g *bins) end() int {
	if g.used == g.total() {
		return g.total()
	}
	return g.used - 1
}

// noiseEntries is, in units of the square root of the cells of a column, how many entries the noise
// of the cells passes for, about.
const noiseEntries = 10

// mix returns the prior of the bins and the tail. The share learned of it comes from the load of
// the table, which has the given number of cells a column; less where the table holds too few
// entries to tell their law from that of the noise.
func (u *uniform) mix(g *bins, rates load, cells, learned float64) (prior []float64, t tail) {
	law := append([]float64(nil), rates...)
	end := g.end()
	decreasing(law[:min(end, g.used)])
	rest := sum(law) - law[end]
	signal := rest * rest * cells // (entries/√cells)²
	learned *= signal / (signal + noiseEntries*noiseEntries)
	law[end] = min(law[end], rest*u.unit)
	scale := learned / max(rest+law[end], math.SmallestNonzeroFloat64)
	prior, t = make([]float64, g.total()), u.tail
	for b, d := range u.density {
		prior[b] = (1-learned)*d + scale*law[b]
	}
	t.mass *= 1 - learned
	if end == g.total() {
		t.mass += scale * law[end]
	}
	return prior, t
}

// lastBin returns the length of a bin at X, in steps of the value: a logarithmic axis has longer
// ones there than at 0.
func (s *shape) lastBin(g *bins) float64 {
	bin := float64(g.width) / float64(g.count)
	if s.axis != nil {
		bin *= max(float64(s.turn)/s.params.knee(s.step), 1)
	}
	return bin
}

// steps returns the value, in steps, that the axis shows at point u, beyond the end of the columns
// included.
func (s *shape) steps(u float64) float64 {
	end := float64(s.half) * float64(s.width)
	switch {
	case u > end:
		return float64(s.turn) + u - end
	case s.axis == nil:
		return min(u, float64(s.turn))
	}
	low := int(u)
	if low+1 >= len(s.axis.from) {
		return min(float64(s.axis.from[len(s.axis.from)-1]), float64(s.turn))
	}
	a, b := float64(s.axis.from[low]), float64(s.axis.from[low+1])
	return min(a+(u-float64(low))*(b-a), float64(s.turn))
}

// value returns a number of steps in units of the data, clamped to Max, and rounded if the values
// are integers.
func (s *shape) value(steps float64) float64 {
	v := steps * s.step
	if s.params.Max > 0 {
		v = min(v, s.params.Max)
	}
	if s.params.Integers {
		v = math.Round(v)
	}
	return v
}

// decreasing replaces the numbers by the closest ones, in squares, that do not increase: pools of
// neighbours get their mean until none is above the one before it. The load of greatest likelihood
// has spikes, where its columns cannot tell neighbouring values apart; smoothed so, the law is only
// as detailed as they can tell.
func decreasing(x []float64) {
	type pool struct {
		sum float64
		n   int
	}
	var pools []pool
	for _, v := range x {
		p := pool{v, 1}
		for k := len(pools) - 1; k >= 0 && pools[k].sum*float64(p.n) < p.sum*float64(pools[k].n); k-- {
			p = pool{p.sum + pools[k].sum, p.n + pools[k].n}
			pools = pools[:k]
		}
		pools = append(pools, p)
	}
	i := 0
	for _, p := range pools {
		for range p.n {
			x[i] = p.sum / float64(p.n)
			i++
		}
	}
}
