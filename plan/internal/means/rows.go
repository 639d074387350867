package means

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/dpsketch/dpsketch/internal/quantile"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// bounds are what is public of rows: their length, and where entries are clamped to.
type bounds struct {
	dim         int
	least, most float64
	ranges      *ranges // nil: [least, most] for all
}

// clean clamps an entry of column i. NaN counts as 0: an entry of a sparse row that is NaN is none.
func (b *bounds) clean(i int, x float64) float64 {
	least, most := b.least, b.most
	if b.ranges != nil {
		least, most = b.ranges.min[i], b.ranges.max[i]
	}
	if x >= least && x <= most {
		return x
	}
	if x != x {
		x = 0
	}
	return min(max(x, least), most)
}

// usual returns bounds such that clean leaves all entries between them as they are, in every
// column. If columns have ranges of their own, no entry lies between the bounds.
func (b *bounds) usual() (least, most float64) {
	if b.ranges != nil {
		return math.Inf(1), math.Inf(-1)
	}
	return b.least, b.most
}

// rows is the input of a release: dense or sparse, with entries clamped to [least, max] where they
// are read.
type rows struct {
	bounds
	dense  [][]float64
	sparse *Sparse // nil for dense rows
}

// count returns the number of rows.
func (r *rows) count() int {
	if r.sparse != nil {
		return r.sparse.Rows()
	}
	return len(r.dense)
}

// present returns the rows without the empty dense ones. Those stand for missing rows under the
// relation AddRemove.
func (r *rows) present() *rows {
	out := *r
	if r.sparse == nil {
		out.dense = slices.DeleteFunc(slices.Clone(r.dense), func(row []float64) bool { return len(row) == 0 })
	}
	return &out
}

// columnBlock returns the number of columns that a worker gathers at a time. More columns read
// longer stretches of each row, but the keys of all should not be many more than 2²².
func columnBlock(rows, columns int) int { return min(max(1<<22/max(rows, 1), 4), 64, columns) }

// absent stands for the key of a NaN entry of a dense row. No axis has 2³² cells.
const absent = math.MaxUint32

// columns calls use once for each of the listed columns, with its keys, on several goroutines. Of
// dense rows it holds columnBlock columns for each goroutine at a time; of sparse rows it holds all
// the listed columns, in memory proportional to their stored entries. NaN entries of a dense column
// are left out, except that the first of them count as the stand-ins, of which there may be some.
// So a row adds at most one key, or one stand-in.
func (r *rows) columns(list []int, count int, stop func() error, k *quantile.Keying, standIns []uint32, use func(at, worker int, c quantile.Column)) error {
	if r.sparse != nil {
		return r.sparseColumns(list, count, stop, k, use)
	}
	var some atomic.Bool // whether there are NaN entries
	return gathered(r, list, count, stop, func(dst []uint32, i int, x []float64, missing bool) {
		k.Fill(dst, i, x)
		if !missing {
			return
		}
		some.Store(true)
		for at, v := range x {
			if v != v {
				dst[at] = absent
			}
		}
	}, func(at, worker int, keys []uint32) {
		if some.Load() {
			present := slices.DeleteFunc(keys, func(key uint32) bool { return key == absent })
			keys = append(present, standIns[:min(len(keys)-len(present), len(standIns))]...)
		}
		use(at, worker, quantile.Column{Keys: keys})
	})
}

// gathered calls use for each of the listed columns of dense rows, with what put makes of its
// entries, a tile of rows at a time.
func gathered[T any](r *rows, list []int, count int, stop func() error, put func(dst []T, i int, x []float64, missing bool), use func(at, worker int, column []T)) error {
	n := len(r.dense)
	block, buffers := columnBlock(n, max(len(list), 1)), make([][]T, count)
	return workers(count, (len(list)+block-1)/block, stop, func(b, worker int) {
		some := list[b*block : min((b+1)*block, len(list))]
		if buffers[worker] == nil {
			buffers[worker] = make([]T, block*n)
		}
		buffer := buffers[worker]
		for j := 0; j < n; j += tile {
			rows, x := r.dense[j:min(j+tile, n)], [tile]float64{}
			for at, i := range some {
				missing := r.gather(x[:len(rows)], rows, i)
				put(buffer[at*n+j:], i, x[:len(rows)], missing)
			}
		}
		for at := range some {
			use(b*block+at, worker, buffer[at*n:(at+1)*n])
		}
	})
}

// tile is the number of rows that are read together. A cache line of a row then serves several
// columns, and the keys that are written fill whole cache lines.
const tile = 16

// gather sets x to the entries of the rows in column i. NaN stays NaN, and missing tells of it.
func (r *rows) gather(x []float64, rows [][]float64, i int) (missing bool) {
	least, most := r.usual()
	for at, row := range rows {
		v := 0.0
		if i < len(row) {
			v = row[i]
		}
		if !(v >= least && v <= most) {
			if v == v {
				v = r.clean(i, v)
			} else {
				missing = true
			}
		}
		x[at] = v
	}
	return missing
}

// entriesAtOnce is the number of sparse entries whose keys are computed together.
const entriesAtOnce = 256

// sparseColumns is columns for sparse rows. It counts the zeros of a column, but visits none.
func (r *rows) sparseColumns(list []int, count int, stop func() error, k *quantile.Keying, use func(at, worker int, c quantile.Column)) error {
	s := r.sparse
	place := make([]int32, r.dim) // 1 + the place in the list
	for at, i := range list {
		place[i] = int32(at) + 1
	}
	ends := make([]int, len(list)+1)
	for _, i := range s.Indices {
		if at := place[i]; at > 0 {
			ends[at]++
		}
	}
	for at := range list {
		ends[at+1] += ends[at]
	}
	keys := make([]uint32, ends[len(list)])
	next := slices.Clone(ends[:len(list)])
	var (
		x     [entriesAtOnce]float64
		some  [entriesAtOnce]uint32
		where [entriesAtOnce]int32
	)
	for from := 0; from < len(s.Indices); from += entriesAtOnce {
		m := 0
		for e, i := range s.Indices[from:min(from+entriesAtOnce, len(s.Indices))] {
			at := place[i] - 1
			if at < 0 {
				continue
			}
			v := r.clean(int(i), s.value(from+e))
			if k.Centre != nil {
				v = math.Abs(v - k.Centre[i])
			}
			x[m], where[m] = v, at
			m++
		}
		k.KeyAll(some[:], x[:m])
		for e, at := range where[:m] {
			keys[next[at]] = some[e]
			next[at]++
		}
	}
	n := s.Rows()
	return workers(count, len(list), stop, func(at, worker int) {
		var zero [1]uint32
		k.Fill(zero[:], list[at], make([]float64, 1))
		c := quantile.Column{Keys: keys[ends[at]:ends[at+1]], Zero: zero[0]}
		c.Zeros = int64(n - len(c.Keys))
		use(at, worker, c)
	})
}

// Sparse is a matrix in compressed form whose entries are mostly 0: package plan documents it.
type Sparse struct {
	Offsets []int
	Indices []uint32
	Values  []float64
}

// Rows returns the number of rows.
func (s Sparse) Rows() int { return max(len(s.Offsets)-1, 0) }

// wellFormed reports whether the lengths and the offsets fit together.
func (s Sparse) wellFormed() bool {
	if len(s.Offsets) == 0 {
		return len(s.Indices) == 0 && len(s.Values) == 0
	}
	return s.Offsets[0] == 0 && slices.IsSorted(s.Offsets) && s.Offsets[len(s.Offsets)-1] == len(s.Indices) &&
		(s.Values == nil || len(s.Values) == len(s.Indices))
}

// entry is one entry of a row.
type entry struct {
	index uint32
	value float64
}

// canonical returns the matrix with strictly ascending indices below dim in each row; values of one
// index are added, from the least to the greatest, so that a row is the same in any order. If it
// has them already, the slices are those of s.
func (s Sparse) canonical(dim int) Sparse {
	ascending := func(j int) bool {
		row := s.Indices[s.Offsets[j]:s.Offsets[j+1]]
		for i := 1; i < len(row); i++ {
			if row[i] <= row[i-1] {
				return false
			}
		}
		return len(row) == 0 || int64(row[len(row)-1]) < int64(dim)
	}
	j := 0
	for j < s.Rows() && ascending(j) {
		j++
	}
	if j == s.Rows() {
		return s
	}
	out := Sparse{Offsets: append(make([]int, 0, len(s.Offsets)), 0)}
	stored := s.Values != nil // or an index is repeated, so that not all values are 1
	var row []entry
	for j := range s.Rows() {
		row = row[:0]
		for i := s.Offsets[j]; i < s.Offsets[j+1]; i++ {
			if int64(s.Indices[i]) < int64(dim) {
				row = append(row, entry{s.Indices[i], s.value(i)})
			}
		}
		slices.SortFunc(row, func(a, b entry) int { return cmp.Or(cmp.Compare(a.index, b.index), cmp.Compare(a.value, b.value)) })
		for i, e := range row {
			if i > 0 && row[i-1].index == e.index {
				out.Values[len(out.Values)-1] += e.value
				stored = true
				continue
			}
			out.Indices, out.Values = append(out.Indices, e.index), append(out.Values, e.value)
		}
		out.Offsets = append(out.Offsets, len(out.Indices))
	}
	if !stored {
		out.Values = nil
	}
	return out
}

// value returns stored value i, or 0 if that is NaN.
func (s Sparse) value(i int) float64 {
	if s.Values == nil {
		return 1
	}
	if v := s.Values[i]; v == v {
		return v
	}
	return 0
}

// workers runs part(i, worker) for i = 0, …, n−1 in chunks on the given number of goroutines, until
// stop says so, and from then on always.
func workers(count, n int, stop func() error, part func(i, worker int)) error {
	var next atomic.Int64
	run := func(worker int) {
		for i := int(next.Add(1)) - 1; i < n && stop() == nil; i = int(next.Add(1)) - 1 {
			part(i, worker)
		}
	}
	var group sync.WaitGroup
	for worker := 1; worker < count; worker++ {
		group.Go(func() { run(worker) })
	}
	run(0)
	group.Wait()
	return stop()
}

// block is the number of rows that a worker takes at a time.
const block = 64

// cap1 returns x, at least 1.
func cap1(x float64) float64 { return math.Max(x, 1) }

// ranges are public ranges of the coordinates, within that of the Params.
type ranges struct{ min, max []float64 }

// WithRanges returns a Mechanism that knows the public range of every coordinate.
func (m *Mechanism) WithRanges(min, max []float64) (*Mechanism, error) {
	p := m.params
	switch {
	case p.Dim == 0:
		return nil, notMade()
	case len(min) != p.Dim:
		return nil, bad("min", len(min), "as many as Dim")
	case len(max) != p.Dim:
		return nil, bad("max", len(max), "as many as Dim")
	}
	r := &ranges{make([]float64, p.Dim), make([]float64, p.Dim)}
	for i := range min {
		if !(min[i] >= p.least() && min[i] < max[i]) {
			return nil, bad("min", min[i], "at least −Max, or 0 if NonNegative, and less than max")
		}
		if !(max[i] <= p.Max) {
			return nil, bad("max", max[i], "at most Max")
		}
		r.min[i], r.max[i] = min[i]+0, max[i]+0
	}
	return &Mechanism{params: p, scales: m.scales, ranges: r}, nil
}

// valid reports whether the ranges are what WithRanges makes of these Params.
func (r *ranges) valid(p Params) bool {
	for i, x := range r.min {
		if !(x >= p.least() && x < r.max[i] && r.max[i] <= p.Max) || x == 0 && math.Signbit(x) || r.max[i] == 0 && math.Signbit(r.max[i]) {
			return false
		}
	}
	return true
}

// haveZero reports whether 0 is in all ranges.
func (r *ranges) haveZero() bool {
	for i, x := range r.min {
		if x > 0 || r.max[i] < 0 {
			return false
		}
	}
	return true
}

// of returns the range of coordinate i; p.Max where there are none.
func (r *ranges) of(p Params, i int) (min, max float64) {
	if r == nil {
		return p.least(), p.Max
	}
	return r.min[i], r.max[i]
}

// centred reports whether Plain clips rows around the middles of the ranges.
//
// Sparse rows under AddRemove are clipped around 0. Let A be the norm of the ends that are farther
// from 0, and B ≤ A that of the half widths. A row x that is removed changes the sum of deviations
// from the middles c by ‖x − c‖ ≤ B, but one that loses its entries becomes −c, which changes the
// sum by ‖x‖ ≤ A. Around 0 both change it by ‖x‖ ≤ A. So the noise is for A around either point,
// and around 0 the noise of the divisor, times mean − centre, is that of a mean near 0.
func (r *ranges) centred(p Params, sparse bool) bool {
	return r != nil && p.Method == Plain && !p.NonNegative && !(sparse && p.Relation != budget.Replace)
}

// middles returns the middles of the ranges, and the norm of half of their widths, rounded up.
func (r *ranges) middles() (middle []float64, norm float64) {
	middle = make([]float64, len(r.min))
	for i, x := range r.min {
		middle[i] = x + (r.max[i]-x)/2
		half := max(r.max[i]-middle[i], middle[i]-x)
		norm += half * half
	}
	return middle, math.Sqrt(norm) * (1 + 0x1p-40)
}

// bound returns the norm that Plain clips at, which no row exceeds.
func (r *ranges) bound(p Params, sparse bool) float64 {
	switch {
	case r == nil && p.Dim == 1:
		return p.Max
	case r == nil:
		return math.Sqrt(float64(p.Dim)) * p.Max
	case r.centred(p, sparse):
		_, norm := r.middles()
		return norm
	}
	sum := 0.0
	for i, x := range r.max {
		far := max(x, -r.min[i])
		sum += far * far
	}
	return math.Sqrt(sum) * (1 + 0x1p-40)
}
