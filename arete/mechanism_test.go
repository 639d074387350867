package arete

import (
	"fmt"
	"math"
	"math/big"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/noise"
)

func TestInvalidParams(t *testing.T) {
	nan, inf, tiny := math.NaN(), math.Inf(1), math.SmallestNonzeroFloat64
	bad := map[string][]Params{}
	set := func(field string, p Params) { bad[field] = append(bad[field], p) }
	for _, x := range []float64{0, -1, nan, inf, -inf, tiny, 0x1p-31, 1025, math.Copysign(0, -1)} {
		set("Epsilon", Params{Epsilon: x})
	}
	for _, x := range []float64{-1, nan, inf, -inf, tiny, 0x1p-201, 0x1p201} {
		set("Sensitivity", Params{Epsilon: 1, Sensitivity: x})
	}
	for _, x := range []float64{0.5, 1.5, 0x1p41} {
		set("Sensitivity", Params{Epsilon: 1, Sensitivity: x, Integers: true})
	}
	for _, r := range []budget.Relation{3, 4, 200} {
		set("Relation", Params{Epsilon: 1, Relation: r})
	}
	set("Law", Params{Epsilon: 1, Law: lastLaw + 1})
	set("Parties", Params{Epsilon: 1, Parties: -1})
	set("Parties", Params{Epsilon: 1, Parties: maxParties + 1})
	for _, x := range []float64{0, -1, nan, inf, tiny, 0.51, 1} {
		set("Delta", Params{Epsilon: 1, Delta: x, Law: Gaussian})
	}
	for _, x := range []float64{-1, nan, inf, tiny, 0x1p-61, 0x1p21} {
		set("Rho", Params{Rho: x})
		set("Rho", Params{Rho: x, Law: Gaussian})
	}
	set("Epsilon", Params{Epsilon: 1, Rho: 1})
	set("Epsilon", Params{Delta: 1e-6, Law: Gaussian})
	set("Epsilon", Params{Epsilon: 1, Rho: 1, Law: Jump})
	set("Rho", Params{Rho: 1, Law: Jump})
	set("Delta", Params{Rho: 1, Delta: 1e-6})
	set("Delta", Params{Epsilon: 1, Delta: 1e-6})
	set("Delta", Params{Epsilon: 1, Delta: 1e-6, Law: DiscreteLaplace})
	set("Epsilon", Params{Epsilon: 0.5, Law: Jump})
	set("Epsilon", Params{Epsilon: 2, Law: DiscreteArete})
	for field, list := range bad {
		for _, p := range list {
			dptest.Refused(t, dptest.Err(New(p)), ErrParams, "arete: "+field+" = ", "%+v", p)
			require.ErrorIs(t, dptest.Err(p.Plan()), ErrParams, "%+v", p)
			require.False(t, p.Guarantee().Promises(), "%+v", p)
		}
	}
	for _, p := range []Params{
		{Epsilon: check.MinEpsilon}, {Epsilon: check.MaxEpsilon, Integers: true}, {Epsilon: 1, Sensitivity: math.Copysign(0, -1)}, {Epsilon: 3, Sensitivity: check.MinReal},
		{Epsilon: 3, Sensitivity: check.MaxReal}, {Epsilon: check.MinEpsilon, Integers: true, Sensitivity: check.MaxInteger}, {Epsilon: 40, Integers: true, Sensitivity: 1024},
		{Epsilon: 3, Relation: budget.Replace}, {Epsilon: 1, Law: Jump}, {Epsilon: 3.6, Law: DiscreteArete}, {Epsilon: 9, Law: DiscreteLaplace},
		{Epsilon: 1, Law: Jump, Integers: true, Sensitivity: 3}, {Epsilon: check.MaxEpsilon, Law: Jump, Integers: true, Sensitivity: 1},
		{Rho: check.MinRho}, {Rho: check.MaxRho, Integers: true}, {Epsilon: check.MinEpsilon, Delta: check.MinDelta, Law: Gaussian}, {Epsilon: check.MaxEpsilon, Delta: maxDelta, Law: Gaussian},
		{Epsilon: 1, Delta: 1e-6, Law: Gaussian, Integers: true, Sensitivity: check.MaxInteger}, {Epsilon: math.Copysign(0, -1), Rho: 1, Delta: math.Copysign(0, -1)},
	} {
		m := dptest.OK(New(p))(t, "%+v", p)
		_, ok := m.Lattice().Certify()
		require.True(t, ok, "%+v", p)
		v := dptest.OK(m.Release(0))(t)
		require.False(t, math.IsNaN(v.Estimate()) || math.IsInf(v.Estimate(), 0), "%+v", p)
		for _, field := range []float64{m.Params().Epsilon, m.Params().Sensitivity, m.Params().Delta, m.Params().Rho} {
			require.False(t, math.Signbit(field))
		}
		require.Equal(t, p.Guarantee(), m.Guarantee())
		require.NotEqual(t, Auto, m.Params().Law)
	}
}

func TestZeroObjects(t *testing.T) {
	var m Mechanism
	released, err := m.Release(1)
	require.ErrorIs(t, err, ErrParams)
	require.Nil(t, released)
	require.ErrorIs(t, dptest.Err(m.Share(3, 0)), ErrParams)
	require.Equal(t, Params{}, m.Params())
	require.Equal(t, budget.Guarantee{}, m.Guarantee())
	require.NotEmpty(t, m.String())
	require.True(t, math.IsNaN(m.Lattice().MeanAbs()))
	var s Share
	require.ErrorIs(t, dptest.Err(s.Sum(1, 1)), ErrParams)
	var v Value
	lo, hi := v.Interval(0.5)
	require.True(t, math.IsNaN(v.Estimate()) && math.IsNaN(v.StdDev()) && math.IsNaN(lo) && math.IsNaN(hi))
	require.Equal(t, budget.Guarantee{}, v.Guarantee())
	require.ErrorIs(t, dptest.Err(v.MarshalBinary()), ErrFormat)
	require.NotEmpty(t, v.String())
	_, ok := (&Lattice{}).Certify()
	require.False(t, ok)
}

// The rounding to the lattice is that of real numbers: monotone, and a step of Δ is H steps,
// whatever the floats.
func TestRoundingToTheLattice(t *testing.T) {
	reference := func(x, delta float64, steps int64) int64 {
		r := new(big.Rat).Mul(new(big.Rat).SetFloat64(x), big.NewRat(2*steps, 1))
		r.Quo(r, new(big.Rat).SetFloat64(delta)).Add(r, big.NewRat(1, 1))
		return new(big.Int).Div(r.Num(), new(big.Int).Mul(r.Denom(), big.NewInt(2))).Int64()
	}
	var src noise.Source
	uniform := func() float64 { return float64(src.Uint64()>>11) * 0x1p-53 }
	for _, delta := range []float64{1, 0.3, 7, 1e-300 * 0x1p400, 0x1p200, 0x1p-200, 3e50} {
		for _, steps := range []int64{1, 3, 22, 130, 65536} {
			for range 100 {
				x := (uniform() - 0.5) * math.Exp2(40*uniform()) * delta
				require.Equal(t, reference(x, delta, steps), onLattice(x, delta, steps), "%v/%v", x, delta)
				// near or at a half
				half := (math.Floor(uniform()*1000) + 0.5) / float64(steps) * delta
				for _, x := range []float64{half, math.Nextafter(half, 0), math.Nextafter(half, math.Inf(1)), -half} {
					require.Equal(t, reference(x, delta, steps), onLattice(x, delta, steps), "%v/%v", x, delta)
				}
				// where it saturates, at which a float64 quotient was once off by 63 steps
				for x, n := maxPoint/float64(steps)*delta*(1+0x1p-51), 0; n < 8; x, n = math.Nextafter(x, 0), n+1 {
					require.Equal(t, min(reference(x, delta, steps), maxPoint), onLattice(x, delta, steps), "%v/%v", x, delta)
					require.Equal(t, max(reference(-x, delta, steps), -maxPoint), onLattice(-x, delta, steps), "%v/%v", x, delta)
				}
			}
		}
	}
	require.Equal(t, []int64{0, maxPoint, -maxPoint, maxPoint, 0, 0}, []int64{
		onLattice(math.NaN(), 1, 5), onLattice(math.Inf(1), 1, 5), onLattice(math.Inf(-1), 1, 5), onLattice(math.MaxFloat64, 0x1p-200, 5),
		onLattice(math.SmallestNonzeroFloat64, 0x1p200, 5), onLattice(-math.SmallestNonzeroFloat64, 0x1p200, 5),
	})
}

// outputs returns the exact law of what is released for a point of the lattice; what lies beyond
// reach is lumped on either side.
func outputs(l *Lattice, point, reach int) map[int]float64 {
	p := map[int]float64{}
	for k := -reach; k <= reach; k++ {
		p[k] = l.Prob(float64(k - point))
	}
	p[-reach-1], p[reach+1] = l.Survival(float64(reach+point)), l.Survival(float64(reach-point))
	return p
}

// Exact privacy: the whole output law for all shifts up to H, δ = 0. Half the noise breaks it.
func TestPrivacyExactly(t *testing.T) {
	for _, l := range lawsToTest() {
		h := int(l.noise.size)
		reach := 4*h + 80
		for _, shift := range []int{1, (h + 1) / 2, h} {
			dptest.ApproxDP(t, fmt.Sprintf("%+v", l.params), outputs(l, 0, reach), outputs(l, shift, reach), l.params.Epsilon, 0, 1e-9*math.Exp(-l.params.Epsilon))
		}
		// The same law for twice the sensitivity, which is half the noise.
		require.Greater(t, dptest.HockeyStick(outputs(l, 0, reach), outputs(l, 2*h, reach), l.params.Epsilon), 1e-4, "%+v", l.params)
	}
}

// Audit of releases and of sums of shares with drop-outs: the event that the likelihood ratio is
// large. The control has half the noise: a mechanism for half the Δ.
func TestAudit(t *testing.T) {
	const n = 60_000
	audit := func(m *Mechanism, release func(m *Mechanism, x float64) float64, limit float64) (zero, one int64) {
		for range n {
			if release(m, 0) < limit {
				zero++
			}
			if release(m, 1) < limit {
				one++
			}
		}
		return zero, one
	}
	single := func(m *Mechanism, x float64) float64 {
		y := dptest.OK(m.Release(x))(t)
		return y.Estimate()
	}
	var shares []*Share
	var of *Mechanism
	sum := func(m *Mechanism, x float64) float64 { // 8 parties of whom 3 may be missing, and are
		if of != m {
			of, shares = m, nil
			for range 5 {
				s := dptest.OK(m.Share(8, 3))(t)
				shares = append(shares, s)
			}
		}
		total := shares[0].Mask(x)
		for _, s := range shares[1:] {
			total += s.Mask(0)
		}
		v := dptest.OK(shares[0].Sum(total, len(shares)))(t)
		return v.Estimate()
	}
	for name, release := range map[string]func(*Mechanism, float64) float64{"release": single, "aggregate": sum} {
		m := dptest.OK(New(Params{Epsilon: 2.5}))(t)
		half := dptest.OK(New(Params{Epsilon: 2.5, Sensitivity: 0.5, Relation: budget.AddRemove}))(t)
		zero, one := audit(m, release, 0.5)
		dptest.Audit(t, name, zero, n, one, n, 2.5, 0, falseReject)
		dptest.Audit(t, name, n-one, n, n-zero, n, 2.5, 0, falseReject)
		if name == "release" {
			zero, one = audit(half, release, 0.5)
			dptest.Alarm(t, falseReject)
			require.Greater(t, dptest.EpsilonLowerBound(zero, n, one, n, 0, 1-falseReject), 2.5, "half the noise must be noticed")
		}
	}
}

func TestShareArguments(t *testing.T) {
	m := dptest.OK(New(Params{Epsilon: 3, Sensitivity: 2}))(t)
	for _, bad := range [][2]int{{0, 0}, {-1, 0}, {1<<20 + 1, 0}, {5, 5}, {5, -1}, {math.MaxInt, 0}, {5, math.MinInt}} {
		require.ErrorIs(t, dptest.Err(m.Share(bad[0], bad[1])), ErrParams, "%v", bad)
	}
	s := dptest.OK(m.Share(1<<20, 1<<20-1))(t)
	for _, parties := range []int{0, -1, 1<<20 + 1, math.MaxInt} {
		require.ErrorIs(t, dptest.Err(s.Sum(0, parties)), ErrParams)
	}
	deviation := func(parties int) float64 {
		v := dptest.OK(s.Sum(0, parties))(t)
		return v.StdDev()
	}
	require.InEpsilon(t, 2*deviation(1), deviation(4), 1e-12)
	// Clamping: what a party adds is bounded, by Δ on either side if parties come and go, to Δ
	// above 0 if they change.
	bound := func(r budget.Relation, x float64) float64 {
		m := dptest.OK(New(Params{Epsilon: 3, Sensitivity: 2, Relation: r}))(t)
		s := dptest.OK(m.Share(1<<20, 0))(t) // hardly any noise
		counts := map[int64]int{}
		for range 50 {
			counts[s.Mask(x)]++
		}
		for k, n := range counts {
			if n > 25 {
				return float64(k) * m.Lattice().Step()
			}
		}
		return math.NaN()
	}
	for _, c := range []struct {
		relation budget.Relation
		x, want  float64
	}{{0, 100, 2}, {0, math.Inf(-1), -2}, {0, math.NaN(), 0}, {budget.Replace, 100, 2}, {budget.Replace, -100, 0}} {
		require.InDelta(t, c.want, bound(c.relation, c.x), 0.04, "%v", c)
	}
	dptest.Redacted(t, s, "secretsecret")
	require.Equal(t, "arete.Builder (private)", fmt.Sprintf("%+v", s))
}

// Intervals cover: the true value is outside with at most the probability stated. Of sums see
// TestIntervalsOfSums.
func TestIntervals(t *testing.T) {
	for _, p := range []Params{{Epsilon: 3}, {Epsilon: 4, Integers: true, Sensitivity: 5}, {Epsilon: 1, Sensitivity: 0.3}, {Epsilon: 5, Law: DiscreteArete}} {
		m := dptest.OK(New(p))(t)
		const n, confidence = 4000, 0.95
		x := 17.0
		missed, width := int64(0), 0.0
		for range n {
			v := dptest.OK(m.Release(x))(t)
			if width == 0 { // it is the same for all
				lo, hi := v.Interval(confidence)
				width = (hi - lo) / 2
			}
			if math.Abs(v.Estimate()-x) > width {
				missed++
			}
		}
		lower, _ := dptest.ClopperPearson(missed, n, 1-falseReject)
		dptest.Alarm(t, falseReject)
		require.LessOrEqual(t, lower, 1-confidence, "%+v", p)
	}
	m, _ := New(Params{Epsilon: 3})
	v, _ := m.Release(0)
	for _, c := range []float64{-0.1, 1, math.NaN()} {
		lo, hi := v.Interval(c)
		require.True(t, math.IsNaN(lo) && math.IsNaN(hi))
	}
}

// alone is a sampler that counts the calls that come while another one is at work.
type alone struct{ busy, met atomic.Int32 }

func (a *alone) SampleInt(*noise.Source) int64 {
	a.met.Add(a.busy.Swap(1))
	runtime.Gosched()
	a.busy.Store(0)
	return 0
}

// Goroutines that release by one Mechanism draw from its Source one after the other: two that read
// the same random words would add the same noise to two numbers, and their difference had none.
func TestConcurrentReleases(t *testing.T) {
	m := dptest.OK(New(Params{Epsilon: 1}))(t)
	lattice, sampler := *m.lattice, new(alone)
	lattice.whole, m.lattice = sampler, &lattice
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 100 {
				m.Release(1)
			}
		})
	}
	group.Wait()
	require.Zero(t, sampler.met.Load())
}
