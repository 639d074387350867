package plan

import "math"

// shaped yields rows as (x − centre)·factor. It belongs to one goroutine.
type shaped struct {
	x              *rows
	centre, factor []float64
	index          []uint32 // the coordinates of a sparse row, nil for a dense one
	y              []float64
	fixed          []uint32 // coordinates of which the centre is not 0: no row is sparse there
	place          []int32  // 1 + the place in fixed
	zeros          []float64
}

func newShaped(x *rows, centre, factor []float64) *shaped {
	s := &shaped{x: x, centre: centre, factor: factor}
	if x.sparse == nil {
		s.y = make([]float64, x.dim)
		return s
	}
	for i, c := range centre {
		if c != 0 {
			s.fixed = append(s.fixed, uint32(i))
			s.zeros = append(s.zeros, -c*factor[i])
		}
	}
	if len(s.fixed) > 0 {
		s.place = make([]int32, x.dim)
		for at, i := range s.fixed {
			s.place[i] = int32(at) + 1
		}
	}
	return s
}

// row returns row j: all coordinates if index is nil, else the listed ones, the others being 0. Both slices are valid until the next call.
func (s *shaped) row(j int) (index []uint32, y []float64) {
	if s.x.sparse == nil {
		s.denseRow(s.x.dense[j])
		return nil, s.y
	}
	m := s.x.sparse
	s.index, s.y = append(s.index[:0], s.fixed...), append(s.y[:0], s.zeros...)
	for at := m.Offsets[j]; at < m.Offsets[j+1]; at++ {
		i := m.Indices[at]
		y := (s.x.clean(m.value(at)) - s.centre[i]) * s.factor[i]
		if s.place != nil && s.place[i] > 0 {
			s.y[s.place[i]-1] = y
			continue
		}
		s.index, s.y = append(s.index, i), append(s.y, y)
	}
	return s.index, s.y
}

func (s *shaped) denseRow(row []float64) {
	row = row[:min(len(row), len(s.y))]
	for i, x := range row {
		s.y[i] = (s.x.clean(x) - s.centre[i]) * s.factor[i]
	}
	for i := len(row); i < len(s.y); i++ {
		s.y[i] = -s.centre[i] * s.factor[i]
	}
}

// squaredNorm returns ‖y‖², with float64 rounding.
func squaredNorm(y []float64) float64 {
	var a, b float64
	n := len(y) &^ 1
	for i := 0; i < n; i += 2 {
		a += y[i] * y[i]
		b += y[i+1] * y[i+1]
	}
	if n < len(y) {
		a += y[n] * y[n]
	}
	return a + b
}

// norms returns the norms of all rows.
func (r *run) norms() ([]float64, error) {
	out := make([]float64, r.x.count())
	views := make([]*shaped, len(r.samplers))
	err := workers(len(views), (len(out)+block-1)/block, r.stop, func(b, worker int) {
		if views[worker] == nil {
			views[worker] = newShaped(r.x, r.centre, r.factor)
		}
		for j := b * block; j < min((b+1)*block, len(out)); j++ {
			_, y := views[worker].row(j)
			out[j] = math.Sqrt(squaredNorm(y))
		}
	})
	return out, err
}

// normBound returns a public bound on the norms of shaped rows.
func (r *run) normBound() float64 {
	sum := 0.0
	for i, f := range r.factor {
		c := r.centre[i]
		y := max(math.Abs(r.x.max-c), math.Abs(r.x.least-c)) * f
		sum += y * y
	}
	return math.Sqrt(sum) * (1 + 0x1p-40)
}

const (
	clipPart    = 0.1     // of what is left: the most for C, and for γ
	normBits    = 12      // binary digits to which a norm is resolved
	normOctaves = 0x1p-48 // the least C, as a part of the public bound on the norm
	mostZeros   = 1 << 30 // values at the bottom of the norms
	clipDigits  = 26      // binary digits of C: the step of the clipped sum is C·2⁻²⁶ or a little more
)

// clipShare returns the budget of C, one of two for TwoPass.
func (r *run) clipShare() float64 {
	share := r.p.Shares.Clip
	if r.p.Method == TwoPass {
		share /= 2
	}
	return r.fix(share, clipPart, func() float64 {
		q := r.clipQuantile(clipShare * r.p.Rho)
		l := logSum(1, r.p.Failure/stages, 0.1)
		return max(clipShare*r.p.Rho, need(l, q, r.n, either))
	})
}

// clipQuantile returns the quantile of the norms at which rows are clipped, given the budget of C. For Thesis it is (n − k)/n with
// k = √n + √(T·ln(T/0.1)/(2ρ₂)), T = ln 2M: line 5 of Algorithm 17 and Lemma 5.4.
func (r *run) clipQuantile(rho float64) float64 {
	switch {
	case r.p.Steps.Clip > 0:
		return r.p.Steps.Clip
	case r.p.Method == TwoPass:
		return secondClip
	case r.p.Method == Thesis:
		t := max(math.Log(2*r.p.Max), 1)
		k := math.Sqrt(r.n) + math.Sqrt(t*math.Log(t/0.1)/(2*rho))
		return max(0.5, (r.n-k)/cap1(r.n))
	}
	return defaultClip
}

// limit releases C, a quantile of the norms of the rows that are not 0, with the budget rho.
//
// Whether a row's norm is 0 may differ between neighbours under either relation, so ranks may change by a replaced value or by one more. A public
// number of values at the bottom, the same for all data, draws C downwards where few rows are not 0, and elsewhere lowers the quantile by 8/c ranks. Where there are
// none a candidate above has a factor of e^{−8}, which the number of cells makes up for: C is spread over the octaves of the axis.
func (r *run) limit(rho float64) (float64, error) { return r.limitAt(r.clipQuantile(rho), rho) }

func (r *run) limitAt(quantile, rho float64) (float64, error) {
	rho = r.budget.take(rho)
	r.spent.Clip += rho
	norms, err := r.norms()
	if err != nil {
		return 0, err
	}
	a := r.normAxis()
	ch := either
	if r.p.ranks() == added {
		ch = added
	}
	zeros := 8 / ((1 - quantile) * math.Sqrt(2*rho) / unitChange(quantile, ch))
	c := column{keys: make([]uint32, 0, len(norms)), zeros: int64(min(zeros, mostZeros))}
	for _, norm := range norms {
		if norm > 0 {
			c.keys = append(c.keys, a.key(norm))
		}
	}
	draw, err := r.drawer(a, a.plain(), quantile, rho, ch, len(norms)+int(c.zeros))
	if err != nil {
		return 0, err
	}
	return a.value(draw(&r.samplers[0], c)), nil
}

// normAxis returns the axis of the norms. For Thesis it ends at √(ln d·ln(1/β)·‖σ̂^{2p/(p+2)}‖₁), by (5.5).
func (r *run) normAxis() axis {
	bound := r.normBound()
	if r.p.Steps.Base != Uniform {
		return logAxis(bound*normOctaves, bound, normBits)
	}
	if r.scaled {
		e, sum := 2*r.p.P/(r.p.P+2), 0.0
		for _, s := range r.scale {
			sum += math.Pow(s, e)
		}
		bound = min(bound, math.Sqrt(max(math.Log(float64(r.p.Dim)), 1)*math.Log(1/r.p.Failure)*sum))
	}
	return uniformAxis(0, bound)
}

// clipper clips rows to norm C in integers. It belongs to one goroutine.
//
// A row of norm above C is multiplied by w = C/‖y‖, and every coordinate is rounded towards 0 to a multiple of step, so norms do not grow. As w comes from
// float64 numbers, the norm of the integers is computed exactly, and if it exceeds C the row is shrunk once more. So what is
// summed has norm at most C = most·step whatever the float64 arithmetic did, and rows without negative coordinates stay so.
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
	for at, i := range index {
		c.sums[i] += row[at]
	}
}

// round sets row to y·scale, rounded towards 0, and reports whether its norm is at most C. The sum of squares cannot overflow: it stops
// above C² < 2⁵², and no square is above that.
func (c *clipper) round(row []int64, y []float64, scale float64) bool {
	limit := float64(c.most)
	squares, most := int64(0), c.most*c.most
	for i, v := range y {
		x := v * scale
		if x != x { // 0·∞
			x = 0
		}
		k := int64(max(min(x, limit), -limit))
		row[i] = k
		squares += k * k
		if squares > most {
			return false
		}
	}
	return squares <= most
}

// clippedMean releases γ, if it is wanted, and the sum of the rows clipped at C with all that is left of the budget, and makes the Mean of them.
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

// noisySums returns the sums in units of the data with noise that makes them rho-zCDP, and its standard deviation.
func (r *run) noisySums(c *clipper, rho float64) ([]float64, float64) {
	law := zcdpNoise(r.p.sumSensitivity()*float64(c.most)*(1+0x1p-50), rho)
	out := make([]float64, len(c.sums))
	for i, sum := range c.sums {
		out[i] = r.samplers[0].addNoise(sum, law) * c.step
	}
	return out, law.Sigma() * c.step
}
