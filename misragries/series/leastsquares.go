package series

// leastSquares estimates the count of one key in a window by least squares over all published
// counts of it, of nodes that end after the window included.
//
// The nodes make trees: a node's children are those of the next shorter span inside it. Let a pair
// be the counts in all of a node and in its part in the window. The pairs of the children of a node
// are independent, given what is published in the node apart from its own count y; so they add up,
// and y = total + noise is one more observation, for which the best estimate is moved by the
// covariances with the total (a Kalman step). At the roots nothing is left to be observed. Noise
// has equal variance in all nodes, which is the unit here.
//
// A key that is not known has a count of 0 without noise: what it counts while it is known is
// estimated, and a node that began before that holds nothing else.
type leastSquares struct {
	spans        []int
	since, until int       // the steps in which the key is known
	cut          bool      // whether it was known before, in steps of which nothing is known
	values       [][]int64 // by span; nil for variances alone
	// the estimates by join for the same nodes, of which those of steps are not there; nil for none
	totals   [][]float64
	vars     []float64 // their variances: see wholes
	first    []int     // the number of the node of each span that values begin with
	from, to int       // the window
}

// pair is the estimate of the counts in a node and in its part in the window, with covariances.
type pair struct {
	total, part              float64
	totalVar, covar, partVar float64
}

// window returns the estimate of the count in the window, and its variance, as part of a pair whose
// total is of all nodes that overlap it.
func (f *leastSquares) window() (sum pair) {
	top := len(f.spans) - 1
	span := f.spans[top]
	for i := max(f.from, f.since) / span; i*span < min(f.to, f.until); i++ {
		sum.add(f.node(top, i))
	}
	return sum
}

func (p *pair) add(q pair) {
	p.total += q.total
	p.part += q.part
	p.totalVar += q.totalVar
	p.covar += q.covar
	p.partVar += q.partVar
}

// node returns the pair of the i-th node of a span. Where the key was known in all of it, and the
// window has all of it or nothing, the pair is that of one number, the estimate of the total.
func (f *leastSquares) node(l, i int) (p pair) {
	start, end := i*f.spans[l], (i+1)*f.spans[l]
	y, closed := f.value(l, i, end)
	inside, outside := start >= f.from && end <= f.to, start >= f.to || end <= f.from
	if l > 0 {
		whole := closed && start >= f.since
		if !whole || !inside && !outside || f.values != nil && f.totals == nil {
			return f.join(l, i)
		}
		if f.totals != nil {
			y = f.totals[l][i-f.first[l]]
		}
	}
	p = pair{total: y, totalVar: f.vars[l]}
	if inside {
		p.part, p.covar, p.partVar = p.total, p.totalVar, p.totalVar
	}
	return p
}

// join returns the pair of a node of more than one step by those of its children and its own count.
func (f *leastSquares) join(l, i int) (p pair) {
	start, end := i*f.spans[l], (i+1)*f.spans[l]
	y, closed := f.value(l, i, end)
	for c := max(start, f.since) / f.spans[l-1]; c*f.spans[l-1] < min(end, f.until); c++ {
		p.add(f.node(l-1, c))
	}
	if closed {
		gain := 1 / (p.totalVar + 1)
		d := (y - p.total) * gain
		p.total += p.totalVar * d
		p.part += p.covar * d
		p.partVar -= p.covar * p.covar * gain
		p.covar *= gain
		p.totalVar *= gain
	}
	return p
}

// wholes returns the variances of the estimates of nodes that have ended, by span, for a key that
// is known in all of them, from what was published up to their end.
func wholes(spans []int) (vars []float64) {
	v := 1.0
	for l, span := range spans {
		if l > 0 {
			v *= float64(span / spans[l-1])
			v /= v + 1
		}
		vars = append(vars, v)
	}
	return vars
}

// value returns the published count of a node, if there is one: the node has ended while the key
// was known.
func (f *leastSquares) value(l, i, end int) (y float64, closed bool) {
	if end > f.until || end <= f.since || f.cut && end-f.spans[l] < f.since {
		return 0, false
	}
	if f.values == nil {
		return 0, true
	}
	return float64(f.values[l][i-f.first[l]]), true
}

// few is the sum of a few published counts, some of them taken away: the count in a set of steps
// plus or minus the noise of each.
type few struct {
	sum   float64
	nodes int
}

// fewest returns the count in the window as a sum of few published counts. Which ones they are
// depends on the places alone, not on what is published.
func (f *leastSquares) fewest() (inside few) {
	top := len(f.spans) - 1
	span := f.spans[top]
	for i := max(f.from, f.since) / span; i*span < min(f.to, f.until); i++ {
		in, _ := f.split(top, i)
		inside = inside.plus(in)
	}
	return inside
}

func (a few) plus(b few) few { return few{a.sum + b.sum, a.nodes + b.nodes} }

// split returns the counts inside and outside of the window of the i-th node of a span, each as a
// sum of few counts: those of the children, or of the node less the other side.
func (f *leastSquares) split(l, i int) (in, out few) {
	start, end := i*f.spans[l], (i+1)*f.spans[l]
	y, closed := f.value(l, i, end)
	switch begin := max(start, f.since); { // before that it holds nothing
	case closed && begin >= f.from && end <= f.to:
		return few{y, 1}, few{}
	case closed && (begin >= f.to || end <= f.from):
		return few{}, few{y, 1}
	}
	for c := max(start, f.since) / f.spans[l-1]; c*f.spans[l-1] < min(end, f.until); c++ {
		cin, cout := f.split(l-1, c)
		in, out = in.plus(cin), out.plus(cout)
	}
	if closed {
		whole := few{y, 1}
		less := func(b few) few { return few{whole.sum - b.sum, 1 + b.nodes} }
		a, b := in, out
		if a.nodes > 1+b.nodes {
			in = less(b)
		}
		if b.nodes > 1+a.nodes {
			out = less(a)
		}
	}
	return in, out
}
