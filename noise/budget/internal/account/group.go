package account

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/internal/loss"
	"github.com/dpsketch/dpsketch/noise"
)

// Path says what steps lead from a neighbour to another.
type Path uint8

const (
	AnyPath  Path = iota // any
	Together             // all add, or all remove
	Swap                 // one removes, the other adds
)

// Group returns what the releases promise to units whose neighbours are at most m ≥ 1 steps apart,
// and false if no rule is known.
//
// The releases, each as a release on groups, are again of the kinds of Releases, with the sums
// Σmεᵢ, Σmεᵢ·tanh(mεᵢ/2), Σδᵢ·s(εᵢ), Σm²ρᵢ and Σm²μᵢ², s the geometric sum. s increases, so s(εᵢ)
// ≤ s(Σε), and Σδ·s(Σε) bounds the third. Nothing else enters into the bounds (A) to (D), and they
// increase with the sums.
func (r Releases) Group(m int, by Path) (Releases, bool) {
	if m == 1 {
		return r, true
	}
	asked, steps := r.Asked, FloatUp(m)
	squared := exact.ProductUp(steps, steps)
	s := Sums{
		Epsilon: exact.ProductUp(steps, asked.Epsilon),
		// tanh(mx) ≤ m·tanh(x), and tanh increases
		ResponseRho: min(exact.ProductUp(squared, asked.ResponseRho), ResponseRho(exact.ProductUp(steps, asked.Epsilon))),
		Delta:       groupDelta(asked.Delta, asked.Epsilon, steps),
		Rho:         exact.ProductUp(squared, asked.Rho),
		MuSquares:   exact.ProductUp(squared, asked.MuSquares),
	}
	if r.Pair.Escapes > 0 && asked.Concentrated() > 0 { // some of δ may be with what was asked by μ
		// No rule is known by ρ; here it stands for any others.
		byMu := Pair{PairSums: PairSums{Escape: asked.Delta, MuSquares: asked.MuSquares, Escapes: r.Pair.Escapes, Rho: asked.Epsilon}}
		escape, ok := byMu.gaussianEscape(m)
		if !ok || asked.Rho > 0 {
			return Releases{}, false
		}
		s.Delta = exact.SumUp(s.Delta, escape)
	}
	p, ok := r.Pair.group(m, s, by)
	if !ok {
		return Releases{}, false
	}
	if asked.pair().bounds() == r.Pair.bounds() {
		s.ResponseRho = min(s.ResponseRho, p.ResponseRho)
	}
	return Releases{s, p}.paired(), true
}

// group returns the pair on groups of m ≥ 2 units, given the sums on these; and false if no rule is
// known.
//
// The lattice of m steps of ε bounds m units of an ε-DP release: the chain of m trade-off functions
// of randomized response (package loss). So does one of m times the steps for noise on a lattice,
// mε for Laplace noise on reals, and mμ for Gaussian noise. With an escape w, ±ε is (mε, w·(1 + … +
// e^{(m−1)ε}))-DP; for Gaussian noise see gaussianEscape; for others nothing but what s says is
// known. Gaussian noise on a sample is that of a mixture where all units are added or all removed,
// and where one takes the place of another; else, and for any other noise that is not by ε, a
// sample is taken for all, which bounds it.
func (p Pair) group(m int, s Sums, by Path) (Pair, bool) {
	grouped, ok := p.gaussianEscape(m)
	if !ok || p.unknown() || p.HasKeys() {
		return s.pair(), p.Escapes == 0 || s.Concentrated() == 0
	}
	steps := FloatUp(m)
	squared := exact.ProductUp(steps, steps)
	group := Pair{PairSums: PairSums{Rho: exact.ProductUp(squared, p.Rho), MuSquares: exact.ProductUp(squared, p.MuSquares), Escapes: p.Escapes}}
	largest := 0.0
	var list []Kind
	for _, x := range p.Kinds {
		count := float64(x.Count)
		switch x.Family {
		case SampledGaussian, ReplacedGaussian:
			replaced := Kind{ReplacedGaussian, 2, x.Size, x.Fraction, x.Count}
			switch one := x.Family == SampledGaussian && x.Steps == 0; {
			case one && by == Swap && p.Escape == 0 && replaced.Valid():
				x = replaced
			case one && by == Together && x.groups(m):
				x.Steps = uint32(m)
			default:
				mu := exact.ProductUp(steps, exact.ProductUp(x.Size, float64(max(x.Steps, 1))))
				group.MuSquares = exact.SumUp(group.MuSquares, exact.ProductUp(count, exact.ProductUp(mu, mu)))
				continue
			}
		case DiscreteGaussianNoise:
			x.Fraction = 1
			if many := uint64(m) * uint64(x.Steps); many <= loss.MostSigma {
				x.Steps = uint32(many)
				break
			}
			group.Rho = exact.SumUp(group.Rho, exact.ProductUp(squared, exact.ProductUp(count, x.rho())))
			continue
		default:
			largest = max(largest, x.epsilon())
			x = x.laplaceGroup(m, p.Escape > 0)
		}
		list = append(list, x)
	}
	if group.Escape = grouped; p.Escapes == 0 || largest > 0 {
		// any part of the escapes may be of releases by ε
		group.Escape = exact.SumUp(grouped, groupDelta(p.Escape, largest, steps))
	}
	for _, x := range list {
		if !(x.Size <= math.MaxFloat64) {
			return s.pair(), true
		}
		group.ResponseRho = exact.SumUp(group.ResponseRho, exact.ProductUp(float64(x.Count), x.rho()))
	}
	group.Kinds = makeKinds(list)
	if !group.valid() {
		return s.pair(), true
	}
	return group, true
}

// laplaceGroup returns m units of Laplace noise.
func (x Kind) laplaceGroup(m int, escapes bool) Kind {
	many := uint64(m) * uint64(x.Steps) // of reals 0
	if x.Fraction < 1 {
		x.Size, x.Fraction, many = x.epsilon(), 1, uint64(m)
	}
	if escapes || many > mostSteps {
		many = 1
	}
	x.Size, x.Steps = exact.ProductUp(FloatUp(m), x.Size), uint32(many)
	return x
}

// gaussianEscape returns the mass of infinite loss, on groups of m ≥ 2 units, of the releases with
// Gaussian noise and an escape, and false where no rule is known.
//
// The power of a test of level x for one unit is at most T(x) = w + (1−w)·G(y) with y = x/(1−w) and
// G(y) = Φ(Φ⁻¹(y) + μ), and T(x) = 1 from y = 1 on; for a group it is T(T(…T(x))). G is concave and
// 0 at 0, so G(a + b) ≤ G(a) + G(b), and by induction the power of k steps is at most w_k +
// (1−w)·G_k(y), G_k that of kμ, where w₁ = w and
//
//	w_{k+1} = w + G(w_k/(1−w)).
//
// So δ(ε) ≤ w_m + (1−w)·g(ε), with the profile g of mμ. That is at most e + (1−e)·g(ε) with e =
// (w_m − w·g(0))/(1 − g(0)) at every ε ≥ 0, as g(ε) ≤ g(0); and at ε < 0 as well, since both
// directions are bounded. Releases by μ alone are one release by √Σμ². Of n among others each μ is
// at most that, and w_m is concave in w, so that n·e of w/n bounds their sum. Test:
// TestGroupsBesideGaussian.
func (p Pair) gaussianEscape(m int) (escape float64, ok bool) {
	const mostChain = 1 << 12 // of the loop below
	switch {
	case p.Escapes == 0:
		return 0, true
	case p.Escapes > MostCount || m > mostChain:
		return 0, false
	}
	n := float64(p.Escapes)
	if len(p.Kinds) == 0 && p.Rho == 0 {
		n = 1
	}
	mu, w := exact.SqrtUp(p.MuSquares), exact.QuotientUp(p.Escape, n)
	unit, err := noise.NewGaussian(1)
	if err != nil || !(w < 0.5) || !(mu < 64) {
		return 0, false
	}
	const above = 1 + 1e-9 // far more than package noise is off
	power := func(x float64) float64 {
		a := -unit.Quantile(min(x, 1))
		return unit.Survival(a-1e-9*(1+math.Abs(a))-mu) * above
	}
	total := w
	for range m - 1 {
		if total = w + power(total/(1-w)*above); !(total < 1) {
			return 1, true
		}
	}
	rest := 2 * unit.Survival(float64(m)*mu/2) / above // 1 − g(0)
	return n * (total - w*(1-rest)/above) / rest * above, true
}

// groupDelta returns δ·(1 + e^ε + … + e^{(m−1)ε}) rounded up, where steps is m ≥ 2, or from 2⁵³ on
// the float64 above it. It is +Inf where that is far above 1.
func groupDelta(delta, epsilon, steps float64) float64 {
	switch {
	case delta == 0:
		return 0
	case epsilon == 0:
		return exact.ProductUp(steps, delta)
	}
	// The sum is e^{(m−1)ε}·(1 − e^{−mε})/(1 − e^{−ε}). Up to 2⁵³ steps−1 is exact; above, it is
	// rounded down by at most 1.
	last := exact.ProductUp(steps-1, epsilon)
	if last > 746 { // δ ≥ 2⁻¹⁰⁷⁴ > e^{−745}
		return math.Inf(1)
	}
	ratio := math.Expm1(-exact.ProductUp(steps, epsilon)) / math.Expm1(-epsilon)
	half := math.Exp(last / 2) // in two halves nothing overflows
	if last > 600 {            // and nothing underflows
		return delta * half * (half * ratio) * (1 + 0x1p-49)
	}
	return math.Nextafter(delta*(half*half*ratio*(1+0x1p-49)), 2)
}
