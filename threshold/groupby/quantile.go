package groupby

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"

	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/internal/quantile"
	"github.com/dpsketch/dpsketch/internal/wire"
)

// This file has what quantiles of the users' values in each shown key are drawn by. The proof is in
// quantile_proof.md.
//
// A user gives each of his keys the weight x, in the cell of his value there. Of a shown key first
// the quantiles are drawn, then a cut on either side of each, at a distance that noise makes
// advisable. Then the weights between all of these are released with noise: they say how exact the
// quantiles are.

// retainedWeights returns a function from a shown key's rank to its cell weights, in order of the
// cells. groupOf is the rank of each key in the table plus 1, or 0. Each key's are sorted when they
// are asked for.
func (s *state[K]) retainedWeights(groupOf []uint32, shown int) func(i int, cells []quantile.Cell) []quantile.Cell {
	const bits = 11                   // of a weight
	var weights [spreadMost + 1]int64 // of a user by his number of keys
	for l := range weights {
		weights[l] = s.params.spreadWeight(l)
	}
	starts := make([]int, shown+1) // of each rank
	for _, i := range s.users.keys {
		starts[groupOf[i]]++
	}
	start := 0
	for at, n := range starts[1:] {
		starts[at], start = start, start+n
	}
	values, ends := make([]uint64, start), slices.Clone(starts[:shown])
	for from, to := range s.users.all {
		l := 0
		for _, i := range s.users.keys[from:to] {
			l += int(min(groupOf[i], 1))
		}
		if l > spreadMost {
			continue
		}
		for j, x := from, uint64(weights[l]); j < to; j++ {
			if at := groupOf[s.users.keys[j]]; at > 0 {
				values[ends[at-1]] = uint64(s.users.cells[j])<<bits | x
				ends[at-1]++
			}
		}
	}
	var group, spare []numbered
	return func(i int, cells []quantile.Cell) []quantile.Cell {
		group = group[:0]
		for _, value := range values[starts[i]:ends[i]] {
			group = append(group, numbered{value >> bits, int64(value & (1<<bits - 1))})
		}
		group, spare = radixSorted(group, spare)
		for _, e := range group {
			if n := len(cells); n > 0 && cells[n-1].Index == uint32(e.word) {
				cells[n-1].Weight = sum(cells[n-1].Weight, e.number)
			} else {
				cells = append(cells, quantile.Cell{Index: uint32(e.word), Weight: e.number})
			}
		}
		return cells
	}
}

// scale is the public axis of quantiles, cut into cells. With a Resolution they are as wide as
// that, with their middles at Min, Min + Resolution, and so on. Without, a cell holds the values
// whose distances from the origin have the same leading 9 bits: it is 1/256 to 1/512 of the
// distance wide. The origin is 0, or the end of the range that is nearest to 0. Below unit, a
// billionth of the range, cells are equally wide.
type scale struct {
	least, most float64
	step        float64 // 0: by leading bits
	origin      float64
	unit        float64 // a power of 2
	first       int64   // the index of the first cell
	cells       int64
}

const (
	leading  = 8       // bits of a value's significand that make its cell
	largest  = 0x1p64  // the ends of the axis where there is no range
	smallest = 0x1p-32 // unit, there
)

// scale returns that of the Params, which need not be valid.
func (p Params) scale() scale {
	s := scale{least: p.Min, most: p.Max, step: p.Resolution}
	if s.step > 0 {
		s.cells = int64(min(math.Round((s.most-s.least)/s.step), maxCells)) + 1
		return s
	}
	s.unit = smallest
	if s.least == 0 && s.most == 0 {
		s.least, s.most = -largest, largest
	} else {
		_, exponent := math.Frexp(s.most - s.least)
		s.unit = math.Ldexp(1, exponent-30)
	}
	s.origin = min(max(0, s.least), s.most)
	s.first = s.index(s.least)
	s.cells = s.index(s.most) - s.first + 1
	return s
}

// endless reports whether there is no range.
func (s *scale) endless() bool { return s.unit == smallest && s.most == largest }

// falls returns the base measure of a level near an end of several: half the weight for each octave
// from a public size on, towards the end.
func (s *scale) falls(upper bool, places int64) quantile.Fall {
	const every = 1 << leading
	from := s.unit * 0x1p6
	if s.endless() {
		from = 1
	}
	switch {
	case s.step > 0:
		return quantile.Fall{}
	case upper:
		return quantile.Fall{From: (s.index(s.origin+from) - s.first) * places, Every: every * places}
	}
	return quantile.Fall{From: (s.index(s.origin-from) - s.first + 1) * places, Every: -every * places}
}

// asides returns the first places of the cells of the cuts of a quantile that are not drawn: 16
// times as far from the origin, on either side, and without a range at least 64; and the ends, with
// a Resolution.
func (s *scale) asides(cell, places int64) (low, high int64) {
	if s.step > 0 {
		return 0, (s.cells - 1) * places
	}
	far := max(cell+s.first, -cell-s.first) + fixedCut<<leading
	if s.endless() {
		far = max(far, s.index(nearestCut))
	}
	return max(-far-s.first, 0) * places, min(far-s.first, s.cells-1) * places
}

// cell returns the cell of a value; values beyond the ends count as these, and NaN as 0 or the end
// next to it.
func (s *scale) cell(x float64) uint32 {
	if x != x {
		x = 0
	}
	x = min(max(x, s.least), s.most)
	if s.step > 0 {
		return uint32(min(max(math.Floor((x-s.least)/s.step+0.5), 0), float64(s.cells-1)))
	}
	return uint32(min(max(s.index(x)-s.first, 0), s.cells-1))
}

// index numbers the values by the leading bits of their distance from the origin, those nearest to
// it with 0.
func (s *scale) index(x float64) int64 {
	t, i := math.Abs(x-s.origin), int64(0)
	if t < s.unit {
		i = int64(t / s.unit * (1 << leading))
	} else {
		i = 1<<leading + int64(math.Float64bits(t)>>(52-leading)) - int64(math.Float64bits(s.unit)>>(52-leading))
	}
	if x < s.origin {
		return -i
	}
	return i
}

// edge returns where a cell begins, within the range; of the cell behind the last its end.
// Above the origin it is the least value of the cell, below it the largest of the cell before.
func (s *scale) edge(cell int64) float64 {
	if cell >= s.cells {
		return s.most
	}
	x := s.least + (float64(cell)-0.5)*s.step
	if i := cell + s.first; s.step == 0 {
		x = s.origin + s.from(i)
		up, down := math.Inf(1), math.Inf(-1)
		before := func(x float64) bool { return s.index(x) < i }
		if s.origin != 0 && i > 0 { // distances are rounded
			for before(x) {
				x = math.Nextafter(x, up)
			}
			for y := math.Nextafter(x, down); !before(y); y = math.Nextafter(y, down) {
				x = y
			}
		} else if s.origin != 0 {
			for !before(x) {
				x = math.Nextafter(x, down)
			}
			for y := math.Nextafter(x, up); before(y); y = math.Nextafter(y, up) {
				x = y
			}
		}
	}
	return min(max(x, s.least), s.most)
}

// from returns the least distance of an index i > 0, or the largest of −i; cell 0 is between those
// of 1 and −1.
func (s *scale) from(i int64) float64 {
	switch n := i - 1<<leading; {
	case i <= 0: // from the side of 0
		return -s.from(1 - i)
	case n < 0:
		return float64(i) / (1 << leading) * s.unit
	default:
		return math.Float64frombits(uint64(n+int64(math.Float64bits(s.unit)>>(52-leading))) << (52 - leading))
	}
}

// value returns the value that stands for a cell: with a Resolution its middle, else a number of
// the fewest digits in it. So integers below 512 stand for themselves, as 1500 does.
func (s *scale) value(cell uint32) float64 {
	low, high := s.edge(int64(cell)), s.edge(int64(cell)+1)
	if s.step > 0 {
		return min(s.least+float64(cell)*s.step, s.most)
	}
	middle := low/2 + high/2
	for digits := 1; digits < 17; digits++ {
		for _, near := range [3]float64{middle, low, high} {
			x, err := strconv.ParseFloat(strconv.FormatFloat(near, 'e', digits-1, 64), 64)
			if err == nil && x >= low && x <= high && s.cell(x) == cell {
				return x
			}
		}
	}
	return middle
}

const (
	spreadUnit = 1 << 10 // weights in cells are integers in steps of 1/1024
	spreadFull = 4       // C²: a user with l keys has a weight of min(1, √(C²/l)) in each
	spreadMost = 1 << 10 // a user with more keys has no weight
	// how far the slopes of a draw may differ, of one level and of several
	mostSteep, mostSteepOfSeveral = 1.75, 1.1
	// deviations that the weights lack in one release of ten, and more for what else they show
	steepReserve = 2.6
	// ln of 2³⁶, by which a base measure falls, of the number of cells, and more
	fallCost = 50
	cutShare = 1. / 16 // of the quantiles' part of the budget, for the cuts
	// and for the weights between them, of one level and of several
	weighShareOfOne, weighShare = .2, .125
	// A cut that is not drawn is so many octaves from its quantile.
	fixedCut  = 4
	drawnFrom = 1.7 // times away: 1 in 100 is far behind all users
	// at least this far from 0 where there is no range: the median of values around 0 is next to it
	nearestCut = 64
)

// spread is what the quantiles of a key are drawn by.
type spread struct {
	loss, cutLoss float64            // of a draw, for a step of weight: of a quantile, and of a cut
	weigh, alone  float64            // scale of a weight's noise, in steps; where no cut is drawn
	away          [maxLevels]float64 // of a cut at least, in steps
}

// spreadWeight returns what a user who counts in l keys weighs in each, in steps: l·x² ≤ C², or
// l·x ≤ C² without δ.
func (p *Params) spreadWeight(l int) int64 {
	switch {
	case l == 0 || l > spreadMost:
		return 0
	case p.pure():
		return min(spreadUnit, spreadFull*spreadUnit/int64(l))
	}
	return min(spreadUnit, exact.FloorSqrt(spreadFull*spreadUnit*spreadUnit/int64(l)))
}

// spreads returns what the quantiles are drawn by. Their part of the budget is Gaussian noise of
// ratio mu; without δ it is epsilon, and mu is 0.
//
// A user meets C²·D draws of ε₀ for the quantiles, D = ⌈log₂(levels + 1)⌉; or more keys of less
// weight. Each key has its part of the rest: two draws of ε₁ for the cuts, and weights between them
// that he moves by his weight; all of it for these where no cut is drawn.
func (p *Params) spreads(mu, epsilon float64) (s spread) {
	const down = 1 - 0x1p-40
	levels, full, weigh := p.levels(), spreadFull, weighShare
	if len(levels) == 1 {
		weigh = weighShareOfOne
	}
	if p.Passes == 1 {
		full = min(full, p.most)
	}
	keys := float64(full)
	step := func(share float64, steps int) float64 {
		e := share * epsilon / float64(steps) * down
		if !p.pure() {
			e = quantile.StepEpsilon(math.Sqrt(share)*mu*down, steps)
		}
		return quantile.Loss(e/spreadUnit, p.spreadWeight(spreadMost))
	}
	noise := func(share float64) float64 {
		if p.pure() {
			return keys / (share * epsilon) / down * spreadUnit
		}
		return math.Sqrt(keys/share) / mu / down * spreadUnit
	}
	s.loss, s.cutLoss = step(1-cutShare-weigh, full*quantile.Rounds(len(levels))), step(cutShare/keys, 2)
	s.weigh, s.alone = noise(weigh), noise(weigh+cutShare)
	own := quantile.MeanError(1, s.cutLoss)
	// so far that cells without users do not come out
	beyond := (math.Log(float64(p.scale().cells)) + 1.2) * own
	for i, level := range levels {
		// The cut's own error, and what makes the noise of the weights before it and after it
		// unlikely to say that it is on the wrong side.
		away := own + 2*p.rankNoise(s.weigh, level, 4*i+1, 4*(len(levels)-i), 0.025)
		s.away[i] = min(max(away, beyond), 1<<50)
	}
	return s
}

// rankNoise returns what the noise of the rank of an edge at a level exceeds with probability alpha
// at most, in steps. It comes of so many weights of noise weigh before it and after it.
func (p *Params) rankNoise(weigh, level float64, before, after int, alpha float64) float64 {
	a, b := 1-level, level
	m, n := float64(before), float64(after)
	if !p.pure() {
		return weigh*normalTail(alpha)*math.Sqrt(a*a*m+b*b*n) + (m+n)/2
	}
	// Of a sum of Laplace variables by Chernoff: E e^{tX} = Π 1/(1 − (t·scale)²).
	least := math.Inf(1)
	for i := 1; i < 64; i++ {
		t := float64(i) / 64 / max(a, b)
		cost := -math.Log(alpha) - m*math.Log1p(-t*t*a*a) - n*math.Log1p(-t*t*b*b)
		least = min(least, cost/t)
	}
	return weigh * least
}

// draw is how a level is drawn, by the released number of users of the key.
type draw struct {
	quantile.Part
	fall  quantile.Fall
	whole bool
	steep float64
}

// keyLevels are the levels that are drawn of a key with about this number of users. The first one
// has the number first.
type keyLevels struct {
	*noises
	first  int
	levels []float64
	users  float64
}

// keyLevels returns the levels of a key. Those towards an end that too few users are beyond to be
// known are not drawn, except one: the weights around them would only add noise to what the others
// are known by.
func (n *noises) keyLevels(users float64) keyLevels {
	first, end, few := 0, len(n.levels), n.spread.few()
	for end > 1 && (1-n.levels[end-1])*users < few {
		end--
	}
	for end-first > 1 && n.levels[first]*users < few {
		first++
	}
	return keyLevels{n, first, n.levels[first:end], users}
}

// has reports whether the level with this number is drawn.
func (k *keyLevels) has(i int) bool { return i >= k.first && i < k.first+len(k.levels) }

// draws returns how the levels are drawn.
//
// A cell counts as whole where no other level is drawn on its either side; else it is cut.
// Above ¾ the base measure falls towards the upper end of the axis, below ¼ towards the lower
// one, if so many users are on the other side that none of the cells there can come out. Where
// few are on the level's own side, its draw errs rather to the other.
func (k *keyLevels) draws() []draw {
	parts := quantile.Parts(k.levels)
	all := make([]draw, len(parts))
	for i, part := range parts {
		d := draw{Part: part, whole: quantile.Leaf(parts, i), steep: 1}
		upper := k.levels[i] > 0.75 && part.Right == len(parts)
		if upper || k.levels[i] < 0.25 && part.Left < 0 {
			d.towardsEnd(k, i)
		}
		all[i] = d
	}
	return all
}

// towardsEnd sets how the level i near an end of all is drawn.
func (d *draw) towardsEnd(k *keyLevels, i int) {
	upper, side, kappa, outwards := k.levels[i] > 0.5, d.Level, k.spread.kappa(d.Level), i+1
	if upper {
		side, outwards = 1-side, len(k.levels)-i
	}
	cells := math.Log(float64(k.scale.cells))
	if kappa/2*(1-side)*d.Share*k.users > fallCost && k.scale.step == 0 {
		d.fall = k.scale.falls(upper, 1)
		cells = (leading + 1) * math.Ln2
	}
	beyond := side * d.Share * k.users
	need := cells - math.Log(mostAstray)
	// what the weights at the quantile and beyond say, but for one release in ten
	noisy := float64(4*outwards - 1)
	if beyond < k.spread.few() { // no cut
		noisy--
	}
	if z := 7./8*beyond*spreadUnit/(k.weighNoise()*math.Sqrt(noisy)) - steepReserve; z > 0 {
		need += math.Log(math.Erfc(z/math.Sqrt2) / 2)
	}
	most := mostSteep
	if d.Share < 1 || !d.whole {
		most = mostSteepOfSeveral
	}
	if steep := need / (kappa * beyond * 7 / 8); steep < most+0.5 {
		d.steep = min(max(steep, 1), most)
	}
}

// cut says how a cut is found: drawn at a distance, in steps, or fixed, or nowhere.
type cut struct {
	away  int64
	fixed bool
}

// distance returns about how many users of at most most are between a cut and its quantile.
func (c cut) distance(most float64) float64 {
	if c.fixed {
		return most
	}
	return float64(c.away) / spreadUnit
}

// cuts returns how those on either side of the quantile of level i are found.
func (k *keyLevels) cuts(i int) (below, above cut) {
	return k.cut(i, k.gap(i)), k.cut(i, k.gap(i+1))
}

// gap returns the share of users between the quantiles of levels i − 1 and i, or of one and an end.
func (k *keyLevels) gap(i int) float64 {
	low, high := 0., 1.
	if i > 0 {
		low = k.levels[i-1]
	}
	if i < len(k.levels) {
		high = k.levels[i]
	}
	return high - low
}

// cut returns how a cut is found where a share of the users is between the quantile of level i and
// the next one. It is drawn where cells without users hardly come out, be they next to the quantile
// or behind all users; else it is fixed, as far as the weights can show that users are before it.
func (k *keyLevels) cut(i int, share float64) cut {
	far, users := k.spread.away[k.first+i], share*k.users*spreadUnit
	switch {
	case users >= drawnFrom*far:
		return cut{away: int64(min(far, users/2))}
	case users >= k.spread.few()*spreadUnit:
		return cut{fixed: true}
	}
	return cut{}
}

// weighNoise returns the scale of the noise of the key's weights, in steps.
func (k *keyLevels) weighNoise() float64 {
	for i := range k.levels {
		if below, above := k.cuts(i); below.away > 0 || above.away > 0 {
			return k.spread.weigh
		}
	}
	return k.spread.alone
}

// few returns the number of users that the weights hardly tell from none: with fewer beyond it a
// quantile has no cut on that side, and is drawn only where it is a key's last.
func (s *spread) few() float64 { return 5.5 * s.alone / spreadUnit }

// kappa returns by how much the logarithm of a place's probability falls a user.
func (s *spread) kappa(level float64) float64 {
	return spreadUnit * s.loss / 2 / max(level, 1-level)
}

// sumTail returns a bound on the logarithm of the probability that the Laplace noise of so many
// weights is x or more times its scale.
func sumTail(x float64, noisy int) (least float64) {
	n := float64(noisy)
	for i := 1; i < 64; i++ {
		t := float64(i) / 64
		least = min(least, -t*x-n*math.Log1p(-t*t))
	}
	return least
}

// cellWeights are the weights of users' values by key and cell: number<<32 | cell. They add up, so
// they depend on no order.
type cellWeights map[uint64]int64

// A sample stands for one value of a user in a key: random bits, not all 0, above the number of its
// cell. The largest of several is one of them, drawn uniformly up to 2⁻³¹ a value.
const sampleBits = 32

// sample returns that of a value.
func (s *scale) sample(value float64, uint64N func(uint64) uint64) int64 {
	return int64(1+uint64N(1<<31-1))<<sampleBits | int64(s.cell(value))
}

// withoutBits returns a sample without its random bits.
func withoutBits(sample int64) int64 { return 1<<sampleBits | int64(uint32(sample)) }

// isSample reports whether it is a sample.
func (s *scale) isSample(sample int64) bool {
	return sample>>sampleBits > 0 && int64(uint32(sample)) < s.cells
}

// larger returns the sample of two that counts.
func larger(a, b int64) int64 { return max(a, b) }

// giveSamples adds a user with these keys, and samples in them, who counts in l keys.
func (s *state[K]) giveSamples(numbers []uint32, samples []int64, l int) {
	x := s.params.spreadWeight(l)
	if x == 0 {
		return
	}
	for n, sample := range samples {
		s.cellWeights.add(uint64(numbers[n])<<32|uint64(uint32(sample)), x)
	}
}

func (s cellWeights) add(at uint64, weight int64) { s[at] = sum(s[at], weight) }

// sorted returns the weights in order, of the keys that are wanted, whose numbers are those in to.
func (s cellWeights) sorted(to func(number uint32) (uint32, bool)) []numbered {
	all := make([]numbered, 0, len(s))
	for at, weight := range s {
		if number, ok := to(uint32(at >> 32)); ok {
			all = append(all, numbered{uint64(number)<<32 | uint64(uint32(at)), weight})
		}
	}
	all, _ = radixSorted(all, nil)
	return all
}

// append appends the weights, of keys by their ranks.
func (s cellWeights) append(dst []byte, ranks []uint32) []byte {
	if s == nil {
		return dst
	}
	all := s.sorted(func(n uint32) (uint32, bool) { return ranks[n], true })
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(all)))
	for _, e := range all {
		dst = binary.LittleEndian.AppendUint64(dst, e.word)
		dst = binary.LittleEndian.AppendUint64(dst, uint64(e.number))
	}
	return dst
}

// readCellWeights reads the weights of so many keys.
func (s *state[K]) readCellWeights(r *wire.Reader, keys int) cellWeights {
	if s.cellWeights == nil {
		return nil
	}
	all, last := cellWeights{}, uint64(0)
	for i := range r.Count(math.MaxInt32, 16) {
		at, weight := r.Uint64(), r.Int64()
		if i > 0 && at <= last || at>>32 >= uint64(keys) || int64(uint32(at)) >= s.scale.cells || weight <= 0 || weight > limit {
			r.Fail("a weight that is none")
		}
		if r.Err() != nil {
			return nil
		}
		all[at], last = weight, at
	}
	return all
}

// quantiles returns what is released of each shown group: the cells of the quantiles and cuts, and
// the weights between the edges, with noise.
// groupOf is the group of each key plus 1, or 0.
func (s *state[K]) quantiles(groups []group[K], groupOf []uint32) {
	if s.cellWeights == nil {
		return
	}
	var weights func(i int, cells []quantile.Cell) []quantile.Cell
	if len(s.users.ends) > 0 { // retained
		weights = s.retainedWeights(groupOf, len(groups))
	} else {
		all := s.cellWeights.sorted(func(n uint32) (uint32, bool) { return groupOf[n], groupOf[n] > 0 })
		weights = func(i int, cells []quantile.Cell) []quantile.Cell {
			for ; len(all) > 0 && all[0].word>>32 == uint64(i+1); all = all[1:] {
				cells = append(cells, quantile.Cell{Index: uint32(all[0].word), Weight: all[0].number})
			}
			return cells
		}
	}
	noises := s.params.noises(s.calibrated, s.chosen)
	noise := map[float64]func() int64{} // by scale
	for _, scale := range [2]float64{noises.spread.weigh, noises.spread.alone} {
		noise[scale] = s.noise(scale)
	}
	var values quantile.Spread
	var cells []quantile.Cell
	for i := range groups {
		cells = weights(i, cells[:0])
		values.Set(cells, quantile.Places)
		g := &groups[i]
		levels := noises.keyLevels(noises.users(g.rest, g.weight))
		g.cells = s.drawCells(&values, &levels)
		g.weights = make([]int64, 4*len(noises.levels)+1)
		noise := noise[levels.weighNoise()]
		last := int64(0)
		start := uint32(0)
		for j, edge := range levels.edgesOf(g.cells)[1:] {
			before := values.Cells(edge)
			weight := before - last
			if edge > start { // no values are between equal edges
				weight += noise()
			}
			g.weights[j], last, start = weight, before, edge
		}
	}
}

// drawCells draws, for each level of a key, the cells of the cut below, of the quantile, and of the
// cut above. They are in ascending order; levels that are not drawn have the cell next to them.
func (s *state[K]) drawCells(values *quantile.Spread, k *keyLevels) (cells []uint32) {
	draws, end := k.draws(), s.scale.cells*quantile.Places
	found := quantile.Quantiles(end, k.levels, k.spread.loss, func(i int, c quantile.Choice) int64 {
		d := draws[i]
		c.Whole, c.Steep, c.Fall = d.whole, d.steep, d.fall
		c.Fall.From, c.Fall.Every = c.Fall.From*quantile.Places, c.Fall.Every*quantile.Places
		return values.Draw(c, &s.src)
	})
	from := int64(0)
	for i, x := range found {
		to := end
		if i+1 < len(found) {
			to = found[i+1]
		}
		below, above := k.cuts(i)
		low, high := x, x
		far, farther := k.scale.asides(x/quantile.Places, quantile.Places)
		if below.fixed {
			low = min(max(far, from), x)
		} else if below.away > 0 {
			low = values.Draw(quantile.Choice{From: from, To: x, Level: 1, Shift: -below.away, Loss: k.spread.cutLoss}, &s.src)
		}
		if above.fixed {
			high = max(min(farther, to), x)
		} else if above.away > 0 {
			high = values.Draw(quantile.Choice{From: x, To: to, Shift: above.away, Loss: k.spread.cutLoss}, &s.src)
		}
		for _, x := range [3]int64{low, x, high} {
			cells = append(cells, uint32(x/quantile.Places))
		}
		from = high
	}
	return k.pad(cells)
}

// pad puts those of the levels that are not drawn around the cells of a key.
func (k *keyLevels) pad(cells []uint32) []uint32 {
	cells = append(slices.Repeat(cells[:1], 3*k.first), cells...)
	return append(cells, slices.Repeat(cells[len(cells)-1:], 3*len(k.noises.levels)-len(cells))...)
}

// unpad returns the cells of the levels that are drawn, of all those of a key.
func (k *keyLevels) unpad(cells []uint32) []uint32 {
	return cells[3*k.first : 3*(k.first+len(k.levels))]
}

// edgesOf returns the start of the axis, the four edges of each level of a key, in ascending order,
// and the end, as the cells behind them. The edges of a level are before the cut below and the
// quantile, and behind the quantile and the cut above.
func (k *keyLevels) edgesOf(cells []uint32) []uint32 {
	all := []uint32{0}
	for cells := k.unpad(cells); len(cells) > 0; cells = cells[3:] {
		all = append(all, cells[0], cells[1], cells[1]+1, cells[2]+1)
	}
	slices.Sort(all)
	return append(all, uint32(k.scale.cells))
}
