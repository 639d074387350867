package column

import (
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/elliptical/column/internal/rank"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/quantile"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// Quantiles are released quantiles of a column: public, immutable, safe for concurrent readers.
// Their methods return NaN for levels that were not released and confidences outside [0, 1).
type Quantiles struct {
	params quantileParams
	axis   rank.Axis // of the params
	rows   int64     // with noise under AddRemove
	cells  []int     // by level; nil only in a zero value
	ends   [2]int    // of the interval of a single level, as cell + 1
}

func (q *Quantiles) valid() bool { return q != nil && len(q.cells) > 0 }

// Params returns those of the release, filled in.
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

// All returns the levels with their quantiles, ascending.
func (q *Quantiles) All() iter.Seq2[float64, float64] {
	return func(yield func(level, value float64) bool) {
		for _, level := range q.params.levels()[:len(q.cells)] {
			if !yield(level, q.Quantile(level)) {
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

// Quantile returns the quantile of one of the levels: about level·n of the n rows are at or below
// it. Quantiles of higher levels are not lower.
//
// It is NaN where no more than an eighth of the rows that should be on one side may be, with a
// probability above 0.001, for all data. At ε = 1 a median is known from 300 rows on, p95 from
// 2000, p99 from 9000; of .5, .9 and .99 together from 800, 2000 and 13,000. [Quantiles.Interval]
// has the end that is known.
func (q *Quantiles) Quantile(level float64) float64 {
	i := q.index(level)
	if i < 0 || !q.known(i) {
		return math.NaN()
	}
	return q.axis.Value(int64(q.cells[i]))
}

// known reports whether the quantile of a level can be far outside of where rows are with a
// probability of at most 0.001: see "Where a quantile may lie" in internal/quantile,
// spread_proof.md.
func (q *Quantiles) known(i int) bool {
	level, g := q.params.Levels[i], q.guard()
	if !(g.All > 0) {
		return false
	}
	above, below := g.Above(i, (1-level)/8*g.All), g.Below(i, level/8*g.All)
	return math.Exp(above)+math.Exp(below) <= mostAstray
}

// guard returns what is known of the draws, for the fewest rows that there may be.
func (q *Quantiles) guard() (g quantile.Guard) {
	levels, loss := q.params.levels(), q.params.loss()
	low, high := q.count(missRows)
	g.All, g.Most = low, high
	parts := quantile.Parts(levels)
	for j, p := range parts {
		kappa := 1 / quantile.MeanError(p.Level, loss)
		first, end, cut := int64(0), q.axis.Cells(), 1.0
		if p.Left >= 0 {
			first, cut = int64(q.cells[p.Left]), 1/(p.Level*p.Share)
		}
		if p.Right < len(levels) {
			end, cut = int64(q.cells[p.Right])+1, max(cut, 1/((1-p.Level)*p.Share))
		}
		most := cut
		if !quantile.Leaf(parts, j) {
			most += kappa * high
		}
		cells := math.Log(float64(end-first) * most)
		g.Draws = append(g.Draws, quantile.Drawn{Part: p, Above: kappa, Below: kappa, Up: cells, Down: cells})
	}
	return g
}

// count returns bounds on the number of rows, either of which is wrong with probability miss.
func (q *Quantiles) count(miss float64) (low, high float64) {
	n, reach := float64(q.rows), 0.0
	if q.params.Relation == budget.AddRemove {
		noise := q.params.rowsNoise()
		reach = noise.Reach(2 * miss)
	}
	return max(n-reach, 0), max(n+reach, 0)
}

// Interval returns values between which the quantile of the clamped values lies with the given
// confidence in [0, 1), for all data. It contains Quantile(level) and, if level·n is an integer,
// both the level·n-th value and the next one. Where nothing bounds the quantile an end is Min or
// Max, or infinite without a range and a Bound.
//
// With one level it was chosen at the release, for a confidence of .99, and is the same for all
// smaller ones; for larger ones nothing is known. With several, the ends are the nearest quantiles
// of other levels whose [Quantiles.RankInterval] shows that they are on that side: the first level
// has no lower end and the last no upper one.
func (q *Quantiles) Interval(level, confidence float64) (lo, hi float64) {
	// The ends of one level are two separate choices, of ranks e rows less and e rows more, with e
	// such that the rank of either is off by at most e − 1, except with probability .005 (see
	// quantile.Most; for the median, 152 at ε = 1). The level is taken as a multiple of 2⁻²⁴.
	i := q.index(level)
	if i < 0 || !check.Confidence(confidence) {
		return math.NaN(), math.NaN()
	}
	lo, hi = q.axis.Low, q.axis.High
	if q.params.learns() && q.params.Bound == 0 {
		lo, hi = math.Inf(-1), math.Inf(1)
	}
	if q.params.single() {
		if below, above := q.ended(); confidence <= 1-2*endMiss {
			if below {
				lo, _ = q.axis.Edges(int64(q.ends[0]) - 1)
			}
			if above {
				_, hi = q.axis.Edges(int64(q.ends[1]) - 1)
			}
		}
	} else {
		lo, hi = q.beside(i, (1-confidence)/4, lo, hi)
	}
	if x := q.Quantile(level); x == x {
		lo, hi = min(lo, x), max(hi, x)
	}
	return lo, hi
}

// ended reports whether the ends of the interval of a single level lie among rows: whether either
// side has enough rows.
func (q *Quantiles) ended() (below, above bool) {
	c, off := q.params.ended(q.axis.Cells())
	n, _ := q.count(missRows)
	enough := float64(off) + quantile.Most(c.To, c.Level, c.Loss, 2*endMiss)
	return q.ends[0] > 0 && c.Level*n >= enough, q.ends[1] <= int(q.axis.Cells()) && (1-c.Level)*n >= enough
}

// beside returns the cells of the nearest levels on either side of the quantile of level i, or lo
// and hi. Each fails with a probability of at most miss for the ranks, and miss for the number of
// rows.
func (q *Quantiles) beside(i int, miss, lo, hi float64) (float64, float64) {
	levels := q.params.levels()
	n, most := q.count(miss)
	shows := func(j int) bool {
		return math.Abs(levels[j]-levels[i])*n >= q.rankError(j, miss)+1+0x1p-23*most
	}
	for j := range i {
		if shows(j) {
			lo, _ = q.axis.Edges(int64(q.cells[j]))
		}
	}
	for j := len(levels) - 1; j > i; j-- {
		if shows(j) {
			_, hi = q.axis.Edges(int64(q.cells[j]))
		}
	}
	return lo, hi
}

// RankInterval returns bounds lo ≤ 0 ≤ hi on the error of the rank of Quantile(level), in rows,
// with the given confidence in [0, 1): some number in level·n + [lo, hi] is at least the number of
// rows in the cells before the quantile's cell, and at most that number plus the rows of the cell.
//
// It holds for all data of at most 2³² rows a cell, and so is wide: typical errors are a tenth.
func (q *Quantiles) RankInterval(level, confidence float64) (lo, hi float64) {
	// In each of the r rounds that lead to the level at least one place has the wanted rank (see
	// quantile.Most). The confidence is divided by r, and the bounds of the rounds add up, with one
	// row for each place that cuts the rows, if no cell has more than 2³² of them.
	at := q.index(level)
	if at < 0 || !check.Confidence(confidence) {
		return math.NaN(), math.NaN()
	}
	hi = q.rankError(at, 1-confidence)
	return -hi, hi
}

// rankError returns what the error of the rank of a level exceeds with probability miss at most.
func (q *Quantiles) rankError(at int, miss float64) (most float64) {
	levels, loss, places := q.params.levels(), q.params.loss(), q.axis.Cells()*q.params.places()
	each := miss / float64(q.params.depth())
	from, to, below, above := 0, len(levels), 0.0, 1.0
	for {
		middle := (from + to) / 2
		most += quantile.Most(places, (levels[middle]-below)/(above-below), loss, each)
		switch {
		case at == middle:
			return most
		case at < middle:
			to, above = middle, levels[middle]
		default:
			from, below = middle+1, levels[middle]
		}
		most++
	}
}

// String says what was released under which guarantee, and what is known of unknown levels.
func (q *Quantiles) String() string {
	if !q.valid() {
		return "column.Quantiles (empty)"
	}
	text := fmt.Sprintf("column.Quantiles: %d of values in [%g, %g]", len(q.cells), q.axis.Low, q.axis.High)
	if r := q.params.Resolution; r != 0 {
		text += fmt.Sprintf(", in steps of %g", r)
	}
	for level, x := range q.All() {
		if x != x {
			lo, hi := q.Interval(level, wire.Confidence)
			text += fmt.Sprintf(", p%.6g unknown in [%g, %g]", 100*level, lo, hi)
		}
	}
	return fmt.Sprintf("%s, %v", text, q.Guarantee())
}
