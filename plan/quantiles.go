package plan

import (
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/internal/limits"
	"github.com/dpsketch/dpsketch/internal/search"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// Quantiles are released quantiles of columns: public, immutable, safe for concurrent readers. All
// that it computes is post-processing and costs no budget.
type Quantiles struct {
	params QuantileParams // resolved
	levels []float64      // ascending
	keys   []uint32       // of the axis, column after column, ascending in each
}

func (q *Quantiles) valid() bool { return q != nil && len(q.keys) > 0 }

// Params returns the parameters of the release, with every default filled in.
func (q *Quantiles) Params() QuantileParams { return q.params }

// Guarantee returns the guarantee of the release: ρ-zCDP, for all columns and levels together.
func (q *Quantiles) Guarantee() budget.Guarantee {
	if !q.valid() {
		return budget.Guarantee{}
	}
	return q.params.Guarantee()
}

// Dim returns the number of columns.
func (q *Quantiles) Dim() int { return q.params.Dim }

// Levels returns the levels, ascending, as a new slice.
func (q *Quantiles) Levels() []float64 { return slices.Clone(q.levels) }

// column returns the keys of a column.
func (q *Quantiles) column(i int) []uint32 {
	return q.keys[i*len(q.levels) : (i+1)*len(q.levels)]
}

// Quantile returns the quantile of column i of one of the Levels: about level·n of the n rows are
// below it, or at it. NaN for a level that was not released, and for a column outside [0, Dim).
// Quantiles of higher levels are not lower.
func (q *Quantiles) Quantile(i int, level float64) float64 {
	at := slices.Index(q.levels, level)
	if !q.valid() || at < 0 || i < 0 || i >= q.Dim() {
		return math.NaN()
	}
	return q.params.axis().value(q.column(i)[at])
}

// All returns the levels with their quantiles in column i, ascending; nothing outside [0, Dim).
func (q *Quantiles) All(i int) iter.Seq2[float64, float64] {
	return func(yield func(level, value float64) bool) {
		if !q.valid() || i < 0 || i >= q.Dim() {
			return
		}
		a := q.params.axis()
		for at, key := range q.column(i) {
			if !yield(q.levels[at], a.value(key)) {
				return
			}
		}
	}
}

// Interval returns by how many rows, from lo ≤ 0 to hi ≥ 0, the rank of Quantile(i, level) is off
// in one column, at most, with the given confidence in [0, 1): some number in level·n + [lo, hi] is
// at least the number of rows below the quantile and at most that of the rows below or at it, to
// the width of a cell of the axis. Under AddRemove that is for the level rounded to a multiple of
// 2⁻¹⁶. NaN for other arguments, and where a binary search of less than 32 steps leaves several
// cells; infinite where the budget is too small for any bound.
//
// It holds for all data and is the same before any are seen, so it is wide: typical errors are a
// tenth of it. For the exponential mechanism, the candidate that is right has the score 0, so that
// Pr[score > s] ≤ Candidates·w(s)/w(0), with w as in weights.go, e^{−cs} but for its end; the
// confidence is that of all levels of a column together, since they are put in order.
func (q *Quantiles) Interval(level, confidence float64) (lo, hi float64) {
	if !q.valid() || slices.Index(q.levels, level) < 0 || !limits.Confidence(confidence) {
		return math.NaN(), math.NaN()
	}
	reach := q.params.reach(q.levels, (1-confidence)/float64(len(q.levels)))
	return -reach, reach
}

// reach returns the rank error that each of the quantiles of these levels exceeds with probability
// miss at most, NaN if none is known.
func (q QuantileParams) reach(levels []float64, miss float64) (worst float64) {
	rho, keys := q.each(len(levels)), q.axis().keys
	if q.Search > 0 {
		if keys > 1<<min(q.Search, 62) {
			return math.NaN()
		}
		return 0.5 + rankError(q.Search, miss, rho, 1)
	}
	for _, level := range levels {
		if q.Relation == budget.Replace { // the same for every level
			return reachOf(newWeights(rho, level, replaced, 1<<30), keys, miss)
		}
		for _, ch := range []change{added, either} { // dense and sparse rows
			worst = max(worst, reachOf(newWeights(rho, level, ch, 1<<30), keys, miss))
		}
	}
	return worst
}

// reachOf returns the ranks beyond which all of the keys together have the probability miss at most
// beside the one that is right; half a rank is for a wanted rank that was rounded.
func reachOf(w *weights, keys uint64, miss float64) float64 {
	const most = 1 << 40
	enough := func(ranks int64) bool {
		return float64(keys)*float64(w.at(ranks*w.den)) <= miss*float64(w.at(0))
	}
	if !enough(most) {
		return math.Inf(1)
	}
	return 0.5 + float64(search.Least(0, enough))
}

// String says what was released under which guarantee.
func (q *Quantiles) String() string {
	if !q.valid() {
		return "plan.Quantiles (empty)"
	}
	return fmt.Sprintf("plan.Quantiles: %d of each of %d columns in [−%g, %g], %v", len(q.levels), q.Dim(), q.params.Max, q.params.Max, q.Guarantee())
}
