package column

import (
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/internal/limits"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// Quantiles are released quantiles of a column: public, immutable, safe for concurrent readers.
type Quantiles struct {
	params quantileParams
	cells  []int // by level; nil only in a zero value
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
			if !yield(q.params.Levels[i], q.params.value(int64(cell))) {
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
	return q.params.value(int64(q.cells[i]))
}

// RankInterval returns by how many rows, from lo ≤ 0 to hi ≥ 0, the rank of Quantile(level) is off,
// at most, with the given confidence in [0, 1): with q the quantile and r half of the Resolution,
// some number in level·n + [lo, hi] is at least the number of rows below q − r and at most that of
// the rows up to q + r. Of the rows within r of q, which are one step of the Resolution, it says
// nothing. NaN for other arguments.
//
// It holds for all data and is the same before any are seen, so that it is wide: typical errors are
// a tenth of it. In each of the r rounds that lead to the level
//
//	Pr[|d| > 1 + s] ≤ (places of the axis)·e^−κs
//
// as there is one place at least with |d| ≤ 1; the confidence is divided by r, and the bounds of
// the rounds add up. (Two of k rows of one cell may share a place, with probability k·2⁻³² where it
// matters, which is left out.)
func (q *Quantiles) RankInterval(level, confidence float64) (lo, hi float64) {
	at := q.index(level)
	if at < 0 || !limits.Confidence(confidence) {
		return math.NaN(), math.NaN()
	}
	levels, loss := q.params.levels(), q.params.loss()
	each := (1 - confidence) / float64(q.params.depth())
	places := float64(q.params.cells()) * (1 << cellBits)
	from, to, below, above := 0, len(levels), 0.0, 1.0
	for {
		middle := (from + to) / 2
		p := newPart(0, 1, 0, 0, (levels[middle]-below)/(above-below), loss)
		hi += 1 + math.Log(places/each)/p.kappa
		switch {
		case at == middle:
			return -hi, hi
		case at < middle:
			to, above = middle, levels[middle]
		default:
			from, below = middle+1, levels[middle]
		}
	}
}

// String says what was released under which guarantee.
func (q *Quantiles) String() string {
	if !q.valid() {
		return "column.Quantiles (empty)"
	}
	return fmt.Sprintf("column.Quantiles: %d of values in [%g, %g], in steps of %g, %v", len(q.cells), q.params.Min, q.params.Max, q.params.Resolution, q.Guarantee())
}
