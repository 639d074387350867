package column

import (
	"math"

	"github.com/dpsketch/dpsketch/elliptical/column/internal/tail"
	"github.com/dpsketch/dpsketch/internal/check"
)

// Where the range is learned an interval of Sum or Mean has to say what rows beyond the last
// visible ones may add: package tail has the theorem. [Summary.Interval] is the hull of two
// answers,
//
//   - what follows from the theorem at Params.TailIndex, for all data that have such a tail
//     ([Summary.IntervalTail] alone), and
//   - noise, and as much tail as the last visible bins suggest, which for a heavier tail is more,
//
// or, where the release shows too little to say anything, [Summary.IntervalBounded]. With a Bound
// it is never more than that.

const (
	centreLoss = 18  // e^centreLoss is more than the candidates for the centre
	fewRows    = 500 // fewer in units of the histogram's noise: ε·n < 2000, or n·√ρ < 790
)

// near returns the bin that a distance from the centre, in units of the centre's size, is in; −1
// for less than the first.
func (l *learned) near(distance float64) int {
	_, b := l.histogram.Of(math.Abs(l.centre) * distance)
	return b - 1
}

// unknown reports whether the release says too little of the range for a mean or a sum: so few rows
// that the centre may be anywhere; most of the rows on one side of it, farther than its own
// resolution; or no rows to be seen either at the centre or away from it.
func (s *Summary) unknown() bool {
	if s.found == nil {
		return false
	}
	l, h := s.found, &s.found.histogram
	rows, _, _ := s.forms()
	n := rows.value - 3*s.deviation(rows)
	loss, most := s.params.spending(centreShare).lossOf(1), 5*rows.value/8
	from := l.near(atCentre) + 1
	beside := max(h.Beside(0, from), h.Beside(1, from))
	return loss*n/2 < centreLoss || beside > most || s.dark() && float64(h.Middle)+h.Beside(0, 0)+h.Beside(1, 0) < most
}

// dark reports whether no rows are seen away from the centre.
func (s *Summary) dark() bool {
	return max(s.found.chosen.Top[0], s.found.chosen.Top[1]) <= s.found.near(atCentre)+1
}

// refuted reports whether the sum has not what the histogram has seen of few rows away from the
// centre: noise was taken for rows. The less likely noise is to have made that alone, the less the
// sum has to be above its own: both together do it once in a million releases.
func (s *Summary) refuted() bool {
	if s.found == nil || s.found.chosen.Top == [2]int{} {
		return false
	}
	if _, few := s.found.histogram.Few(); !few {
		return false
	}
	rows, _, _ := s.forms()
	about := s.sum().plus(-s.found.centre, rows)
	claims, seen := s.found.histogram.Claims(s.found.chosen), math.Abs(about.value)
	claimed := 0.0
	switch top := s.found.chosen.Top; { // rows on both sides may cancel out
	case top[0] == 0:
		claimed, seen = claims[1], about.value
	case top[1] == 0:
		claimed, seen = claims[0], -about.value
	}
	return seen < max(claimed/2, s.reach(about, min(2e-4/s.found.histogram.Doubt(s.found.chosen), 1)))
}

// learned returns the interval of Sum or Mean that misses with a probability of miss.
func (s *Summary) learned(of Statistic, miss float64) (lo, hi float64) {
	if s.unknown() || s.dark() && s.found.centre == 0 {
		return s.bounded(of, miss)
	}
	least, most := math.Inf(-1), math.Inf(1)
	if s.params.Bound > 0 {
		least, most = s.bounded(of, .1*miss)
		miss *= .9
	}
	lo, hi = s.tailed(of, miss, s.params.TailIndex, true)
	from, to := s.suggested(of, miss)
	x := s.Value(of)
	lo, hi = min(lo, from, x), max(hi, to, x)
	for side, end := range []*float64{&lo, &hi} {
		if !s.found.histogram.Thins(side, s.found.chosen) {
			*end = math.Inf(2*side - 1)
		}
	}
	return max(lo, min(least, x)), min(hi, max(most, x))
}

// suggested returns the interval of noise and of as much tail as the last visible bins suggest.
func (s *Summary) suggested(of Statistic, miss float64) (lo, hi float64) {
	h, chosen, x := &s.found.histogram, s.found.chosen, s.Value(of)
	n := 1.0
	if rows, _, _ := s.forms(); of == Mean {
		n = max(rows.value, 1)
	}
	quantile := math.Sqrt2 * math.Erfcinv(miss)
	if h.Laplace {
		quantile = max(quantile, 1.04/math.Sqrt2*-math.Log(miss))
	}
	_, _, systematic := h.Back(chosen)
	width := quantile*s.StdErr(of) + systematic/n
	return x - width - h.Beyond(0, chosen)/n, x + width + h.Beyond(1, chosen)/n
}

// hidden returns what the noise exceeds in no bin, except with probability miss.
func (l *learned) hidden(miss float64) float64 {
	return l.noise.Reach(miss / (2*tail.Count + 1))
}

// anchors returns the bins from which on rows have to thin out, in an interval that misses with
// probability miss. What is visible may be noise in some releases of a thousand. So for a miss
// below a hundredth a bin is visible only above what noise exceeds with a part of that probability.
func (s *Summary) anchors(miss float64) [2]int {
	l, sure := s.found, 0.0
	if miss < .01 {
		sure = s.found.hidden(.8 * miss)
	}
	return l.histogram.Anchors(l.chosen, s.found.hidden(.04), sure, s.params.TailIndex, l.near(atCentre)+1, l.near(1))
}

// tailed returns what follows from the theorem of package tail: of the tail eight tenths for all
// bins at once, and one tenth each for the clamped sum, or mean, and for the number of rows. With
// aside it allows for a group on either side that is not seen: one as far as rows are seen on the
// other side, or of few rows 4 octaves further.
func (s *Summary) tailed(of Statistic, miss, index float64, aside bool) (lo, hi float64) {
	h, chosen, top := &s.found.histogram, s.found.chosen, s.anchors(miss)
	most := s.found.hidden(.8 * miss)
	rows, first, _ := s.forms()
	until := max(top[0], top[1])
	if rows.value < fewRows*h.Scale {
		until += 8
	}
	var took [2]float64 // from the sum, by clamping on either side
	for side := range took {
		took[side] = h.Most(side, chosen, top[side], most, index)
		if aside {
			took[side] = max(took[side], h.Aside(side, chosen, top[side], until, most, index, -math.Log(miss)))
		}
	}
	below, above := took[0]-h.Least(1, chosen, most), took[1]-h.Least(0, chosen, most)
	g := s.grid()
	if of == Sum {
		sum := s.sum()
		width := s.reach(sum, .2*miss) + math.Abs(rows.value)*g.unit*rounding
		return sum.value - width - below, sum.value + width + above
	}
	width := s.reach(rows, .1*miss)
	if !(rows.value > width) {
		return math.Inf(-1), math.Inf(1)
	}
	from, to := s.ratio(first, rows, (g.lo-g.middle)/g.unit, (g.hi-g.middle)/g.unit, .1*miss)
	fewest, largest := rows.value-width, rows.value+width
	lo = g.value(from-rounding) - max(below/fewest, below/largest)
	hi = g.value(to+rounding) + max(above/fewest, above/largest)
	return lo, hi
}

// bounded returns the interval that holds for all values up to the Bound.
func (s *Summary) bounded(of Statistic, miss float64) (lo, hi float64) {
	if s.params.Bound == 0 {
		return math.Inf(-1), math.Inf(1)
	}
	lo, hi = s.tailed(of, miss, 0, false)
	if of == Mean {
		lo, hi = max(lo, -s.params.Bound), min(hi, s.params.Bound)
	}
	if x := s.Value(of); x == x {
		return min(lo, x), max(hi, x)
	}
	return min(lo, hi), max(lo, hi) // of a release that contradicts itself the ends may cross
}

// IntervalTail is Interval for a learned range under one assumption, which proves it: beyond the
// last visible group of rows, on either side, there are at most m/(1−r) rows, and each further half
// octave leaves at most a fraction r of them, with r = 2^{−index/2} and m what noise may hide in
// the next bin. If nothing is seen away from the centre, the group ends as far from it as 0 is. NaN
// for an index outside [1.01, 64].
func (s *Summary) IntervalTail(of Statistic, confidence, index float64) (lo, hi float64) {
	if !(index >= minIndex && index <= maxIndex) {
		of = 0
	}
	return s.under(of, confidence, func(miss float64) (lo, hi float64) { return s.tailed(of, miss, index, false) })
}

// under is Interval, but for a learned range what follows from an assumption.
func (s *Summary) under(of Statistic, confidence float64, assumed func(miss float64) (lo, hi float64)) (lo, hi float64) {
	if !s.has(of) || !check.Confidence(confidence) || s.found == nil || of == Count {
		return s.Interval(of, confidence)
	}
	return assumed(1 - confidence)
}

// IntervalBounded is Interval for all data: if the range is learned, it allows for unseen rows at
// the Bound, and is infinite without one.
func (s *Summary) IntervalBounded(of Statistic, confidence float64) (lo, hi float64) {
	return s.under(of, confidence, func(miss float64) (lo, hi float64) { return s.bounded(of, miss) })
}

// Range returns the interval to which values were clamped: [Min, Max], or what was learned; NaN for
// a count alone, and where Value is NaN.
func (s *Summary) Range() (lo, hi float64) {
	switch {
	case !s.has(Sum) || s.unknown():
		return math.NaN(), math.NaN()
	case s.found != nil:
		return s.found.ends()
	}
	return s.params.Min, s.params.Max
}

// Bin is a number of rows between two values, as a learned range saw them.
type Bin struct {
	From, To     float64
	Rows, StdErr float64 // with noise, and its standard deviation
}

// Tail returns the bins, half octaves of the distance from the centre, in which a learned range saw
// rows, ascending.
func (s *Summary) Tail() (bins []Bin) {
	if s == nil || s.found == nil || s.unknown() {
		return nil
	}
	for _, b := range s.found.histogram.Seen(s.found.chosen) {
		bins = append(bins, Bin{s.found.centre + b.From, s.found.centre + b.To, b.Rows, b.StdErr})
	}
	return bins
}
