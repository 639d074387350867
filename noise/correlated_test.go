package noise

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/exact"
)

func TestCorrelatedSteps(t *testing.T) {
	var src Source
	for _, step := range []float64{0, -1, 0.3, 3, math.NaN(), math.Inf(1)} {
		require.True(t, math.IsNaN(dptest.OK(NewCorrelatedGaussian(1, 1))(t).Sampler(&src, step)()), step)
	}
	for _, c := range [][2]float64{{0x1p47, 1}, {1, 0x1p47}, {0, 0x1p47}} {
		require.True(t, math.IsNaN(dptest.OK(NewCorrelatedGaussian(c[0], c[1]))(t).Sampler(&src, 0.5)()), c)
		require.False(t, math.IsNaN(dptest.OK(NewCorrelatedGaussian(c[0], c[1]))(t).Sampler(&src, 2)()), c)
	}
	require.True(t, math.IsNaN(CorrelatedGaussian{}.Sampler(&src, 1)()))
	require.Zero(t, dptest.OK(NewCorrelatedGaussian(1, 1))(t).Sampler(&src, 0x1p1000)())
}

// On a fine grid the vector is the ideal one: variances, the covariance of two keys, and their
// difference, in which Z cancels.
func TestCorrelatedPairs(t *testing.T) {
	// the normal limit of a Gaussian's variance is right within a factor of 2 at 5e-9 from 20,000
	// on
	n := dptest.Fewer(200_000, 20_000)
	const shared, own = 0.75, 1.25
	const variance, covariance = shared*shared + own*own, shared * shared
	var src Source
	d := dptest.OK(NewCorrelatedGaussian(shared, own))(t)
	for _, step := range []float64{0x1p-20, 0x1p-45} {
		first, sum, difference := make([]float64, n), make([]float64, n), make([]float64, n)
		far := int64(0)
		for i := range first {
			draw := d.Sampler(&src, step)
			a, b := draw(), draw()
			first[i], sum[i], difference[i] = a, a+b, a-b
			if math.Abs(b) > 4*math.Sqrt(variance) {
				far++
			}
		}
		name := fmt.Sprint("step ", step)
		// Var(a + b) = 2(v + c) and Var(a − b) = 2(v − c) give v and c.
		for _, c := range []struct {
			name     string
			samples  []float64
			variance float64
		}{{"key", first, variance}, {"sum", sum, 2 * (variance + covariance)}, {"difference", difference, 2 * own * own}} {
			dptest.Moments(t, name+", "+c.name, c.samples, 0, c.variance, 3*c.variance*c.variance, 1e-10)
			marginal := dptest.OK(NewGaussian(math.Sqrt(c.variance)))(t)
			dptest.KS(t, name+", "+c.name, c.samples, marginal.CDF, 1e-10)
		}
		dptest.Tail(t, name+", tail", far, int64(n), 2*d.Marginal().Survival(4*math.Sqrt(variance)), 1e-10)
		_, independent := dptest.MomentsPValues(sum, 0, 2*variance, 12*variance*variance)
		dptest.Alarm(t, 1e-10)
		require.Less(t, independent, 1e-10, "independent keys must be noticed")
	}
}

// pairCells returns the probabilities of the pairs of two keys on a grid: cells −reach … reach
// each, the ends gathering the tails. Given Z the keys are independent; Z is integrated over by the
// trapezoid rule, whose error on a Gaussian falls like e^{−2π²/h²} with h in units of s.
func pairCells(d CorrelatedGaussian, step float64, reach int) []float64 {
	own := gaussian(d.own)
	side := 2*reach + 1
	cells := make([]float64, side*side)
	const h = 1.0 / 16
	for i := -9 / h; i <= 9/h; i++ {
		weight := h * math.Exp(-i*h*i*h/2) / math.Sqrt(2*math.Pi)
		row := make([]float64, side)
		for k := range row {
			lo, hi := (float64(k-reach)-0.5)*step-i*h*d.shared, (float64(k-reach)+0.5)*step-i*h*d.shared
			if k == 0 {
				lo = math.Inf(-1)
			}
			if k == side-1 {
				hi = math.Inf(1)
			}
			row[k] = own.CDF(hi) - own.CDF(lo)
		}
		for a, p := range row {
			for b, q := range row {
				cells[a*side+b] += weight * p * q
			}
		}
	}
	return cells
}

// On a coarse grid, such as step = 2σ, the joint distribution of two keys is that of the ideal
// vector rounded. Rounding Z before it is added is not, and the test sees it.
func TestCorrelatedPairsOnACoarseGrid(t *testing.T) {
	const reach = 3
	n := dptest.Fewer(200_000, 50_000)
	for i, c := range []struct{ shared, own, step float64 }{
		{1, 1, 2}, {0.8, 0.5, 1}, {0, 1, 1}, {0.3, 1, 2}, {1, 0.3, 2}, {5, 2, 4}, {0x1p-300, 1, 1}, {0x1.8p600, 0x1p601, 0x1p601},
	} {
		d := dptest.OK(NewCorrelatedGaussian(c.shared, c.own))(t)
		cells := pairCells(d, c.step, reach)
		var src Source
		pValue := func(draw func() (a, b float64)) float64 {
			observed := make([]int64, len(cells))
			index := func(x float64) int { return int(min(max(x/c.step, -reach), reach)) + reach }
			for range n {
				a, b := draw()
				observed[index(a)*(2*reach+1)+index(b)]++
			}
			return dptest.ChiSquarePValue(observed, cells)
		}
		dptest.Alarm(t, 1e-10)
		require.Greater(t, pValue(func() (a, b float64) {
			draw := d.Sampler(&src, c.step)
			return draw(), draw()
		}), 1e-10, "%v", c)
		if i > 1 {
			continue
		}
		shared, own := gaussian(c.shared), gaussian(c.own)
		dptest.Alarm(t, 1e-10)
		require.Less(t, pValue(func() (a, b float64) {
			z := shared.Sample(&src, c.step)
			return z + own.Sample(&src, c.step), z + own.Sample(&src, c.step)
		}), 1e-8, "a rounded Z must be noticed")
		dptest.Alarm(t, 1e-10)
		require.Less(t, pValue(func() (a, b float64) {
			return d.Sampler(&src, c.step)(), d.Sampler(&src, c.step)()
		}), 1e-8, "a fresh Z for each key must be noticed")
	}
}

// Whatever the 128-bit path decides is what rational arithmetic says at both ends of all that is
// unknown.
func TestRoundSum(t *testing.T) {
	var src Source
	random := func() (float64, normalDraw) {
		b := math.Ldexp(1+float64(src.Uint64()>>12)*0x1p-52, int(src.Uint64()%120)-74)
		if src.Uint64()%8 == 0 {
			b = 0x1p46
		}
		return min(b, 0x1p46), normalDraw{negative: src.Uint64()&1 != 0, m: src.Uint64N(stripEnd)}
	}
	runs := max(dptest.Full(8000, 1333), 1000)
	undecided, wrong := 0, 0
	for i := range runs {
		b, z := random()
		c, n := random()
		if i%2 == 0 { // move N such that the sum is within its last digits of a half
			least, _ := z.bounds(b)
			other, _ := n.bounds(c)
			sum := new(big.Rat).Add(least, other)
			target := new(big.Rat).Sub(new(big.Rat).SetInt(roundRat(new(big.Rat).Set(sum))), big.NewRat(1, 2))
			gap := target.Sub(target, sum) // to be added to ±c·N
			gap.Quo(gap, new(big.Rat).SetFloat64(c)).Mul(gap, new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), fractions)))
			if n.negative {
				gap.Neg(gap)
			}
			if moved := roundRat(gap); moved.IsInt64() {
				// any value will do
				n.m = (n.m + uint64(moved.Int64()) + src.Uint64()%5 - 2) % stripEnd
			}
		}
		z.digits, n.digits = nil, nil
		zLeast, zMost := z.bounds(b)
		nLeast, nMost := n.bounds(c)
		least, most := new(big.Rat).Add(zLeast, nLeast), new(big.Rat).Add(zMost, nMost)

		zLo, zHi := newGridUnits(b).interval(&z)
		nLo, nHi := newGridUnits(c).interval(&n)
		lo, hi := zLo.Plus(nLo), zHi.Plus(nHi)
		require.LessOrEqual(t, rational(lo).Cmp(least), 0, "b = %v, c = %v, %+v, %+v", b, c, z, n)
		require.GreaterOrEqual(t, rational(hi).Cmp(most), 0, "b = %v, c = %v, %+v, %+v", b, c, z, n)
		room := new(big.Rat).Sub(new(big.Rat).Sub(rational(hi), rational(lo)), new(big.Rat).Sub(most, least))
		require.LessOrEqual(t, room.Cmp(big.NewRat(1, 1<<62)), 0, "the interval is wider than 2⁻⁶² without need")

		got, decided := roundSum(lo, hi)
		atLeast, atMost := roundRat(least), roundRat(most)
		if !decided {
			undecided++
			v := roundSumLazily(&src, b, &z, c, &n)
			require.True(t, atLeast.Int64() <= v && v <= atMost.Int64())
			continue
		}
		require.Equal(t, atLeast.Int64(), got)
		require.Equal(t, atMost.Int64(), got)
		if roundSumLazily(&src, b, &z, c, &n) != got {
			wrong++
		}
	}
	require.Zero(t, wrong)
	require.Greater(t, undecided, runs/80, "the boundary was not tried")
}

// rational returns a/2⁷⁴.
func rational(a exact.Int128) *big.Rat {
	return new(big.Rat).SetFrac(a.Big(), new(big.Int).Lsh(big.NewInt(1), 74))
}

// far returns 16 + x, the first digits of x given.
func far(x uint64) normalDraw {
	digits := newLazy(16, 0)
	digits.extend(x)
	return normalDraw{m: math.MaxUint64, digits: digits}
}

// Nothing but rational arithmetic, on draws far enough out that the fast path does not take them,
// has the right distribution: Z = 16 + x is shifted by −16 here, x uniform, and 4·x + N rounded.
// Digits that were drawn of Z stay.
func TestRoundSumLazily(t *testing.T) {
	var src Source
	n := int64(dptest.Fewer(4000, 800))
	var low, high int64
	for range n {
		first := src.Uint64()
		z, own := far(first), far(0)
		own.negative = true
		v := roundSumLazily(&src, 4, &z, 4, &own) // ⌊4x − 4y + ½⌋, y < 2⁻⁶⁴
		require.True(t, v >= 0 && v <= 4)
		if v == 0 {
			low++
		}
		if v == 4 {
			high++
		}
		require.Equal(t, first, new(big.Int).Rsh(z.digits.n, z.digits.bits-64).Uint64())
	}
	dptest.Tail(t, "below an eighth", low, n, 0.125, 1e-10)
	dptest.Tail(t, "above seven eighths", high, n, 0.125, 1e-10)

	// 58 digits leave both of these open: the ties are broken by the digits that follow, and those
	// of Z decide again the same way.
	up := int64(0)
	for range n {
		z, first := normalDraw{m: 1 << (fractions - 1)}, normalDraw{negative: true}
		v := roundSumLazily(&src, 1, &z, 1, &first) // ½ + x′ − y′ ≥ ½ or not, x′ and y′ uniform
		require.True(t, v == 0 || v == 1)
		up += v
		digits := new(big.Int).Set(z.digits.n)
		second := normalDraw{negative: true, digits: &lazy{n: new(big.Int).Lsh(big.NewInt(1), 1), bits: 200}}
		require.EqualValues(t, 1, roundSumLazily(&src, 1, &z, 1, &second)) // y far below x
		require.Zero(t, digits.Cmp(new(big.Int).Rsh(z.digits.n, uint(z.digits.n.BitLen()-digits.BitLen()))))
	}
	dptest.Tail(t, "ties", up, n, 0.5, 1e-10)
}

func FuzzCorrelated(f *testing.F) {
	f.Add(1.0, 1.0, 0x1p-40)
	f.Add(0.0, 1e300, 1.0)
	f.Add(0x1p-900, 0x1p46, 1.0)
	f.Fuzz(func(t *testing.T, shared, own, step float64) {
		d, err := NewCorrelatedGaussian(shared, own)
		if err != nil {
			require.ErrorIs(t, err, ErrParams)
			return
		}
		var src Source
		draw := d.Sampler(&src, step)
		for range 3 {
			x := draw()
			require.Equal(t, !powerOfTwo(step) || max(shared, own)/step > maxGridScale, math.IsNaN(x))
			if !math.IsNaN(x) {
				require.Zero(t, math.Mod(x, step), "%v is no multiple of %v", x, step)
			}
		}
	})
}
