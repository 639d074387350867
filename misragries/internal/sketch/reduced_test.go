package sketch

import (
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"

	"github.com/stretchr/testify/require"
)

// step compares the reduced sketches of two neighbours as (A) or (B) says, and returns their ℓ₁
// distance.
func step(t *testing.T, k int, a, b []Counter[int]) int64 {
	t.Helper()
	changes := map[int]int64{}
	for _, c := range a {
		changes[c.Key] += c.Count
	}
	for _, c := range b {
		changes[c.Key] -= c.Count
	}
	var up, down, mostUp, mostDown, distance int64
	for _, d := range changes {
		switch {
		case d > 0:
			up++
			mostUp = max(mostUp, d)
			distance += d
		case d < 0:
			down++
			mostDown = max(mostDown, -d)
			distance -= d
		}
	}
	caseA := func(one, most, others, each int64) bool {
		return one <= 1 && most <= int64(k) && others < int64(k) && each <= 1
	}
	caseB := up*down == 0 && up+down <= int64(k) && max(mostUp, mostDown) <= 1
	if !caseA(up, mostUp, down, mostDown) && !caseA(down, mostDown, up, mostUp) && !caseB {
		t.Fatalf("k = %d: neither (A) nor (B): %v", k, changes)
	}
	return distance
}

// The reduced sketches of all neighbours among short streams differ by (A) or (B), and 2k−1 is
// attained.
func TestReducedSensitivityExactly(t *testing.T) {
	for k := 1; k <= 4; k++ {
		most := int64(0)
		length := []int{0, 8, 8, 6, 6}
		if !dptest.Long() {
			length = []int{0, 8, 6, 5, 5}
		}
		reduced := func(stream []int) []Counter[int] { return Reduced(run(k, stream).sorted(), k) }
		var extend func(stream []int)
		extend = func(stream []int) {
			whole := reduced(stream)
			for i := range stream {
				most = max(most, step(t, k, whole, reduced(slices.Concat(stream[:i], stream[i+1:]))))
			}
			if len(stream) < length[k] {
				for key := range k + 1 {
					extend(append(slices.Clone(stream), key))
				}
			}
		}
		extend(nil)
		require.Equal(t, int64(2*k-1), most)
	}
}

// The result is exact, or 2⁶² where it is above, for all counters; and neighbours stay neighbours
// there.
func TestReducedSaturates(t *testing.T) {

	rng := rand.New(rand.NewPCG(33, 34))
	for range 2000 {
		k := 1 + rng.IntN(5)
		var counters []Counter[int]
		for i := range k {
			counters = append(counters, Counter[int]{i, []int64{rng.Int64N(9), Limit - rng.Int64N(9), Limit/int64(k+1) + rng.Int64N(9), rng.Int64N(Limit)}[rng.IntN(4)]})
		}
		got := Reduced(counters, k)
		sum := new(big.Int)
		for _, c := range counters {
			sum.Add(sum, big.NewInt(c.Count))
		}
		var want []Counter[int]
		for _, c := range counters {
			v := new(big.Int).Mul(big.NewInt(c.Count), big.NewInt(int64(k+1)))
			if v.Sub(v, sum); v.Sign() > 0 {
				count := int64(Limit)
				if v.Cmp(big.NewInt(Limit)) < 0 {
					count = v.Int64()
				}
				want = append(want, Counter[int]{c.Key, count})
			}
		}
		require.Equal(t, want, got)

		more := slices.Clone(counters)
		more[rng.IntN(k)].Count++
		step(t, k, Reduced(more, k), got)
		for i := range more {
			more[i].Count = counters[i].Count + 1
		}
		step(t, k, Reduced(more, k), got)
	}
	many := make([]Counter[int], 1<<20) // S = 2⁸²
	for i := range many {
		many[i] = Counter[int]{i, Limit}
	}
	require.Len(t, Reduced(many, 1<<20), 1<<20)
	require.Equal(t, Counter[int]{0, Limit}, Reduced(many, 1<<20)[0])
	many[5].Count = 0
	require.Len(t, Reduced(many, 1<<20), 1<<20-1)
}

func TestReducedKeepsTheOrderAndDropsZeros(t *testing.T) {
	got := Reduced([]Counter[string]{{"b", 4}, {"c", 0}, {"d", 1}, {"e", 2}, {"a", 3}}, 4)
	require.Equal(t, []Counter[string]{{"b", 10}, {"a", 5}}, got)
	require.Empty(t, Reduced[int](nil, 3))
}

// Two of four counters one higher, as a merge may leave them, is far beyond 2k−1 = 7: merged
// sketches must not be reduced.
func TestMergedSketchesMustNotBeReduced(t *testing.T) {
	a := Reduced([]Counter[int]{{1, 9}, {2, 9}, {3, 9}, {4, 9}}, 4)
	b := Reduced([]Counter[int]{{1, 10}, {2, 10}, {3, 9}, {4, 9}}, 4)
	distance := int64(0)
	for i := range a {
		distance += max(a[i].Count-b[i].Count, b[i].Count-a[i].Count)
	}
	require.Equal(t, int64(2*(2*4+1-2*2)), distance)
}
