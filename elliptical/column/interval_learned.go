package column

import (
	"math"

	"github.com/dpsketch/dpsketch/elliptical/column/internal/tail"
	"github.com/dpsketch/dpsketch/internal/limits"
)

// Where the range is learned an interval of Sum or Mean has to say what rows beyond the last
// visible ones may add: package tail has the theorem. [Summary.Interval] is the hull of two
// answers,
//
//   - what follows from the theorem at Params.TailIndex, for all data that have such a tail
//     ([Summary.IntervalTail] alone), and
//   - noise, and as much tail as the last visible bins suggest, which for a heavier tail is more,
//
// or, where the release shows too little to say anything, [Summary.IntervalBounded]: (a) no bin is
// visible; (b) so few rows are that the centre may be anywhere; (c) nearly all of them are in one
// bin beside the centre with none next to them, a tie that the centre missed; (d) the number of
// rows may be 0.

const (
	centreLoss = 18  // e^centreLoss is more than the cells of the axis
	fewRows    = 500 // fewer in units of the histogram's noise: ε·n < 2000, or n·√ρ < 790
)

// unclear reports whether (a), (b) or (c) is the case.
func (s *Summary) unclear() bool {
	l := s.found
	all, _ := l.histogram.Sure()
	loss := s.params.spending(centreShare).lossOf(1)
	return l.chosen.Top == [2]int{} || loss*all/2 < centreLoss || l.histogram.Alone(all*5/8)
}

// learned returns the interval of Sum or Mean that misses with a probability of miss.
func (s *Summary) learned(of Statistic, miss float64) (lo, hi float64) {
	lo, hi = s.tailed(of, miss, s.params.TailIndex, true)
	if s.unclear() || math.IsInf(lo, 0) {
		return s.bounded(of, miss)
	}
	from, to := s.suggested(of, miss)
	return min(lo, from), max(hi, to)
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
func (p Params) hidden(miss float64) float64 {
	noise := p.counted()
	return noise.most(miss / (2*tail.Count + 1))
}

// anchors returns the bins from which on rows have to thin out: the same for all confidences.
func (s *Summary) anchors() [2]int {
	return s.found.histogram.Anchors(s.found.chosen, s.params.hidden(.04), s.params.TailIndex)
}

// tailed returns what follows from the theorem of package tail: of the tail eight tenths for all
// bins at once, and one tenth each for the clamped sum, or mean, and for the number of rows. With
// aside it allows for a group on either side that is not seen: one as far as rows are seen on the
// other side, or of few rows 4 octaves further.
func (s *Summary) tailed(of Statistic, miss, index float64, aside bool) (lo, hi float64) {
	h, chosen, top := &s.found.histogram, s.found.chosen, s.anchors()
	most := s.params.hidden(.8 * miss)
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
	return min(lo, s.Value(of)), max(hi, s.Value(of))
}

// askable reports whether there is an interval of a statistic.
func (s *Summary) askable(of Statistic, confidence float64) bool {
	return s.has(of) && limits.Confidence(confidence)
}

// IntervalTail is Interval for a learned range, under an assumption on the data. Beyond the last
// visible group of rows, on either side, there are at most m/(1−r) rows, and each further half
// octave leaves at most a fraction r of them, with r = 2^{−index/2} and m what noise may hide in
// the next bin. Under this assumption the interval is proved; without it, it says nothing. The
// index must be in [1.01, 64]; NaN for others. If the range is given, IntervalTail is
// [Summary.Interval].
func (s *Summary) IntervalTail(of Statistic, confidence, index float64) (lo, hi float64) {
	switch {
	case !s.askable(of, confidence) || !(index >= minIndex && index <= maxIndex):
		return math.NaN(), math.NaN()
	case s.found == nil || of == Count:
		return s.Interval(of, confidence)
	}
	return s.tailed(of, 1-confidence, index, false)
}

// IntervalBounded is Interval for all data: values clamped to [Min, Max], or up to the Bound in
// absolute value. If the range is learned, it allows for unseen rows at the Bound, and is infinite
// without a Bound.
func (s *Summary) IntervalBounded(of Statistic, confidence float64) (lo, hi float64) {
	switch {
	case !s.askable(of, confidence):
		return math.NaN(), math.NaN()
	case s.found == nil || of == Count:
		return s.Interval(of, confidence)
	}
	return s.bounded(of, 1-confidence)
}

// Range returns the interval to which values were clamped: [Min, Max], or what was learned. NaN for
// a count alone.
func (s *Summary) Range() (lo, hi float64) {
	switch {
	case !s.has(Sum):
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

// Tail returns the bins, half octaves of the distance from the centre, in which rows can be seen,
// in ascending order; none where the range is given. Those outside of [Summary.Range] are added
// back.
func (s *Summary) Tail() (bins []Bin) {
	if s == nil || s.found == nil {
		return nil
	}
	for _, b := range s.found.histogram.Seen(s.found.chosen) {
		bins = append(bins, Bin{s.found.centre + b.From, s.found.centre + b.To, b.Rows, b.StdErr})
	}
	return bins
}
