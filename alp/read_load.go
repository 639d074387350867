package alp

import "math"

// load says what else a cell may hold: for each bin of the axis how many entries with a value in it
// there are for one cell of a column, and last, how many above all columns. Entries fall into cells
// at random, so the numbers in one cell are independent and Poisson with these means. A cell holds
// the largest of its entries: it is at most at bin b with probability exp(−Σ rates above b).
type load []float64

const (
	loadRounds = 60 // of expectation maximisation
	loadPseudo = 50 // entries of the start's law that are added to the data
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
		weight := total / startSum * loadPseudo / (total*cells + loadPseudo)
		for b := range rates {
			rates[b] = rates[b]*total*cells/(total*cells+loadPseudo) + weight*start[b]
		}
	}
	return rates
}

// expectation computes what the cells of one column hold on average.
type expectation struct {
	*bins
	seen          []float64 // expected number of entries in each bin of the column
	before, after []float64 // the law of the largest entry, after looking over all cells
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

// largest sets before to the law of the largest entry of a cell, and some.
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

// laws returns the likelihoods of all outputs, one after the other.
func (g *bins) laws(rates []float64, above float64) []float64 {
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
