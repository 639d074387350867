package alp

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// A total needs other estimates than a single entry: those of least error lean to 0 where most
// entries are 0, and thousands of them lean the same way. So what a cell shows is replaced by a
// number whose mean is about right whatever the entry is. The value is the sum of the parts that
// its columns hold, clamp(x − jW, 0, W), and column j gives h(o) for its output o, with
//
//	Σ_y weight_y·(Var[h | y] + n·(E[h | y] − part_y)²)
//
// least: y is where the entry is in the column, and others fall into its cell by the load. For n
// entries that is the squared error of their total, if all their biases have one sign. A column has
// Q outputs and more places, so between two thresholds of its levels a bias remains: outputs do not
// tell entries that are all in the middle from entries half of which are at either end. Relative to
// E[h | y] it is largest in the lowest level, and each h(o) counts with the largest ratio of its
// level: thus zeros, whose h add up to about 0, add about 0. Half of that bound is in the standard
// error, so that two of them cover it.

// Total returns the sum of the entries of the indices, and its standard error. It is for many
// entries, of which Estimate and EstimateAll add up to too little or too much: they make the error
// of each entry small, and pull values near 0 towards 0. An index that stands twice counts twice,
// one outside Dim as 0. The standard error holds for any values: noise, entries that share cells,
// and what the table cannot tell of values between two of its levels, which is the largest part for
// thousands of entries.
func (p *Projection) Total(indices []uint64) (total, stdErr float64) {
	d := p.decoder
	if d == nil {
		return math.NaN(), math.NaN()
	}
	s := &p.shape
	sums := make([]columnSum, s.columns)
	for column := range sums {
		sums[column] = d.columnSum(column, float64(len(indices)))
	}
	variance := 0.0
	all := make([][]uint64, s.columns) // the cells of the entries
	var buffer [fewColumns]uint64
	for _, index := range indices {
		if s.params.Dim != 0 && index >= s.params.Dim {
			continue
		}
		if value := d.list.find(index); value != 0 {
			total += p.Estimate(index)
			scale := s.inUnits(d.list.scale / float64(s.slopeAbove))
			variance += 2 * scale * scale
			continue
		}
		for column, cell := range s.locate(index, buffer[:0]) {
			all[column] = append(all[column], cell)
		}
	}
	bias := 0.0
	for column, cells := range all {
		h, biased := &sums[column], 0.0
		slices.Sort(cells)
		for from, end := 0, 0; from < len(cells); from = end {
			for end = from + 1; end < len(cells) && cells[end] == cells[from]; end++ {
			}
			o, n := p.table.at(cells[from]), float64(end-from) // entries of one cell
			total += n * h.value[o]
			variance += n * n * h.variance[o]
			biased += n * h.biased[o]
		}
		bias += math.Abs(biased)
	}
	return total, math.Sqrt(variance + bias*bias)
}

// columnSum says what an output of a column adds to a total, in units of the data.
type columnSum struct {
	value    []float64 // h
	variance []float64 // of h, as far as the output tells
	biased   []float64 // by how much h may be off, as much as the output tells
}

// columnSum returns that of a column for a total of n entries.
func (d *decoder) columnSum(column int, n float64) columnSum {
	s, g := d.shape, &d.bins
	side, j, sign := 0, column, 1.0
	if s.params.Signed {
		if j = column - s.half; j < 0 {
			side, j, sign = 1, s.half-1-column, -1
		}
	}
	rates := d.loads[side]
	places := g.count + 2
	// [o·places+y]
	chance := g.distributions(rates[j*g.count:(j+1)*g.count], sum(rates[(j+1)*g.count:]))
	weight, part := make([]float64, places), make([]float64, places)
	prior, tail := d.uniform.mix(g, rates, float64(s.cells()), d.prior.Learned)
	start := s.inUnits(s.valueAt(float64(j) * float64(g.width)))
	for b, w := range prior {
		switch {
		case b < j*g.count:
			weight[0] += w
		case b < (j+1)*g.count:
			weight[b-j*g.count+1] += w
			part[b-j*g.count+1] = s.inUnits(s.valueAt(g.point(min(b, g.used-1), 0.5))) - start
		default:
			weight[places-1] += w
		}
	}
	weight[0] += 10 // most indices have no entry, so its bias is kept the smallest
	weight[places-1] += tail.mass
	part[places-1] = s.inUnits(s.valueAt(min(float64(j+1)*float64(g.width), float64(s.reach())))) - start
	h := leastSquares(chance, weight, part, g.levels, n)
	c := columnSum{value: make([]float64, g.levels), variance: make([]float64, g.levels), biased: make([]float64, g.levels)}
	spread := make([]float64, places)
	for y := range places {
		mean := 0.0
		for o := range g.levels {
			mean += chance[o*places+y] * h[o]
		}
		// the level of an output ends at its threshold; the lowest two share the first level
		o := max((y*g.levels+g.count-1)/g.count, 1)
		if mean > 0 && y > 0 && y < places-1 && o < g.levels {
			c.biased[o] = max(c.biased[o], math.Abs(mean-part[y])/mean)
		}
		for o := range g.levels {
			spread[y] += chance[o*places+y] * (h[o] - mean) * (h[o] - mean)
		}
	}
	c.biased[0] = c.biased[1]
	for o := range g.levels {
		c.value[o] = sign * h[o]
		c.biased[o] *= h[o] / 2
		all := 0.0
		for y := range places {
			w := weight[y] * chance[o*places+y]
			all += w
			c.variance[o] += w * spread[y]
		}
		c.variance[o] /= max(all, math.SmallestNonzeroFloat64)
	}
	return c
}

// leastSquares returns the h that is best for n entries, as above, where chance[o·places+y] is the
// probability of output o for an entry at y.
func leastSquares(chance, weight, part []float64, outputs int, n float64) []float64 {
	places := len(weight)
	a, b := mat.NewSymDense(outputs, nil), mat.NewVecDense(outputs, nil)
	for y, w := range weight {
		for o := range outputs {
			p := chance[o*places+y]
			a.SetSym(o, o, a.At(o, o)+w*p+1e-12)
			b.SetVec(o, b.AtVec(o)+w*n*p*part[y])
			for q := o; q < outputs; q++ {
				a.SetSym(o, q, a.At(o, q)+w*(n-1)*p*chance[q*places+y])
			}
		}
	}
	var c mat.Cholesky
	h := mat.NewVecDense(outputs, nil)
	if !c.Factorize(a) || c.SolveVecTo(h, b) != nil {
		return make([]float64, outputs)
	}
	return h.RawVector().Data
}
