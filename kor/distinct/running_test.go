package distinct

import (
	"math"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/stretchr/testify/require"
)

func runningBuilder(t testing.TB, p Params) *RunningBuilder {
	return dptest.OK(NewRunningBuilder(p))(t)
}

const slots = 4

// histories are in which slots a key comes: never, from each slot on once or in all later ones, and
// in two.
var histories = []uint{0, 1, 2, 4, 8, 15, 14, 12, 9}

// increments returns those of the number of ones that a RunningBuilder adds noise to: what it
// releases, slot by slot, less the noise, which is seen in what it holds.
func increments(t testing.TB, keys []uint64, of []uint) (v [slots]int64) {
	b := runningBuilder(t, tiny)
	before := int64(0)
	for slot := range slots {
		for i, key := range keys {
			if of[i]>>slot&1 != 0 {
				b.Add(key)
			}
		}
		dptest.OK(b.Step())(t)
		now := held(b.secret).closed
		v[slot], before = now-before, now
	}
	return v
}

// streams visits all streams of two keys over four slots, in all placements of three keys in three
// cells, and the same with a third key.
func streams(visit func(keys []uint64, without, with []uint)) {
	keys := keysOf(tiny)
	for placement := range 27 {
		three := []uint64{keys[placement%3][0], keys[placement/3%3][1], keys[placement/9][2]}
		for _, first := range histories {
			for _, second := range histories {
				if second > first || placement%3 > placement/3%3 {
					// the others are the same with the names changed
					continue
				}
				for _, third := range histories[1:] {
					visit(three, []uint{first, second, 0}, []uint{first, second, third})
				}
			}
		}
	}
}

// Over all streams: a key moves the increments by 2 at most in ℓ₁, and by 2 it does; so ε of all
// slots together is attained by the noise of their scale, and exceeded by one of 99 %. The totals
// themselves it moves by all four.
func TestRunningIsExactlyPrivate(t *testing.T) {
	law := dptest.OK(tiny.classLaw())(t)
	weak := dptest.OK(noise.NewDiscreteLaplace(0.99 * law.Scale()))(t)
	loss := func(law noise.DiscreteLaplace) func(by float64) float64 {
		return dptest.Memo(func(by float64) (most float64) {
			for z := -40.0; z <= 40; z++ {
				most = max(most, math.Abs(law.LogProb(z)-law.LogProb(z-by)))
			}
			return most
		})
	}
	strong, weaker := loss(law), loss(weak)
	known := map[[slots]int64]float64{}
	var distance, totals int64
	var most, exposed float64
	cache := map[[6]uint64][slots]int64{}
	of := func(keys []uint64, history []uint) [slots]int64 {
		id := [6]uint64{keys[0], keys[1], keys[2], uint64(history[0]), uint64(history[1]), uint64(history[2])}
		v, ok := cache[id]
		if !ok {
			v = increments(t, keys, history)
			cache[id] = v
		}
		return v
	}
	streams(func(keys []uint64, without, with []uint) {
		a, b := of(keys, without), of(keys, with)
		var d, sum, all int64
		var ours, theirs float64
		for slot := range slots {
			by := b[slot] - a[slot]
			d += max(by, -by)
			sum += by
			all += max(sum, -sum)
			ours, theirs = ours+strong(float64(by)), theirs+weaker(float64(by))
		}
		known[b] = 0
		distance, totals, most, exposed = max(distance, d), max(totals, all), max(most, ours), max(exposed, theirs)
	})
	require.EqualValues(t, 2, distance)
	require.EqualValues(t, slots, totals)
	require.InDelta(t, tiny.Epsilon, most, 1e-9)
	require.Greater(t, exposed, 1.005*tiny.Epsilon)
	require.Greater(t, len(known), 20)
}

// The noise of each increment has that law and is drawn anew: of four totals of the empty set the
// differences, by χ², and their products, which have mean 0. False-reject probability 3e-9.
func TestRunningHasTheLaw(t *testing.T) {
	law := dptest.OK(tiny.classLaw())(t)
	const runs, reach = 5000, 12
	observed, expected := make([]int64, 2*reach+2), make([]float64, 2*reach+1)
	for i := range expected {
		expected[i] = law.Prob(float64(i - reach))
	}
	products := 0.0
	for range runs {
		b := runningBuilder(t, tiny)
		before, last := int64(0), 0.0
		for range slots {
			r := dptest.OK(b.Step())(t)
			z := r.numbers[0] - before
			before = r.numbers[0]
			if z+reach >= 0 && z <= reach {
				observed[z+reach]++
			} else {
				observed[2*reach+1]++
			}
			products += last * float64(z)
			last = float64(z)
		}
	}
	dptest.ChiSquare(t, "increments", observed, expected, 1e-9)
	// 15,000 products of mean 0 and standard deviation Var Z: 7 standard errors.
	dptest.Alarm(t, 1e-10)
	require.InDelta(t, 0, products/(3*runs), 7*law.Variance()/math.Sqrt(3*runs))
}

// The tail of a weighted sum of draws and a normal number is within 6 % of the convolution, on the
// lattice of the parts of 1 that the weights are.
func TestTailOfSum(t *testing.T) {
	for _, scale := range []float64{0.5, 2, 10} {
		law := dptest.OK(noise.NewDiscreteLaplace(scale))(t)
		reach := int(20*scale) + 20
		one := make([]float64, 2*reach+1)
		for i := range one {
			one[i] = law.Prob(float64(i - reach))
		}
		for _, c := range []struct {
			parts int
			noise [2]draws
		}{
			{1, [2]draws{{2, 1}}}, {1, [2]draws{{3, 1}}}, {4, [2]draws{{1, 0.75}, {3, 0.25}}}, {4, [2]draws{{2, 0.5}, {2, 0.5}}},
			{4, [2]draws{{3, 0.25}, {1, 0.75}}}, {6, [2]draws{{2, 4. / 6}, {4, 2. / 6}}},
		} {
			sum := []float64{1} // over multiples of 1/parts
			for _, d := range c.noise {
				step := int(d.weight*float64(c.parts) + 0.5)
				for range d.number {
					next := make([]float64, len(sum)+2*reach*step)
					for i, x := range sum {
						for z, mass := range one {
							next[i+z*step] += x * mass
						}
					}
					sum = next
				}
			}
			for _, v := range []float64{1, 50, 1000} {
				var of curve
				of.add(law, c.noise[0], c.noise[1])
				for _, sds := range []float64{0.3, 1, 2, 3} {
					y := math.Floor(sds*math.Sqrt(v+of.variance)) + 0.5
					want := 0.0
					for i, x := range sum {
						at := float64(i-len(sum)/2) / float64(c.parts)
						want += x * math.Erfc((y-at)/math.Sqrt(2*v)) / 2
					}
					require.InEpsilon(t, want, of.tail(y, v), 0.06, "%v of scale %v, variance %v, y = %v", c.noise, scale, v, y)
				}
			}
		}
	}
}

func TestRunningBuilder(t *testing.T) {
	p := small
	p.CountShare = 0
	dptest.Builder(t, func() *RunningBuilder { return runningBuilder(t, p) }, func(b *RunningBuilder) { b.Add(1); b.Add(2, 3); AddKey(b, "key") })
	b := runningBuilder(t, p)
	used := builder(t, p, 1)
	dptest.OK(used.Release())(t)
	require.ErrorIs(t, b.Merge(used), ErrReleased)
	require.ErrorIs(t, b.Merge(nil), ErrReleased)
	require.ErrorIs(t, b.Merge(builder(t, small)), ErrMismatch)
	zero := &RunningBuilder{}
	zero.Add(1)
	require.True(t, zero.Released() && !zero.Guarantee().Promises())
	require.ErrorIs(t, dptest.Err(zero.Step()), ErrReleased)
	fresh := builder(t, p, 1)
	require.ErrorIs(t, zero.Merge(fresh), ErrReleased)
	require.False(t, fresh.Released())
	held(b.secret).table[0] = 9_876_543_210_987
	dptest.Redacted(t, b, "9876543210987")
	var r Running
	lo, hi := r.Interval(0.9)
	require.True(t, math.IsNaN(r.Estimate()) && math.IsNaN(r.StdErr()) && math.IsNaN(lo) && math.IsNaN(hi) && !r.Guarantee().Promises())
	held(b.secret).slots = maxSlots
	require.ErrorIs(t, dptest.Err(b.Step()), ErrReleased)
	dptest.Readers(t, sampleRunning())
}
