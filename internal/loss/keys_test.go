package loss

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/exact"
)

// shown is a release of keys that nobody listed, in units of the ℓ₂ norm of a user's weights: noise
// σ, totals below r rounded to 0 or r by their squares, a threshold, and at most so many keys.
type shown struct {
	sigma, r, threshold float64
	keys                int
}

func tail(x float64) float64 { return math.Erfc(x/math.Sqrt2) / 2 }

// gap returns ∫(p − e^ε·q)₊ of N(μ, 1) and N(0, 1).
func gap(epsilon, mu float64) float64 {
	if mu == 0 {
		return max(-math.Expm1(epsilon), 0)
	}
	return max(tail(epsilon/mu-mu/2)-math.Exp(epsilon)*tail(epsilon/mu+mu/2), 0)
}

// with returns a profile for Delta: Gaussian noise of μ².
func with(muSquares float64) func(float64) float64 {
	return func(epsilon float64) float64 { return gap(epsilon, math.Sqrt(muSquares)) * (1 + 1e-9) }
}

// law returns what bounds it, by the formulas of internal/rounding for each κ; mass is
// what G is for η/R², h and κ.
func (s shown) law(norm float64, mass func(share, h, kappa float64) float64) Keys {
	reach := s.threshold - s.r
	eta := tail(reach / s.sigma)
	slope := math.Exp(-(reach-1)*(reach-1)/(2*s.sigma*s.sigma))/(math.Sqrt(2*math.Pi)*s.sigma) + 2*eta/s.r
	drift := slope * math.Sqrt(float64(s.keys)) / (1 - tail((reach-1)/s.sigma))
	if reach <= 1 {
		drift = math.Inf(1)
	}
	return NewKeys(norm/(s.sigma*s.sigma), -float64(s.keys)*math.Log1p(-eta), drift, func(logKappa float64) float64 {
		root := reach*reach - 2*s.sigma*s.sigma*logKappa
		c0 := max(1, reach-math.Sqrt(root))
		if !(root > 0 && reach > c0 && reach > 1 && reach*(reach-c0) >= s.sigma*s.sigma) {
			return 1
		}
		h := 1.0
		for i := range 500 {
			c, d := c0*float64(i)/500, c0*float64(i+1)/500
			h = max(h, tail((reach-d)/s.sigma)/eta/((1+c/s.r)*(1+c/s.r)))
		}
		if kappa := math.Exp(logKappa); kappa > h {
			return mass(eta/(s.r*s.r), h, kappa)
		}
		return 1
	})
}

func byTheorem(share, h, kappa float64) float64 { return share * h * kappa / (kappa - h) }

// outcome is a set of outputs, of P-mass p and Q-mass q.
type outcome struct{ p, q float64 }

func together(a, b []outcome) (c []outcome) {
	for _, x := range a {
		for _, y := range b {
			c = append(c, outcome{x.p * y.p, x.q * y.q})
		}
	}
	return c
}

// key returns the outcomes of one small key of total v to which the user adds d: hidden, and what
// is shown in so many cells.
func (s shown) key(v, d float64, cells int) []outcome {
	mass := func(v, above float64) float64 {
		share := 1.0
		if v < s.r {
			share, v = v*v/(s.r*s.r), s.r
		}
		return share * tail((above-v)/s.sigma)
	}
	list := []outcome{{1 - mass(v+d, s.threshold), 1 - mass(v, s.threshold)}}
	for i := range cells {
		from, to := s.threshold+float64(i)*4*s.sigma/float64(cells), s.threshold+float64(i+1)*4*s.sigma/float64(cells)
		if i == cells-1 {
			to = math.Inf(1)
		}
		list = append(list, outcome{mass(v+d, from) - mass(v+d, to), mass(v, from) - mass(v, to)})
	}
	return list
}

// way is one of the ways in which a user can be in a release: what the small keys show, and the
// distance that is left for large ones, of which the sum is known.
type way struct {
	small []outcome
	mu    float64
}

// apart returns ∫(r·P − e^ε·Q)₊ of one release, exactly.
func (w way) apart(r, epsilon float64) (sum float64) {
	for _, o := range w.small {
		switch {
		case o.p > 0 && o.q > 0:
			sum += r * o.p * gap(epsilon-math.Log(r*o.p/o.q), w.mu)
		case o.p > 0:
			sum += r * o.p
		}
	}
	return sum
}

// ways returns some, with the user's own small keys, or under Replace with those of the one who
// takes his place as well.
func (s shown) ways(replace bool, small int) (list []way) {
	norm := 1.0
	if replace {
		norm = 2
	}
	add := func(shares float64, keys ...[]outcome) {
		all := []outcome{{1, 1}}
		for _, k := range keys {
			all = together(all, k)
		}
		list = append(list, way{all, math.Sqrt(norm-shares) / s.sigma})
	}
	add(0)
	for _, v := range []float64{0, 0.5, 0.999} {
		for _, d := range []float64{0.5, 1} {
			up := s.key(v*s.r, d, 8)
			add(d*d, up)
			if replace {
				down := s.key(v*s.r, d, 8)
				for i, x := range down {
					down[i] = outcome{x.q, x.p}
				}
				add(d*d, down)
				add(d*d+1, s.key(0.4*s.r, 1, 8), down)
			}
		}
	}
	if small > 1 {
		half := math.Sqrt(0.5)
		for _, v := range []float64{0, 0.6, 0.999} {
			add(1, s.key(v*s.r, half, 4), s.key(v*s.r, half, 4))
		}
	}
	return list
}

// attack returns the largest exact ∫(P − e^ε·Q)₊ of two releases: the second, and how the user is
// in it, are chosen by what the first showed, of which the sum of large keys is seen in cells.
func attack(epsilon float64, first []way, second []way) (worst float64) {
	const step = 0.05
	// What the second makes of a ratio of r, at points below it: a bit less than the exact.
	most := map[int]float64{}
	value := func(r float64) float64 {
		i := int(math.Floor(math.Log(r) / step))
		if x, ok := most[i]; ok {
			return x
		}
		r, best := math.Exp(float64(i)*step), 0.0
		for _, w := range second {
			best = max(best, w.apart(r, epsilon))
		}
		most[i] = best
		return best
	}
	for _, w := range first {
		const cells = 40
		var large []outcome
		for i := range cells {
			from, to := -6+12*float64(i)/cells, -6+12*float64(i+1)/cells
			if i == cells-1 {
				to = math.Inf(1)
			}
			large = append(large, outcome{tail(from-w.mu) - tail(to-w.mu), tail(from) - tail(to)})
		}
		sum := 0.0
		for _, o := range together(w.small, large) {
			switch {
			case o.p > 0 && o.q > 1e-300:
				sum += o.q * value(o.p/o.q)
			case o.p > 0:
				sum += o.p
			}
		}
		worst = max(worst, sum)
	}
	return worst
}

// swapped returns the ways for the other order of the neighbours.
func swapped(list []way) (other []way) {
	for _, w := range list {
		small := make([]outcome, len(w.small))
		for i, o := range w.small {
			small[i] = outcome{o.q, o.p}
		}
		other = append(other, way{small, w.mu})
	}
	return other
}

// largest returns the sums that bound all of several.
func largest(list ...Keys) (most Keys) {
	for _, k := range list {
		for i, x := range k {
			most[i] = max(most[i], x)
		}
	}
	return most
}

// Two releases, where the second's Params and the user's keys in it are chosen by what the first
// showed: no exact divergence is above Delta, in either order, under either relation. The flaws
// that are named must be seen.
func TestKeysExactly(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 36))
	settings, tightest := dptest.Full(600, 60), 0.0
	flaws := map[string]int{}
	for n := 0; n < settings; {
		replace, small := n%3 == 2, 1+n%2
		norm := 1.0
		if replace {
			norm = 2
		}
		epsilon := 0.2 + 1.8*rng.Float64()
		sigma := 0.8 + 3.2*rng.Float64()
		var sets []shown
		for range 3 {
			r := 0.3 + 1.7*rng.Float64()
			sets = append(sets, shown{sigma, r, r + sigma*(1.3+3.2*rng.Float64()), small})
		}
		first := sets[0]
		law := func(mass func(share, h, kappa float64) float64) (a, b Keys) {
			return first.law(norm, mass), largest(sets[1].law(norm, mass), sets[2].law(norm, mass))
		}
		a, b := law(byTheorem)
		both := a.Plus(b)
		bound := both.Delta(epsilon, with(both.MuSquares()))
		if bound > 0.5 || !both.Valid() {
			continue
		}
		n++
		second := append(sets[1].ways(replace, small), sets[2].ways(replace, small)...)
		larger := attack(epsilon, first.ways(replace, small), second)
		smaller := attack(epsilon, swapped(first.ways(replace, small)), swapped(second))
		exact := max(larger, smaller)
		require.LessOrEqual(t, exact, bound, "%+v at %v", sets, epsilon)
		tightest = max(tightest, exact/bound)

		see := func(name string, k Keys, muSquares float64) {
			if exact > k.Delta(epsilon, with(muSquares)) {
				flaws[name]++
			}
		}
		see("the escapes left out", Keys{both[0], both[1], both[2]}, both.MuSquares())
		if !replace {
			require.LessOrEqual(t, smaller, gap(epsilon-both[2], math.Sqrt(both.MuSquares()))*(1+1e-9))
			worst := 0.0 // of one release, where cells lose nothing
			for i := range 9 {
				v, d := []float64{0, 0.5, 0.999}[i/3]*first.r, []float64{0.05, 0.2, 0.6}[i%3]
				w := swapped([]way{{first.key(v, d, 8), math.Sqrt(1-d*d) / sigma}})[0]
				worst = max(worst, w.apart(1, epsilon))
			}
			require.LessOrEqual(t, worst, gap(epsilon-a[2], 1/sigma)*(1+1e-9))
			if worst > gap(epsilon, 1/sigma)*(1+1e-9) {
				flaws["no loss of hidden keys"]++
			}
		}
		see("half of all", both.Times(0.5), both.MuSquares()/2)
		once := both
		copy(once[3:], b[3:])
		see("the escapes of one release", once, both.MuSquares())
		plainA, plainB := law(func(share, _, _ float64) float64 { return share })
		plain := plainA.Plus(plainB)
		see("escapes of η/R²", plain, plain.MuSquares())
		if replace {
			see("one user's μ² for two", both, both.MuSquares()/2)
		}
	}
	t.Logf("the worst is %.4f of its bound; flaws seen of %d: %v", tightest, settings, flaws)
	if testing.Short() { // too few to see all
		return
	}
	require.Greater(t, tightest, 0.9)
	for name, least := range map[string]int{"the escapes left out": 10, "no loss of hidden keys": 2, "half of all": 10, "the escapes of one release": 2, "escapes of η/R²": 1, "one user's μ² for two": 5} {
		require.GreaterOrEqual(t, flaws[name], least, name)
	}
}

// Delta is what the theorem says, term by term, in its own order; (1 − G)·rest is less.
func TestKeysFormula(t *testing.T) {
	k := Keys{0.3, 0.02, 1e-3}
	for i := range kappas {
		k[3+i] = 1e-4 / math.Expm1(LogKappa(i))
	}
	require.True(t, k.Valid())
	rest := with(k.MuSquares())
	for _, epsilon := range []float64{-0.5, 0, 0.3, 1, 2.5} {
		least := 1.0
		for i := range kappas {
			sum, mass := k[3+i], math.Exp(-k[1])
			for n := range 40 {
				at := float64(n)*LogKappa(i) + k[2]
				sum += mass * math.Exp(at) * min(rest(epsilon-at), 1)
				mass *= k[1] / float64(n+1)
			}
			require.InEpsilon(t, min(sum, 1), k.DeltaBy(i, epsilon, rest), 1e-7)
			require.GreaterOrEqual(t, k.DeltaBy(i, epsilon, rest), min(sum, 1))
			least = min(least, sum)
		}
		got := k.Delta(epsilon, rest)
		require.InEpsilon(t, least, got, 1e-7)
		i := k.Best(epsilon, rest)
		finite := Keys{k[0], k[1], k[2]}.DeltaBy(i, epsilon, rest)
		require.GreaterOrEqual(t, got, min(k[3+i]+finite*(1-1e-9), 1))
		if got < 1 {
			require.Greater(t, got, k[3+i]+(1-k[3+i])*finite)
		}
	}
	// Beyond eight shown keys everything counts as lost.
	many := Keys{0.3, 3, 0}
	require.Greater(t, many.DeltaBy(15, 20, func(float64) float64 { return 0 }), 0.0)
	require.EqualValues(t, 1, Keys{0.3, 800, 0}.Delta(1, rest))
	require.EqualValues(t, 1, Keys{0.3, 1, 2000}.Delta(1, rest))

	// 2⁻⁷ to 1.5, in steps of 3/2 and 4/3.
	require.Equal(t, 0x1p-7, LogKappa(0))
	require.Equal(t, 1.5, LogKappa(kappas-1))
	for i := 1; i < kappas; i++ {
		require.Greater(t, LogKappa(i), LogKappa(i-1))
	}
	clamped := NewKeys(1, 2, 3, func(x float64) float64 {
		switch {
		case x < 0.01:
			return math.NaN()
		case x < 0.1:
			return math.Inf(1)
		}
		return x
	})
	require.EqualValues(t, []float64{1, 2, 3, 1, 1, 1}, clamped[:6])
	require.Equal(t, 0.125, clamped[3+8])
	require.EqualValues(t, 1, clamped[3+15])

	require.True(t, Keys{}.Valid())
	for _, bad := range []Keys{{0, 1}, {1, -1}, {1, math.NaN()}, {math.Inf(1)}, {1, 0, math.Copysign(0, -1)}} {
		require.False(t, bad.Valid(), "%v", bad)
	}
	sum := Keys{1, 0x1p-60}.Plus(Keys{0x1p-60, 1})
	require.Equal(t, up(1), sum[0], "rounded up")
	require.Equal(t, sum, Keys{0.5, 0x1p-61}.Plus(Keys{0x1p-61, 0.5}).Times(2))
	require.EqualValues(t, 1, Keys{1 / 3.0}.Times(3)[0])
}

// What releases cost together, and what thresholds n of them need: within .3 % of the results.
func TestKeysFigures(t *testing.T) {
	one := shown{5.4956, 1.36, 34.26, 100}.law(1, byTheorem) // (1, 1e-9)-DP alone
	for _, c := range []struct{ n, epsilon float64 }{{2, 1.095}, {7, 2.163}, {30, 4.874}, {365, 22.21}} {
		all := one.Times(c.n)
		got := exact.LeastFloat(0, 300, func(epsilon float64) bool { return all.Delta(epsilon, with(all.MuSquares())) <= 1e-6 })
		t.Logf("%v × (1, 1e-9): %.4f at 1e-6", c.n, got)
		require.InEpsilon(t, c.epsilon, got, 3e-3)
	}
	for _, c := range []struct{ n, threshold float64 }{{7, 61.83}, {30, 128.75}, {365, 456.3}} {
		sigma := exact.LeastFloat(1, 1e3, func(s float64) bool { return gap(1, 1/s) <= 5e-7 }) * math.Sqrt(c.n)
		r := 1.3 * sigma / 4.75
		least := exact.Root(4*sigma, 7*sigma, 30, func(threshold float64) float64 {
			all := shown{sigma, r, threshold, 100}.law(1, byTheorem).Times(c.n)
			return all.Delta(1, with(all.MuSquares())) - 1e-6
		})
		t.Logf("%v releases of (1, 1e-6): threshold %.2f at σ = %.3f", c.n, least, sigma)
		require.InEpsilon(t, c.threshold, least, 3e-3)
	}
}
