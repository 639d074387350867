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

// counted is a case of CountTail, or with below of CountLayer, or with tails 1 of CountTails.
type counted struct {
	scale        float64
	least, below int64
	draws        uint64
	tails        uint
}

// counts are cases: around one block, a quarter, several, the largest number of draws; of layers
// one value and many, p near ½, one so thin that G(least) − G(below) would lose its digits, and one
// that is as good as a tail.
var counts = []counted{
	{1, 1, 0, 5, 0}, {0.3, 1, 0, 70, 0}, {2, 3, 0, 100, 0}, {10, 20, 0, 64, 0}, {0x1p50, 1, 0, 64, 0}, {0x1p50, 1, 0, 65, 0}, {3, 1, 0, 600, 0},
	{1e6, 1, 0, 400, 0}, {7, 25, 0, 14_000, 0}, {2, 80, 0, math.MaxUint64, 0}, {1, 39, 0, math.MaxUint64, 0}, {1, 44, 0, math.MaxUint64, 0},
	{1, 50, 0, math.MaxUint64, 0}, {1e9, 39_000_000_123, 0, math.MaxUint64, 0}, {0.04, 1, 0, 1 << 40, 0},
	{0.3, 1, 0, 70, 1}, {2, 3, 0, 100, 1}, {10, 20, 0, 64, 1}, {7, 25, 0, 4_000, 1}, {2, 80, 0, math.MaxUint64, 1}, {1, 44, 0, math.MaxUint64, 1},
	{1e9, 39_000_000_123, 0, math.MaxUint64, 1},
	{1, 1, 2, 5, 0}, {1, 1, 2, 70, 0}, {0.3, 1, 2, 400, 0}, {2, 3, 7, 300, 0}, {10, 20, 25, 1000, 0}, {0x1p50, 1, 1 << 57, 64, 0}, {0x1p50, 1, 1 << 57, 65, 0},
	{1e6, 1, 10_000_000, 600, 0}, {1e9, 12, 13, math.MaxUint64 >> 30, 0}, {1e9, 1e9, 1e9 + 1, 1 << 36, 0}, {7, 25, 30, 14_000, 0},
	{2, 80, 81, math.MaxUint64, 0}, {1, 40, 41, math.MaxUint64, 0}, {1, 41, 1e6, math.MaxUint64, 0}, {1, 50, 51, math.MaxUint64, 0},
	{1e9, 39_000_000_123, 40_000_000_000, math.MaxUint64, 0}, {0.04, 1, 2, 1 << 40, 0}, {0x1p50, 40 << 50, 40<<50 + 1<<45, math.MaxUint64, 0},
}

// count draws by the method of the case.
func (c counted) count(src *Source) uint64 {
	d := discreteLaplace(c.scale)
	switch {
	case c.below > 0:
		return d.CountLayer(src, c.draws, c.least, c.below)
	case c.tails > 0:
		return d.CountTails(src, c.draws, c.least)
	}
	return d.CountTail(src, c.draws, c.least)
}

// mass returns p in float64, of a layer from the masses of the values where they are few.
func (c counted) mass() float64 {
	d := discreteLaplace(c.scale)
	if c.below == 0 {
		return math.Ldexp(d.Survival(float64(c.least)-1), int(c.tails))
	}
	sum := 0.0
	if c.below-c.least < 100 {
		for x := c.below - 1; x >= c.least; x-- {
			sum += d.Prob(float64(x))
		}
	} else {
		sum = d.Survival(float64(c.least)-1) - d.Survival(float64(c.below)-1)
	}
	return sum / d.CDF(float64(c.below)-1)
}

// block returns the first block that is made.
func (c counted) block() *block {
	d := discreteLaplace(c.scale)
	b := &block{d: d, least: c.least, below: c.below, tails: c.tails, p: math.Ldexp(d.formulas.atLeast(float64(c.least)), int(c.tails))}
	if c.below > 0 {
		b.p = d.layerProb(c.least, c.below)
	}
	draws := c.draws
	if most := blockMean / b.p; most < float64(draws) {
		draws = uint64(most)
	}
	b.tabulate(draws)
	return b
}

// isBinomial tests counts of n rounds against Bin(size, p).
func isBinomial(t *testing.T, name string, observed []int64, n int64, size uint64, p float64) {
	t.Helper()
	mass := binomialMass(size, p, len(observed)-1)
	if float64(size)*p*float64(n) > 50 {
		dptest.ChiSquare(t, name, observed, mass, 1e-10)
	} else { // one cell would be left
		dptest.Tail(t, name, n-observed[0], n, -math.Expm1(float64(size)*math.Log1p(-p)), 1e-10)
	}
}

func TestCountsFollowTheBinomialLaw(t *testing.T) {
	const cells = 400
	n := int64(dptest.Fewer(20_000, 4_000))
	var src Source
	for _, c := range append(counts, counted{1, 1, 0, 5, 1}, counted{2, -3, 0, 100, 0}, counted{2, 0, 0, 300, 0}, counted{0.5, -1, 0, 1000, 0}) {
		p := c.mass()
		if c.least <= 0 {
			p = discreteLaplace(c.scale).CDF(float64(c.least) - 1)
		}
		observed := make([]int64, cells+1)
		for range n {
			k := c.count(&src)
			require.LessOrEqual(t, k, c.draws)
			if c.least <= 0 {
				k = c.draws - k
			}
			observed[min(k, cells)]++
		}
		name := fmt.Sprintf("%+v", c)
		isBinomial(t, name, observed, n, c.draws, p)
		if mean := float64(c.draws) * p; mean > 20 && mean < 300 && !testing.Short() {
			// 20 standard deviations of the mean, 3 % with -long: χ² is about 400 more, of which
			// 60 to 100 make 1e-10
			dptest.Alarm(t, 1e-10)
			f := max(0.03, 20/math.Sqrt(mean*float64(n)))
			require.Less(t, dptest.ChiSquarePValue(observed, binomialMass(c.draws, (1-f)*p, cells)), 1e-10, "%.1f %% must be noticed: %s", 100*f, name)
		}
	}
}

// p of a layer is below ½, as the comment at CountLayer proves, and its float64 within the error
// that is stated there.
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
	require.Greater(t, worst, 0.02, "the error was not measured")
}

// The cumulative masses are as near to those of 256 binary digits as the comments at blockMargin
// and CountLayer say.
func TestBlockTableIsWithinItsMargin(t *testing.T) {
	const prec = 256
	cases := counts
	for _, x := range []float64{0.01, 0.7, 5, 20, 35, 40.5, 41, 41.6, 44, 60, 700, 746, 1e5} {
		for _, scale := range []float64{1.1, 1e4 / 3, 0x1.2345p45} {
			least := int64(x*scale) | 1
			cases = append(cases, counted{scale: scale, least: least, draws: math.MaxUint64})
			for _, width := range []float64{0, 0.1, 2, 50} {
				cases = append(cases, counted{scale: scale, least: least, below: least + 1 + int64(width*scale), draws: math.MaxUint64})
			}
		}
	}
	reach := 0
	for _, c := range cases {
		derived := 0x1p-42 * 1.1
		if c.below > 0 {
			derived = 0x1p-42 * 1.3
		}
		b := c.block()
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
			require.LessOrEqual(t, math.Abs(math.Ldexp(diff, -prec)), derived, "%+v", c)
			mass = mass.Mul(odds, prec).Scale(b.size-uint64(n), uint64(n)+1)
		}
		reach = max(reach, b.last)
		require.GreaterOrEqual(t, b.cumulative[b.last], 1-blockMargin)
	}
	require.Greater(t, reach, 60)
	require.Less(t, reach, blockReach-1)
}

// Whatever float64 decides is what intervals of integers decide, near the steps too.
func TestBlockInvertIsRight(t *testing.T) {
	n := dptest.Fewer(400, 80)
	var src Source
	undecided := 0
	for _, c := range counts {
		b := c.block()
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
			require.Equal(t, want, got, "%+v, w = %#x", c, w)
		}
	}
	require.Greater(t, undecided, 2*n, "the boundary was not tried")
}

// The exact path by itself has the binomial distribution, from U with nothing decided.
func TestBlockInvertExact(t *testing.T) {
	dptest.NotShort(t, "half a second")
	n := int64(max(dptest.Full(1000, 100), 100))
	var src Source
	for _, c := range counts {
		b := c.block()
		observed := make([]int64, blockReach+1)
		for range n {
			observed[min(b.invertExact(&src, newLazy(0, 0)), blockReach)]++
		}
		isBinomial(t, fmt.Sprint(c), observed, n, b.size, c.mass())
	}
}

func TestCountEdges(t *testing.T) {
	var src Source
	for _, scale := range []float64{0x1p-900, 0.01, 1, 0x1p50} {
		d, _ := NewDiscreteLaplace(scale)
		for _, least := range []int64{math.MinInt64, -1, 0, 1, 7, math.MaxInt64 - 2, math.MaxInt64 - 1, math.MaxInt64} {
			require.Zero(t, d.CountTail(&src, 0, least))
			require.Zero(t, d.CountTails(&src, 0, least))
			require.LessOrEqual(t, d.CountTail(&src, 1, least), uint64(1))
			for _, below := range []int64{math.MinInt64, -1, 0, 1, 2, 8, math.MaxInt64 - 1, math.MaxInt64} {
				require.Zero(t, d.CountLayer(&src, 0, least, below))
				count := d.CountLayer(&src, 1, least, below)
				require.LessOrEqual(t, count, uint64(1))
				if max(least, 1) >= below {
					require.Zero(t, count, "an empty layer")
				}
			}
			if least <= 0 {
				require.EqualValues(t, 7, d.CountTails(&src, 7, least))
			}
		}
		for range 200 {
			_, ok := d.SampleTail(&src, math.MaxInt64)
			require.False(t, ok)
			_, ok = d.SampleTail(&src, math.MinInt64)
			require.True(t, ok)
		}
		require.Zero(t, d.CountTail(&src, math.MaxUint64, math.MaxInt64))
		require.EqualValues(t, uint64(math.MaxUint64), d.CountTail(&src, math.MaxUint64, math.MinInt64))
		require.EqualValues(t, uint64(math.MaxUint64), d.CountTail(&src, math.MaxUint64, math.MinInt64+1))
		require.Zero(t, d.CountLayer(&src, math.MaxUint64, math.MaxInt64-2, math.MaxInt64-1))
	}
	// Without a bound it is CountTail, and with one that no draw reaches it decides alike.
	d, _ := NewDiscreteLaplace(3)
	for i := range uint64(50) {
		draw := func(count func(src *Source) uint64) uint64 {
			cryptotest.SetGlobalRandom(t, i)
			return count(new(Source))
		}
		want := draw(func(src *Source) uint64 { return d.CountTail(src, 1000, 4) })
		for _, below := range []int64{math.MaxInt64, math.MaxInt64 - 1} {
			require.Equal(t, want, draw(func(src *Source) uint64 { return d.CountLayer(src, 1000, 4, below) }))
		}
	}
}
