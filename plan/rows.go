package plan

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
)

// rows is the input of a release: dense or sparse, with entries clamped to [least, max] where they
// are read.
type rows struct {
	dim        int
	least, max float64
	ranges     *ranges // nil: [least, max] for all
	dense      [][]float64
	sparse     *Sparse // nil for dense rows
}

// count returns the number of rows.
func (r *rows) count() int {
	if r.sparse != nil {
		return r.sparse.Rows()
	}
	return len(r.dense)
}

// clean clamps an entry of column i; NaN counts as 0.
func (r *rows) clean(i int, x float64) float64 {
	least, most := r.least, r.max
	if r.ranges != nil {
		least, most = r.ranges.min[i], r.ranges.max[i]
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
func (r *rows) usual() (least, most float64) {
	if r.ranges != nil {
		return math.Inf(1), math.Inf(-1)
	}
	return r.least, r.max
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

// workers runs part(i, worker) for i = 0, …, n−1 in chunks on the given number of goroutines, until
// stop says so.
func workers(count, n int, stop func() error, part func(i, worker int)) error {
	var next atomic.Int64
	var failed atomic.Pointer[error]
	run := func(worker int) {
		for failed.Load() == nil {
			i := int(next.Add(1)) - 1
			if i >= n {
				return
			}
			if err := stop(); err != nil {
				failed.Store(&err)
				return
			}
			part(i, worker)
		}
	}
	var group sync.WaitGroup
	for worker := 1; worker < count; worker++ {
		group.Go(func() { run(worker) })
	}
	run(0)
	group.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

// block is the number of rows that a worker takes at a time.
const block = 64

// columnBlock returns the number of columns that a worker gathers at a time. More columns read
// longer stretches of each row, but the keys of all should not be many more than 2²².
func columnBlock(rows, columns int) int { return min(max(1<<22/max(rows, 1), 4), 64, columns) }

// columns calls use once for each of the listed columns, with its keys, on several goroutines. Of
// dense rows it holds columnBlock columns for each goroutine at a time; of sparse rows it holds all
// the listed columns, in memory proportional to their stored entries.
func (r *rows) columns(list []int, count int, stop func() error, k *keying, use func(at, worker int, c column)) error {
	if r.sparse != nil {
		return r.sparseColumns(list, count, stop, k, use)
	}
	n := len(r.dense)
	block, buffers := columnBlock(n, max(len(list), 1)), make([][]uint32, count)
	return workers(count, (len(list)+block-1)/block, stop, func(b, worker int) {
		some := list[b*block : min((b+1)*block, len(list))]
		if buffers[worker] == nil {
			buffers[worker] = make([]uint32, block*n)
		}
		keys := buffers[worker]
		for j := 0; j < n; j += tile {
			rows, x := r.dense[j:min(j+tile, n)], [tile]float64{}
			for at, i := range some {
				r.gather(x[:len(rows)], rows, i)
				k.fill(keys[at*n+j:], i, x[:len(rows)])
			}
		}
		for at := range some {
			use(b*block+at, worker, column{keys: keys[at*n : (at+1)*n]})
		}
	})
}

// tile is the number of rows that are read together. A cache line of a row then serves several
// columns, and the keys that are written fill whole cache lines.
const tile = 16

// gather sets x to the entries of the rows in column i.
func (r *rows) gather(x []float64, rows [][]float64, i int) {
	least, most := r.usual()
	for at, row := range rows {
		v := 0.0
		if i < len(row) {
			v = row[i]
		}
		if !(v >= least && v <= most) {
			v = r.clean(i, v)
		}
		x[at] = v
	}
}

// entriesAtOnce is the number of sparse entries whose keys are computed together.
const entriesAtOnce = 256

// sparseColumns is columns for sparse rows. It counts the zeros of a column, but visits none.
func (r *rows) sparseColumns(list []int, count int, stop func() error, k *keying, use func(at, worker int, c column)) error {
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
			if k.centre != nil {
				v = math.Abs(v - k.centre[i])
			}
			x[m], where[m] = v, at
			m++
		}
		k.keyAll(some[:], x[:m])
		for e, at := range where[:m] {
			keys[next[at]] = some[e]
			next[at]++
		}
	}
	n := s.Rows()
	return workers(count, len(list), stop, func(at, worker int) {
		var zero [1]uint32
		k.fill(zero[:], list[at], make([]float64, 1))
		c := column{keys: keys[ends[at]:ends[at+1]], zero: zero[0]}
		c.zeros = int64(n - len(c.keys))
		use(at, worker, c)
	})
}

// cap1 returns x, at least 1.
func cap1(x float64) float64 { return math.Max(x, 1) }

// values calls use once for each of the listed columns, with its entries in the order of the rows.
// Of sparse rows these are the stored entries, and rows has the number of the row of each; of dense
// rows they are all entries, and rows is nil. Time and memory are proportional to the stored
// entries.
func (r *rows) values(list []int, count int, stop func() error, use func(at, worker int, rows []uint32, v []float64)) error {
	if r.sparse != nil {
		byColumn := r.sparse.transposed(r.dim)
		for i := range r.dim {
			for e := byColumn.Offsets[i]; e < byColumn.Offsets[i+1]; e++ {
				byColumn.Values[e] = r.clean(i, byColumn.Values[e])
			}
		}
		return workers(count, len(list), stop, func(at, worker int) {
			from, to := byColumn.Offsets[list[at]], byColumn.Offsets[list[at]+1]
			use(at, worker, byColumn.Indices[from:to], byColumn.Values[from:to])
		})
	}
	n := len(r.dense)
	block, buffers := columnBlock(n, max(len(list), 1)), make([][]float64, count)
	return workers(count, (len(list)+block-1)/block, stop, func(b, worker int) {
		some := list[b*block : min((b+1)*block, len(list))]
		if buffers[worker] == nil {
			buffers[worker] = make([]float64, block*n)
		}
		buffer := buffers[worker]
		for j := 0; j < n; j += tile {
			rows := r.dense[j:min(j+tile, n)]
			for at, i := range some {
				r.gather(buffer[at*n+j:][:len(rows)], rows, i)
			}
		}
		for at := range some {
			use(b*block+at, worker, nil, buffer[at*n:(at+1)*n])
		}
	})
}
