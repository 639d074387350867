package distinct

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// machine returns the numbers that a builder adds noise to, where the i-th key has the history
// in[i].
type machine func(keys []uint64, in []int) numbers

// moved returns the differences that a key makes to the numbers, with how often: over all
// placements of three keys in three cells, and all histories of them, the third with one and
// without.
func moved(of machine, count int) map[string]numbers {
	keys := keysOf(tiny)
	seen, cache := map[string]numbers{}, map[[6]uint64]numbers{}
	at := func(keys []uint64, in []int) numbers {
		id := [6]uint64{keys[0], keys[1], keys[2], uint64(in[0]), uint64(in[1]), uint64(in[2])}
		if cache[id] == nil {
			cache[id] = of(keys, in)
		}
		return cache[id]
	}
	for placement := range 27 {
		if placement%3 > placement/3%3 {
			continue // the same with two names changed
		}
		three := []uint64{keys[placement%3][0], keys[placement/3%3][1], keys[placement/9][2]}
		for first := range count {
			for second := range count {
				without := at(three, []int{first, second, 0})
				for third := 1; third < count; third++ {
					with := at(three, []int{first, second, third})
					by := make(numbers, len(with))
					for i := range by {
						by[i] = with[i] - without[i]
					}
					seen[fmt.Sprint(by)] = by
				}
			}
		}
	}
	return seen
}

// norm returns the largest ℓ₁ norm.
func norm(moves map[string]numbers) (most int64) {
	for _, by := range moves {
		sum := int64(0)
		for _, x := range by {
			sum += max(x, -x)
		}
		most = max(most, sum)
	}
	return most
}

// The class theorem, for every machine of this package: a key moves one cell from one class to
// another, so the norm of a difference is 2, or 0, and its sum 0. The flaws that the theorem
// excludes are seen: a clock that only arrivals move, keys that are pushed to another cell, and
// sums of classes with noise of their own.
func TestOneCellMoves(t *testing.T) {
	for name, c := range map[string]struct {
		of        machine
		histories int
	}{
		"windows": {func(keys []uint64, in []int) numbers { return windowsOf(t, keys, in) }, len(histories)},
		"cohorts": {func(keys []uint64, in []int) numbers { return cohortsOf(t, 3, keys, in)[:pairsOf(3)+1] }, 8},
		"a pair":  {func(keys []uint64, in []int) numbers { return pairOf(t, keys, in) }, 4},
	} {
		moves := moved(c.of, c.histories)
		require.EqualValues(t, 2, norm(moves), name)
		require.Greater(t, len(moves), 3, name)
		for _, by := range moves {
			sum, most := int64(0), int64(0)
			for _, x := range by {
				sum, most = sum+x, max(most, x, -x)
			}
			require.True(t, sum == 0 && most <= 1, "%s: %v", name, by)
		}
	}
	sums := func(keys []uint64, in []int) numbers {
		n := windowsOf(t, keys, in)
		return numbers{n[0], n[0] + n[1], n[0] + n[1] + n[2]}
	}
	require.EqualValues(t, 3, norm(moved(sums, len(histories))), "windows that are sums with noise of their own")
	apart := func(keys []uint64, in []int) numbers {
		n := pairOf(t, keys, in)
		return numbers{n[inA] + n[inBoth], n[inB] + n[inBoth], n[inA] + n[inB] + n[inBoth]}
	}
	require.EqualValues(t, 3, norm(moved(apart, 4)), "A, B and A∪B with noise of their own")
	arrivals := func(keys []uint64, in []int) numbers {
		b, day := windowBuilder(t, tiny, 1), 1
		for slot := range slots {
			if (histories[in[0]]|histories[in[1]]|histories[in[2]])>>slot&1 != 0 {
				day += 4
				require.NoError(t, b.Advance(day))
			}
			for i, key := range keys {
				if histories[in[i]]>>slot&1 != 0 {
					b.Add(key)
				}
			}
		}
		return held(b.secret).classes()
	}
	require.EqualValues(t, 4, norm(moved(arrivals, len(histories))), "a clock that arrivals move")
	pushed := func(keys []uint64, in []int) numbers {
		b := windowBuilder(t, tiny, 99)
		s := held(b.secret)
		for slot, day := range days {
			require.NoError(t, b.Advance(day))
			for i, key := range keys {
				if histories[in[i]]>>slot&1 != 0 {
					cell := s.place.cell(key)
					if old := s.stamps[cell]; old > 0 && old < s.today {
						s.stamps[(cell+1)%16] = max(old, s.stamps[(cell+1)%16])
					}
					s.stamps[cell] = s.today
				}
			}
		}
		return s.classes()
	}
	require.Greater(t, norm(moved(pushed, len(histories))), int64(2), "the key that was there before is pushed to the next cell")
}

// shifts returns the joint law of two draws and the same moved by 1 and −1.
func shifts(law noise.DiscreteLaplace) (p, q map[[2]int]float64) {
	const reach = 90
	p, q = map[[2]int]float64{}, map[[2]int]float64{}
	for x := -reach; x <= reach; x++ {
		for y := -reach; y <= reach; y++ {
			p[[2]int{x, y}] = law.Prob(float64(x)) * law.Prob(float64(y))
			q[[2]int{x, y}] = law.Prob(float64(x-1)) * law.Prob(float64(y+1))
		}
	}
	return p, q
}

// Two numbers that move by one: the loss is ε at most, and is attained; noise of a scale of 99 %
// has more. The divergence at each ε′ is that of two responses of ε/2, which is what the accountant
// takes the release for.
func TestTwoMovesAreTwoResponses(t *testing.T) {
	for _, epsilon := range []float64{0.5, 1, 3} {
		params := tiny
		params.Epsilon = epsilon
		law := dptest.OK(params.classLaw())(t)
		p, q := shifts(law)
		loss := func(p, q map[[2]int]float64) (most float64) {
			for o, mass := range p {
				most = max(most, math.Abs(math.Log(mass/q[o])))
			}
			return most
		}
		require.InDelta(t, epsilon, loss(p, q), 1e-9)
		weak := dptest.OK(noise.NewDiscreteLaplace(0.99 * law.Scale()))(t)
		require.Greater(t, loss(shifts(weak)), epsilon*1.005)
		g := params.twoMoves()
		require.Equal(t, epsilon, g.Epsilon())
		for at, want := range map[float64]float64{0: .244918662, 0.2: .213360587, 0.5: .152451907, 0.9: .036871277} {
			d := dptest.HockeyStick(p, q, at)
			if epsilon == 1 {
				require.InDelta(t, want, d, 1e-9)
				require.InDelta(t, want, g.DeltaAt(at), 1e-9)
			}
			require.GreaterOrEqual(t, g.DeltaAt(at), d-1e-12)
			require.InDelta(t, d, g.DeltaAt(at), 1e-9)
		}
	}
}

// What a year costs: 365 windows or pairs of ε = .0622 are (4, 1e-6)-DP, where one response each
// would allow .0441.
func TestYearOfWindows(t *testing.T) {
	p := tiny
	p.Epsilon = 0.0622
	require.InDelta(t, 4, p.twoMoves().Times(365).EpsilonAt(1e-6), 0.01)
	require.InDelta(t, 4, budget.PureDP(0.0441, unit).Times(365).EpsilonAt(1e-6), 0.01)
	p.Epsilon = 0.1
	require.InDelta(t, 6.88, p.twoMoves().Times(365).EpsilonAt(1e-6), 0.01)
	require.InDelta(t, 10.31, budget.PureDP(0.1, unit).Times(365).EpsilonAt(1e-6), 0.01)
	for _, epsilon := range []float64{0x1p-30, 1e-6, 44} {
		p.Epsilon = epsilon
		require.True(t, p.twoMoves().Promises())
		require.Equal(t, epsilon, p.twoMoves().Epsilon())
	}
}

// noisy checks that numbers whose truth is 0 have the noise of classLaw, each by itself: 20,000
// draws by χ², and the products of neighbours, whose mean is 0 within 7 standard errors.
// False-reject probability 2e-10.
func noisy(t *testing.T, p Params, release func() numbers) {
	t.Helper()
	law := dptest.OK(p.classLaw())(t)
	const enough, reach = 20_000, 12
	observed, expected := make([]int64, 2*reach+2), make([]float64, 2*reach+1)
	for i := range expected {
		expected[i] = law.Prob(float64(i - reach))
	}
	products, pairs, all := 0.0, 0.0, 0
	for all < enough {
		n := release()
		all += len(n)
		for i, z := range n {
			if z < -reach || z > reach {
				z = reach + 1
			}
			observed[z+reach]++
			if i > 0 {
				products, pairs = products+float64(n[i]*n[i-1]), pairs+1
			}
		}
	}
	dptest.ChiSquare(t, "classes", observed, expected, 1e-10)
	dptest.Alarm(t, 1e-10)
	require.InDelta(t, 0, products/pairs, 7*law.Variance()/math.Sqrt(pairs))
}
