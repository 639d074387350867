package hashing

import (
	"math/rand/v2"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/stretchr/testify/require"
)

// Fill is Hash of consecutive keys, also across the ends of the field and of the 64-bit words, at
// every independence up to 40 and the greatest, and for fewer keys than that.
func TestFill(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 42))
	firsts := []uint64{0, 1, mersenne - 30, mersenne, 1<<61 - 5, 3*mersenne - 20, 8*mersenne - 1, 1<<63 - 9, 1<<64 - 25, 1<<64 - 1}
	check := func(k, n int, first uint64) {
		t.Helper()
		h := dptest.OK(NewPolynomial(testSeeds(k), k))(t)
		got := make([]uint64, n)
		h.Fill(got, first)
		for i, v := range got {
			require.Equal(t, h.Hash(first+uint64(i)), v, "k = %d, key %d + %d", k, first, i)
		}
	}
	for k := 2; k <= 40; k++ {
		for _, first := range firsts {
			check(k, rng.IntN(100), first)
		}
		check(k, 60, rng.Uint64())
	}
	check(4, 20_000, rng.Uint64())
	check(MaxIndependence, 1100, 1<<61-512)
	zero := []uint64{1, 2, 3}
	Polynomial{}.Fill(zero, 5)
	require.Equal(t, []uint64{0, 0, 0}, zero)
	require.Zero(t, add(mersenne-1, 1))
	require.Equal(t, uint64(5), add(5, mersenne), "for differences of 0")
	require.Equal(t, uint64(mersenne-1), add(mersenne-1, mersenne))
}
