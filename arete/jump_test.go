package arete

import (
	"math"
	"math/big"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/stretchr/testify/require"
)

// shapeOf is the shape that real values have.
func shapeOf(epsilon, core float64) (steps, width int64) {
	h := 2 * math.Round(1.42*math.Sqrt(core)*math.Exp(epsilon/2)/2)
	return int64(h), int64(h + math.Round(math.Sqrt(core)*min(0.28+0.25*epsilon, 2.5)))
}

// The certificate without a table says yes to nothing that the one with a table refuses: it asks
// for up to 2 % more jumps at ε = 8, and .5 % from 9 on. With 3 % fewer it says no.
func TestFineCertificate(t *testing.T) {
	cases := []struct{ epsilon, core, more float64 }{{8, 20, 1.02}, {9, 20, 1.008}, {10, 20, 1.005}, {8, 64, 1.02}, {7, 400, 1.04}}
	if testing.Short() {
		cases = cases[:1]
	}
	if dptest.Long() {
		cases = append(cases, []struct{ epsilon, core, more float64 }{{12, 20, 1.005}, {8, 2500, 1.02}, {10, 300, 1.005}, {14, 20, 1.005}, {16, 20, 1.005}}...)
	}
	for _, c := range cases {
		steps, width := shapeOf(c.epsilon, c.core)
		law, ok := fitFine(c.epsilon, steps, width, c.core)
		require.True(t, ok, "%+v", c)
		require.LessOrEqual(t, law.scan(c.epsilon), c.epsilon, "%+v: by all masses", c)
		low, high := law.jumps/1.1, law.jumps // the least that the table passes
		for range 12 {
			middle := law
			middle.jumps = (low + high) / 2
			if middle.scan(c.epsilon) <= c.epsilon {
				high = middle.jumps
			} else {
				low = middle.jumps
			}
		}
		require.LessOrEqual(t, law.jumps/high, c.more, "%+v", c)
		certificate := newFineCertificate(c.epsilon, steps, width, c.core)
		require.True(t, certificate.proves(law))
		law.jumps *= 0.97
		require.False(t, certificate.proves(law), "%+v", c)
	}
	// At ε = 4 and 6 against masses in 200 digits.
	for _, epsilon := range []float64{4, 6} {
		if epsilon > 4 && !dptest.Long() {
			continue
		}
		steps, width := shapeOf(epsilon, 20)
		law, ok := fitFine(epsilon, steps, width, 20)
		require.True(t, ok)
		h := int(steps)
		require.LessOrEqual(t, worstLoss(law.bigJumpMasses(8*h), h, 2*h), epsilon)
	}
}

// A law that is 3 % too small is refused by each certificate.
func TestSmallerLawsAreRefused(t *testing.T) {
	for _, p := range []Params{
		{Epsilon: 3}, {Epsilon: 4}, {Epsilon: 6}, {Epsilon: 8}, {Epsilon: 12}, {Epsilon: 20}, {Epsilon: 36}, {Epsilon: 4, Parties: 100}, {Epsilon: 10, Parties: 1000}, {Epsilon: 5, Parties: 1_000_000},
		{Epsilon: 4, Objective: MeanSquare}, {Epsilon: 14, Objective: MeanSquare}, {Epsilon: 3, Integers: true, Sensitivity: 5}, {Epsilon: 8, Integers: true, Sensitivity: 5},
		{Epsilon: 5, Law: DiscreteArete}, {Epsilon: 1}, {Epsilon: 1, Delta: 1e-6, Law: Gaussian}, {Rho: 0.5},
	} {
		l := dptest.OK(lattice(p))(t)
		_, ok := l.Certify()
		require.True(t, ok, "%+v", p)
		less := *l
		switch less.noise.law {
		case Jump:
			less.noise.jump.jumps *= 0.97
		case DiscreteArete:
			less.noise.arete.tail *= 0.97
			less.noise.arete.core *= 0.97
		default:
			less.noise.scale *= 0.97
		}
		_, ok = less.Certify()
		require.False(t, ok, "%+v", p)
	}
}

// The masses of a Skellam law against its series, far into the tail, and for a large V.
func TestCoreMasses(t *testing.T) {
	for _, v := range []float64{0.5, 20, 2500, 3e7} {
		c := newCore(v)
		step := len(c.mass)/40 + 1
		for x := 0; x < len(c.mass); x += step {
			if v <= 2500 {
				require.InEpsilon(t, skellam(v, x), c.mass[x], 1e-10, "V = %v, t = %d", v, x)
			}
			require.InEpsilon(t, c.from(x, false)-c.from(x+1, false), c.mass[x], 1e-3)
		}
		if v > 2500 { // the normal law up to terms of 1/V
			require.InEpsilon(t, math.Exp(-0.5)/math.Sqrt(2*math.Pi*v), c.mass[int(math.Sqrt(v))], 1e-3)
		}
		require.InDelta(t, 1, c.from(-5, false)+c.from(6, false), 1e-14)
		require.Greater(t, c.from(len(c.mass)+3, true), 0.0)
		require.Zero(t, c.from(len(c.mass)+3, false))
		require.LessOrEqual(t, c.between(-3, 4), c.mass[0]+2*(c.mass[1]+c.mass[2]+c.mass[3])*(1+1e-12))
	}
}

// Shares, by exact convolution: of n = 5 parties 2 may drop out, and 3, 4 or 5 of them send. Each
// share is a third of the law, and the sum of any of them loses at most ε for all shifts up to H;
// with 2 it loses more.
func TestSharesWithDropoutsExactly(t *testing.T) {
	const n, missing = 5, 2
	for _, p := range []Params{
		{Epsilon: 2, Integers: true, Sensitivity: 2}, {Epsilon: 3, Integers: true, Sensitivity: 3}, {Epsilon: 6, Integers: true, Sensitivity: 2}, {Epsilon: 2, Integers: true},
	} {
		if testing.Short() && p.Sensitivity == 3 {
			continue
		}
		l := dptest.OK(lattice(p))(t)
		h := int(l.noise.size)
		size := 30*h + 30
		var share []*big.Float // the upward jumps of one
		third := new(big.Float).Quo(digits200(1), digits200(n-missing))
		if l.noise.law == DiscreteLaplace { // negative binomial: d.shape as a part
			share = negativeBinomialPart(l.noise.scale, third, size)
		} else {
			require.Zero(t, l.noise.jump.core)
			share = l.noise.jump.bigShare(third, size)
		}
		sum, last := share, math.Inf(1)
		for parties := 2; parties <= n; parties++ {
			sum = convolve(sum, share)
			worst := 0.0
			for shift := 1; shift <= h; shift++ {
				worst = max(worst, worstLoss(sum, shift, size/3))
			}
			require.Less(t, worst, last, "%+v: more shares lose less", p)
			last = worst
			if parties < n-missing {
				require.Greater(t, worst, p.Epsilon, "%+v, %d", p, parties)
			} else {
				require.LessOrEqual(t, worst, p.Epsilon+1e-12, "%+v, %d", p, parties)
			}
		}
	}
}

// convolve returns the masses of the sum of two variables, as many as a has.
func convolve(a, b []*big.Float) []*big.Float {
	c := make([]*big.Float, len(a))
	for k := range c {
		sum, term := digits200(0), digits200(0)
		for i := 0; i <= k; i++ {
			sum.Add(sum, term.Mul(a[i], b[k-i]))
		}
		c[k] = sum
	}
	return c
}

// negativeBinomialPart are masses ∝ p^k·κ(κ+1)…(κ+k−1)/k!.
func negativeBinomialPart(scale float64, shape *big.Float, n int) []*big.Float {
	p := digits200(math.Exp(-1 / scale))
	g := []*big.Float{digits200(1)}
	for k := 1; k < n; k++ {
		next := new(big.Float).Add(shape, digits200(float64(k-1)))
		next.Mul(next, p).Mul(next, g[k-1]).Quo(next, digits200(float64(k)))
		g = append(g, next)
	}
	return g
}

// Laws for 2²⁰ parties on a lattice of 2³⁹ steps: shares are drawn, and sum up to what is sent.
func TestTheFinestLattice(t *testing.T) {
	m := dptest.OK(New(Params{Epsilon: 36, Parties: maxParties}))(t)
	require.Greater(t, m.lattice.noise.size, int64(1)<<38)
	require.LessOrEqual(t, m.lattice.noise.size, int64(maxSteps))
	s := dptest.OK(m.Share(maxParties, 0))(t)
	total := int64(0)
	for range maxParties / 64 {
		total += s.Mask(1)
	}
	v := dptest.OK(s.Sum(total, maxParties))(t) // the others hold 0 and, here, no noise
	require.InDelta(t, maxParties/64, v.Estimate(), 1e-6)
	lo, hi := v.Interval(0.95)
	require.Less(t, hi-lo, 1e-6)
	require.True(t, math.IsNaN(m.Lattice().Prob(0)), "a table would be needed")
	var src noise.Source
	require.Less(t, math.Abs(float64(m.lattice.whole.SampleInt(&src))), 1e-6*float64(m.lattice.noise.size))
}

// The loss at multiples of the Δ, as documented: by the masses of the law.
func TestLossBeyondTheSensitivity(t *testing.T) {
	at := []float64{1.01, 1.05, 1.1, 1.2, 1.5, 2}
	best := func(p Params) distribution {
		l := dptest.OK(lattice(p))(t)
		return l.noise
	}
	wide := func(epsilon float64, steps, width int64) distribution {
		law, ok := fit(epsilon, steps, width, 20)
		require.True(t, ok)
		return distribution{law: Jump, jump: law, size: steps, copies: 1}
	}
	for _, c := range []struct {
		noise distribution
		abs   float64
		want  []float64
	}{
		{best(Params{Epsilon: 8}), 0.0211, []float64{8.04, 11.9, 13.2, 13.3, 13.7, 15.3}},
		{best(Params{Epsilon: 4}), 0.1668, []float64{4.00, 4.13, 4.63, 5.80, 6.89, 7.47}},
		{wide(8, 342, 385), 0.0231, []float64{8.00, 8.00, 8.20, 13.2, 13.5, 14.4}},
		{wide(4, 50, 64), 0.1856, []float64{4.00, 4.01, 4.02, 4.42, 6.70, 7.18}},
		{best(Params{Epsilon: 4, Law: DiscreteArete}), 0.245, []float64{4.03, 4.16, 4.32, 4.64, 5.57, 7.07}},
		{best(Params{Epsilon: 8, Law: DiscreteArete}), 0.0534, []float64{8.02, 8.11, 8.22, 8.43, 9.02, 9.92}},
	} {
		if testing.Short() && c.noise.size > 100 {
			continue
		}
		h := int(c.noise.size)
		l := &Lattice{params: Params{Epsilon: 1}, noise: c.noise, tables: new(tables)}
		require.InEpsilon(t, c.abs, l.MeanAbs()/float64(h), 5e-3)
		o := c.noise.oneSided(int(c.noise.reach(60)) + 3*h)
		for i, times := range at {
			shift := int(math.Round(times * float64(h)))
			worst := 0.0
			for x := -shift; x < 3*h; x++ { // every point where one of the two is near the core
				if h < 100 || min(max(x, -x), max(x+shift, -x-shift)) < 40 || x%(h/40) == 0 {
					worst = max(worst, math.Log(o.prob(max(x, -x))/o.prob(max(x+shift, -x-shift))))
				}
			}
			require.InDelta(t, c.want[i], worst, 0.06, "%v at %v", c.noise, times)
		}
	}
}
