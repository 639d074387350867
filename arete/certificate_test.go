package arete

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/stretchr/testify/require"
)

// Two hundred random (ε, Δ): no shift of any point loses more than ε, by a scan that knows nothing
// of the certificate, and two percent less noise is rejected.
func TestAreteCertificates(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	n := 80
	switch {
	case dptest.Long():
		n = 200
	case testing.Short():
		n = 30
	}
	for range n {
		epsilon := leastArete * math.Exp(r.Float64()*math.Log(mostArete/leastArete))
		delta := math.Exp2(-180 + 360*r.Float64())
		d := dptest.OK(Calibrate(epsilon, delta))(t)
		worst, ok := d.certify(epsilon, delta)
		require.True(t, ok, "ε = %v, Δ = %v", epsilon, delta)
		require.InDelta(t, epsilon, worst, 3e-5, "nothing is given away")

		f := newContour(d, 0, 0)
		found := math.Inf(-1)
		loss := func(x float64) {
			near, far := f.scaled(x, 1/(2*d.lambda)), f.scaled(x+delta, 1/(2*d.lambda))
			if x+delta > wideEnough*f.largest {
				far = math.Exp(d.LogProb(x+delta) + (x+delta)/f.largest)
				near = math.Exp(d.LogProb(x) + x/f.largest)
			}
			found = max(found, math.Log(near/far)+delta/f.largest)
		}
		loss(0)
		for i := range 150 {
			loss(d.lambda * 1e-4 * math.Exp(float64(i)*0.1))
		}
		require.LessOrEqual(t, found, epsilon, "ε = %v, Δ = %v", epsilon, delta)
		require.Greater(t, found, epsilon-0.01, "the scan sees the worst shift")

		less := Arete{d.alpha, d.theta * 0.98, d.lambda * 0.98}
		_, ok = less.certify(epsilon, delta)
		require.False(t, ok, "ε = %v, Δ = %v: scaled down by 2 %%", epsilon, delta)
	}
}

// The largest loss is at a small t > 0: where only t = 0 and the tail are checked, a law passes
// that is not private.
func TestSupremumIsNotAtZero(t *testing.T) {
	d := Arete{0.187, 0.462, 0.0735}
	atZero := d.LogProb(0) - d.LogProb(1)
	beyond := d.LogProb(0.0012) - d.LogProb(1.0012)
	require.Greater(t, beyond, atZero+1e-4)
	epsilon := atZero + 1e-4
	_, ok := d.certify(epsilon, 1)
	require.False(t, ok)
	_, ok = d.certify(atZero+2e-3, 1)
	require.True(t, ok)
}

// The parameters that the authors found numerically are private, those of the thesis too, and both
// have more noise.
func TestPublishedParameters(t *testing.T) {
	for _, c := range []struct{ epsilon, alpha, theta, lambda float64 }{{6, 0.0756, 0.630, 0.0545}, {7, 0.0344, 0.775, 0.0392}} {
		d := Arete{c.alpha, c.theta, c.lambda}
		_, ok := d.certify(c.epsilon, 1)
		require.True(t, ok)
		best := dptest.OK(Calibrate(c.epsilon, 1))(t)
		require.Less(t, best.MeanAbs(), d.MeanAbs())
	}
	for _, epsilon := range []float64{8, 12, 20, 30} {
		d := Arete{math.Exp(-epsilon / 4), 4 / epsilon, math.Exp(-epsilon / 4)}
		worst, ok := d.certify(epsilon, 1)
		require.True(t, ok)
		require.Less(t, worst, epsilon*0.75)
	}
	d := Arete{math.Exp(-5), 0.2, math.Exp(-5)}
	best, _ := Calibrate(20, 1)
	require.InDelta(t, 61, d.MeanAbs()/best.MeanAbs(), 1)
}

func TestCalibrateReachesTheFigures(t *testing.T) {
	for _, c := range []struct{ epsilon, want float64 }{{5, 0.1785}, {6, 0.1244}, {7, 0.08278}, {8, 0.0534}, {10, 0.0210}, {12, 0.00798}, {16, 0.001101}, {20, 1.50e-4}} {
		for _, delta := range []float64{1, 3, 1e-30, 0.7e9} {
			d := dptest.OK(Calibrate(c.epsilon, delta))(t)
			require.InEpsilon(t, c.want, d.MeanAbs()/delta, 0.01, "ε = %v", c.epsilon)
		}
	}
	for epsilon := leastArete; epsilon < 100; epsilon *= 1.02 {
		d := dptest.OK(Calibrate(epsilon, 1))(t)
		require.Less(t, d.MeanAbs(), 1/epsilon, "less than Laplace noise at ε = %v", epsilon)
	}
	for _, epsilon := range []float64{3.59, 1, 0, -1, math.NaN(), math.Inf(1), 1025} {
		require.ErrorIs(t, dptest.Err(Calibrate(epsilon, 1)), ErrParams)
	}
	for _, delta := range []float64{0, -1, math.NaN(), math.Inf(1), 0x1p-201, 0x1p201, math.SmallestNonzeroFloat64} {
		require.ErrorIs(t, dptest.Err(Calibrate(8, delta)), ErrParams)
	}
	dptest.OK(Calibrate(1024, 0x1p-200))(t)
}

// naive returns the masses of the upward jumps by Panjer's recursion as it stands, term by term.
func (j jump) naive(n int) []float64 {
	levy := make([]float64, n)
	for k := 1; k < n; k++ {
		if k <= int(j.width) {
			levy[k] = j.first()
		} else {
			levy[k] = j.later() * math.Pow(j.decay(), math.Floor(float64(k-1-int(j.width))/float64(j.steps)))
		}
	}
	levy[1] += j.core / 2
	g := make([]float64, n)
	g[0] = math.Exp(-(j.core + j.jumps) / 2)
	for m := 1; m < n; m++ {
		for k := 1; k <= m; k++ {
			g[m] += float64(k) * levy[k] * g[m-k]
		}
		g[m] /= float64(m)
	}
	return g
}

// The sums over windows give what the plain recursion does, and the Lévy masses add up to c.
func TestMassesAgainstThePlainRecursion(t *testing.T) {
	for _, epsilon := range []float64{1.5, 3, 5, 7} {
		for _, steps := range []int64{0, 1, 2, 5, 10} {
			s, err := jumpOf(epsilon, steps)
			if err != nil || s.size > 300 {
				continue
			}
			n := int(s.size)*6 + 40
			want, got := s.jump.naive(n), s.jump.masses(n)
			for m := range want {
				require.InEpsilon(t, want[m], got[m], 1e-12, "ε = %v, H = %v, g(%d)", epsilon, steps, m)
			}
			j := s.jump
			require.InEpsilon(t, j.jumps/2, j.first()*float64(j.width)+j.later()*float64(j.steps)/(1-j.decay()), 1e-12)
		}
	}
}

// scanLattice returns the largest loss over all shifts of up to H and all points up to reach, from
// the masses alone.
func scanLattice(s distribution, reach int) float64 {
	o := s.oneSided(int(s.reach(60)) + reach)
	f := make([]float64, reach+int(s.size)+1)
	for k := range f {
		f[k] = o.prob(k)
	}
	worst := math.Inf(-1)
	for t := range reach {
		for j := 1; j <= int(s.size); j++ {
			worst = max(worst, math.Log(f[t]/f[t+j]))
		}
	}
	return worst
}

// Two hundred random laws on lattices: the scan over all points and all shifts finds at most ε, and
// two percent less noise is rejected.
func TestLatticeCertificates(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	n := 80
	switch {
	case dptest.Long():
		n = 200
	case testing.Short():
		n = 24
	}
	for i := range n {
		epsilon := 2.4 + 5*r.Float64()
		p := Params{Epsilon: epsilon, Law: Jump}
		switch i % 4 {
		case 1:
			p.Integers, p.Sensitivity = true, float64(1+r.IntN(30))
		case 2:
			p.Epsilon, p.Law = 3.6+4*r.Float64(), DiscreteArete
		case 3:
			p.Epsilon, p.Law, p.Integers, p.Sensitivity = 3.6+4*r.Float64(), DiscreteArete, true, float64(1+r.IntN(30))
		}
		l := dptest.OK(lattice(p))(t, "%+v", p)
		loss, ok := l.Certify()
		require.True(t, ok)
		require.LessOrEqual(t, scanLattice(l.noise, 2*int(l.noise.size)), p.Epsilon, "%+v", p)
		if l.noise.size > 1 || p.Law == DiscreteArete {
			require.Greater(t, loss, p.Epsilon-3e-3, "%+v: nothing is given away", p)
		}
		less := l.noise
		less.jump.jumps *= 0.98
		less.arete.tail *= 0.98
		less.arete.core *= 0.98
		require.Greater(t, less.loss(p.Epsilon), p.Epsilon, "%+v", p)
	}
}

// A law whose tail falls faster than e^{−ε} for each H is rejected, however good it looks near 0;
// so is one whose Lévy masses rise.
func TestCertificateRejectsBadTails(t *testing.T) {
	s := dptest.OK(jumpOf(4, 0))(t)
	bad := s.jump
	bad.again /= 2
	require.True(t, math.IsInf(bad.loss(4), 1) || bad.loss(4) > 4)
	bad = s.jump
	bad.beyond *= 60
	require.True(t, math.IsInf(bad.loss(4), 1))
	d := dptest.OK(calibrateDiscrete(5, 0, coreVariance))(t)
	worse := d.arete
	worse.tail /= 4
	require.Greater(t, worse.loss(5), 5.0)
}

// jumpOf calibrates the jump law for real values, or for integers of that Δ.
func jumpOf(epsilon float64, delta int64) (distribution, error) {
	return calibrateJump(Params{Epsilon: epsilon, Sensitivity: float64(delta), Integers: delta > 0})
}

// The certificate of discrete Arete noise says the largest loss of all points up to where the
// theorem takes over, though it looks at few of them; and a million parties find a law, on a
// lattice that is not finer than its sums reach.
func TestDiscreteLossOfAllPoints(t *testing.T) {
	for _, epsilon := range []float64{3.6, 4.4, 6, 9, 14} {
		s := dptest.OK(calibrateDiscrete(epsilon, 0, 0))(t)
		for _, scale := range []float64{0.97, 1, 1.05} {
			d := s.arete
			d.tail, d.core = d.tail*scale, d.core*scale
			o := d.oneSided(d.reach())
			worst, end := 0.0, int(12*d.core)
			for x := range end {
				worst = max(worst, o.lossAt(o.head(x)+o.rest(), o.head(x+int(d.steps))))
			}
			if got := d.loss(epsilon + 0.5); scale <= 1 {
				require.InDelta(t, worst, got, 2e-6, "ε = %v, scale %v", epsilon, scale)
			} else { // what the theorem says of the rest may be more
				require.GreaterOrEqual(t, got, worst)
				require.LessOrEqual(t, got, epsilon+0.5)
			}
			require.Equal(t, scale < 1, d.loss(epsilon) > epsilon)
		}
	}
	for _, epsilon := range []float64{5, 9} {
		s := dptest.OK(calibrateDiscrete(epsilon, 0, 30<<20))(t)
		require.LessOrEqual(t, s.arete.core, 1.1*mostCoreSteps)
		require.Greater(t, s.arete.core, 0.7*mostCoreSteps)
	}
}
