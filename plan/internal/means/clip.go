package means

import (
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

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
	weight      int64      // the sum of min(1, C/‖y‖), in units of 1/weightSteps
	whole       int64      // number of rows that wholeRows has added
	empty       int64      // ‖e‖² of a sparse row e without entries
	counts      []int64    // their entries by coordinate, if all stored values are 1
	cells       []cell     // their sums and the factors, side by side, if the shaping has factors
	equal       []equalRow // by the number of entries, as they were met
}

// cell is what wholeRows reads and writes for an entry: a coordinate's factor and its sum.
type cell struct {
	factor float64
	sum    int64
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
	row, scale := c.row[:len(y)], c.scale(squaredNorm(y))
	c.weight += int64(scale * weightSteps)
	for shrink := 0.0; !c.round(row, y, scale*max(0, 1-shrink)/c.step); {
		shrink = longer(shrink)
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

// scale returns min(1, C/‖y‖).
func (c *clipper) scale(square float64) float64 {
	scale := 1.0
	if norm := math.Sqrt(square); !(norm <= c.limit) {
		scale = c.limit / norm
		if !(scale > 0) { // the norm is not a number, or too large for one
			scale = 0
		}
	}
	return scale
}

// longer returns by what a row is shrunk next, as it is still too long.
func longer(shrink float64) float64 { return max(4*shrink, 0x1p-50) }

// equalRow is what a row of so many entries becomes that are all mapped to one number.
type equalRow struct {
	each, weight int64
	known        bool
}

// addEqual is add for sparse row j whose entries are all mapped to one number.
func (c *clipper) addEqual(s *shaping, j int) {
	entries, _ := s.stored(j)
	if c.equal == nil {
		c.equal = make([]equalRow, 2*len(s.equal))
	}
	e := &c.equal[len(entries)]
	if !e.known {
		*e = c.equalRow(s.ones[0], s.equalSquare(len(entries)), int64(len(entries)))
	}
	c.weight += e.weight
	for _, i := range entries {
		c.sums[i] += e.each
	}
}

// equalRow does for n entries y what add does. As n·each² may overflow, it divides.
func (c *clipper) equalRow(y, square float64, n int64) equalRow {
	scale, e := c.scale(square), equalRow{known: true}
	e.weight = int64(scale * weightSteps)
	for shrink := 0.0; ; shrink = longer(shrink) {
		e.each = int64(clampedTo(y*(scale*max(0, 1-shrink)/c.step), float64(c.most)))
		if e.each == 0 || n <= c.most*c.most/(e.each*e.each) {
			return e
		}
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
	count, relative := r.noisyDivisor(c)
	rho := r.budget.take(r.budget.left())
	r.spent.Sum += rho
	sums, sd := r.noisySums(c, rho)
	return r.mean(c.limit, count, relative, sums, sd), nil
}

// noisyDivisor returns what the sum is divided by and the relative standard deviation of its noise:
// a private Σ min(1, C/‖y‖), or the number of rows if Undivided. One row changes either by at most
// 1.
func (r *run) noisyDivisor(c *clipper) (count, relative float64) {
	rho := r.divisorBudget()
	if rho == 0 {
		return cap1(r.n), 0
	}
	weight := c.weight
	if r.p.Steps.Undivided {
		weight = int64(r.x.count()) * weightSteps
	}
	gaussian := zcdpNoise(weightSteps, rho)
	count = r.divisor(r.samplers[0].addNoise(weight, gaussian) / weightSteps)
	return count, gaussian.Sigma() / weightSteps / count
}

// clipAll clips and sums all rows, as they were measured last.
func (r *run) clipAll(limit float64) (*clipper, error) {
	if r.shaping == nil {
		if err := r.measure(); err != nil {
			return nil, err
		}
	}
	s, squares := r.shaping, r.squares
	r.shaping, r.squares = nil, nil
	parts := make([]*clipper, len(r.samplers))
	views := make([]*shaped, len(parts))
	lean := newWholeRows(s, newClipper(limit, 0).step)
	n := r.x.count()
	err := workers(len(parts), (n+block-1)/block, r.stop, func(b, worker int) {
		if parts[worker] == nil {
			parts[worker], views[worker] = newClipper(limit, r.p.Dim), &shaped{shaping: s}
		}
		c := parts[worker]
		for j := b * block; j < min((b+1)*block, n); j++ {
			switch {
			case s.whole(squares[j], c.limit):
				lean.add(c, j)
			case s.equal != nil:
				c.addEqual(s, j)
			default:
				c.add(views[worker].row(j))
			}
		}
	})
	if err != nil {
		return nil, err
	}
	var all *clipper
	for _, c := range parts {
		if c == nil {
			continue
		}
		lean.finish(c)
		if all == nil {
			all = c
			continue
		}
		all.weight += c.weight
		for i, v := range c.sums {
			all.sums[i] += v
		}
	}
	if all == nil { // no rows
		all = newClipper(limit, r.p.Dim)
	}
	if len(s.fixed) > 0 && r.p.Relation != budget.Replace { // where a row may lose its entries
		all.empty = emptyRow(s, limit)
	}
	return all, nil
}

// emptyRow returns ‖e‖² of what a clipper adds for a sparse row without entries, at most C².
func emptyRow(s *shaping, limit float64) (square int64) {
	e := newClipper(limit, s.x.dim)
	e.add(s.fixed, s.zeros)
	for _, i := range s.fixed {
		square += e.sums[i] * e.sums[i]
	}
	return square
}

// wholeRows adds rows that are certainly not clipped, in time proportional to the number of their
// stored entries. They become the same integers as by clipper.add. No norm has to be checked,
// because rounding towards 0 makes no row longer.
type wholeRows struct {
	*shaping
	columns []columnMap // the map into steps
}

func newWholeRows(s *shaping, step float64) *wholeRows {
	w := &wholeRows{s, slices.Clone(s.columns)}
	for i := range w.columns {
		w.columns[i].factor /= step // exact: a power of two
	}
	return w
}

// steps maps an entry x of column i into steps, rounded towards 0.
func (w *wholeRows) steps(i int, x float64) int64 {
	return int64((w.x.clean(i, x) - w.columns[i].centre) * w.columns[i].factor)
}

// add adds row j to the sums of the clipper. For sparse rows, finish adds the zeros of all rows at
// once, and the entries if no values are stored.
func (w *wholeRows) add(c *clipper, j int) {
	c.whole++
	sums := c.sums
	if w.x.sparse == nil {
		w.addDense(sums, w.x.dense[j])
		return
	}
	entries, values := w.stored(j)
	if values == nil {
		if c.counts == nil {
			c.counts = make([]int64, len(sums))
		}
		for _, i := range entries {
			c.counts[i]++
		}
		return
	}
	least, most := w.x.usual()
	if w.factors != nil {
		w.addFactors(c, entries, values)
		return
	}
	for at, i := range entries {
		x, c := values[at], w.columns[i]
		if !(x >= least && x <= most) {
			x = w.x.clean(int(i), x)
		}
		y := int64((x - c.centre) * c.factor)
		if c.centre != 0 {
			y -= w.steps(int(i), 0)
		}
		sums[i] += y
	}
}

// addFactors is add where no coordinate has a centre.
func (w *wholeRows) addFactors(c *clipper, entries []uint32, values []float64) {
	least, most := w.x.usual()
	if w.same {
		factor, sums := w.columns[0].factor, c.sums
		for at, i := range entries {
			x := values[at]
			if !(x >= least && x <= most) {
				x = w.x.clean(int(i), x)
			}
			sums[i] += int64(x * factor)
		}
		return
	}
	if c.cells == nil {
		c.cells = make([]cell, len(w.columns))
		for i, m := range w.columns {
			c.cells[i].factor = m.factor
		}
	}
	cells := c.cells
	for at, i := range entries {
		x, to := values[at], &cells[i]
		if !(x >= least && x <= most) {
			x = w.x.clean(int(i), x)
		}
		to.sum += int64(x * to.factor)
	}
}

func (w *wholeRows) addDense(sums []int64, row []float64) {
	least, most := w.x.usual()
	row = row[:min(len(row), len(sums))]
	columns := w.columns[:len(row)]
	for i, x := range row {
		if !(x >= least && x <= most) {
			x = w.odd(i, x)
		}
		sums[i] += int64((x - columns[i].centre) * columns[i].factor)
	}
	for i := len(row); i < len(sums); i++ {
		sums[i] += w.steps(i, 0)
	}
}

// finish adds to the sums and the weight what add left to it.
func (w *wholeRows) finish(c *clipper) {
	c.weight += c.whole * weightSteps
	for _, i := range w.fixed {
		c.sums[i] += c.whole * w.steps(int(i), 0)
	}
	for i, from := range c.cells {
		c.sums[i] += from.sum
	}
	for i, count := range c.counts {
		y := w.steps(i, 1)
		if w.columns[i].centre != 0 {
			y -= w.steps(i, 0)
		}
		c.sums[i] += count * y
	}
}

// sumChange returns the most that the sums of neighbours differ by, in steps.
//
// A row is clipped to the norm C = most, so sums differ by the sensitivity of the relation times C.
// Under AddRemove a sparse row may also lose its entries. It then adds what a row of zeros adds:
// nothing around 0, and else a vector e that is the same for all data, as the centre and C are
// public. That is a change of at most C + ‖e‖ ≤ 2C.
func (r *run) sumChange(c *clipper) float64 {
	change := r.p.sumSensitivity() * float64(c.most)
	if r.sparse && r.p.Relation != budget.Replace {
		change += math.Sqrt(float64(c.empty))
	}
	return change * (1 + 0x1p-50)
}

// noisySums returns the sums in units of the data with noise that makes them rho-zCDP, and its
// standard deviation.
func (r *run) noisySums(c *clipper, rho float64) ([]float64, float64) {
	gaussian := zcdpNoise(r.sumChange(c), rho)
	out := make([]float64, len(c.sums))
	for i, sum := range c.sums {
		out[i] = r.samplers[0].addNoise(sum, gaussian) * c.step
	}
	return out, gaussian.Sigma() * c.step
}

// zcdpNoise returns Gaussian noise for a budget and a sensitivity that are known to be in range;
// else its samples are NaN.
func zcdpNoise(sensitivity, rho float64) noise.Gaussian {
	sigma, err := noise.GaussianSigmaZCDP(rho, sensitivity)
	if err != nil {
		return noise.Gaussian{}
	}
	gaussian, _ := noise.NewGaussian(sigma)
	return gaussian
}

// addNoise returns the sum with noise, NaN if there is no noise. They are added as integers, so
// that what is rounded is private already: 2³⁶ rows have sums of at most 2⁶², and noise is drawn up
// to σ = 2⁴⁶.
func (s *sampler) addNoise(sum int64, gaussian noise.Gaussian) float64 {
	z := gaussian.Sample(&s.Src, 1)
	if z != z {
		return z
	}
	return float64(sum + int64(z))
}

// mean makes the Mean of noisy sums of shaped rows, of which sd is the standard deviation of the
// noise and relative that of the noise of the count, as a part of it: (3) above.
func (r *run) mean(limit, count, relative float64, sums []float64, sd float64) *Mean {
	m := &Mean{Params: r.p, Rows: r.n, Scaled: r.scaled, Limit: limit, Divisor: count, Spent: r.spent}
	if r.p.choosesMargin() {
		m.Params.Margin = r.margin
	}
	m.Values, m.Errors = make([]float64, len(sums)), make([]float64, len(sums))
	for i, sum := range sums {
		if r.factor[i] == 0 { // left out: see scale.go
			least, most := r.ranges.of(r.p, i)
			m.Values[i], m.Errors[i] = r.centre[i], r.tail*max(most-r.centre[i], r.centre[i]-least)
			continue
		}
		offset := sum / count / r.factor[i]
		m.Values[i] = r.centre[i] + offset
		m.Errors[i] = math.Hypot(sd/count/r.factor[i], offset*relative)
	}
	if r.ranges != nil {
		m.Lower, m.Upper = r.ranges.min, r.ranges.max
	}
	if r.p.Steps.Centre == Median || r.ranges.centred(r.p, r.sparse) {
		m.Centres = r.centre
	}
	if !slices.Contains(r.scale, 0) { // else only the pilot's are known
		m.Scales = r.scale
	}
	return m
}

// What sums are divided by, and what the noise of that does.
//
// A released coordinate is its centre plus S̃/D̃, with S̃ = S + σZ the noisy sum of y/factor over
// the clipped rows and D̃ = D + δZ′ the noisy divisor: Σ min(1, C/‖y‖), or the number of rows. Z
// and Z′ are independent standard normal variables, whatever S and D are. Rows that are clipped
// alike have the mean μ = S/D around the centre, and
//
//	S̃/D̃ − μ = (S + σZ − μ(D + δZ′))/D̃ = (σZ − μδZ′)/D̃                                      (3)
//
// without any approximation. Given D̃ as a scale, this has the standard deviation √(σ² + μ²δ²)/D̃,
// in which S̃/D̃ stands for μ. What that changes, and that Z′ also decides about D̃, is a part of
// order δ/D̃ of the standard deviation, of either sign with Z′; coverage moves by the square of it.
// So the noise of the divisor multiplies what is released less the centre, and it is the same Z′ in
// all coordinates. The numbers are public: σ and δ follow from the budgets ([Spent]).
//
// Bounds. Where n is public D̃ is at most n, and so is D, if n is as many rows as there are:
// cutting D̃ off brings it nearer to D, and (3) holds with a smaller |Z′|. Where γ is 1, half of
// all Z′ become 0.
//
// Two passes divide by different numbers: the first by n or, if that is private, by ñ, the noisy
// number of rows that the release was planned with; the second by D̃. The noises of ñ, D̃ and both
// sums are independent. So in one coordinate the estimates of both passes have independent noise
// with the variances of (3), each with its own divisor, and weights in inverse proportion to them
// are the best; for a large mean these lean to the pass with the better divisor. That variances
// contain the released values, and thus weights depend a little on the noise, is again of order
// δ/D̃.
//
// Nothing here is said of clipping: where long rows have another mean direction than short ones,
// S/D is not the mean of the rows.

// leastGamma is the least γ that is released.
const leastGamma = 1.0 / 4

// divisorBudget returns the budget of a private divisor, spent; 0 where sums are divided by the
// number of rows, which is public.
func (r *run) divisorBudget() float64 {
	if r.p.Steps.Undivided && !r.p.PrivateRows() {
		return 0
	}
	rho := r.budget.take(r.fix(r.p.Shares.Divisor, clipPart, func() float64 { return gammaShare * r.p.Rho }))
	r.spent.Divisor += rho
	return rho
}

// divisor returns what the sum is to be divided by, for a count that was released: most of the rows
// have weight 1, or are near it.
func (r *run) divisor(released float64) float64 {
	if !r.p.PrivateRows() {
		released = min(released, r.n)
	}
	return max(released, r.n*leastGamma, 1)
}

// relative returns the standard deviation of the noise of the divisor, of the second of two passes,
// as a part of it: that of a budget that one row uses up with 1. It is 0 where the divisor is
// public.
func (m *Mean) relative() float64 {
	rho := m.Spent.Divisor
	if m.Params.PrivateRows() {
		rho -= m.Params.Rho * countShare
	}
	if !(rho > 0) {
		return 0
	}
	return 1 / (m.Divisor * math.Sqrt(2*rho))
}

// Independent returns the standard deviations of the part of the noise that is independent between
// coordinates: σ/D̃ of (3). Of two passes it returns all noise: see Shrunk.
func (m *Mean) Independent() []float64 {
	relative := m.relative()
	if m.Params.Method == TwoPass || relative == 0 {
		return m.Errors
	}
	out := make([]float64, len(m.Errors))
	for i := range out {
		out[i] = m.noiseOfSum(i)
	}
	return out
}
