package alp

import (
	"math"
	"math/bits"

	"github.com/dpsketch/dpsketch/internal/exact"
)

// listing is the list of a release, for decoding. A nil listing lists nothing.
type listing struct {
	keys      *directory
	shape     *shape
	least     float64   // the list's threshold, in units of φ₁
	scale     float64   // of the list's noise, likewise
	plainFrom float64   // from this absolute value on, in units of φ₁, the listed value alone tells
	depth     []float64 // φ₁(x) − φ₁(X) in scales, for x in the middle of each bin: at most 0
}

// newListing returns the listing of a Projection, nil if it has no list.
func newListing(p *Projection, g *bins) *listing {
	if p.list == nil {
		return nil
	}
	l := newPlannedListing(&p.shape, g)
	l.keys = p.keys
	return l
}

// newPlannedListing returns a listing of no keys.
func newPlannedListing(s *shape, g *bins) *listing {
	l := &listing{keys: new(directory), shape: s, depth: make([]float64, g.total())}
	l.least, l.scale, _ = s.params.listReach() // the Params are those of a shape
	l.plainFrom = min(l.wideFrom(g), float64(exact.LeastInt(0, func(v int64) bool { return s.kept(v) == s.half })))
	corner := s.phi(s.turn)
	for b := range l.depth {
		l.depth[b] = min((l.phi(s.valueAt(g.point(b, 0.5)))-float64(corner))/l.scale, 0)
	}
	return l
}

// wideFrom returns the least value, in units of φ₁, whose bin is wider than the noise of the list:
// from there on the columns have nothing to add to a listed value, and the middle of a bin does not
// stand for it. On a linear axis all bins are alike, on a logarithmic one they grow with the value.
func (l *listing) wideFrom(g *bins) float64 {
	s := l.shape
	start := func(b int) float64 { return float64(s.geometry.slopeBelow) * s.valueAt(g.point(b, 0)) }
	if g.exact() { // each bin is one point
		start = func(b int) float64 { return float64(s.geometry.slopeBelow) * s.valueAt(float64(b)) }
	}
	for b := range g.used - 1 { // the last bin may end at X
		if start(b+1)-start(b) > l.scale {
			return start(b)
		}
	}
	return math.Inf(1)
}

// find returns the value of an index in the list, in units of φ₁, or 0 if it is not listed.
func (l *listing) find(index uint64) float64 {
	if l == nil {
		return 0
	}
	return l.keys.value(index)
}

// plain reports whether a listed value alone tells what the entry is: it kept no columns.
func (l *listing) plain(value float64) bool { return math.Abs(value) >= l.plainFrom }

// phi returns φ₁ of a number of steps that need not be whole.
func (l *listing) phi(v float64) float64 {
	g := &l.shape.geometry
	turn := float64(g.turn)
	return float64(g.slopeBelow)*min(v, turn) + float64(g.slopeAbove)*max(v-turn, 0)
}

// absent returns Pr[a value of v ≥ 0 steps is not listed], about: rounding below the list's radius,
// where next to nothing is listed, is left out.
func (l *listing) absent(v float64) float64 {
	if l == nil {
		return 1
	}
	return surpasses((l.phi(v) - l.least) / l.scale)
}

// shows returns Pr[a value of v ≥ 0 steps has noise with which it is at least y], y in units of φ₁.
func (l *listing) shows(v, y float64) float64 {
	if l == nil {
		return 0
	}
	return surpasses((max(y, l.least) - l.phi(v)) / l.scale)
}

// surpasses returns Pr[noise ≥ d] for d in scales.
func surpasses(d float64) float64 {
	if d > 0 {
		return 0.5 * math.Exp(-d)
	}
	return 1 - 0.5*math.Exp(d)
}

// fused is the distribution of a listed entry: the density of its list value, times the likelihood
// of the columns that it kept. The prior is uniform; 0, and for lists with δ > 0 values far below
// the list's radius, are as good as excluded.
type fused struct {
	*listing
	p       *posterior // for the load
	outputs []uint8
	kept    int
	value   float64 // listed, in units of φ₁, not negative
	corner  float64 // value − φ₁(X), in scales
}

// fuse prepares the distribution of a listed entry of the given absolute value.
func (l *listing) fuse(p *posterior, outputs []uint8, value float64) fused {
	corner := (value - float64(l.shape.phi(l.shape.turn))) / l.scale
	return fused{l, p, outputs, l.shape.kept(int64(value)), value, corner}
}

// weights appends the weight of each bin to dst, and returns it with their sum and the weight of
// what is above all columns.
func (f *fused) weights(dst []float64) (weights []float64, total, tail float64) {
	p := f.p
	product := 1.0
	for j := range p.columns {
		i := p.at(j, f.outputs[j])
		first, kept := j*p.count, j >= f.kept
		each := product
		if kept {
			each *= p.mass[i] * float64(p.used)
		}
		last, shares := float32(0), p.cum[i*p.count:]
		for b := first; b < min(first+p.count, p.used); b++ {
			w := each * f.closeness(b)
			if share := shares[b-first]; kept {
				w *= float64(share - last)
				last = share
			}
			dst = append(dst, w)
			total += w
		}
		if kept {
			product = min(product*p.ratio[i], rescale)
		}
	}
	return dst, total, product * f.above() * f.scaleInBins()
}

// closeness returns e^{−|value − φ|}, in scales, for the middle of a bin.
func (f *fused) closeness(b int) float64 { return math.Exp(-math.Abs(f.corner - f.depth[b])) }

// scaleInBins returns the scale of the noise above X, in bins as they are at X.
func (f *fused) scaleInBins() float64 {
	return f.scale / float64(f.shape.geometry.slopeAbove) / f.shape.lastBin(f.p.bins)
}

// above returns the integral of e^{−|value − φ|} over φ above φ₁(X), in scales.
func (f *fused) above() float64 {
	if f.corner <= 0 {
		return math.Exp(f.corner)
	}
	return 2 - math.Exp(-f.corner)
}

// median returns the median of the distribution, in steps.
func (f *fused) median() float64 {
	var buffer [allBins]float64
	weights, total, tail := f.weights(buffer[:0])
	if !(total+tail > 0) { // all underflow
		return f.shape.unphi(f.value)
	}
	left := (total + tail) / 2
	for b, w := range weights {
		if w >= left && w > 0 {
			return f.shape.valueAt(f.p.point(b, left/w))
		}
		left -= w
	}
	return float64(f.shape.turn) + f.beyond(min(max(left/tail, 0), 1-0x1p-53))*f.scale/float64(f.shape.geometry.slopeAbove)
}

// beyond returns the quantile of e^{−|value − φ|} above φ₁(X), in scales from there.
func (f *fused) beyond(share float64) float64 {
	if f.corner <= 0 {
		return -math.Log1p(-share)
	}
	part := share * f.above()
	if below := -math.Expm1(-f.corner); part > below { // above the value itself
		return f.corner - math.Log1p(below-part)
	}
	return f.corner + math.Log(part+math.Exp(-f.corner))
}

// directory is a set of n indices with a value each, in n buckets: index i is in bucket
// ⌊mixBits(i)·n/2⁶⁴⌋, and the indices of a bucket lie side by side, in order. A filter in front of
// them spares nearly all other indices a probe. Whatever the indices are, it takes O(n) to make and
// O(log n) to read. The zero directory is empty.
type directory struct {
	filter []uint64 // bit ⌊mixBits(i)·bits/2⁶⁴⌋ is set for each index
	starts []uint32 // of the buckets, and the end of the last
	slots  []directorySlot
}

// directorySlot is an index with its value.
type directorySlot struct {
	Index uint64
	Value float64 // not 0
	Known uint64  // for what the caller finds out about it, atomically
}

// filterBits is how many bits of the filter there are for an index: others pass with a probability
// of 1/16.
const filterBits = 16

// newDirectory returns the directory of the slots, less than 2³², which are sorted by index.
func newDirectory(slots []directorySlot) *directory {
	n := uint64(len(slots))
	if n == 0 {
		return new(directory)
	}
	d := &directory{make([]uint64, (n*filterBits+63)/64), make([]uint32, n+2), make([]directorySlot, n)}
	for i := range slots {
		h := mixBits(slots[i].Index)
		bit := scaled(h, uint64(len(d.filter))*64)
		d.filter[bit/64] |= 1 << (bit % 64)
		d.starts[scaled(h, n)+2]++
	}
	for b := range n {
		d.starts[b+2] += d.starts[b+1]
	}
	for _, s := range slots { // each bucket in order of the indices
		next := &d.starts[scaled(mixBits(s.Index), n)+1]
		d.slots[*next] = s
		*next++
	}
	return d
}

// value returns the value of an index, 0 if there is none.
func (d *directory) value(index uint64) float64 {
	if at := d.position(index); at >= 0 {
		return d.slots[at].Value
	}
	return 0
}

// position returns where the slot of an index is, −1 if it has no value.
func (d *directory) position(index uint64) int {
	h := mixBits(index)
	if len(d.filter) == 0 || d.may(h) == 0 {
		return -1
	}
	return d.search(index, h)
}

// slot returns the slot at a position.
func (d *directory) slot(at int) *directorySlot { return &d.slots[at] }

// batchSize is the most indices that positions takes.
const batchSize = 128

// positions sets places[i] to position(indices[i]). It goes step by step, each step for all
// indices, without a branch that waits for memory: so cache misses overlap.
func (d *directory) positions(indices []uint64, places *[batchSize]int) {
	for i := range places {
		places[i] = -1
	}
	if len(d.filter) == 0 {
		return
	}
	var may [batchSize]int // which indices may have a value
	var first [batchSize]uint64
	n := uint64(0)
	for i, index := range indices {
		may[n%batchSize] = i
		n += d.may(mixBits(index))
	}
	for _, i := range may[:n] {
		places[i] = int(d.starts[scaled(mixBits(indices[i]), uint64(len(d.slots)))])
	}
	for k, i := range may[:n] {
		first[k] = d.slots[min(places[i], len(d.slots)-1)].Index
	}
	for k, i := range may[:n] {
		if first[k] != indices[i] {
			places[i] = d.search(indices[i], mixBits(indices[i]))
		}
	}
}

// may is 1 or 0: whether an index with these mixBits may have a value. The directory is not empty.
func (d *directory) may(h uint64) uint64 {
	bit := scaled(h, uint64(len(d.filter))*64)
	return d.filter[bit/64] >> (bit % 64) & 1
}

// search is position for an index that may have a value, and its mixBits.
func (d *directory) search(index, h uint64) int {
	b := scaled(h, uint64(len(d.slots)))
	first, end := int(d.starts[b]), int(d.starts[b+1])
	for end-first > 8 {
		if middle := (first + end) / 2; d.slots[middle].Index > index {
			end = middle
		} else {
			first = middle
		}
	}
	for ; first < end; first++ {
		if d.slots[first].Index == index {
			return first
		}
	}
	return -1
}

// mixBits is a permutation in which every bit depends on all: the finaliser of SplitMix64 (Steele,
// Lea, Flood, OOPSLA 2014; variant 13 of Stafford).
func mixBits(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// scaled returns ⌊h·n/2⁶⁴⌋.
func scaled(h, n uint64) uint64 {
	at, _ := bits.Mul64(h, n)
	return at
}
