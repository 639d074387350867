package misragries

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/limits"
	"github.com/dpsketch/dpsketch/internal/logs"
	"github.com/dpsketch/dpsketch/internal/rounding"
	"github.com/dpsketch/dpsketch/noise"
)

// pair is the law of what one key releases on either side, in classes of outputs with one
// likelihood ratio.
type pair struct{ p, q []float64 }

func (p pair) turned() pair { return pair{p.q, p.p} }

// base returns what M adds the noise to for the value v, and with which probability it shows
// anything: what the sampler works with.
func (l sumLaw) base(v int64) (base int64, weight float64) {
	if v >= l.from {
		return v, 1
	}
	return l.from, math.Expm1(float64(v)/l.scale) / math.Expm1(float64(l.from)/l.scale)
}

// pair returns the laws for the values v and w: not shown; shown below both; each value between
// them; at or above both.
func (l sumLaw) pair(v, w int64) pair {
	d, err := noise.NewDiscreteLaplace(l.scale)
	if err != nil {
		panic(err)
	}
	bv, _ := l.base(v)
	bw, _ := l.base(w)
	lo, hi := max(min(bv, bw), l.threshold), max(bv, bw, l.threshold)
	side := func(v int64) []float64 {
		base, weight := l.base(v)
		below := func(x int64) float64 { return d.CDF(float64(x-base) - 0.5) }
		atLeast := func(x int64) float64 { return d.Survival(float64(x-base) - 0.5) }
		silent := below(l.threshold)
		if weight < 1 {
			silent = 1 - weight*atLeast(l.threshold)
		}
		span := below(lo) - below(l.threshold)
		if base < lo {
			span = atLeast(l.threshold) - atLeast(lo)
		}
		masses := []float64{silent, weight * span}
		for x := lo; x < hi; x++ {
			masses = append(masses, weight*d.Prob(float64(x-base)))
		}
		return append(masses, weight*atLeast(hi))
	}
	return pair{side(v), side(w)}
}

// hockeyStick returns Σ(a·p − b·q)₊ over all outputs of the independent keys.
func hockeyStick(keys []pair, a, b float64) float64 {
	if len(keys) == 0 {
		return max(a-b, 0)
	}
	sum := 0.0
	for i, p := range keys[0].p {
		if p > 0 && a > 0 {
			sum += hockeyStick(keys[1:], a*p, b*keys[0].q[i])
		}
	}
	return sum
}

// worstSum returns the largest divergence over all neighbouring sums that are 0 but for k keys
// (other keys do not change), with the values given.
func (l sumLaw) worstSum(k int, epsilon float64, values []int64) float64 {
	var pairs = map[[2]int64]pair{}
	for _, v := range values {
		for d := range int64(k) + 1 {
			pairs[[2]int64{v, v + d}] = l.pair(v, v+d)
		}
	}
	worst, factor := 0.0, math.Exp(epsilon)
	keys := make([]pair, k)
	// others fills keys[i:] with keys that rise by one from values[from:], or by nothing, and
	// keys[0] by any of first.
	var others func(i, from int, check func())
	others = func(i, from int, check func()) {
		if i == k {
			check()
			return
		}
		for j := from; j < len(values); j++ {
			keys[i] = pairs[[2]int64{values[j], values[j] + 1}]
			others(i+1, j, check)
		}
	}
	test := func(keys ...pair) {
		for range 2 {
			worst = max(worst, hockeyStick(keys, 1, factor))
			for i := range keys {
				keys[i] = keys[i].turned()
			}
		}
	}
	// (B), fewer keys included: a key that does not change is not there.
	for n := 1; n <= k; n++ {
		others(k-n, 0, func() { test(slices.Clone(keys[k-n:])...) })
	}
	// (A)
	for n := range k {
		others(k-n, 0, func() {
			for _, v := range values {
				for d := range int64(k) {
					moved := []pair{pairs[[2]int64{v, v + d + 1}].turned()}
					test(append(moved, keys[k-n:]...)...)
				}
			}
		})
	}
	return worst
}

// around returns the values that matter: small ones, those next to R and τ, and one far above.
func (l sumLaw) around(small int64) []int64 {
	values := []int64{l.from - 2, l.from - 1, l.from, l.from + 1, l.threshold - 2, l.threshold - 1, l.threshold, l.threshold + 1, l.threshold + int64(20*l.scale) + 20}
	for v := range small + 1 {
		values = append(values, v)
	}
	slices.Sort(values)
	values = slices.Compact(values)
	return slices.DeleteFunc(values, func(v int64) bool { return v < 0 })
}

// within allows for the roundings of the exact divergence.
func within(bound float64) float64 { return bound*(1+1e-9) + 1e-14 }

// The first bound, as calibrated: right for all neighbours, attained, broken by a lower threshold
// and by half the noise.
func TestL1BoundExactly(t *testing.T) {
	for k := 1; k <= 3; k++ {
		for _, s := range []struct{ epsilon, delta float64 }{{1, 1e-6}, {0.5, 1e-3}, {2, 1e-2}, {1, 0.2}, {4, 1e-9}} {
			law, ok := calibrateL1(k, s.epsilon, math.Log(s.delta))
			require.True(t, ok)
			bound := math.Exp(law.l1LogDelta(k, s.epsilon))
			require.LessOrEqual(t, bound, s.delta)
			values := law.around(8)
			exact := law.worstSum(k, s.epsilon, values)
			require.LessOrEqual(t, exact, within(bound), "k = %d, %+v: %+v", k, s, law)
			if law.silentLoss() <= 1/law.scale && law.from >= int64(k) {
				require.InEpsilon(t, bound, exact, 1e-8, "attained: k = %d, %+v: %+v", k, s, law)
			}
			if s.delta < 0.1 {
				lower, half := law, law
				lower.threshold--
				half.scale /= 2
				require.Greater(t, lower.worstSum(k, s.epsilon, values), s.delta)
				require.Greater(t, half.worstSum(k, s.epsilon, values), s.delta)
			}
		}
	}
}

// Both parts of Theorem 1 for laws of any kind: much and little noise, λ on either side of r, R and
// τ close together and far apart, thresholds so high that H is all that is left.
func TestConcentrationBoundExactly(t *testing.T) {
	laws, worst, worstH := 0, 0.0, 0.0
	for k := 2; k <= 4; k++ {
		if !dptest.Long() && k > 2 {
			break
		}
		for _, epsilon := range []float64{0.2, 0.5, 1, 2, 4} {
			for _, noisier := range []float64{0.5, 0.8, 1, 1.2, 1.5, 1.7, 3} {
				b := noisier * float64(k) / epsilon
				for _, from := range []int64{1, 3, 8, int64(math.Round(5 * b))} {
					for _, over := range []int64{1, 2, 5, int64(3*b) + 1, int64(60 * b)} {
						if k == 4 && (epsilon < 1 || from == 3 || over == 2 || over == 5 || noisier == 0.8 || noisier == 3) {
							continue
						}
						law := sumLaw{scale: b, from: from, threshold: from + over}
						bound := math.Exp(sumLogDelta(k, epsilon, law))
						exact := law.worstSum(k, epsilon, law.around(int64(4-k)))
						require.LessOrEqual(t, exact, within(bound), "k = %d, ε = %v, %+v", k, epsilon, law)
						laws++
						if bound > 1e-12 {
							worst = max(worst, exact/bound)
							if bound > 100*math.Exp(law.logEscapes(k)) {
								worstH = max(worstH, exact/bound)
							}
						}
					}
				}
			}
			law, ok := calibrateConcentration(k, epsilon, math.Log(1e-4))
			require.True(t, ok)
			require.LessOrEqual(t, law.worstSum(k, epsilon, law.around(int64(12-3*k))), within(1e-4))
		}
	}
	t.Logf("%d laws, exact/bound up to %.6f, where H matters up to %.3f", laws, worst, worstH)
}

// group is n keys with the same pair of laws with two classes at most, as a sum of privacy losses.
type group struct {
	n    int
	pair pair
}

// losses returns the masses of P and the losses of the classes of the whole group that weigh
// anything.
func (g group) losses() (mass, loss []float64) {
	var log [2]float64
	var ratio [2]float64
	class := 0
	for i, p := range g.pair.p {
		if p > 0 {
			log[class], ratio[class] = math.Log(p), math.Log(p)-math.Log(g.pair.q[i])
			class++
		}
	}
	if class == 1 {
		log[1], ratio[1] = math.Inf(-1), 0
	}
	size := float64(g.n)
	lgamma := func(x float64) float64 { y, _ := math.Lgamma(x + 1); return y }
	for i := range g.n + 1 {
		ones := float64(i)
		m := lgamma(size) - lgamma(ones) - lgamma(size-ones) + (size-ones)*log[0]
		l := (size - ones) * ratio[0]
		if i > 0 {
			m, l = m+ones*log[1], l+ones*ratio[1]
		}
		if m > -80 { // what is left out is positive, and far below any δ here
			mass, loss = append(mass, math.Exp(m)), append(loss, l)
		}
	}
	return mass, loss
}

// excess returns the exact divergence of a key with any law and of groups of others.
func excess(moved pair, groups []group, epsilon float64) float64 {
	mass, loss := []float64{1}, []float64{0}
	for _, g := range groups {
		m, l := g.losses()
		var masses, losses []float64
		for i := range mass {
			for j := range m {
				if p := mass[i] * m[j]; p > 1e-30 {
					masses, losses = append(masses, p), append(losses, loss[i]+l[j])
				}
			}
		}
		mass, loss = masses, losses
	}
	sum := 0.0
	for i, p := range moved.p {
		if p == 0 {
			continue
		}
		own := math.Log(p) - math.Log(moved.q[i]) // +Inf where q = 0
		for j := range mass {
			if over := own + loss[j] - epsilon; over > 0 {
				sum += p * mass[j] * -math.Expm1(-over)
			}
		}
	}
	return sum
}

// twoClasses merges the classes of a pair with equal ratios: stable keys that move by one have two.
func twoClasses(p pair) pair {
	var merged pair
	for i := range p.p {
		if p.p[i] == 0 && p.q[i] == 0 {
			continue
		}
		found := false
		for j := range merged.p {
			if math.Abs(p.p[i]*merged.q[j]-p.q[i]*merged.p[j]) <= 1e-9*p.p[i]*merged.q[j] {
				merged.p[j] += p.p[i]
				merged.q[j] += p.q[i]
				found = true
				break
			}
		}
		if !found {
			merged.p, merged.q = append(merged.p, p.p[i]), append(merged.q, p.q[i])
		}
	}
	return merged
}

// The second bound where H decides, at real sizes: k−1 keys that move by one, high or around R, and
// one that moves by k from anywhere; and k keys that move by one. The exact divergence is at most
// the bound, with τ as calibrated, and so high that only H is left.
func TestConcentrationBoundOfManyKeys(t *testing.T) {
	sizes := []int{64, 256, 1024}
	if !dptest.Long() {
		sizes = sizes[:1]
	}
	for _, k := range sizes {
		worst, worstH := 0.0, 0.0
		for _, epsilon := range []float64{0.5, 1, 3} {
			for _, delta := range []float64{1e-3, 1e-6, 1e-9} {
				if k > 256 && delta != 1e-6 {
					continue
				}
				calibrated, ok := calibrateConcentration(k, epsilon, math.Log(delta))
				require.True(t, ok)
				for _, less := range []float64{1, 0.96, 0.92} {
					b := calibrated.scale * less
					near, high := calibrated, sumLaw{scale: b, from: calibrated.from, threshold: calibrated.from + int64(50*b)}
					near.scale = b
					low := near
					low.threshold = low.from + int64(b)
					for variant, law := range []sumLaw{near, high, low} {
						if less != 1 && variant == 2 {
							continue
						}
						bound := math.Exp(law.concentrationLogDelta(k, epsilon))
						top := law.threshold + int64(60*b)
						stable := law.pair(top, top+1)
						stable = twoClasses(stable)
						require.Len(t, stable.p, 2)
						for _, small := range []int{0, k / 2, k - 1} {
							for _, from := range []int64{0, law.from - 1} {
								if small == 0 && from > 0 {
									continue
								}
								little := twoClasses(law.pair(from, from+1))
								check := func(name string, exact float64) {
									require.LessOrEqual(t, exact, within(bound), "k = %d, ε = %v, %+v: %s, %d keys at %d", k, epsilon, law, name, small, from)
									worst = max(worst, exact/bound)
									if bound > 100*math.Exp(law.logEscape(k)) {
										worstH = max(worstH, exact/bound)
									}
								}
								none := pair{[]float64{1}, []float64{1}}
								check("(B) up", excess(none, []group{{small, little.turned()}, {k - small, stable.turned()}}, epsilon))
								check("(B) down", excess(none, []group{{small, little}, {k - small, stable}}, epsilon))
								for _, v := range []int64{0, 1, law.from - int64(k), law.from - int64(k)/2, law.from - 1, law.from, law.threshold - int64(k)/2, top} {
									if v < 0 {
										continue
									}
									moved := law.pair(v, v+int64(k))
									others := []group{{small, little}, {k - 1 - small, stable}}
									check(fmt.Sprint("(A) up from ", v), excess(moved.turned(), others, epsilon))
									for i := range others {
										others[i].pair = others[i].pair.turned()
									}
									check(fmt.Sprint("(A) down to ", v), excess(moved, others, epsilon))
								}
							}
						}
					}
				}
			}
		}
		t.Logf("k = %d: exact/bound up to %.4f, with H alone up to %.4f", k, worst, worstH)
		require.Greater(t, worst, 0.5, "the bound is near the truth")
	}
}

// Without room for the others the bound would be wrong: the noise of the moved key alone, b = k/ε,
// is not private.
func TestManyKeysNeedRoom(t *testing.T) {
	const k, epsilon, delta = 256, 1, 1e-6
	law, _ := calibrateConcentration(k, epsilon, math.Log(delta))
	law.scale = k / epsilon
	law.threshold += 1 << 40
	stable := twoClasses(law.pair(1<<50, 1<<50+1))
	moved := law.pair(1<<50, 1<<50+k)
	require.Greater(t, excess(moved.turned(), []group{{k - 1, stable}}, epsilon), 100*delta)
	require.Greater(t, law.concentrationLogDelta(k, epsilon), math.Log(100*delta))
}

// shiftedLaw adds up, over the law of n, the exact law of the release of the keys with the counters
// c of one sketch and the units of other servers; hi is at least any value. Outputs of a key: not
// shown, τ … hi−1, at least hi.
func (l sumLaw) shiftedLaw(k int, c, other []int64, hi int64) []float64 {
	d, err := noise.NewDiscreteLaplace(l.scale)
	if err != nil {
		panic(err)
	}
	n0, err := noise.NewDiscreteLaplace(l.shift)
	if err != nil {
		panic(err)
	}
	outputs := map[int64][]float64{}
	for v := range hi + 1 {
		base, weight := l.base(v)
		masses := []float64{0}
		for x := l.threshold; x < hi; x++ {
			masses = append(masses, weight*d.Prob(float64(x-base)))
		}
		masses = append(masses, weight*d.Survival(float64(hi-base)-0.5))
		masses[0] = 1 - weight*d.Survival(float64(l.threshold-base)-0.5)
		if weight == 1 {
			masses[0] = d.CDF(float64(l.threshold-base) - 0.5)
		}
		outputs[v] = masses
	}
	sum := int64(0)
	for _, x := range c {
		sum += x
	}
	last := int64(k+1) * slices.Max(c)
	total := make([]float64, 1)
	for range c {
		total = make([]float64, len(total)*int(hi-l.threshold+2))
	}
	product := make([]float64, 0, len(total))
	scratch := make([]float64, 0, len(total))
	for n := range last + 1 {
		at := float64(n - sum - l.offset)
		p := n0.Prob(at)
		switch {
		case n == 0 && n == last:
			p = 1
		case n == 0: // and below
			p = n0.CDF(at)
		case n == last: // and above
			p = n0.Survival(at - 1)
		}
		product = append(product[:0], p)
		for i, x := range c {
			masses := outputs[max(int64(k+1)*x-n, 0)+other[i]]
			scratch = scratch[:0]
			for _, a := range product {
				for _, m := range masses {
					scratch = append(scratch, a*m)
				}
			}
			product, scratch = scratch, product
		}
		for i, m := range product {
			total[i] += m
		}
	}
	return total
}

// Theorem 2 for all sketches of 1 to 3 counters up to 8 and sums of other servers, low ones and (to
// three counters they are many) some at which everything shows, with all outputs and shifts.
func TestPrivateShiftExactly(t *testing.T) {
	notShort(t)
	for k := 1; k <= 3; k++ {
		if !dptest.Long() && k > 2 {
			break
		}
		worst := 0.0
		for _, s := range []struct{ epsilon, delta float64 }{{2, 1e-2}, {4, 1e-3}, {8, 1e-6}} {
			if k == 3 && s.epsilon == 8 {
				continue
			}
			law, _, ok := calibrateShifted(k, s.epsilon, s.delta)
			require.True(t, ok)
			short := law // an offset that is too small: (B) decides
			short.offset = 1
			low := law // a threshold that is too low: (A) decides
			low.from, low.threshold = 2, 3
			// (B) shows all that it has
			wide := sumLaw{shift: 8, scale: 1.0001 * float64(k+1) / (s.epsilon - 0.125), from: 1, offset: 2}
			wide.threshold = 2 + int64(20*wide.scale)
			for _, l := range []sumLaw{law, short, low, wide} {
				worst = max(worst, l.worstShift(t, k, s.epsilon, make([]int64, k)))
				if k < 3 && s.epsilon > 2 {
					others := []int64{l.threshold + 2, l.threshold + 2}
					worst = max(worst, l.worstShift(t, k, s.epsilon, others[:k]), l.worstShift(t, k, s.epsilon, []int64{1, 3}[:k]))
				}
			}
		}
		t.Logf("k = %d: exact/bound up to %.4f", k, worst)
		if k == 2 {
			require.Greater(t, worst, 0.7)
		}
	}
}

// worstShift returns the largest divergence of neighbouring sketches, as a share of the bound.
func (l sumLaw) worstShift(t *testing.T, k int, epsilon float64, other []int64) (worst float64) {
	bound, factor := math.Exp(l.shiftLogDelta(k, epsilon)), math.Exp(epsilon)
	hi := max(int64(k+1)*9+slices.Max(other), l.threshold+1)
	laws := map[string][]float64{}
	at := func(c []int64) []float64 {
		key := fmt.Sprint(c)
		if laws[key] == nil {
			laws[key] = l.shiftedLaw(k, c, other, hi)
		}
		return laws[key]
	}
	check := func(c []int64, change func(c []int64)) {
		neighbour := slices.Clone(c)
		change(neighbour)
		p, q := at(c), at(neighbour)
		var sums [2]float64
		for i := range p {
			sums[0] += max(p[i]-factor*q[i], 0)
			sums[1] += max(q[i]-factor*p[i], 0)
		}
		exact := max(sums[0], sums[1])
		worst = max(worst, exact/bound)
		require.LessOrEqual(t, exact, within(bound), "k = %d, ε = %v, %+v: %v to %v, others %v", k, epsilon, l, c, neighbour, other)
	}
	c := make([]int64, k)
	var extend func(i int)
	extend = func(i int) {
		switch {
		case i < k:
			for x := range int64(9) {
				if c[i] = x; i < 2 || x >= c[i-1] && x%4 == 1 && c[1]%4 <= 1 {
					extend(i + 1)
				}
			}
			return
		case c[0] < 8: // (A); the order of the others does not matter
			check(c, func(c []int64) { c[0]++ })
		}
		if slices.Min(c) > 0 { // (B)
			check(c, func(c []int64) {
				for i := range c {
					c[i]--
				}
			})
		}
	}
	extend(0)
	return worst
}

// Thresholds in counts, rounded up; for the shift, o + τ.
func TestSumThresholdTable(t *testing.T) {
	for _, row := range []struct {
		k              int
		epsilon, delta float64
		plain, shifted float64
		bound          string
	}{
		{1, 1, 1e-6, 7.5, 39, boundL1},
		{2, 1, 1e-6, 13.334, 33.334, boundL1},
		{4, 1, 1e-6, 18.2, 27.8, boundL1},
		{16, 1, 1e-6, 23.295, 20.648, boundL1},
		{16, 1, 1e-9, 35.883, 31.353, boundL1},
		{64, 1, 1e-6, 19.816, 17.031, boundConcentration},
		{64, 1, 1e-9, 32.8, 25.754, boundConcentration},
		{256, 1, 1e-6, 16.931, 15.304, boundConcentration},
		{256, 1, 1e-9, 27.113, 23.102, boundConcentration},
		{1024, 1, 1e-6, 15.328, 14.476, boundConcentration},
		{1024, 1, 1e-9, 23.907, 21.820, boundConcentration},
		{1024, 0.5, 1e-6, 28.430, 26.957, boundConcentration},
		{1024, 2, 1e-6, 8.390, 7.905, boundConcentration},
		{1 << 20, 1, 1e-6, 13.722, 13.696, boundConcentration},
	} {
		units := float64(row.k + 1)
		law, bound, ok := calibrateSum(row.k, row.epsilon, row.delta)
		require.True(t, ok)
		require.Equal(t, row.bound, bound)
		require.InEpsilon(t, row.plain, float64(law.threshold)/units, 1e-3, "%+v", row)
		require.LessOrEqual(t, float64(law.threshold)/units, row.plain, "%+v", row)
		law, bound, ok = calibrateShifted(row.k, row.epsilon, row.delta)
		require.True(t, ok)
		require.Equal(t, "private shift", bound)
		require.InEpsilon(t, row.shifted, float64(law.offset+law.threshold)/units, 1e-3, "%+v", row)
		require.LessOrEqual(t, float64(law.offset+law.threshold)/units, row.shifted, "%+v", row)
	}
}

// No other noise has a threshold that is lower by more than its rounding to R and τ.
func TestSumThresholdIsLeast(t *testing.T) {
	notShort(t)
	for i, k := range []int{1, 2, 3, 5, 16, 20, 64, 1024} {
		for j, epsilon := range []float64{0.1, 1, 5} {
			for n, delta := range []float64{1e-3, 1e-6, 1e-12} {
				if (i+j+n)%full(1, 4) != 0 {
					continue
				}
				want := math.Log(delta)
				got, _, _ := calibrateSum(k, epsilon, delta)
				gotShift, _, _ := calibrateShifted(k, epsilon, delta)
				hidden := func(l sumLaw) float64 { return float64(l.offset+l.threshold) + math.Log(10)*l.scale }
				least, leastShift := got.threshold, hidden(gotShift)
				for b := 0.9 * float64(k) / epsilon; b < 3*float64(k)/epsilon; b *= 1.015 {
					for _, share := range []float64{1.5, 2.5, 3.5, 5, 7} {
						law := sumLaw{scale: b}
						law.setRounding(k, want, share)
						law.settle(func(l sumLaw) bool { return sumLogDelta(k, epsilon, l) <= want || l.threshold > least })
						least = min(least, law.threshold)
					}
				}
				for shift := 1.05 / epsilon; shift < 20*float64(k)/epsilon; shift *= 1.03 {
					law := sumLaw{shift: shift, scale: (1 + 1e-12) * float64(k+1) / (epsilon - 1/shift)}
					for logs.Reach(shift, law.offset) > want {
						law.offset += 1 + int64(shift/100)
					}
					law.setRounding(k+1, want, rounding.Share)
					leastShift = min(leastShift, hidden(law))
				}
				slack := func(least int64) int64 { return 2 + least/400 }
				require.LessOrEqual(t, got.threshold, least+slack(least), "k = %d, ε = %v, δ = %v", k, epsilon, delta)
				require.LessOrEqual(t, hidden(gotShift), (1+max(0.002, 0.1/float64(k)))*leastShift+3, "k = %d, ε = %v, δ = %v", k, epsilon, delta)
			}
		}
	}
}

// Over the whole range of Params: a law that can be drawn and keeps its bound, or not ok; less
// threshold for more ε, δ; less δ for more.
func TestSumLawExtremes(t *testing.T) {
	deltas := []float64{minDelta, 1e-200, 1e-30, 1e-6, 1e-3, 0.1, 0.5, 0.9, 1 - 0x1p-53}
	epsilons := []float64{limits.MinEpsilon, 0x1p-20, 1e-3, 0.3, 1, 3, 50, limits.MaxEpsilon}
	counters := []int{1, 2, 3, 7, 100, 1024, 1 << 20}
	if !dptest.Long() {
		counters = []int{3, 1024}
	}
	for _, k := range counters {
		for _, shifted := range []bool{false, true} {
			var before []int64
			for _, epsilon := range epsilons {
				var row []int64
				for _, delta := range deltas {
					law, bound, ok := calibrateEither(k, epsilon, delta, shifted)
					name := fmt.Sprintf("k = %d, ε = %v, δ = %v, %s: %+v", k, epsilon, delta, bound, law)
					if !ok {
						require.Greater(t, (2*float64(k)+2)/epsilon, 0x1p49, name)
						row = append(row, math.MaxInt64/4)
						continue
					}
					require.True(t, law.valid(), name)
					require.Greater(t, law.threshold, law.from, name)
					require.GreaterOrEqual(t, law.from, int64(1), name)
					require.LessOrEqual(t, sumLogDelta(k, epsilon, law), math.Log(delta), name)
					require.False(t, math.IsNaN(sumLogDelta(k, epsilon, law)), name)
					last := 0.0
					for _, more := range []int64{0, 1, 10, 1000, 1 << 40} {
						higher := law
						higher.threshold += more
						got := sumLogDelta(k, epsilon, higher)
						require.False(t, math.IsNaN(got), name)
						require.LessOrEqual(t, got, last, name)
						last = got
					}
					require.LessOrEqual(t, sumLogDelta(k, epsilon*1.01, law), sumLogDelta(k, epsilon, law), name)
					row = append(row, law.threshold+law.offset)
					if n := len(row); n > 1 && delta <= 0.1 {
						// for a larger δ, which is of no use, the search is coarse
						require.LessOrEqual(t, row[n-1], row[n-2]+row[n-2]/100+2, name)
					}
					if before != nil && delta <= 0.1 {
						n := len(row) - 1
						require.LessOrEqual(t, row[n], before[n]+before[n]/100+2, name)
					}
				}
				before = row
			}
		}
	}
	law, _, _ := calibrateSum(3, 1, 1e-6)
	for _, bad := range []func(*sumLaw){
		func(l *sumLaw) { l.scale = 0 }, func(l *sumLaw) { l.scale = math.NaN() }, func(l *sumLaw) { l.from = 0 },
		func(l *sumLaw) { l.threshold = l.from }, func(l *sumLaw) { l.shift = 1 }, func(l *sumLaw) { l.shift = math.NaN() }, func(l *sumLaw) { l.shift = -1 },
	} {
		l := law
		bad(&l)
		require.Zero(t, sumLogDelta(3, 1, l), "%+v", l)
	}
	require.Zero(t, sumLogDelta(0, 1, law))
	require.Zero(t, sumLogDelta(3, math.NaN(), law))
}

func TestSumCalibrationIsFast(t *testing.T) {
	least := time.Hour
	for range 3 {
		start := time.Now()
		calibrateSum(1<<20, 1, 1e-6)
		least = min(least, time.Since(start))
	}
	require.Less(t, least, 500*time.Millisecond) // a twentieth of that is usual
	t.Log(least)
}

// bigExp returns e^x.
func bigExp(x *big.Float) *big.Float {
	const precision, halvings = 300, 40
	x = new(big.Float).SetPrec(precision).SetMantExp(x, -halvings)
	sum, term := new(big.Float).SetPrec(precision).SetInt64(1), new(big.Float).SetPrec(precision).SetInt64(1)
	for i := int64(1); i < 12; i++ {
		term.Mul(term, x)
		term.Quo(term, new(big.Float).SetInt64(i))
		sum.Add(sum, term)
	}
	for range halvings {
		sum.Mul(sum, sum)
	}
	return sum
}

// bigResponses returns H_ε of n responses, to 60 digits.
func bigResponses(n int, r, epsilon float64) *big.Float {
	number := func(x float64) *big.Float { return new(big.Float).SetPrec(300).SetFloat64(x) }
	up := bigExp(number(r))
	scale := new(big.Float).Quo(up, new(big.Float).Add(up, number(1))) // p₊
	term, square := number(1), number(1)
	for bits, power := n, new(big.Float).Copy(scale); bits > 0; bits >>= 1 { // p₊ⁿ
		if bits&1 == 1 {
			term.Mul(term, power)
		}
		power.Mul(power, power)
	}
	square.Mul(up, up)
	// e^{ε−(2i−n)r}, at i = n.
	exponent := new(big.Float).Mul(number(float64(n)), number(r))
	ratio := bigExp(exponent.Sub(number(epsilon), exponent))
	sum := number(0)
	for i := n; i >= 0; i-- {
		weight := new(big.Float).Sub(number(1), ratio)
		if weight.Sign() <= 0 {
			break
		}
		sum.Add(sum, weight.Mul(weight, term))
		ratio.Mul(ratio, square)
		term.Mul(term, number(float64(i)))
		term.Quo(term, number(float64(n-i+1)))
		term.Quo(term, up)
	}
	return sum
}

func TestLogResponses(t *testing.T) {
	sizes := []int{0, 1, 2, 3, 17, 200, 1023}
	if dptest.Long() {
		sizes = append(sizes, 1<<14)
	}
	for _, n := range sizes {
		size := max(1, float64(n))
		for _, whole := range []float64{1e-6, 0.1, 0.5, 1, 2, 30, 500} { // nr
			r := whole / size
			for _, share := range []float64{-1.2, -0.3, -0.01, 0, 1e-6, 0.05, 0.1, 0.3, 0.7, 0.99, 1} {
				epsilon := share * size * r
				if n > 1<<12 && (share < 0.05 || whole == 0.1) {
					continue
				}
				want := bigResponses(n, r, epsilon)
				got := logResponses(n, r, epsilon)
				if want.Sign() == 0 {
					require.Equal(t, math.Inf(-1), got)
					continue
				}
				// want/e^got − 1, in big numbers.
				want.Quo(want, bigExp(new(big.Float).SetPrec(300).SetFloat64(got)))
				quotient, _ := want.Float64()
				require.InDelta(t, 1, quotient, 1e-12*max(1, -got/700), "n = %d, r = %v, ε = %v: %v", n, r, epsilon, got)
			}
		}
	}
}

// H falls with ε and grows with r and n, up to the errors of the sum.
func TestLogResponsesIsMonotone(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 42))
	for range full(20_000, 4_000) {
		n := int(math.Exp(rng.Float64() * 10))
		r := math.Exp(rng.NormFloat64()) / float64(n)
		epsilon := rng.Float64() * float64(n) * r * rng.Float64()
		h := logResponses(n, r, epsilon)
		slack := 2e-12
		require.LessOrEqual(t, logResponses(n, r, epsilon*(1+rng.Float64()*1e-3)), h+slack)
		require.GreaterOrEqual(t, logResponses(n, r*(1+rng.Float64()*1e-3), epsilon), h-slack)
		require.GreaterOrEqual(t, logResponses(n+1, r, epsilon), h-slack)
		require.LessOrEqual(t, logResponses(n+1, r, epsilon+r), h+slack, "one response less costs r at most")
		require.LessOrEqual(t, h, 0.0)
	}
}
