package loss

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// gaussianProfile is δ(ε) of Gaussian noise: Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ).
func gaussianProfile(mu, epsilon float64) float64 {
	phi := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	return phi(mu/2-epsilon/mu) - math.Exp(epsilon)*phi(-mu/2-epsilon/mu)
}

// The leaf is nowhere below the profile, and near it; also a power of it, which is Gaussian.
func TestGaussianLeaf(t *testing.T) {
	for _, mu := range []float64{1e-6, 0.01, 0.5, 1, 3, MostMu, MostMu + 1e-9, 20, MostSampledMu} {
		m := Gaussian(mu, 1024)
		for x := -6.0; x < 8; x += 0.37 {
			epsilon := mu * x
			exact := gaussianProfile(mu, epsilon)
			require.GreaterOrEqual(t, m.Delta(epsilon), exact*(1-1e-11)-1e-15*(1+math.Exp(epsilon)), "μ %g at %g", mu, epsilon)
			require.LessOrEqual(t, m.Delta(epsilon), exact+3e-4*mu*math.Exp(max(epsilon, 0))+1e-12, "μ %g at %g", mu, epsilon)
		}
		require.GreaterOrEqual(t, m.infinite, math.Erfc(far/math.Sqrt2), "both tails")
		for i, x := range m.mass {
			if y := m.mass[len(m.mass)-1-i]; x > 1e-100 && y > 1e-100 {
				require.InEpsilon(t, x, y*math.Exp(m.at(i)), 1e-9, "symmetric")
			}
		}
	}
	truth := epsilonAt(func(epsilon float64) float64 { return gaussianProfile(0.05*math.Sqrt(1000), min(epsilon, 50)) }, 1e-9)
	got := epsilonAt(times(Gaussian(0.05, 1024), 1000).Delta, 1e-9)
	t.Logf("1000 Gaussians of 0.05: %.6g, above the truth by %.2g", got, got/truth-1)
	require.GreaterOrEqual(t, got, truth)
	require.Less(t, got, truth*1.002)
}

// The atoms of discrete Gaussian noise, in 200 digits.
func TestDiscreteGaussianNeverBelowEnumeration(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 20))
	for _, c := range []struct {
		sigma float64
		steps int
	}{{0.3, 1}, {1, 1}, {2.5, 1}, {2.5, 4}, {7, 3}} {
		var atoms []atom
		sum, reach := number(0), int(40*c.sigma)+3
		mass := func(x int) float64 { return -float64(x*x) / (2 * c.sigma * c.sigma) }
		for x := -reach; x <= reach; x++ {
			p := exp(number(mass(x)))
			sum.Add(sum, p)
			loss := (float64(c.steps*c.steps) - 2*float64(c.steps*x)) / (2 * c.sigma * c.sigma)
			atoms = append(atoms, atom{p, exp(number(-loss))})
		}
		for i := range atoms {
			atoms[i].mass.Quo(atoms[i].mass, sum)
		}
		m := DiscreteGaussian(c.sigma, c.steps)
		for range 40 {
			epsilon := 6 * (rng.Float64() - 0.3)
			exact, _ := profile(atoms, epsilon).Float64()
			require.GreaterOrEqual(t, m.Delta(epsilon), exact*(1-1e-13), "%+v", c)
			require.LessOrEqual(t, m.Delta(epsilon), exact*(1+1e-9)+1e-13, "%+v", c)
		}
	}
}

// Poisson samples of Gaussian noise and of randomized response against their profiles in closed
// form, in both directions: γ·δ(ln((e^ε−1+γ)/γ)) and (1 − e^ε(1−γ))·δ(ln(e^εγ/(1 − e^ε(1−γ)))).
func TestPoissonOfLeaves(t *testing.T) {
	for _, gamma := range []float64{1e-4, 0.01, 0.3, 0.9, 1 - 0x1p-30} {
		check := func(m *Measure, base func(float64) float64, near float64) {
			removed, added := m.Poisson(gamma, 4096)
			for x := -4.0; x < 6; x += 0.17 {
				epsilon := math.Log1p(gamma*math.Expm1(x)) * (1 + 1e-3)
				a := math.Exp(epsilon)
				exact := 1 - a
				if a > 1-gamma {
					exact = gamma * base(math.Log((a-1+gamma)/gamma))
				}
				slack := 1e-14 * (1 + a)
				require.GreaterOrEqual(t, removed.Delta(epsilon), exact*(1-1e-10)-slack, "γ %g at %g", gamma, epsilon)
				require.LessOrEqual(t, removed.Delta(epsilon), exact+near*a, "γ %g at %g", gamma, epsilon)
				exact = 0
				if rest := 1 - a*(1-gamma); rest > 0 {
					exact = rest * base(math.Log(a*gamma/rest))
				}
				require.GreaterOrEqual(t, added.Delta(epsilon), exact*(1-1e-10)-slack, "γ %g at %g", gamma, epsilon)
				require.LessOrEqual(t, added.Delta(epsilon), exact+near*a, "γ %g at %g", gamma, epsilon)
			}
		}
		check(Gaussian(1, 4096), func(epsilon float64) float64 { return gaussianProfile(1, epsilon) }, 2e-3)
		for _, epsilon := range []float64{0.1, 1, 4} {
			m := Response(epsilon)
			check(m, m.Delta, 1e-12)
		}
		m := Laplace(1, 512)
		check(m, m.Delta, 1e-5)
	}
	// The figure of 1,000 samples of .01 at μ = 1.
	removed, added := Gaussian(1, 16384).Poisson(0.01, 16384)
	got := max(epsilonAt(removed.Power(1000, Points).Delta, 1e-6), epsilonAt(added.Power(1000, Points).Delta, 1e-6))
	t.Logf("1000 samples of .01 at μ = 1: %.6g, above 2.1245 by %.2g", got, got/2.1245-1)
	require.GreaterOrEqual(t, got, 2.12)
	require.Less(t, got, 2.1245*1.0038)
}
