package distinct

import (
	"fmt"
	"math"

	"github.com/dpsketch/dpsketch/internal/limits"
	"github.com/dpsketch/dpsketch/internal/search"
)

// The error in closed form. With levels of ratio 2, Σ u(1−u) over all levels is, but for a ripple
// below 10⁻⁴, (1/ln 2)·∫ (e^{−λ} − e^{−2λ}) dλ/λ = 1 (Frullani), and Σ λu is 1/ln 2. So V = n and
// N·μ′ = n/ln 2, wherever N/n is in the middle of the levels, and
//
//	RSE² = (ln² 2/n)·(1 + Var Z/n).
//
// For a union of k releases every cell of level i gives an unbiased estimate of u_i, whether the
// cell is empty in all sets; see union.go. Its second moment v depends on how the sets overlap, and
// the information of all levels about ln N is (n/ln 2)·∫ λu²/(v − u²) dλ with u = e^{−λ}.

// maxSketches is the most releases whose union is asked for.
const maxSketches = 1 << 16

// StdErr returns the standard error, in keys, of the estimate from one release of a set of size
// keys. NaN for a size that is negative or NaN, and for invalid Params.
func (p Params) StdErr(size float64) float64 {
	p = p.normal()
	if p.validate() != nil || !(size >= 0 && size <= math.MaxFloat64) {
		return math.NaN()
	}
	c := newCurve(p)
	return c.stdErr(size)
}

// RelativeError returns the relative standard error of the number of distinct keys in the union of
// the given number of releases, for sizes from 2·Cells to Largest: √((ln² 2/n)·(1 + Var Z/n)),
// about 0.69/√n, for one; for more that of [Union], at the worse of equal and disjoint sets. It
// grows exponentially with the number of releases. A party that holds all of the data merges
// Builders instead. NaN for invalid Params, a number of sketches outside [1, 2¹⁶], or several of
// CountShare 1.
func (p Params) RelativeError(sketches int) float64 {
	p = p.normal()
	laws, err := p.laws()
	switch n := float64(p.Cells); {
	case err != nil || sketches < 1 || sketches > maxSketches:
		return math.NaN()
	case sketches == 1:
		return math.Ln2 * math.Sqrt((1+laws.count.Variance()/n)/n)
	case !p.published():
		return math.NaN()
	default:
		return math.Sqrt(unionVariance(laws.flips.Prob(), sketches) / n)
	}
}

// Largest returns the size 2^L·n/4 up to which a sketch has its accuracy; beyond it the last level
// fills up, and the intervals tell. NaN for invalid Params.
func (p Params) Largest() float64 {
	if p.normal().validate() != nil {
		return math.NaN()
	}
	return math.Ldexp(float64(p.Cells), p.Levels-2)
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

// Plan is the smallest sketch that has a wanted error.
type Plan struct {
	// Params are those that Plan was called on, with the planned Cells, Levels
	// and CountShare.
	Params Params
	// Sketches is the number of releases: 1 for one count, else those of a union.
	Sketches int
	// RelativeError is the relative standard error of the count, or of the
	// union, for sizes from about 2·Cells to Largest.
	RelativeError float64
	// Largest is [Params.Largest].
	Largest float64
	// Bytes is the length of the encoding of one release.
	Bytes int
}

// String returns the size and the error, in one line.
func (p Plan) String() string {
	of := "one count"
	if p.Sketches > 1 {
		of = fmt.Sprintf("the union of %d releases", p.Sketches)
	}
	return fmt.Sprintf("%d levels of %d cells, %d bytes a release: error %.2g %% of %s, up to %.3g keys",
		p.Params.Levels, p.Params.Cells, p.Bytes, 100*p.RelativeError, of, p.Largest)
}

// Plan returns the fewest Cells, a multiple of 64, and the fewest Levels for a relative standard
// error of at most relative, for sizes up to largest: of the plain count of one release (sketches =
// 1, CountShare 1), or of the union of the given number of releases, by parties that do not share
// data. Of the Params it reads Epsilon alone; the Seed may be set later.
//
// The error wraps [ErrParams] if a number is out of range, or if no sketch has the error: not the
// largest, or none at all, as the error of a union grows exponentially with the number of releases.
func (p Params) Plan(relative, largest float64, sketches int) (Plan, error) {
	if err := limits.Epsilon("distinct", p.Epsilon, maxEpsilon); err != nil {
		return Plan{}, err
	}
	if err := limits.Planned("distinct", relative, largest, sketches, maxSketches); err != nil {
		return Plan{}, err
	}
	of := func(blocks int64) Params {
		q := Params{Epsilon: p.Epsilon, Cells: int(64 * blocks), Levels: 1, CountShare: 1, Seed: [16]byte{1}}
		if sketches > 1 { // the share that costs the union nothing
			q.CountShare = min(max(2/(q.Epsilon*math.Sqrt(float64(q.Cells))), 0.02), 0.25)
		}
		return q
	}
	const most = maxCells / 64
	blocks := search.Least(1, func(blocks int64) bool {
		return blocks > most || of(blocks).RelativeError(sketches) <= relative
	})
	if levels := levelsFor(largest, 64*float64(blocks)); blocks > most || 64*float64(blocks)*levels > maxBits {
		return Plan{}, bad("relative error", relative, fmt.Sprintf("one that less than 2³¹ cells a level and 2³³ bits in all can have "+
			"for %g keys, where the number of sketches is %d", largest, sketches))
	}
	q := of(blocks)
	q.Levels = int(levelsFor(largest, float64(q.Cells)))
	plan := Plan{Params: q, Sketches: sketches, RelativeError: q.RelativeError(sketches), Largest: q.Largest(), Bytes: q.Size()}
	plan.Params.Seed = p.Seed
	return plan, nil
}

// levelsFor returns the fewest levels for sizes up to largest.
func levelsFor(largest, cells float64) float64 { return max(1, math.Ceil(math.Log2(largest/cells))+2) }
