package plan

import (
	"math/bits"
	"slices"

	"github.com/dpsketch/dpsketch/noise"
)

// column is a multiset of keys: those in the slice, and further ones, their number in zeros, that
// are all equal to zero.
type column struct {
	keys  []uint32
	zeros int64
	zero  uint32
}

// size returns the number of keys.
func (c column) size() int64 { return int64(len(c.keys)) + c.zeros }

// ranks returns the number of keys below r, and the number of keys up to r.
func (c column) ranks(r uint32) (lo, hi int64) {
	var below, equal int
	for _, k := range c.keys {
		if k < r {
			below++
		}
		if k == r {
			equal++
		}
	}
	lo, hi = int64(below), int64(below+equal)
	if c.zero < r {
		lo += c.zeros
	}
	if c.zero <= r {
		hi += c.zeros
	}
	return lo, hi
}

// region is a range of keys, [start, end), on which the base measure is the constant weight.
type region struct {
	start, end uint64
	weight     uint64
}

// piece is a range of candidates within a region, and bounds of their ranks.
type piece struct {
	start, size  uint64
	weight       uint64
	below, count int64  // number of keys before the piece, and in it
	bound        uint64 // the largest w that a candidate can have
	hi, lo       uint64 // sum of weight·size·bound over all pieces up to this one
	list         int32  // 1 + the index of a list with all its keys; 0 if there is none
}

// lanes is the number of counters of a piece. With one counter, keys that all lie in one piece
// would have to be counted one after the other.
const lanes = 4

// sampler draws quantiles of columns. It belongs to one goroutine.
type sampler struct {
	src    noise.Source
	counts [][lanes]int32
	pieces []piece
	spare  []piece
	lists  [][]uint32 // of keysOf

	regions []region // of narrowed
	others  []uint32 // of outside
}

// quantile draws a candidate r with probability exactly base(r)·w(score(r))/Σ base·w: see
// weights.go.
//
// It draws from the envelope in which each piece has the largest w that its ranks allow, and
// accepts with probability w/bound, a quotient of integers. A rejection in a piece with data splits
// it. What is accepted has the wanted law whatever the envelope was made of: given everything drawn
// before, the next accepted r has a probability in proportion to base(r)·w(score(r)).
func (s *sampler) quantile(c column, base []region, w *weights) uint32 {
	target := w.target(c.size())
	s.lists = s.lists[:0]
	s.cut(c, base)
	s.cumulate(w, target)
	for {
		i := s.choose()
		p := s.pieces[i]
		r := uint32(p.start + s.src.Uint64N(p.size))
		if p.count == 0 { // all its candidates have the same ranks
			return r
		}
		lo, hi := p.ranks(c, s.keysOf(c, i), r)
		if s.src.Uint64N(p.bound) < w.at(w.score(target, lo, hi)) {
			return r
		}
		if p.size > 1 {
			s.split(c, i)
			s.cumulate(w, target)
		}
	}
}

// keysOf returns keys of the column: all that lie in piece i, and hardly more.
func (s *sampler) keysOf(c column, i int) []uint32 {
	p := &s.pieces[i]
	if p.list > 0 {
		return s.lists[p.list-1]
	}
	if 2*p.count > int64(len(c.keys)) { // a list would not save much
		return c.keys
	}
	n := len(s.lists)
	if n == cap(s.lists) {
		s.lists = append(s.lists, nil)
	}
	s.lists = s.lists[:n+1]
	list := slices.Grow(s.lists[n][:0], int(p.count)+1)[:p.count+1]
	next := uint64(0)
	for _, k := range c.keys { // without branches, which depend on chance
		list[next] = k
		_, inside := bits.Sub64(uint64(k)-p.start, p.size, 0) // a key before start wraps around
		next += inside
	}
	s.lists[n], p.list = list[:next], int32(n+1)
	return list[:next]
}

// ranks is that of the column for a candidate r in the piece, by keys that have all of its own.
func (p piece) ranks(c column, keys []uint32, r uint32) (lo, hi int64) {
	var below, upTo uint64
	width := uint64(r) - p.start
	for _, k := range keys { // without branches, which depend on chance
		d := uint64(k) - p.start // a key before start wraps around
		_, less := bits.Sub64(d, width, 0)
		_, most := bits.Sub64(d, width+1, 0)
		below, upTo = below+less, upTo+most
	}
	lo, hi = p.below+int64(below), p.below+int64(upTo)
	if uint64(c.zero) >= p.start && c.zero < r {
		lo += c.zeros
	}
	if uint64(c.zero) >= p.start && c.zero <= r {
		hi += c.zeros
	}
	return lo, hi
}

// cut makes the first pieces: of every region a number of cells that suits the data, all of the
// same size but for the last. A region that a few keys of a long column fall into is cut at the
// least and the greatest of them first, so that the cells are where the data is. Where pieces begin
// and end does not change the law: see quantile.
func (s *sampler) cut(c column, base []region) {
	s.pieces = s.pieces[:0]
	base, main := s.narrowed(c.keys, base)
	others := c.keys
	if main >= 0 {
		others = s.outside(c.keys, base[main])
	}
	most, below := uint64(1)<<min(max(bits.Len(uint(len(c.keys)))-4, 4), 11), int64(0)
	for i, r := range base {
		keys, cells := others, min(most, r.end-r.start)
		switch {
		case i == main:
			keys = c.keys
		case main >= 0, len(base) > 1 && r.weight == 1:
			cells = min(cells, 64) // beside the data, or the window: see window.go
		}
		below = s.partition(c, keys, r, cells, below)
	}
}

const (
	narrowKeys   = 1 << 10 // fewer keys are not worth a look at some
	narrowSample = 64      // keys that are looked at
)

// narrowed returns the base measure cut at the least and the greatest of some of the keys, and
// which region lies between: −1 if there is none, as keys are few or not in one region.
func (s *sampler) narrowed(keys []uint32, base []region) (cut []region, main int) {
	if len(keys) < narrowKeys {
		return base, -1
	}
	least, most := keys[0], keys[0]
	for j := 0; j < len(keys); j += len(keys) / narrowSample {
		least, most = min(least, keys[j]), max(most, keys[j])
	}
	from, to := uint64(least), uint64(most)+1
	s.regions, main = s.regions[:0], -1
	for _, r := range base {
		if from < r.start || to > r.end {
			s.regions = append(s.regions, r)
			continue
		}
		if from > r.start {
			s.regions = append(s.regions, region{r.start, from, r.weight})
		}
		main = len(s.regions)
		s.regions = append(s.regions, region{from, to, r.weight})
		if to < r.end {
			s.regions = append(s.regions, region{to, r.end, r.weight})
		}
	}
	return s.regions, main
}

// outside returns the keys that are not in the region.
func (s *sampler) outside(keys []uint32, r region) []uint32 {
	s.others = slices.Grow(s.others[:0], len(keys)+1)[:len(keys)+1]
	next, width := uint64(0), r.end-r.start
	for _, k := range keys { // without branches, which depend on chance
		s.others[next] = k
		_, inside := bits.Sub64(uint64(k)-r.start, width, 0) // a key before start wraps around
		next += 1 - inside
	}
	return s.others[:next]
}

// partition appends up to cells pieces of the region, before which there are below keys, and
// returns the number before its end. keys are those of the column, or all of them in the region.
func (s *sampler) partition(c column, keys []uint32, r region, cells uint64, below int64) int64 {
	if r.end <= r.start {
		return below
	}
	width := r.end - r.start
	shift := uint(bits.Len64((width - 1) / cells))
	cells = (width-1)>>shift + 1
	if uint64(cap(s.counts)) < cells {
		s.counts = make([][lanes]int32, cells)
	}
	counts := s.counts[:cells]
	clear(counts)
	for j, k := range keys {
		if d := uint64(k) - r.start; d < width { // a key before start wraps around
			counts[d>>shift][j%lanes]++
		}
	}
	for i, n := range counts {
		p := piece{start: r.start + uint64(i)<<shift, size: 1 << shift, weight: r.weight, below: below, count: int64(n[0]) + int64(n[1]) + int64(n[2]) + int64(n[3])}
		p.size = min(p.size, r.end-p.start)
		if d := uint64(c.zero) - p.start; d < p.size {
			p.count += c.zeros
		}
		below += p.count
		s.pieces = append(s.pieces, p)
	}
	return below
}

// split cuts piece i into up to 64 pieces.
func (s *sampler) split(c column, i int) {
	keys := s.keysOf(c, i)
	p := s.pieces[i]
	s.spare = append(s.spare[:0], s.pieces[i+1:]...)
	s.pieces = s.pieces[:i]
	s.partition(c, keys, region{p.start, p.start + p.size, p.weight}, min(p.size, 64), p.below)
	for at := i; at < len(s.pieces); at++ {
		s.pieces[at].list = p.list
	}
	s.pieces = append(s.pieces, s.spare...)
}

// cumulate fills in the bounds and the sums: at most 2⁵⁰ of base measure (tilted) times 2⁶².
func (s *sampler) cumulate(w *weights, target int64) {
	var hi, lo uint64
	for i := range s.pieces {
		p := &s.pieces[i]
		p.bound = w.at(w.score(target, p.below, p.below+p.count))
		h, l := bits.Mul64(p.size*p.weight, p.bound)
		var carry uint64
		lo, carry = bits.Add64(lo, l, 0)
		hi, _ = bits.Add64(hi, h, carry)
		p.hi, p.lo = hi, lo
	}
}

// choose draws a piece in proportion to weight·size·bound.
func (s *sampler) choose() int {
	total := s.pieces[len(s.pieces)-1]
	hi, lo := s.below(total.hi, total.lo)
	from, to := 0, len(s.pieces)-1
	for from < to {
		mid := int(uint(from+to) / 2)
		if p := &s.pieces[mid]; p.hi > hi || p.hi == hi && p.lo > lo {
			to = mid
		} else {
			from = mid + 1
		}
	}
	return from
}

// below draws a uniform number of 128 bits that is less than the given one, which is not 0.
func (s *sampler) below(hi, lo uint64) (uint64, uint64) {
	if hi == 0 {
		return 0, s.src.Uint64N(lo)
	}
	mask := ^uint64(0) >> bits.LeadingZeros64(hi)
	for {
		h, l := s.src.Uint64()&mask, s.src.Uint64()
		if h < hi || h == hi && l < lo {
			return h, l
		}
	}
}
