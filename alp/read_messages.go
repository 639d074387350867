package alp

import (
	"cmp"
	"math"
	"slices"
)

// The messages of joint decoding: see read_joint.go.

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

// listedPrior returns the law of a listed entry: the density of its value in the list.
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
