package loss

import (
	"math"
	"testing"
	"time"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/stretchr/testify/require"
)

// epsilonAt returns the ε at which a profile is δ.
func epsilonAt(profile func(float64) float64, delta float64) float64 {
	lo, hi := 0.0, 1e4
	for range 80 {
		if mid := (lo + hi) / 2; profile(mid) <= delta {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}

func times(m *Measure, n int) *Measure { return m.Power(uint64(n), Points) }

// Many different releases: the error stays of second order, and twice the points leave at most .4
// of it.
func TestManyKinds(t *testing.T) {
	laws := func() (list []*Measure) {
		for i := range 10 {
			epsilon := 0.01 + 0.009*float64(i)
			list = append(list, times(Response(epsilon), 50), times(Laplace(epsilon, 64), 50))
		}
		return list
	}
	delta := (1e-6 - 500e-10) / (1 - 500e-10)
	begin := time.Now()
	got := epsilonAt(All(laws(), Points).Delta, delta)
	t.Logf("1,000 of 20 kinds: %.6g in %v", got, time.Since(begin))
	require.InEpsilon(t, 9.560, got, 1e-3)

	var different []*Measure
	for i := range 1000 {
		different = append(different, Response(0.01+0.09*float64(i)/999))
	}
	begin = time.Now()
	m := All(different, Points)
	t.Logf("1,000 kinds: composed in %v", time.Since(begin))
	delta = (1e-6 - 1000e-10) / (1 - 1000e-10)
	got = epsilonAt(m.Delta, delta)
	t.Logf("1,000 kinds: %.6g", got)
	require.InEpsilon(t, 10.4881, got, 1e-3)
	if dptest.Long() {
		twice := epsilonAt(All(different, 2*Points).Delta, delta)
		four := epsilonAt(All(different, 4*Points).Delta, delta)
		t.Logf("on 2,048 points %.6g, on 4,096 %.6g", twice, four)
		require.Less(t, twice-four, 0.4*(got-four)+1e-6)
	}
}

// A distribution convolved, and the same distribution given by its profile.
func TestDeltaWith(t *testing.T) {
	m := times(Response(0.05), 100)
	q := Response(0.5)
	both := Compose(m, q, Points)
	for epsilon := -2.0; epsilon < 5; epsilon += 0.1 {
		got, want := m.DeltaWith(epsilon, q.Delta), both.Delta(epsilon)
		require.InEpsilon(t, want, got, 1e-3*(1+20*max(epsilon, 0)))
		plus := 1 / (1 + math.Exp(-0.5))
		exact := plus*m.Delta(epsilon-0.5) + (1-plus)*m.Delta(epsilon+0.5)
		require.InEpsilon(t, exact, got, 1e-9)
		require.GreaterOrEqual(t, got, exact*(1-1e-11))
	}
}

// Laplace noise: δ(ε′) = 1 − e^{(ε′−ε)/2} between 0 and ε; and it is the limit of ever finer
// lattices.
func TestLaplaceLeaf(t *testing.T) {
	for _, epsilon := range []float64{1e-6, 0.01, 0.3, 1, 5, 100} {
		for _, cells := range []int{1, 5, 64, 400} {
			m := Laplace(epsilon, cells)
			for i := range 41 {
				at := epsilon * (float64(i)/20 - 1)
				exact := -math.Expm1((at - epsilon) / 2)
				if at < 0 { // 1 − δ(ε′) = e^ε′·(1 − δ(−ε′)): the distribution is symmetric
					exact = -math.Expm1(at) + math.Exp(at)*-math.Expm1((-at-epsilon)/2)
				}
				require.GreaterOrEqual(t, m.Delta(at), exact*(1-1e-14), "ε %g, %d cells, at %g", epsilon, cells, at)
				if cells == 400 && epsilon < 2 {
					require.LessOrEqual(t, m.Delta(at), exact+1e-5, "ε %g at %g", epsilon, at)
				}
			}
			require.Less(t, m.Delta(epsilon*(1+1e-9)), 1e-300)
			require.InDelta(t, 1, m.Delta(-1000), 1e-9)
		}
	}
	fine := epsilonAt(times(Lattice(0.1, 1000), 30).Delta, 1e-6)
	require.InEpsilon(t, fine, epsilonAt(times(Laplace(0.1, 400), 30).Delta, 1e-6), 1e-4)
}

// The group of m of an ε-DP release is bounded by the lattice distribution of m steps: the chain of
// m trade-off functions of randomized response.
func TestGroupsOfResponses(t *testing.T) {
	// f(a) is the least false negative rate at the false positive rate a; m steps are x ↦ 1 − f(x),
	// m times.
	for _, epsilon := range []float64{0.1, 0.5, 1.5} {
		power := func(x float64) float64 { // 1 − f(x)
			return min(math.Exp(epsilon)*x, 1-math.Exp(-epsilon)*(1-x))
		}
		for m := 1; m <= 6; m++ {
			law := Lattice(float64(m)*epsilon, m)
			for _, at := range []float64{0, 0.3, 1, 2, 5} {
				// sup over x of power^m(x) − e^ε′·x.
				best := 0.0
				for i := range 5001 {
					x := float64(i) / 5000
					y := x
					for range m {
						y = power(y)
					}
					best = max(best, y-math.Exp(at)*x)
				}
				require.GreaterOrEqual(t, law.Delta(at), best-1e-12)
				require.InDelta(t, best, law.Delta(at), 2e-4*math.Exp(at))
			}
		}
	}
}

// The distribution of randomized response is ρ-zCDP with ρ = ε·tanh(ε/2), and with no less.
func TestResponseIsConcentrated(t *testing.T) {
	for _, epsilon := range []float64{1e-3, 0.1, 1, 2, 5, 20} {
		rho := epsilon * math.Tanh(epsilon/2)
		p, q := 1/(1+math.Exp(-epsilon)), 1/(1+math.Exp(epsilon))
		for a := 1e-6; a < 1e6; a *= 3 { // the order is 1 + a
			// E[e^{a·l}] = p·e^{aε} + q·e^{−aε}
			divergence := (a*epsilon + math.Log1p(p*0-q+q*math.Exp(-2*a*epsilon))) / a
			require.LessOrEqual(t, divergence, (1+a)*rho*(1+1e-9)+1e-15/a)
		}
		a := 1e-4
		require.InEpsilon(t, rho, (a*epsilon+math.Log1p(-q+q*math.Exp(-2*a*epsilon)))/a/(1+a), 1e-3*(1+epsilon))
	}
}

func TestExtremes(t *testing.T) {
	for _, epsilon := range []float64{Least, 1e-30, 700, 800, Most} {
		for _, m := range []*Measure{Response(epsilon), Laplace(epsilon, 64), Lattice(epsilon, 7)} {
			for _, whole := range []*Measure{m, m.Power(1000, 64), m.Power(1<<53, 64), Compose(m, Response(1), 64), Compose(m.Power(3, 64), Laplace(1e-3, 64), 64)} {
				for _, at := range []float64{math.Inf(-1), -1e300, -1, 0, 1e-300, 1, 1e6, 1e300, math.Inf(1)} {
					delta := whole.Delta(at)
					require.True(t, delta >= 0 && delta <= 1, "%g: %g", epsilon, delta)
					if at < -1e200 {
						require.GreaterOrEqual(t, delta, 1.0)
					}
				}
			}
		}
	}
	require.Nil(t, All(nil, 10))
	one := Response(1)
	require.Same(t, one, All([]*Measure{one}, 10))
}
