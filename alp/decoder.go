package alp

import (
	"math"
	"math/bits"
	"slices"
	"sync"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/memo"
)

// decoder is what Estimate and Interval need of a Projection besides its table: the distributions
// of entries given their cells, computed once.
type decoder struct {
	shape   *shape
	bins    bins
	list    *listing
	uniform uniform
	loads   []load // for each sign
	prior   Prior
	odds    float64           // of 0 against all other values, before reading
	sides   []*posterior      // under the prior, for each sign: the non-negative side first
	flat    []*posterior      // under the uniform prior
	open    []*posterior      // under the uniform prior of listed entries; nil without a list
	pvalues func() []*pvalues // for each sign; the first call takes up to a second
	limits  *memo.Table[limitsKey, *limits]
	direct  *direct // nil where the cells of an index show too many combinations of outputs
}

// newDecoder reads the load off the table. It is a function of the release.
func newDecoder(p *Projection) *decoder {
	s := &p.shape
	d := &decoder{shape: s, limits: new(memo.Table[limitsKey, *limits]), direct: newDirect(p)}
	d.bins = newBins(&s.code, s.half, s.reach())
	d.list = newListing(p, &d.bins)
	histogram := p.histogram()
	var histograms [][][]uint64
	for side := range s.columns / s.half {
		histograms = append(histograms, s.outward(histogram, side))
	}
	d.learn(histograms, loadRounds)
	return d.under(defaultPrior)
}

// learn computes the loads from how often each output occurs in each column of each side, and what
// follows from them.
func (d *decoder) learn(histograms [][][]uint64, rounds int) {
	s := d.shape
	d.uniform = s.uniformPrior(&d.bins, d.list)
	// of Sparsity: rates that the table speaks for grow fast, the others stay where they start
	const few = 0.1
	start := d.uniform.start(&d.bins, few*float64(s.params.Sparsity)/float64(s.cells()))
	for _, histogram := range histograms {
		d.loads = append(d.loads, d.bins.fit(histogram, start, rounds))
	}
	d.flat = d.posteriors(&d.uniform, 0)
	d.pvalues = sync.OnceValue(func() (sides []*pvalues) {
		for side, p := range d.flat {
			sides = append(sides, newPValues(p, d.loads[side]))
		}
		return sides
	})
	if d.list != nil {
		open := s.uniformPrior(&d.bins, nil)
		d.open = d.posteriors(&open, 0)
	}
}

// under returns the decoder with another prior.
func (d *decoder) under(prior Prior) *decoder {
	e := *d
	e.prior, e.odds = prior, prior.Zero/(1-prior.Zero)*float64(len(d.loads))
	e.sides = d.posteriors(&d.uniform, prior.Learned)
	e.direct = d.direct.under(&e)
	return &e
}

// posteriors computes the tables of all sides.
func (d *decoder) posteriors(u *uniform, learned float64) (sides []*posterior) {
	for _, rates := range d.loads {
		prior, t := u.mix(&d.bins, rates, float64(d.shape.cells()), learned)
		sides = append(sides, newPosterior(&d.bins, rates, prior, t))
	}
	return sides
}

// outward returns the part of a histogram that belongs to a side, 0 for values of 0 and above, 1
// for those below: columns from 0 outwards, outputs that grow with the absolute value.
func (s *shape) outward(histogram [][]uint64, side int) [][]uint64 {
	if !s.params.Signed {
		return histogram
	}
	if side == 0 {
		return histogram[s.half:]
	}
	out := slices.Clone(histogram[:s.half])
	slices.Reverse(out)
	return out
}

// bothSides turns what the cells of an index show into the two sides, as outward does; the one
// below 0 is nil unless values are signed. It overwrites outputs.
func (s *shape) bothSides(outputs []uint8) (positive, negative []uint8) {
	if !s.params.Signed {
		return outputs, nil
	}
	negative, positive = outputs[:s.half], outputs[s.half:]
	slices.Reverse(negative)
	return positive, negative
}

// weights are the weights of the values above and below 0 relative to that of 0, which is odds, all
// on one scale.
type weights struct {
	positive, negative, odds float64
	scale                    [2]int // of the posteriors' own weights
	unit                     [2]float64
}

// weigh computes the weights of an entry that is not listed.
func (d *decoder) weigh(sides []*posterior, positive, negative []uint8, odds float64) (w weights) {
	w.positive, w.scale[0] = sides[0].weight(positive)
	if negative != nil {
		w.negative, w.scale[1] = sides[1].weight(negative)
	}
	most := max(w.scale[0], w.scale[1])
	w.unit = [2]float64{units(most - w.scale[0]), units(most - w.scale[1])}
	w.positive *= w.unit[0]
	w.negative *= w.unit[1]
	w.odds = odds * units(most)
	return w
}

// quantile returns the quantile of the entry's distribution, in steps: values below 0, then 0, then
// those above.
func (d *decoder) quantile(sides []*posterior, positive, negative []uint8, odds, share float64) float64 {
	if negative == nil {
		total, k := sides[0].weight(positive)
		odds *= units(k)
		target := share*(total+odds) - odds
		if target <= 0 {
			return 0
		}
		return d.shape.valueAt(sides[0].find(positive, target, k))
	}
	w := d.weigh(sides, positive, negative, odds)
	target := share * (w.positive + w.negative + w.odds)
	if target < w.negative {
		return -d.shape.valueAt(sides[1].find(negative, (w.negative-target)/w.unit[1], w.scale[1]))
	}
	target -= w.negative + w.odds
	if target <= 0 {
		return 0
	}
	return d.shape.valueAt(sides[0].find(positive, target/w.unit[0], w.scale[0]))
}

// listed returns the distribution of a listed entry, and whether it is below 0.
func (d *decoder) listed(positive, negative []uint8, value float64) (f fused, below bool) {
	if value < 0 {
		return d.list.fuse(d.open[1], negative, -value), true
	}
	return d.list.fuse(d.open[0], positive, value), false
}

// sign returns −x if below, else x.
func sign(x float64, below bool) float64 {
	if below {
		return -x
	}
	return math.Abs(x)
}

// median returns the median of an entry's distribution, in steps.
func (d *decoder) median(positive, negative []uint8, value, odds float64) float64 {
	if value != 0 {
		if d.list.plain(value) {
			return d.shape.unphi(value)
		}
		f, below := d.listed(positive, negative, value)
		return sign(f.median(), below)
	}
	if negative != nil && d.shape.params.TwoVectors {
		return d.quantile(d.sides[:1], positive, nil, odds/2, 0.5) - d.quantile(d.sides[1:], negative, nil, odds/2, 0.5)
	}
	return d.quantile(d.sides, positive, negative, odds, 0.5)
}

// direct is the fast way to an estimate, for blocked layouts whose columns show few combinations of
// outputs: these are put into one number, the key, and the estimate of each is in a table. It has
// what it needs of the shape in one place, and reads the cells where [shape.locate] has them.
type direct struct {
	table      *packed
	seed       hashing.Seed
	blocks     uint64
	blockCells uint64
	positions  uint64
	cellBits   uint
	columns    uint

	estimates []float64 // by key, in units of the data
}

// directBits is the most bits that the cells of an index may have together. The table is 32 KiB
// then, and takes a millisecond to compute.
const directBits = 12

// newDirect returns the fast way without its estimates, nil where there is none.
func newDirect(p *Projection) *direct {
	s, t := &p.shape, p.table
	if s.ranges != nil || s.columns*s.cellBits > directBits {
		return nil
	}
	return &direct{&t, s.places, s.blocks, s.blockCells(), s.positions, uint(s.cellBits), uint(s.columns), nil}
}

// under returns the fast way to the estimates of a decoder.
func (f *direct) under(d *decoder) *direct {
	if f == nil {
		return nil
	}
	g := *f
	g.estimates = make([]float64, 1<<(g.columns*g.cellBits))
	outputs := make([]uint8, g.columns)
	for key := range g.estimates {
		for j := range outputs {
			outputs[j] = uint8(key >> (uint(j) * g.cellBits) & (1<<g.cellBits - 1))
		}
		positive, negative := d.shape.bothSides(outputs)
		g.estimates[key] = d.shape.inUnits(d.median(positive, negative, 0, d.odds))
	}
	return &g
}

// key returns what the cells of an index show, the first column in the lowest bits.
func (f *direct) key(index uint64) uint64 {
	print := hashing.Fingerprint(f.seed, index)
	if f.columns > 1 {
		return f.at(print)
	}
	// one call, so that the processor has several look-ups under way
	return uint64(f.table.at(f.first(print)))
}

// first returns the cell of a fingerprint in the first column.
func (f *direct) first(print uint64) (cell uint64) {
	block, _ := bits.Mul64(print, f.blocks)
	return block*f.blockCells + mixBits(print)&0xffff*f.positions>>16
}

// at is key for a fingerprint.
func (f *direct) at(print uint64) (key uint64) {
	block, _ := bits.Mul64(print, f.blocks)
	first := block * f.blockCells
	var chunks uint64
	for j := range f.columns {
		if j%4 == 0 {
			chunks = mixBits(print + uint64(j/4)*0x9e3779b97f4a7c15)
		}
		key |= uint64(f.table.at(first+chunks&0xffff*f.positions>>16)) << (j * f.cellBits & 63)
		chunks >>= 16
		first += f.positions
	}
	return key
}

// estimate sets dst[i] to the estimate of indices[i], batchSize indices at most, and like
// PlaceAll step by step. It returns a sum of what the first steps read, without which the compiler
// would leave these out.
func (f *direct) estimate(p *Projection, indices []uint64, dst []float64) (read uint64) {
	const last = batchSize - 1
	var order, places [batchSize]int // those that are not listed, and the others from the end
	var prints, cells [batchSize]uint64
	p.keys.positions(indices, &places)
	n := 0
	for i := range indices {
		order[n], order[(last-i+n)&last] = i, i
		n += int(uint(places[i]) >> (bits.UintSize - 1)) // 1 for a place below 0
	}
	for k, i := range order[:n] {
		prints[k] = hashing.Fingerprint(f.seed, indices[i])
		cells[k] = f.first(prints[k])
	}
	for _, cell := range cells[:n] {
		line, _ := f.table.line(cell)
		read += line[0]
	}
	for _, i := range order[last+1-len(indices)+n:] {
		dst[i] = p.estimateListed(indices[i], places[i])
	}
	for k, i := range order[:n] {
		key := uint64(f.table.at(cells[k]))
		if f.columns != 1 {
			key = f.at(prints[k])
		}
		dst[i] = f.estimates[key]
	}
	return read
}

// Interval returns bounds that contain the true value of the entry with at least the given
// confidence, for any one index fixed before the release. They rely on the load estimated from the
// table, which is off by about √(1/(cells of a column)). NaN for a confidence outside [0, 1).
//
// It is the hull of all values that the cells do not reject: for a rejected value, evidence as
// strong for a smaller or for a larger one has a probability below (1 − confidence)/2. Absence from
// the list is evidence too. A listed entry has the interval of its list value. No prior is assumed,
// but if the prior moves [Projection.Estimate] outside, the interval is extended to it.
//
// The first call with a confidence takes some milliseconds.
func (p *Projection) Interval(index uint64, confidence float64) (lo, hi float64) {
	d := p.decoder
	if d == nil || !(confidence >= 0 && confidence < 1) {
		return math.NaN(), math.NaN()
	}
	var buffer [fewColumns]uint8
	positive, negative, ok := p.read(index, buffer[:0])
	if !ok {
		return 0, 0
	}
	s := &p.shape
	value := d.list.find(index)
	if value != 0 {
		lo, hi = p.list.Interval(index, confidence)
		lo, hi = s.unphi(lo), s.unphi(hi)
	} else {
		lo, hi = d.interval(positive, negative, (1-confidence)/2)
	}
	estimate := s.inUnits(d.median(positive, negative, value, d.odds))
	return min(s.inUnits(lo), estimate), max(s.inUnits(hi), estimate)
}

// interval returns the hull, in steps, where at most the probability miss is left on either side.
// Where values are signed, half of it is for the evidence of the side on which the value is not.
func (d *decoder) interval(positive, negative []uint8, miss float64) (lo, hi float64) {
	if negative == nil {
		a := d.accept(limitsKey{0, miss, miss}, positive)
		if a.zero {
			a.lo = 0
		}
		return a.lo, a.hi
	}
	up, down := d.accept(limitsKey{0, miss / 2, miss}, positive), d.accept(limitsKey{1, miss / 2, miss}, negative)
	switch {
	case up.zero && down.zero: // not refuted by either side at half the miss: the hull holds both
		return -down.hi, up.hi
	case up.zero:
		return -down.hi, -down.lo
	case down.zero:
		return up.lo, up.hi
	}
	return -down.hi, up.hi // the sides contradict one another
}

// accepted is what one side says: the hull of the accepted values above 0, in steps, and whether 0
// is accepted.
type accepted struct {
	lo, hi float64
	zero   bool
}

// accept finds the accepted values.
func (d *decoder) accept(key limitsKey, outputs []uint8) (a accepted) {
	p := d.flat[key.side]
	l, _ := d.limits.Get(key, func() (*limits, error) { return d.newLimits(key), nil })
	var buffer [fewColumns + 1]float64
	behind := append(buffer[:0], make([]float64, p.columns+1)...) // B of the columns
	behind[p.columns] = p.tail.mass
	for j := p.columns - 1; j >= 0; j-- {
		i := p.at(j, outputs[j])
		if behind[j] = p.mass[i] + p.ratio[i]*behind[j+1]; behind[j] > math.MaxFloat64 {
			behind[j] = math.MaxFloat64
		}
	}
	a.zero = behind[0] < l.zero
	first, last, ahead := p.used, -1, 0.0
	for j, o := range outputs {
		i := p.at(j, o)
		mass, next := p.mass[i], p.ratio[i]*behind[j+1]
		// bounds on the odds of all bins of the column
		if mass+next > l.least[j]*ahead && next < l.most[j]*(mass+ahead) {
			for b := j * p.count; b < min((j+1)*p.count, p.used); b++ {
				down, up := p.halves(i, b-j*p.count)
				below, above := max(down+ahead, math.SmallestNonzeroFloat64), up+next
				if l.low[b]*below < above && above < l.high[b]*below {
					first, last = min(first, b), b
				}
			}
		}
		if ahead = (ahead + mass) * (1 / p.ratio[i]); ahead > math.MaxFloat64 {
			ahead = math.MaxFloat64
		}
	}
	if last < 0 { // all are refuted, one way or the other
		total, k := p.weight(outputs)
		middle := d.shape.valueAt(p.find(outputs, total/2, k))
		return accepted{middle, middle, a.zero}
	}
	// What is known of a bin holds in its middle: at its ends the next one says as much.
	a.lo, a.hi = d.shape.valueAt(max(p.point(first, -0.5), 0)), d.shape.valueAt(p.point(last, 1.5))
	if last == p.used-1 {
		a.hi = d.beyond(key.larger)
	}
	return a
}

// beyond returns the greatest value, in steps, that a full set of columns can stand for.
func (d *decoder) beyond(miss float64) float64 {
	if d.list == nil {
		return float64(d.shape.turn)
	}
	unlisted := d.list.absent(float64(d.shape.turn))
	return float64(d.shape.turn) + max(math.Log(unlisted/miss), 0)*d.uniform.tail.scale
}
