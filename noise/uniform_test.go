package noise

import (
	"fmt"
	"math"
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// equal returns n equal probabilities.
func equal(n int) []float64 {
	p := make([]float64, n)
	for i := range p {
		p[i] = 1 / float64(n)
	}
	return p
}

func TestUint64NIsUniform(t *testing.T) {
	var src Source
	for _, n := range []uint64{2, 3, 10, 1000} {
		observed := make([]int64, n)
		for range 100_000 {
			observed[src.Uint64N(n)]++
		}
		dptest.ChiSquare(t, fmt.Sprint("n = ", n), observed, equal(int(n)), 1e-10)
	}
	for range 1000 {
		require.Zero(t, src.Uint64N(1))
	}
}

// With n = ¾·2⁶⁴ a multiplication alone maps two of four words to the same multiple of 3: half the
// results would be. And each third of the range is hit equally.
func TestUint64NRejects(t *testing.T) {
	const n, draws = 3 << 62, 30_000
	var src Source
	low, high, naive := make([]int64, 3), make([]int64, 3), make([]int64, 3)
	for range draws {
		x := src.Uint64N(n)
		require.Less(t, x, uint64(n))
		low[x%3]++
		high[x>>62]++
		product, _ := bits.Mul64(src.Uint64(), n)
		naive[product%3]++
	}
	dptest.ChiSquare(t, "residues", low, equal(3), 1e-10)
	dptest.ChiSquare(t, "thirds", high, equal(3), 1e-10)
	dptest.Alarm(t, 1e-10)
	require.Less(t, dptest.ChiSquarePValue(naive, equal(3)), 1e-10, "without rejection must be noticed")
}

// n = 0 is 2⁶⁴, and 2⁶⁴ − 1 leaves out one value.
func TestUint64NWhole(t *testing.T) {
	for _, n := range []uint64{0, math.MaxUint64} {
		var src Source
		observed := make([]int64, 16)
		for range 20_000 {
			observed[src.Uint64N(n)>>60]++
		}
		dptest.ChiSquare(t, fmt.Sprint("n = ", n), observed, equal(16), 1e-10)
	}
}
