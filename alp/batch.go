package alp

import (
	"cmp"
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
)

// Joint decoding. The entries of a batch, and those of the list, are candidates: what is known of
// one says what else may be in the cells of the others. Beliefs, distributions over the states 0,
// the bins of each side and above all columns, are found by passing messages. A cell with output o
// tells the candidate i, if that is at level c of its column,
//
//	Σ_d Pr[max of others = d]·Pr[o | max(c, d)],   Pr[max of others ≤ d] = ground(d)·Π F_k(d)
//
// over the other candidates k of the cell: F_k is the belief of k without this column, cumulated,
// and ground is for entries that are no candidates: Poisson with the load of the table, less what
// the candidates are believed to put there. Where candidates and cells form a tree, as with one
// column they do, the beliefs are exact: TestJointExactly.

const (
	jointRounds = 4  // of reading all cells and learning the distribution of the values
	jointPasses = 3  // of messages in a round, if there is more than one column
	jointPseudo = 50 // entries of the prior that the distribution of values is learned with
)

// joint is a distribution of the values and a ground, with which blocks of candidates are read.
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
// batches with most of the non-zero entries; below 1000 entries whose values are as small as the
// noise it may have up to a sixth more, as they look like zeros. For sums use [Projection.Total].
// It takes 8 µs per index with one column, 25 to 50 µs per index and column with several. For
// TwoVectors and for more than 64 columns it learns only the share of zeros.
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
	slices.SortStableFunc(all, func(a, b asked) int { return cmp.Compare(a.print, b.print) })
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

const (
	aloneRounds = 300     // of learning from each candidate by itself, where they show few outputs
	aloneWork   = 1 << 26 // products in these rounds, about, where they show many
	aloneGain   = 3.0     // of a log likelihood that tells two priors apart
)

// learnAlone learns the prior from the candidates that are not listed, each by itself: the others
// in its cells follow the ground. What an entry tells depends on the outputs of its cells alone, so
// those that show the same are counted together, and there is time for many rounds of expectation
// maximisation.
//
// Small values look like zeros, so that many shares of zeros may be about as likely. From a start
// with nearly no zeros the rounds end at a small share, from one with nearly nothing else at a
// large one. The prior is the likelier of both if the data tell them apart, else their mean. If the
// prior without any zeros is likelier than both, it is that one's mean with the first.
func (j *joint) learnAlone(p *Projection, order []asked, first []float64) {
	var seen []outcome
	find, n := map[string]int{}, 0.0
	messages := j.messagesOfGround()
	for k := range order {
		if order[k].value != 0 {
			continue
		}
		outputs := j.load(p, order[k:k+1])[0].outputs
		at, ok := find[string(outputs)]
		if !ok {
			at = len(seen)
			find[string(outputs)] = at
			seen = append(seen, outcome{likelihood: j.likelihood(messages, outputs)})
		}
		seen[at].entries++
		n++
	}
	none, logNone := j.maximise(seen, first, n, 0)
	few, logFew := j.maximise(seen, first, n, 0.01)
	many, logMany := j.maximise(seen, first, n, 0.99)
	for s := range j.prior {
		switch {
		case logNone > max(logFew, logMany)+aloneGain/2:
			j.prior[s] = (none[s] + few[s]) / 2
		case logFew > logMany+aloneGain:
			j.prior[s] = few[s]
		case logMany > logFew+aloneGain:
			j.prior[s] = many[s]
		default:
			j.prior[s] = (few[s] + many[s]) / 2
		}
	}
}

// outcome is what some entries have in common: outputs of their cells.
type outcome struct {
	entries    float64
	likelihood []float64 // of the states
}

// maximise returns the prior of n entries after rounds of expectation maximisation from a share of
// zeros, and the logarithm of its likelihood.
func (j *joint) maximise(seen []outcome, first []float64, n, zero float64) (prior []float64, log float64) {
	for s := range j.prior {
		j.prior[s] = first[s] * (1 - zero) / (1 - first[0])
	}
	j.prior[0] = zero
	believed := make([]float64, len(first))
	for range min(max(aloneWork/(len(seen)*len(first)+1), jointRounds), aloneRounds) {
		log = 0
		clear(believed)
		for _, o := range seen {
			total := 0.0
			for s, l := range o.likelihood {
				total += j.prior[s] * l
			}
			log += o.entries * math.Log(total)
			for s, l := range o.likelihood {
				believed[s] += o.entries / total * j.prior[s] * l
			}
		}
		j.learn(first, believed, n)
		if zero == 0 { // not even the entry that learn adds
			j.prior[0] = 0
		}
	}
	return slices.Clone(j.prior), log
}

// learn sets the prior to the mean belief of n candidates that are not listed: of its share of
// zeros, with one entry at 0 and one elsewhere, and of the distribution of the others, with some
// entries of the first prior's.
func (j *joint) learn(first, believed []float64, n float64) {
	zero := (believed[0] + 0.5) / (n + 1)
	others := n - believed[0] + jointPseudo
	j.prior[0] = zero
	for s := 1; s < len(first); s++ {
		j.prior[s] = (1 - zero) / others * (believed[s] + jointPseudo*first[s]/(1-first[0]))
	}
}

// candidate is an entry of a batch or of the list.
type candidate struct {
	outputs []uint8     // of its columns
	cells   []uint64    // likewise
	kept    int         // the first column outwards that it keeps
	prior   []float64   // of the states; nil for that of the batch
	belief  []float64   // likewise
	message [][]float64 // [column][level]
	below   [][]float64 // [column][level]: Pr[at most there], without the column's message
}

// load returns the candidates of a block with what their cells show, in memory that the next call
// takes.
func (j *joint) load(p *Projection, part []asked) []candidate {
	for len(j.memory) < len(part) {
		j.memory = append(j.memory, j.newCandidate())
	}
	block := j.memory[:len(part)]
	var buffer [fewColumns]uint64
	s := &p.shape
	for i, a := range part {
		c := &block[i]
		cells := s.locate(a.index, buffer[:0])
		for column := range j.levels { // outwards
			raw := column
			if s.params.Signed {
				raw = s.half + column
				if column >= s.half {
					raw = 2*s.half - 1 - column
				}
			}
			c.cells[column], c.outputs[column] = cells[raw], p.table.at(cells[raw])
		}
		c.prior, c.kept = nil, 0
		if a.value != 0 {
			c.prior, c.kept = j.listedPrior(a.value), s.kept(int64(a.value))
		}
	}
	return block
}

// read returns the candidates of a block with their beliefs, in the same memory.
func (j *joint) read(p *Projection, part []asked) []candidate {
	block, passes := j.load(p, part), jointPasses
	if len(j.levels) == 1 {
		passes = 1
	}
	j.pass(block, passes)
	return block
}

// newCandidate returns a candidate with memory for all that it holds.
func (j *joint) newCandidate() candidate {
	n := len(j.levels)
	c := candidate{outputs: make([]uint8, n), cells: make([]uint64, n), belief: make([]float64, len(j.prior)), message: make([][]float64, n), below: make([][]float64, n)}
	for column := range n {
		c.message[column], c.below[column] = make([]float64, j.bins.count+2), make([]float64, j.bins.count+2)
	}
	return c
}

// listedPrior returns the distribution of a listed entry: the density of its value in the list.
func (j *joint) listedPrior(value float64) []float64 {
	prior := make([]float64, len(j.prior))
	at := 1
	if value < 0 {
		at += j.bins.total() + 1
	}
	f := j.list.fuse(j.open[0], nil, math.Abs(value))
	for b := range j.bins.used {
		prior[at+b] = f.closeness(b)
	}
	prior[at+j.bins.total()] = f.above() * f.scaleInBins()
	return prior
}

// pass sets the beliefs of the candidates of a block after some passes of messages.
func (j *joint) pass(block []candidate, passes int) {
	for i := range block {
		for _, m := range block[i].message {
			for y := range m {
				m[y] = 1
			}
		}
	}
	order := make([]int, len(block))
	for range passes {
		for i := range block {
			j.believe(&block[i])
			j.leaveOut(&block[i])
		}
		for column := range j.levels {
			order = order[:0]
			for i := range block {
				if column%j.shape.half >= block[i].kept {
					order = append(order, i)
				}
			}
			slices.SortFunc(order, func(a, b int) int { return cmp.Compare(block[a].cells[column], block[b].cells[column]) })
			for from := 0; from < len(order); {
				end := from + 1
				for end < len(order) && block[order[end]].cells[column] == block[order[from]].cells[column] {
					end++
				}
				j.tell(block, order[from:end], column)
				from = end
			}
		}
	}
	for i := range block {
		j.believe(&block[i])
	}
}

// believe sets the belief of a candidate to its prior times all messages.
func (j *joint) believe(c *candidate) {
	prior := c.prior
	if prior == nil {
		prior = j.prior
	}
	copy(c.belief, prior)
	for column, levels := range j.levels {
		m := c.message[column]
		for s, y := range levels {
			c.belief[s] *= m[y]
		}
		if most := slices.Max(c.belief); most < 1/rescale { // many columns that agree
			for s := range c.belief {
				c.belief[s] /= most
			}
		}
	}
	total := sum(c.belief)
	if !(total > 0) { // all underflow
		copy(c.belief, prior)
		total = sum(prior)
	}
	for s := range c.belief {
		c.belief[s] /= total
	}
}

// leaveOut sets below: what is believed without the message of each column.
func (j *joint) leaveOut(c *candidate) {
	for column, levels := range j.levels {
		below, m := c.below[column], c.message[column]
		clear(below)
		for s, y := range levels {
			below[y] += c.belief[s]
		}
		total := 0.0
		for y := range below {
			total += below[y] / m[y]
			below[y] = total
		}
		for y := range below {
			below[y] /= total
		}
	}
}

// tell sets the messages of one cell to the candidates that are in it.
func (j *joint) tell(block []candidate, members []int, column int) {
	g := &j.bins
	n := g.count + 2
	// after[k·n+d] is Π F of the members from k on
	after := make([]float64, (len(members)+1)*n)
	for d := range n {
		after[len(members)*n+d] = 1
	}
	for k := len(members) - 1; k >= 0; k-- {
		for d, f := range block[members[k]].below[column] {
			after[k*n+d] = after[(k+1)*n+d] * f
		}
	}
	before := slices.Clone(j.ground[column])
	for k, i := range members {
		c := &block[i]
		o, m := int(c.outputs[column]), c.message[column]
		larger, next := 0.0, 0.0 // next is Pr[max of others ≤ d + 1] at d
		for d := n - 1; d >= 0; d-- {
			at := before[d] * after[(k+1)*n+d]
			if d < n-1 {
				larger += (next - at) * g.chance[(d+1)*g.levels+o]
			}
			m[d] = larger + at*g.chance[d*g.levels+o]
			next = at
		}
		most := slices.Max(m)
		for d := range m {
			m[d] /= most
		}
		for d, f := range c.below[column] {
			before[d] *= f
		}
	}
}

// messagesOfGround returns what a cell with output o tells of its only candidate, an entry at level
// y of its column: out[column][o·levels+y].
func (j *joint) messagesOfGround() (out [][]float64) {
	n := j.bins.count + 2
	for column := range j.levels {
		alone := make([]candidate, 1)
		alone[0] = candidate{outputs: make([]uint8, column+1), message: make([][]float64, column+1), below: make([][]float64, column+1)}
		c := &alone[0]
		c.below[column] = make([]float64, n)
		messages := make([]float64, 0, j.bins.levels*n)
		for o := range j.bins.levels {
			c.outputs[column], c.message[column] = uint8(o), make([]float64, n)
			j.tell(alone, []int{0}, column)
			messages = append(messages, c.message[column]...)
		}
		out = append(out, messages)
	}
	return out
}

// likelihood returns that of each state, relative to the largest, for what the cells show.
func (j *joint) likelihood(messages [][]float64, outputs []uint8) []float64 {
	n := j.bins.count + 2
	out := make([]float64, len(j.prior))
	for s := range out {
		for column, levels := range j.levels {
			out[s] += math.Log(messages[column][int(outputs[column])*n+int(levels[s])])
		}
	}
	most := slices.Max(out)
	for s := range out {
		out[s] = math.Exp(out[s] - most)
	}
	return out
}

// median returns the median of a belief, in steps.
func (j *joint) median(belief []float64) float64 {
	side := j.bins.total() + 1
	negative := 0.0
	if len(j.loads) == 2 {
		negative = sum(belief[1+side:])
	}
	target := sum(belief) / 2
	switch {
	case target < negative:
		return -j.within(belief[1+side:], negative-target)
	case target-negative <= belief[0]:
		return 0
	}
	return j.within(belief[1:1+side], target-negative-belief[0])
}

// within returns the value, in steps, below which so much of a side's belief lies.
func (j *joint) within(belief []float64, left float64) float64 {
	g := &j.bins
	for b, w := range belief[:g.used] {
		if w >= left && w > 0 {
			return j.shape.valueAt(g.point(b, left/w))
		}
		left -= w
	}
	tail, end := belief[g.total()], float64(g.columns)*float64(g.width)
	if tail > 0 {
		return j.shape.valueAt(end - j.uniform.tail.scale*math.Log1p(-min(left/tail, 1-0x1p-53)))
	}
	return j.shape.valueAt(g.point(g.used-1, 1))
}
