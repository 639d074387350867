package means

import (
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/internal/quantile"
	"gonum.org/v1/gonum/stat/distuv"
)

// pairSpreads is Algorithm 18 of the thesis on the listed coordinates: the rows are cut into groups
// of 2k; a group's value is the sum of half the squared differences of its disjoint pairs, rows
// (2j−1, 2j), which lies in [0, 2kM²]; and σ̂² is the private median of these by that of χ² with k
// degrees of freedom. For Gaussian rows the values are σ²·χ²_k. A row is in one group, so replacing
// it changes one value.
//
// The thesis divides by (1 − 2/(9k))³, nearly the median of χ²_k over k; this is the exact one. Its
// Table 5.1 has relative errors of .006 to .035 at n = 4000, which cannot be the mean error of
// single runs: without any noise the estimator itself has .042 at k = 1 and .035 at k = 4.
//
// The thesis would "boost" the number of values by cutting the rows into groups g times, in g
// random orders (section 5.C.1). A row is in g values then, so a rank changes by up to g, the
// exponent c of weights.go is √(2ρ)/g, and there are g times as many values. What a quantile needs,
// (2) of need.go, and the noise of its rank as a part of all both depend on c times the number of
// values, which stays √(2ρ)·n/(2k). So where budget is scarce boosting gains nothing. Where it is
// ample the error of the sample falls, to .019σ from .038σ of pairs and .026σ of [Deviations] at
// n = 2000, which the mean does not notice: it is not built.
func (r *run) pairSpreads(list []int, rho float64) ([]float64, error) {
	k := r.p.Steps.Group
	if r.sparse && int64(r.x.count()) > math.MaxUint32 {
		return nil, bad("Steps.Spread", Pairs, "another one for more than 2³² sparse rows")
	}
	groups := r.x.count() / (2 * k)
	// of the root of a value
	a := quantile.LogAxis(r.p.leastScale(), 2*math.Sqrt(float64(k))*r.p.Max, scaleBits)
	square := false
	if r.p.Steps.Base == quantile.Uniform {
		a, square = quantile.UniformAxis(0, 2*float64(k)*r.p.Max*r.p.Max), true
	}
	draw, err := r.drawer(quantile.NewWeights(rho, 0.5, quantile.Replaced, groups), a, a.Plain(), rho, quantile.Replaced)
	if err != nil {
		return nil, err
	}
	median := distuv.ChiSquared{K: float64(k)}.Quantile(0.5)
	out := make([]float64, len(list))
	err = r.x.values(list, r.centre, len(r.samplers), r.stop, func(at, worker int, rows []uint32, v []float64) {
		c := quantile.Column{Zero: a.Key(0)}
		groupSums(rows, v, k, groups, func(sum float64) {
			if !square {
				sum = math.Sqrt(sum)
			}
			c.Keys = append(c.Keys, a.Key(sum))
		})
		c.Zeros = int64(groups - len(c.Keys))
		found := a.Value(draw(&r.samplers[worker], c))
		if !square {
			found *= found
		}
		out[at] = math.Sqrt(found / median)
	})
	return out, err
}

// meanSteps returns the number of steps, a power of two, of which an entry of Max has so many: as
// many as noise of a budget rho can be drawn for.
func meanSteps(rho float64) float64 {
	steps := float64(weightSteps)
	for steps > 1 && steps/math.Sqrt(2*rho) > 0x1p45 {
		steps /= 2
	}
	return steps
}

// groupSums calls visit, for each of the groups of 2k rows that has an entry, with half the sum of
// the squared differences of its pairs. rows are those of the entries v, ascending, or nil if v has
// all rows.
func groupSums(rows []uint32, v []float64, k, groups int, visit func(sum float64)) {
	row := func(e int) int {
		if rows == nil {
			return e
		}
		return int(rows[e])
	}
	for e := 0; e < len(v) && row(e) < 2*k*groups; {
		sum := 0.0
		for group := row(e) / (2 * k); e < len(v) && row(e)/(2*k) == group; e++ {
			d := v[e]
			if e+1 < len(v) && row(e+1)/2 == row(e)/2 {
				d -= v[e+1]
				e++
			}
			sum += d * d / 2
		}
		visit(sum)
	}
}

// meanSpreads is √(q̃(1 − q̃)) for noisy means q̃ of entries over Max, of sensitivity 1/n each: the
// binary rows of the thesis, section 5.7.1.
func (r *run) meanSpreads(list []int, rho float64) ([]float64, error) {
	steps := meanSteps(rho)
	gaussian := zcdpNoise(steps, rho)
	out := make([]float64, len(list))
	err := r.x.values(list, r.centre, len(r.samplers), r.stop, func(at, worker int, _ []uint32, v []float64) {
		sum := int64(0)
		for _, x := range v {
			sum += int64(x / r.p.Max * steps)
		}
		q := r.samplers[worker].addNoise(sum, gaussian) / steps / cap1(r.n)
		q = min(max(q, 0), 1)
		out[at] = r.p.Max * math.Sqrt(q*(1-q))
	})
	return out, err
}

// values calls use once for each of the listed columns, with its entries in the order of the rows.
// Of sparse rows these are the stored entries, and rows has the number of the row of each; of dense
// rows they are all entries, with the centre for NaN, and rows is nil. Time and memory are
// proportional to the stored entries.
func (r *rows) values(list []int, centre []float64, count int, stop func() error, use func(at, worker int, rows []uint32, v []float64)) error {
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
	return gathered(r, list, count, stop, func(dst []float64, i int, x []float64, _ bool) {
		for at, v := range x {
			if v != v {
				v = r.clean(i, centre[i])
			}
			dst[at] = v
		}
	}, func(at, worker int, v []float64) { use(at, worker, nil, v) })
}

// transposed returns the matrix whose rows are the columns of s.
func (s *Sparse) transposed(dim int) *Sparse {
	out := &Sparse{Offsets: make([]int, dim+1), Indices: make([]uint32, len(s.Indices)), Values: make([]float64, len(s.Indices))}
	for _, i := range s.Indices {
		out.Offsets[i+1]++
	}
	for i := range dim {
		out.Offsets[i+1] += out.Offsets[i]
	}
	next := slices.Clone(out.Offsets)
	for j := range s.Rows() {
		for e := s.Offsets[j]; e < s.Offsets[j+1]; e++ {
			at := next[s.Indices[e]]
			next[s.Indices[e]]++
			out.Indices[at], out.Values[at] = uint32(j), s.value(e)
		}
	}
	return out
}
