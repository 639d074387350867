package alp

import "math"

// fewColumns is how many columns Estimate needs no memory for.
const fewColumns = 64

// Estimate returns the value of an entry as the release tells it, in the units of the data: the
// median of its law given its cells, its absence from the list or its value there, and the [Prior].
// NaN for a Projection that was neither released nor decoded, 0 for an index outside Dim.
//
// It does not allocate, unless there are more than 64 columns. Where the cells of an index have 12
// bits together or fewer, it is one look into the table and one into a table of the estimates of
// all outputs.
func (p *Projection) Estimate(index uint64) float64 {
	d := p.decoder
	if d == nil {
		return math.NaN()
	}
	if dim := p.shape.params.Dim; dim > 0 && index >= dim {
		return 0
	}
	value := d.list.find(index)
	switch {
	case value == 0 && d.direct != nil:
		return d.direct.estimates[d.direct.key(index)]
	case value != 0 && d.list.plain(value):
		return p.shape.value(p.shape.unphi(value))
	}
	var buffer [fewColumns]uint8
	positive, negative, _ := p.read(index, buffer[:0])
	return p.shape.value(d.median(positive, negative, value, d.odds))
}

// read returns what the cells of an index show, for both sides, and false for one outside Dim.
func (p *Projection) read(index uint64, buffer []uint8) (positive, negative []uint8, ok bool) {
	if dim := p.shape.params.Dim; p.decoder == nil || dim > 0 && index >= dim {
		return nil, nil, false
	}
	positive, negative = p.shape.sides(p.cells(index, buffer))
	return positive, negative, true
}

// median returns the median of an entry's law, in steps.
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

// Mean returns the mean of the law of which Estimate is the median: it has less squared error, and
// is never exactly 0.
func (p *Projection) Mean(index uint64) float64 {
	var buffer [fewColumns]uint8
	positive, negative, ok := p.read(index, buffer[:0])
	d := p.decoder
	switch {
	case d == nil:
		return math.NaN()
	case !ok:
		return 0
	}
	if value := d.list.find(index); value != 0 {
		if d.list.plain(value) {
			return d.shape.unphi(value) * d.shape.step
		}
		f, below := d.listed(positive, negative, value)
		return sign(f.mean()*d.shape.step, below)
	}
	return d.mean(positive, negative)
}
