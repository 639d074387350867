package series

import (
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/wire"
)

// Interval returns bounds that contain the number of counted elements of the key in the window,
// with at least the given confidence over the noise, for any one key and window fixed beforehand,
// known or not. With MaxElements fewer elements may count than came, see [Builder.AddFor]. A key
// outside of Dim does not count: its bounds are 0 and 0. NaN for a confidence outside [0, 1).
//
// For steps in which the key is known, the bounds are those of a sum of a few published counts, by
// the exact quantile of its noise. For other steps they are what the discovery nodes leave
// possible: a key that a node does not show has a count below the threshold, up to noise. So if the
// last steps of a window are in no discovery node that has ended, the upper bound for an unknown
// key is +Inf.
func (w *Window[K]) Interval(key K, confidence float64) (lo, hi float64) {
	if w == nil || w.params.Spans[0] == 0 || !check.Confidence(confidence) {
		return math.NaN(), math.NaN()
	}
	if outside(key, w.params.Dim) {
		return 0, 0
	}
	r, _ := w.find(key)
	alpha := 1 - confidence
	half := newLaplaceSum(w.law.known.Scale(), r.known.nodes).beyond(w.allowance(r, shareOfKnown*alpha))
	lo, hi = max(r.known.sum-half, 0), max(r.known.sum+half, 0)
	if len(r.gaps) > 0 {
		d := w.discovered(r, (1-shareOfKnown)*alpha)
		lo, hi = lo+d.least(), hi+d.most()
	}
	// bounds of different nodes may contradict each other, where one of them misses
	return min(lo, hi), max(lo, hi)
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
		d.half = newLaplaceSum(w.law.found.Scale(), 1).beyond(d.miss)
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
	count, shown := float64(d.w.law.threshold-1), false
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
