package alp

// bins divides the columns' axis for decoding: every column into the same number of bins of equal
// length. Where a bin is one step, all that is computed is exact.
type bins struct {
	columns int // m, of one sign
	width   int // W
	count   int // bins of a column
	levels  int // Q
	used    int // bins up to the end of the axis; the last column can reach beyond it
	// law[y·levels+o] is Pr[output o] of a cell at 0 (y = 0), within bin y (1 …
	// count), and at W (y = count+1).
	law []float64
}

const (
	mostBins  = 64  // of a column
	leastBins = 4   // of a column, where it is so wide
	allBins   = 512 // of all columns, about
)

// newBins returns the bins of a release whose axis has reach steps.
func newBins(c *code, columns int, reach int64) bins {
	count := min(c.width, mostBins, max(leastBins, allBins/columns))
	g := bins{columns: columns, width: c.width, count: count, levels: c.levels}
	all := int64(columns) * int64(count)
	g.used = int(min(all, (reach*int64(count)+int64(c.width)-1)/int64(c.width)))
	g.law = make([]float64, (count+2)*c.levels)
	for y := range count + 2 {
		for o := range c.levels {
			g.law[y*c.levels+o] = g.average(c, y, o)
		}
	}
	return g
}

// average returns Pr[output o] for a value that is uniform in bin y, by Simpson's rule where the
// bin has many steps.
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

// exact reports whether a bin is one step.
func (g *bins) exact() bool { return g.count == g.width }

// total returns the number of bins of all columns.
func (g *bins) total() int { return g.columns * g.count }

// position returns the point of the axis, in steps, at the given share of bin b; if bins are steps,
// the step.
func (g *bins) position(b int, share float64) float64 {
	if g.exact() {
		share = 1
	}
	return (float64(b) + share) * float64(g.width) / float64(g.count)
}
