package rounding

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/stretchr/testify/require"
)

// worstOfTwo returns the exact hockey-stick divergence of two passes, at S = 8, over the totals of
// up to most keys in the first pass and over all that an adversary may make of their totals in the
// second one, knowing what the first has shown; in both orders, with one more Gaussian release at
// distance mu. The user gives ⌊8/√l⌋ to each of his l keys, and then to those that are left.
func (k TwoPasses) worstOfTwo(epsilon, mu float64, most int) (worst float64) {
	const cells = 20
	law := func(k Quadratic, v int64) []float64 {
		return k.quadraticLaw(v, cells, max(1, int64(6*k.Scale)/cells), square)
	}
	totals := func(k Quadratic) []int64 {
		return []int64{0, k.From - 1, k.From, k.From + 4, k.Threshold, k.Threshold + int64(3*k.Scale)}
	}
	// second[h][i] are the laws of a key with the i-th total where h keys are left.
	type pair struct{ with, without []float64 }
	second := make([][]pair, most+1)
	for h := 1; h <= most; h++ {
		for _, v := range totals(k.Second) {
			second[h] = append(second[h], pair{law(k.Second, v+grid(h)), law(k.Second, v)})
		}
	}
	rest := func(a, b float64, h int, larger bool) (most float64) {
		if h == 0 {
			return apart(nil, nil, a, b, epsilon, mu)
		}
		each(h, len(second[h]), func(chosen []int) {
			var p, q [][]float64
			for _, i := range chosen {
				p, q = append(p, second[h][i].with), append(q, second[h][i].without)
			}
			if !larger {
				p, q = q, p
			}
			most = max(most, apart(p, q, a, b, epsilon, mu))
		})
		return most
	}
	var first func(p, q [][]float64, a, b float64, hidden int, larger bool) float64
	first = func(p, q [][]float64, a, b float64, hidden int, larger bool) (sum float64) {
		if len(p) == 0 {
			return rest(a, b, hidden, larger)
		}
		for o := range p[0] {
			if x, y := a*p[0][o], b*q[0][o]; x > 0 {
				left := hidden
				if o == 0 {
					left++
				}
				sum += first(p[1:], q[1:], x, y, left, larger)
			}
		}
		return sum
	}
	for l := 1; l <= most; l++ {
		all := totals(k.First)
		each(l, len(all), func(chosen []int) {
			var p, q [][]float64
			for _, i := range chosen {
				p, q = append(p, law(k.First, all[i]+grid(l))), append(q, law(k.First, all[i]))
			}
			worst = max(worst, first(p, q, 1, 1, 0, true), first(q, p, 1, 1, 0, false))
		})
	}
	return worst
}

// The theorem of two passes, by enumeration at S = 8 of an adversary who adapts: the exact laws are
// within Delta in both orders, with counts beside the keys and without. Half of the noise breaks it
// where the bound is within a factor of two.
func TestTwoPassesExactly(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 27))
	tightest, tight, broken, checked, massless := 0.0, 0, 0, 0, 0
	for checked < dptest.Full(24, 5) {
		epsilon := 0.5 + 1.5*rng.Float64()
		sigma := (1 + rng.Float64()) / min(epsilon, 1)
		kernel := func(sigma float64) Quadratic {
			from := 2 + rng.Int64N(int64(4*sigma))
			return Quadratic{8 * sigma, from, from + int64(8*sigma*(1.7+1.3*rng.Float64()))}
		}
		k := TwoPasses{kernel(sigma * (1 + rng.Float64())), kernel(sigma)}
		beside := []float64{0, 0.5 / (sigma * sigma)}[checked%2]
		u := Users{Unit: 8, MaxKeys: 2, Beside: beside}
		bound := k.Delta(epsilon, u)
		if bound > 0.3 {
			continue
		}
		checked++
		exact := k.worstOfTwo(epsilon, math.Sqrt(beside), 2)
		require.LessOrEqual(t, exact, bound, "%+v, ε = %v, %+v", k, epsilon, u)
		tightest = max(tightest, exact/bound)
		// The sums by which releases compose hold too, for two that are one after the other; not
		// without the mass of new keys.
		keys := k.Keys(u)
		require.LessOrEqual(t, exact, composed(keys, epsilon), "%+v, ε = %v, %+v", k, epsilon, u)
		clear(keys[3:])
		if exact > composed(keys, epsilon) {
			massless++
		}
		if exact < bound/2 {
			continue // a bound that is far off need not be broken
		}
		tight++
		half := k
		half.First.Scale, half.Second.Scale = k.First.Scale/2, k.Second.Scale/2
		if half.worstOfTwo(epsilon, 2*math.Sqrt(beside), 1) > bound {
			broken++
		}
	}
	require.Greater(t, tightest, 0.5)
	require.Positive(t, tight)
	require.Equal(t, tight, broken)
	if !testing.Short() {
		require.Positive(t, massless)
	}
}

// With parameters for ε = 1, δ = 1e-6 and 100 keys the bound is near δ, from where ForTwoPasses
// starts; each part of the theorem takes part in it.
func TestThresholdsForTwoPasses(t *testing.T) {
	dptest.NotShort(t, "half a second")
	const s = 1 << 20
	steps := func(x float64) int64 { return int64(x * s) }
	u := Users{Unit: s, MaxKeys: 100}
	k := TwoPasses{Quadratic{12.189 * s, steps(3.7), steps(63.8)}, Quadratic{4.607 * s, steps(1.4), steps(23.83)}}
	bound := k.Delta(1, u)
	require.InDelta(t, 9.5e-7, bound, 0.4e-7)
	for _, c := range []struct {
		change  func(k *TwoPasses, u *Users)
		atLeast float64
	}{
		{func(k *TwoPasses, u *Users) { k.First.Threshold -= 4 * s }, 1.1},
		{func(k *TwoPasses, u *Users) { k.First.Scale *= 0.95 }, 1.05},
		{func(k *TwoPasses, u *Users) { k.Second.Threshold -= s }, 1.5},
		{func(k *TwoPasses, u *Users) { k.Second.Scale *= 0.95 }, 1.5},
		{func(k *TwoPasses, u *Users) { u.Beside = 0.002 }, 1.2},
		{func(k *TwoPasses, u *Users) { u.Replace = true }, 10},
		{func(k *TwoPasses, u *Users) { u.MaxKeys = 4096 }, 1.05},
	} {
		k, u := k, u
		c.change(&k, &u)
		require.Greater(t, k.Delta(1, u), c.atLeast*bound)
	}
	k, ok := ForTwoPasses(12.189*s, 4.607*s, 1, 1e-6, u)
	require.True(t, ok)
	require.LessOrEqual(t, k.Delta(1, u), 1e-6)
	require.InDelta(t, 60.1, float64(k.First.Threshold)/s, 0.3)
	require.InDelta(t, 23.87, float64(k.Second.Threshold)/s, 0.1)
	_, ok = ForTwoPasses(12*s, 4*s, 1, 1e-6, u) // less noise than the keys of others need
	require.False(t, ok)
	require.EqualValues(t, 1, TwoPasses{k.First, Quadratic{}}.Delta(1, u))
	require.EqualValues(t, 1, TwoPasses{Quadratic{}, k.Second}.Delta(1, u))

	// What an adversary gains who cannot adapt is less: the shares of both passes are fixed.
	first, second := k.First.shape(1, u), k.Second.shape(1, u)
	fixed := 0.0
	for _, y := range coarse {
		for _, z := range coarse {
			// κ = e^¼: K = 0 alone, a lower bound of both passes' terms
			bad := func(s *shape, y float64) float64 { return y * s.eta / (s.r * s.r) }
			fixed = max(fixed, bad(&first, y)+bad(&second, z)+gap(1, math.Hypot(math.Sqrt(1-y)/first.sigma, math.Sqrt(1-z)/second.sigma)))
		}
	}
	require.Greater(t, k.Delta(1, u), fixed)

	// The smaller input first is seen where Λ is raised by hand.
	first.Beside = 0
	require.Less(t, deltaOfTwo(&first, &second), 1e-6)
	second.lambda = 0.5
	require.Greater(t, deltaOfTwo(&first, &second), 1e-5)
}

// The table bounds the expectation of V from above, and nearly attains it: against V itself, with
// the best κ for each r, summed finely.
func TestTableOfTheSecondPass(t *testing.T) {
	dptest.NotShort(t, "half a second")
	const s = 1 << 20
	k := Quadratic{4.607 * s, 1468006, 24987566}
	form := k.shape(1, Users{Unit: s, MaxKeys: 100})
	const mu = 1 / 12.189
	for _, loss := range []float64{0, 0.3} {
		direct := 0.0
		const step = 0.05
		for x := -6.; x < 9; x += step {
			mass := math.Exp(-(x-mu)*(x-mu)/2) / math.Sqrt(2*math.Pi) * step // of p
			worst := 0.0
			for i := range len(coarse) - 1 {
				form.after = func(more, mu float64) float64 { return gap(1-(loss+mu0(x))-more, mu) }
				distance := form.distance(coarse[i])
				worst = max(worst, form.larger(coarse[i+1], distance, form.choice(coarse[i+1], distance, exactKappa)))
			}
			direct += mass * worst
		}
		bound := tabulate(&form, mu).after(loss, mu)
		require.Greater(t, bound, direct*(1-1e-3))
		require.Less(t, bound, direct*1.08)
	}
}

// mu0 is ln(p/q) at x for N(1/12.189, 1) and N(0, 1).
func mu0(x float64) float64 { return x/12.189 - 1/(2*12.189*12.189) }
