package plan

import "math"

// clipper clips rows to norm C in integers. It belongs to one goroutine.
//
// A row of norm above C is multiplied by w = C/‖y‖, and every coordinate is rounded towards 0 to a
// multiple of step, so norms do not grow. As w comes from float64 numbers, the norm of the integers
// is computed exactly, and if it exceeds C the row is shrunk once more. So what is summed has norm
// at most C = most·step whatever the float64 arithmetic did, and rows without negative coordinates
// stay so.
type clipper struct {
	limit, step float64
	most        int64 // C in steps, below 2²⁶
	row         []int64
	sums        []int64
	weight      int64 // the sum of min(1, C/‖y‖), in units of 1/weightSteps
}

const weightSteps = 1 << 20

// newClipper returns a clipper, with C rounded down to clipDigits binary digits.
func newClipper(limit float64, dim int) *clipper {
	_, exp := math.Frexp(limit)
	step := math.Ldexp(1, exp-clipDigits)
	most := int64(limit / step)
	return &clipper{limit: float64(most) * step, step: step, most: most, row: make([]int64, dim), sums: make([]int64, dim)}
}

// add adds one row.
func (c *clipper) add(index []uint32, y []float64) {
	scale := 1.0
	if norm := math.Sqrt(squaredNorm(y)); !(norm <= c.limit) {
		scale = c.limit / norm
		if !(scale > 0) { // the norm is not a number, or too large for one
			scale = 0
		}
	}
	c.weight += int64(scale * weightSteps)
	row := c.row[:len(y)]
	for shrink := 0.0; ; shrink = max(4*shrink, 0x1p-50) {
		if c.round(row, y, scale*max(0, 1-shrink)/c.step) {
			break
		}
	}
	if index == nil {
		for i, v := range row {
			c.sums[i] += v
		}
		return
	}
	sums := c.sums
	for at, i := range index[:len(row)] {
		sums[i] += row[at]
	}
}

// round sets row to y·scale, rounded towards 0, and reports whether its norm is at most C. The sum
// of squares cannot overflow: it stops above C² < 2⁵², and no square is above that.
func (c *clipper) round(row []int64, y []float64, scale float64) bool {
	limit := float64(c.most)
	squares, most := int64(0), c.most*c.most
	for i, v := range y {
		x := v * scale
		if !(x <= limit && x >= -limit) {
			x = clampedTo(x, limit)
		}
		k := int64(x)
		row[i] = k
		squares += k * k
		if squares > most {
			return false
		}
	}
	return squares <= most
}

// clampedTo returns x, at most limit in absolute value; 0 for NaN, which 0·∞ is.
func clampedTo(x, limit float64) float64 {
	if x != x {
		return 0
	}
	return max(min(x, limit), -limit)
}

// clippedMean releases γ, if it is wanted, and the sum of the rows clipped at C with all that is
// left of the budget, and makes the Mean of them.
func (r *run) clippedMean(limit float64) (*Mean, error) {
	c, err := r.clipAll(limit)
	if err != nil {
		return nil, err
	}
	count, relative := r.divisor(c)
	rho := r.budget.take(r.budget.left())
	r.spent.Sum += rho
	sums, sd := r.noisySums(c, rho)
	return r.mean(c.limit, count, relative, sums, sd), nil
}

// clipAll clips and sums all rows.
func (r *run) clipAll(limit float64) (*clipper, error) {
	parts := make([]*clipper, len(r.samplers))
	views := make([]*shaped, len(parts))
	n := r.x.count()
	err := workers(len(parts), (n+block-1)/block, r.stop, func(b, worker int) {
		if parts[worker] == nil {
			parts[worker], views[worker] = newClipper(limit, r.p.Dim), newShaped(r.x, r.centre, r.factor)
		}
		for j := b * block; j < min((b+1)*block, n); j++ {
			parts[worker].add(views[worker].row(j))
		}
	})
	if err != nil {
		return nil, err
	}
	all := newClipper(limit, r.p.Dim)
	for _, c := range parts {
		if c == nil {
			continue
		}
		all.weight += c.weight
		for i, v := range c.sums {
			all.sums[i] += v
		}
	}
	return all, nil
}

// noisySums returns the sums in units of the data with noise that makes them rho-zCDP, and its
// standard deviation.
func (r *run) noisySums(c *clipper, rho float64) ([]float64, float64) {
	law := zcdpNoise(r.p.sumSensitivity()*float64(c.most)*(1+0x1p-50), rho)
	out := make([]float64, len(c.sums))
	for i, sum := range c.sums {
		out[i] = r.samplers[0].addNoise(sum, law) * c.step
	}
	return out, law.Sigma() * c.step
}
