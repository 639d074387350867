package exact

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each result is on its side of the exact one, and the next float64 is not.
func TestDirections(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	rat := func(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }
	above := func(got float64, exact *big.Rat) {
		t.Helper()
		require.GreaterOrEqual(t, rat(got).Cmp(exact), 0)
		require.Negative(t, rat(math.Nextafter(got, math.Inf(-1))).Cmp(exact), "not the least")
	}
	for range 5_000 {
		a, b := math.Ldexp(1+rng.Float64(), rng.IntN(400)-200), math.Ldexp(1+rng.Float64(), rng.IntN(400)-200)
		if rng.IntN(2) == 0 {
			b = math.Ldexp(1+rng.Float64(), int(math.Log2(a))+rng.IntN(60)-30)
		}
		above(SumUp(a, b), new(big.Rat).Add(rat(a), rat(b)))
		above(ProductUp(a, b), new(big.Rat).Mul(rat(a), rat(b)))
		above(QuotientUp(a, b), new(big.Rat).Quo(rat(a), rat(b)))
		hi, lo := max(a, b), min(a, b)
		exact := new(big.Rat).Sub(rat(hi), rat(lo))
		above(DifferenceUp(hi, lo), exact)
		down := DifferenceDown(hi, lo)
		require.LessOrEqual(t, rat(down).Cmp(exact), 0)
		s := SqrtDown(a)
		require.LessOrEqual(t, new(big.Rat).Mul(rat(s), rat(s)).Cmp(rat(a)), 0)
		next := rat(math.Nextafter(s, math.Inf(1)))
		require.Positive(t, next.Mul(next, next).Cmp(rat(a)))
		up := SqrtUp(a)
		require.GreaterOrEqual(t, new(big.Rat).Mul(rat(up), rat(up)).Cmp(rat(a)), 0)
		require.LessOrEqual(t, up, s*(1+0x1p-51))
		require.Greater(t, Above(a), a*(1+0x1p-50))
	}
	inf := math.Inf(1)
	require.Equal(t, inf, SumUp(inf, 1))
	require.Equal(t, inf, SumUp(math.MaxFloat64, math.MaxFloat64))
	require.Zero(t, ProductUp(0, inf))
	require.Equal(t, 1e-323, ProductUp(5e-324, 1))
	require.Zero(t, SumUp(0, 0))
	require.Zero(t, DifferenceDown(3, 3))
}

// math.Log is wrong for denormals on some machines.
func TestLog(t *testing.T) {
	for x, want := range map[float64]float64{5e-324: -1074 * math.Ln2, 0x1p-1050: -1050 * math.Ln2, 0x1p-1022: -1022 * math.Ln2, 2: math.Ln2} {
		require.InEpsilon(t, want, Log(x), 1e-15)
	}
	require.Equal(t, math.Inf(-1), Log(0))
	require.Zero(t, Log(1))
}

func TestFloorSqrt(t *testing.T) {
	for _, n := range []int64{0, 1, 2, 3, 4, 1<<52 - 1, 1 << 52} {
		r := FloorSqrt(n)
		require.True(t, r*r <= n && n < (r+1)*(r+1), "%d", n)
	}
}

func near(t *testing.T, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-13*math.Max(1, math.Abs(want))) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestLogLaplaceTail(t *testing.T) {
	for _, b := range []float64{0.3, 1, 7.5} {
		for n := range int64(20) {
			// the sum of the masses tanh(1/2b)·e^{−x/b} from n on, and of those from −x to x
			sum := 0.0
			for x := n + 2000; x >= n; x-- {
				sum += math.Tanh(1/(2*b)) * math.Exp(-float64(x)/b)
			}
			near(t, LogLaplaceTail(b, n), math.Log(sum))
		}
	}
}

func TestLogExpm1(t *testing.T) {
	for _, x := range []float64{1e-9, 0.5, 1, math.Nextafter(1, 2), 3, 40} {
		near(t, LogExpm1(x), math.Log(math.Expm1(x)))
	}
	near(t, LogExpm1(5000), 5000)
}

// The quantile of sums of Laplace variables, against closed forms: exactly for two that differ, and
// not below for equal ones.
func TestLaplaceReach(t *testing.T) {
	for _, tail := range []float64{1, 0.5, 0.05, 1e-6, 2e-9, 0x1p-53} {
		require.InEpsilon(t, 1-math.Log(tail)*3, 1+LaplaceReach([]float64{0, -3, 0}, tail), 1e-8)
		require.Zero(t, LaplaceReach([]float64{0, 0}, tail))
		require.Zero(t, LaplaceReach(nil, tail))
		for _, s := range [][]float64{{1, 1, 1, 1}, {1, 1, 1}, {1, 1, 0}, {2, 1, 0.5}, {-1, 1e-9, 1}, {1, 0.999, 0.998}, {1e-200, 2, 3}, {1e200, 3e200, 2e200}} {
			x := LaplaceReach(s, tail)
			top := max(math.Abs(s[0]), math.Abs(s[1]), math.Abs(s[2]))
			require.GreaterOrEqual(t, x, LaplaceReach([]float64{top}, tail)*(1-1e-9))
			require.LessOrEqual(t, x, 2*top*(2-math.Log(tail)))
		}
		x := LaplaceReach([]float64{-3, 0, 1}, tail)
		require.InEpsilon(t, tail, (9*math.Exp(-x/3)-math.Exp(-x))/8, 1e-7)
		for _, equal := range []struct {
			scales []float64
			above  func(x float64) float64 // Pr[|X| > x]·e^x
		}{
			{[]float64{1, 1, 0}, func(x float64) float64 { return 1 + x/2 }},
			{[]float64{1, 1, 1}, func(x float64) float64 { return 1 + 5*x/8 + x*x/8 }},
			{[]float64{1, -1, 1, 1}, func(x float64) float64 { return 1 + 11*x/16 + 3*x*x/16 + x*x*x/48 }},
		} {
			x := LaplaceReach(equal.scales, tail)
			require.LessOrEqual(t, equal.above(x)*math.Exp(-x), tail*(1+1e-7))
			require.InDelta(t, 1, equal.above(x)*math.Exp(-x)/tail, 0.32)
		}
	}
}
