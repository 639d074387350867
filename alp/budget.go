package alp

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/internal/sparse"
)

// The combined structure: a list of the large values and columns for the small ones.
//
// Let φ₁(v) = a·min(v, X) + b·max(v − X, 0) and θ = a/b. The list is what package threshold
// releases of the values φ₁(v), with Laplace noise of scale b/η; it is drawn first. Then, for each
// list ℓ, the table is drawn in which an entry holds clamp(min(v, X) − jW, 0, W) in those columns j
// that ℓ leaves it (kept, below), and nothing in the others. So moving v by one step costs the list
// θη and the columns (1−θ)η below X, and the list alone η above.
//
// Theorem 2. If a·X ≥ R, the list's rounding radius, then the list and the table together are
// (η, δₐ)-close for inputs one step apart, δₐ being the list's δ at distance a. Hence the whole is
// (ε, δ)-private with δ = δₐ·(e^ε − 1)/(e^η − 1).
//
// The condition is met because Turn is such that a·X is at least the list's threshold, which is
// more than R. Without δ the list draws noise for all d keys, and no condition is needed. The
// thesis's plain composition (Algorithms 7 and 8) is the same with φ₁(v) = a·v everywhere: (θη, δₐ)
// for the list, (1−θ)η for the columns, which end at the list's threshold. The proof is in
// combined_proof.md.

// grid returns the step of the grid. Integers have the step 1 where a step costs 2⁻¹⁰ of ε or more;
// else it is the largest power of two that costs at most 2⁻⁹ (of ε, as a number), and values are
// rounded to it at random.
func (p Params) grid() (step float64, mixed bool) {
	unit := p.Epsilon / p.sensitivity()
	if p.Integers && unit >= 0x1p-10 {
		return 1, false
	}
	_, exp := math.Frexp(0x1p-9 / unit)
	return math.Ldexp(1, exp-1), true
}

// kappa returns κ = εg/Δ, what a step costs.
func (p Params) kappa() float64 {
	step, _ := p.grid()
	return p.Epsilon / p.sensitivity() * step
}

// eta returns the logarithm η of the factor that a step of a value may multiply probabilities with,
// rounded down. For integers it is ε/Δ, and for values that are rounded at random ln(1 + κ).
//
// Proof for these. Let M(v) be the distribution of the release as a function of one total of v
// steps, and M(a+1) ≤ (1+κ)·M(a) + bad in both directions, bad of mass at most δ₁. A value added at
// θ between two grid points becomes the upper one with probability θ, so the distribution is
// (1−θ)·M(a) + θ·M(a+1), given all else, and moving it by θ′ within the step moves the distribution
// by θ′·(M(a+1) − M(a)) ≤ θ′·(κP + bad), where P is the distribution before: M(a+1) − M(a) and M(a)
// − M(a+1) are at most κ·M + bad for M = M(a) and M = M(a+1), hence for their mixtures. So P′ ≤ (1
// + θ′κ)·P + θ′·bad ≤ e^{θ′κ}·P + θ′·bad. Moves by θ′₁, θ′₂, … of Δ/g in total, one after the
// other, give (ε, δ₁·(e^ε−1)/κ): Δκ/g = ε, and Σ θ′ᵢ·e^{κ(θ′₁+…+θ′ᵢ₋₁)} ≤ ∫₀^{Δ/g} e^{κt} dt. ∎
func (p Params) eta() float64 {
	if _, mixed := p.grid(); mixed {
		return math.Log1p(p.kappa()) * (1 - 0x1p-50)
	}
	return p.kappa() * (1 - 0x1p-50)
}

// tableEta returns what the table and the list have of η: all, unless a share is for the Sparsity.
func (p Params) tableEta() float64 {
	if p.share == 0 {
		return p.eta()
	}
	return (p.eta() - p.sparsityEta()) * (1 - 0x1p-50)
}

// split returns θ as a fraction a/b.
func (p Params) split() (a, b int64) {
	best := math.Inf(1)
	for den := int64(2); den <= maxParts; den++ {
		num := int64(min(max(math.Round(p.Split*float64(den)), 1), float64(den-1)))
		if off := math.Abs(float64(num)/float64(den) - p.Split); off < best {
			a, b, best = num, den, off
		}
	}
	return a, b
}

// columnShare returns what the columns have of ε: 1 − θ, if no share is for the Sparsity.
func (p Params) columnShare() float64 {
	share := 1 - p.share
	if p.Structure == ColumnsOnly {
		return share
	}
	a, b := p.split()
	return share * (float64(b-a) / float64(b))
}

// listEta returns θη, rounded down.
func (p Params) listEta() float64 {
	a, b := p.split()
	return p.tableEta() * (float64(a) / float64(b)) * (1 - 0x1p-50)
}

// columnEta returns what the columns have of η, rounded down.
func (p Params) columnEta() float64 {
	if p.Structure == ColumnsOnly {
		return p.tableEta()
	}
	return (p.tableEta() - p.listEta()) * (1 - 0x1p-50)
}

// columnWidth returns W. It is the same for all machines: Alpha/((1−θ)κ), rounded.
func (p Params) columnWidth() int {
	w := math.Round(p.Alpha / (p.columnShare() * p.kappa()))
	return int(min(max(w, 1), 2*maxWidth))
}

// maxListDelta bounds δₐ, which exceeds δ where a step is more than Δ, at an ε far below 1.
const maxListDelta = 0x1p-4

// listParams returns the Params of the list, whose values are φ₁.
func (p Params) listParams() sparse.Params {
	a, _ := p.split()
	l := sparse.Params{Epsilon: p.listEta(), Dim: p.Dim, Sensitivity: float64(a), Integers: true, Signed: p.Signed}
	if p.Delta == 0 {
		l.Method = sparse.PureLaplace
		l.FalseKeys = min(p.FalseKeys, float64(p.Dim)/4)
		return l
	}
	each := p.kappa()
	if _, mixed := p.grid(); !mixed {
		each = math.Expm1(each)
	}
	l.Method = sparse.ExponentialRounding
	l.Delta = min(math.Exp(math.Log(p.Delta)+math.Log(each)-exact.LogExpm1(p.Epsilon))*(1-0x1p-38), maxListDelta)
	return l
}

// listReach returns the list's threshold T and the scale b/η of its noise, in units of φ₁; an error
// if no list is possible.
func (p Params) listReach() (least, scale float64, err error) {
	l := p.listParams()
	law, err := l.Law()
	if err != nil {
		return 0, 0, check.ParamsError("alp", "Delta", p.Delta, "a larger number: no list is possible at this Epsilon")
	}
	return law.Threshold(), l.Sensitivity / l.Epsilon, nil
}

// phi returns φ₁(v) in the units of the list, for a total of v steps.
func (g *geometry) phi(v int64) int64 {
	if v < 0 {
		return -g.phi(-v)
	}
	return g.slopeBelow*min(v, g.turn) + g.slopeAbove*max(v-g.turn, 0)
}

// unphi returns the value that φ₁ maps to y, in steps of the value.
func (g *geometry) unphi(y float64) float64 {
	if y < 0 {
		return -g.unphi(-y)
	}
	corner := float64(g.slopeBelow) * float64(g.turn)
	if y <= corner {
		return y / float64(g.slopeBelow)
	}
	return float64(g.turn) + (y-corner)/float64(g.slopeAbove)
}

// keptScales is how many scales of the list's noise a value must be above a column, as the list
// shows it, for the column to be left empty.
const keptScales = 5

// kept returns the first column, counted from 0 outwards, that an entry with the value v in the
// list keeps in the table: the columns before it, which v says are full but with a probability of
// e^{−5}/2, stay without it. So large entries collide with nothing. Keys that are not listed keep
// all columns.
//
// Theorem 2 needs it to be a function of the list alone, never of what an entry truly holds. So the
// reader of a release knows it too. It does not decrease with |v|.
func (s *shape) kept(v int64) int {
	v = max(v, -v) - s.slack()
	if v <= 0 {
		return 0
	}
	if v /= s.slopeBelow; v >= s.turn {
		return s.half
	}
	return int(min(s.point(v)/int64(s.width), int64(s.half)))
}

// slack returns keptScales scales of the list's noise, in units of φ₁, rounded up. A scale is
// a/(θη), the Δ/ε of the list.
func (s *shape) slack() int64 {
	return int64(keptScales*s.list.Sensitivity/s.list.Epsilon) + 1
}

// outer returns the number of a column counted from 0 outwards.
func (s *shape) outer(column int) int {
	switch {
	case !s.params.Signed:
		return column
	case column < s.half:
		return s.half - 1 - column
	}
	return column - s.half
}
