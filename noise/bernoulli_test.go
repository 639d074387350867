package noise

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/exact"
)

func asBytes(random []uint64) *[512]byte {
	raw := new([512]byte)
	for i, w := range random {
		binary.NativeEndian.PutUint64(raw[8*i:], w)
	}
	return raw
}

// Each lane of the bit-parallel comparison must say what comparing its 64 digits with k says:
// exactly, for every word of randomness.
func TestBelowComparesEveryLane(t *testing.T) {
	var src Source
	ks := []uint64{0, 1, 2, 3, 1 << 63, 1<<63 | 1, math.MaxUint64, math.MaxUint64 - 1, 3 << 61, 0x3333333333333333, 0x5555555555555555}
	for range 200 {
		ks = append(ks, src.Uint64())
	}
	for _, k := range ks {
		random := make([]uint64, 64)
		src.Fill(random)
		// Make some lanes agree with many digits of k, so that late digits decide.
		for lane := range 16 {
			for i := range min(64, 4*lane+5) {
				random[i] = random[i]&^(1<<lane) | (k>>(63-i)&1)<<lane
			}
		}
		lanes := make([]uint64, 64)
		for lane := range lanes {
			for i, r := range random {
				lanes[lane] |= (r >> lane & 1) << (63 - i)
			}
		}
		bits, read := newThreshold(k).below(asBytes(random))
		for lane, u := range lanes {
			require.Equal(t, u < k, bits>>lane&1 == 1, "k = %#x, lane %d holds %#x", k, lane, u)
		}
		// What was not read cannot matter.
		src.Fill(random[read:])
		again, _ := newThreshold(k).below(asBytes(random))
		require.Equal(t, bits, again)
	}
}

func TestBernoulliFrequencies(t *testing.T) {
	var src Source
	for _, p := range []float64{0, 1e-3, 0.2, 0.25, 0.5, 1 / (math.E + 1), 0.999} {
		bernoulli := dptest.OK(BernoulliAtLeast(p))(t)
		const words = 1 << 13
		table := make([]uint64, words)
		for i := range table {
			table[i] = uint64(i) * 0x9e3779b97f4a7c15
		}
		bernoulli.Flip(&src, table)
		perBit, total, scalar := make([]int64, 64), int64(0), int64(0)
		for k, w := range table {
			for i := range perBit {
				perBit[i] += int64((w ^ uint64(k)*0x9e3779b97f4a7c15) >> i & 1)
			}
		}
		for i, n := range perBit {
			dptest.Tail(t, fmt.Sprint("bit ", i), n, words, bernoulli.Prob(), 1e-10)
			total += n
		}
		dptest.Tail(t, "all bits", total, 64*words, bernoulli.Prob(), 1e-10)
		for range words {
			if bernoulli.Sample(&src) {
				scalar++
			}
		}
		dptest.Tail(t, "one by one", scalar, words, bernoulli.Prob(), 1e-10)
	}
}

// word draws 64 bits.
func word(b Bernoulli, src *Source) uint64 {
	var table [1]uint64
	b.Flip(src, table[:])
	return table[0]
}

// (2⁶⁴ − k)/k ≤ e^ε exactly, and k − 1 or a relative 2⁻⁴⁸ less would not do.
func TestRandomizedResponseIsOnTheSafeSide(t *testing.T) {
	for _, epsilon := range []float64{0, 1e-300, 1e-9, 0.1, 0.5, 1, math.Ln2, 2, 5, 10, 20, 40, 44} {
		bernoulli := dptest.OK(RandomizedResponse(epsilon))(t)
		exceeds := func(k *big.Int) bool { // (2⁶⁴ − k)/k > e^ε, that is k > (2⁶⁴ − k)·e^{−ε} fails
			x := new(big.Rat).SetFloat64(epsilon)
			e := exact.ExpNeg(x, 1200)
			lo, hi := e.Lo, e.Hi
			rest := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 64), k)
			left := new(big.Int).Lsh(k, 1200)
			low, high := new(big.Int).Mul(rest, lo), new(big.Int).Mul(rest, hi)
			if left.Cmp(high) >= 0 {
				return false
			}
			require.Negative(t, left.Cmp(low), "undecided")
			return true
		}
		k := new(big.Int).SetUint64(bernoulli.K())
		require.False(t, exceeds(k), "ε = %v", epsilon)
		if epsilon > 0 {
			slack := new(big.Int).Rsh(k, 48)
			require.True(t, exceeds(k.Sub(k, slack.Add(slack, big.NewInt(1)))) || epsilon < 1e-12, "ε = %v", epsilon)
		}
	}
}

func TestBernoulliRounding(t *testing.T) {
	for _, p := range []float64{0, 0.5, 0.1, 1e-19, 1e-20, 5e-324, 1 - 0x1p-53, 0x1p-64} {
		down := dptest.OK(BernoulliAtMost(p))(t)
		up := dptest.OK(BernoulliAtLeast(p))(t)
		exact := new(big.Rat).SetFloat64(p)
		rat := func(b Bernoulli) *big.Rat {
			return new(big.Rat).SetFrac(new(big.Int).SetUint64(b.K()), new(big.Int).Lsh(big.NewInt(1), 64))
		}
		require.LessOrEqual(t, rat(down).Cmp(exact), 0)
		require.GreaterOrEqual(t, rat(up).Cmp(exact), 0)
		require.LessOrEqual(t, up.K()-down.K(), uint64(1))
	}
	one := dptest.OK(BernoulliAtMost(1))(t)
	require.Equal(t, uint64(math.MaxUint64), one.K())
}

func TestRandomizedRound(t *testing.T) {
	var src Source
	for _, c := range []struct{ x, step, up float64 }{
		{0.25, 1, 0.25}, {-0.25, 1, 0.25}, {3.125, 0.5, 0.25}, {0x1p-20, 1, 0x1p-20}, {1e300, 0x1p999, math.Mod(1e300, 0x1p999) / 0x1p999},
		{1 - 0x1p-53, 1, 1 - 0x1p-53}, {5e-324, 0x1p-1070, 0x1p-4}, {100.75, 64, 0.57421875},
	} {
		lo := math.Floor(math.Abs(c.x)/c.step) * c.step
		n := int64(dptest.Fewer(20_000, 4_000))
		ups := int64(0)
		for range n {
			y := RandomizedRound(&src, c.x, c.step)
			require.Equal(t, math.Signbit(c.x), math.Signbit(y))
			switch y = math.Abs(y); y {
			case lo + c.step:
				ups++
			default:
				require.Equal(t, lo, y, "%v to %v", c.x, c.step)
			}
		}
		dptest.Tail(t, fmt.Sprint(c), ups, n, c.up, 1e-10)
	}
	for _, x := range []float64{0, 1, -7, 0x1p60, 1e308, -0x1p53, math.MaxFloat64} {
		require.Equal(t, x, RandomizedRound(&src, x, 1), "multiples stay")
	}
	require.Equal(t, 0.0, RandomizedRound(&src, 5e-324, 0x1p1000), "the probability of the other value is 2⁻²⁰⁷⁴")
	for _, c := range [][2]float64{{math.NaN(), 1}, {math.Inf(1), 1}, {1, 0}, {1, -1}, {1, 0.3}, {1, math.NaN()}, {1, math.Inf(1)}} {
		require.True(t, math.IsNaN(RandomizedRound(&src, c[0], c[1])), c)
	}
}

func FuzzRandomizedRound(f *testing.F) {
	f.Add(0.3, 1.0)
	f.Add(-1e300, 0x1p-1000)
	f.Fuzz(func(t *testing.T, x, step float64) {
		var src Source
		y := RandomizedRound(&src, x, step)
		if !powerOfTwo(step) || math.IsNaN(x) || math.IsInf(x, 0) {
			require.True(t, math.IsNaN(y))
			return
		}
		require.False(t, math.IsNaN(y))
		if !math.IsInf(y, 0) {
			require.LessOrEqual(t, math.Abs(y-x), step)
			require.Zero(t, math.Mod(y, step))
		}
	})
}
