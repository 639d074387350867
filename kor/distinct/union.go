package distinct

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/internal/search"
	"github.com/dpsketch/dpsketch/internal/sizes"
	"github.com/dpsketch/dpsketch/kor"
)

// Union estimates the number of distinct keys in all of the sets together, from one release of
// each. Two or more releases need bits, so a CountShare below 1, and the same Seed, Cells and
// Levels; ε and CountShare may differ. It is post-processing and costs no budget.
//
// The price of a union is exponential in the number of releases: [Plan.UnionError] tells what to
// expect. Where the relative error is above 0.3, as for sets far beyond Plan.Largest too, there is
// no estimate, but still an interval: between the largest of the lower bounds of the sets and the
// sum of the upper ones, all at a confidence that holds for all together. Of two sets with a
// relative error above .15 the interval reaches as far as these, too: that there is an estimate may
// be chance. A party that holds all of the data merges the Builders instead.
//
// The error wraps [ErrParams] for none or more than 2¹⁶ releases, and [ErrMismatch] if one is nil,
// zero, without bits or there twice, or if Seed, Cells or Levels differ.
func Union(sketches ...*Sketch) (kor.Cardinality, error) {
	k := len(sketches)
	if k < 1 || k > maxSketches {
		return kor.Cardinality{}, bad("number of sketches", k, "1 to 2¹⁶")
	}
	if k == 1 {
		if s := sketches[0]; s.valid() {
			return kor.Cardinality{Source: s}, nil
		}
		return kor.Cardinality{}, fault.Mismatch("distinct", "Sketch", "one that was not released", "a released one")
	}
	seen := map[[16]byte]bool{}
	for _, s := range sketches[1:] {
		if err := compatible(sketches[0], s); err != nil {
			return kor.Cardinality{}, err
		}
		if seen[s.id] {
			return kor.Cardinality{}, fault.Mismatch("distinct", "release", "there twice", "releases with noise of their own")
		}
		seen[s.id] = true
	}
	c := &unionOf{parts: append([]*Sketch(nil), sketches...)}
	if k == 2 {
		pair, err := compare(sketches[0], sketches[1])
		if err != nil {
			return kor.Cardinality{}, err
		}
		c.pair = part{pair, sizes.Union}
		c.estimate, c.stdErr = c.pair.Estimate(), c.pair.StdErr()
	} else {
		c.all = newTuple(sketches)
		c.estimate, c.stdErr = c.all.estimate, c.all.stdErr
	}
	const most = 0.3 // relative error
	if !(c.stdErr <= most*c.estimate) {
		c.estimate, c.stdErr, c.pair.comparison, c.all = math.NaN(), math.Inf(1), nil, nil
	}
	return kor.Cardinality{Source: c}, nil
}

// unionOf is the fit of several releases.
type unionOf struct {
	estimate, stdErr float64
	parts            []*Sketch
	pair             part   // of two
	all              *tuple // of more
}

// Estimate is NaN where the releases tell too little together.
func (c *unionOf) Estimate() float64 { return c.estimate }

// StdErr is +Inf where there is no estimate.
func (c *unionOf) StdErr() float64 { return c.stdErr }

// Interval returns the interval of the fit, or of the sets by themselves.
func (c *unionOf) Interval(confidence float64) (lo, hi float64) {
	least, most := c.bounds(confidence)
	switch {
	case c.pair.comparison != nil:
		const doubtful = 0.15 // relative error
		if lo, hi = c.pair.Interval(confidence); c.stdErr > doubtful*c.estimate {
			lo, hi = min(lo, least), max(hi, most)
		}
		return lo, hi
	case c.all != nil:
		return c.all.interval(confidence, least, most)
	}
	return least, most
}

// bounds returns the largest of the lower bounds of the sets and the sum of the upper ones.
func (c *unionOf) bounds(confidence float64) (least, most float64) {
	each := 1 - (1-confidence)/float64(len(c.parts))
	for _, s := range c.parts {
		from, to := 0.0, math.Inf(1) // for a confidence that is rounded to 1
		if each < 1 {
			from, to = s.Interval(each)
		}
		least, most = max(least, from), most+to
	}
	return least, most
}

// tuple is what k releases tell about their union.
//
// With φ_j(0) = (1−p_j)/(1−2p_j) and φ_j(1) = −p_j/(1−2p_j) the mean of φ_j(shown bit) is 1 for an
// empty cell and 0 for a set one. So Π φ_j has mean 1 for a cell that is empty in all sets, else 0,
// and û_i, its average over the cells of level i, is an unbiased estimate of u = (1 − r_i/n)^N for
// the union's N. (It is the only unbiased function of one cell when nothing is known of the
// overlap.) The second moment of φ_j is V₁ = p(1−p)/(1−2p)² for a set bit and V₁ + 1 for an empty
// one; that of the product depends on the overlap: the largest of those for equal sets, for
// disjoint sets, and for sets that hold each key of the union by chance, counts.
//
// The estimate is the N at which the score
//
//	G(N) = Σ w_i·(û_i − u_i), w_i = (du_i/d ln N)/v_i,
//
// is 0, with these modelled variances v_i. At the true N the score has mean 0 for every overlap, as
// the û_i are unbiased. If the v_i are right its variance is I = Σ (du_i/d ln N)²/v_i, and ln N has
// the standard error 1/√I, the least of all weights. The interval is where |G| ≤ z·√I.
type tuple struct {
	log              []float64 // ln(1 − r_i/n)
	seen             []float64 // û
	cells            float64
	set, empty       float64   // Π V₁ and Π (V₁ + 1)
	apart            []float64 // of each level, the second moment for disjoint sets
	weights          []float64 // at s, the sum over all subsets of s sketches of Π V₁ of the others
	size             float64   // the mean of the sizes
	from, to         float64   // the range of ln N that is searched
	best             float64   // ln N where the score is 0
	estimate, stdErr float64
}

func newTuple(sketches []*Sketch) *tuple {
	first := sketches[0].params
	c := bareCurve(first)
	t := &tuple{log: c.log[:c.levels], cells: c.cells, set: 1, empty: 1}
	t.seen, t.apart = make([]float64, c.levels), make([]float64, c.levels)
	for i := range t.apart {
		t.apart[i] = 1
	}
	largest, sum := 1.0, 0.0
	weights := []float64{1} // the coefficients of Π (V₁ + z)
	for _, s := range sketches {
		p := s.flipProb()
		v := p * (1 - p) / ((1 - 2*p) * (1 - 2*p))
		t.set *= v
		t.empty *= v + 1
		if len(weights) <= maxByChance {
			weights = append(weights, 0)
			for j := len(weights) - 1; j >= 0; j-- {
				weights[j] *= v
				if j > 0 {
					weights[j] += weights[j-1]
				}
			}
		}
		size := max(s.Estimate(), 0)
		largest, sum = max(largest, size), sum+size
		for i, l := range t.log {
			t.apart[i] *= v + math.Exp(size*l)
		}
	}
	t.size = sum / float64(len(sketches))
	if len(sketches) <= maxByChance {
		t.weights = weights
	}
	products := make([]float64, first.Cells)
	for i := range t.seen {
		t.seen[i] = average(sketches, i, products)
	}
	sum = max(sum, largest)
	t.from, t.to = math.Log(largest/8), math.Log(8*sum)
	t.best = t.solve()
	t.estimate = math.Exp(t.best)
	t.stdErr = t.precision()
	return t
}

// precision returns the standard error of the estimate, +Inf if the score is not 0 there, at an end
// of the range, or if the union is not known.
func (t *tuple) precision() float64 {
	if !(t.deviation(t.from) < 0 && t.deviation(t.to) > 0) {
		return math.Inf(1)
	}
	stdErr := t.stdErrAt(t.estimate)
	if !known(stdErr, t.stdErrAt(t.estimate+2*stdErr)) {
		return math.Inf(1)
	}
	return stdErr
}

// stdErrAt returns the standard error of the estimate of a union of x keys.
func (t *tuple) stdErrAt(x float64) float64 {
	_, info := t.score(x)
	return x / math.Sqrt(info)
}

// average returns û of a level.
func average(sketches []*Sketch, level int, products []float64) (sum float64) {
	for j := range products {
		products[j] = 1
	}
	stride := sketches[0].params.stride()
	for _, s := range sketches {
		p := s.flipProb()
		factors := [2]float64{(1 - p) / (1 - 2*p), -p / (1 - 2*p)}
		words := s.bits[level*stride : (level+1)*stride]
		for j := range products {
			products[j] *= factors[words[j>>6]>>(j&63)&1]
		}
	}
	for _, x := range products {
		sum += x
	}
	return sum / float64(len(products))
}

// maxByChance is the most sketches for which the moment of sets by chance is computed: far more
// than the errors at usual ε leave an estimate for.
const maxByChance = 256

// variances calls yield with u and v of each level at N = x.
func (t *tuple) variances(x float64, yield func(level int, u, v float64)) {
	// If each set holds a key of the union with probability ρ, a cell is empty in s of them with
	// the probability that it is in one set of x·(1 − (1−ρ)^s) keys.
	var reach [maxByChance + 1]float64
	away, left := 1-min(t.size/x, 1), 1.0
	for s := range t.weights {
		reach[s] = x * (1 - left)
		left *= away
	}
	for i, l := range t.log {
		u := math.Exp(x * l)
		chance := 0.0
		for s, w := range t.weights {
			chance += w * math.Exp(reach[s]*l)
		}
		yield(i, u, (max(t.apart[i], u*t.empty+(1-u)*t.set, chance)-u*u)/t.cells)
	}
}

// score returns −G and I at N = x.
func (t *tuple) score(x float64) (g, info float64) {
	t.variances(x, func(i int, u, v float64) {
		slope := -x * t.log[i] * u
		v = max(v, 1e-6/(t.cells*t.cells))
		g += slope / v * (t.seen[i] - u)
		info += slope * slope / v
	})
	return g, info
}

// deviation returns by how many standard errors of the score ln N = y is too large: +Inf where no
// level knows anything, as N keys would leave no cell empty.
func (t *tuple) deviation(y float64) float64 {
	g, info := t.score(math.Exp(y))
	if info == 0 {
		return math.Inf(1)
	}
	return g / math.Sqrt(info)
}

// solve returns ln N where the score is 0. If no N is too large, it is the end of the range: noise
// can make all û negative where few cells are left empty.
func (t *tuple) solve() float64 {
	return search.Root(t.from, t.to, 40, func(y float64) float64 {
		if y == t.to {
			return 1
		}
		return t.deviation(y)
	})
}

// interval returns where the score is within what the confidence allows, at most from least to most
// where that does not end within the range of the search.
func (t *tuple) interval(confidence, least, most float64) (lo, hi float64) {
	z := normalQuantile(confidence)
	lo, hi = least, most
	if t.deviation(t.from) < -z {
		lo = math.Exp(search.Root(t.from, t.best, 40, func(y float64) float64 { return t.deviation(y) + z }))
	}
	if t.deviation(t.to) > z {
		hi = math.Exp(search.Root(t.best, t.to, 40, func(y float64) float64 { return t.deviation(y) - z }))
	}
	return min(lo, t.estimate), max(hi, t.estimate)
}
