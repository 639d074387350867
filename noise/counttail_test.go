package noise

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/enclose"
)

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
	c := &block{d: d, least: least, p: d.law.atLeast(float64(least))}
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
		rest := enclose.Unit(prec).Sub(p)
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

// The exact path by itself has the binomial law, from U with nothing decided.
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
		c := block{d: d, least: least, p: 2 * d.law.atLeast(float64(least)), tails: 1}
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
