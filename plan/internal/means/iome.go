package means

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/quantile"
)

// Instance-optimal mean estimation (Huang, Liang, Yi, NeurIPS 2021), to which the thesis compares
// its own. The steps are: a random rotation; the median of every rotated coordinate by binary
// search; C, near the largest norm around that centre; the mean of the rows clipped at C, with
// spherical noise; and the inverse rotation.
//
// Only the centre needs the rotation. It is orthogonal, so norms around the centre, clipping and
// spherical Gaussian noise are the same before and after it: with c the centre rotated back,
// clip(Rx − Rc) = R·clip(x − c), and Rᵀ·N(0, σ²I) is N(0, σ²I). What c has in padded coordinates,
// where all rows are 0, is left out, which only makes norms shorter. So after the centre all is as
// without a rotation, and sparse rows are not spread out.
//
// Privacy. The rows' rotated coordinates are a function of each row alone, fixed before the data
// are seen; u quantiles of them with ρ₁/u each are ρ₁-zCDP together, C and the sum have their own
// budgets, and each depends on the data through what was released and one quantile or sum (see
// release.go). ∎

const (
	iomeCentre = 0.25   // of ρ for the centre, as Huang et al.
	iomeClip   = 0.0075 // for C
	iomeSteps  = 20     // of the binary search, as section 5.7
	// Rotated coordinates are searched in ±4M. If |xᵢ| = M for all i, one lies beyond with a
	// probability of at most 2e^{−8}.
	iomeReach = 4
	iomeBlock = 1 << 25 // the most rotated coordinates in memory at a time
	iomeBeta  = 0.1     // probability that the rank error exceeds what C allows for
)

// iome fills in the steps and shares, where the Params leave them open.
func (p Params) iome() Params {
	s := &p.Steps
	s.Centre, s.Scaling, s.Base, s.Undivided = Median, Unscaled, quantile.Uniform, true
	if s.Search == 0 {
		s.Search = iomeSteps
	}
	if p.Shares == (Shares{}) {
		p.Shares = Shares{Centre: iomeCentre, Clip: iomeClip}
	}
	return p
}

// instanceOptimal runs the mechanism.
func (r *run) instanceOptimal() (*Mean, error) {
	r.p = r.p.iome()
	rho := r.budget.take(r.fix(r.p.Shares.Centre, mostShare, func() float64 { return iomeCentre * r.p.Rho }))
	r.spent.Centre += rho
	rotated, err := r.rotatedMedians(newRotation(&r.samplers[0].Src, r.p.Dim), rho)
	if err != nil {
		return nil, err
	}
	copy(r.centre, rotated)
	rho = r.fix(r.p.Shares.Clip, mostDepthShare, func() float64 { return iomeClip * r.p.Rho })
	limit, err := r.limit(depth{rows: r.iomeDepth(rho), rho: rho})
	if err != nil {
		return nil, err
	}
	return r.clippedMean(limit)
}

// iomeDepth returns how many rows are clipped: k = √(2d/ρ₃), for which they and the noise,
// C·√(2d/ρ₃)/n, do like harm, and the rank error of the search besides.
func (r *run) iomeDepth(rho float64) float64 {
	if r.p.Steps.Clip > 0 {
		return (1 - r.p.Steps.Clip) * r.n
	}
	k := math.Sqrt(2*float64(r.p.Dim)/r.budget.left()) + quantile.RankError(r.p.Steps.Search, iomeBeta, rho, 1)
	return min(k, r.n/2)
}

// rotatedMedians releases the median of every rotated coordinate with the budget rho for all
// together, and returns them rotated back. Rows are rotated once for each block of coordinates that
// memory has room for.
func (r *run) rotatedMedians(rotate *rotation, rho float64) ([]float64, error) {
	u, n := rotate.size(), r.x.count()
	a := quantile.UniformAxis(-iomeReach*r.p.Max, iomeReach*r.p.Max)
	rho = each(rho, float64(u))
	draw, err := r.drawer(quantile.NewWeights(rho, 0.5, r.ranks(), n), a, a.Plain(), rho, r.ranks())
	if err != nil {
		return nil, err
	}
	medians := make([]float64, u)
	width := min(max(iomeBlock/max(n, 1), 1), u)
	for from := 0; from < u; from += width {
		to := min(from+width, u)
		keys, err := r.rotatedKeys(rotate, a, from, to)
		if err != nil {
			return nil, err
		}
		err = workers(len(r.samplers), to-from, r.stop, func(i, worker int) {
			medians[from+i] = a.Value(draw(&r.samplers[worker], quantile.Column{Keys: keys[i*n : (i+1)*n]}))
		})
		if err != nil {
			return nil, err
		}
	}
	rotate.invert(medians)
	return medians[:r.p.Dim], nil
}

// rotatedKeys returns coordinates from … to−1 of all rotated rows as keys of the axis, column after
// column.
func (r *run) rotatedKeys(rotate *rotation, a quantile.Axis, from, to int) ([]uint32, error) {
	n := r.x.count()
	keys := make([]uint32, n*(to-from))
	zeros, ones := make([]float64, r.p.Dim), make([]float64, r.p.Dim)
	for i := range ones {
		ones[i] = 1
	}
	s := newShaping(r.x, zeros, ones)
	views, buffers := make([]*shaped, len(r.samplers)), make([][]float64, len(r.samplers))
	err := workers(len(views), (n+block-1)/block, r.stop, func(b, worker int) {
		if views[worker] == nil {
			views[worker], buffers[worker] = &shaped{shaping: s}, make([]float64, rotate.size())
		}
		x := buffers[worker]
		for j := b * block; j < min((b+1)*block, n); j++ {
			clear(x)
			index, row := views[worker].row(j)
			if index == nil {
				copy(x, row)
			}
			for at, i := range index {
				x[i] = row[at]
			}
			rotate.apply(x)
			for i, v := range x[from:to] {
				keys[i*n+j] = a.Key(v)
			}
		}
	})
	return keys, err
}
