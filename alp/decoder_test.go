package alp

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/cryptotest"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/stretchr/testify/require"
)

// columnsOnly returns the shape of integers up to 12 in 3 columns of 4 steps with 4 levels: 64
// outputs.
func columnsOnly(t *testing.T) shape {
	t.Helper()
	s := dptest.OK(Params{Epsilon: 1, Sparsity: 100, Structure: ColumnsOnly, Max: 12, Integers: true, Variant: Variant{Levels: 4, Columns: 3, Alpha: 4}}.shape())(t)
	require.Equal(t, 4, s.width)
	return s
}

// Without a load, the posterior is Bayes' theorem over all values, for all outputs.
func TestPosteriorExactly(t *testing.T) {
	s := columnsOnly(t)
	g := newBins(&s.code, s.half, s.turn)
	require.True(t, g.exact())
	prior := make([]float64, g.total())
	for b := range prior {
		prior[b] = float64(1+b%5) / 100
	}
	p := newPosterior(&g, make(load, g.total()+1), prior, tailLaw{})
	for number := range 64 {
		outputs := []uint8{uint8(number % 4), uint8(number / 4 % 4), uint8(number / 16)}
		likelihood := func(x int64) float64 {
			product := 1.0
			for j, o := range outputs {
				product *= s.code.prob(s.size(x, j), int(o))
			}
			return product
		}
		total := 0.0
		for b, w := range prior {
			total += w * likelihood(int64(b+1))
		}
		weight, k := p.weight(outputs)
		require.Zero(t, k)
		require.InEpsilon(t, total/likelihood(0), weight, 1e-12)
		sum := 0.0
		for b, w := range prior { // quantiles half-way through each value's mass
			mass := w * likelihood(int64(b+1))
			require.Equal(t, float64(b+1), p.find(outputs, (sum+mass/2)/likelihood(0), 0))
			sum += mass
		}
	}
}

// With a load, outputs follow the law of the largest of the own value and a Poisson number of
// others.
func TestLikelihoodExactly(t *testing.T) {
	s := columnsOnly(t)
	g := newBins(&s.code, s.half, s.turn)
	rates, above := []float64{0.1, 0, 0.3, 0.2}, 0.4
	like := make([]float64, g.count+2)
	for o := range 4 {
		g.likelihood(rates, above, o, like)
		for u := range 5 {
			y := []int{0, 1, 2, 3, 4}[u]
			want, beyond := 0.0, above
			at := []float64{}
			for v := 4; v > y; v-- { // Pr[largest other = v]
				if v == 4 { // the last step and all above the column look alike
					at = append(at, -math.Expm1(-beyond-rates[3]))
				} else {
					at = append(at, math.Exp(-beyond)*-math.Expm1(-rates[v-1]))
				}
				beyond += rates[v-1]
				want += at[len(at)-1] * s.code.prob(v, o)
			}
			want += math.Exp(-beyond) * s.code.prob(y, o)
			if y == 4 {
				want = s.code.prob(4, o)
			}
			require.InEpsilon(t, want, like[y], 1e-12, "o %d y %d", o, y)
		}
	}
}

// The load is found from the table: the rates of what is above each column, within five standard
// errors of Poisson numbers and about 5 % of bias of the start. Here and below, where no
// false-alarm probability is registered, the noise and the hash functions are fixed.
func TestLoadIsFound(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 1)
	r := rand.New(rand.NewPCG(1, 2))
	const k = 50_000
	values := among(k, k, 0, func() float64 { return 40 * r.Float64() })
	p := released(t, Params{Epsilon: 1, Sparsity: k, Structure: ColumnsOnly, Max: 40, Bits: 200, Variant: Variant{Columns: 4}}, values)
	rate := float64(k) / float64(p.shape.cells())
	l, g := p.decoder.loads[0], p.decoder.bins
	for j := range 4 {
		above := sum(l[j*g.count:])
		want := rate * float64(4-j) / 4
		require.InDelta(t, want, above, 0.08*want+5*math.Sqrt(want/float64(p.shape.cells())), "column %d", j)
	}
}

func TestPrior(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 1)
	r := rand.New(rand.NewPCG(1, 2))
	values := among(2000, 1000, 40, func() float64 { return 40 * r.Float64() })
	p := released(t, Params{Epsilon: 1, Sparsity: 2000, Max: 40}, values)
	require.Equal(t, defaultPrior, p.Prior())
	q := dptest.OK(p.WithPrior(Prior{Zero: 0.99}))(t)
	require.Equal(t, Prior{Zero: 0.99}, q.Prior())
	_, most := measure(values, 1000, p.Estimate)
	_, none := measure(values, 1000, q.Estimate)
	_, plain := measure(values, 1000, bare(t, p).Estimate)
	require.Less(t, none.mean(), most.mean())
	require.Less(t, most.mean(), plain.mean())
	for _, bad := range []Prior{{Zero: -1}, {Zero: 1}, {Zero: math.NaN()}, {Learned: -1}, {Learned: 2}, {Learned: math.NaN()}} {
		require.ErrorIs(t, dptest.Err(p.WithPrior(bad)), ErrParams)
	}
}

// More bits never hurt: few entries in many cells teach how they are distributed, too. Their load
// was lost where pseudo-entries outnumbered what a round taught: errors grew from 2.1 at 24 bits to
// 3.6 at 50.
func TestMoreBitsDoNotHurt(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 1)
	const n = 1000
	values := among(n, n, 0, func() float64 { return 5 })
	least := math.Inf(1)
	for _, bits := range []float64{24, 50, 100, 200} {
		sum := 0.0
		for range 4 {
			p := released(t, Params{Epsilon: 1, Delta: 1e-6, Sparsity: n, Bits: bits, Integers: true}, values)
			entries, _ := measure(values, n, p.Estimate)
			sum += entries.mean() / 4
		}
		t.Logf("%g bits: %.2f", bits, sum)
		require.Less(t, sum, min(1.2*least, 2.5))
		least = min(least, sum)
	}
}

// peak is the average of the maximisers of the partial sums, as Algorithm 3 has it.
func TestArgmax(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		bits := make([]uint8, r.IntN(12))
		for i := range bits {
			bits[i] = uint8(r.IntN(2))
		}
		f, sums := 0, []int{0}
		for _, b := range bits {
			f += 2*int(b) - 1
			sums = append(sums, f)
		}
		at, n := 0, 0
		for i, f := range sums {
			if f == slices.Max(sums) {
				at, n = at+i, n+1
			}
		}
		require.Equal(t, float64(at)/float64(n), peak(bits))
		require.Equal(t, float64(at)/float64(n), peakOfBoth(bits, []uint8{0}))
		require.Equal(t, -float64(at)/float64(n), peakOfBoth([]uint8{0}, bits))
	}
	require.Zero(t, peakOfBoth([]uint8{1}, []uint8{1}))
	p := released(t, Params{Epsilon: 1, Sparsity: 10, Max: 40}, []float64{1})
	require.True(t, math.IsNaN(p.Argmax(1)), "not a unary code")
}

// Thousands of columns: products of ratios overflow without rescaling.
func TestManyColumns(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 1)
	p := released(t, Params{Epsilon: 1, Sparsity: 10, Max: 4000, Structure: ColumnsOnly, Bits: 1e5, Variant: Variant{Levels: 2}}, []float64{0, 2000, 3990, 10})
	require.Greater(t, p.Params().Columns, 700)
	for i, v := range []float64{0, 2000, 3990, 10} {
		require.InDelta(t, v, p.Estimate(scatter(i)), 60)
		lo, hi := p.Interval(scatter(i), 0.9999)
		require.True(t, lo <= v+60 && v-60 <= hi, "%v: [%v, %v]", v, lo, hi)
	}
}

func TestNotReleased(t *testing.T) {
	p := new(Projection)
	for _, f := range []func(uint64) float64{p.Estimate, p.Argmax} {
		require.True(t, math.IsNaN(f(1)))
	}
	lo, hi := p.Interval(1, 0.9)
	require.True(t, math.IsNaN(lo) && math.IsNaN(hi))
	require.Zero(t, p.Prior())
	require.Equal(t, "alp.Projection (not released)", p.String())
	q := dptest.OK(p.WithPrior(Prior{}))(t)
	require.True(t, math.IsNaN(q.Estimate(1)))
}

func TestEstimateDoesNotAllocate(t *testing.T) {
	values := make([]float64, 1000)
	for i := range values {
		values[i] = float64(i % 100)
	}
	for _, p := range []Params{{Delta: 1e-6}, {Delta: 1e-6, Signed: true}, {Max: 40, Structure: ColumnsOnly}, {Max: 40, Structure: ColumnsOnly, Variant: Variant{Levels: 2}}, {Delta: 1e-6, Variant: Variant{Base: 1.5}}} {
		p.Epsilon, p.Sparsity = 1, 1000
		pr, i := released(t, p, values), 0
		require.Zero(t, testing.AllocsPerRun(2000, func() { pr.Estimate(scatter(i)); i++ }), "%+v", p)
	}
}

// What a Plan says is what a release has whose entries are as the Plan was told: their error within
// a quarter, most of which is the scatter of a load that is read off a table, and that of zeros.
func TestPlan(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 1)
	r := rand.New(rand.NewPCG(1, 2))
	const k, n = 10_000, 4000
	fixed := func(v float64) func() float64 { return func() float64 { return v } }
	uniform := func(end float64) func() float64 { return func() float64 { return end * r.Float64() } }
	for _, f := range []struct {
		params Params
		draw   func() float64
	}{
		{Params{Max: 40, Structure: ColumnsOnly}, fixed(40)}, {Params{Max: 40, Structure: ColumnsOnly}, uniform(40)}, {Params{Max: 40, Structure: ColumnsOnly, Variant: Variant{Levels: 2}}, fixed(20)},
		{Params{Max: 40, Structure: ColumnsOnly, Variant: Variant{Linear: true}}, uniform(40)}, {Params{Delta: 1e-6}, uniform(40)}, {Params{Delta: 1e-6}, fixed(39)}, {Params{Delta: 1e-6}, fixed(1000)},
		{Params{Delta: 1e-6, Variant: Variant{Columns: 2, Levels: 16}}, uniform(90)}, {Params{Delta: 1e-6, Signed: true}, fixed(-39)}, {Params{Delta: 1e-6, Structure: Composition}, fixed(20)},
	} {
		p := f.params
		p.Epsilon, p.Sparsity = 1, k
		like := make([]float64, 1000)
		for i := range like {
			like[i] = f.draw()
		}
		plan := dptest.OK(p.Plan(like...))(t)
		values := among(k, k, 0, f.draw)
		entries, zeros := measure(values, n, released(t, p, values).Estimate)
		t.Logf("%v; measured %.2f, %.2f", plan, entries.mean(), zeros.mean())
		require.InEpsilon(t, plan.Error, entries.mean(), 0.25)
		require.InDelta(t, plan.Zero, zeros.mean(), 0.25*plan.Zero+0.1)
	}
	// Without values they are uniform on the columns' axis; what is below 0 is 0 unless Signed.
	end := dptest.OK(Params{Epsilon: 1, Max: 40, Structure: ColumnsOnly, Sparsity: k}.Plan())(t)
	like := make([]float64, 1000)
	for i := range like {
		like[i] = 40 * (float64(i) + 0.5) / 1000
	}
	told := dptest.OK(end.Params.Plan(like...))(t)
	require.InEpsilon(t, told.Error, end.Error, 0.05)
	require.InEpsilon(t, told.Zero, end.Zero, 0.05)
	require.True(t, math.IsNaN(end.Large))
	none := dptest.OK(end.Params.Plan(-5, 0))(t)
	require.Less(t, none.Zero, 0.2)
	require.ErrorIs(t, dptest.Err(end.Params.Plan(1, math.NaN())), ErrParams)
	// Of the ways to release the same vector at the same bits, what is chosen has the least
	// error.
	chosen := dptest.OK(Params{Epsilon: 1, Delta: 1e-6, Sparsity: k, Max: 1000}.Plan())(t)
	require.Equal(t, SplitAxis, chosen.Params.Structure)
	require.Greater(t, chosen.Params.Levels, 2)
	require.InDelta(t, 1, chosen.Large, 0.01)
	mean := func(p Plan) float64 {
		if math.IsNaN(p.Large) {
			return p.Error
		}
		return (p.Error + p.Large) / 2
	}
	for _, structure := range []Structure{SplitAxis, Composition, ColumnsOnly} {
		for _, code := range []Params{{}, {Variant: Variant{Levels: 2}}, {Variant: Variant{Linear: true}}} {
			p := code
			p.Epsilon, p.Delta, p.Sparsity, p.Max, p.Structure = 1, 1e-6, k, 1000, structure
			plan := dptest.OK(p.Plan())(t)
			require.LessOrEqual(t, mean(chosen), mean(plan), plan.String())
		}
	}
	require.ErrorIs(t, dptest.Err(Params{}.Plan()), ErrParams)
}

// Wherever a value lies within its bin, what a Plan says of entries that all have it is what a
// release has: their errors within 6 %, where those of a Plan that took values for the middles of
// their bins would be 13 % off at 20. And Large is the error of listed integers as rounded.
func TestPlanOfOneValue(t *testing.T) {
	dptest.NotShort(t, "seconds with the race detector: in the default run")
	cryptotest.SetGlobalRandom(t, 2)
	const k = 20_000
	same := func(v float64) func() float64 { return func() float64 { return v } }
	for _, v := range []float64{5, 10, 19.5, 20, 20.3, 30} {
		p := Params{Epsilon: 1, Delta: 1e-6, Sparsity: k}
		plan := dptest.OK(p.Plan(v))(t)
		entries, _ := measure(among(k, k, 0, same(v)), k, released(t, p, among(k, k, 0, same(v))).Estimate)
		require.InEpsilon(t, entries.mean(), plan.Error, 0.06, "all at %v", v)
	}
	for _, epsilon := range []float64{1, 2, 4} {
		p := Params{Epsilon: epsilon, Delta: 1e-6, Sparsity: k, Integers: true}
		plan := dptest.OK(p.Plan(1000))(t)
		entries, _ := measure(among(k, k, 0, same(1000)), k, released(t, p, among(k, k, 0, same(1000))).Estimate)
		// 20,000 errors of mean .14 to .96 and standard deviation .4 to 1.2: ten standard errors
		require.InEpsilon(t, entries.mean(), plan.Large, 0.2, "ε = %v", epsilon)
	}
}

// What a Plan draws is the output at a quantile of the law of its column, for each place that an
// entry can have there.
func TestPlanDraws(t *testing.T) {
	for _, p := range []Params{{Delta: 1e-6}, {Max: 40, Structure: ColumnsOnly}, {Max: 40, Structure: ColumnsOnly, Variant: Variant{Levels: 2}}} {
		p.Epsilon, p.Sparsity = 1, 1000
		s := dptest.OK(p.shape())(t)
		g := newBins(&s.code, s.half, s.reach())
		rates := make([]float64, g.count)
		for b := range rates {
			rates[b] = 0.02
		}
		laws := g.distributions(rates, 0.3)
		n, upTo := g.count+2, make([]float64, g.columns*len(laws))
		for j := range g.columns {
			g.cumulate(laws, j, upTo)
		}
		outputs, random := make([]uint8, g.columns), rand.NewPCG(1, 2)
		for b := -1; b <= g.count; b++ { // all places in the first column
			y := b + 1
			for _, q := range []float64{0, 0.01, 0.2, 0.5, 0.77, 0.99, 1 - 0x1p-53} {
				g.draw(upTo, b, 0, outputs, q, random)
				want, sum := 0, 0.0
				for ; want < g.levels-1; want++ {
					if sum += laws[want*n+y]; sum > q {
						break
					}
				}
				require.EqualValues(t, want, outputs[0])
			}
		}
	}
}

// A listed value is as close to a bin as the noise of the list says, on either side of it.
func TestClosenessIsOfTheNoise(t *testing.T) {
	pr := released(t, Params{Epsilon: 1, Delta: 1e-6, Sparsity: 100}, []float64{1, 50})
	l, g := pr.decoder.list, &pr.decoder.bins
	for _, value := range []float64{l.least / 2, l.least, l.phi(float64(pr.shape.turn))} {
		f := l.fuse(pr.decoder.open[0], nil, value)
		for b := range g.used {
			distance := math.Abs(value-l.phi(pr.shape.valueAt(g.point(b, 0.5)))) / l.scale
			require.InEpsilon(t, math.Exp(-distance), f.closeness(b), 1e-9)
		}
	}
}
