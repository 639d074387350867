package groupby

import (
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/quantile"
)

// Quantile returns the estimated quantile of the users' values in the key, at one of the Levels: at
// 0.9, a value that nine in ten users do not exceed. If a user has several values in the key, one
// of them counts, drawn by secret randomness (sums and means add them). A user with l > 4 keys
// counts √(4/l), and a user with more than 1024 keys does not count. See Params.Resolution for how
// exact the value is.
//
// It is NaN if the key is not shown, if the level was not released, or if too few users are on one
// side of the quantile: where no more than an eighth of the users that should be there may be, with
// a probability above 0.001. [Groups.QuantileInterval] then has the end that is known, and
// Plan.Known says how many users it takes: at ε = 1 and δ = 1e-6, with one level, 400 for the
// median, 3000 for p95, and 15,000 for p99. The probability is over the noise, for all values of
// users with up to 4 keys; for others it is an estimate.
func (g *Groups[K]) Quantile(key K, level float64) float64 {
	e, i, shown := g.quantile(key, level)
	if !shown || i < 0 || !g.known(e, i) {
		return math.NaN()
	}
	return g.noises.scale.value(e.cells[3*i+1])
}

// known reports whether a quantile can be far outside of where values are with a probability of at
// most [mostAstray], by what was released.
func (g *Groups[K]) known(e group[K], i int) bool {
	levels, n := g.params.levels(), g.noisy(e)
	guard := quantile.Guard{Noise: g.noiseOfCount, Draws: make([]quantile.Drawn, len(levels))}
	all, sd := 0.0, g.noises.spread.weigh/spreadUnit*math.Sqrt(float64(len(e.weights)))
	for _, w := range e.weights {
		all += float64(w) / spreadUnit
	}
	if guard.All = min(n, all+2*sd); !(guard.All > 0) {
		return false
	}
	for j, d := range g.noises.draws(levels, n) {
		guard.Draws[j] = g.drawn(e, j, d, guard.All)
	}
	cuts, cell := edges(e.cells), e.cells[3*i+1]
	low, high := slices.Index(cuts, cell), slices.Index(cuts, cell+1)
	astray := 0.0
	rest := (1 - levels[i]) / 8 * guard.All
	astray += math.Exp(guard.Above(i, rest) + g.params.logTail(g.noises.spread, e.weights[low+1:], rest))
	rest = levels[i] / 8 * guard.All
	astray += math.Exp(guard.Below(i, rest) + g.params.logTail(g.noises.spread, e.weights[:high+1], rest))
	return astray <= mostAstray
}

// drawn returns what is known of a draw, among so many users.
func (g *Groups[K]) drawn(e group[K], j int, d draw, users float64) quantile.Drawn {
	cell, part := int64(e.cells[3*j+1]), d.Share*users
	kappa := g.noises.spread.kappa(d.Level)
	k := quantile.Drawn{Part: d.Part, Above: kappa * d.steep, Below: kappa * (2 - d.steep)}
	if d.Level < 0.5 {
		k.Above, k.Below = k.Below, k.Above
	}
	first, end := int64(0), g.noises.scale.cells
	// The target is between the ends of the part; of the first draw, between edges that the weights
	// show to be on either side.
	from, to := first, end
	if d.Left < 0 && d.Right == len(g.params.levels()) {
		from, to = g.between(e, g.params.levels()[j], missCut)
	}
	// In a heavy cell that is not whole only the places near the target count; and a cell of the
	// weight w that an end of the part cuts has the base measure of what is left of it.
	steepest := max(k.Above, k.Below)
	if d.whole {
		steepest = 0
	}
	cut := 1.0
	if d.Left >= 0 {
		first = int64(e.cells[3*d.Left+1])
		w := min(g.weightIn(e, first, first+1), users)
		from, cut = first, max(cut, w/(d.Level*part)+steepest*w)
	}
	if d.Right < len(g.params.levels()) {
		end = int64(e.cells[3*d.Right+1]) + 1
		w := min(g.weightIn(e, end-1, end), users)
		to, cut = end, max(cut, w/((1-d.Level)*part)+steepest*w)
	}
	among := func(from, to int64) float64 {
		return math.Log(max(cut, 1+steepest*min(part, g.weightIn(e, from, to))))
	}
	k.Up = d.fall.Above(min(from, cell), cell, end) + among(from, cell+1)
	k.Down = d.fall.Below(first, cell, max(to-1, cell)) + among(cell, to)
	return k
}

// weightIn returns an upper bound, in users, on the weight in the cells from ≤ x < to between edges
// of the group or ends of the axis, which is wrong with probability missCut at most.
func (g *Groups[K]) weightIn(e group[K], from, to int64) float64 {
	cuts, low, high := edges(e.cells), 0, len(e.weights)
	if i := slices.Index(cuts, uint32(from)); i >= 0 && from > 0 {
		low = i + 1
	}
	if i := slices.Index(cuts, uint32(to)); i >= 0 {
		high = i + 1
	}
	if high <= low {
		return math.Inf(1)
	}
	sum := 0.0
	for _, w := range e.weights[low:high] {
		sum += float64(w)
	}
	return max(sum+g.params.rankNoise(g.noises.spread, 0, high-low, missCut), 0) / spreadUnit
}

// noiseOfCount returns ln E e^(θ·noise) of a count; without δ that of a number which the noise is
// below but with probability missCut.
func (g *Groups[K]) noiseOfCount(theta float64) float64 {
	x := theta * g.noises.count
	if g.params.pure() {
		return -x / math.Sqrt2 * math.Log(2*missCut)
	}
	return x * x / 2
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
// one side, the bound on that side is Min or Max, or infinite without a range: p99 ≥ 100. NaN for a
// level that was not released.
//
// The release has cuts on either side of each quantile, and the weights between them with noise of
// their own. From either end, the search passes cut after cut while the noisy weight outside a cut
// shows that the quantile is further inside. The first cut that could be passed wrongly is fixed
// before that noise, so only one test may err.
func (g *Groups[K]) QuantileInterval(key K, level, confidence float64) (lo, hi float64) {
	e, i, shown := g.quantile(key, level)
	if i < 0 || !check.Confidence(confidence) {
		return math.NaN(), math.NaN()
	}
	s := g.noises.scale
	lo, hi = math.Inf(-1), math.Inf(1)
	if g.params.values() {
		lo, hi = s.least, s.most
	}
	if !shown {
		return lo, hi
	}
	from, to := g.between(e, level, (1-confidence)/2)
	if from > 0 {
		lo = s.edge(from)
	}
	if to < s.cells {
		hi = s.edge(to)
	}
	if x := g.Quantile(key, level); x == x {
		lo, hi = min(lo, x), max(hi, x)
	}
	return lo, hi
}

// between returns the cells from ≤ x < to that the quantile of a level is in, as far as the weights
// show it, where either end is wrong with probability alpha at most.
func (g *Groups[K]) between(e group[K], level, alpha float64) (from, to int64) {
	cuts := edges(e.cells)
	to = g.noises.scale.cells
	for j, edge := range cuts {
		if !(g.rank(e, level, j)+g.params.rankNoise(g.noises.spread, level, j+1, alpha) <= 0) {
			break
		}
		from = int64(edge)
	}
	for j, edge := range slices.Backward(cuts) {
		if !(g.rank(e, level, j)-g.params.rankNoise(g.noises.spread, level, j+1, alpha) >= 0) {
			break
		}
		to = int64(edge)
	}
	return from, to
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
	case i < 0 || !check.Confidence(confidence):
		return math.NaN(), math.NaN()
	case !shown:
		return math.Inf(-1), math.Inf(1)
	}
	cuts, cell := edges(e.cells), e.cells[3*i+1]
	at := func(cell uint32) (rank, noise float64) {
		j := slices.Index(cuts, cell)
		return g.rank(e, level, j) / spreadUnit, g.params.rankNoise(g.noises.spread, level, j+1, (1-confidence)/2) / spreadUnit
	}
	from, noise := at(cell)
	to, after := at(cell + 1)
	return min(to-after, 0), max(from+noise, 0)
}

// knownFrom returns, for each level, from about how many users of a key on it is known in nine
// of ten releases, where values are spread smoothly.
func (n *noises) knownFrom(p Params) (from [maxLevels]float64) {
	g := &Groups[int]{params: p, noises: *n}
	for i := range p.levels() {
		low, high := 0., math.Log(0x1p50)
		for range 24 {
			users := (low + high) / 2
			if g.known(g.typical(math.Exp(users)), i) {
				high = users
			} else {
				low = users
			}
		}
		digits := math.Pow(10, math.Floor(high/math.Ln10)-1)
		from[i] = math.Ceil(math.Exp(high)/digits) * digits
	}
	return from
}

// typical returns what may be released of a key with so many users, where the noise of its count,
// and of the weights on either side, is as low as in one of ten releases.
func (g *Groups[K]) typical(users float64) (e group[K]) {
	const low = 0.9 // deviations, of each of two: 1.28 of both
	levels, s := g.params.levels(), g.noises.scale
	e.rest = int64((users - low*g.noises.count) * fine * unit)
	middle := float64(s.cells) / 2
	if f := s.falls(true, 1); f.Every != 0 {
		middle = float64(f.From)
	}
	ranks, last := []float64{0}, 0.0
	for i, level := range levels {
		// a quarter of an octave between the quantiles, and cells without much weight
		cell := middle + float64(i)*(1<<leading)/4
		if s.step > 0 {
			cell = level * float64(s.cells)
		}
		next := 1.0
		if i+1 < len(levels) {
			next = levels[i+1]
		}
		before := float64(g.noises.spread.cutAway(i, (level-last)*users)) / spreadUnit
		behind := float64(g.noises.spread.cutAway(i, (next-level)*users)) / spreadUnit
		ranks = append(ranks, level*users-before, level*users, level*users, level*users+behind)
		for _, x := range [3]float64{cell - 8, cell, cell + 8} {
			e.cells = append(e.cells, uint32(min(max(x, 0), float64(s.cells-1))))
		}
		last = level
	}
	ranks = append(ranks, users)
	for i := range ranks[1:] {
		e.weights = append(e.weights, int64((ranks[i+1]-ranks[i])*spreadUnit))
	}
	noise := int64(low * g.noises.spread.weigh * math.Sqrt(float64(len(e.weights))/2))
	e.weights[0] -= noise
	e.weights[len(e.weights)-1] -= noise
	return e
}
