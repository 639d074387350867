package alp

import "math"

// decoder is what Estimate and Interval need of a Projection besides its table: the laws of entries
// given their cells, computed once.
type decoder struct {
	shape   *shape
	bins    bins
	list    *listing
	uniform uniform
	loads   []load // for each sign
	prior   Prior
	odds    float64      // of 0 against all other values, before reading
	sides   []*posterior // under the prior, for each sign: the non-negative side first
	flat    []*posterior // under the uniform prior
	open    []*posterior // under the uniform prior of listed entries; nil without a list
	pvalues *lazyPValues
	direct  *direct // nil where the cells of an index show too many combinations of outputs
}

// newDecoder reads the load off the table. It is a function of the release.
func newDecoder(p *Projection) *decoder {
	s := &p.shape
	d := &decoder{shape: s, pvalues: new(lazyPValues), direct: newDirect(p)}
	d.bins = newBins(&s.code, s.half, s.reach())
	d.list = newListing(p, &d.bins)
	d.uniform = s.uniformPrior(&d.bins, d.list)
	// of Sparsity: rates that the table speaks for grow fast, the others stay where they start
	const few = 0.1
	rate := few * float64(s.params.Sparsity) / float64(s.cells())
	start := d.uniform.start(&d.bins, rate)
	histogram := p.histogram()
	for side := range s.columns / s.half {
		d.loads = append(d.loads, d.bins.fit(s.outward(histogram, side), start))
	}
	d.flat = d.posteriors(&d.uniform, 0)
	if d.list != nil {
		open := s.uniformPrior(&d.bins, nil)
		d.open = d.posteriors(&open, 0)
	}
	return d.under(DefaultPrior())
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
	value := func(b int) float64 { return d.shape.steps(d.bins.position(b, 0.5)) * d.shape.step }
	for _, rates := range d.loads {
		prior, t := u.mix(&d.bins, rates, float64(d.shape.cells()), learned)
		sides = append(sides, newPosterior(&d.bins, rates, prior, t, value))
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
	out := make([][]uint64, s.half)
	for j := range out {
		column := histogram[s.half-1-j]
		if s.mirrored(0) {
			turned := make([]uint64, len(column))
			for o, n := range column {
				turned[len(column)-1-o] = n
			}
			column = turned
		}
		out[j] = column
	}
	return out
}

// sides turns what the cells of an index show into the two sides, as outward does; the one below 0
// is nil unless values are signed. It overwrites outputs.
func (s *shape) sides(outputs []uint8) (positive, negative []uint8) {
	if !s.params.Signed {
		return outputs, nil
	}
	negative, positive = outputs[:s.half], outputs[s.half:]
	for i, j := 0, s.half-1; i < j; i, j = i+1, j-1 {
		negative[i], negative[j] = negative[j], negative[i]
	}
	if s.mirrored(0) {
		for i, o := range negative {
			negative[i] = uint8(s.code.levels-1) - o
		}
	}
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

// quantile returns the quantile of the entry's law, in steps: values below 0, then 0, then those
// above.
func (d *decoder) quantile(sides []*posterior, positive, negative []uint8, odds, share float64) float64 {
	if negative == nil {
		total, k := sides[0].weight(positive)
		odds *= units(k)
		target := share*(total+odds) - odds
		if target <= 0 {
			return 0
		}
		return d.shape.steps(sides[0].find(positive, target, k))
	}
	w := d.weigh(sides, positive, negative, odds)
	target := share * (w.positive + w.negative + w.odds)
	if target < w.negative {
		return -d.shape.steps(sides[1].find(negative, (w.negative-target)/w.unit[1], w.scale[1]))
	}
	target -= w.negative + w.odds
	if target <= 0 {
		return 0
	}
	return d.shape.steps(sides[0].find(positive, target/w.unit[0], w.scale[0]))
}

// mean returns the mean of the entry's law, in units of the data.
func (d *decoder) mean(positive, negative []uint8) float64 {
	w := d.weigh(d.sides, positive, negative, d.odds)
	m := d.sides[0].moment(positive) * w.unit[0]
	if negative != nil {
		m -= d.sides[1].moment(negative) * w.unit[1]
	}
	return m / (w.positive + w.negative + w.odds)
}

// listed returns the law of a listed entry, and whether it is below 0.
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
