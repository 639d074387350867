package groupby

import (
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/internal/limits"
	"github.com/dpsketch/dpsketch/internal/quantile"
)

// leastErrors is how many rank errors of users there must be on either side of a quantile.
const leastErrors = 3

// ranks returns the mean error in rank of each level, in users.
func (p *Params) ranks(s spread) []float64 {
	alone := func(level float64) float64 { return quantile.MeanError(level, s.loss) / spreadUnit }
	return quantile.Errors(p.levels(), alone, math.Hypot)
}

// Quantile returns the estimated quantile of the users' values in the key, at one of the Levels: at
// 0.9, a value that nine in ten users do not exceed. If a user has several values in the key, one
// of them counts, drawn by secret randomness (sums and means add them). A user with l > 4 keys
// counts √(4/l), and a user with more than 1024 keys does not count. See Params.Resolution for how
// exact the value is.
//
// It is NaN if the key is not shown, if the level was not released, or if too few users are on one
// side of the quantile: the value could then be far outside the data. Too few is always below
// 3·Plan.RankError of the level, and mostly below 6 to 9 times Plan.RankError. So p99 needs some
// 20,000 users of the key at ε = 1.
func (g *Groups[K]) Quantile(key K, level float64) float64 {
	e, i, shown := g.quantile(key, level)
	if !shown || i < 0 || !(min(level, 1-level)*g.count(e) >= leastErrors*g.law.ranks[i]) || !g.plausible(e, i, level) {
		return math.NaN()
	}
	return g.law.scale.value(e.cells[3*i+1])
}

// plausible reports whether it is likelier that a quantile was drawn among the values than from the
// empty cells beyond them, which are many where the range is wide. Where s users should be on a
// side, each empty cell weighs e^{−s/r} of one at the quantile, r its rank error. The cut on the
// other side of the quantile is among the values. So the cells between the two are what an error
// would have had to choose from, and the released weight of the cell and beyond is about 0 after
// an error, s otherwise: the ratio of its densities is the other factor.
func (g *Groups[K]) plausible(e group[K], i int, level float64) bool {
	cuts, cell, n := edges(e.cells), e.cells[3*i+1], g.count(e)
	low, high := slices.Index(cuts, cell), slices.Index(cuts, cell+1)
	variance := g.law.spread.weigh * g.law.spread.weigh / (spreadUnit * spreadUnit)
	if g.params.pure() {
		variance *= 2
	}
	side := func(cells uint32, s, weight float64, weights int) bool {
		return 1+math.Log1p(float64(cells)) <= s/g.law.ranks[i]+s*(2*weight-s)/(2*variance*float64(weights))
	}
	return side(e.cells[3*i+2]-cell, level*n, g.rank(e, 0, high)/spreadUnit, high+1) &&
		side(cell-e.cells[3*i], (1-level)*n, -g.rank(e, 1, low)/spreadUnit, len(cuts)-low)
}

// quantile returns the group of a key, and the number of the level, −1 if there is none.
func (g *Groups[K]) quantile(key K, level float64) (e group[K], i int, shown bool) {
	if !g.valid() {
		return e, -1, false
	}
	e, shown = g.find(key)
	return e, slices.Index(g.params.levels(), level), shown
}

// QuantileInterval returns bounds that hold a quantile of the users' values in the key, as
// [Groups.Quantile] weighs them, with at least the given confidence in [0, 1), over the noise, for
// any one key fixed before the release. They are ends of cells of the axis. If too few users are on
// one side, the bound on that side is Min or Max, or infinite without a range. NaN for a level that
// was not released.
//
// The release has cuts on either side of each quantile, and the weights between them with noise of
// their own. From either end, the search passes cut after cut while the noisy weight outside a cut
// shows that the quantile is further inside. The first cut that could be passed wrongly is fixed
// before that noise, so only one test may err.
func (g *Groups[K]) QuantileInterval(key K, level, confidence float64) (lo, hi float64) {
	e, i, shown := g.quantile(key, level)
	if i < 0 || !limits.Confidence(confidence) {
		return math.NaN(), math.NaN()
	}
	s := g.law.scale
	lo, hi = s.least, s.most
	if !g.params.values() {
		lo, hi = math.Inf(-1), math.Inf(1)
	}
	if !shown {
		return lo, hi
	}
	cuts, alpha := edges(e.cells), (1-confidence)/2
	for j, edge := range cuts {
		if !(g.rank(e, level, j)+g.params.rankNoise(g.law.spread, level, j+1, alpha) <= 0) {
			break
		}
		lo = s.edge(int64(edge))
	}
	for j, edge := range slices.Backward(cuts) {
		if !(g.rank(e, level, j)-g.params.rankNoise(g.law.spread, level, j+1, alpha) >= 0) {
			break
		}
		hi = s.edge(int64(edge))
	}
	if x := g.Quantile(key, level); x == x {
		lo, hi = min(lo, x), max(hi, x)
	}
	return lo, hi
}

// rank returns how much more weight than its share of a level is before edge j of a group, in steps
// and with noise.
func (g *Groups[K]) rank(e group[K], level float64, j int) (rank float64) {
	for i, w := range e.weights {
		if i <= j {
			rank += (1 - level) * float64(w)
		} else {
			rank -= level * float64(w)
		}
	}
	return rank
}

// RankInterval returns bounds lo ≤ 0 ≤ hi, in users, on the error of the rank of Quantile(key,
// level), with the given confidence in [0, 1). Let n be the users' weight: some number in level·n +
// [lo, hi] is at least the weight of the cells below the quantile's cell, and at most that weight
// plus the cell's own. Infinite for a key that is not shown, NaN for a level that was not released.
func (g *Groups[K]) RankInterval(key K, level, confidence float64) (lo, hi float64) {
	e, i, shown := g.quantile(key, level)
	switch {
	case i < 0 || !limits.Confidence(confidence):
		return math.NaN(), math.NaN()
	case !shown:
		return math.Inf(-1), math.Inf(1)
	}
	cuts, cell := edges(e.cells), e.cells[3*i+1]
	at := func(cell uint32) (rank, noise float64) {
		j := slices.Index(cuts, cell)
		return g.rank(e, level, j) / spreadUnit, g.params.rankNoise(g.law.spread, level, j+1, (1-confidence)/2) / spreadUnit
	}
	from, noise := at(cell)
	to, after := at(cell + 1)
	return min(to-after, 0), max(from+noise, 0)
}
