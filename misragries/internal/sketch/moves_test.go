package sketch

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// apartInUnits returns how far two sketches are apart, in ℓ₁ after they are reduced and in length.
func apartInUnits(a, b *Sketch[int], k int) (units, length int64) {
	sum := map[int]int64{}
	for _, c := range Reduced(a.Positive(), k) {
		sum[c.Key] += c.Count
	}
	for _, c := range Reduced(b.Positive(), k) {
		sum[c.Key] -= c.Count
	}
	for _, x := range sum {
		units += max(x, -x)
	}
	length = a.Length(k) - b.Length(k)
	return units, max(length, -length)
}

// Reduced sketches of neighbours are 2k−1 apart for one stream, and k(k+1)/2 after merges and for
// sets of users, and their lengths 1 and at most k+1: over random trees of merges, where the bounds
// 1, 3, 6 are attained.
func TestReducedSensitivityAfterMerges(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for k := 1; k <= 3; k++ {
		most, mostLength := int64(k*(k+1)/2), int64(k+1)
		worst, worstLength := int64(0), int64(0)
		for range dptest.Full(400_000, 6_000) {
			// Up to three sketches of short streams; one of them has one element more.
			n, more := 1+rng.IntN(3), rng.IntN(k+2)
			var a, b *Sketch[int]
			for i := range n {
				stream := make([]int, rng.IntN(9))
				for j := range stream {
					stream[j] = rng.IntN(k + 2)
				}
				x, y := New[int](k), New[int](k)
				at := rng.IntN(len(stream) + 1)
				for j := 0; j <= len(stream); j++ {
					if i == 0 && j == at {
						x.Add(more)
					}
					if j < len(stream) {
						x.Add(stream[j])
						y.Add(stream[j])
					}
				}
				if i == 0 {
					a, b = x, y
					units, length := apartInUnits(a, b, k)
					require.LessOrEqual(t, units, int64(2*k-1))
					require.EqualValues(t, 1, length)
				} else {
					a.merge(x)
					b.merge(y)
				}
			}
			units, length := apartInUnits(a, b, k)
			worst, worstLength = max(worst, units), max(worstLength, length)
		}
		require.LessOrEqual(t, worst, most, "k = %d", k)
		if k < 3 || dptest.Full(1, 0) == 1 {
			require.Equal(t, most, worst, "k = %d: attained", k)
		}
		require.LessOrEqual(t, worstLength, mostLength, "k = %d", k)
	}
}

// The witnesses for every k: k keys at 1, and one element of one of them more; or of another key,
// where both are merged with a sketch of large counters that shares half of the keys.
func TestReducedSensitivityIsAttained(t *testing.T) {
	for k := 1; k <= 64; k++ {
		low, high, common, more := New[int](k), New[int](k), New[int](k), New[int](k)
		for key := range k {
			low.Add(key)
			high.Add(key)
			more.Add(key)
		}
		more.Add(k / 2)
		units, _ := apartInUnits(low, more, k)
		require.EqualValues(t, 2*k-1, units, "k = %d", k)
		high.Add(k)
		m := (k + 1) / 2
		for key := m; key < k+m; key++ { // k keys, k − m of the first
			for range k + 3 {
				common.Add(key)
			}
		}
		low.merge(common)
		high.merge(common)
		units, length := apartInUnits(low, high, k)
		require.EqualValues(t, k*(k+1)/2, units, "k = %d", k)
		require.LessOrEqual(t, length, int64(k+1))
	}
}

// A user with m keys moves the sketch of all keys together by the same, whatever m is, and m single
// elements by m(2k−1).
func TestReducedSensitivityOfUsers(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	for k := 2; k <= 3; k++ {
		for m := 1; m <= k; m++ {
			worst := int64(0)
			for range dptest.Full(100_000, 3_000) {
				a, b := newUserSketch[int](k, m), newUserSketch[int](k, m)
				x, y := New[int](k), New[int](k)
				users, more := rng.IntN(7), rng.IntN(7)
				for u := range users + 1 {
					keys := rng.Perm(k + 3)[:1+rng.IntN(m)]
					a.addUser(keys)
					x.AddSlice(keys)
					if u != min(more, users) {
						b.addUser(keys)
						y.AddSlice(keys)
					}
				}
				units, length := apartInUnits(&a.table, &b.table, k)
				require.LessOrEqual(t, length, int64(k+1))
				worst = max(worst, units)
				units, length = apartInUnits(x, y, k)
				require.LessOrEqual(t, units, int64(m*(2*k-1)))
				require.LessOrEqual(t, length, int64(m))
			}
			bound := int64(k * (k + 1) / 2)
			if m == 1 {
				bound = int64(2*k - 1)
			}
			require.LessOrEqual(t, worst, bound, "k = %d, m = %d", k, m)
			if k == 3 && m >= 2 {
				require.Equal(t, bound, worst, "attained")
			}
		}
	}
}

// The same where counters are near 2⁶², from which elements go on: half of them cut off before they
// are reduced made it 30 for k = 10, where 2k−1 = 19.
func TestReducedSensitivityAtTheLimit(t *testing.T) {
	rng := rand.New(rand.NewPCG(91, 92))
	for pair := range dptest.Full(2000, 400) {
		k := 1 + rng.IntN(12)
		counters, stream := map[int]int64{}, []int{}
		for key := range k {
			counters[key] = Limit - rng.Int64N(2+rng.Int64N(700))
		}
		for range rng.IntN(4 * k) {
			stream = append(stream, rng.IntN(k+2))
		}
		skip := rng.IntN(len(stream) + 1)
		if pair == 0 {
			k, stream, skip = 10, []int{0, 1, 2, 3, 4, 77}, 5
			for key := range k {
				counters[key] = Limit - int64(key/5*500)
			}
		}
		var sides [2][]Counter[int]
		for side := range sides {
			s := Given(k, counters, 0)
			for i, key := range stream {
				if side == 0 || i != skip {
					s.Add(key)
				}
			}
			sides[side] = Reduced(s.Positive(), k)
		}
		require.LessOrEqual(t, step(t, k, sides[0], sides[1]), int64(2*k-1))
	}
}
