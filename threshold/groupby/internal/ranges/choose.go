package ranges

import (
	"math"
	"slices"
)

// This file chooses by what is public: noisy counts alone. Whatever it does is post-processing.

// widest is the most half octaves that a key's scale may be from the middle.
const widest = 12

// bulk returns the middle bin of the magnitudes and how far most of them reach from it, by the bins
// above five standard deviations of the noise. It returns false where there is none.
func bulk(magnitudes []float64, sd float64) (middle, reach int, ok bool) {
	total := 0.0
	for _, n := range magnitudes {
		if n > 5*sd {
			total += n
		}
	}
	if total == 0 {
		return 0, 0, false
	}
	at := func(part float64) int { // the bin where the part of all is reached
		sum, last := 0.0, 0
		for b, n := range magnitudes {
			if n > 5*sd {
				if sum += n; sum >= part*total {
					return b
				}
				last = b
			}
		}
		return last
	}
	middle = at(0.5)
	return middle, min(max(middle-at(0.02), at(0.98)-middle, 1), widest), true
}

// scale returns the scale of a key: the middle, moved by the mean of what its users gave in step B
// as far as that is more than noise. sd is that of the noise in steps of half octaves.
func scale(given, users float64, middle, reach int, sd float64) float64 {
	users = max(users, 1)
	moved := min(max(given/users, -float64(reach)), float64(reach))
	moved *= users * users / (users*users + sd*sd/4)
	return math.Exp2((float64(middle+lowest) + 0.5 + moved) / 2)
}

// balance returns λ, the part of what clipping loses in all that a large key loses: the geometric
// mean of the hundred largest counts over the sum of all.
func balance(counts []float64) float64 {
	sorted := slices.Clone(counts)
	slices.Sort(sorted)
	slices.Reverse(sorted)
	logs, sum := 0.0, 0.0
	largest := min(len(sorted), 100)
	for i, n := range sorted {
		n = max(n, 1)
		if sum += n; i < largest {
			logs += math.Log(n)
		}
	}
	return math.Exp(logs/float64(largest)) / sum
}

// radius returns the bin whose lower edge is R, and an estimate of what clipping to it loses: the
// least of (R·noise)² + (λ·lost)². norms are noisy numbers of users by bin of ‖z‖₂. It returns
// false where no bin is more than noise.
func radius(norms []float64, sd, lambda, noise float64) (at int, lost float64, ok bool) {
	h := tail(norms, sd)
	if h.beyond < 0 {
		return 0, 0, false
	}
	least := math.Inf(1)
	for j := range bins {
		l := h.lost(j)
		if cost := math.Hypot(edge(j)*noise, lambda*l); cost < least {
			least, at, lost = cost, j, l
		}
	}
	return at, max(lost, 0), true
}

// visible are the bins of a histogram that are more than noise, and what is expected beyond them.
type visible struct {
	counts   []float64 // of visible bins as measured, of bins beyond as expected
	measured []bool
	beyond   int // the first bin above the visible ones, −1 where none is
}

// tail finds the bins that count. The bulk is where a quarter of all that is above eight standard
// deviations is reached from the top. A group of one, two or four bins is visible where its sum is
// above a threshold that rises with the octaves from the bulk, as a false alarm costs more there.
func tail(norms []float64, sd float64) visible {
	v := visible{make([]float64, bins), make([]bool, bins), -1}
	total, sum, bulk := 0.0, 0.0, -1
	for _, n := range norms {
		if n > 8*sd {
			total += n
		}
	}
	for b := bins - 1; b >= 0 && bulk < 0; b-- {
		if norms[b] > 8*sd {
			if sum += norms[b]; sum > total/4 {
				bulk = b
			}
		}
	}
	for b := 0; b < bins && bulk < 0; b++ { // few users: the lowest bin that is not noise
		if norms[b] > 4.2*sd {
			bulk = b
		}
	}
	if bulk < 0 {
		return v
	}
	for _, m := range []int{1, 2, 4} {
		for from := 0; from+m <= bins; from++ {
			v.group(norms, from, m, bulk, sd)
		}
	}
	for b, seen := range v.measured {
		if seen {
			v.beyond = b + 1
		}
	}
	for b := range max(v.beyond, 0) {
		v.counts[b] = norms[b]
	}
	v.extrapolate(norms, sd)
	return v
}

// group makes a group of m bins visible, from its first to its last positive one, unless one of
// them is already.
func (v *visible) group(norms []float64, from, m, bulk int, sd float64) {
	sum := 0.0
	for b := from; b < from+m; b++ {
		if v.measured[b] {
			return
		}
		sum += norms[b]
	}
	threshold := 4.2
	if from >= bulk-1 {
		threshold = math.Sqrt(9 + 2.77*math.Max(float64(from-bulk)/2, 0))
	}
	if !(sum > threshold*sd*math.Sqrt(float64(m))) {
		return
	}
	first, last := from+m, from
	for b := from; b < from+m; b++ {
		if norms[b] > 0 {
			first, last = min(first, b), b
		}
	}
	for b := first; b <= last; b++ {
		v.measured[b] = true
	}
}

// Beyond the visible bins counts are expected to fall by steepest at least from bin to bin; the
// first few are not more than what is there.
const (
	steepest = 0.68
	capped   = 6
	expected = 60
)

// extrapolate fills in what is expected beyond the visible bins, seven tenths of which count as
// lost.
func (v *visible) extrapolate(norms []float64, sd float64) {
	t := v.beyond
	if t < 0 {
		return
	}
	at := func(b int) float64 {
		if b < 0 {
			return 0
		}
		return v.counts[b]
	}
	ratio := steepest
	if below := at(t-2) + at(t-3); below > 0 {
		ratio = min(ratio, max(at(t-1)+at(t-2), 0)/below)
	}
	last := max(at(t-1), ratio*at(t-2), 0)
	for b := t; b < min(t+expected, bins) && last > 0; b++ {
		next := ratio * last
		if b < t+capped {
			next = min(next, max(norms[b]+sd, 0))
			ratio = min(ratio, next/last)
		}
		v.counts[b], last = next, next
	}
}

// lost returns what clipping to the lower edge of bin j loses in all: 1.18 is the mean of a half
// octave over its edge.
func (v *visible) lost(j int) (sum float64) {
	for b := j; b < bins; b++ {
		part := v.counts[b] * (1.18*edge(b) - edge(j))
		if b >= v.beyond {
			part *= 0.7
		}
		sum += part
	}
	return sum
}

// Bound is an upper bound: Mean, with normal noise of deviation StdDev > 0. The zero Bound says
// that there is none.
type Bound struct{ Mean, StdDev float64 }

// slowest is the largest ratio of losses in neighbouring bins, that a bound is made of.
const slowest = 0.92

// mostLost bounds what clipping to R, the edge of bin j, took of Σ‖z‖₂ over all users, if these
// become fewer beyond the visible bins at least as fast as in a Pareto tail of this index. A user
// loses ‖z‖ − R; in a bin of such a tail ‖z‖ is on average 1.19 times its edge at most.
//
// Where the visible bins become fewer more slowly than that, those beyond count as going on like
// them. There is no bound if such a tail would lose without end.
func mostLost(norms []float64, sd float64, j int, index float64) Bound {
	v := tail(norms, sd)
	t := v.beyond
	loss := func(b int) float64 { return 1.19*edge(b) - edge(j) }
	var bound Bound
	squared := 0.0
	for b := j; b < t; b++ {
		bound.Mean += max(norms[b], 0) * loss(b)
		squared += loss(b) * loss(b)
	}
	at := func(b int) float64 {
		if b < 0 || b >= bins {
			return 0
		}
		return norms[b]
	}
	ratio := math.Exp2(-index / 2)
	// Two estimates of the ratio that can be seen: of one bin to the one before, which is rough,
	// and of two to two, which comes late where the counts bend. Below 1 there is a tail.
	seen := min(at(t-1)/at(t-2), math.Sqrt((at(t-1)+at(t-2))/(at(t-3)+at(t-4))))
	if seen > ratio && seen < 1 {
		if ratio = seen; seen*math.Sqrt2 > slowest {
			return Bound{}
		}
	}
	hidden, users := 0.0, 1.0
	for b := t; b < bins; b++ {
		if b >= j {
			hidden += users * loss(b)
		}
		users *= ratio
	}
	bound.Mean += max(at(t), 0) * hidden
	bound.StdDev = sd * math.Sqrt(squared+hidden*hidden)
	return bound
}
