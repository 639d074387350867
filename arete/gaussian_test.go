package arete

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// gaussMasses are the masses of a discrete Gaussian law, from −reach to reach.
func gaussMasses(s float64, reach int) []float64 {
	f, sum := make([]float64, 2*reach+1), 0.0
	for i := range f {
		k := float64(i - reach)
		f[i] = math.Exp(-k * k / (2 * s * s))
		sum += f[i]
	}
	for i := range f {
		f[i] /= sum
	}
	return f
}

// gaussSum is the law of a sum of n discrete Gaussian variables, from −reach to reach, by
// convolution: sums of positive terms.
func gaussSum(s float64, n, reach int) []float64 {
	one := gaussMasses(s, reach)
	sum := one
	for range n - 1 {
		next := make([]float64, len(one))
		for i := range next {
			for j := range one {
				if k := i - j + reach; k >= 0 && k < len(sum) {
					next[i] += one[j] * sum[k]
				}
			}
		}
		sum = next
	}
	return sum
}

// (i): the sum of n shares is the law itself within e^{±κ}, by enumeration; and κ is no more than
// there is for n = 2.
func TestGaussianSharesAreNearlyTheLaw(t *testing.T) {
	for _, s := range []float64{0.45, 0.6, 0.8, 1, 1.3, 2} {
		for _, n := range []int{2, 3, 5, 17} {
			sigma := s * math.Sqrt(float64(n))
			reach := int(12*sigma) + 20
			sum, whole := gaussSum(s, n, reach), gaussMasses(sigma, reach)
			kappa := gaussianSpread(s, n)
			least, most := math.Inf(1), math.Inf(-1)
			for k := -int(6 * sigma); k <= int(6*sigma); k++ {
				log := math.Log(sum[k+reach] / whole[k+reach])
				least, most = min(least, log), max(most, log)
			}
			const rounding = 1e-12
			require.LessOrEqual(t, most-least, kappa+rounding, "s = %v, n = %d", s, n)
			require.True(t, most <= kappa+rounding && least >= -kappa-rounding, "s = %v, n = %d", s, n)
			if n == 2 && s >= 0.8 {
				require.InEpsilon(t, kappa+rounding, most-least+rounding, 0.01, "s = %v", s)
			}
		}
	}
	require.True(t, math.IsInf(gaussianSpread(0.1, 2), 1), "too coarse to say anything")
	require.Zero(t, gaussianSpread(0.1, 1))
	require.Less(t, gaussianSpread(64, maxParties), 1e-299)
	// κ term by term, for many shares.
	kappa := 0.0
	for m := 1.0; m < 5000; m++ {
		eta := 2 * math.Exp(-2*math.Pi*math.Pi*m/(m+1))
		kappa += math.Log1p(eta) - math.Log1p(-eta)
	}
	require.InEpsilon(t, kappa, gaussianSpread(1, 5000), 0.1)
	require.Greater(t, gaussianSpread(1, 5000), kappa)
}

// (ii) and (iii): the exact law of sums of shares on a coarse lattice, all shifts, against the
// bounds; half the noise breaks both.
func TestGaussianPrivacyExactly(t *testing.T) {
	for _, n := range []int{1, 2, 3, 17} {
		for _, s := range []float64{0.6, 0.8, 1.1} {
			const steps = 3
			sigma := s * math.Sqrt(float64(n))
			reach := int(14*sigma) + 40
			p := gaussSum(s, n, reach)
			law := func(shift int) map[int]float64 {
				m := map[int]float64{}
				for i, x := range p {
					m[i-reach+shift] = x
				}
				return m
			}
			kappa := gaussianSpread(s, n)
			d := dptest.OK(noise.NewDiscreteGaussian(sigma))(t)
			for _, epsilon := range []float64{0.1, 1, 3} {
				if kappa >= epsilon {
					continue
				}
				bound := math.Exp(kappa) * gaussianDelta(d, epsilon-kappa, steps)
				worst := 0.0
				for shift := -steps; shift <= steps; shift++ {
					worst = max(worst, dptest.HockeyStick(law(0), law(shift), epsilon))
				}
				require.LessOrEqual(t, worst, bound+1e-14, "n = %d, s = %v, ε = %v", n, s, epsilon)
				if kappa < 1e-3 {
					require.Greater(t, worst, 0.98*bound-1e-14, "nothing is given away")
				}
				if bound < 0.8 {
					require.Greater(t, dptest.HockeyStick(law(0), law(2*steps), epsilon), 1.05*bound, "half the noise")
				}
				// The decision of gaussianHolds is that bound.
				require.True(t, Params{Epsilon: epsilon, Delta: min(0.5, bound*(1+1e-9))}.gaussianHolds(sigma, steps, n) || bound > 0.5)
				require.False(t, Params{Epsilon: epsilon, Delta: bound * 0.999}.gaussianHolds(sigma, steps, n))
			}
			rho := steps * steps / (2 * sigma * sigma)
			rho = math.Pow(math.Sqrt(rho)+math.Sqrt(kappa), 2)
			for _, alpha := range []float64{1.001, 1.1, 1.5, 2, 4} {
				for _, shift := range []int{1, steps, 2 * steps} {
					sum := 0.0
					for k, x := range law(0) {
						if y := p[min(max(k-shift+reach, 0), len(p)-1)]; y > 1e-250 && x > 1e-250 {
							sum += math.Exp(alpha*math.Log(x) + (1-alpha)*math.Log(y))
						}
					}
					renyi := math.Log(sum) / (alpha - 1)
					if shift <= steps {
						require.LessOrEqual(t, renyi, alpha*rho*(1+1e-9)+1e-9, "n = %d, s = %v, α = %v", n, s, alpha)
					} else if kappa < 1e-3 && alpha <= 2 {
						require.Greater(t, renyi, alpha*rho*2, "half the noise")
					}
				}
				if n > 3 {
					break
				}
			}
			if !math.IsInf(rho, 1) {
				require.True(t, Params{Rho: rho * (1 + 1e-12)}.gaussianHolds(sigma, steps, n))
				require.False(t, Params{Rho: rho * (1 - 1e-9)}.gaussianHolds(sigma, steps, n))
			}
		}
	}
}

// Calibrated noise is that of the continuous Gaussian mechanism but for 3e-6, never less, and two
// percent less is rejected.
func TestGaussianCalibration(t *testing.T) {
	for _, p := range []Params{
		{Epsilon: 1, Delta: 1e-6}, {Epsilon: 0.1, Delta: 1e-12}, {Epsilon: 8, Delta: 1e-9}, {Epsilon: 0.01, Delta: 1e-5}, {Epsilon: 2, Delta: 0.1}, {Epsilon: 300, Delta: 1e-30},
		{Epsilon: 900, Delta: 1e-3}, {Rho: 0.5}, {Rho: 1e-9}, {Rho: 1000}, {Epsilon: 1, Delta: 1e-300},
	} {
		p.Law = Gaussian
		want, err := noise.GaussianSigmaZCDP(p.Rho, 1)
		if p.Rho == 0 {
			want, err = noise.GaussianSigma(p.Epsilon, p.Delta, 1)
		}
		require.NoError(t, err)
		for _, q := range []Params{p, {Epsilon: p.Epsilon, Delta: p.Delta, Rho: p.Rho, Law: Gaussian, Sensitivity: 11, Integers: true}} {
			l := dptest.OK(lattice(q))(t, "%+v", q)
			_, ok := l.Certify()
			require.True(t, ok)
			sigma := l.noise.scale / float64(l.noise.size)
			require.GreaterOrEqual(t, sigma, want*(1-1e-9), "%+v", q)
			require.LessOrEqual(t, sigma, want*(1+3e-6), "%+v", q)
			require.False(t, q.gaussianHolds(l.noise.scale*0.98, l.noise.size, 1))
			require.GreaterOrEqual(t, l.noise.scale, float64(gaussianSteps))
			plan := dptest.OK(q.Plan())(t)
			require.InEpsilon(t, q.sensitivity()*sigma, plan.StdDev, 1e-9)
			require.InEpsilon(t, math.Sqrt(2/math.Pi)*plan.StdDev, plan.MeanAbs, 1e-9)
			if q.Integers {
				require.Zero(t, l.noise.size%11, "integers are on the lattice")
			}
			// Shares of any number keep the promise as well.
			for _, n := range []uint64{1, 2, 3, 17, 1000, maxParties - 1, maxParties} {
				sum := l.noise.share(n)
				require.True(t, q.gaussianHolds(sum.scale, sum.size, int(n)), "%+v, n = %d", q, n)
				require.LessOrEqual(t, sum.scale, l.noise.scale*(1+0x1p-18))
			}
		}
	}
	require.Equal(t, budget.ZCDP(0.5, budget.Row(budget.AddRemove)), Params{Rho: 0.5}.Guarantee())
	require.Equal(t, budget.ApproxDP(1, 1e-6, budget.Row(budget.Replace)), Params{Epsilon: 1, Delta: 1e-6, Law: Gaussian, Relation: budget.Replace}.Guarantee())
}

// The sum of n Gaussian shares has the law, n = 1, 2, 17, 1000. For 12 of 17 shares the largest
// difference of the distribution functions is 0.042; the test rejects from 0.019 on, seven standard
// deviations less.
func TestGaussianSharesAddUp(t *testing.T) {
	m := dptest.OK(New(Params{Rho: 0.5, Sensitivity: 2}))(t)
	require.Equal(t, Gaussian, m.Params().Law)
	draw := func(count, n, present int) []float64 {
		s := dptest.OK(m.Share(n, 0))(t)
		samples := make([]float64, count)
		for i := range samples {
			for range present {
				samples[i] += float64(s.Noise())
			}
		}
		return samples
	}
	for _, n := range []int{1, 2, 17, 1000} {
		count := min(100_000, 400_000/n)
		if testing.Short() {
			count /= 4
		}
		dptest.KS(t, fmt.Sprint("n = ", n), draw(count, n, n), m.Lattice().CDF, falseReject)
	}
	dptest.Alarm(t, falseReject)
	require.Less(t, dptest.KSPValue(draw(23_000, 17, 12), m.Lattice().CDF), falseReject, "12 of 17 shares must be noticed")
}

// Audit of a sum with drop-outs: three of eight parties are missing, as many as may be. At ε = 1, δ
// = 0.01 half the noise has δ = 0.12 for the same event.
func TestGaussianAudit(t *testing.T) {
	const epsilon, delta = 1, 0.01
	n := int64(60_000) // at 20,000 the lower bound of the control is 1.30 ± 0.03
	if testing.Short() {
		n = 20_000
	}
	count := func(m *Mechanism) (zero, one int64) {
		s := dptest.OK(m.Share(8, 3))(t)
		limit := 0.5 - epsilon*m.Lattice().Variance()*math.Pow(m.Lattice().Step(), 2) // the worst
		sum := func(x float64) float64 {
			total := s.Mask(x)
			for range 4 {
				total += s.Mask(0)
			}
			v := dptest.OK(s.Sum(total, 5))(t)
			return v.Estimate()
		}
		for range n {
			if sum(0) < limit {
				zero++
			}
			if sum(1) < limit {
				one++
			}
		}
		return zero, one
	}
	m := dptest.OK(New(Params{Epsilon: epsilon, Delta: delta, Law: Gaussian}))(t)
	zero, one := count(m)
	dptest.Audit(t, "sum of Gaussian shares", zero, n, one, n, epsilon, delta, falseReject)
	half := &Mechanism{lattice: &Lattice{params: m.lattice.params, noise: m.lattice.noise, tables: new(tables)}}
	half.lattice.noise.scale /= 2
	half.lattice.params.Delta = 0.5 // or Share refuses it
	zero, one = count(half)
	dptest.Alarm(t, falseReject)
	require.Greater(t, dptest.EpsilonLowerBound(zero, n, one, n, delta, 1-falseReject), float64(epsilon), "half the noise must be noticed")
	half.lattice.params.Delta = delta
	require.ErrorIs(t, dptest.Err(half.Share(8, 0)), ErrParams)
}
