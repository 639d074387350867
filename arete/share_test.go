package arete

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// paramsOfShares are Params of all laws, with even and odd numbers of steps, on and off the
// integers.
func paramsOfShares() []Params {
	return []Params{
		{Epsilon: 3}, {Epsilon: 3.3, Sensitivity: 0.7}, {Epsilon: 1, Sensitivity: 3}, {Epsilon: 5, Law: DiscreteArete}, {Rho: 0.1, Sensitivity: 1e-9}, {Epsilon: 4, Parties: 1000},
		{Epsilon: 4, Integers: true, Sensitivity: 5}, {Epsilon: 2, Integers: true}, {Epsilon: 4, Integers: true, Sensitivity: 1001}, {Rho: 1, Integers: true, Sensitivity: 3},
		{Epsilon: 1, Delta: 1e-6, Law: Gaussian, Integers: true, Sensitivity: check.MaxInteger},
	}
}

// Whatever a party holds, and however its number is rounded, it moves the sum by at most H steps:
// from 0 under AddRemove, from any other number under Replace. And by no less: the ends of the
// range are reached.
func TestOnePartyMovesTheSumByTheSensitivity(t *testing.T) {
	var src noise.Source
	r := rand.New(rand.NewPCG(5, 6))
	for _, p := range paramsOfShares() {
		for _, p.Relation = range []budget.Relation{budget.AddRemove, budget.Replace} {
			m := dptest.OK(New(p))(t)
			s := dptest.OK(m.Share(17, 0))(t)
			h, delta := m.lattice.noise.size, p.sensitivity()
			least, most := int64(0), int64(0)
			try := func(x float64) {
				k := s.point(x, &src)
				least, most = min(least, k), max(most, k)
			}
			for _, x := range []float64{0, delta, -delta, delta / 2, -delta / 2, 1e300, -1e300, math.Inf(1), math.Inf(-1), math.NaN(), 5e-324, math.Nextafter(delta, 0), -math.Nextafter(delta, 9e99)} {
				try(x)
			}
			for range 3000 {
				try(delta * (2.2*r.Float64() - 1.1))
			}
			want := []int64{-h, h}
			if p.Relation == budget.Replace {
				want[0] = 0
			}
			require.Equal(t, want, []int64{least, most}, "%+v", p)
			require.InDelta(t, float64(want[0]+want[1])/2, float64(s.point(math.NaN(), &src)), 0.5, "NaN is the middle")
		}
	}
}

// A Share that nothing made adds noise all the same: uniform words, of which 64 are below 2⁵⁷ in
// absolute value with a probability of 2⁻³⁸⁴.
func TestZeroValuesHideWhatIsAdded(t *testing.T) {
	var src noise.Source
	var s Share
	largest := func(draw func() int64) (most float64) {
		for range 64 {
			most = max(most, math.Abs(float64(draw())))
		}
		return most
	}
	require.Greater(t, largest(s.Noise), 0x1p57)
	mask := func() int64 { return s.Mask(17) }
	require.Greater(t, largest(mask), 0x1p57, "0 would count as a party, without its noise")
	s = *dptest.OK(dptest.OK(New(Params{Epsilon: 1}))(t).Share(3, 0))(t)
	require.Less(t, largest(mask), 0x1p50)
	private.Poison(s.secret, "was used by two goroutines at once")
	require.Greater(t, largest(mask), 0x1p57)
	require.True(t, math.IsNaN(Arete{}.Sample(&src, 1)))
}

// Numbers are rounded without bias: of a number between two points, the mean is the number, not the
// nearer point. 6.5 standard errors have probability 1e-10.
func TestMaskRoundsWithoutBias(t *testing.T) {
	var src noise.Source
	m := dptest.OK(New(Params{Epsilon: 4, Sensitivity: 2}))(t)
	s := dptest.OK(m.Share(1000, 0))(t)
	for _, part := range []float64{0.2, 0.9, -0.4, 10.3, -17.8} {
		const n = 40_000
		sum := int64(0)
		for range n {
			k := s.point(part*m.Lattice().Step(), &src)
			require.True(t, float64(k) == math.Floor(part) || float64(k) == math.Ceil(part))
			sum += k
		}
		dptest.Alarm(t, 1e-10)
		require.InDelta(t, part, float64(sum)/n, 6.5*0.5/math.Sqrt(n))
	}
	// Integers are points of their lattices: there is nothing to round.
	for _, p := range []Params{{Epsilon: 4, Integers: true, Sensitivity: 10}, {Rho: 1, Integers: true, Sensitivity: 10}, {Epsilon: 1, Integers: true, Sensitivity: 49}} {
		m := dptest.OK(New(p))(t)
		s := dptest.OK(m.Share(1000, 0))(t)
		require.True(t, p.onIntegers(m.lattice.noise.size))
		for x := -p.Sensitivity; x <= p.Sensitivity; x++ {
			for range 20 {
				require.Equal(t, int64(x)*(m.lattice.noise.size/int64(p.Sensitivity)), s.point(x, &src))
			}
		}
	}
}

// Sums under masks of uniform words wrap around, as often as they like, and come out right; a total
// of garbage is a number all the same.
func TestSumsWrapAround(t *testing.T) {
	for _, p := range []Params{{Epsilon: 20}, {Epsilon: 30, Integers: true, Sensitivity: 1000}, {Rho: check.MaxRho, Integers: true, Sensitivity: check.MaxInteger}} {
		m := dptest.OK(New(p))(t)
		s := dptest.OK(m.Share(64, 0))(t)
		var masks noise.Source
		total, applied := uint64(0), uint64(0)
		for range 64 {
			mask := masks.Uint64()
			total += uint64(s.Mask(p.sensitivity())) + mask
			applied += mask
		}
		v := dptest.OK(s.Sum(int64(total-applied), 64))(t)
		require.InDelta(t, 64, v.Estimate()/p.sensitivity(), 3) // rare jumps of about Δ
		for _, garbage := range []int64{math.MaxInt64, math.MinInt64, 1 << 62, -1 << 62} {
			v := dptest.OK(s.Sum(garbage, 64))(t)
			data := dptest.OK(v.MarshalBinary())(t)
			require.NoError(t, new(Value).UnmarshalBinary(data))
		}
		require.ErrorIs(t, dptest.Err(s.Sum(0, 65)), ErrParams, "more than there are")
		require.ErrorIs(t, dptest.Err(s.Sum(0, 63)), ErrParams, "fewer than it takes")
	}
	// What 2²⁰ parties send fits: H ≤ 2⁴⁰ steps each.
	require.LessOrEqual(t, float64(maxParties)*maxSteps, float64(maxPoint))
}

// Intervals of sums cover the sum of the numbers, of which each is rounded at random, by parties
// that are all there or not.
func TestIntervalsOfSums(t *testing.T) {
	for _, p := range []Params{{Epsilon: 3}, {Epsilon: 8}, {Epsilon: 1, Sensitivity: 0.3}, {Rho: 0.5}, {Epsilon: 4, Integers: true, Sensitivity: 1001}} {
		m := dptest.OK(New(p))(t)
		for _, c := range [][3]int{{40, 0, 40}, {6, 3, 6}, {1, 0, 1}} {
			s := dptest.OK(m.Share(c[0], c[1]))(t)
			const confidence = 0.9
			n := int64(3000)
			if testing.Short() {
				n = 600
			}
			x := 0.37 * m.Lattice().Step()
			if p.Integers {
				x = 1
			}
			missed, width := int64(0), 0.0
			for range n {
				total := int64(0)
				for range c[2] {
					total += s.Mask(x)
				}
				v := dptest.OK(s.Sum(total, c[2]))(t)
				if width == 0 {
					present, needed := v.Parties()
					require.Equal(t, []int{c[2], c[0] - c[1]}, []int{present, needed})
					lo, hi := v.Interval(confidence)
					width = (hi - lo) / 2
					require.Less(t, width, 20*v.StdDev()+2*math.Sqrt(40)*m.Lattice().Step())
				}
				if math.Abs(v.Estimate()-float64(c[2])*x) > width {
					missed++
				}
			}
			lower, _ := dptest.ClopperPearson(missed, n, 1-falseReject)
			dptest.Alarm(t, falseReject)
			require.LessOrEqual(t, lower, 1-confidence, "%+v, %v", p, c)
		}
	}
}

// Integers released on their own lattice need no room for rounding; all others half a step.
func TestIntervalMargins(t *testing.T) {
	m := dptest.OK(New(Params{Epsilon: 4, Integers: true, Sensitivity: 5}))(t)
	v := dptest.OK(m.Release(3))(t)
	lo, hi := v.Interval(0.95)
	most := m.Lattice().Quantile(0.975)
	require.Equal(t, []float64{v.Estimate() - most, v.Estimate() + most}, []float64{lo, hi})
	m = dptest.OK(New(Params{Epsilon: 4}))(t)
	v = dptest.OK(m.Release(3))(t)
	lo, hi = v.Interval(0.95)
	require.InDelta(t, 2*(m.Lattice().Quantile(0.975)+0.5)*m.Lattice().Step(), hi-lo, 1e-9)
}

func TestReaders(t *testing.T) {
	for _, p := range []Params{{Epsilon: 4}, {Epsilon: 5, Law: DiscreteArete}, {Epsilon: 1}, {Rho: 0.5}} {
		m := dptest.OK(New(p))(t)
		s := dptest.OK(m.Share(5, 2))(t)
		sum := dptest.OK(s.Sum(s.Mask(1)+s.Mask(0)+s.Mask(0.3), 3))(t)
		single := dptest.OK(m.Release(2))(t)
		dptest.Readers(t, sum)
		dptest.Readers(t, single)
		dptest.Readers(t, m.Lattice())
	}
}

// The text of a Lattice tells laws apart, and is the same for the same Params: parties compare it.
func TestLatticeText(t *testing.T) {
	texts := map[string]bool{}
	for _, p := range paramsOfShares() {
		l := dptest.OK(lattice(p))(t)
		again := dptest.OK(lattice(p))(t)
		require.Equal(t, l.String(), again.String())
		texts[l.String()] = true
	}
	require.Len(t, texts, len(paramsOfShares()))
	require.NotEmpty(t, new(Lattice).String())
}

// A decoded Value with a law that no calibration finds, of jumps of 2³⁰ steps, costs no memory to
// speak of.
func TestForgedLawsCostLittle(t *testing.T) {
	v := samples()["jump.hex"]
	v.noise.jump = jump{steps: 1 << 20, core: 20, width: 1 << 30, jumps: 0x1p-60, beyond: 1 << 63, again: 1 << 63}
	v.noise.size, v.params.Epsilon = 1<<20, 1000
	data := dptest.OK(v.MarshalBinary())(t)
	var w Value
	if w.UnmarshalBinary(data) != nil { // even if no decoder let it pass
		w = *v
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	lo, hi := w.Interval(0.9)
	runtime.ReadMemStats(&after)
	require.LessOrEqual(t, lo, hi)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(200<<20))
	before = after
	v.noise.jump.masses(1000) // windows are no longer than what they hold
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20))
}

// S(t) by another route: the recursion S(t−1) = S(t+1) + (2t/V)·S(t), downwards, normalised by its
// sum.
func TestSkellam(t *testing.T) {
	for _, v := range []float64{1e-9, 0.3, 4.5, 20, 64, 500, 2500} {
		n := int(60 + 30*math.Sqrt(v))
		s := make([]float64, n+2)
		s[n] = 1e-280
		for k := n; k > 0; k-- {
			s[k-1] = s[k+1] + 2*float64(k)/v*s[k]
			if s[k-1] > 1e250 {
				for i := k - 1; i <= n; i++ {
					s[i] *= 1e-250
				}
			}
		}
		sum := s[0]
		for _, x := range s[1:] {
			sum += 2 * x
		}
		for k := range int(12*math.Sqrt(v)) + 3 {
			if want := s[k] / sum; want > 1e-200 {
				require.InEpsilon(t, want, skellam(v, k), 1e-10, "V = %v, t = %d", v, k)
			}
			if k > 0 {
				require.LessOrEqual(t, fall(v, k), fall(v, k-1), "log-concave")
			}
		}
	}
	require.Equal(t, []float64{1, 0, 0}, []float64{skellam(0, 0), skellam(0, 1), fall(0, 0)})
}

// The shares of a σ near 2⁵⁰, the largest of package noise, sum to more if more parties than are
// needed send theirs.
func TestMoreNoiseThanPackageNoiseHas(t *testing.T) {
	v := samples()["gaussian.hex"]
	v.noise.scale, v.need, v.parties = 0x1p50, 1, maxParties
	data := dptest.OK(v.MarshalBinary())(t)
	require.NoError(t, v.UnmarshalBinary(data))
	require.Equal(t, 0x1p60/float64(v.noise.size)*v.params.sensitivity(), v.StdDev())
	lo, hi := v.Interval(0.9)
	require.InEpsilon(t, 2*1.645*v.StdDev(), hi-lo, 0.6, "Chernoff's bound is somewhat wider")
	require.NotContains(t, v.String(), "NaN")
}

// A single release is for one row, and a sum of shares for one party: guarantees of the two do not
// add up by themselves.
func TestUnits(t *testing.T) {
	for _, r := range []budget.Relation{0, budget.AddRemove, budget.Replace} {
		for _, p := range []Params{{Epsilon: 3, Relation: r}, {Rho: 1, Relation: r}, {Epsilon: 1, Delta: 1e-6, Law: Gaussian, Relation: r}} {
			relation := max(r, budget.AddRemove)
			m := dptest.OK(New(p))(t)
			v := dptest.OK(m.Release(1))(t)
			for _, g := range []budget.Guarantee{p.Guarantee(), m.Guarantee(), v.Guarantee()} {
				require.Equal(t, budget.Row(relation), g.Unit())
				require.True(t, g.Equal(p.Guarantee()))
			}
			s := dptest.OK(m.Share(3, 0))(t)
			sum := dptest.OK(s.Sum(s.Mask(1)+s.Mask(0)+s.Mask(1), 3))(t)
			require.Equal(t, budget.Party(relation), s.Guarantee().Unit())
			require.True(t, sum.Guarantee().Equal(s.Guarantee()))
			require.Equal(t, v.Guarantee().EpsilonAt(1e-6), sum.Guarantee().EpsilonAt(1e-6))
			decoded, _ := dptest.RoundTrip(t, sum)
			require.True(t, decoded.Guarantee().Equal(sum.Guarantee()))
			require.ErrorIs(t, dptest.Err(budget.Compose(v.Guarantee(), sum.Guarantee())), ErrMismatch)
		}
	}
}
