package loss

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// The figures of another accountant's tests for mixtures (google/differential-privacy,
// python/dp_accounting, pld_privacy_accountant_test.py), met from above within .5 %.
func TestPublishedMixtures(t *testing.T) {
	removed, added := Mixture([]float64{0, 1, 2}, []float64{0.2, 0.6, 0.2}, 1<<14)
	// moves of 0, 2, 3 where σ = 2
	removed2, added2 := Mixture([]float64{0, 1, 1.5}, []float64{0.33, 0.34, 0.33}, 1<<14)
	both := func(epsilon float64) float64 { return 0 }
	for _, pair := range [][2]*Measure{{removed, removed2}, {added, added2}} {
		whole := Compose(times(pair[0], 3), times(pair[1], 2), Points)
		last := both
		both = func(epsilon float64) float64 { return max(last(epsilon), whole.Delta(epsilon)) }
	}
	got := epsilonAt(both, 1e-6)
	t.Logf("ε = %.8g for 17.193115", got)
	require.GreaterOrEqual(t, got, 17.193115*(1-1e-5))
	require.LessOrEqual(t, got, 17.193115*1.005)
}

// One release: the profile is that of a threshold test, by normal tails.
func TestMixtureLeaf(t *testing.T) {
	tail := func(x float64) float64 { return math.Erfc(x/math.Sqrt2) / 2 }
	for _, c := range []struct{ moves, weights []float64 }{
		{[]float64{0, 1, 2}, []float64{0.2, 0.6, 0.2}}, {[]float64{0, 0.5}, []float64{0.99, 0.01}}, {[]float64{1, 3}, []float64{0.5, 0.5}},
		{[]float64{0, 0.1, 0.2, 0.3}, []float64{0.729, 0.243, 0.027, 0.001}}, {[]float64{0, 8, 16}, []float64{1 - 2e-6, 1e-6, 1e-6}}, {[]float64{2}, []float64{1}},
	} {
		removed, added := Mixture(c.moves, c.weights, 1<<14)
		ratio := func(x float64) (g float64) {
			for k, m := range c.moves {
				g += c.weights[k] * math.Exp(m*(x-m/2))
			}
			return g
		}
		for _, epsilon := range []float64{-3, -0.5, -1e-3, 0, 1e-4, 0.01, 0.3, 1, 3, 8} {
			// Where G = e^ε, for P against Q, and e^{−ε}, for Q against P.
			at := func(level float64) float64 {
				lo, hi := -60.0, 60.0
				for range 200 {
					if mid := (lo + hi) / 2; ratio(mid) < level {
						lo = mid
					} else {
						hi = mid
					}
				}
				return lo
			}
			x, y := at(math.Exp(epsilon)), at(math.Exp(-epsilon))
			with, without := -math.Exp(epsilon)*tail(x), tail(-y)
			for k, m := range c.moves {
				with += c.weights[k] * tail(x-m)
				without -= math.Exp(epsilon) * c.weights[k] * tail(m-y)
			}
			for name, d := range map[string][2]float64{"removed": {removed.Delta(epsilon), with}, "added": {added.Delta(epsilon), without}} {
				require.GreaterOrEqual(t, d[0], d[1]-1e-14*math.Exp(math.Abs(epsilon)), "%s of %v at %g", name, c, epsilon)
				require.InDelta(t, d[1], d[0], 1e-6+1e-3*math.Abs(d[1]), "%s of %v at %g", name, c, epsilon)
			}
		}
		require.GreaterOrEqual(t, removed.Delta(-800), 1.0)
		require.GreaterOrEqual(t, added.Delta(-800), 1.0)
	}
}

// A mixture of two is a sample.
func TestMixtureOfTwoIsASample(t *testing.T) {
	for _, gamma := range []float64{0.001, 0.2, 0.9} {
		removed, added := Mixture([]float64{0, 1}, []float64{1 - gamma, gamma}, 1<<14)
		removed2, added2 := Gaussian(1, 1<<14).Poisson(gamma, 1<<14)
		for _, epsilon := range []float64{-0.5, 0, 0.01, 0.2, 1, 2} {
			require.InDelta(t, removed2.Delta(epsilon), removed.Delta(epsilon), 1e-6)
			require.InDelta(t, added2.Delta(epsilon), added.Delta(epsilon), 1e-6)
		}
	}
}

// A unit of a sample that is replaced: the profile is that of a threshold test, in both directions
// alike, by normal tails; and three distributions that are near each other, one of them between,
// are within.
func TestReplaced(t *testing.T) {
	tail := func(x float64) float64 { return math.Erfc(x/math.Sqrt2) / 2 }
	for _, c := range []struct{ mu, gamma float64 }{{1, 0.01}, {1, 0.5}, {0.2, 1e-3}, {4, 0.1}, {8, 1e-6}, {2, 1}} {
		law := Replaced(c.mu, c.gamma, 1<<14)
		for _, epsilon := range []float64{-2, -0.1, 0, 1e-3, 0.1, 0.5, 2, 6} {
			// P(x > t) − e^ε·Q(x > t) is greatest where P/Q = e^ε.
			p := func(t float64) float64 { return (1-c.gamma)*tail(t) + c.gamma*tail(t-c.mu) }
			q := func(t float64) float64 { return (1-c.gamma)*tail(t) + c.gamma*tail(t+c.mu) }
			exact := 0.0
			for t := -25.0; t < 25; t += 2e-3 {
				exact = max(exact, p(t)-math.Exp(epsilon)*q(t))
			}
			got := law.Delta(epsilon)
			require.GreaterOrEqual(t, got, exact-1e-14*math.Exp(math.Abs(epsilon)), "%+v at %g", c, epsilon)
			require.InDelta(t, exact, got, 1e-6+2e-3*math.Abs(exact), "%+v at %g", c, epsilon)
			// Another pair of units, less far apart, in a plane: at angles from the first.
			for _, angle := range []float64{0.5, 2} {
				if c.mu > 3 {
					break
				}
				sum := 0.0
				const step = 0.2
				for x := -8.0; x < 8; x += step {
					for y := -8.0; y < 8; y += step {
						at := func(u, v float64) float64 { return math.Exp(-((x-u)*(x-u)+(y-v)*(y-v))/2) / (2 * math.Pi) }
						a := (1-c.gamma)*at(0, 0) + c.gamma*at(c.mu, 0)
						b := (1-c.gamma)*at(0, 0) + c.gamma*at(c.mu*math.Cos(angle), c.mu*math.Sin(angle))
						sum += max(a-math.Exp(epsilon)*b, 0) * step * step
					}
				}
				require.LessOrEqual(t, sum, got+1e-5)
			}
		}
	}
}
