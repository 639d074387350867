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

// fit estimates the load from how often each output occurs in each column: by expectation
// maximisation, from a start that is also what remains where the table says little.
//
// Columns are treated as if they were independent samples. A cell whose largest entry is in bin b
// holds no entry above; in b itself ω/(1−e^{−ω}) on average, ω being the rate of b; and below, as
// many as without looking.
func (g *bins) fit(histogram [][]uint64, start load) load {
	rates := append(load(nil), start...)
	cells := 0.0 // of one column
	for _, n := range histogram[0] {
		cells += float64(n)
	}
	startSum := sum(start)
	if cells == 0 || startSum == 0 {
		return rates
	}
	e := expectation{bins: g, seen: make([]float64, g.count), law: make([]float64, g.count+2), share: make([]float64, g.count+2)}
	above := make([]float64, g.columns)
	for range loadRounds {
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
	seen       []float64 // expected number of entries in each bin of the column
	law, share []float64 // of the largest entry: before, and after looking, over all cells
}

// compute sets seen, given the outputs and the rates in and above the column, and returns the
// factor by which the outputs change the numbers of entries above it, times the number of cells.
func (e *expectation) compute(histogram []uint64, rates []float64, above float64) (higher float64) {
	n := e.count
	e.largest(rates, above)
	clear(e.share)
	for o, cells := range histogram {
		if cells == 0 {
			continue
		}
		total := 0.0
		for y, p := range e.law {
			total += p * e.bins.law[y*e.levels+o]
		}
		if total <= 0 {
			continue
		}
		for y, p := range e.law {
			e.share[y] += float64(cells) / total * p * e.bins.law[y*e.levels+o]
		}
	}
	larger := e.share[n+1]
	for b := n; b >= 1; b-- {
		e.seen[b-1] = rates[b-1]*larger + e.share[b]*perOccupied(rates[b-1])
		larger += e.share[b]
	}
	if above <= 0 {
		return 0
	}
	return e.share[n+1] * perOccupied(above) / above
}

// largest sets law to the law of the largest entry of a cell.
func (e *expectation) largest(rates []float64, above float64) {
	n := e.count
	e.law[n+1] = -math.Expm1(-above)
	for b := n; b >= 1; b-- {
		e.law[b] = -math.Exp(-above) * math.Expm1(-rates[b-1])
		above += rates[b-1]
	}
	e.law[0] = math.Exp(-above)
}

// perOccupied returns the mean of a Poisson number that is not 0, r/(1 − e^{−r}).
func perOccupied(r float64) float64 {
	if r == 0 {
		return 1
	}
	return r / -math.Expm1(-r)
}

// likelihood sets out[y] to the probability of the output o in a cell whose own entry is at y, as
// in law, and whose others follow the rates.
func (g *bins) likelihood(rates []float64, above float64, o int, out []float64) {
	n := g.count
	out[n+1] = g.law[(n+1)*g.levels+o]
	larger := -math.Expm1(-above) * out[n+1]
	for y := n; y >= 0; y-- {
		p := g.law[y*g.levels+o]
		out[y] = larger + math.Exp(-above)*p
		if y > 0 {
			larger -= math.Exp(-above) * math.Expm1(-rates[y-1]) * p
			above += rates[y-1]
		}
	}
}

// sum returns the sum of the numbers.
func sum(x []float64) float64 {
	s := 0.0
	for _, v := range x {
		s += v
	}
	return s
}
