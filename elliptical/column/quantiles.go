package column

import (
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/elliptical/column/internal/rank"
	"github.com/dpsketch/dpsketch/internal/limits"
	"github.com/dpsketch/dpsketch/internal/quantile"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// Quantiles are released quantiles of a column: public, immutable, safe for concurrent readers.
type Quantiles struct {
	params quantileParams
	axis   rank.Axis // of the params
	cells  []int     // by level; nil only in a zero value
	ends   [2]int    // of the interval of a single level, as cell + 1
}

func (q *Quantiles) valid() bool { return q != nil && len(q.cells) > 0 }

// Params returns the parameters of the release, with the defaults filled in.
func (q *Quantiles) Params() Params { return q.params.Params }

// Guarantee returns the guarantee of the release, for one row.
func (q *Quantiles) Guarantee() budget.Guarantee {
	if !q.valid() {
		return budget.Guarantee{}
	}
	return q.params.promise()
}

// Len returns the number of levels.
func (q *Quantiles) Len() int { return len(q.cells) }

// All returns the levels with their quantiles, in ascending order.
func (q *Quantiles) All() iter.Seq2[float64, float64] {
	return func(yield func(level, value float64) bool) {
		for i, cell := range q.cells {
			if !yield(q.params.Levels[i], q.axis.Value(int64(cell))) {
				return
			}
		}
	}
}

// index returns the place of a level among those that were released, or −1.
func (q *Quantiles) index(level float64) int {
	if !q.valid() {
		return -1
	}
	return slices.Index(q.params.levels(), level)
}

// Quantile returns the quantile of one of the levels: about level·n of the n rows are below it, or
// at it. NaN for a level that was not released. Quantiles of higher levels are not lower.
func (q *Quantiles) Quantile(level float64) float64 {
	i := q.index(level)
	if i < 0 {
		return math.NaN()
	}
	return q.axis.Value(int64(q.cells[i]))
}

// Interval returns values between which the quantile of the clamped values lies with the given
// confidence in [0, 1), for all data. If level·n is an integer, the interval contains both the
// level·n-th value and the next one. (The level is taken as a multiple of 2⁻²⁴.) It contains
// Quantile(level). It was chosen at the release, for a confidence of .99, and is the same for all
// smaller ones; for larger ones it is the whole axis. NaN if more than one level was released, and
// for other arguments.
//
// The ends are two separate choices, of ranks e rows less and e rows more, with e such that the
// rank of either is off by at most e − 1, except with probability .005 (see [quantile.Most]; for
// the 4/3·ln of some 10⁹ over ε rows of the median, 132 at ε = 1).
func (q *Quantiles) Interval(level, confidence float64) (lo, hi float64) {
	if q.index(level) < 0 || !q.params.single() || !limits.Confidence(confidence) {
		return math.NaN(), math.NaN()
	}
	if confidence > 1-2*endMiss {
		return q.axis.Low, q.axis.High
	}
	lo, _ = q.axis.Edges(int64(q.ends[0]) - 1)
	_, hi = q.axis.Edges(int64(q.ends[1]) - 1)
	return min(lo, q.Quantile(level)), max(hi, q.Quantile(level))
}

// RankInterval returns bounds lo ≤ 0 ≤ hi on the error of the rank of Quantile(level), in rows,
// with the given confidence in [0, 1): some number in level·n + [lo, hi] is at least the number of
// rows in the cells before the quantile's cell, and at most that number plus the rows of the cell.
// It says nothing about the rows in the cell, which are within half of a Resolution or some
// millionths of the value. NaN for other arguments.
//
// It holds for all data, is known before any are seen, and so is wide: typical errors are a tenth
// of it. In each of the r rounds that lead to the level at least one place has the wanted rank (see
// [quantile.Most]); the confidence is divided by r, and the bounds of the rounds add up, with one
// row for each place that cuts the rows, if no cell has more than 2³² of them.
func (q *Quantiles) RankInterval(level, confidence float64) (lo, hi float64) {
	at := q.index(level)
	if at < 0 || !limits.Confidence(confidence) {
		return math.NaN(), math.NaN()
	}
	levels, loss, places := q.params.levels(), q.params.loss(), q.axis.Cells()*q.params.places()
	each := (1 - confidence) / float64(q.params.depth())
	from, to, below, above := 0, len(levels), 0.0, 1.0
	for {
		middle := (from + to) / 2
		hi += quantile.Most(places, (levels[middle]-below)/(above-below), loss, each)
		switch {
		case at == middle:
			return -hi, hi
		case at < middle:
			to, above = middle, levels[middle]
		default:
			from, below = middle+1, levels[middle]
		}
		hi++
	}
}

// String says what was released under which guarantee.
func (q *Quantiles) String() string {
	if !q.valid() {
		return "column.Quantiles (empty)"
	}
	steps := ""
	if r := q.params.Resolution; r != 0 {
		steps = fmt.Sprintf(", in steps of %g", r)
	}
	return fmt.Sprintf("column.Quantiles: %d of values in [%g, %g]%s, %v", len(q.cells), q.axis.Low, q.axis.High, steps, q.Guarantee())
}
