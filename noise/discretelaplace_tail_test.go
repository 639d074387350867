package noise

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"testing"
	"testing/cryptotest"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/exact"
)

// tailPValue tests n draws of SampleTail against the exact mass function of want.
func tailPValue(t *testing.T, d, want DiscreteLaplace, least int64, n int) float64 {
	var src Source
	width := int64(3 + 6*want.Scale()) // cells: not reached, least, least + 1, ..., and the rest
	if least <= 0 {
		width -= 2 * least
	}
	observed, expected := make([]int64, width+2), make([]float64, width+2)
	for range n {
		x, ok := d.SampleTail(&src, least)
		switch {
		case !ok && x == 0:
			observed[0]++
		case ok && x >= least:
			observed[1+min(x-least, width)]++
		default:
			t.Fatalf("%d, %v of a tail from %d on", x, ok, least)
		}
	}
	expected[0] = want.CDF(float64(least - 1))
	for i := range width {
		expected[1+i] = want.Prob(float64(least + i))
	}
	expected[1+width] = want.Survival(float64(least + width - 1))
	return dptest.ChiSquarePValue(observed, expected)
}

func TestSampleTailFollowsItsLaw(t *testing.T) {
	dptest.NotShort(t, "half a second")
	// of which the claim takes a tenth where the tests are to be short, and the control, in fewer
	// cases, all
	const n = 100_000
	for _, c := range []struct {
		scale float64
		least int64
	}{{0.2, 1}, {0.5, 1}, {0.5, 2}, {1, 1}, {1, 2}, {1, 5}, {3.7, 1}, {3.7, 4}, {3.7, 9}, {20, 30}, {20, 100}, {2, 0}, {2, -3}} {
		d := dptest.OK(NewDiscreteLaplace(c.scale))(t)
		draws := dptest.Fewer(n, n/10)
		if dptest.Long() {
			draws = 100 * n
		}
		dptest.Alarm(t, 1e-10)
		require.Greater(t, tailPValue(t, d, d, c.least, draws), 1e-10, "scale %v, least %v", c.scale, c.least)
		if c.scale >= 1 && c.least <= 9 && (c.least == 1 || dptest.Long()) {
			wrong := discreteLaplace(1.1 * c.scale)
			dptest.Alarm(t, 1e-10)
			require.Less(t, tailPValue(t, wrong, d, c.least, n), 1e-10, "10 %% more scale must be noticed: %v, %v", c.scale, c.least)
		}
	}
}

// SampleInt followed by the comparison has the same distribution.
func TestSampleTailIsSampleIntCompared(t *testing.T) {
	n := dptest.Fewer(100_000, 40_000)
	var src Source
	for _, c := range []struct {
		scale float64
		least int64
	}{{0.4, 1}, {2, -2}, {2, 0}, {2, 1}, {2, 3}, {50, 60}, {0x1p30, 0x1p31}} {
		d, _ := NewDiscreteLaplace(c.scale)
		cell := func(x int64) int {
			if x < c.least {
				return 0
			}
			return 1 + int(min(float64(x-c.least)/max(1, c.scale/4), 20))
		}
		plain, tail := make([]int64, 22), make([]int64, 22)
		for range n {
			plain[cell(d.SampleInt(&src))]++
			if x, ok := d.SampleTail(&src, c.least); ok {
				tail[cell(x)]++
			} else {
				tail[0]++
			}
		}
		dptest.Homogeneity(t, fmt.Sprint(c), plain, tail, 1e-10)
	}
}

func TestSampleTailFar(t *testing.T) {
	dptest.NotShort(t, "four million draws")
	const n = 4_000_000
	var src Source
	d, _ := NewDiscreteLaplace(8)
	hits := int64(0)
	for range n {
		if _, ok := d.SampleTail(&src, 107); ok {
			hits++
		}
	}
	dptest.Tail(t, "Pr 8e-7", hits, n, d.Survival(106), 1e-10)
}

// What the leading zeros decide is what exact arithmetic decides, also at the ends and near the
// line.
func TestBeyondExp(t *testing.T) {
	var src Source
	yes := 0
	for i := range 20_000 {
		w := src.Uint64() >> (src.Uint64() % 64)
		if i%4 == 0 {
			w = 1 << (w % 64)
		}
		b := math.Ldexp(1+float64(src.Uint64()>>12)*0x1p-52, int(src.Uint64()%100)-50)
		n := max(1, src.Uint64()>>(1+src.Uint64()%63))
		if i%2 == 0 { // on either side of the line: n ≈ (z+1)·ln 2·b
			b = math.Ldexp(b, 50)
			n = uint64(min(b*0.6932*float64(bits.LeadingZeros64(w)+1)*(1+float64(i%3)*1e-16), 0x1p62))
		}
		if !beyondExp(w, float64(n), b) {
			continue
		}
		yes++
		x := ratio(int64(n), b)
		below, sure := newLazy(w, 64).compareExp(x, x)
		require.True(t, sure && !below, "w = %#x, n = %d, b = %v", w, n, b)
	}
	require.Greater(t, yes, 5000)
	require.False(t, beyondExp(0, math.MaxFloat64, 1), "U may be arbitrarily small")
}

// The exact path: behind a first word of 0, U < e^{−45} has probability 2⁶⁴·e^{−45}.
func TestReachesExactly(t *testing.T) {
	n := int64(dptest.Fewer(4000, 800))
	var src Source
	for _, b := range []float64{1, 3} {
		d, _ := NewDiscreteLaplace(b)
		hits := int64(0)
		for range n {
			if d.reaches(&src, 0, int64(45*b)) {
				hits++
			}
		}
		dptest.Tail(t, fmt.Sprint("b = ", b), hits, n, 0x1p64*math.Exp(-45)/(1+math.Exp(-1/b)), 1e-10)
	}
	wide, _ := NewDiscreteLaplace(0x1p50)
	narrow, _ := NewDiscreteLaplace(0x1p-900)
	require.False(t, wide.reaches(&src, 0, math.MaxInt64))
	require.False(t, narrow.reaches(&src, 0, 1))
}

func TestBernoulliHalf(t *testing.T) {
	const n = 40_000
	var src Source
	for _, b := range []float64{0x1p-900, 0.1, 0.7, 1, 5, 0x1p50} {
		hits := int64(0)
		for range n {
			if bernoulliHalf(&src, b) {
				hits++
			}
		}
		dptest.Tail(t, fmt.Sprint("b = ", b), hits, n, 1/(1+math.Exp(-1/b)), 1e-10)
	}
}

func TestSampleTailEdges(t *testing.T) {
	var src Source
	for _, scale := range []float64{0x1p-900, 1, 0x1p50} {
		d, _ := NewDiscreteLaplace(scale)
		for range 200 {
			_, ok := d.SampleTail(&src, math.MaxInt64)
			require.False(t, ok)
			_, ok = d.SampleTail(&src, math.MinInt64)
			require.True(t, ok)
		}
	}
}

// binomialMass returns Pr[Bin(n, p) = k] for k < cells, and what is left as the last cell. The
// masses are multiplied up as logarithms, so that the first may underflow.
func binomialMass(n uint64, p float64, cells int) []float64 {
	mass := make([]float64, cells+1)
	mass[cells] = 1
	logMass := float64(n) * math.Log1p(-p)
	for k := range cells {
		if uint64(k) <= n {
			mass[k] = math.Exp(logMass)
		}
		mass[cells] -= mass[k]
		logMass += math.Log(max(float64(n)-float64(k), 0)/float64(k+1)) + math.Log(p) - math.Log1p(-p)
	}
	mass[cells] = max(mass[cells], 0)
	return mass
}

// tails are cases of CountTail: around one block, a quarter, several, the largest number of draws,
// and least on both sides of 0.
var tails = []struct {
	scale float64
	least int64
	draws uint64
}{
	{1, 1, 5}, {0.3, 1, 70}, {2, 3, 100}, {10, 20, 64}, {0x1p50, 1, 64}, {0x1p50, 1, 65}, {3, 1, 600}, {1e6, 1, 400}, {7, 25, 14_000},
	{2, 80, math.MaxUint64}, {1, 39, math.MaxUint64}, {1, 44, math.MaxUint64}, {1, 50, math.MaxUint64}, {1e9, 39_000_000_123, math.MaxUint64},
	{0.04, 1, 1 << 40}, {2, -3, 100}, {2, 0, 300}, {0.5, -1, 1000},
}

func TestCountTailFollowsTheBinomialLaw(t *testing.T) {
	n := int64(dptest.Fewer(20_000, 4_000))
	for _, c := range tails {
		d := dptest.OK(NewDiscreteLaplace(c.scale))(t)
		var src Source
		p := d.Survival(float64(c.least) - 1)
		if c.least <= 0 {
			p = d.CDF(float64(c.least) - 1)
		}
		const cells = 400
		observed := make([]int64, cells+1)
		sum := 0.0
		for range n {
			k := d.CountTail(&src, c.draws, c.least)
			require.LessOrEqual(t, k, c.draws)
			if c.least <= 0 {
				k = c.draws - k
			}
			observed[min(k, cells)]++
			sum += float64(k)
		}
		name := fmt.Sprintf("scale %v, least %v, draws %v", c.scale, c.least, c.draws)
		mean := float64(c.draws) * p
		if mean > 0.01 {
			dptest.ChiSquare(t, name, observed, binomialMass(c.draws, p, cells), 1e-10)
		} else { // one cell would be left
			dptest.Tail(t, name, n-observed[0], n, -math.Expm1(float64(c.draws)*math.Log1p(-p)), 1e-10)
		}
		if mean > 20 && !testing.Short() {
			// 3 % move the mean by 0.03·√(mean·n) ≥ 19 standard deviations
			dptest.Alarm(t, 1e-10)
			require.Less(t, dptest.ChiSquarePValue(observed, binomialMass(c.draws, 0.97*p, cells)), 1e-10, "3 %% must be noticed: %s", name)
		}
	}
}

// newBlock returns the first block that CountTail makes.
func newBlock(scale float64, least int64, draws uint64) *block {
	d := discreteLaplace(scale)
	c := &block{d: d, least: least, p: d.formulas.atLeast(float64(least))}
	if most := blockMean / c.p; most < float64(draws) {
		draws = uint64(most)
	}
	c.tabulate(draws)
	return c
}

// The cumulative masses are as near to those of 192 binary digits as the comment at blockMargin
// says.
func TestBlockTableIsWithinItsMargin(t *testing.T) {
	const prec, derived = 256, 0x1p-42 * 1.1
	cases := tails
	for _, x := range []float64{0.01, 0.7, 5, 20, 35, 40.5, 41, 41.6, 44, 60, 700, 746, 1e5} {
		for _, scale := range []float64{1.1, 1e4 / 3, 0x1.2345p50} { // 1e5·2⁵⁰ is out of range
			if least := x * scale; least >= 1 && least < 0x1p62 {
				cases = append(cases, struct {
					scale float64
					least int64
					draws uint64
				}{scale, int64(least) | 1, math.MaxUint64})
			}
		}
	}
	worst, reach := 0.0, 0
	for _, c := range cases {
		if c.least < 1 {
			continue
		}
		b := newBlock(c.scale, c.least, c.draws)
		p := b.d.atLeastBounds(b.least, prec)
		rest := exact.Unit(prec).Sub(p)
		mass, odds := rest.Pow(b.size, prec), p.Quo(rest, prec)
		sum := new(big.Int)
		for n := 0; n <= b.last; n++ {
			sum.Add(sum, mass.Lo)
			require.Less(t, new(big.Int).Sub(mass.Hi, mass.Lo).BitLen(), prec-100, "the bounds are tight")
			got := new(big.Float).SetFloat64(b.cumulative[n])
			got.SetMantExp(got, prec)
			want := new(big.Float).SetInt(sum)
			diff, _ := got.Sub(want, got).Float64()
			worst = max(worst, math.Abs(math.Ldexp(diff, -prec)))
			mass = mass.Mul(odds, prec).Scale(b.size-uint64(n), uint64(n)+1)
		}
		reach = max(reach, b.last)
		require.GreaterOrEqual(t, b.cumulative[b.last], 1-blockMargin)
	}
	t.Logf("worst error 2^%.2f, longest table %d", math.Log2(worst), reach)
	require.LessOrEqual(t, worst, derived)
	require.Greater(t, reach, 60)
	require.Less(t, reach, blockReach-1)
}

// Whatever float64 decides is what intervals of integers decide, near the steps too.
func TestBlockInvertIsRight(t *testing.T) {
	n := dptest.Fewer(400, 80)
	var src Source
	undecided := 0
	for _, c := range tails {
		if c.least < 1 {
			continue
		}
		b := newBlock(c.scale, c.least, c.draws)
		for i := range n {
			w := src.Uint64()
			if i%2 == 0 { // within 2⁻³⁹ of a step
				near := b.cumulative[src.Uint64N(uint64(b.last)+1)] + float64(int64(src.Uint64()))*0x1p-63*0x1p-39
				if near < 0 || near >= 1 {
					continue
				}
				w = uint64(near * 0x1p64)
			}
			got, decided := b.invert(w)
			if !decided {
				undecided++
				continue
			}
			want, sure := b.invertBounds(newLazy(w, 64))
			require.True(t, sure)
			require.Equal(t, want, got, "%v, w = %#x", c, w)
		}
	}
	require.Greater(t, undecided, n/2, "the boundary was not tried")
}

// The exact path by itself has the binomial distribution, from U with nothing decided.
func TestBlockInvertExact(t *testing.T) {
	dptest.NotShort(t, "half a second")
	n := int64(max(dptest.Full(1000, 166), 150))
	var src Source
	for _, c := range tails {
		if c.least < 1 {
			continue
		}
		b := newBlock(c.scale, c.least, c.draws)
		observed := make([]int64, blockReach+1)
		for range n {
			observed[min(b.invertExact(&src, newLazy(0, 0)), blockReach)]++
		}
		mass := binomialMass(b.size, b.p, blockReach)
		if mean := b.p * float64(b.size); mean > 50/float64(n) { // else one cell would be left
			dptest.ChiSquare(t, fmt.Sprint(c), observed, mass, 1e-10)
		} else {
			dptest.Tail(t, fmt.Sprint(c), n-observed[0], n, 1-mass[0], 1e-10)
		}
	}
}

func TestCountTailEdges(t *testing.T) {
	var src Source
	for _, scale := range []float64{0x1p-900, 0.01, 1, 0x1p50} {
		d, _ := NewDiscreteLaplace(scale)
		for _, least := range []int64{math.MinInt64, -1, 0, 1, math.MaxInt64} {
			require.Zero(t, d.CountTail(&src, 0, least))
			require.LessOrEqual(t, d.CountTail(&src, 1, least), uint64(1))
		}
		require.Zero(t, d.CountTail(&src, math.MaxUint64, math.MaxInt64))
		require.EqualValues(t, uint64(math.MaxUint64), d.CountTail(&src, math.MaxUint64, math.MinInt64))
		require.EqualValues(t, uint64(math.MaxUint64), d.CountTail(&src, math.MaxUint64, math.MinInt64+1))
	}
}

func TestCountTailsFollowsTheBinomialLaw(t *testing.T) {
	const cells = 400
	n := dptest.Fewer(20_000, 4_000)
	var src Source
	for _, c := range tails {
		if c.least < 1 {
			continue
		}
		d := discreteLaplace(c.scale)
		p := 2 * d.Survival(float64(c.least)-1)
		if mean := float64(c.draws) * p; p > 0.95 || mean < 0.01 || mean > 300 {
			// one cell would be left
			continue
		}
		observed := make([]int64, cells+1)
		for range n {
			observed[min(d.CountTails(&src, c.draws, c.least), cells)]++
		}
		name := fmt.Sprintf("scale %v, least %v, draws %v", c.scale, c.least, c.draws)
		dptest.ChiSquare(t, name, observed, binomialMass(c.draws, p, cells), 1e-10)
		if mean := float64(c.draws) * p; mean > 20 && mean < 300 && !testing.Short() {
			dptest.Alarm(t, 1e-10)
			require.Less(t, dptest.ChiSquarePValue(observed, binomialMass(c.draws, 0.97*p, cells)), 1e-10, "3 %% must be noticed: %s", name)
		}
	}
	require.EqualValues(t, 7, discreteLaplace(2).CountTails(&src, 7, 0))
	require.EqualValues(t, 7, discreteLaplace(2).CountTails(&src, 7, math.MinInt64))
	require.Zero(t, discreteLaplace(2).CountTails(&src, 0, 3))
}

// Where float64 decides on both tails, the exact path says the same.
func TestBothTailsDecideAlike(t *testing.T) {
	var src Source
	for _, least := range []int64{3, 40, 700} {
		d := discreteLaplace(10)
		c := block{d: d, least: least, p: 2 * d.formulas.atLeast(float64(least)), tails: 1}
		require.LessOrEqual(t, c.p, 1.0)
		c.tabulate(uint64(min(blockMean/c.p, 0x1p60)))
		for range 300 {
			w := src.Uint64()
			n, decided := c.invert(w)
			require.True(t, decided)
			require.Equal(t, c.invertExact(&src, newLazy(w, 64)), n)
		}
	}
}

// layers are cases of CountLayer: one value and many, p near ½, around one block, several, the
// largest number of draws, a layer so thin that G(least) − G(below) would lose its digits, and one
// that is as good as a tail.
var layers = []struct {
	scale        float64
	least, below int64
	draws        uint64
}{
	{1, 1, 2, 5}, {1, 1, 2, 70}, {0.3, 1, 2, 400}, {2, 3, 7, 300}, {10, 20, 25, 1000}, {0x1p50, 1, 1 << 57, 64}, {0x1p50, 1, 1 << 57, 65},
	{1e6, 1, 10_000_000, 600}, {1e9, 12, 13, math.MaxUint64 >> 30}, {1e9, 1e9, 1e9 + 1, 1 << 36}, {7, 25, 30, 14_000},
	{2, 80, 81, math.MaxUint64}, {1, 40, 41, math.MaxUint64}, {1, 41, 1e6, math.MaxUint64}, {1, 50, 51, math.MaxUint64},
	{1e9, 39_000_000_123, 40_000_000_000, math.MaxUint64}, {0.04, 1, 2, 1 << 40}, {0x1p50, 40 << 50, 40<<50 + 1<<45, math.MaxUint64},
}

// layerMass returns p in float64, from the masses of the values where they are few.
func layerMass(d DiscreteLaplace, least, below int64) float64 {
	sum := 0.0
	if below-least < 100 {
		for x := below - 1; x >= least; x-- {
			sum += d.Prob(float64(x))
		}
	} else {
		sum = d.Survival(float64(least)-1) - d.Survival(float64(below)-1)
	}
	return sum / d.CDF(float64(below)-1)
}

func TestCountLayerFollowsTheBinomialLaw(t *testing.T) {
	const cells = 400
	n := int64(dptest.Fewer(20_000, 4_000))
	var src Source
	for _, c := range layers {
		d := dptest.OK(NewDiscreteLaplace(c.scale))(t)
		p := layerMass(d, c.least, c.below)
		require.Less(t, p, 0.5)
		observed := make([]int64, cells+1)
		for range n {
			k := d.CountLayer(&src, c.draws, c.least, c.below)
			require.LessOrEqual(t, k, c.draws)
			observed[min(k, cells)]++
		}
		name := fmt.Sprintf("%+v", c)
		mean := float64(c.draws) * p
		if mean > 0.01 {
			dptest.ChiSquare(t, name, observed, binomialMass(c.draws, p, cells), 1e-10)
		} else { // one cell would be left
			dptest.Tail(t, name, n-observed[0], n, -math.Expm1(float64(c.draws)*math.Log1p(-p)), 1e-10)
		}
		if mean > 20 && !testing.Short() {
			// 20 standard deviations of the mean, 3 % with -long: χ² is about 400 more, of which
			// 60 to 100 make 1e-10
			dptest.Alarm(t, 1e-10)
			f := max(0.03, 20/math.Sqrt(mean*float64(n)))
			require.Less(t, dptest.ChiSquarePValue(observed, binomialMass(c.draws, (1-f)*p, cells)), 1e-10, "%.1f %% must be noticed: %s", 100*f, name)
		}
	}
}

// Layers from the top down, with their values, are a loop over SampleInt: the values from bottom
// on, one of them picked in each round.
func TestLayersAreALoopOverSampleInt(t *testing.T) {
	const draws, cells = 100, 40
	n := dptest.Fewer(4000, 1000)
	var src Source
	for _, scale := range []float64{0.8, 3, 9} {
		d, _ := NewDiscreteLaplace(scale)
		beyond, _ := NewGeometric(scale)
		for _, bottoms := range [][]int64{{1}, {9, 2}, {30, 29, 10, 3, 1}} {
			bottom := bottoms[len(bottoms)-1]
			layered := func(conditional bool) (counts, values []int64) {
				counts, values = make([]int64, draws+1), make([]int64, cells)
				for range n {
					var found []int64
					left, below := uint64(draws), int64(math.MaxInt64)
					for _, s := range bottoms {
						known := below
						if !conditional {
							known = math.MaxInt64
						}
						count := d.CountLayer(&src, left, s, known)
						for range count {
							found = append(found, s+beyond.SampleInt(&src)%(below-s))
						}
						left, below = left-count, s
					}
					counts[len(found)]++
					if len(found) > 0 {
						values[min(found[src.Uint64N(uint64(len(found)))]-bottom, cells-1)]++
					}
				}
				return counts, values
			}
			counts, values := make([]int64, draws+1), make([]int64, cells)
			for range n {
				var found []int64
				for range draws {
					if x := d.SampleInt(&src); x >= bottom {
						found = append(found, x)
					}
				}
				counts[len(found)]++
				if len(found) > 0 {
					values[min(found[src.Uint64N(uint64(len(found)))]-bottom, cells-1)]++
				}
			}
			gotCounts, gotValues := layered(true)
			name := fmt.Sprint("scale ", scale, ", layers ", bottoms)
			dptest.Homogeneity(t, name+", counts", counts, gotCounts, 1e-10)
			dptest.Homogeneity(t, name+", values", values, gotValues, 1e-10)
			if len(bottoms) > 1 && scale > float64(dptest.Fewer(1, 3)) {
				gotCounts, _ = layered(false)
				dptest.Alarm(t, 1e-10)
				require.Less(t, dptest.HomogeneityPValue(counts, gotCounts), 1e-10, "layers that overlap must be noticed: %s", name)
			}
		}
	}
}

// newLayerBlock returns the first block that CountLayer makes.
func newLayerBlock(scale float64, least, below int64, draws uint64) *block {
	d := discreteLaplace(scale)
	c := &block{d: d, least: least, below: below, p: d.layerProb(least, below)}
	if most := blockMean / c.p; most < float64(draws) {
		draws = uint64(most)
	}
	c.tabulate(draws)
	return c
}

// p is below ½, as the comment at CountLayer proves, and its float64 within the error that is
// stated there.
func TestLayerMassIsWithinItsError(t *testing.T) {
	const prec = 2000
	worst := 0.0
	for i, scale := range []float64{0.02, 0.3, 1.1, 7, 1e4 / 3, 1e9 / 7, 0x1.2345p50} {
		for j, from := range []float64{0, 0.01, 0.7, 5, 20, 40.5, 44} {
			for n, width := range []float64{0, 1e-6, 0.01, 0.5, 3, 30, 700} {
				if (i+j+n)%dptest.Fewer(1, 4) != 0 {
					continue
				}
				least := int64(from*scale) + 1
				below := least + 1 + int64(width*scale)
				d := discreteLaplace(scale)
				got := d.layerProb(least, below)
				require.Less(t, got, 0.5)
				bounds := d.layerProbBounds(least, below, prec)
				require.LessOrEqual(t, new(big.Int).Lsh(bounds.Hi, 1).Cmp(exact.One(prec)), 0)
				require.Positive(t, bounds.Lo.Sign())
				want := new(big.Float).SetInt(bounds.Lo)
				off := new(big.Float).SetFloat64(got)
				off.SetMantExp(off, prec)
				off.Quo(off.Sub(off, want), want)
				e, _ := off.Float64()
				u := (float64(least)/scale + 21) * 0x1p-53
				require.LessOrEqual(t, math.Abs(e), u, "scale %v, [%v, %v)", scale, least, below)
				worst = max(worst, math.Abs(e)/u)
			}
		}
	}
	t.Logf("worst error %.2f of the bound", worst)
	require.Greater(t, worst, 0.02, "the error was not measured")
}

// The cumulative masses are as near to those of 256 binary digits as the comment at CountLayer
// says.
func TestLayerTableIsWithinItsMargin(t *testing.T) {
	const prec, derived = 256, 0x1p-42 * 1.3
	cases := layers
	for _, x := range []float64{0.01, 0.7, 5, 20, 35, 40.5, 41, 41.6, 44, 60, 700, 746, 1e5} {
		for _, scale := range []float64{1.1, 1e4 / 3, 0x1.2345p45} {
			for _, width := range []float64{0, 0.1, 2, 50} {
				least := int64(x*scale) | 1
				cases = append(cases, struct {
					scale        float64
					least, below int64
					draws        uint64
				}{scale, least, least + 1 + int64(width*scale), math.MaxUint64})
			}
		}
	}
	worst, reach := 0.0, 0
	for _, c := range cases {
		b := newLayerBlock(c.scale, c.least, c.below, c.draws)
		p := b.massBounds(prec)
		rest := exact.Unit(prec).Sub(p)
		mass, odds := rest.Pow(b.size, prec), p.Quo(rest, prec)
		sum := new(big.Int)
		for n := 0; n <= b.last; n++ {
			sum.Add(sum, mass.Lo)
			require.Less(t, new(big.Int).Sub(mass.Hi, mass.Lo).BitLen(), prec-100, "the bounds are tight")
			got := new(big.Float).SetFloat64(b.cumulative[n])
			got.SetMantExp(got, prec)
			diff, _ := got.Sub(new(big.Float).SetInt(sum), got).Float64()
			worst = max(worst, math.Abs(math.Ldexp(diff, -prec)))
			mass = mass.Mul(odds, prec).Scale(b.size-uint64(n), uint64(n)+1)
		}
		reach = max(reach, b.last)
		require.GreaterOrEqual(t, b.cumulative[b.last], 1-blockMargin)
	}
	t.Logf("worst error 2^%.2f, longest table %d", math.Log2(worst), reach)
	require.LessOrEqual(t, worst, derived)
	require.Greater(t, reach, 60)
	require.Less(t, reach, blockReach-1)
}

// Whatever float64 decides is what intervals of integers decide, near the steps too.
func TestLayerInvertIsRight(t *testing.T) {
	n := dptest.Fewer(300, 60)
	var src Source
	undecided := 0
	for _, c := range layers {
		b := newLayerBlock(c.scale, c.least, c.below, c.draws)
		for i := range n {
			w := src.Uint64()
			if i%2 == 0 { // within 2⁻³⁹ of a step
				near := b.cumulative[src.Uint64N(uint64(b.last)+1)] + float64(int64(src.Uint64()))*0x1p-63*0x1p-39
				if near < 0 || near >= 1 {
					continue
				}
				w = uint64(near * 0x1p64)
			}
			got, decided := b.invert(w)
			if !decided {
				undecided++
				continue
			}
			want, sure := b.invertBounds(newLazy(w, 64))
			require.True(t, sure)
			require.Equal(t, want, got, "%v, w = %#x", c, w)
		}
	}
	require.Greater(t, undecided, n*2/3, "the boundary was not tried")
}

// The exact path by itself has the binomial distribution, from U with nothing decided.
func TestLayerInvertExact(t *testing.T) {
	dptest.NotShort(t, "half a second")
	n := int64(max(dptest.Full(400, 80), 80))
	var src Source
	for _, c := range layers {
		b := newLayerBlock(c.scale, c.least, c.below, c.draws)
		observed := make([]int64, blockReach+1)
		for range n {
			observed[min(b.invertExact(&src, newLazy(0, 0)), blockReach)]++
		}
		mass := binomialMass(b.size, layerMass(b.d, c.least, c.below), blockReach)
		if mean := b.p * float64(b.size); mean > 20/float64(n) { // else one cell would be left
			dptest.ChiSquare(t, fmt.Sprint(c), observed, mass, 1e-10)
		} else {
			dptest.Tail(t, fmt.Sprint(c), n-observed[0], n, 1-mass[0], 1e-10)
		}
	}
}

func TestCountLayerEdges(t *testing.T) {
	var src Source
	for _, scale := range []float64{0x1p-900, 0.01, 1, 0x1p50} {
		d, _ := NewDiscreteLaplace(scale)
		for _, least := range []int64{math.MinInt64, -1, 0, 1, 7, math.MaxInt64 - 2, math.MaxInt64 - 1, math.MaxInt64} {
			for _, below := range []int64{math.MinInt64, -1, 0, 1, 2, 8, math.MaxInt64 - 1, math.MaxInt64} {
				require.Zero(t, d.CountLayer(&src, 0, least, below))
				count := d.CountLayer(&src, 1, least, below)
				require.LessOrEqual(t, count, uint64(1))
				if max(least, 1) >= below {
					require.Zero(t, count, "an empty layer")
				}
			}
		}
		require.Zero(t, d.CountLayer(&src, math.MaxUint64, math.MaxInt64-2, math.MaxInt64-1))
	}
	// Without a bound it is CountTail, and with one that no draw reaches it decides alike.
	d, _ := NewDiscreteLaplace(3)
	for i := range uint64(50) {
		var counts [3]uint64
		for j := range counts {
			cryptotest.SetGlobalRandom(t, i)
			var fresh Source
			switch j {
			case 0:
				counts[j] = d.CountTail(&fresh, 1000, 4)
			case 1:
				counts[j] = d.CountLayer(&fresh, 1000, 4, math.MaxInt64)
			case 2:
				counts[j] = d.CountLayer(&fresh, 1000, 4, math.MaxInt64-1)
			}
		}
		require.Equal(t, counts[0], counts[1])
		require.Equal(t, counts[0], counts[2])
	}
}
