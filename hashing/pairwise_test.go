package hashing

import (
	"encoding/binary"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// TestAffine compares with math/big.
func TestAffine(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	word := func() uint64 { // often with long runs of ones and zeros, for the carries
		return []uint64{rng.Uint64(), 0, 1<<64 - 1, 1 << 63, rng.Uint64() >> rng.IntN(64)}[rng.IntN(5)]
	}
	join := func(hi, lo uint64) *big.Int {
		b := binary.BigEndian.AppendUint64(nil, hi)
		return new(big.Int).SetBytes(binary.BigEndian.AppendUint64(b, lo))
	}
	modulus := new(big.Int).Lsh(big.NewInt(1), 128)
	for range 20_000 {
		f, x := affine{word(), word(), word(), word()}, word()
		want := join(f.aHi, f.aLo)
		want.Mul(want, join(0, x)).Add(want, join(f.bHi, f.bLo)).Mod(want, modulus).Rsh(want, 64)
		require.Equal(t, want.Uint64(), f.upper(x))
		n := word()
		product := new(big.Int).Mul(want, join(0, n))
		require.Equal(t, product.Rsh(product, 64).Uint64(), Range{f, n}.Hash(x))
	}
}

// TestPairwiseExactly enumerates the family on a small word size: with a and b multiples of 2¹²⁰,
// that is 8-bit numbers a′ and b′, the upper 8 bits of a·x + b are a′·x + b′ mod 2⁸. For 4-bit keys
// the theorem (with 8 ≥ 4 + l − 1) makes the upper l ≤ 5 bits exactly pairwise independent; the
// code under test is the code in use.
func TestPairwiseExactly(t *testing.T) {
	for _, l := range []int{1, 4, 5} {
		m := 1 << l
		var hashes [16][256 * 256]uint8 // of each key, by all functions
		for x := range hashes {
			for ab := range hashes[x] {
				h := Range{affine{aHi: uint64(ab) >> 8 << 56, bHi: uint64(ab) << 56}, uint64(m)}
				hashes[x][ab] = uint8(h.Hash(uint64(x)))
			}
			for y := range x {
				joint := make([]int, m*m)
				for ab, hash := range hashes[x] {
					joint[int(hash)<<l|int(hashes[y][ab])]++
				}
				for _, count := range joint {
					if count != 256*256/(m*m) {
						t.Fatalf("l = %d, keys %d and %d: %d", l, x, y, count)
					}
				}
			}
			if testing.Short() {
				break
			}
		}
	}
	// One bit more and the independence is gone: the check can fail.
	joint := map[[2]uint64]int{}
	for a := range uint64(256) {
		for b := range uint64(256) {
			h := Range{affine{aHi: a << 56, bHi: b << 56}, 64}
			joint[[2]uint64{h.Hash(0), h.Hash(8)}]++
		}
	}
	require.Less(t, len(joint), 64*64)
}

// TestRangeExactly computes the law of ⌊U·n/2ʷ⌋ for w = 8, that is of Range on words that are
// multiples of 2⁵⁶, and checks mass and collision bound with 2ʷ in the place of 2⁶⁴.
func TestRangeExactly(t *testing.T) {
	const w = 256
	for n := uint64(1); n <= w; n++ {
		counts := make([]int64, n)
		for u := range uint64(w) {
			counts[Range{affine{bHi: u << 56}, n}.Hash(0)]++
		}
		squares := int64(0)
		for _, c := range counts {
			require.True(t, c == w/int64(n) || c == (w+int64(n)-1)/int64(n))
			squares += c * c
		}
		// Σ (c/w)² ≤ 1/n + n/(4w²), times 4nw².
		require.LessOrEqual(t, 4*int64(n)*squares, int64(4*w*w)+int64(n*n))
	}
}

// TestSeededFamilies: over random seeds, coefficients from SHA-256 included, values and pairs of
// values are uniform. 12 assertions at 1e-6 each.
func TestSeededFamilies(t *testing.T) {
	const seeds = 20_000
	masses := make([]float64, 64)
	for i := range masses {
		masses[i] = 1.0 / 64
	}
	halves := make([]float64, 32)
	for i := range halves {
		halves[i] = 1.0 / 32
	}
	pairs := [][2]uint64{{0, 1}, {1, 2}, {1 << 63, 0}, {1<<64 - 1, 1<<63 - 1}}
	for _, pair := range pairs {
		var r, p [64]int64
		var signs [32]int64
		for i := range seeds {
			seed := testSeeds(i)
			rg, po := dptest.OK(NewRange(seed, 8))(t), dptest.OK(NewPolynomial(seed, 2))(t)
			x, y := pair[0], pair[1]
			r[rg.Hash(x)<<3|rg.Hash(y)]++
			p[po.Into(x, 8)<<3|po.Into(y, 8)]++
			// Families of one seed are independent: a sign, another key's and the place of one key.
			signs[(po.Sign(x)+1)<<3|(po.Sign(y)+1)<<2|int(rg.Hash(x))]++
		}
		dptest.ChiSquare(t, "range", r[:], masses, strict)
		dptest.ChiSquare(t, "polynomial", p[:], masses, strict)
		dptest.ChiSquare(t, "two signs, place", signs[:], halves, strict)
	}
}
