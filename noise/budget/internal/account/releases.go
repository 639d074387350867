// Package account bounds what any number of releases reveal together, whoever they protect: it adds
// up what was asked for and what is known of the noise, and converts both to (ε, δ). Units, budgets
// and bytes are package budget's. Of five bounds the least counts, as each is sound:
//
//   - (A) basic composition: the releases by ε are (Σε, Σδ)-DP, and the others Σρ-zCDP, hence (ε′,
//     δ′)-DP for all pairs that the conversion of a ρ allows; together (Σε + ε′, Σδ + δ′)-DP.
//
//   - (B) an (ε, δ)-DP release is δ-approximately ε·tanh(ε/2)-zCDP: its two outputs share parts of
//     weight 1 − δ that are ε-indistinguishable in both directions (Kairouz, Oh, Viswanath, ICML
//     2015), whose Rényi divergences are at most that times the order: the least ρ possible (proof
//     in internal/loss/loss_proof.md). Approximate zCDP adds up (Bun and Steinke, section 8), so
//     the whole is Σδ-approximately (Σρ + Σε·tanh(ε/2))-zCDP, hence (ε′, Σδ + (1−Σδ)·δ′)-DP.
//
//   - (C) without zCDP the whole is (Σε, Σδ)-DP. Whatever is (ε, δ)-DP is a random function of one
//     bit, revealed with probability δ and else sent by randomized response at ε (Kairouz, Oh,
//     Viswanath), so for every ε′ ≤ ε it is (ε′, δ + (1−δ)·(e^ε − e^ε′)/(1 + e^ε))-DP.
//
//   - (D) μᵢ-GDP releases are √(Σμᵢ²)-GDP (Dong, Roth, Su, Corollary 3.3): with nothing else but δ
//     the exact profile of Gaussian noise bounds the whole. With others μ-GDP counts as ½μ²-zCDP.
//
//   - (E) the losses of all together are bounded by the convolution of those of the pairs, with
//     the exact profile of √(Σμᵢ²), or the conversion of Σρ, for the others. It is computed on a
//     lattice, every mass rounded up: never below the truth, within .3 % of it for equal releases,
//     6 % for samples; at δ below 1e-28 it may be far above (package internal/loss).
//
// All hold if a release is chosen after seeing the ones before, as long as its guarantee is not.
package account

import (
	"math"
	"math/bits"

	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/internal/loss"
	"github.com/dpsketch/dpsketch/noise"
)

// Releases is two complete descriptions of the same releases: by the numbers that were asked for,
// and by dominating pairs. All sums are rounded up.
type Releases struct {
	Asked Sums
	Pair  Pair
}

// Sums are of the numbers that were asked for.
type Sums struct {
	Epsilon     float64 // Σε
	ResponseRho float64 // Σε·tanh(ε/2)
	Delta       float64 // Σδ
	Rho         float64 // Σρ
	MuSquares   float64 // Σμ²
}

// Pair is what bounds the outputs of the releases on neighbouring inputs more closely than the ε
// and δ that were asked for: a dominating pair for each.
type Pair struct {
	PairSums
	Kinds Kinds
}

// PairSums are of what is not in Kinds.
type PairSums struct {
	ResponseRho float64 // Σρ of the releases in Kinds
	Escape      float64 // Σ of the masses of infinite loss
	Rho         float64 // Σρ of the others, by ρ
	MuSquares   float64 // Σμ² of the others, by μ
	Escapes     Escapes
	Keys        loss.Keys // of releases of keys that nobody listed, whose μ² is not in MuSquares
}

// Escapes is the number of releases with Gaussian noise by μ that have some of Escape, or Ungrouped
// where some of it belongs to releases for whose groups no rule is known, as several by ε.
type Escapes uint64

// Ungrouped is no number.
const Ungrouped Escapes = math.MaxUint64

// times returns n times the number.
func (e Escapes) times(n uint64) Escapes {
	if high, low := bits.Mul64(uint64(e), n); high == 0 && low <= MostCount {
		return Escapes(low)
	}
	return Ungrouped
}

// plus returns the sum.
func (e Escapes) plus(other Escapes) Escapes {
	if e <= MostCount && other <= MostCount && e+other <= MostCount {
		return e + other
	}
	return Ungrouped
}

// None is no promise: it is not valid, whatever it is composed with.
func None() Releases { return Releases{Asked: Sums{Epsilon: math.NaN()}} }

// Unpaired returns releases of which no more is known than these sums.
func Unpaired(s Sums) Releases { return Releases{s, s.pair()} }

// pair returns what is known of releases with these sums: nothing else.
func (s Sums) pair() Pair {
	return Pair{PairSums: PairSums{ResponseRho: s.ResponseRho, Escape: s.Delta, Rho: s.Rho, MuSquares: s.MuSquares}}
}

// Valid reports whether something is promised.
func (r Releases) Valid() bool {
	s := r.Asked
	return finite(s.Epsilon) && finite(s.Rho) && finite(s.MuSquares) && s.Delta < 1 && r.Pair.valid()
}

// paired returns r, by the sums alone where what is known of the noise has become too much, as
// escapes that add up to more than 1.
func (r Releases) paired() Releases {
	if !r.Pair.valid() {
		r.Pair = r.Asked.pair()
	}
	return r
}

// valid reports whether the sums are numbers that leave something promised.
func (p Pair) valid() bool {
	return p.ResponseRho >= 0 && p.Escape >= 0 && p.Escape < 1 && finite(p.Rho) && finite(p.MuSquares) && p.Keys.Valid()
}

// finite reports whether x is a number ≥ 0 other than +Inf.
func finite(x float64) bool { return x >= 0 && x <= math.MaxFloat64 }

// unknown reports whether there are releases by ε that are not in Kinds.
func (p Pair) unknown() bool { return p.ResponseRho > 0 && len(p.Kinds) == 0 }

// HasKeys reports whether there are releases of keys that nobody listed.
func (p PairSums) HasKeys() bool { return p.Keys != loss.Keys{} }

// Concentrated returns the ρ of all releases together, apart from their escapes, rounded up.
func (p PairSums) Concentrated() float64 {
	return exact.SumUp(p.ResponseRho, exact.SumUp(p.Rho, exact.ProductUp(0.5, p.MuSquares)))
}

// ApproxDP is one release by ε and δ.
func ApproxDP(epsilon, delta float64) Releases {
	r := Unpaired(Sums{Epsilon: epsilon + 0, ResponseRho: ResponseRho(epsilon), Delta: delta + 0})
	if epsilon > 0 {
		r.Pair.Kinds = Kinds{Response(epsilon)}
	}
	return r
}

// ZCDP is one release by ρ.
func ZCDP(rho float64) Releases { return Unpaired(Sums{Rho: rho + 0}) }

// GDP is one release by μ.
func GDP(mu float64) Releases {
	if !finite(mu) {
		return None()
	}
	return Unpaired(Sums{MuSquares: exact.ProductUp(mu, mu)})
}

// Laplace is ε-DP by Laplace noise on reals.
func Laplace(epsilon float64) Releases {
	return ApproxDP(epsilon, 0).by(Kind{Family: LaplaceNoise, Size: epsilon, Fraction: 1, Count: 1})
}

// DiscreteLaplace is ε-DP by noise of mass ∝ exp(−|x|/scale) on integers that together move by at
// most ε·scale.
func DiscreteLaplace(epsilon, scale float64) Releases {
	steps, r := max(math.Floor(epsilon*scale*exact.Up), 1), ApproxDP(epsilon, 0)
	switch {
	case !(scale > 0 && scale <= math.MaxFloat64):
		return None()
	case !r.Valid() || epsilon == 0 || steps > 0x1p62 || scale < 0x1p-900 || scale > 0x1p900:
		return r
	}
	size := max(exact.QuotientUp(steps, scale), epsilon)
	if steps > mostSteps {
		// several steps at once, whose loss is together that of randomized response at most
		each := math.Ceil(steps / mostSteps)
		many := math.Ceil(steps / each)
		size *= each * many / steps * exact.Up
		steps = many
	}
	return r.by(Kind{Family: LaplaceNoise, Steps: uint32(steps), Size: size, Fraction: 1, Count: 1})
}

// Gaussian is (ε, δ)-DP by normal noise with the largest μ that is.
func Gaussian(epsilon, delta float64) Releases {
	r := ApproxDP(epsilon, delta)
	sigma, err := noise.GaussianSigma(epsilon, delta, 1)
	if !r.Valid() || err != nil {
		return r
	}
	// From the μ of that σ up, to one that is certainly not (ε, δ)-DP: GaussianDelta exceeds the
	// truth by a relative 4e-12 at most, and where it grows too slowly for that nothing is known.
	mu := exact.QuotientUp(1, sigma)
	for more := 0x1p-46; more < 0x1p-20; more *= 2 {
		if at, err := noise.GaussianDelta(1, epsilon, mu*(1+more)); err == nil && at > delta*(1+0x1p-36) {
			r.Pair = GDP(mu * (1 + more)).Pair
			return r
		}
	}
	return r
}

// gaussianZCDP is ρ-zCDP by normal noise of μ = √(2ρ).
func gaussianZCDP(rho float64) Releases {
	r := ZCDP(rho)
	r.Pair.Rho, r.Pair.MuSquares = 0, exact.ProductUp(2, rho)
	return r.paired()
}

// DiscreteGaussian is zCDP by noise of mass ∝ exp(−x²/2σ²) on an integer that moves by steps.
func DiscreteGaussian(sigma float64, steps int64) Releases {
	if !(sigma >= 0x1p-500 && sigma <= 0x1p500) || steps < 1 {
		return None()
	}
	ratio := exact.QuotientUp(FloatUp(steps), sigma)
	r := ZCDP(exact.ProductUp(0.5, exact.ProductUp(ratio, ratio)))
	if x := (Kind{DiscreteGaussianNoise, uint32(min(steps, mostSteps)), sigma, 1, 1}); x.Valid() {
		return r.by(x)
	}
	return r
}

// by returns one release, bounded by x.
func (r Releases) by(x Kind) Releases {
	if x.Size > 0 {
		k := Kinds{x}
		r.Pair = Pair{PairSums{ResponseRho: k.rho()}, k}
	}
	return r
}

// WithEscape returns releases that also reveal everything with probability escape.
func (r Releases) WithEscape(escape float64) Releases {
	switch {
	case !(escape >= 0 && escape < 1):
		return None()
	case escape == 0:
		return r
	}
	r.Asked.Delta = exact.SumUp(r.Asked.Delta, escape)
	r.Pair.Escape = exact.SumUp(r.Pair.Escape, escape)
	switch p := r.Pair; {
	case len(p.Kinds) == 0 && p.ResponseRho == 0 && p.Rho == 0 && p.MuSquares > 0 && p.Escapes <= 1:
		// one, by its own μ, or by that of all
		r.Pair.Escapes = 1
	case len(p.Kinds) == 0 && p.ResponseRho == 0 && p.Rho == 0 && p.MuSquares == 0:
	case len(p.Kinds) == 1 && p.Kinds[0].Count == 1 && p.Kinds[0].Family == LaplaceNoise && p.Rho == 0 && p.MuSquares == 0:
	default:
		r.Pair.Escapes = Ungrouped
	}
	if r.Pair.Escape >= 1 {
		r.Pair = r.Asked.pair()
	}
	return r
}

// WithKeys returns releases of keys that nobody listed, bounded by k.
func (r Releases) WithKeys(k loss.Keys) Releases {
	if !k.Valid() {
		return None()
	}
	r.Pair = Pair{PairSums: PairSums{Keys: k}}
	return r
}

// FloatUp returns n as a float64 that is not below it.
func FloatUp[T int | int64](n T) float64 {
	x := float64(n)
	if x >= 0x1p53 { // perhaps rounded
		x = math.Nextafter(x, math.Inf(1))
	}
	return x
}

// HardlyAny reports whether nearly everything about the unit can be told from the releases.
func (s Sums) HardlyAny() bool {
	const most, mostDelta = 20, 0.01
	return s.Epsilon > most || s.Delta > mostDelta || s.Rho > 0 && ConcentratedEpsilon(s.Rho, 1e-6) > most ||
		s.MuSquares > 0 && GaussianEpsilon(s.MuSquares, 1e-6) > most
}

// MuOf returns the least float64 whose square, rounded up, is at least x, for x ≥ 0; so the μ of
// one release comes back as it was.
func MuOf(x float64) float64 {
	s := math.Sqrt(x)
	for range 2 { // math.Sqrt is within half a unit in the last place
		if exact.ProductUp(s, s) < x {
			s = math.Nextafter(s, math.Inf(1))
		}
	}
	if t := math.Nextafter(s, 0); s > 0 && exact.ProductUp(t, t) >= x && x > 0x1p-900 {
		return t
	}
	return s
}

// Possible reports whether decoded sums can be those of releases, apart from rounding: Σε·tanh(ε/2)
// is 0 only if all ε are, and at most that of Σε.
func (r Releases) Possible() bool {
	s, p := r.Asked, r.Pair
	if !(s.ResponseRho >= 0) || !(s.Delta >= 0) || (s.Epsilon == 0) != (s.ResponseRho == 0) || s.ResponseRho > ResponseRho(s.Epsilon)*(1+0x1p-20) {
		return false
	}
	counted := p.Escapes <= MostCount
	if !counted && p.Escapes != Ungrouped || p.Escapes > 0 && !(p.Escape > 0) || counted && p.Escapes > 0 && !(p.MuSquares > 0) {
		return false
	}
	for i, x := range p.Kinds {
		if !x.Valid() || i > 0 && p.Kinds[i-1].compare(x) >= 0 {
			return false
		}
	}
	sum := p.Kinds.rho()
	return len(p.Kinds) == 0 || sum >= p.ResponseRho*(1-0x1p-30) && sum <= p.ResponseRho*5+math.SmallestNonzeroFloat64*MostKinds
}
