package alp

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/internal/logs"
	"github.com/dpsketch/dpsketch/threshold"
)

// The combined structure: a list of the large values and columns for the small ones.
//
// Let φ₁(v) = a·min(v, X) + b·max(v − X, 0) and θ = a/b. The list is what package threshold
// releases of the values φ₁(v), with Laplace noise of scale b/η; it is drawn first. Then, for each
// list ℓ, the table is drawn in which an entry holds clamp(min(v, X) − jW, 0, W) in those columns j
// that ℓ leaves it (kept.go), and nothing in the others. So moving v by one step costs the list θη
// and the columns (1−θ)η below X, and the list alone η above.
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

// maxListDelta bounds δₐ, which exceeds δ where a step is more than Δ, at an ε far below 1.
const maxListDelta = 0x1p-4

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
	share := 1 - p.SparsityShare
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

// listParams returns the Params of the list, whose values are φ₁.
func (p Params) listParams() threshold.Params {
	a, _ := p.split()
	l := threshold.Params{Epsilon: p.listEta(), Dim: p.Dim, Sensitivity: float64(a), Integers: true, Signed: p.Signed}
	if p.Delta == 0 {
		l.Mechanism = threshold.PureLaplace
		l.FalseKeys = min(p.FalseKeys, float64(p.Dim)/4)
		return l
	}
	each := p.kappa()
	if _, mixed := p.grid(); !mixed {
		each = math.Expm1(each)
	}
	l.Mechanism = threshold.ExponentialRounding
	l.Delta = min(math.Exp(math.Log(p.Delta)+math.Log(each)-logs.Expm1(p.Epsilon))*(1-0x1p-38), maxListDelta)
	return l
}

// listReach returns the list's threshold T and the scale b/η of its noise, in units of φ₁; an error
// if no list is possible.
func (p Params) listReach() (least, scale float64, err error) {
	l := p.listParams()
	least = l.Threshold()
	if math.IsNaN(least) {
		return 0, 0, fault.Params("alp", "Delta", p.Delta, "a larger number: no list is possible at this Epsilon")
	}
	return least, l.Sensitivity / l.Epsilon, nil
}

// phi returns φ₁(v) in the units of the list, for a total of v steps.
func (g *geometry) phi(v int64) int64 {
	if v < 0 {
		return -g.phi(-v)
	}
	return g.below*min(v, g.turn) + g.above*max(v-g.turn, 0)
}

// unphi returns the value that φ₁ maps to y, in steps of the value.
func (g *geometry) unphi(y float64) float64 {
	if y < 0 {
		return -g.unphi(-y)
	}
	corner := float64(g.below) * float64(g.turn)
	if y <= corner {
		return y / float64(g.below)
	}
	return float64(g.turn) + (y-corner)/float64(g.above)
}
