package quantile

import (
	"math/bits"
	"slices"
	"sort"

	"github.com/dpsketch/dpsketch/noise"
)

// Column is a multiset of keys: those in the slice, and further ones, their number in zeros, that
// are all equal to zero.
type Column struct {
	Keys  []uint32
	Zeros int64
	Zero  uint32
}

// Size returns the number of keys.
func (c Column) Size() int64 { return int64(len(c.Keys)) + c.Zeros }

// ranks returns the number of keys below r, and the number of keys up to r.
func (c Column) ranks(r uint32) (lo, hi int64) {
	var below, equal int
	for _, k := range c.Keys {
		if k < r {
			below++
		}
		if k == r {
			equal++
		}
	}
	lo, hi = int64(below), int64(below+equal)
	if c.Zero < r {
		lo += c.Zeros
	}
	if c.Zero <= r {
		hi += c.Zeros
	}
	return lo, hi
}

// Region is a range of keys, [start, end), on which the base measure is the constant weight.
type Region struct {
	Start, End uint64
	Weight     uint64
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

// Sampler draws quantiles of columns. It belongs to one goroutine.
type Sampler struct {
	Src    noise.Source
	main   cells // of the region that most keys are in
	other  cells
	pieces []piece
	spare  []piece
	lists  [][]uint32 // of keysOf

	regions []Region // of narrowed
	others  []uint32 // of count
}

// Quantile draws a candidate r with probability exactly base(r)·w(score(r))/Σ base·w: see
// weights.go.
//
// It draws from the envelope in which each piece has the largest w that its ranks allow, and
// accepts with probability w/bound, a quotient of integers. A rejection in a piece with data splits
// it. What is accepted has the wanted law whatever the envelope was made of: given everything drawn
// before, the next accepted r has a probability in proportion to base(r)·w(score(r)).
func (s *Sampler) Quantile(c Column, base []Region, w *Weights) uint32 {
	target := w.Target(c.Size())
	s.lists = s.lists[:0]
	s.cut(c, base)
	s.cumulate(w, target)
	for {
		i := s.choose()
		p := s.pieces[i]
		r := uint32(p.start + s.Src.Uint64N(p.size))
		if p.count == 0 { // all its candidates have the same ranks
			return r
		}
		lo, hi := p.ranks(c, s.keysOf(c, i), r)
		if s.Src.Uint64N(p.bound) < w.At(w.Score(target, lo, hi)) {
			return r
		}
		if p.size > 1 {
			s.split(c, i)
			s.cumulate(w, target)
		}
	}
}

// keysOf returns keys of the column: all that lie in piece i, and hardly more.
func (s *Sampler) keysOf(c Column, i int) []uint32 {
	p := &s.pieces[i]
	if p.list > 0 {
		return s.lists[p.list-1]
	}
	if 2*p.count > int64(len(c.Keys)) { // a list would not save much
		return c.Keys
	}
	n := len(s.lists)
	if n == cap(s.lists) {
		s.lists = append(s.lists, nil)
	}
	s.lists = s.lists[:n+1]
	list := slices.Grow(s.lists[n][:0], int(p.count)+1)[:p.count+1]
	next := uint64(0)
	for _, k := range c.Keys { // without branches, which depend on chance
		list[next] = k
		_, inside := bits.Sub64(uint64(k)-p.start, p.size, 0) // a key before start wraps around
		next += inside
	}
	s.lists[n], p.list = list[:next], int32(n+1)
	return list[:next]
}

// ranks is that of the column for a candidate r in the piece, by keys that have all of its own.
func (p piece) ranks(c Column, keys []uint32, r uint32) (lo, hi int64) {
	var below, upTo uint64
	width := uint64(r) - p.start
	for _, k := range keys { // without branches, which depend on chance
		d := uint64(k) - p.start // a key before start wraps around
		_, less := bits.Sub64(d, width, 0)
		_, most := bits.Sub64(d, width+1, 0)
		below, upTo = below+less, upTo+most
	}
	lo, hi = p.below+int64(below), p.below+int64(upTo)
	if uint64(c.Zero) >= p.start && c.Zero < r {
		lo += c.Zeros
	}
	if uint64(c.Zero) >= p.start && c.Zero <= r {
		hi += c.Zeros
	}
	return lo, hi
}

// cut makes the first pieces: of every region a number of cells that suits the data, all of the
// same size except the last. A region that a few keys of a long column fall into is cut at the
// least and the greatest of them first, so that the cells are where the data is. Where pieces begin
// and end does not change the law: see quantile.
func (s *Sampler) cut(c Column, base []Region) {
	s.pieces = s.pieces[:0]
	base, main := s.narrowed(c.Keys, base)
	most, below := uint64(1)<<min(max(bits.Len(uint(len(c.Keys)))-4, 4), 11), int64(0)
	keys := c.Keys
	if main >= 0 { // most keys are there, and only the others are looked at again
		keys = s.count(&s.main, keys, base[main], most)
	}
	for i, r := range base {
		if i == main {
			below = s.add(&s.main, c, r, below)
			continue
		}
		cells := most
		if main >= 0 || len(base) > 1 && r.Weight == 1 {
			cells = min(cells, 64) // beside the data, or the window: see window.go
		}
		keys = s.count(&s.other, keys, r, cells)
		below = s.add(&s.other, c, r, below)
	}
}

const (
	narrowKeys   = 1 << 10 // fewer keys are not worth a look at some
	narrowSample = 64      // keys that are looked at
)

// narrowed returns the base measure cut at the least and the greatest of some of the keys, and
// which region lies between: −1 if there is none, as keys are few or not in one region.
func (s *Sampler) narrowed(keys []uint32, base []Region) (cut []Region, main int) {
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
		if from < r.Start || to > r.End {
			s.regions = append(s.regions, r)
			continue
		}
		if from > r.Start {
			s.regions = append(s.regions, Region{r.Start, from, r.Weight})
		}
		main = len(s.regions)
		s.regions = append(s.regions, Region{from, to, r.Weight})
		if to < r.End {
			s.regions = append(s.regions, Region{to, r.End, r.Weight})
		}
	}
	return s.regions, main
}

// cells are equal parts of a region, of 2^shift candidates each, and the numbers of keys in them.
type cells struct {
	shift  uint
	counts [][lanes]int32
}

// count cuts the region into at most the wanted number of cells, counts the keys that lie in each,
// and returns the other keys.
func (s *Sampler) count(t *cells, keys []uint32, r Region, wanted uint64) []uint32 {
	t.counts = t.counts[:0]
	if r.End <= r.Start {
		return keys
	}
	width, out := r.End-r.Start, 0
	t.shift = uint(bits.Len64((width - 1) / min(wanted, width)))
	n := int((width-1)>>t.shift) + 1
	t.counts = slices.Grow(t.counts, n)[:n]
	counts, shift := t.counts, t.shift&63
	clear(counts)
	s.others = slices.Grow(s.others[:0], len(keys))[:len(keys)] // or these are the keys
	for j, k := range keys {
		if d := uint64(k) - r.Start; d < width { // a key before start wraps around
			counts[d>>shift][j%lanes]++
			continue
		}
		s.others[out] = k
		out++
	}
	return s.others[:out]
}

// add appends pieces of the region, before which there are below keys, and returns the number
// before its end.
func (s *Sampler) add(t *cells, c Column, r Region, below int64) int64 {
	for i, n := range t.counts {
		p := piece{start: r.Start + uint64(i)<<t.shift, size: 1 << t.shift, weight: r.Weight, below: below, count: int64(n[0]) + int64(n[1]) + int64(n[2]) + int64(n[3])}
		p.size = min(p.size, r.End-p.start)
		if d := uint64(c.Zero) - p.start; d < p.size {
			p.count += c.Zeros
		}
		below += p.count
		s.pieces = append(s.pieces, p)
	}
	return below
}

// split cuts piece i into up to 64 pieces.
func (s *Sampler) split(c Column, i int) {
	keys := s.keysOf(c, i)
	p := s.pieces[i]
	s.spare = append(s.spare[:0], s.pieces[i+1:]...)
	s.pieces = s.pieces[:i]
	part := Region{p.start, p.start + p.size, p.weight}
	s.count(&s.other, keys, part, 64)
	s.add(&s.other, c, part, p.below)
	for at := i; at < len(s.pieces); at++ {
		s.pieces[at].list = p.list
	}
	s.pieces = append(s.pieces, s.spare...)
}

// cumulate fills in the bounds and the sums: at most 2⁵⁹ of base measure (tilted) times 2⁶².
func (s *Sampler) cumulate(w *Weights, target int64) {
	var hi, lo uint64
	for i := range s.pieces {
		p := &s.pieces[i]
		p.bound = w.At(w.Score(target, p.below, p.below+p.count))
		h, l := bits.Mul64(p.size*p.weight, p.bound)
		var carry uint64
		lo, carry = bits.Add64(lo, l, 0)
		hi, _ = bits.Add64(hi, h, carry)
		p.hi, p.lo = hi, lo
	}
}

// choose draws a piece in proportion to weight·size·bound.
func (s *Sampler) choose() int {
	total := s.pieces[len(s.pieces)-1]
	hi, lo := s.below(total.hi, total.lo)
	return sort.Search(len(s.pieces)-1, func(i int) bool {
		p := &s.pieces[i]
		return p.hi > hi || p.hi == hi && p.lo > lo
	})
}

// below draws a uniform number of 128 bits that is less than the given one, which is not 0.
func (s *Sampler) below(hi, lo uint64) (uint64, uint64) {
	if hi == 0 {
		return 0, s.Src.Uint64N(lo)
	}
	mask := ^uint64(0) >> bits.LeadingZeros64(hi)
	for {
		h, l := s.Src.Uint64()&mask, s.Src.Uint64()
		if h < hi || h == hi && l < lo {
			return h, l
		}
	}
}
