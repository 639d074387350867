package budget

import (
	"fmt"
	"math"
	"math/bits"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget/internal/account"
)

// worstLaw returns the output law on a bit of the mechanism that every (ε, δ)-DP one is a function
// of: it tells the bit with probability δ and else answers by randomized response.
func worstLaw(epsilon, delta float64, bit int) [4]float64 {
	p := (1 - delta) / (1 + math.Exp(-epsilon))
	if bit == 0 {
		return [4]float64{delta, p, 1 - delta - p, 0}
	}
	return [4]float64{0, 1 - delta - p, p, delta}
}

// mixture adds weight·law to sum.
func mixture(sum *[4]float64, weight float64, law [4]float64) {
	for i, p := range law {
		sum[i] += weight * p
	}
}

// poisson returns the output law on the records of a set of three, with a mechanism that applies
// worstLaw to a bit of the table f, one for each possible sample.
func poisson(records, f uint, gamma, epsilon, delta float64) (law [4]float64) {
	for sample := range uint(8) {
		if sample&^records != 0 {
			continue
		}
		in, out := bits.OnesCount(sample), bits.OnesCount(records&^sample)
		mixture(&law, math.Pow(gamma, float64(in))*math.Pow(1-gamma, float64(out)), worstLaw(epsilon, delta, int(f>>sample&1)))
	}
	return law
}

// withoutReplacement is the same for samples of m of three records that are bits; f is a table for
// each number of ones.
func withoutReplacement(records, f uint, m int, epsilon, delta float64) (law [4]float64) {
	samples := 0.0
	for sample := range uint(8) {
		if bits.OnesCount(sample) == m {
			samples++
		}
	}
	for sample := range uint(8) {
		if bits.OnesCount(sample) == m {
			mixture(&law, 1/samples, worstLaw(epsilon, delta, int(f>>bits.OnesCount(sample&records)&1)))
		}
	}
	return law
}

// excess returns the greatest hockey-stick divergence at ε of any two inputs that differ in one
// bit.
func excess(epsilon float64, law func(records uint) [4]float64) float64 {
	var laws [8][4]float64
	for records := range laws {
		laws[records] = law(uint(records))
	}
	worst := 0.0
	for records := range laws {
		for i := range 3 {
			p, q := laws[records], laws[records^1<<i]
			worst = max(worst, dptest.HockeyStickSlices(p[:], q[:], epsilon))
		}
	}
	return worst
}

// All mechanisms that give each sample a bit and tell it as openly as (ε, δ) allows, all inputs and
// all neighbours, exactly: none exceeds the guarantee, one attains it, and a fraction a tenth
// smaller would not do.
func TestSubsampledIsExact(t *testing.T) {
	for _, c := range []struct{ epsilon, delta float64 }{{1, 0}, {0.1, 1e-3}, {1, 1e-6}, {3, 0.1}, {8, 1e-2}, {0, 0.2}} {
		check := func(u Unit, fraction float64, excess func(epsilon float64) float64) {
			g := dptest.OK(ApproxDP(c.epsilon, c.delta, u).Subsampled(fraction))(t)
			name := fmt.Sprintf("%v of (%g, %g) at γ = %g: %v", u, c.epsilon, c.delta, fraction, g)
			slack := 0x1p-48 * math.Exp(g.asked.Epsilon) // masses are off by e^ε·2⁻⁵³
			require.LessOrEqual(t, excess(g.asked.Epsilon), g.asked.Delta+slack, name)
			require.InDelta(t, g.asked.Delta, excess(g.asked.Epsilon), slack, name)
			if c.epsilon > 0 { // at a smaller ε the δ is larger
				require.Greater(t, excess(g.asked.Epsilon*(1-1e-6)), g.asked.Delta+slack, name)
			}
			less := dptest.OK(ApproxDP(c.epsilon, c.delta, u).Subsampled(0.9 * fraction))(t)
			require.Greater(t, excess(less.asked.Epsilon), less.asked.Delta+slack, name)
		}
		for _, gamma := range []float64{0.01, 0.3, 0.5, 0.9, 1} {
			check(one, gamma, func(epsilon float64) float64 {
				worst := 0.0
				for f := range uint(256) {
					worst = max(worst, excess(epsilon, func(records uint) [4]float64 { return poisson(records, f, gamma, c.epsilon, c.delta) }))
				}
				return worst
			})
		}
		for m := 1; m <= 3; m++ {
			check(rowed, float64(m)/3, func(epsilon float64) float64 {
				worst := 0.0
				for f := range uint(16) {
					worst = max(worst, excess(epsilon, func(records uint) [4]float64 { return withoutReplacement(records, f, m, c.epsilon, c.delta) }))
				}
				return worst
			})
		}
	}
}

// Poisson sampling under Replace is not covered, and why: the same claim is false there.
func TestPoissonUnderReplaceIsNotCovered(t *testing.T) {
	const epsilon, gamma = 1.0, 0.5
	g := dptest.OK(PureDP(epsilon, rowed).Subsampled(gamma))(t)
	// One record, 0 or 1; the sample is empty, {0} or {1}. The mechanism on it is ε-DP under
	// Replace and must say nothing about two samples of different size: it tells the size.
	law := func(record int) [4]float64 {
		var law [4]float64
		mixture(&law, gamma, worstLaw(epsilon, 0, record))
		law[0] += 1 - gamma // the empty sample has an output of its own
		return law
	}
	p, q := law(0), law(1)
	require.Greater(t, dptest.HockeyStickSlices(p[:], q[:], g.asked.Epsilon), 0.05)
}

func TestSubsampledRejects(t *testing.T) {
	for _, fraction := range []float64{0, math.Copysign(0, -1), -1, 1.1, math.NaN(), math.Inf(1), math.Nextafter(1, 2)} {
		dptest.Refused(t, dptest.Err(PureDP(1, one).Subsampled(fraction)), ErrParams, "fraction")
	}
	for _, u := range []Unit{at1, at2, Row(Replace).times(2)} {
		dptest.Refused(t, dptest.Err(PureDP(1, u).Subsampled(0.5)), ErrMismatch, u.String())
	}
	for _, g := range []Guarantee{ZCDP(1, one), dptest.OK(Compose(PureDP(1, rowed), ZCDP(1e-300, rowed)))(t)} {
		dptest.Refused(t, dptest.Err(g.Subsampled(0.5)), ErrParams, "ApproxDP(g.EpsilonAt(δ), δ, u)")
		converted := dptest.OK(ApproxDP(g.EpsilonAt(1e-6), 1e-6, g.Unit()).Subsampled(0.5))(t)
		require.Less(t, converted.EpsilonAt(1e-6), g.EpsilonAt(1e-6))
	}
	void := dptest.OK(PureDP(-1, one).Subsampled(0.5))(t)
	require.Equal(t, Guarantee{}, void)
}

func TestSubsampledEdges(t *testing.T) {
	sub := func(g Guarantee, fraction float64) Guarantee {
		return dptest.OK(g.Subsampled(fraction))(t)
	}
	for _, g := range []Guarantee{PureDP(0, one), PureDP(1, rowed), ApproxDP(0.3, 1e-9, one), PureDP(1e300, one), ApproxDP(5e-324, 5e-324, rowed)} {
		require.Equal(t, g, sub(g, 1), "all records")
	}
	// Composed first, amplified once.
	require.Equal(t, sub(ApproxDP(3, 0x1p-19, one), 0.25).asked, sub(dptest.OK(Compose(ApproxDP(1, 0x1p-20, one), ApproxDP(2, 0x1p-20, one)))(t), 0.25).asked)
	epsilons := []float64{5e-324, 1e-310, 1e-20, 1e-3, 1, 30, 699, 700, 700.5, 745, 1e4, 1e300, math.MaxFloat64}
	fractions := []float64{5e-324, 1e-310, 1e-300, 1e-100, 1e-9, 0.1, 0.5, 1 - 0x1p-53}
	for _, epsilon := range epsilons {
		last := 0.0
		for _, fraction := range fractions {
			g := sub(ApproxDP(epsilon, 0.5, one), fraction)
			require.GreaterOrEqual(t, g.asked.Epsilon, fraction*epsilon, "γε, by convexity: ε = %g, γ = %g", epsilon, fraction)
			require.GreaterOrEqual(t, g.asked.Epsilon, epsilon+exact.Log(fraction), "ε = %g, γ = %g", epsilon, fraction)
			require.True(t, g.asked.Epsilon > 0 && g.asked.Epsilon <= epsilon && g.asked.Epsilon >= last*(1-1e-12))
			require.True(t, g.asked.Delta >= fraction*0.5 && g.asked.Delta <= 0.5)
			last = g.asked.Epsilon
			if epsilon <= 700 && epsilon > 1e-300 && fraction > 1e-9 {
				require.InEpsilon(t, fraction, math.Expm1(g.asked.Epsilon)/math.Expm1(epsilon), 1e-11)
			}
			if fraction > 1e-300 && epsilon > 1500 {
				require.InEpsilon(t, epsilon+math.Log(fraction), g.asked.Epsilon, 1e-13)
			}
		}
	}
	// Both forms meet at 700.
	for _, fraction := range []float64{1e-310, 1e-304, 1e-300, 1e-9, 0.5} {
		a, b := account.SampledEpsilon(700, fraction), account.SampledEpsilon(math.Nextafter(700, 701), fraction)
		require.InEpsilon(t, a, b, 1e-11)
	}
}

func ExampleGuarantee_Subsampled() {
	mean := PureDP(1, one) // of the sample
	g, err := mean.Subsampled(0.01)
	if err != nil {
		panic(err)
	}
	in, _ := noise.BernoulliAtMost(0.01) // draws for each record whether it is in
	var src noise.Source
	_ = in.Sample(&src)
	fmt.Printf("ε = %.4f\n", g.EpsilonAt(0))
	// Output:
	// ε = 0.0170
}

// One of a Poisson sample is replaced: one release has the profile of a threshold test.
func TestReplacedInASample(t *testing.T) {
	of := func(mu, gamma float64) Guarantee {
		return dptest.OK(dptest.OK(GDP(mu, one).Subsampled(gamma))(t).For(Element(Replace)))(t)
	}
	tail := func(x float64) float64 { return math.Erfc(x/math.Sqrt2) / 2 }
	for _, c := range []struct{ mu, gamma float64 }{{1, 0.01}, {0.5, 0.3}, {2, 0.1}} {
		g := of(c.mu, c.gamma)
		for _, epsilon := range []float64{0, 0.01, 0.5, 1, 2} {
			truth := 0.0
			for x := -12.0; x < 12; x += 1e-3 {
				p, q := (1-c.gamma)*tail(x)+c.gamma*tail(x-c.mu), (1-c.gamma)*tail(x)+c.gamma*tail(x+c.mu)
				truth = max(truth, p-math.Exp(epsilon)*q)
			}
			require.GreaterOrEqual(t, g.DeltaAt(epsilon), truth-1e-14)
			require.InDelta(t, truth, g.DeltaAt(epsilon), 1e-6+2e-3*truth)
		}
	}
	// Where it is not one that leaves and one that comes, or beside an escape, it is taken for all.
	g := dptest.OK(GDP(1, one).Subsampled(0.01))(t)
	two := dptest.OK(g.Group(2))(t)
	require.False(t, hasFamily(two, account.ReplacedGaussian))
	escaping := dptest.OK(GDP(1, one).WithEscape(1e-6).Subsampled(0.01))(t)
	if replaced, err := escaping.For(Element(Replace)); err == nil {
		require.False(t, hasFamily(replaced, account.ReplacedGaussian))
	}
	again := dptest.OK(of(1, 0.01).Group(2))(t)
	require.InEpsilon(t, 4*4, again.pair.MuSquares, 1e-9)
}

// Each sample leaves out a tail of 2⁻¹⁰⁰, as the documentation says: δ does not fall below it, and
// just above it ε is that of the law.
func TestTailOfASample(t *testing.T) {
	dptest.NotShort(t, "seconds with the race detector: in the default run")
	g := dptest.OK(GDP(1, Row(AddRemove)).Subsampled(0.01))(t)
	for _, n := range []int{1, 100} {
		least := float64(n) * 0x1p-100
		tail := g.Times(n).DeltaAt(100)
		require.Less(t, tail, 4*least)
		require.True(t, n == 1 || tail > least/4, "%d: %v", n, tail)
		require.Less(t, g.Times(n).EpsilonAt(16*least), 9.0)
	}
}

// A Poisson sample with discrete Gaussian noise: the certified law is never below the exact one,
// which is enumerated for one and for three samples in both directions, and hardly above it. For a
// record that is replaced a sample counts as all.
func TestDiscreteGaussianOfASample(t *testing.T) {
	dptest.NotShort(t, "seconds with the race detector: in the default run")
	for _, c := range []struct {
		sigma, gamma float64
		steps        int64
	}{{1, 0.1, 1}, {1.5, 0.01, 2}, {0.7, 0.5, 1}} {
		g := dptest.OK(DiscreteGaussian(c.sigma, c.steps, Row(AddRemove)).Subsampled(c.gamma))(t)
		reach := int64(14 * c.sigma)
		var with, without []float64
		sum := 0.0
		at := func(x int64) float64 { return math.Exp(-float64(x*x) / (2 * c.sigma * c.sigma)) }
		for x := -reach; x <= reach+c.steps; x++ {
			sum += at(x)
		}
		for x := -reach; x <= reach+c.steps; x++ {
			without = append(without, at(x)/sum)
			with = append(with, ((1-c.gamma)*at(x)+c.gamma*at(x-c.steps))/sum)
		}
		for _, n := range []int{1, 3} {
			p, q := []float64{1}, []float64{1}
			for range n {
				var nextP, nextQ []float64
				for i := range p {
					for j := range with {
						if q[i]*without[j] > 1e-18 || p[i]*with[j] > 1e-18 {
							nextP, nextQ = append(nextP, p[i]*with[j]), append(nextQ, q[i]*without[j])
						}
					}
				}
				p, q = nextP, nextQ
			}
			for _, epsilon := range []float64{0.01, 0.1, 0.5, 1, 2} {
				exact := max(dptest.HockeyStickSlices(p, q, epsilon), dptest.HockeyStickSlices(q, p, epsilon))
				here := g.Times(n).DeltaAt(epsilon)
				require.GreaterOrEqual(t, here, exact-1e-12, "%+v, %d at %v", c, n, epsilon)
				require.LessOrEqual(t, here, exact*1.01+1e-9, "%+v, %d at %v", c, n, epsilon)
			}
		}
		replaced := dptest.OK(g.For(Row(Replace)))(t)
		all := dptest.OK(DiscreteGaussian(c.sigma, c.steps, Row(AddRemove)).For(Row(Replace)))(t)
		require.Equal(t, all.EpsilonAt(1e-6), replaced.EpsilonAt(1e-6))
	}
	require.ErrorIs(t, dptest.Err(ZCDP(1, Row(AddRemove)).Subsampled(0.1)), ErrParams)
}

// A sample of releases with keys is taken for (ε, δ)-DP, also where the others have one law.
func TestSampleOfKeys(t *testing.T) {
	s := dptest.OK(dptest.OK(Compose(withKeys(one), Laplace(1, one)))(t).Subsampled(0.1))(t)
	want := dptest.OK(ApproxDP(2, 1e-9, one).Subsampled(0.1))(t)
	require.InEpsilon(t, want.EpsilonAt(1e-9), s.EpsilonAt(1e-9), 1e-6)
}

// A thousand sampled steps, each with a Spend, take a fraction of a second, where each asked for
// the losses of all steps before and one more: a tenth of a second and more for each. All that fit
// by the certified losses are accepted, and what is accepted fits.
func TestSpendOfSampledSteps(t *testing.T) {
	const delta = 1e-6
	n := dptest.Full(1000, 300)
	for _, c := range []struct{ mu, gamma, epsilon float64 }{{1, 0.01, 2.2}, {0.5, 0.1, 9.3}, {1, 0.01, 30}} {
		step := dptest.OK(GDP(c.mu, one).Subsampled(c.gamma))(t)
		l := dptest.OK(NewLedger(c.epsilon, delta, one))(t)
		began := time.Now()
		for i := range n {
			require.NoError(t, l.Spend(step), "%d of %+v", i, c)
		}
		took := time.Since(began)
		t.Logf("%d steps of %+v: %v", n, c, took)
		require.Less(t, took, 20*time.Second, "a hundred times what it takes")
		require.LessOrEqual(t, l.Spent().EpsilonAt(delta), c.epsilon*(1+1e-3))
	}
	// Up to the end, where fewer points do not suffice: no more and no fewer than by the losses
	// itself.
	step := dptest.OK(GDP(2, one).Subsampled(0.05))(t)
	l := dptest.OK(NewLedger(7, delta, one))(t)
	accepted := 0
	for accepted < 1000 && l.Spend(step) == nil { // a ledger that never refuses would take for ever
		accepted++
	}
	require.Less(t, accepted, 1000)
	require.LessOrEqual(t, step.Times(accepted).EpsilonAt(delta), 7*(1+1e-3))
	require.Greater(t, step.Times(accepted+1).EpsilonAt(delta), 7.0)
	require.False(t, l.Accepts(step))
	require.ErrorIs(t, l.Spend(step), ErrBudget)
	require.Error(t, l.Spend(dptest.OK(GDP(2.5, one).Subsampled(0.05))(t)), "another law is no part of what is known")
}
