package groupby

import (
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/quantile"
)

// Quantile returns the estimated quantile of the users' values in the key, at one of the Levels. A
// user with l > 4 keys counts √(4/l), one with more than 1024 nothing.
//
// It is NaN if the key is not shown, or if too few users are on one side: where no more than an
// eighth of those who should be there may be, with a probability above 0.001 over the noise (an
// estimate, for users of more than 4 keys). Plan.Known says how many it takes.
func (g *Groups[K]) Quantile(key K, level float64) float64 {
	e, i, shown := g.quantile(key, level)
	if !shown || i < 0 || !g.known(g.read(e), i, 0) {
		return math.NaN()
	}
	return g.noises.scale.value(e.cells[3*i+1])
}

// known reports whether a quantile is far outside of where values are with a probability of at most
// [mostAstray], by what was released: on the side −1 or 1, or on either for 0.
//
// For each weight of all values that may be, from ≤ weight < to, the probability of the draws is
// multiplied by that of a count and of weights that say as much as those released.
func (g *Groups[K]) known(r reading, i, side int) bool {
	if !r.has(i) {
		return false
	}
	all, sd := r.before[r.end()], r.noise*math.Sqrt(float64(r.noisy[r.end()]))
	// users of many keys weigh less than they count
	if r.users > all+3*sd && !g.knownOf(r, i, side, all) {
		return false
	}
	return g.knownOf(r, i, side, min(r.users, all+2*sd))
}

// knownOf is known of a level that is drawn, where the count says that all values weigh as much as
// count, which may be less than nothing.
func (g *Groups[K]) knownOf(r reading, i, side int, count float64) bool {
	noise := g.noises.count
	from, to, last := 0., max(count-5*noise, 0), max(count, 0)+5*noise
	if g.params.pure() {
		reach := -noise / math.Sqrt2 * math.Log(2*missCut)
		from, to = max(count-reach, 0), max(count+reach, 0)
	}
	guard := quantile.Guard{Draws: make([]quantile.Drawn, len(r.drawn))}
	most := mostAstray
	if len(r.drawn) == 1 {
		most = mostAstrayOfOne
	}
	together := func(above, below float64) float64 {
		switch {
		case side > 0:
			return math.Exp(above)
		case side < 0:
			return math.Exp(below)
		case len(r.drawn) == 1: // what is above a target and what is below it are all together
			return math.Exp(max(above, below))
		}
		return math.Exp(above) + math.Exp(below)
	}
	i -= r.first
	d := &r.drawn[i]
	astray := func(from, to float64) (above, below float64) {
		for j := range r.drawn {
			guard.Draws[j] = r.drawn[j].among(max(to, 1))
		}
		guard.All, guard.Most = from, to
		return guard.Above(i, (1-d.level)/8*to), guard.Below(i, d.level/8*to)
	}
	if users := max(count, 0); !(together(astray(users, users)) <= 0.9) {
		most = mostAstrayByWeights
	}
	at, behind := r.at(d.cell), r.at(d.cell+1)
	for {
		above, below := astray(from, to)
		if together(above, below) <= most || from > last { // and less where there are more
			return true
		}
		above += g.evidence(r.weighed, at, r.end(), 1-d.level, d.Above*(1-d.Level)*d.Share, count, from, to)
		below += g.evidence(r.weighed, 0, behind, d.level, d.Below*d.Level*d.Share, count, from, to)
		if !(together(above, below) <= most) {
			return false
		}
		if g.params.pure() {
			return true
		}
		from, to = to, to+noise/16
	}
}

// evidence returns a bound on the logarithm of the probability that the noise of a count and of the
// weights is as large as they say, if all values weigh from ≤ weight < to, and those between two
// edges, one of which is an end, an eighth at most of the share that they should. Of the statistics
// that are linear it is the one that tells as many users fewer as are worst from those there are,
// where slope is by how much the logarithm of the draws' probability rises for each fewer.
func (g *Groups[K]) evidence(w weighed, low, high int, share, slope, count, from, to float64) float64 {
	there, noisy := w.sum(low, high)
	if g.params.pure() {
		return sumTail((there-share/8*to)/w.noise-float64(noisy)/spreadUnit, noisy)
	}
	beside, others := w.before[w.end()]-there, w.noisy[w.end()]-noisy
	variance, rest := max(float64(noisy), 1e-9)*w.noise*w.noise, max(float64(others), 1e-9)*w.noise*w.noise
	noise := g.noises.count * g.noises.count
	missing, part := 7./8*share*from, 1-share/8
	more := (7./8*slope + missing*part/rest - missing*share/8/variance) / (1/noise + part*part/rest + share*share/64/variance)
	a := (missing + share*more/8) / variance
	b := min((part*more-missing)/rest, a)
	c := more / noise
	mean := c + b + (a-b)*share/8
	x := c*count + a*there + b*beside - max(mean*from, mean*to) - (a+math.Abs(b))*float64(noisy+others)/spreadUnit
	return math.Log(math.Erfc(x/math.Sqrt(2*(c*c*noise+a*a*variance+b*b*rest))) / 2)
}

// drawn is what is known of the draw of a level, whatever the number of users: Up and Down are
// those of the base measure alone.
type drawn struct {
	quantile.Drawn
	cell         int64
	level        float64
	steepest     float64 // κ, 0 where a cell is whole
	left, right  float64 // weights of the cells that the ends of the part cut
	above, below float64 // weights where a target is that the quantile is astray of
}

// drawn returns what is known of the draws, by what was released.
func (g *Groups[K]) drawn(e group[K], k *keyLevels, w weighed) []drawn {
	levels, cells := k.levels, k.unpad(e.cells)
	all := make([]drawn, len(levels))
	for j, d := range k.draws() {
		cell, kappa := int64(cells[3*j+1]), k.spread.kappa(d.Level)
		k := drawn{Drawn: quantile.Drawn{Part: d.Part, Above: kappa * d.steep, Below: kappa * (2 - d.steep)}, cell: cell, level: levels[j]}
		if d.Level < 0.5 {
			k.Above, k.Below = k.Below, k.Above
		}
		if !d.whole {
			k.steepest = max(k.Above, k.Below)
		}
		// The target is between the ends of the part; of the first draw, between edges that the
		// weights show to be on either side.
		first, end := int64(0), g.noises.scale.cells
		from, to := first, end
		if len(levels) > 1 && d.Left < 0 && d.Right == len(levels) {
			low, high := g.between(w, levels[j], missCut)
			from, to = int64(w.edges[low]), int64(w.edges[high])
		}
		if d.Left >= 0 {
			first = int64(cells[3*d.Left+1])
			from, k.left = first, g.weightIn(w, first, first+1)
		}
		if d.Right < len(levels) {
			end = int64(cells[3*d.Right+1]) + 1
			to, k.right = end, g.weightIn(w, end-1, end)
		}
		k.Up, k.Down = d.fall.Above(min(from, cell), cell, end), d.fall.Below(first, cell, max(to-1, cell))
		k.above, k.below = g.weightIn(w, from, cell+1), g.weightIn(w, cell, to)
		all[j] = k
	}
	return all
}

// reading is what was released of a group: the weights, the draws, and the count with its noise.
type reading struct {
	keyLevels
	weighed
	drawn []drawn
}

func (g *Groups[K]) read(e group[K]) reading {
	k := g.noises.keyLevels(g.noisy(e))
	w := k.weighed(e.cells, e.weights)
	return reading{k, w, g.drawn(e, &k, w)}
}

// among returns what is known of the draw among so many users. In a heavy cell that is not whole
// only the places near the target count; and a cell that an end of the part cuts has the base
// measure of what is left of it.
func (d *drawn) among(users float64) quantile.Drawn {
	part := d.Share * users
	left, right := min(d.left, users), min(d.right, users)
	cut := max(1, left/(d.Level*part)+d.steepest*left, right/((1-d.Level)*part)+d.steepest*right)
	k := d.Drawn
	k.Up += math.Log(max(cut, 1+d.steepest*min(part, d.above)))
	k.Down += math.Log(max(cut, 1+d.steepest*min(part, d.below)))
	return k
}

// weighed is what the weights of a group say: for the start of the axis, each edge, and the end,
// the weight before it, in users, and of how many weights with noise it is the sum.
type weighed struct {
	edges  []uint32
	before []float64
	noisy  []int
	noise  float64 // of a weight, in users
}

func (k *keyLevels) weighed(cells []uint32, weights []int64) weighed {
	edges := k.edgesOf(cells)
	w := weighed{edges, make([]float64, len(edges)), make([]int, len(edges)), k.weighNoise() / spreadUnit}
	sum := int64(0)
	for j, edge := range edges[1:] {
		sum += weights[j]
		w.before[j+1], w.noisy[j+1] = float64(sum)/spreadUnit, w.noisy[j]
		if edge > edges[j] {
			w.noisy[j+1]++
		}
	}
	return w
}

// end returns the number of the last edge, the end of the axis.
func (w *weighed) end() int { return len(w.edges) - 1 }

// at returns the number of the first edge before a cell, −1 if there is none.
func (w *weighed) at(cell int64) int { return slices.Index(w.edges, uint32(cell)) }

// sum returns the weight between two edges, and of how many weights with noise it is the sum.
func (w *weighed) sum(low, high int) (weight float64, noisy int) {
	return w.before[high] - w.before[low], w.noisy[high] - w.noisy[low]
}

// weightIn returns an upper bound, in users, on the weight in the cells from ≤ x < to between edges
// of the group or ends of the axis, which is wrong with probability missCut at most.
func (g *Groups[K]) weightIn(w weighed, from, to int64) float64 {
	high := w.at(to)
	if high < 0 {
		high = w.end()
	}
	low := w.at(from)
	if high <= low { // a target that the weights do not allow
		return math.Inf(1)
	}
	weight, noisy := w.sum(low, high)
	return max(weight+g.params.rankNoise(w.noise*spreadUnit, 0, noisy, 0, missCut)/spreadUnit, 0)
}

// quantile returns the group of a key, and the number of the level, −1 if there is none.
func (g *Groups[K]) quantile(key K, level float64) (e group[K], i int, shown bool) {
	if !g.valid() {
		return e, -1, false
	}
	e, shown = g.find(key)
	return e, slices.Index(g.params.levels(), level), shown
}

// QuantileInterval returns bounds on the quantile, as [Groups.Quantile] weighs users. If too few
// are on one side, or the key is not shown, the bound there is Min or Max, or infinite without a
// range: p99 ≥ 100.
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
	r := g.read(e)
	from, to := g.between(r.weighed, level, (1-confidence)/2)
	for from > 0 && !g.known(r, r.first+(from-1)/4, -1) {
		from--
	}
	for to < r.end() && !g.known(r, r.first+(to-1)/4, 1) {
		to++
	}
	if r.edges[from] > 0 {
		lo = s.edge(int64(r.edges[from]))
	}
	if int64(r.edges[to]) < s.cells {
		hi = s.edge(int64(r.edges[to]))
	}
	if g.known(r, i, 0) {
		x := s.value(e.cells[3*i+1])
		lo, hi = min(lo, x), max(hi, x)
	}
	return lo, hi
}

// between returns the edges from ≤ x < to that the quantile of a level is between, as far as the
// weights show it, where either is wrong with probability alpha at most.
func (g *Groups[K]) between(w weighed, level, alpha float64) (from, to int) {
	for to = w.end(); from < w.end()-1; from++ {
		if rank, noise := g.rank(w, level, from+1, alpha); !(rank+noise <= 0) {
			break
		}
	}
	for ; to > 1; to-- {
		if rank, noise := g.rank(w, level, to-1, alpha); !(rank-noise >= 0) {
			break
		}
	}
	return from, to
}

// rank returns how much more weight than its share of a level is before edge j of a group, in
// users, and what the noise of that exceeds with probability alpha at most.
func (g *Groups[K]) rank(w weighed, level float64, j int, alpha float64) (rank, noise float64) {
	all := w.end()
	rank = w.before[j] - level*w.before[all]
	return rank, g.params.rankNoise(w.noise*spreadUnit, level, w.noisy[j], w.noisy[all]-w.noisy[j], alpha) / spreadUnit
}

// RankInterval returns bounds lo ≤ 0 ≤ hi, in users, on the error of the rank of Quantile(key,
// level). Let n be the users' weight: some number in level·n + [lo, hi] is at least the weight of
// the cells below the quantile's cell, and at most that plus the cell's own. Infinite if the key is
// not shown or has too few users.
func (g *Groups[K]) RankInterval(key K, level, confidence float64) (lo, hi float64) {
	e, i, shown := g.quantile(key, level)
	switch {
	case i < 0 || !check.Confidence(confidence):
		return math.NaN(), math.NaN()
	case !shown:
		return math.Inf(-1), math.Inf(1)
	}
	k := g.noises.keyLevels(g.noisy(e))
	if !k.has(i) {
		return math.Inf(-1), math.Inf(1)
	}
	w, cell := k.weighed(e.cells, e.weights), int64(e.cells[3*i+1])
	from, noise := g.rank(w, level, w.at(cell), (1-confidence)/2)
	to, after := g.rank(w, level, w.at(cell+1), (1-confidence)/2)
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
			if e := g.typical(math.Exp(users), i); e.cells != nil && g.known(g.read(e), i, 0) {
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
// and the weights on either side of quantile i with the error of its draw, are as low as in one of
// ten releases; without cells where the level is not drawn.
func (g *Groups[K]) typical(users float64, i int) (e group[K]) {
	const share, deviations = .08, 1.4 // .1 on one side, .05 on either
	s := g.noises.scale
	e.rest = int64((users - deviations*g.noises.count) * fine * unit)
	k := g.noises.keyLevels(g.noisy(e))
	if !k.has(i) {
		return e
	}
	ranks := g.noises.ranks[i]
	i -= k.first
	middle := float64(s.cells) / 2
	if f := s.falls(true, 1); f.Every != 0 {
		middle = float64(f.From)
	}
	before := []float64{0}
	for j, level := range k.levels {
		// a quarter of an octave between the quantiles, and cells without much weight
		cell := middle + float64(j)*(1<<leading)/4
		if s.step > 0 {
			cell = level * float64(s.cells)
		}
		low, high := k.cuts(j)
		below, above := low.distance(k.gap(j)*users), high.distance(k.gap(j+1)*users)
		before = append(before, level*users-below, level*users, level*users, level*users+above)
		for _, x := range [3]float64{cell - min(below, 8), cell, cell + min(above, 8)} {
			e.cells = append(e.cells, uint32(min(max(x, 0), float64(s.cells-1))))
		}
	}
	before = append(before, users)
	for j := range before[1:] {
		e.weights = append(e.weights, int64((before[j+1]-before[j])*spreadUnit))
	}
	e.cells = k.pad(e.cells)
	w, cell := k.weighed(e.cells, e.weights), int64(k.unpad(e.cells)[3*i+1])
	low, high, lowest := w.at(cell), w.end(), &e.weights[len(e.weights)-1]
	if k.levels[i] < 0.5 {
		low, high, lowest = 0, w.at(cell+1), &e.weights[0]
	}
	_, noisy := w.sum(low, high)
	// The error of the draw is a difference of exponential variables; these are its middle and its
	// low end. The others' errors, and the noise, are about normal.
	d := k.draws()[i]
	own := 1 / k.spread.kappa(d.Level)
	inwards, out := own/(2-d.steep), own/d.steep
	middle, end := inwards*math.Log(2*inwards/(inwards+out)), out*math.Log(max(out/(inwards+out)/share, 1))
	normal := deviations * math.Sqrt(w.noise*w.noise*float64(noisy)+2*max(ranks*ranks-own*own, 0))
	*lowest -= int64((math.Hypot(middle+end, normal) - middle) * spreadUnit)
	return e
}
