package thresholds

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/noise"
)

// pair is the law of what one key releases on either side, in classes of outputs with one
// likelihood ratio.
type pair struct{ p, q []float64 }

func (p pair) turned() pair { return pair{p.q, p.p} }

// base returns what M adds the noise to for the value v, and with which probability it shows
// anything: what the sampler works with.
func (l Noise) base(v int64) (base int64, weight float64) {
	if v >= l.From {
		return v, 1
	}
	return l.From, math.Expm1(float64(v)/l.Scale) / math.Expm1(float64(l.From)/l.Scale)
}

// pair returns the laws for the values v and w: not shown; shown below both; each value between
// them; at or above both.
func (l Noise) pair(v, w int64) pair {
	d, err := noise.NewDiscreteLaplace(l.Scale)
	if err != nil {
		panic(err)
	}
	bv, _ := l.base(v)
	bw, _ := l.base(w)
	lo, hi := max(min(bv, bw), l.Threshold), max(bv, bw, l.Threshold)
	side := func(v int64) []float64 {
		base, weight := l.base(v)
		below := func(x int64) float64 { return d.CDF(float64(x-base) - 0.5) }
		atLeast := func(x int64) float64 { return d.Survival(float64(x-base) - 0.5) }
		silent := below(l.Threshold)
		if weight < 1 {
			silent = 1 - weight*atLeast(l.Threshold)
		}
		span := below(lo) - below(l.Threshold)
		if base < lo {
			span = atLeast(l.Threshold) - atLeast(lo)
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
func (l Noise) worstSum(k int, epsilon float64, values []int64) float64 {
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
func (l Noise) around(small int64) []int64 {
	values := []int64{l.From - 2, l.From - 1, l.From, l.From + 1, l.Threshold - 2, l.Threshold - 1, l.Threshold, l.Threshold + 1, l.Threshold + int64(20*l.Scale) + 20}
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
			if law.silentLoss() <= 1/law.Scale && law.From >= int64(k) {
				require.InEpsilon(t, bound, exact, 1e-8, "attained: k = %d, %+v: %+v", k, s, law)
			}
			if s.delta < 0.1 {
				lower, half := law, law
				lower.Threshold--
				half.Scale /= 2
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
						law := Noise{Scale: b, From: from, Threshold: from + over}
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
					b := calibrated.Scale * less
					near, high := calibrated, Noise{Scale: b, From: calibrated.From, Threshold: calibrated.From + int64(50*b)}
					near.Scale = b
					low := near
					low.Threshold = low.From + int64(b)
					for variant, law := range []Noise{near, high, low} {
						if less != 1 && variant == 2 {
							continue
						}
						bound := math.Exp(law.concentrationLogDelta(k, epsilon))
						top := law.Threshold + int64(60*b)
						stable := law.pair(top, top+1)
						stable = twoClasses(stable)
						require.Len(t, stable.p, 2)
						for _, small := range []int{0, k / 2, k - 1} {
							for _, from := range []int64{0, law.From - 1} {
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
								for _, v := range []int64{0, 1, law.From - int64(k), law.From - int64(k)/2, law.From - 1, law.From, law.Threshold - int64(k)/2, top} {
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
	law.Scale = k / epsilon
	law.Threshold += 1 << 40
	stable := twoClasses(law.pair(1<<50, 1<<50+1))
	moved := law.pair(1<<50, 1<<50+k)
	require.Greater(t, excess(moved.turned(), []group{{k - 1, stable}}, epsilon), 100*delta)
	require.Greater(t, law.concentrationLogDelta(k, epsilon), math.Log(100*delta))
}

// sumLogDelta returns ln δ of the release at ε, 0 where no bound holds.
func sumLogDelta(k int, epsilon float64, law Noise) float64 {
	if k < 1 || !(epsilon >= 0) || !(law.Scale > 0) || law.From < 1 || law.Threshold <= law.From {
		return 0
	}
	return law.ReducedDelta(k, epsilon)
}

// Thresholds in counts, rounded up.
func TestSumThresholdTable(t *testing.T) {
	for _, row := range []struct {
		k              int
		epsilon, delta float64
		threshold      float64
		bound          string
	}{
		{1, 1, 1e-6, 7.5, boundL1},
		{2, 1, 1e-6, 13.334, boundL1},
		{4, 1, 1e-6, 18.2, boundL1},
		{16, 1, 1e-6, 23.295, boundL1},
		{16, 1, 1e-9, 35.883, boundL1},
		{64, 1, 1e-6, 19.816, boundConcentration},
		{64, 1, 1e-9, 32.8, boundConcentration},
		{256, 1, 1e-6, 16.931, boundConcentration},
		{256, 1, 1e-9, 27.113, boundConcentration},
		{1024, 1, 1e-6, 15.328, boundConcentration},
		{1024, 1, 1e-9, 23.907, boundConcentration},
		{1024, 0.5, 1e-6, 28.430, boundConcentration},
		{1024, 2, 1e-6, 8.390, boundConcentration},
		{1 << 20, 1, 1e-6, 13.722, boundConcentration},
	} {
		law, bound, ok := Reduced(row.k, row.epsilon, row.delta)
		require.True(t, ok)
		require.Equal(t, row.bound, bound)
		got := float64(law.Threshold) / float64(row.k+1)
		require.InEpsilon(t, row.threshold, got, 1e-3, "%+v", row)
		require.LessOrEqual(t, got, row.threshold, "%+v", row)
	}
}

// No other noise has a threshold that is lower by more than its rounding to R and τ.
func TestSumThresholdIsLeast(t *testing.T) {
	dptest.NotShort(t, "not among the short tests")
	for i, k := range []int{1, 2, 3, 5, 16, 20, 64, 1024} {
		for j, epsilon := range []float64{0.1, 1, 5} {
			for n, delta := range []float64{1e-3, 1e-6, 1e-12} {
				if (i+j+n)%dptest.Full(1, 4) != 0 {
					continue
				}
				want := math.Log(delta)
				got, _, _ := Reduced(k, epsilon, delta)
				least := got.Threshold
				for b := 0.9 * float64(k) / epsilon; b < 3*float64(k)/epsilon; b *= 1.015 {
					for _, share := range []float64{1.5, 2.5, 3.5, 5, 7} {
						law := Noise{Scale: b}
						law.setRounding(k, want, share)
						law.settle(func(l Noise) bool { return sumLogDelta(k, epsilon, l) <= want || l.Threshold > least })
						least = min(least, law.Threshold)
					}
				}
				slack := func(least int64) int64 { return 2 + least/400 }
				require.LessOrEqual(t, got.Threshold, least+slack(least), "k = %d, ε = %v, δ = %v", k, epsilon, delta)
			}
		}
	}
}

// Over the whole range of Params: a law that can be drawn and keeps its bound, or not ok; less
// threshold for more ε, δ; less δ for more.
func TestSumLawExtremes(t *testing.T) {
	counters := []int{3, 1024}
	if dptest.Long() {
		counters = []int{1, 2, 3, 7, 100, 1024, 1 << 20}
	}
	for _, k := range counters {
		before := slices.Repeat([]int64{math.MaxInt64 / 4}, 9)
		for _, epsilon := range []float64{check.MinEpsilon, 0x1p-20, 1e-3, 0.3, 1, 3, 50, check.MaxEpsilon} {
			last := int64(math.MaxInt64 / 4)
			for i, delta := range []float64{0x1p-1022, 1e-200, 1e-30, 1e-6, 1e-3, 0.1, 0.5, 0.9, 1 - 0x1p-53} {
				law, bound, ok := Reduced(k, epsilon, delta)
				name := fmt.Sprintf("k = %d, ε = %v, δ = %v, %s: %+v", k, epsilon, delta, bound, law)
				if !ok {
					require.Greater(t, (2*float64(k)+2)/epsilon, 0x1p49, name)
					continue
				}
				require.True(t, law.Valid() && law.Threshold > law.From && law.From >= 1, name)
				spent := sumLogDelta(k, epsilon, law)
				require.LessOrEqual(t, spent, math.Log(delta), name)
				require.LessOrEqual(t, sumLogDelta(k, epsilon*1.01, law), spent, name)
				for _, more := range []int64{1, 10, 1000, 1 << 40} {
					higher := law
					higher.Threshold += more
					got := sumLogDelta(k, epsilon, higher)
					require.LessOrEqual(t, got, spent, name)
					spent = got
				}
				if delta <= 0.1 { // for a larger δ, which is of no use, the search is coarse
					require.LessOrEqual(t, law.Threshold, min(last+last/100, before[i]+before[i]/100)+2, name)
				}
				last, before[i] = law.Threshold, law.Threshold
			}
		}
	}
	law, _, _ := Reduced(3, 1, 1e-6)
	for _, l := range []Noise{
		{Scale: 0, From: law.From, Threshold: law.Threshold}, {Scale: math.NaN(), From: law.From, Threshold: law.Threshold},
		{Scale: law.Scale, From: 0, Threshold: law.Threshold}, {Scale: law.Scale, From: law.From, Threshold: law.From},
	} {
		require.Zero(t, sumLogDelta(3, 1, l), "%+v", l)
	}
	require.Zero(t, sumLogDelta(0, 1, law))
	require.Zero(t, sumLogDelta(3, math.NaN(), law))
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
