package distinct

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/kor"
)

// Union estimates the number of distinct keys in all sets together, as [Compare] does; see
// [Plan.UnionError]. Of three or more it is NaN if the interval at .95 is wider than 1.2 estimates.
// [ErrParams] for none or more than 2¹⁶ releases; [ErrMismatch] as that of Compare.
func Union(sketches ...*Sketch) (kor.Cardinality, error) {
	k := len(sketches)
	if k < 1 || k > maxSketches {
		return kor.Cardinality{}, bad("number of sketches", k, "1 to 2¹⁶")
	}
	if k == 1 {
		if s := sketches[0]; s != nil && s.valid() {
			return kor.Cardinality{Source: s}, nil
		}
		return kor.Cardinality{}, check.MismatchError("distinct", "Sketch", "one that was not released", "a released one")
	}
	seen := map[[16]byte]bool{}
	for _, s := range sketches[1:] {
		if err := compatible(sketches[0], s); err != nil {
			return kor.Cardinality{}, err
		}
		if seen[s.id] {
			return kor.Cardinality{}, check.MismatchError("distinct", "release", "there twice", "releases with noise of their own")
		}
		seen[s.id] = true
	}
	if k == 2 {
		c, err := Compare(sketches[0], sketches[1])
		if err != nil {
			return kor.Cardinality{}, err
		}
		return c.Union(), nil
	}
	return kor.Cardinality{Source: newUnion(sketches)}, nil
}

// unionOf is the fit of three releases or more.
type unionOf struct {
	*tuple
	parts            []*Sketch
	estimate, stdErr float64
}

// newUnion fits a union: between the largest size and the sum of all.
func newUnion(sketches []*Sketch) *unionOf {
	u := &unionOf{tuple: newTuple(sketches), parts: append([]*Sketch(nil), sketches...)}
	least, most, variance := 0.0, 0.0, 0.0
	for _, s := range sketches {
		size, stdErr := max(s.Estimate(), 0), s.StdErr()
		least, most, variance = max(least, size), most+size, variance+stdErr*stdErr
	}
	u.estimate = mean(least, most, u.deviation)
	_, info := u.score(u.estimate)
	u.stdErr = math.Hypot((most-least)/2, math.Sqrt(variance))
	if known := u.estimate / math.Sqrt(info); known < u.stdErr {
		u.stdErr = known
	}
	const wide = 1.2 // estimates, as an interval is with a normal relative error of 0.3
	if lo, hi := u.Interval(0.95); !(hi-lo <= wide*u.estimate) {
		u.estimate, u.stdErr = math.NaN(), math.Inf(1)
	}
	return u
}

// Estimate is NaN where the releases tell too little together.
func (u *unionOf) Estimate() float64 { return u.estimate }

// StdErr is +Inf where there is no estimate.
func (u *unionOf) StdErr() float64 { return u.stdErr }

// Interval returns the sizes whose deviation is small enough, within intervals for all of the sets,
// which take a tenth of the errors.
func (u *unionOf) Interval(confidence float64) (lo, hi float64) {
	errors, least, most := 1-confidence, 0.0, 0.0
	for _, s := range u.parts {
		from, to := s.erring(0.1 * errors / float64(len(u.parts)))
		least, most = max(least, from), most+to
	}
	lo, hi = accepted(least, nearest(least, most, u.deviation), most, normalQuantile(1-0.9*errors), u.deviation)
	if !math.IsNaN(u.estimate) {
		lo, hi = min(lo, u.estimate), max(hi, u.estimate)
	}
	return lo, hi
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
// The score
//
//	G(N) = Σ w_i·(û_i − u_i), w_i = (du_i/d ln N)/v_i,
//
// with these modelled variances v_i, has mean 0 at the true N for every overlap, as the û_i are
// unbiased. If the v_i are right its variance is I = Σ (du_i/d ln N)²/v_i, and a zero of it has the
// relative standard error 1/√I, the least of all weights. G/√I is the deviation of N.
type tuple struct {
	log        []float64 // ln(1 − r_i/n)
	seen       []float64 // û
	cells      float64
	set, empty float64   // Π V₁ and Π (V₁ + 1)
	apart      []float64 // of each level, the second moment for disjoint sets
	weights    []float64 // at s, the sum over all subsets of s sketches of Π V₁ of the others
	size       float64   // the mean of the sizes
}

func newTuple(sketches []*Sketch) *tuple {
	first := sketches[0].params
	c := bareCurve(first)
	t := &tuple{log: c.log[:c.levels], cells: c.cells, set: 1, empty: 1}
	t.seen, t.apart = make([]float64, c.levels), make([]float64, c.levels)
	for i := range t.apart {
		t.apart[i] = 1
	}
	sum := 0.0
	weights := []float64{1} // the coefficients of Π (V₁ + z)
	for _, s := range sketches {
		p := s.flipProb()
		v := p * (1 - p) / ((1 - 2*p) * (1 - 2*p))
		t.set *= v
		t.empty *= v + 1
		if len(weights) <= maxByChance {
			weights = append(weights, 0)
			for j := len(weights) - 1; j > 0; j-- {
				weights[j] = weights[j]*v + weights[j-1]
			}
			weights[0] *= v
		}
		size := max(s.Estimate(), 0)
		sum += size
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
	return t
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

// deviation returns by how many standard errors of the score x is too small. Where x keys would
// leave no cell empty, it is the limit, which the last level alone decides.
func (t *tuple) deviation(x float64) float64 {
	g, info := t.score(min(max(x, 1e-6), -300/t.log[len(t.log)-1]))
	return -g / math.Sqrt(info)
}
