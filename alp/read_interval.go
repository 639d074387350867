package alp

import "math"

// Interval returns bounds that contain the true value of the entry, whatever it is, with at least
// the given confidence over the noise, for any one index fixed before the release. They rely on the
// load estimated from the table, which is off by about √(1/(cells of a column)). NaN for a
// confidence outside [0, 1).
//
// It is the hull of all values that the cells do not reject: for a rejected value, evidence as
// strong for a smaller or for a larger one has a probability below (1 − confidence)/2 (see
// pvalues). Absence from the list counts as evidence against values much above the list's
// threshold. A listed entry has the interval of its list value. No prior is assumed, but if the
// prior moves [Projection.Estimate] outside, the interval is extended to the Estimate.
//
// The first call computes tables, which takes some milliseconds.
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
	estimate := p.estimate(index, value)
	return min(s.inUnits(lo), estimate), max(s.inUnits(hi), estimate)
}

// interval returns the hull, in steps, where at most the probability miss is left on either side.
// Where values are signed, half of it is for the evidence of the side on which the value is not.
func (d *decoder) interval(positive, negative []uint8, miss float64) (lo, hi float64) {
	tables := d.pvalues.get(d)
	if negative == nil {
		a := d.accept(0, tables[0], positive, miss, miss)
		if a.zero {
			a.lo = 0
		}
		return a.lo, a.hi
	}
	up, down := d.accept(0, tables[0], positive, miss/2, miss), d.accept(1, tables[1], negative, miss/2, miss)
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

// accept finds the accepted values, given what may be missed below and above.
func (d *decoder) accept(side int, v *pvalues, outputs []uint8, low, high float64) (a accepted) {
	p := d.flat[side]
	log := make([]float64, p.used)
	p.odds(outputs, log)
	total, k := p.weight(outputs)
	a.zero = k == 0 && v.zero[before(math.Log(total))] > low
	first, last := p.used, -1
	for b, x := range log {
		at := b * oddsPoints
		// a value at either end of the bin is listed less or more often than one in the middle
		most, least := d.list.absent(d.shape.valueAt(p.point(b, 0))), d.list.absent(d.shape.valueAt(p.point(b, 1)))
		if 1-least*(1-float64(v.lower[at+before(x)])) <= low || most*float64(v.upper[at+after(x)]) <= high {
			continue
		}
		first, last = min(first, b), b
	}
	if last < 0 { // all are refuted, one way or the other
		middle := d.shape.valueAt(p.find(outputs, total/2, k))
		return accepted{middle, middle, a.zero}
	}
	// What is known of a bin holds in its middle: at its ends the next one says as much.
	a.lo, a.hi = d.shape.valueAt(max(p.point(first, -0.5), 0)), d.shape.valueAt(p.point(last, 1.5))
	if last == p.used-1 {
		a.hi = d.beyond(high)
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
