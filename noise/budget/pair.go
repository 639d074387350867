package budget

import (
	"math"
	"math/bits"

	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/internal/loss"
	"github.com/dpsketch/dpsketch/noise"
)

// pair is what bounds the output laws of the releases behind a Guarantee on neighbouring inputs
// more closely than the ε and δ they were asked for: a dominating pair for each. Its sums are a
// second description of the same releases, complete in itself.
type pair struct {
	responses float64 // Σρ of the releases in kinds
	escape    float64 // Σ of the masses of infinite loss
	rho       float64 // Σρ of the others, by ρ
	muSquares float64 // Σμ² of the others, by μ
	kinds     kinds
	beside    beside
	keys      loss.Keys // of releases of keys that nobody listed, whose μ² is not in muSquares
}

// beside is how many releases have some of the escapes beside Gaussian noise by μ, or ungrouped
// where an escape belongs to a release for whose groups no rule is known: as one of several by ε.
type beside uint64

const ungrouped = math.MaxUint64

// valid reports whether there is such a number.
func (b beside) valid() bool { return b <= mostCount || b == ungrouped }

// times returns n times the number.
func (b beside) times(n uint64) beside {
	if high, low := bits.Mul64(uint64(b), n); high == 0 && low <= mostCount {
		return beside(low)
	}
	return ungrouped
}

// plus returns the sum.
func (b beside) plus(c beside) beside {
	if b <= mostCount && c <= mostCount && b+c <= mostCount {
		return b + c
	}
	return ungrouped
}

// pairOf returns what is known of releases with these sums: nothing else.
func pairOf(s sums) pair {
	return pair{responses: s.responses, escape: s.delta, rho: s.rho, muSquares: s.muSquares}
}

// unknown reports whether there are releases by ε that are not in kinds.
func (p pair) unknown() bool { return p.responses > 0 && p.kinds == "" }

// bounds returns sums for which the bounds (B) and (D) hold: none with keys.
func (p pair) bounds() sums {
	s := sums{responses: p.responses, delta: p.escape, rho: p.rho, muSquares: p.muSquares}
	if p.hasKeys() {
		s.responses = math.Inf(1)
	}
	if s.responses > 0 {
		s.epsilon = math.Inf(1)
	}
	return s
}

// hasKeys reports whether there are releases of keys that nobody listed.
func (p pair) hasKeys() bool { return p.keys != loss.Keys{} }

// concentrated returns the ρ of all releases together, apart from their escapes, rounded up.
func (p pair) concentrated() float64 {
	return exact.SumUp(p.responses, exact.SumUp(p.rho, exact.ProductUp(0.5, p.muSquares)))
}

// valid reports whether the sums are numbers that leave something promised.
func (p pair) valid() bool {
	return p.responses >= 0 && p.escape >= 0 && p.escape < 1 && finite(p.rho) && finite(p.muSquares) && p.keys.Valid()
}

// Laplace returns the guarantee of Laplace noise of scales bᵢ on real coordinates that move by dᵢ
// with Σ|dᵢ|/bᵢ ≤ ε, also if it is rounded afterwards. It is ε-DP, and composes better than
// [PureDP] at the same ε. With an invalid unit, or unless epsilon ≥ 0, it promises nothing.
func Laplace(epsilon float64, u Unit) Guarantee {
	return withKind(PureDP(epsilon, u), lossKind{law: laplacian, size: epsilon, fraction: 1, count: 1})
}

// DiscreteLaplace returns the guarantee of discrete [Laplace] noise, of mass ∝ exp(−|x|/scale), on
// integers that together move by at most ε·scale steps. All coordinates have noise of that scale.
// It is ε-DP. With one step it composes as [PureDP] does, with many steps nearly as Laplace. With
// an invalid unit, or unless epsilon ≥ 0 and scale > 0, it promises nothing.
func DiscreteLaplace(epsilon, scale float64, u Unit) Guarantee {
	if !(scale > 0 && scale <= math.MaxFloat64) {
		return Guarantee{}
	}
	steps := max(math.Floor(epsilon*scale*exact.Up), 1)
	g := PureDP(epsilon, u)
	if !g.promised || epsilon == 0 || steps > 0x1p62 || scale < leastDistance || scale > mostDistance {
		return g
	}
	size := max(exact.QuotientUp(steps, scale), epsilon)
	if steps > mostSteps {
		// several steps at once, whose loss is together that of randomized response at most
		each := math.Ceil(steps / mostSteps)
		many := math.Ceil(steps / each)
		size *= each * many / steps * exact.Up
		steps = many
	}
	return withKind(g, lossKind{law: laplacian, steps: uint32(steps), size: size, fraction: 1, count: 1})
}

// Gaussian returns the guarantee of normal noise that is calibrated to (ε, δ): [GDP] with the
// largest μ that is (ε, δ)-DP. With an invalid unit, or unless epsilon ≥ 0 and delta is in [0, 1),
// it promises nothing.
func Gaussian(epsilon, delta float64, u Unit) Guarantee {
	g := ApproxDP(epsilon, delta, u)
	sigma, err := noise.GaussianSigma(epsilon, delta, 1)
	if !g.promised || err != nil {
		return g
	}
	// From the μ of that σ up, to one that is certainly not (ε, δ)-DP: GaussianDelta exceeds the
	// truth by a relative 4e-12 at most, and where it grows too slowly for that nothing is known.
	mu := exact.QuotientUp(1, sigma)
	for more := 0x1p-46; more < 0x1p-20; more *= 2 {
		if at, err := noise.GaussianDelta(1, epsilon, mu*(1+more)); err == nil && at > delta*(1+0x1p-36) {
			return g.WithPair(GDP(mu*(1+more), u))
		}
	}
	return g
}

// gaussianZCDP returns the guarantee of normal noise that is calibrated to ρ-zCDP: of [GDP] with μ
// = √(2ρ). A rho that is not a number ≥ 0, or an invalid unit, gives a Guarantee that promises
// nothing.
func gaussianZCDP(rho float64, u Unit) Guarantee {
	g := ZCDP(rho, u)
	if g.promised {
		g.pair.rho, g.pair.muSquares = 0, exact.ProductUp(2, rho)
	}
	return promise(g.unit, g.sums, g.pair)
}

// DiscreteGaussian returns the guarantee of discrete Gaussian noise, of mass ∝ exp(−x²/2σ²), on one
// integer that moves by at most steps. It is ρ-zCDP with ρ = steps²/2σ² (Canonne, Kamath, Steinke,
// Theorem 4). For σ and steps up to 1,024 the exact law is kept. With an invalid unit, or unless
// sigma is in [2⁻⁵⁰⁰, 2⁵⁰⁰] and steps ≥ 1, it promises nothing.
func DiscreteGaussian(sigma float64, steps int64, u Unit) Guarantee {
	if !(sigma >= 0x1p-500 && sigma <= 0x1p500) || steps < 1 {
		return Guarantee{}
	}
	ratio := exact.QuotientUp(stepsUp(steps), sigma)
	g := ZCDP(exact.ProductUp(0.5, exact.ProductUp(ratio, ratio)), u)
	x := lossKind{law: latticeGaussian, steps: uint32(min(steps, mostSteps)), size: sigma, fraction: 1, count: 1}
	if !x.valid() {
		return g
	}
	return withKind(g, x)
}

// withKind returns g, one release, with the law x for its pair.
func withKind(g Guarantee, x lossKind) Guarantee {
	if !g.promised || !(x.size > 0) {
		return g
	}
	k := makeKinds([]lossKind{x})
	g.pair = pair{responses: k.rho(), kinds: k}
	return g
}

// WithEscape returns the guarantee of a release that reveals everything with probability escape,
// and otherwise has the guarantee g: a threshold adds such an event, when a key of only one user
// passes it. [Guarantee.Group] works if g is one release by ε, or any number by μ. Unless escape is
// in [0, 1), it promises nothing.
func (g Guarantee) WithEscape(escape float64) Guarantee {
	if !g.promised || !(escape >= 0 && escape < 1) {
		return Guarantee{}
	}
	if escape == 0 {
		return g
	}
	g.delta = exact.SumUp(g.delta, escape)
	g.pair.escape = exact.SumUp(g.pair.escape, escape)
	switch p := g.pair; {
	case p.kinds == "" && p.responses == 0 && p.rho == 0 && p.muSquares > 0 && p.beside <= 1:
		// one, by its own μ, or by that of all
		g.pair.beside = 1
	case p.kinds == "" && p.responses == 0 && p.rho == 0 && p.muSquares == 0:
	case p.kinds.len() == 1 && p.kinds.at(0).count == 1 && p.kinds.at(0).law == laplacian && p.rho == 0 && p.muSquares == 0:
	default:
		g.pair.beside = ungrouped
	}
	return promise(g.unit, g.sums, g.pair).under(g.on)
}

// has reports whether there are releases of one of the families.
func (k kinds) has(families ...lawKind) bool {
	for _, x := range k.list() {
		for _, f := range families {
			if x.law == f {
				return true
			}
		}
	}
	return false
}

// WithPair returns the guarantee of a release that has both guarantees, g and better. It prints and
// adds up as g does, and the accountant also uses the law in better. So a mechanism prints the ε
// and δ that were asked for, and composes by the law of its noise:
//
//	budget.ApproxDP(1, 1e-6, u).WithPair(budget.GDP(mu, u).WithEscape(1e-9))
//
// It promises nothing if g or better promises nothing, or if their units differ.
func (g Guarantee) WithPair(better Guarantee) Guarantee {
	if !g.promised || !better.promised || g.unit != better.unit {
		return Guarantee{}
	}
	g.pair = better.pair
	return g.under(better.on)
}

// WithKeys returns the guarantee of a release of keys that nobody listed. It prints and adds up as
// g, (ε, δ)-DP, does, and the accountant composes it by k, of package internal/loss. Many such
// releases cost little more than their noise: 30 of (1, 1e-9) have ε = 4.87 at δ = 1e-6, instead of
// 29.99. Rules, groups, samples and conversions treat them as (ε, δ)-DP.
//
// It is for package groupby. It promises nothing if k is impossible.
func (g Guarantee) WithKeys(k loss.Keys) Guarantee {
	if !g.promised || !k.Valid() {
		return Guarantee{}
	}
	g.pair = pair{keys: k}
	return g
}

// along returns the description on groups of m ≥ 2 units, given the sums on these; and false if no
// rule is known.
//
// The lattice law of m steps of ε bounds m units of an ε-DP release: the chain of m trade-off
// functions of randomized response (package loss). So does a law of m times the steps for noise on
// a lattice, mε for Laplace noise on reals, and mμ for Gaussian noise. With an escape w beside ±ε
// it is (mε, w·(1 + … + e^{(m−1)ε}))-DP, and with one beside Gaussian noise see besideEscape; with
// one beside another law nothing but what s says. Gaussian noise on a sample is that of a mixture
// where all units are added or all removed, and where one takes the place of another; else, and by
// any other law that is not by ε, a sample is taken for all, which bounds it.
func (p pair) along(m int, s sums, by path) (pair, bool) {
	grouped, ok := p.besideEscape(m)
	if !ok || p.unknown() || p.hasKeys() {
		return pairOf(s), p.beside == 0 || s.concentrated() == 0
	}
	steps := stepsUp(m)
	squared := exact.ProductUp(steps, steps)
	along := pair{rho: exact.ProductUp(squared, p.rho), muSquares: exact.ProductUp(squared, p.muSquares), beside: p.beside}
	largest := 0.0
	var list []lossKind
	for _, x := range p.kinds.list() {
		count := float64(x.count)
		switch x.law {
		case gaussian, swapped:
			of := x
			switch of.law, of.steps = swapped, 2; {
			case by == swap && x.law == gaussian && x.steps == 0 && p.escape == 0 && of.valid():
				list = append(list, of)
				continue
			case by == together && x.law == gaussian && x.steps == 0 && x.groups(m):
				of.law, of.steps = gaussian, uint32(m)
				list = append(list, of)
				continue
			}
			mu := exact.ProductUp(steps, exact.ProductUp(x.size, float64(max(x.steps, 1))))
			along.muSquares = exact.SumUp(along.muSquares, exact.ProductUp(count, exact.ProductUp(mu, mu)))
			continue
		case latticeGaussian:
			x.fraction = 1
			if many := uint64(m) * uint64(x.steps); many <= loss.MostSigma {
				x.steps = uint32(many)
				break
			}
			along.rho = exact.SumUp(along.rho, exact.ProductUp(squared, exact.ProductUp(count, x.rho())))
			continue
		default:
			largest = max(largest, x.epsilon())
			x = x.several(m, p.escape > 0)
		}
		list = append(list, x)
	}
	if along.escape = grouped; p.beside == 0 || largest > 0 {
		// any part of the escapes may be of releases by ε
		along.escape = exact.SumUp(grouped, groupDelta(p.escape, largest, steps))
	}
	for _, x := range list {
		if !(x.size <= math.MaxFloat64) {
			return pairOf(s), true
		}
	}
	along.kinds = makeKinds(list)
	for _, x := range list {
		along.responses = exact.SumUp(along.responses, exact.ProductUp(float64(x.count), x.rho()))
	}
	if !along.valid() {
		return pairOf(s), true
	}
	return along, true
}

// several returns the law of m units of a laplacian law.
func (x lossKind) several(m int, escapes bool) lossKind {
	many := uint64(m) * uint64(x.steps) // of reals 0
	if x.fraction < 1 {
		x.size, x.fraction, many = x.epsilon(), 1, uint64(m)
	}
	if escapes || many > mostSteps {
		many = 1
	}
	x.size, x.steps = exact.ProductUp(stepsUp(m), x.size), uint32(many)
	return x
}

// besideEscape returns the mass of infinite loss, on groups of m ≥ 2 units, of the releases with
// one beside Gaussian noise, and false where no rule is known.
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
// directions are bounded. Releases by μ alone are one release by √Σμ². Of n beside others each μ is
// at most that, and w_m is concave in w, so that n·e of w/n bounds their sum. Test:
// TestGroupsBesideGaussian.
func (p pair) besideEscape(m int) (escape float64, ok bool) {
	const mostChain = 1 << 12 // of the loop below
	switch {
	case p.beside == 0:
		return 0, true
	case p.beside > mostCount || m > mostChain:
		return 0, false
	}
	n := float64(p.beside)
	if p.kinds == "" && p.rho == 0 {
		n = 1
	}
	mu, w := exact.SqrtUp(p.muSquares), exact.QuotientUp(p.escape, n)
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
