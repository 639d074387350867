package alp

import (
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
)

// Joint decoding. The entries of a batch, and those of the list, are candidates: what is known of
// one says what else may be in the cells of the others. Beliefs, laws over the states 0, the bins
// of each side and above all columns, are found by passing messages. A cell with output o tells the
// candidate i, if that is at level c of its column,
//
//	Σ_d Pr[max of others = d]·Pr[o | max(c, d)],   Pr[max of others ≤ d] = ground(d)·Π F_k(d)
//
// over the other candidates k of the cell: F_k is the belief of k without this column, cumulated,
// and ground is for entries that are no candidates: Poisson with the load of the table, less what
// the candidates are believed to put there. Where candidates and cells form a tree, as with one
// column they do, the beliefs are exact: TestJointExactly.

const (
	jointRounds = 4  // of reading all cells and learning the law of the values
	jointPasses = 3  // of messages in a round, if there is more than one column
	jointPseudo = 50 // entries of the prior that the law of the values is learned with
)

// joint is a law of the values and a ground, with which blocks of candidates are read.
type joint struct {
	*decoder
	// levels[column][state] is where in a column an entry is. Columns go outwards,
	// those of the first side first.
	levels [][]uint8
	prior  []float64   // of the states, for candidates that are not listed
	ground [][]float64 // [column][level]: Pr[no candidate's entry is above the level]
	memory []candidate
}

// EstimateAll sets dst[i] to the estimate of indices[i] and returns dst, in new memory if dst is
// too short. Unlike [Projection.Estimate], it learns from the batch how many entries are 0 and how
// the others are distributed, and it uses which of them share cells. So it has less error for
// batches with most of the non-zero entries, above all with many zeros or many small values. For
// sums of entries use [Projection.Total]. It is post-processing and costs no budget. It takes 8 µs
// per index with one column, 25 to 50 µs per index and column with several (Signed has at least
// two). For TwoVectors and for more than 64 columns it learns only the share of zeros.
func (p *Projection) EstimateAll(indices []uint64, dst []float64) []float64 {
	dst = slices.Grow(dst[:0], len(indices))[:len(indices)]
	d := p.decoder
	if d == nil {
		for i := range dst {
			dst[i] = math.NaN()
		}
		return dst
	}
	p.knowingZeros(indices, dst)
	if len(indices) == 0 || p.shape.params.TwoVectors || p.shape.columns > fewColumns {
		return dst
	}
	order := p.candidates(indices)
	j := newJoint(d)
	first := slices.Clone(j.prior)
	j.learnAlone(p, order, first)
	for round := range jointRounds {
		believed, n := make([]float64, len(j.prior)), 0
		present := make([]float64, len(j.prior))
		p.eachBlock(order, func(part []asked) {
			for i, c := range j.read(p, part) {
				for s, b := range c.belief {
					present[s] += b
					if c.prior == nil {
						believed[s] += b
					}
				}
				if c.prior == nil {
					n++
				}
				if round == jointRounds-1 && c.prior == nil {
					for _, at := range part[i].at {
						dst[at] = p.shape.inUnits(j.median(c.belief))
					}
				}
			}
		})
		j.learn(first, believed, float64(n))
		j.settle(present, len(order))
	}
	return dst
}

// knowingZeros sets dst[i] to the estimate of indices[i] under the share w of zeros that is the
// most likely, by expectation maximisation: an entry whose cells are S times as likely if it is not
// 0 is 0 with probability w/(w + (1−w)·S). One entry at 0 and one elsewhere are added, for batches
// of few.
func (p *Projection) knowingZeros(indices []uint64, dst []float64) {
	d := p.decoder
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

// asked is an index that is a candidate, and the places of the batch where it stands.
type asked struct {
	print, index uint64
	value        float64 // in the list; 0 if it is not listed
	at           []int
}

// candidates returns the different indices of a batch that may be in cells, and those of the list
// which are in some, sorted by fingerprints and so by blocks.
func (p *Projection) candidates(indices []uint64) []asked {
	d, dim := p.decoder, p.shape.params.Dim
	var all []asked
	add := func(index uint64, value float64, at ...int) {
		all = append(all, asked{hashing.Fingerprint(p.shape.places, index), index, value, at})
	}
	for i, index := range indices {
		if value := d.list.find(index); value == 0 && (dim == 0 || index < dim) {
			add(index, 0, i)
		}
	}
	if p.list != nil {
		for index, value := range p.list.All() {
			if p.shape.kept(int64(value)) < p.shape.half {
				add(index, value)
			}
		}
	}
	all = sortByHash(all, func(a *asked) uint64 { return a.print })
	different := all[:0]
	for _, a := range all {
		if n := len(different); n > 0 && different[n-1].index == a.index {
			different[n-1].at = append(different[n-1].at, a.at...)
		} else {
			different = append(different, a)
		}
	}
	return different
}

// eachBlock calls f for the candidates of each block.
func (p *Projection) eachBlock(order []asked, f func(part []asked)) {
	for from := 0; from < len(order); {
		end := from + 1
		for end < len(order) && p.shape.block(order[end].print) == p.shape.block(order[from].print) {
			end++
		}
		f(order[from:end])
		from = end
	}
}

// newJoint starts from the decoder's prior and load.
func newJoint(d *decoder) *joint {
	g := &d.bins
	side := g.total() + 1 // states of a side: the bins, and above all columns
	j := &joint{decoder: d, prior: make([]float64, 1+side*len(d.loads))}
	for at, rates := range d.loads {
		prior, t := d.uniform.mix(g, rates, float64(d.shape.cells()), d.prior.Learned)
		copy(j.prior[1+at*side:], append(prior, t.mass))
		for column := range g.columns {
			levels := make([]uint8, len(j.prior))
			for b := range side {
				levels[1+at*side+b] = uint8(min(max(b-column*g.count+1, 0), g.count+1))
			}
			j.levels = append(j.levels, levels)
		}
	}
	j.settle(make([]float64, len(j.prior)), 1)
	return j
}

// settle sets the ground to the load without what n candidates are believed to be, for any one of
// which there are n − 1 others.
func (j *joint) settle(present []float64, n int) {
	g := &j.bins
	others := float64(n-1) / float64(n) / float64(j.shape.cells())
	j.ground = j.ground[:0]
	for side, rates := range j.loads {
		mine := present[1+side*(g.total()+1):]
		rest := slices.Clone(rates)
		for b := range g.total() {
			rest[b] -= others * mine[b]
		}
		rest[g.end()] -= others * mine[g.total()]
		for b := range rest {
			rest[b] = max(rest[b], 0)
		}
		for column := range g.columns {
			ground := make([]float64, g.count+2)
			above := sum(rest[(column+1)*g.count:])
			ground[g.count+1] = 1
			for y := g.count; y >= 0; y-- {
				ground[y] = math.Exp(-above)
				if y > 0 {
					above += rest[column*g.count+y-1]
				}
			}
			j.ground = append(j.ground, ground)
		}
	}
}
