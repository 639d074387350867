package distinct

import (
	"fmt"
	"math"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// The error in closed form. With levels of ratio 2, Σ u(1−u) over all levels is, apart from a
// ripple below 10⁻⁴, (1/ln 2)·∫ (e^{−λ} − e^{−2λ}) dλ/λ = 1 (Frullani), and Σ λu is 1/ln 2. So V =
// n and N·μ′ = n/ln 2, wherever N/n is in the middle of the levels, and
//
//	RSE² = (ln² 2/n)·(1 + Var Z/n).
//
// For a union of k releases every cell of level i gives an unbiased estimate of u_i, whether the
// cell is empty in all sets; see union.go. Its second moment v depends on how the sets overlap, and
// the information of all levels about ln N is (n/ln 2)·∫ λu²/(v − u²) dλ with u = e^{−λ}.

// maxSketches is the most releases whose union is asked for.
const maxSketches = 1 << 16

// Plan is what a release will be.
type Plan struct {
	Params Params // filled in
	// RelativeError is the relative standard error of a count, for sizes from
	// 2·Cells to Largest.
	RelativeError float64
	// Largest is 2^L·n/4.
	Largest float64
	Bytes   int // of the encoding of one release
	// Pair is the guarantee of [ReleasePair], for both sets.
	Pair budget.Guarantee
}

// Plan needs no Seed.
func (p Params) Plan() (Plan, error) {
	p = p.normal()
	laws, err := p.seeded().laws()
	if err != nil {
		return Plan{}, err
	}
	n := float64(p.Cells)
	plan := Plan{p, math.Ln2 * math.Sqrt((1+laws.count.Variance()/n)/n), math.Ldexp(n, p.Levels-2), fixedSize, p.seeded().twoMoves()}
	if p.published() {
		plan.Bytes += 8 * int(p.words())
	}
	return plan, nil
}

// StdErr returns the standard error, in keys, for a set of that size; NaN outside [0, ∞), and for
// the zero Plan.
func (p Plan) StdErr(size float64) float64 {
	if p.Bytes == 0 || !(size >= 0 && size <= math.MaxFloat64) {
		return math.NaN()
	}
	c := newCurve(p.Params.seeded())
	return c.stdErr(size)
}

// RunningStdErr is StdErr for a running total after that many steps; NaN also outside [1, 2³¹), and
// for Params that NewRunningBuilder refuses.
func (p Plan) RunningStdErr(size float64, steps int) float64 {
	c, ok := p.Params.seeded().classCurve(draws{steps, 1}, draws{})
	if !ok || steps < 1 || steps > maxSlots || !(size >= 0 && size <= math.MaxFloat64) {
		return math.NaN()
	}
	return c.stdErr(size)
}

// WindowStdErr is StdErr for one of Params.Spans; NaN also for other days, and for Params that
// NewWindowBuilder refuses.
func (p Plan) WindowStdErr(size float64, days int) float64 {
	params := p.Params.seeded().windowed()
	some := params.window(days)
	c, ok := params.unionCurve(some, len(params.windows())+1)
	if _, err := params.windowLaw(); err != nil || !ok || some == 0 || !(size >= 0 && size <= math.MaxFloat64) {
		return math.NaN()
	}
	return c.stdErr(size)
}

// UnionError returns the relative standard error of the [Union] of that many releases, of equal or
// disjoint sets, whichever is worse, at sizes from 2·Cells to Largest; NaN outside [2, 2¹⁶], and
// for CountShare 1.
func (p Plan) UnionError(sketches int) float64 {
	laws, err := p.Params.seeded().laws()
	if err != nil || sketches < 2 || sketches > maxSketches || !p.Params.published() {
		return math.NaN()
	}
	return math.Sqrt(unionVariance(laws.flips.Prob(), sketches) / float64(p.Params.Cells))
}

// String shows size and error.
func (p Plan) String() string {
	return fmt.Sprintf("%d levels of %d cells, %d bytes a release: error %.2g %%, up to %.3g keys",
		p.Params.Levels, p.Params.Cells, p.Bytes, 100*p.RelativeError, p.Largest)
}

// unionVariance returns the squared relative error, times n, of the union of k releases whose bits
// are flipped with probability p: the larger of those for equal and for disjoint sets.
func unionVariance(p float64, k int) float64 {
	d := 1 - 2*p
	v1 := p * (1 - p) / (d * d) // second moment for a cell that is set; 1 more for an empty one
	set, empty := math.Pow(v1, float64(k)), math.Pow(v1+1, float64(k))
	const step = 1.0 / 32 // of ln λ
	equal, disjoint := 0.0, 0.0
	for i := -12 * 32; i <= 4*32; i++ {
		lambda := math.Exp(float64(i) * step)
		u := math.Exp(-lambda)
		term := step * lambda * lambda * u * u
		equal += term / (set - u*u + u*(empty-set))
		disjoint += term / (math.Pow(v1+math.Exp(-lambda/float64(k)), float64(k)) - u*u)
	}
	return math.Ln2 / min(equal, disjoint)
}

// Fit returns the fewest Cells, a multiple of 64, and Levels for a relative standard error of at
// most relative, at sizes from about 2·Cells to largest, of one release (sketches = 1, CountShare
// 1) or of the Union of that many. It reads only Epsilon. [ErrParams] if no sketch is accurate
// enough.
func (p Params) Fit(relative, largest float64, sketches int) (Params, error) {
	if err := check.Epsilon("distinct", p.Epsilon, maxEpsilon); err != nil {
		return Params{}, err
	}
	if err := check.SketchPlan("distinct", relative, largest, sketches, maxSketches); err != nil {
		return Params{}, err
	}
	of := func(blocks int64) Params {
		q := Params{Epsilon: p.Epsilon, Cells: int(64 * blocks), Levels: 1, CountShare: 1, Seed: p.Seed}
		if sketches > 1 { // the share that costs the union nothing
			q.CountShare = min(max(2/(q.Epsilon*math.Sqrt(float64(q.Cells))), 0.02), 0.25)
		}
		return q
	}
	const most = maxCells / 64
	blocks := exact.LeastInt(1, func(blocks int64) bool {
		if blocks > most {
			return true
		}
		plan, err := of(blocks).Plan()
		if sketches > 1 {
			plan.RelativeError = plan.UnionError(sketches)
		}
		return err == nil && plan.RelativeError <= relative
	})
	if levels := levelsFor(largest, 64*float64(blocks)); blocks > most || 64*float64(blocks)*levels > maxBits {
		return Params{}, bad("relative error", relative, fmt.Sprintf("one that less than 2³¹ cells a level and 2³³ bits in all can have "+
			"for %g keys, where the number of sketches is %d", largest, sketches))
	}
	q := of(blocks)
	q.Levels = int(levelsFor(largest, float64(q.Cells)))
	return q, nil
}

// levelsFor returns the fewest levels for sizes up to largest.
func levelsFor(largest, cells float64) float64 { return max(1, math.Ceil(math.Log2(largest/cells))+2) }
