package alp

import (
	"math"
	"slices"
)

// EstimateAll sets dst[i] to the estimate of indices[i] and returns dst, in memory of its own if
// dst is too short. Beyond [Projection.Estimate] it learns from the batch how many of its entries
// are 0, in the place of the prior's Zero, and so has less error for batches of many zeros and for
// batches of none.
//
// The share w of zeros is the one of the greatest likelihood, by expectation maximisation: an entry
// whose cells are S times as likely if it is not 0 is 0 with probability w/(w + (1−w)·S). One entry
// at 0 and one elsewhere are added, for batches of few.
func (p *Projection) EstimateAll(indices []uint64, dst []float64) []float64 {
	dst = slices.Grow(dst[:0], len(indices))[:len(indices)]
	d := p.decoder
	if d == nil {
		for i := range dst {
			dst[i] = math.NaN()
		}
		return dst
	}
	for i, index := range indices {
		dst[i] = p.evidence(index)
	}
	odds := d.oddsOfZero(dst)
	var buffer [fewColumns]uint8
	for i, index := range indices {
		positive, negative, ok := p.read(index, buffer[:0])
		if dst[i] = 0; ok {
			dst[i] = p.shape.inUnits(d.median(positive, negative, d.list.find(index), odds))
		}
	}
	return dst
}

// evidence returns how many times as likely what the release shows of an entry is if it is not 0:
// +Inf where it is listed, NaN outside Dim.
func (p *Projection) evidence(index uint64) float64 {
	var buffer [fewColumns]uint8
	positive, negative, ok := p.read(index, buffer[:0])
	switch {
	case !ok:
		return math.NaN()
	case p.decoder.list.find(index) != 0:
		return math.Inf(1)
	}
	w := p.decoder.weigh(p.decoder.sides, positive, negative, 1)
	return (w.positive + w.negative) / (w.odds * float64(len(p.decoder.sides)))
}

// oddsOfZero returns the odds, as in decoder, of 0 in a batch of the given evidence.
func (d *decoder) oddsOfZero(evidence []float64) float64 {
	const rounds = 40
	zero := 0.5
	for range rounds {
		zeros, n := 0.5, 1.0 // two entries, of weight ½ each
		for _, s := range evidence {
			if math.IsNaN(s) {
				continue
			}
			n++
			zeros += zero / (zero + (1-zero)*s)
		}
		zero = zeros / n
	}
	return zero / (1 - zero) * float64(len(d.sides))
}
