package budget

import (
	"math"
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise"
)

// The figures of another accountant's tests (google/differential-privacy, python/dp_accounting/pld,
// accountant_test.py and pld_privacy_accountant_test.py), met from above.
func TestPublishedFigures(t *testing.T) {
	dptest.NotShort(t, "half a second: in the default run")
	sample := func(g Guarantee, fraction float64) Guarantee {
		return dptest.OK(g.Subsampled(fraction))(t)
	}
	for _, c := range []struct {
		name           string
		g              Guarantee
		epsilon, delta float64
		off            float64 // as the figures are given
	}{
		{"Gaussian, three", GDP(1/math.Sqrt(3), one).Times(3), 1, 0.126936, 1e-5},
		{"Gaussian, one", GDP(3, one), 1, 0.78760074, 1e-7},
		{"Gaussian, 25", GDP(0.6, one).Times(25), 1, 0.78760074, 1e-7},
		{"Laplace, 10 of 3/10", Laplace(0.3, one).Times(10), 3, 0, 0},
		{"discrete Laplace, five", dptest.OK(Compose(DiscreteLaplace(1, 1, one).Times(3), DiscreteLaplace(0.5, 2, one).Times(2)))(t), 4, 0, 0},
		{"Laplace, five", dptest.OK(Compose(Laplace(1, one).Times(3), Laplace(0.5, one).Times(2)))(t), 4, 0, 0},
		{"Laplace on samples", sample(Laplace(2, one), 0.2).Times(3), 2.46964, 0, 1e-5},
		{"Gaussian on samples of a fifth", sample(GDP(2, one), 0.2).Times(3), 1, 0.15594, 1e-4},
		{"Gaussian on a sample of 1 %", sample(GDP(1/0.67379294682, one), 0.01), 1, 1e-5, 1e-6},
		{"Gaussian on samples of .1 %", sample(GDP(6/3.20956502598, one), 0.001).Times(25), 1, 1e-5, 1e-6},
	} {
		got := c.g.EpsilonAt(c.delta)
		t.Logf("%-30s %.8g for %g", c.name, got, c.epsilon)
		require.GreaterOrEqual(t, got, c.epsilon*(1-c.off), c.name)
		require.LessOrEqual(t, got, c.epsilon*(1.005+c.off), c.name)
	}
	// Noise that is given to two or three digits: ε = 1 lies between it and its neighbours.
	for _, c := range []struct {
		name       string
		less, more Guarantee
	}{
		{"Laplace, 20", Laplace(1/13.7, one).Times(20), Laplace(1/13.5, one).Times(20)},
		{"Laplace, 500", Laplace(1/71.1, one).Times(500), Laplace(1/70.9, one).Times(500)},
		{"discrete Laplace, 20", PureDP(0.072, one).Times(20), PureDP(0.074, one).Times(20)},
	} {
		require.LessOrEqual(t, c.less.EpsilonAt(1e-4), 1.0, c.name)
		require.GreaterOrEqual(t, c.more.EpsilonAt(1e-4), 1.0, c.name)
	}
}

// What one release of each law shows, exactly, on a small lattice; and no bound is below it.
func TestPairsBoundTheirNoise(t *testing.T) {
	at := []float64{0, 0.01, 0.2, 0.5, 1, 1.7, 3}
	check := func(name string, g Guarantee, p, q []float64, near float64) {
		for _, epsilon := range at {
			exact := max(dptest.HockeyStickSlices(p, q, epsilon), dptest.HockeyStickSlices(q, p, epsilon))
			got := g.DeltaAt(epsilon)
			require.GreaterOrEqual(t, got, exact-1e-14, "%s at %g", name, epsilon)
			require.LessOrEqual(t, got, exact+near, "%s at %g", name, epsilon)
			require.True(t, got > 0.9 || g.EpsilonAt(got) <= epsilon*(1+1e-9)+1e-9, name)
		}
	}
	shift := func(steps int, mass func(x int) float64) (p, q []float64) {
		sum := 0.0
		for x := -1500; x <= 1500; x++ {
			sum += mass(x)
		}
		for x := -1500 - steps; x <= 1500+steps; x++ {
			p, q = append(p, mass(x)/sum), append(q, mass(x-steps)/sum)
		}
		return p, q
	}
	for _, steps := range []int{1, 2, 3, 10} {
		for _, epsilon := range []float64{0.5, 1.5} {
			p, q := shift(steps, func(x int) float64 { return math.Exp(-math.Abs(float64(x)) * epsilon / float64(steps)) })
			check("discrete Laplace", DiscreteLaplace(epsilon, float64(steps)/epsilon, one), p, q, 1e-9)
		}
		for _, sigma := range []float64{0.8, 3} {
			p, q := shift(steps, func(x int) float64 { return math.Exp(-float64(x*x) / (2 * sigma * sigma)) })
			check("discrete Gaussian", DiscreteGaussian(sigma, int64(steps), one), p, q, 1e-9)
		}
	}
	// Laplace noise on reals, rounded; it is the limit of fine lattices.
	p, q := shift(40, func(x int) float64 {
		if x == 0 {
			return -2 * math.Expm1(-0.5/40)
		}
		return 2 * math.Sinh(0.5/40) * math.Exp(-math.Abs(float64(x))/40)
	})
	check("Laplace", Laplace(1, one), p, q, 2e-4)
	require.InDelta(t, DiscreteLaplace(1, 1<<20, one).DeltaAt(0.3), Laplace(1, one).DeltaAt(0.3), 1e-5)
	require.InEpsilon(t, 1.0, DiscreteLaplace(1, 0x1p61, one).EpsilonAt(0), 1e-12)
	require.InDelta(t, -math.Expm1((0.3-1)/2), Laplace(1, one).DeltaAt(0.3), 1e-4)

	// Many steps far out of range, and numbers that are none.
	require.Equal(t, ZCDP(0.5*(1<<11)*(1<<11), one), DiscreteGaussian(1, 1<<11, one))
	for _, g := range []Guarantee{Laplace(-1, one), Laplace(math.NaN(), one), Laplace(1, Unit{}), DiscreteLaplace(1, 0, one), DiscreteLaplace(math.Inf(1), 1, one), DiscreteLaplace(1, math.NaN(), one), Gaussian(-1, 0.1, one), Gaussian(1, 1, one), gaussianZCDP(-1, one),
		DiscreteGaussian(0, 1, one), DiscreteGaussian(1, 0, one), DiscreteGaussian(math.NaN(), 1, one), DiscreteGaussian(1, 1, Unit{}),
		PureDP(1, one).WithEscape(1), PureDP(1, one).WithEscape(-1), PureDP(1, one).WithEscape(math.NaN()), Guarantee{}.WithEscape(0), ApproxDP(1, 0.6, one).WithEscape(0.6),
		PureDP(1, one).WithPair(Guarantee{}), Guarantee{}.WithPair(PureDP(1, one)), PureDP(1, one).WithPair(PureDP(1, rowed))} {
		require.Equal(t, Guarantee{}, g)
	}
	require.Equal(t, PureDP(0, one), Laplace(0, one))
}

// Laplace noise of several scales, on coordinates that move by different amounts, is bounded by one
// coordinate of the same ε: the shift of the sum is a chain of shifts.
func TestLaplaceInSeveralCoordinates(t *testing.T) {
	for _, c := range []struct{ scales, moves []float64 }{{[]float64{3, 5}, []float64{2, 3}}, {[]float64{2, 8}, []float64{1, 6}}, {[]float64{4, 4, 4}, []float64{1, 2, 3}}} {
		p, q, epsilon := []float64{1}, []float64{1}, 0.0
		for i, b := range c.scales {
			epsilon += c.moves[i] / b
			var nextP, nextQ []float64
			survival := func(x float64) float64 { // Pr[noise ≥ x]
				if x < 0 {
					return 1 - math.Exp(x/b)/2
				}
				return math.Exp(-x/b) / 2
			}
			low, high := math.Inf(-1), -40.0 // cells, rounded noise: the ends of all beyond
			for low < 46 {
				a := survival(low) - survival(high)
				z := survival(low-c.moves[i]) - survival(high-c.moves[i])
				for j := range p {
					if p[j]+q[j] > 1e-7 {
						nextP, nextQ = append(nextP, p[j]*a), append(nextQ, q[j]*z)
					}
				}
				if low, high = high, high+1; high > 46 {
					high = math.Inf(1)
				}
			}
			p, q = nextP, nextQ
		}
		g := Laplace(epsilon, one)
		for _, at := range []float64{0, 0.2, 0.7, 1.1} {
			exact := max(dptest.HockeyStickSlices(p, q, at), dptest.HockeyStickSlices(q, p, at))
			require.GreaterOrEqual(t, g.DeltaAt(at), exact, "%+v at %g", c, at)
			require.Less(t, PureDP(epsilon, one).DeltaAt(at)-g.DeltaAt(at), 0.3)
		}
	}
}

// A guarantee prints and adds up by what it was asked for, and composes by its pair.
func TestWithPair(t *testing.T) {
	sigma := dptest.OK(noise.GaussianSigma(1, 1e-8, 1))(t)
	plain, better := ApproxDP(1, 1e-8, one), ApproxDP(1, 1e-8, one).WithPair(GDP(1/sigma, one))
	require.Equal(t, plain.String(), better.String())
	require.Equal(t, 1.0, better.Epsilon())
	require.Equal(t, 1e-8, better.Delta())
	require.LessOrEqual(t, better.EpsilonAt(1e-8), 1.0)
	require.InEpsilon(t, 7.119, better.Times(50).EpsilonAt(1e-6), 1e-4)
	require.Greater(t, plain.Times(50).EpsilonAt(1e-6), 30.0)
	require.Equal(t, plain.Times(50).String(), better.Times(50).String())
	require.InDelta(t, 1.0, dptest.OK(Compose(better, PureDP(0, one)))(t).EpsilonAt(1e-8), 1e-12)
	require.Less(t, better.EpsilonAt(1e-12), math.Inf(1), "there is no escape")

	// The same by a constructor: no less than μ, and hardly more.
	require.GreaterOrEqual(t, Gaussian(1, 1e-8, one).pair.MuSquares, 1/sigma/sigma)
	require.InEpsilon(t, 1/sigma, math.Sqrt(Gaussian(1, 1e-8, one).pair.MuSquares), 1e-8)
	require.Equal(t, plain.String(), Gaussian(1, 1e-8, one).String())
	require.InEpsilon(t, 1, Gaussian(0.3, 0.9, one).EpsilonAt(0.9)/0.3, 1e-9)
	require.Equal(t, ApproxDP(0, 1-1e-16, one), Gaussian(0, 1-1e-16, one), "δ hardly grows with μ")
	require.Equal(t, "ρ = 0.5 (zCDP) for one element, added or removed", gaussianZCDP(0.5, one).String())
	require.Equal(t, GDP(1, one).EpsilonAt(1e-6), gaussianZCDP(0.5, one).EpsilonAt(1e-6))

	// A ledger and filters spend the pair.
	l := dptest.OK(NewLedger(7.12, 1e-6, one))(t)
	require.Equal(t, 50, spendAll(t, l, better))
	require.Equal(t, 50, spendAll(t, dptest.OK(NewLedger(7.12, 1e-6, one, MuRule()))(t), better))
	require.Equal(t, 7, spendAll(t, dptest.OK(NewLedger(7.12, 1e-6, one, SumRule()))(t), better))
	require.Zero(t, spendAll(t, dptest.OK(NewLedger(7.12, 1e-6, one, MuRule()))(t), plain))

	// Pure noise: 365 days of Laplace noise at .1.
	require.InEpsilon(t, 10.1253, Laplace(0.1, one).Times(365).EpsilonAt(1e-6), 5e-4)
	part := dptest.OK(dptest.OK(NewLedger(10, 1e-6, one))(t).Split(365, Laplace(1, one)))(t)
	require.InEpsilon(t, 0.0989, part.Epsilon(), 1e-3)
	require.Equal(t, Laplace(part.Epsilon(), one), part)

	// By ρ: as Gaussian noise, what is asked at one δ.
	require.Less(t, ZCDP(0.5, one).WithPair(GDP(1, one)).EpsilonAt(1e-6), 0.95*ZCDP(0.5, one).EpsilonAt(1e-6))

	// ρ, μ and ε together: Gaussian noise is put on the lattice.
	mixed := dptest.OK(Compose(PureDP(0.1, one).Times(10), GDP(0.5, one), ZCDP(0.125, one)))(t)
	require.Less(t, mixed.EpsilonAt(1e-6), dptest.OK(Compose(PureDP(0.1, one).Times(10), ZCDP(0.25, one)))(t).EpsilonAt(1e-6))
	require.Greater(t, mixed.EpsilonAt(1e-6), dptest.OK(Compose(PureDP(0.1, one).Times(10), GDP(math.Sqrt(0.5), one)))(t).EpsilonAt(1e-6))
}

// An escape beside Gaussian noise: δ is w + (1−w)·δ(ε). For groups nothing is known but by ε and δ:
// the chain of the two trade-off functions is worse than mμ with mw.
func TestWithEscape(t *testing.T) {
	const mu, w = 0.5, 1e-3
	g := GDP(mu, one).WithEscape(w)
	require.Equal(t, "ε = 0, δ = 0.001, μ = 0.5 (GDP) for one element, added or removed", g.String())
	for _, epsilon := range []float64{0, 0.3, 1, 2} {
		require.InEpsilon(t, w+(1-w)*GDP(mu, one).DeltaAt(epsilon), g.DeltaAt(epsilon), 1e-9)
	}
	require.InEpsilon(t, 2*w, g.Times(2).Delta(), 1e-12)
	require.Equal(t, g, dptest.OK(g.Group(1))(t))
	joined := ApproxDP(1, 2e-3, one).WithPair(g)
	require.Equal(t, dptest.OK(ApproxDP(1, 2e-3, one).Group(3))(t).String(), dptest.OK(joined.Group(3))(t).String())
	require.Less(t, dptest.OK(joined.Group(2))(t).DeltaAt(1), dptest.OK(ApproxDP(1, 2e-3, one).Group(2))(t).DeltaAt(1))

	// The chain: the power of the second test at the level of the first.
	phi := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	unit := dptest.OK(noise.NewGaussian(1))(t)
	power := func(x float64) float64 {
		if x >= 1-w {
			return 1
		}
		if x <= 0 {
			return w
		}
		return w + (1-w)*phi(unit.Quantile(x/(1-w))+mu)
	}
	for _, epsilon := range []float64{0.5, 1, 2} {
		chain := 0.0
		for x := 1e-6; x < 1; x *= 1.01 {
			chain = max(chain, power(power(x))-math.Exp(epsilon)*x)
		}
		naive := dptest.OK(Compose(GDP(2*mu, one), ApproxDP(0, 2*w, one)))(t)
		if epsilon == 2 {
			require.Greater(t, chain, naive.DeltaAt(epsilon), "the sums of both are not a bound")
		}
	}

	// Randomized response with an escape: (mε, w·(1 + … + e^{(m−1)ε})).
	pure := PureDP(0.3, one).WithEscape(w)
	require.True(t, ApproxDP(0.3, w, one).Equal(pure))
	laplace := Laplace(0.3, one).WithEscape(w)
	require.Equal(t, dptest.OK(pure.Group(3))(t), dptest.OK(laplace.Group(3))(t))
	for _, without := range []Guarantee{DiscreteGaussian(2, 1, one), ZCDP(0.1, one), gaussianZCDP(0.1, one), dptest.OK(Compose(PureDP(0.1, one), GDP(0.1, one)))(t)} {
		require.ErrorIs(t, dptest.Err(without.WithEscape(w).Group(2)), ErrMismatch, "%v", without)
		require.ErrorIs(t, dptest.Err(without.WithEscape(w).For(Element(Replace))), ErrMismatch)
		require.ErrorIs(t, dptest.Err(without.WithEscape(w).Stable(rowed, 2)), ErrMismatch)
	}
	require.ErrorIs(t, dptest.Err(g.Group(1<<13)), ErrMismatch, "too long a chain")
}

// Groups of releases with an escape beside Gaussian noise, alone, several and beside others:
// against mechanisms of two outputs whose probability grows along the chain as fast as T allows. No
// bound is below what they show, and one that leaves the growth out is.
func TestGroupsBesideGaussian(t *testing.T) {
	unit := dptest.OK(noise.NewGaussian(1))(t)
	grown := func(x, mu, w float64, m int) float64 {
		for range m {
			if x >= 1-w {
				return 1
			}
			x = w + (1-w)*unit.CDF(unit.Quantile(x/(1-w))+mu)
		}
		return x
	}
	type release struct{ mu, w float64 }
	naive := 0
	for _, c := range []struct {
		list           []release
		epsilon, delta float64 // beside them, by ε
	}{
		{[]release{{0.5, 1e-3}}, 0, 0}, {[]release{{0.2, 1e-6}}, 0, 0}, {[]release{{1, 1e-2}}, 0, 0}, {[]release{{0.3, 1e-3}, {0.2, 1e-2}}, 0, 0},
		{[]release{{0.4, 1e-3}}, 0.3, 0}, {[]release{{0.4, 1e-4}}, 0.3, 1e-3}, {[]release{{0.3, 1e-3}, {0.1, 1e-2}}, 0.5, 1e-4}, {[]release{{0.3, 0}, {0.2, 1e-3}}, 0.2, 1e-3},
	} {
		var gs []Guarantee
		for _, r := range c.list {
			gs = append(gs, GDP(r.mu, one).WithEscape(r.w))
		}
		if c.epsilon > 0 {
			gs = append(gs, ApproxDP(c.epsilon, c.delta, one))
		}
		whole := dptest.OK(Compose(gs...))(t)
		for _, m := range []int{2, 3, 6} {
			g := dptest.OK(whole.Group(m))(t)
			for _, x := range []float64{0, 1e-9, 1e-6, 1e-4, 1e-2, 0.1, 0.3, 0.5} {
				first, last := []float64{1}, []float64{1}
				for _, r := range c.list {
					y := grown(x, r.mu, r.w, m)
					first, last = product(first, []float64{x, 1 - x}), product(last, []float64{y, 1 - y})
				}
				if c.epsilon > 0 {
					p := chain(t, c.epsilon, c.delta, m)
					a, b := p[0], p[m]
					if c.delta == 0 {
						a = 1 / (1 + math.Exp(float64(m)*c.epsilon))
						b = 1 - a
					}
					first, last = product(first, []float64{a, 1 - a}), product(last, []float64{b, 1 - b})
				}
				for _, epsilon := range []float64{0, 0.1, 0.5, 1, 2, 4} {
					exact := max(dptest.HockeyStickSlices(last, first, epsilon), dptest.HockeyStickSlices(first, last, epsilon))
					require.GreaterOrEqual(t, g.DeltaAt(epsilon), exact-1e-14, "%+v, m = %d, from %g, ε = %g", c, m, x, epsilon)
					if len(c.list) == 1 && c.epsilon == 0 {
						r := c.list[0]
						if dptest.OK(Compose(GDP(float64(m)*r.mu, one), ApproxDP(0, float64(m)*r.w, one)))(t).DeltaAt(epsilon) < exact*(1-1e-9) {
							naive++
						}
					}
				}
			}
		}
	}
	require.Greater(t, naive, 20, "mμ with mw is no bound")

	// It is worth something: beside Gaussian noise of μ = .2, 1e-8 becomes 1.8e-6 for 5 units.
	g := dptest.OK(GDP(0.2, one).WithEscape(1e-8).Group(5))(t)
	require.InEpsilon(t, 1, g.Mu(), 1e-12)
	require.Less(t, g.Delta(), 2e-6)
	require.Greater(t, g.Delta(), 1e-7)
	require.Equal(t, dptest.OK(GDP(0.5, one).WithEscape(1e-9).Group(1))(t), GDP(0.5, one).WithEscape(1e-9))
	// Many releases in one are those releases.
	require.LessOrEqual(t, dptest.OK(GDP(0.1, one).WithEscape(1e-9).Times(4).Group(3))(t).DeltaAt(1), dptest.OK(GDP(0.1, one).WithEscape(1e-9).Group(3))(t).Times(4).DeltaAt(1)*(1+1e-6)+1e-7)
}

// An escape beside several releases by ε at once grows with the ε of all, not with that of one: no
// rule is known but the one by the sums.
func TestEscapeBesideAComposition(t *testing.T) {
	const w = 1e-3
	g := PureDP(0.5, one).Times(3).WithEscape(w)
	p := chain(t, 1.5, w, 2)
	first, last := []float64{p[0], 1 - p[0]}, []float64{p[2], 1 - p[2]}
	exact := dptest.HockeyStickSlices(last, first, 3)
	require.GreaterOrEqual(t, dptest.OK(g.Group(2))(t).DeltaAt(3), exact*(1-1e-12))
	require.Greater(t, exact, dptest.OK(dptest.OK(Compose(ApproxDP(0.5, w, one), PureDP(0.5, one).Times(2)))(t).Group(2))(t).DeltaAt(3), "the control")
}

// gaussianZCDP is normal noise that was asked for by ρ.
func gaussianZCDP(rho float64, u Unit) Guarantee {
	return ZCDP(rho, u).WithPair(GDP(math.Sqrt(2*rho), u))
}

// Groups of exact laws: the lattice law of m times the steps, by enumeration; of samples a bound.
func TestGroupsOfPairs(t *testing.T) {
	for _, m := range []int{2, 5} {
		kinds := kindsOf(dptest.OK(DiscreteLaplace(0.25, 12, at1).Group(m))(t))
		require.Equal(t, kindsOf(DiscreteLaplace(0.25*float64(m), 12, L1(float64(m)))), kinds)
		require.InEpsilon(t, Laplace(0.2*float64(m), L1(float64(m))).EpsilonAt(0.01), dptest.OK(Laplace(0.2, at1).Group(m))(t).EpsilonAt(0.01), 1e-12)
		require.InEpsilon(t, DiscreteGaussian(3, int64(m), one).EpsilonAt(0.01), dptest.OK(DiscreteGaussian(3, 1, one).Group(m))(t).EpsilonAt(0.01), 1e-12)
	}
	require.InEpsilon(t, ZCDP(0.5*1e4*1e4, one).EpsilonAt(0.01), dptest.OK(DiscreteGaussian(1, 1, one).Group(10_000))(t).EpsilonAt(0.01), 1e-9, "out of range: ρ")
	s := dptest.OK(Laplace(1, one).Subsampled(0.1))(t)
	require.InEpsilon(t, dptest.OK(PureDP(s.Epsilon(), one).Group(3))(t).EpsilonAt(1e-3), dptest.OK(s.Group(3))(t).EpsilonAt(1e-3), 1e-12)
	s = dptest.OK(GDP(1, rowAdded).Subsampled(0.1))(t)
	require.InEpsilon(t, GDP(3, rowAdded).EpsilonAt(1e-3), dptest.OK(s.Group(3))(t).EpsilonAt(1e-3), 1e-9, "some may be added, and some removed")
}

var rowAdded = Row(AddRemove)

// A user's elements, each in a sample by itself: exactly, against the release of a sum with normal
// noise rounded to cells, over all samples of the user's elements. It is worth a lot.
func TestGroupsOfSamples(t *testing.T) {
	type users struct {
		mu, gamma float64
		m         int
	}
	list := []users{{0.5, 0.3, 4}, {1, 0.1, 2}, {0.3, 0.9, 7}, {2, 0.01, 3}}
	for _, c := range list[:min(dptest.Full(4, 2), 4)] {
		s := dptest.OK(GDP(c.mu, one).Subsampled(c.gamma))(t)
		g := dptest.OK(s.Group(c.m))(t)
		require.Equal(t, UserElements(c.m, AddRemove), g.Unit())
		unit := dptest.OK(noise.NewGaussian(1))(t)
		// What is seen is the number in cells of 1/8, so less than all.
		var with, without []float64
		for x := -12.0; x < 24; x += 0.125 {
			cell := func(at float64) float64 { return unit.Survival(x-at) - unit.Survival(x+0.125-at) }
			p := 0.0
			for sample := range uint(1) << c.m {
				in := bits.OnesCount(sample)
				p += math.Pow(c.gamma, float64(in)) * math.Pow(1-c.gamma, float64(c.m-in)) * cell(float64(in)*c.mu)
			}
			with, without = append(with, p), append(without, cell(0))
		}
		for _, epsilon := range []float64{0, 0.05, 0.3, 1, 2, 4} {
			exact := max(dptest.HockeyStickSlices(with, without, epsilon), dptest.HockeyStickSlices(without, with, epsilon))
			require.GreaterOrEqual(t, g.DeltaAt(epsilon), exact-1e-14, "%+v at %g", c, epsilon)
			require.LessOrEqual(t, g.DeltaAt(epsilon), exact+1e-2, "%+v at %g", c, epsilon)
		}
		for _, other := range []Unit{UserElements(c.m, Replace), UserElements(2*c.m, AddRemove)} {
			wider := dptest.OK(s.For(other))(t)
			require.Greater(t, wider.DeltaAt(0.5), g.DeltaAt(0.5))
		}
		fewer := dptest.OK(s.For(UserElements(2, AddRemove)))(t)
		require.LessOrEqual(t, fewer.DeltaAt(0.5), g.DeltaAt(0.5)*(1+1e-6))
		stable := dptest.OK(s.Stable(User(c.m, AddRemove), float64(c.m)))(t)
		require.Greater(t, stable.DeltaAt(0.5), g.DeltaAt(0.5), "some may be added, and some removed")
		// of users: the elements of one may be added, those of another removed
		twice := dptest.OK(g.Group(2))(t)
		require.InEpsilon(t, GDP(2*float64(c.m)*c.mu, one).EpsilonAt(1e-3), twice.EpsilonAt(1e-3), 1e-9)
		require.ErrorIs(t, dptest.Err(g.Subsampled(0.5)), ErrParams)
		data := dptest.OK(g.MarshalBinary())(t)
		var again Guarantee
		require.NoError(t, again.UnmarshalBinary(data))
		require.True(t, again.Equal(g))
	}
	s := dptest.OK(GDP(1, one).Subsampled(0.01))(t)
	require.Less(t, dptest.OK(s.Group(5))(t).Times(20).EpsilonAt(1e-6), 0.45*GDP(5, one).Times(20).EpsilonAt(1e-6))
	require.InEpsilon(t, GDP(100, one).EpsilonAt(1e-3), dptest.OK(s.Group(100))(t).EpsilonAt(1e-3), 1e-9, "out of range")
}

// Samples with an escape and at every ε, exactly: all mechanisms that give each sample a bit and
// tell it by the worst (ε, δ) law, and all inputs of three records.
func TestSampledPairsBoundAllMechanisms(t *testing.T) {
	for _, c := range []struct{ epsilon, delta, gamma float64 }{{1, 0, 0.3}, {2, 0.1, 0.5}, {0.5, 0.3, 0.05}, {3, 1e-3, 0.9}} {
		g := dptest.OK(ApproxDP(c.epsilon, c.delta, one).Subsampled(c.gamma))(t)
		for _, at := range []float64{0, 0.01, 0.1, 0.3, 0.7, 1.1, 2} {
			worst := 0.0
			for f := range uint(256) {
				worst = max(worst, excess(at, func(records uint) [4]float64 { return poisson(records, f, c.gamma, c.epsilon, c.delta) }))
			}
			require.GreaterOrEqual(t, g.DeltaAt(at), worst-1e-14, "%+v at %g", c, at)
			if at <= g.Epsilon() {
				require.InDelta(t, worst, g.DeltaAt(at), 0.05, "%+v at %g", c, at)
			}
		}
	}
	// Two releases on one sample are not two on samples of their own.
	two := dptest.OK(PureDP(0.5, one).Times(2).Subsampled(0.25))(t)
	for _, at := range []float64{0.05, 0.1, 0.2} {
		require.GreaterOrEqual(t, two.DeltaAt(at), 0.25*PureDP(0.5, one).Times(2).DeltaAt(math.Log1p(math.Expm1(at)/0.25))*(1-1e-12))
	}

	// A sample of a sample.
	twice := dptest.OK(GDP(1, one).Subsampled(0.5))(t)
	twice = dptest.OK(twice.Subsampled(0.5))(t)
	once := dptest.OK(GDP(1, one).Subsampled(0.25))(t)
	require.InEpsilon(t, once.EpsilonAt(1e-6), twice.EpsilonAt(1e-6), 1e-12)
	require.Equal(t, "μ = 1 (GDP) for one element, added or removed", once.String())
	require.ErrorIs(t, dptest.Err(dptest.OK(Compose(GDP(1, one), PureDP(1, one)))(t).Subsampled(0.5)), ErrParams)
	require.ErrorIs(t, dptest.Err(GDP(1, rowed).Subsampled(0.5)), ErrParams)
}
