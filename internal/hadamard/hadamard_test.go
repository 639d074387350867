package hadamard

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/stretchr/testify/require"
)

// naive returns Hx by the definition.
func naive[T number](x []T) []T {
	y := make([]T, len(x))
	for i := range x {
		for j, v := range x {
			if bits.OnesCount(uint(i&j))%2 == 1 {
				v = -v
			}
			y[i] += v
		}
	}
	return y
}

// random returns integers below 2³⁰ in size, so that sums of 2¹⁶ are exact in a float64.
func random(r *rand.Rand, n int) ([]int64, []float64) {
	x, y := make([]int64, n), make([]float64, n)
	for i := range x {
		x[i] = r.Int64N(1<<31) - 1<<30
		y[i] = float64(x[i])
	}
	return x, y
}

func TestAgainstDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := 1; n <= 1<<12; n *= 2 {
		x, y := random(r, n)
		wantX, wantY := naive(x), naive(y)
		require.True(t, Int(x))
		require.True(t, Float(y))
		require.Equal(t, wantX, x, "n = %d", n)
		require.Equal(t, wantY, y, "n = %d", n)
	}
}

// Beyond the size of the cache: rows of H by the definition, and H·H = u·I, H linear.
func TestProperties(t *testing.T) {
	dptest.NotShort(t, "half a second: in the default run")
	r := rand.New(rand.NewPCG(3, 4))
	for n := 1; n <= 1<<17; n *= 2 {
		x, f := random(r, n)
		y, _ := random(r, n)
		sum := make([]int64, n)
		for i := range sum {
			sum[i] = 3*x[i] - 7*y[i]
		}
		hx, hy := append([]int64(nil), x...), append([]int64(nil), y...)
		Int(hx)
		Int(hy)
		Int(sum)
		for i := range sum {
			require.Equal(t, 3*hx[i]-7*hy[i], sum[i], "linear")
		}
		for range 8 {
			i, want := r.IntN(n), int64(0)
			for j, v := range x {
				want += v * int64(1-2*(bits.OnesCount(uint(i&j))%2))
			}
			require.Equal(t, want, hx[i], "row %d of %d", i, n)
		}
		Int(hx)
		Float(f)
		Float(f)
		for i := range x {
			require.Equal(t, x[i]*int64(n), hx[i], "involution")
			require.Equal(t, float64(x[i])*float64(n), f[i], "involution")
		}
	}
}

func TestOtherLengths(t *testing.T) {
	for _, n := range []int{0, 3, 5, 6, 7, 12, 4095, 4097, 12288} {
		x, y := random(rand.New(rand.NewPCG(5, 6)), n)
		sameX, sameY := append([]int64{}, x...), append([]float64{}, y...)
		require.False(t, Int(x))
		require.False(t, Float(y))
		require.Equal(t, sameX, x)
		require.Equal(t, sameY, y)
	}
	require.False(t, Int(nil))
}

func TestSize(t *testing.T) {
	for n, want := range map[uint64]uint64{0: 1, 1: 1, 2: 2, 3: 4, 4: 4, 5: 8, 1 << 63: 1 << 63, 1<<63 + 1: 0, math.MaxUint64: 0} {
		require.Equal(t, want, Size(n), "%d", n)
	}
}

func TestAllocations(t *testing.T) {
	x, y := random(rand.New(rand.NewPCG(7, 8)), 1<<13)
	require.Zero(t, testing.AllocsPerRun(10, func() { Int(x); Float(y) }))
}
