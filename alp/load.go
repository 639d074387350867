package alp

import (
	"math"
)

// load says what else a cell may hold: for each bin of the axis how many entries with a value in it
// there are for one cell of a column, and last, how many above all columns. Entries fall into cells
// at random, so the numbers in one cell are independent and Poisson with these means. A cell holds
// the largest of its entries: it is at most at bin b with probability exp(−Σ rates above b).
type load []float64

const (
	loadRounds = 60  // of expectation maximisation
	loadPseudo = 50  // entries of the start's distribution that are added to the data
	mostPseudo = 0.1 // their share of all entries, at most
)

// bins divides the columns' axis for decoding: every column into the same number of bins of equal
// length. Where a bin is one point, all that is computed is exact.
type bins struct {
	columns int // m, of one sign
	width   int // W
	count   int // bins of a column
	levels  int // Q
	used    int // bins up to the end of the axis; the last column can reach beyond it
	// chance[y·levels+o] is Pr[output o] of a cell at 0 (y = 0), within bin y (1 …
	// count), and at W (y = count+1).
	chance []float64
}

const (
	mostBins  = 64  // of a column
	leastBins = 4   // of a column, where it is so wide
	allBins   = 512 // of all columns, about
)

// newBins returns the bins of a release whose axis has reach points.
func newBins(c *code, columns int, reach int64) bins {
	count := min(c.width, mostBins, max(leastBins, allBins/columns))
	g := bins{columns: columns, width: c.width, count: count, levels: c.levels}
	all := int64(columns) * int64(count)
	g.used = int(min(all, (reach*int64(count)+int64(c.width)-1)/int64(c.width)))
	g.chance = make([]float64, (count+2)*c.levels)
	for y := range count + 2 {
		for o := range c.levels {
			g.chance[y*c.levels+o] = g.average(c, y, o)
		}
	}
	return g
}

// average returns Pr[output o] for a value that is uniform in bin y, by Simpson's rule where the
// bin has many points.
func (g *bins) average(c *code, y, o int) float64 {
	const few = 8
	if y == 0 || y == g.count+1 {
		return c.prob(min(y, 1)*g.width, o)
	}
	low, high := (y-1)*g.width/g.count, y*g.width/g.count
	if high-low > few {
		return (c.prob(low, o) + 4*c.prob((low+high)/2, o) + c.prob(high, o)) / 6
	}
	sum := 0.0
	for v := low + 1; v <= high; v++ {
		sum += c.prob(v, o)
	}
	return sum / float64(high-low)
}

// exact reports whether a bin is one point.
func (g *bins) exact() bool { return g.count == g.width }

// total returns the number of bins of all columns.
func (g *bins) total() int { return g.columns * g.count }

// point returns the point of the axis at the given share of bin b; if each bin is one point, that
// one.
func (g *bins) point(b int, share float64) float64 {
	if g.exact() {
		share = 1
	}
	return (float64(b) + share) * float64(g.width) / float64(g.count)
}

// histogram returns for each column how often each output occurs over all its cells.
func (p *Projection) histogram() [][]uint64 {
	g := &p.shape.geometry
	counts := make([][]uint64, g.columns)
	for j := range counts {
		counts[j] = make([]uint64, p.shape.code.levels)
		counts[j][0] = g.cells()
	}
	p.table.each(func(cell uint64, output uint8) {
		j := g.column(cell)
		counts[j][output]++
		counts[j][0]--
	})
	return counts
}

// fit estimates the load from how often each output occurs in each column: by expectation
// maximisation, from a start that is also what remains where the table says little.
//
// Columns are treated as if they were independent samples. A cell whose largest entry is in bin b
// holds no entry above; in b itself ω/(1−e^{−ω}) on average, ω being the rate of b; and below, as
// many as without looking.
func (g *bins) fit(histogram [][]uint64, start load, rounds int) load {
	rates := append(load(nil), start...)
	cells := 0.0 // of one column
	for _, n := range histogram[0] {
		cells += float64(n)
	}
	startSum := sum(start)
	if cells == 0 || startSum == 0 {
		return rates
	}
	e := expectation{bins: g, seen: make([]float64, g.count), before: make([]float64, g.count+2), after: make([]float64, g.count+2), some: make([]float64, g.count)}
	above := make([]float64, g.columns)
	for range rounds {
		rate := rates[g.total()]
		for j := g.columns - 1; j >= 0; j-- {
			above[j] = rate
			rate += sum(rates[j*g.count : (j+1)*g.count])
		}
		factor := 0.0 // what the columns so far say about all bins above them
		for j := range g.columns {
			in := rates[j*g.count : (j+1)*g.count]
			higher := e.compute(histogram[j], in, above[j])
			for b := range in {
				in[b] = (in[b]*factor + e.seen[b]) / (cells * float64(j+1))
			}
			factor += higher
		}
		rates[g.total()] *= factor / (cells * float64(g.columns))
		total := sum(rates)
		// a larger share of few entries would be more than the table teaches in a round
		share := min(loadPseudo/(total*cells+loadPseudo), mostPseudo)
		for b := range rates {
			rates[b] = rates[b]*(1-share) + share*total/startSum*start[b]
		}
	}
	return rates
}

// expectation computes what the cells of one column hold on average.
type expectation struct {
	*bins
	seen          []float64 // expected number of entries in each bin of the column
	before, after []float64 // distributions of the largest entry, before looking and after
	some          []float64 // 1 − e^{−r} of the rates
}

// compute sets seen, given the outputs and the rates in and above the column, and returns the
// factor by which the outputs change the numbers of entries above it, times the number of cells.
func (e *expectation) compute(histogram []uint64, rates []float64, above float64) (higher float64) {
	n := e.count
	e.largest(rates, above)
	clear(e.after)
	for o, cells := range histogram {
		if cells == 0 {
			continue
		}
		total := 0.0
		for y, p := range e.before {
			total += p * e.bins.chance[y*e.levels+o]
		}
		if total <= 0 {
			continue
		}
		for y, p := range e.before {
			e.after[y] += float64(cells) / total * p * e.bins.chance[y*e.levels+o]
		}
	}
	larger := e.after[n+1]
	for b := n; b >= 1; b-- {
		mean := 1.0 // of a Poisson number that is not 0: see perOccupied
		if rates[b-1] != 0 {
			mean = rates[b-1] / e.some[b-1]
		}
		e.seen[b-1] = rates[b-1]*larger + e.after[b]*mean
		larger += e.after[b]
	}
	if above <= 0 {
		return 0
	}
	return e.after[n+1] * perOccupied(above) / above
}

// largest sets before to the distribution of the largest entry of a cell, and some.
func (e *expectation) largest(rates []float64, above float64) {
	n := e.count
	e.before[n+1] = -math.Expm1(-above)
	for b := n; b >= 1; b-- {
		e.some[b-1] = -math.Expm1(-rates[b-1])
		e.before[b] = math.Exp(-above) * e.some[b-1]
		above += rates[b-1]
	}
	e.before[0] = math.Exp(-above)
}

// perOccupied returns the mean of a Poisson number that is not 0, r/(1 − e^{−r}).
func perOccupied(r float64) float64 {
	if r == 0 {
		return 1
	}
	return r / -math.Expm1(-r)
}

// likelihood sets out[y] to the probability of the output o in a cell whose own entry is at y, as
// in chance, and whose others follow the rates.
func (g *bins) likelihood(rates []float64, above float64, o int, out []float64) {
	n := g.count
	out[n+1] = g.chance[(n+1)*g.levels+o]
	larger := -math.Expm1(-above) * out[n+1]
	for y := n; y >= 0; y-- {
		p := g.chance[y*g.levels+o]
		out[y] = larger + math.Exp(-above)*p
		if y > 0 {
			larger -= math.Exp(-above) * math.Expm1(-rates[y-1]) * p
			above += rates[y-1]
		}
	}
}

// distributions returns the likelihoods of all outputs, one after the other.
func (g *bins) distributions(rates []float64, above float64) []float64 {
	n := g.count + 2
	laws := make([]float64, g.levels*n)
	for o := range g.levels {
		g.likelihood(rates, above, o, laws[o*n:(o+1)*n])
	}
	return laws
}

// sum returns the sum of the numbers.
func sum(x []float64) float64 {
	s := 0.0
	for _, v := range x {
		s += v
	}
	return s
}

// uniform is the distribution of the value of an entry that is not 0 and not listed, if all points
// of the axis are equally likely, and as much goes on above the columns where there is a list.
type uniform struct {
	density []float64 // of each bin; the bins and the tail sum to 1
	tail    tailLaw
	unit    float64 // the weight of a length of Δ/ε
}

// leastDensity stands for the density of bins that a list leaves nothing: where it leaves nothing
// of any bin, all are alike.
const leastDensity = 0x1p-900

// uniformPrior computes it.
func (s *shape) uniformPrior(g *bins, l *listing) uniform {
	u := uniform{density: make([]float64, g.total())}
	for b := range g.used {
		u.density[b] = max(l.absent(s.valueAt(g.point(b, 0.5))), leastDensity)
	}
	bin := s.lastBin(g)
	unit := 1 / s.params.kappa()
	total := sum(u.density)
	if l != nil {
		u.tail.scale = l.scale / float64(s.slopeAbove)
		u.tail.mass = l.absent(float64(s.turn)) * min(u.tail.scale, unit) / bin
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

// leastSignal is how many standard deviations of the noise the entries of a table stand out by when
// half of what is learned of them is believed.
const leastSignal = 7

// mix returns the prior of the bins and the tail. The share learned of it comes from the load of
// the table, which has the given number of cells a column; less where the table holds too few
// entries to tell their distribution from that of the noise.
func (u *uniform) mix(g *bins, rates load, cells, learned float64) (prior []float64, t tailLaw) {
	law := append([]float64(nil), rates...)
	end := g.end()
	decreasing(law[:min(end, g.used)])
	signal := g.signal(law, rates) * cells
	learned *= signal / (signal + leastSignal*leastSignal)
	rest := sum(law) - law[end]
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

// signal returns the square of the number of entries for one cell, in standard deviations of the
// noise of a cell. The noise passes for entries of a bin with the variance 1/χ² for a cell, where
// χ² = Σ_o (Pr[o | bin] − Pr[o | 0])²/Pr[o | 0] under the load. Of all bins the one counts from
// which on entries stand out the most.
func (g *bins) signal(law []float64, rates load) (most float64) {
	n, from, above := g.count+2, law[g.total()], rates[g.total()]
	for j := g.columns - 1; j >= 0; j-- {
		in := rates[j*g.count : (j+1)*g.count]
		chance := g.distributions(in, above)
		above += sum(in)
		for b := g.count; b >= 1; b-- {
			from += law[j*g.count+b-1]
			chi := 0.0
			for o := range g.levels {
				d := chance[o*n+b] - chance[o*n]
				chi += d * d / chance[o*n]
			}
			most = max(most, from*from*chi)
		}
	}
	return most
}

// lastBin returns the length of a bin at X, in steps of the value: a logarithmic axis has longer
// ones there than at 0.
func (s *shape) lastBin(g *bins) float64 {
	bin := float64(g.width) / float64(g.count)
	if s.logAxis != nil {
		bin *= max(float64(s.turn)/s.params.knee(s.step), 1)
	}
	return bin
}

// decreasing replaces the numbers by the closest ones, in squares, that do not increase: pools of
// neighbours get their mean until none is above the one before it. The load of greatest likelihood
// has spikes, where its columns cannot tell neighbouring values apart; smoothed so, the
// distribution is only as detailed as they can tell.
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

// posterior is the distribution of an entry that is not 0, given what its cells show: for one sign,
// one load and one prior. Relative to the probability of the cells if the entry is 0, column j has
// the weight
//
//	r₀[o₀] ⋯ r_{j−1}[o_{j−1}] · t_j[o_j],   r[o] = Pr[o | W]/Pr[o | 0],
//	t_j[o] = Σ over the bins of column j of prior·Pr[o | bin]/Pr[o | 0],
//
// as the entry fills the columns before j and is absent from those after it. These numbers are
// tables, and so is the distribution within a column given its output.
type posterior struct {
	*bins
	ratio []float64 // r_j[o] is ratio[at(j, o)]
	mass  []float64 // t_j[o]
	// cum[at(j, o)·count+b] is the share of t_j[o] in the bins of column j up to b
	cum  []float32
	tail tailLaw
}

// at returns the place of an output of column j in the tables: equal outputs lie together.
func (p *posterior) at(j int, o uint8) int { return int(o)*p.columns + j }

// tailLaw is the distribution above all columns, exponential, of entries that a list may hold.
type tailLaw struct {
	mass  float64 // prior
	scale float64 // in steps of the value
}

// rescale is where products of ratios are scaled down, so that they do not overflow where there are
// thousands of columns. A sum on the scale k is in units of rescaleᵏ.
const rescale = 0x1p400

// units returns what a sum on the scale 0 is in units of rescaleᵏ.
func units(k int) float64 {
	if k == 0 {
		return 1
	}
	return math.Ldexp(1, -400*k)
}

// newPosterior computes the tables.
func newPosterior(g *bins, rates load, prior []float64, t tailLaw) *posterior {
	n := g.columns * g.levels
	p := &posterior{bins: g, ratio: make([]float64, n), mass: make([]float64, n), cum: make([]float32, n*g.count), tail: t}
	above := sum(rates)
	like := make([]float64, g.count+2)
	for j := range g.columns {
		in := rates[j*g.count : (j+1)*g.count]
		above = max(above-sum(in), 0)
		for o := range g.levels {
			g.likelihood(in, above, o, like)
			i := p.at(j, uint8(o))
			p.ratio[i] = like[g.count+1] / like[0]
			p.fill(i, prior[j*g.count:(j+1)*g.count], like)
		}
	}
	return p
}

// fill sets mass and cum of one output of one column.
func (p *posterior) fill(i int, prior, like []float64) {
	cum := p.cum[i*p.count : (i+1)*p.count]
	for b := range prior {
		p.mass[i] += prior[b] * like[b+1] / like[0]
	}
	c := 0.0
	for b := range prior {
		c += prior[b] * like[b+1] / like[0]
		cum[b] = float32(min(c/max(p.mass[i], 1e-300), 1))
	}
	cum[p.count-1] = 1
}

// weight returns the sum of all weights, on the scale k.
func (p *posterior) weight(outputs []uint8) (total float64, k int) {
	product := 1.0
	for j, o := range outputs {
		i := p.at(j, o)
		total += product * p.mass[i]
		product *= p.ratio[i]
		if product > rescale {
			product, total, k = product/rescale, total/rescale, k+1
		}
	}
	return total + product*p.tail.mass, k
}

// find returns the point of the axis below which the given weight lies, on the scale k of weight. A
// point of the tail is columns·width plus its distance from X in steps of the value.
func (p *posterior) find(outputs []uint8, left float64, k int) float64 {
	product, unit := 1.0, units(k)
	for j, o := range outputs {
		i := p.at(j, o)
		w := product * p.mass[i] * unit
		if w >= left && w > 0 {
			return p.within(i, left/w)
		}
		left -= w
		product *= p.ratio[i]
		if product > rescale {
			k--
			product, unit = product/rescale, units(k)
		}
	}
	end := float64(p.columns) * float64(p.width)
	if w := product * p.tail.mass; w > 0 {
		return end - p.tail.scale*math.Log1p(-min(left/w, 1-0x1p-53))
	}
	return min(end, p.point(p.used-1, 1))
}

// within returns the point of the axis below which the given share of a column's weight lies, for
// i = at(j, output).
func (p *posterior) within(i int, share float64) float64 {
	cum := p.cum[i*p.count : (i+1)*p.count]
	s := float32(share)
	b, end := 0, p.count-1
	for b < end { // the first bin up to which the share lies, or the last
		if middle := (b + end) / 2; cum[middle] < s {
			b = middle + 1
		} else {
			end = middle
		}
	}
	low, part := float32(0), 1.0
	if b > 0 {
		low = cum[b-1]
	}
	if cum[b] > low {
		part = float64((s - low) / (cum[b] - low))
	}
	return p.point(i%p.columns*p.count+b, max(part, 0))
}
