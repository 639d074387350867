package kor

import (
	"math"
	"math/bits"
	"testing"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// regular are key sets without randomness, on which simple hash functions are too even or too
// uneven.
var regular = map[string]func(i uint64) uint64{
	"run": func(i uint64) uint64 { return i }, "high bits": func(i uint64) uint64 { return i << 50 }, "multiples": func(i uint64) uint64 { return 1000 * i },
	"grid": func(i uint64) uint64 { return i&31 | i>>5<<32 }, "squares": func(i uint64) uint64 { return i * i },
	"gray": func(i uint64) uint64 { return i ^ i>>1 }, "two runs": func(i uint64) uint64 { return i<<44 | i }, "middle": func(i uint64) uint64 { return i << 32 },
	"floats": func(i uint64) uint64 { return math.Float64bits(float64(i)) },
}

// The ones of the first levels have the law that fully random functions give: over many seeds the
// mean and the variance of what 1000 keys of a regular set leave are within 7 standard errors.
// (For a fixed number of keys the variance is the binomial one less the share of the Poisson
// number, as in Params.StdErr.)
func TestRegularKeys(t *testing.T) {
	const n, keys, levels = 256, 1000, 5
	seeds := 1500
	if testing.Short() {
		seeds = 300
	}
	for name, key := range regular {
		var sum, squares [levels]float64
		for range seeds {
			place := newPlacement(Params{Cells: n, Levels: levels, Seed: hashing.NewSeed()})
			table := make([]uint64, levels*n/64)
			for i := range uint64(keys) {
				place.flip(table, key(i), 1)
			}
			for level := range levels {
				z := 0
				for _, word := range table[level*n/64 : (level+1)*n/64] {
					z += bits.OnesCount64(word)
				}
				sum[level] += float64(z)
				squares[level] += float64(z) * float64(z)
			}
		}
		for level := range levels {
			r := math.Ldexp(1, -level) / n
			even := math.Pow(1-r, keys) // E[(−1)^b]
			two := math.Pow(1-2*r, keys)
			mean, variance := n*(1-even)/2, n*(1-even*even)/4+n*(n-1)*(two-even*even)/4
			m := sum[level] / float64(seeds)
			v := squares[level]/float64(seeds) - m*m
			dptest.Alarm(t, 2e-10) // the variance's share, with its skewness, is by far the larger
			if z := (m - mean) / math.Sqrt(variance/float64(seeds)); math.Abs(z) > 7 {
				t.Errorf("%s, level %d: mean %.3f, want %.3f (%.1f standard errors)", name, level, m, mean, z)
			}
			if z := (v/variance - 1) / math.Sqrt(2.1/float64(seeds)); math.Abs(z) > 7 {
				t.Errorf("%s, level %d: variance %.3f, want %.3f (%.1f standard errors)", name, level, v, variance, z)
			}
		}
	}
}
