package noise

import (
	"fmt"
	"math"

	"github.com/dpsketch/dpsketch/internal/fault"
)

// Guarantee is what a release promises about every pair of neighbouring inputs: pure, approximate or zero-concentrated
// differential privacy, or a composition of any number of these. It is public, immutable and comparable with ==.
//
// The zero Guarantee promises nothing: its ε is +Inf and its δ is 1. So does one made from invalid numbers.
//
// It stands for the composition of any number of releases, each (εᵢ, δᵢ)-DP or ρᵢ-zCDP, adaptively chosen, and
// keeps the four sums that the bounds below need, each rounded up:
//
//   - (A) basic composition: the releases of the first kind together are (Σε, Σδ)-DP, those of the second Σρ-zCDP,
//     hence (ε′, δ′)-DP for all pairs that the conversion of a ρ allows; and both are (Σε + ε′, Σδ + δ′)-DP.
//   - (B) an (ε, δ)-DP release is δ-approximately ½ε²-zCDP: its two output laws have common parts of weight 1 − δ that are
//     ε-indistinguishable in both directions (Kairouz, Oh, Viswanath, ICML 2015), and those are ½ε²-zCDP (Bun and Steinke,
//     TCC 2016, Proposition 1.4). Approximate zCDP adds up (their section 8), so the whole is Σδ-approximately
//     (Σρ + ½Σε²)-zCDP, hence (ε′, Σδ + (1−Σδ)·δ′)-DP.
//   - (C) with no zCDP among the releases the whole is (ε, δ)-DP with ε = Σε, δ = Σδ. Whatever is (ε, δ)-DP is a random function of
//     one bit, revealed with probability δ and else sent by randomized response at ε (Kairouz, Oh, Viswanath), so
//     for every ε′ ≤ ε it is (ε′, δ + (1−δ)·(e^ε − e^ε′)/(1 + e^ε))-DP.
//
// [Guarantee.EpsilonAt] and [Guarantee.DeltaAt] take the least of the three; each is sound, so the least is.
type Guarantee struct {
	relation    Relation
	promised    bool    // false: no promise, and the sums are 0
	epsilon     float64 // Σε
	halfSquares float64 // Σε²/2
	delta       float64 // Σδ
	rho         float64 // Σρ
}

// PureDP returns ε-differential privacy under the relation r. An epsilon that is not a number ≥ 0, or an unknown relation,
// gives a Guarantee that promises nothing.
func PureDP(epsilon float64, r Relation) Guarantee { return ApproxDP(epsilon, 0, r) }

// ApproxDP returns (ε, δ)-differential privacy under the relation r. An epsilon that is not a number ≥ 0, a delta that is not in
// [0, 1), or an unknown relation gives a Guarantee that promises nothing.
func ApproxDP(epsilon, delta float64, r Relation) Guarantee {
	if !(epsilon >= 0 && epsilon <= math.MaxFloat64) || !(delta >= 0 && delta < 1) || !r.valid() {
		return Guarantee{relation: r}
	}
	return Guarantee{relation: r, promised: true, epsilon: epsilon + 0, halfSquares: halfSquareUp(epsilon), delta: delta + 0}
}

// ZCDP returns ρ-zero-concentrated differential privacy (Bun and Steinke) under the relation r. A rho that is not a number ≥ 0,
// or an unknown relation, gives a Guarantee that promises nothing.
func ZCDP(rho float64, r Relation) Guarantee {
	if !(rho >= 0 && rho <= math.MaxFloat64) || !r.valid() {
		return Guarantee{relation: r}
	}
	return Guarantee{relation: r, promised: true, rho: rho + 0}
}

// halfSquareUp returns a float64 ≥ ε²/2.
func halfSquareUp(epsilon float64) float64 {
	if epsilon == 0 {
		return 0
	}
	return math.Nextafter(epsilon*epsilon/2, math.Inf(1))
}

// Compose returns the guarantee of making all the releases on the same input, each possibly chosen after seeing the ones
// before. If one promises nothing, so does the composition.
//
// The error wraps [ErrMismatch] if the relations differ, and [ErrParams] without arguments. The sums are rounded
// up, so grouping the arguments otherwise may change the last places.
func Compose(gs ...Guarantee) (Guarantee, error) {
	if len(gs) == 0 {
		return Guarantee{}, fault.Params("noise", "number of guarantees", 0, "at least 1")
	}
	sum := gs[0]
	for _, g := range gs[1:] {
		if g.relation != sum.relation {
			return Guarantee{}, fault.Mismatch("noise", "Relation", sum.relation, g.relation)
		}
		sum.promised = sum.promised && g.promised
		sum.epsilon = sumUp(sum.epsilon, g.epsilon)
		sum.halfSquares = sumUp(sum.halfSquares, g.halfSquares)
		sum.delta = sumUp(sum.delta, g.delta)
		sum.rho = sumUp(sum.rho, g.rho)
	}
	if !sum.promised || sum.delta >= 1 {
		return Guarantee{relation: sum.relation}, nil
	}
	return sum, nil
}

// Relation returns the neighbouring relation.
func (g Guarantee) Relation() Relation { return g.relation }

// String returns the guarantee as it was given, such as "(1, 1e-06)-DP under AddRemove" or "0.5-zCDP under L2". For a
// composition it returns the sums, such as "1-DP and 0.5-zCDP under L2".
func (g Guarantee) String() string {
	text := "no privacy promised"
	if g.promised {
		switch {
		case g.delta > 0:
			text = fmt.Sprintf("(%g, %g)-DP", g.epsilon, g.delta)
		case g.epsilon > 0 || g.rho == 0:
			text = fmt.Sprintf("%g-DP", g.epsilon)
		default:
			text = ""
		}
		if g.rho > 0 {
			if text != "" {
				text += " and "
			}
			text += fmt.Sprintf("%g-zCDP", g.rho)
		}
	}
	if g.relation == 0 {
		return text
	}
	return text + " under " + g.relation.String()
}
