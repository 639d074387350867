package series

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/internal/wire"
)

// Window is what a Timeline knew of some steps when it was asked: public, immutable, safe for
// concurrent readers, at no budget.
type Window[K hashing.Key] struct {
	common
	from, to int
	first    int // of the steps that the timeline had
	steps    int // and their end
	retired  bool
	records  []record[K] // sorted by key
	elements [2]few      // the numbers of elements, with MaxElements
	nodes    [maxSpans][]closedSketch[K]
}

// record is what is known of a key in a window.
type record[K hashing.Key] struct {
	key      K
	estimate float64
	known    few    // the count in steps in which it is known
	gaps     []span // the other steps
	finds    []find
	retired  int // how often, in the window or soon after
}

// span is a stretch of steps.
type span struct{ from, to int }

// Window returns what is known about the steps from, …, to − 1. The error wraps [ErrParams] unless
// First ≤ from < to ≤ Len.
func (t *Timeline[K]) Window(from, to int) (*Window[K], error) {
	switch {
	case !(from >= t.first && from < t.steps):
		return nil, bad("from", from, fmt.Sprintf("a step in [%d, %d)", t.first, t.steps))
	case !(to > from && to <= t.steps):
		return nil, bad("to", to, fmt.Sprintf("a step in (%d, %d]", from, t.steps))
	}
	w := &Window[K]{common: t.common, from: from, to: to, first: t.first, steps: t.steps, retired: t.retired || t.params.Retire > 0}
	for j, nodes := range t.nodes {
		w.nodes[j] = slices.Clone(nodes)
	}
	for i := range w.elements {
		if t.params.MaxElements > 0 {
			f := t.leastSquares(t.elements[i], from, to)
			w.elements[i] = f.fewest()
		}
	}
	for key, tr := range t.tracks {
		if r := t.record(key, tr, w); r.known.nodes > 0 || r.estimate != 0 {
			w.records = append(w.records, r)
		}
	}
	slices.SortFunc(w.records, func(a, b record[K]) int { return wire.Compare(a.key, b.key) })
	return w, nil
}

// record reads the episodes of a key.
func (t *Timeline[K]) record(key K, tr track, w *Window[K]) record[K] {
	r := record[K]{key: key}
	longest := t.params.longest()
	end := (w.to + longest - 1) / longest * longest
	at := w.from // the first step that is not dealt with
	for _, e := range tr {
		if gap := (span{at, min(e.since, w.to)}); gap.from < gap.to {
			r.gaps = append(r.gaps, gap)
		}
		if from, to := max(at, e.since), min(e.until, w.to); from < to {
			f := t.leastSquares(e, w.from, w.to)
			r.estimate += f.window().part
			r.known = r.known.plus(f.fewest())
		}
		at = max(at, e.until)
		for _, f := range e.finds { // of a node, or within one, that meets the window
			if top := t.params.topDiscovery(); f.start < (w.to+top-1)/top*top && f.until() > w.from/top*top {
				r.finds = append(r.finds, f)
			}
		}
		if e.until < t.steps && e.until > w.from && e.until <= end {
			r.retired++
		}
	}
	if at < w.to {
		r.gaps = append(r.gaps, span{at, w.to})
	}
	for _, s := range shared(r.finds) {
		r.estimate += s.rate * float64(max(min(s.to, w.to)-max(s.from, w.from), 0))
	}
	return r
}

// stretch are steps in which a key was not known, with the count per step that finds give it.
type stretch struct {
	span
	rate float64
}

// shared shares what was found of a key out over the steps in which it was not known, the smaller
// sets of steps first: in the steps of a find that no smaller one has, the count per step is taken
// to be constant; where smaller ones have all steps, a step of least squares corrects them. Two
// finds have steps in common only if one has all steps of the other. Finds of the same steps are
// averaged.
func shared(finds []find) (all []stretch) {
	steps := func(f find) (n int) {
		for _, g := range f.gaps {
			n += g.to - g.from
		}
		return n
	}
	order := func(a, b find) int {
		return cmp.Or(cmp.Compare(steps(a), steps(b)), cmp.Compare(a.gaps[0].from, b.gaps[0].from))
	}
	finds = slices.Clone(finds)
	slices.SortStableFunc(finds, order)
	for i := 0; i < len(finds); {
		n, left, first := 0.0, 0.0, finds[i]
		for ; i < len(finds) && order(first, finds[i]) == 0; i++ {
			n, left = n+1, left+finds[i].count
		}
		left /= n
		free, length, inside := []stretch{}, 0, []int{}
		for _, g := range first.gaps {
			at := g.from
			for j, s := range all {
				if s.from < g.from || s.to > g.to {
					continue
				}
				if at < s.from {
					free, length = append(free, stretch{span: span{at, s.from}}), length+s.from-at
				}
				left -= s.rate * float64(s.to-s.from)
				inside = append(inside, j)
				at = s.to
			}
			if at < g.to {
				free, length = append(free, stretch{span: span{at, g.to}}), length+g.to-at
			}
		}
		for _, j := range inside {
			// one count of all these steps beside n counts of parts
			if n := float64(len(inside)); len(free) == 0 {
				s := &all[j]
				s.rate = max(s.rate+left/(n+1)/float64(s.to-s.from), 0)
			}
		}
		for _, s := range free {
			s.rate = max(left, 0) / float64(length)
			all = append(all, s)
		}
		slices.SortFunc(all, func(a, b stretch) int { return cmp.Compare(a.from, b.from) })
	}
	return all
}

// find returns the record of a key, or that of a key of which nothing is known.
func (w *Window[K]) find(key K) (r record[K], found bool) {
	i, found := slices.BinarySearchFunc(w.records, key, func(r record[K], key K) int { return wire.Compare(r.key, key) })
	if !found {
		return record[K]{key: key, gaps: []span{{w.from, w.to}}}, false
	}
	return w.records[i], true
}

// Steps returns the steps of the window, from, …, to − 1.
func (w *Window[K]) Steps() (from, to int) { return w.from, w.to }

// Len returns the number of keys with an estimate.
func (w *Window[K]) Len() int { return len(w.records) }

// Has reports whether the key was known or found in the window.
func (w *Window[K]) Has(key K) bool {
	_, found := w.find(key)
	return found
}

// Estimate returns the estimated count of the key in the window, or 0 if the key was not known or
// found in it. For steps in which it is known it is the least-squares estimate from all published
// counts: unbiased, with standard error [Plan.StdErr], and possibly negative. For the others it is
// what the discovery nodes have shown, shared out evenly over the steps.
func (w *Window[K]) Estimate(key K) float64 {
	r, _ := w.find(key)
	return r.estimate
}

// All yields the keys with their estimates, sorted by key.
func (w *Window[K]) All() iter.Seq2[K, float64] {
	return wire.AllKeys(len(w.records), func(i int) (K, float64) { return w.records[i].key, w.records[i].estimate })
}

// Top yields the n keys with the largest estimates, in descending order; equal ones by key.
func (w *Window[K]) Top(n int) iter.Seq2[K, float64] { return wire.TopKeys(w.All(), n) }

// String describes the window, with the guarantee.
func (w *Window[K]) String() string {
	if w == nil || !w.valid() {
		return "series.Window (of no timeline)"
	}
	return fmt.Sprintf("series.Window: %d keys in steps %d to %d; all steps of the series together %v", len(w.records), w.from, w.to-1, w.Guarantee())
}

// Interval returns bounds that contain the number of counted elements of the key in the window,
// with at least the given confidence over the noise, for any one key and window fixed beforehand,
// known or not, and the estimate, or 0 where that is negative. For all keys of a top at once ask at
// 1 − 0.05/[Window.Len]. A key outside of Dim has bounds 0 and 0.
//
// In steps in which the key is not known, a discovery node that does not show it bounds its count
// by the threshold, up to noise. If the last steps of a window are in no discovery node that has
// ended, the upper bound for an unknown key is +Inf.
func (w *Window[K]) Interval(key K, confidence float64) (lo, hi float64) {
	if w == nil || w.params.Spans[0] == 0 || !check.Confidence(confidence) {
		return math.NaN(), math.NaN()
	}
	if outside(key, w.params.Dim) {
		return 0, 0
	}
	r, _ := w.find(key)
	alpha := 1 - confidence
	half := newLaplaceSum(w.calibration.known.Scale(), r.known.nodes).beyond(w.allowance(r, shareOfKnown*alpha))
	lo, hi = max(r.known.sum-half, 0), max(r.known.sum+half, 0)
	if len(r.gaps) > 0 {
		d := w.discovered(r, (1-shareOfKnown)*alpha)
		lo, hi = lo+d.least(), hi+d.most()
	}
	// Bounds of different nodes may contradict each other, where one of them misses, and the
	// estimate comes from other counts than they do.
	estimate := max(r.estimate, 0)
	return min(lo, hi, estimate), max(lo, hi, estimate)
}

// outside reports whether there is a Dim and the key is outside of it.
func outside[K hashing.Key](key K, dim int) bool {
	return dim > 0 && wire.KeysOf[K]().Bits(key) >= uint64(dim)
}

// shareOfKnown is the part of 1 − confidence that goes to the steps in which a key is known.
// Whether there are others depends on the noise, so the parts are fixed.
const shareOfKnown = 0.9

// allowance returns what may be used up of alpha. When a key becomes known depends on the noise of
// discovery alone, which is independent of that of known keys; but where keys are retired, which
// published counts are summed up depends on their own noise. There are then n times at which a key
// may be retired in the window or in the rest of its last longest node, whose end may still choose
// counts, and a choice of k of them gets ½·(2n)^−k of alpha: together ½·(1 + 1/(2n))^n < 1.
func (w *Window[K]) allowance(r record[K], alpha float64) float64 {
	if !w.retired {
		return alpha
	}
	longest := w.params.longest()
	end := (w.to + longest - 1) / longest * longest
	times := end/longest - w.from/longest
	if short := w.params.Discovery[0]; short > 0 {
		times += end/short - w.from/short
	}
	return alpha / 2 * math.Pow(2*float64(max(times, 1)), -float64(r.retired))
}

// overlapping returns the number of discovery nodes that have ended, are known, and overlap the
// window.
func (w *Window[K]) overlapping() (n int) {
	for _, span := range used(&w.params.Discovery) {
		for i := w.from / span; i*span < w.to; i++ {
			if w.ended(span, i) {
				n++
			}
		}
	}
	return n
}

// ended reports whether a discovery node has ended, and the timeline has seen it.
func (w *Window[K]) ended(span, i int) bool { return (i+1)*span <= w.steps && (i+1)*span > w.first }

// discovered says what discovery nodes leave possible for a key in steps in which it is not known.
// The bounds of each node miss with probability at most miss, so that those of all nodes that
// overlap the window hold at once, however many are used.
type discovered[K hashing.Key] struct {
	w    *Window[K]
	r    record[K]
	miss float64
	half float64 // of the noise of exact discovery
}

func (w *Window[K]) discovered(r record[K], alpha float64) discovered[K] {
	d := discovered[K]{w: w, r: r, miss: alpha / float64(max(w.overlapping(), 1))}
	if w.params.Counters == 0 && w.params.Dim == 0 {
		d.half = newLaplaceSum(w.calibration.found.Scale(), 1).beyond(d.miss)
	}
	return d
}

// least returns a lower bound on the count in the window: that of any node whose steps in which the
// key was not known lie inside of it.
func (d discovered[K]) least() float64 {
	least := 0.0
	for _, f := range d.r.finds {
		if f.start >= d.w.from && f.until() <= d.w.to {
			lo, _ := d.node(slices.Index(d.w.params.Discovery[:], f.span), f.start)
			least = max(least, lo)
		}
	}
	return least
}

// most returns an upper bound: the least that a choice of nodes gives that together hold all steps
// in which the key is not known.
func (d discovered[K]) most() (sum float64) {
	spans := used(&d.w.params.Discovery)
	if len(spans) == 0 {
		return math.Inf(1)
	}
	top := len(spans) - 1
	for i := d.w.from / spans[top]; i*spans[top] < d.w.to; i++ {
		sum += d.mostIn(spans, top, i)
	}
	return sum
}

func (d discovered[K]) mostIn(spans []int, j, i int) float64 {
	start, end := i*spans[j], (i+1)*spans[j]
	if !slices.ContainsFunc(d.r.gaps, func(g span) bool { return g.from < end && start < g.to }) {
		return 0
	}
	most := math.Inf(1)
	if d.w.ended(spans[j], i) {
		_, most = d.node(j, start)
	}
	if j > 0 {
		sum := 0.0
		for c := start / spans[j-1]; c*spans[j-1] < end; c++ {
			sum += d.mostIn(spans, j-1, c)
		}
		most = min(most, sum)
	}
	return most
}

// node returns bounds on the count of the key in the steps of one node in which it was not known.
func (d discovered[K]) node(j, start int) (lo, hi float64) {
	if d.w.params.Counters > 0 {
		i := slices.IndexFunc(d.w.nodes[j], func(n closedSketch[K]) bool { return n.start == start })
		if i < 0 {
			return 0, math.Inf(1)
		}
		lo, hi = d.w.nodes[j][i].shown.Interval(d.r.key, 1-d.miss)
		return max(lo, 0), hi
	}
	count, shown := float64(d.w.calibration.threshold-1), false
	for _, f := range d.r.finds {
		if f.start == start && f.span == d.w.params.Discovery[j] {
			count, shown = f.count, true
		}
	}
	if !shown {
		return 0, count + d.half
	}
	return max(count-d.half, 0), max(count+d.half, 0)
}

// laplaceSum is the sum S of r independent discrete Laplace variables of scale b: the difference of
// two negative binomial variables A and B, which count the successes before the r-th failure, where
// a success has probability q = e^(−1/b).
//
// Match the successes of A and B one by one, A first; each pair cancels. Either A runs out of
// failures while B has some left, and S ≤ 0; or B does while A has one success that is not matched
// and a more failures to come, so S − 1 is a negative binomial variable of a. With w(a) the
// probability of the latter,
//
//	Pr[S ≥ k] = Σ_a w(a)·Pr[NB(a) ≥ k−1] = q^(k−1)·Σ_(m<r) C(k+m−2, m)·(1−q)^m·W(m),   k ≥ 1
//
// where W(m) = Σ_(a>m) w(a), as Pr[NB(a) ≥ n] = q^n·Σ_(m<a) C(n+m−1, m)·(1−q)^m: the m-th term is
// that the n-th success comes after m failures. All terms are positive, so nothing cancels.
type laplaceSum struct {
	logQ, logP float64
	weights    []float64 // W(m)
}

func newLaplaceSum(b float64, r int) laplaceSum {
	p := -math.Expm1(-1 / b)
	q := math.Exp(-1 / b)
	// In state (a, b) A is to toss next, with a and b failures to come; visits[a] is the expected
	// number of visits to it, and pending[a] to the state where A has a success and B tosses.
	//
	//	visits(a, b) = [start] + p·visits(a+1, b) + q·pending(a, b)
	//	pending(a, b) = q·visits(a, b) + p·pending(a, b+1)
	pending := make([]float64, r+2)
	for b := r; b >= 1; b-- {
		visits := 0.0
		for a := r; a >= 1; a-- {
			into := p * visits // from (a+1, b)
			if a == r && b == r {
				into++
			}
			visits = (into + q*p*pending[a]) / (p * (1 + q)) // 1 − q² in the denominator
			pending[a] = q*visits + p*pending[a]
		}
	}
	weights, sum := make([]float64, r), 0.0
	for a := r; a >= 1; a-- {
		sum += p * pending[a]
		weights[a-1] = sum
	}
	return laplaceSum{-1 / b, math.Log(p), weights}
}

// tail returns Pr[S ≥ k] for k ≥ 1.
func (s laplaceSum) tail(k float64) float64 {
	sum, log := 0.0, (k-1)*s.logQ
	for m, w := range s.weights {
		sum += math.Exp(log) * w
		// −∞ after the first term where k = 1
		log += s.logP + math.Log((k-1+float64(m))/float64(m+1))
	}
	return sum
}

// beyond returns the least h with Pr[|S| > h] ≤ alpha, 0 for a sum of nothing.
func (s laplaceSum) beyond(alpha float64) float64 {
	if len(s.weights) == 0 {
		return 0
	}
	return float64(exact.LeastInt(0, func(h int64) bool { return 2*s.tail(float64(h)+1)*(1+1e-9) <= alpha }))
}
