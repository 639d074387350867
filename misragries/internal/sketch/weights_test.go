package sketch

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// AddN leaves the state of n times Add, byte for byte, on all short streams of 3 keys, also where
// every other event comes by Add.
func TestAddNIsAddNTimes(t *testing.T) {
	length, most := dptest.Full(4, 3), 4
	for k := 1; k <= 3; k++ {
		var extend func(keys, weights []int)
		extend = func(keys, weights []int) {
			one, many, mixed := New[int](k), New[int](k), New[int](k)
			for i, key := range keys {
				for range weights[i] {
					one.Add(key)
				}
				many.AddN(key, uint64(weights[i]))
				if i%2 == 1 {
					mixed.AddN(key, uint64(weights[i]))
					continue
				}
				mixed.AddSlice(slices.Repeat([]int{key}, weights[i]))
			}
			want := one.Append(nil)
			require.True(t, bytes.Equal(want, many.Append(nil)) && bytes.Equal(want, mixed.Append(nil)), "k = %d, %v %v", k, keys, weights)
			if len(keys) < length {
				for event := range 3 * most {
					extend(append(slices.Clone(keys), event/most), append(slices.Clone(weights), 1+event%most))
				}
			}
		}
		extend(nil, nil)
	}
}

// At the limit of their arithmetic totals and D stay where they are, and the sketches of neighbours
// differ as elsewhere: an event of n elements is n steps.
func TestAddNSaturates(t *testing.T) {
	const k, m = 2, 3
	saturated := 0
	for _, d := range []uint64{0, mostTotal - 4, mostTotal - 2, mostTotal - 1, mostTotal, 1 << 63} {
		for code := range 5 * 5 * 27 * m {
			var sides [2]*weights[int]
			for side := range sides {
				w := &weights[int]{k: k, decrements: d, places: map[int]int{}}
				w.insert(0, max(d+1, mostTotal-4)+uint64(code%5))
				w.insert(1, d+1+uint64(code/5%5))
				for i, stream := 0, code/25; i < 3; i, stream = i+1, stream/3 {
					if i == 1 && side == 0 {
						w.add([]int{0, 1, 7}[stream%3], uint64(1+code%m))
					}
					w.add([]int{0, 7, 1}[(stream+i)%3], m)
				}
				sides[side] = w
				for _, place := range w.places {
					require.Less(t, w.items[place].total-w.decrements, uint64(1)<<63)
					require.LessOrEqual(t, w.items[place].total, max(mostTotal, d+5))
					if w.items[place].total >= mostTotal {
						saturated++
					}
				}
			}
			require.GreaterOrEqual(t, sides[0].decrements, sides[1].decrements)
			steps := sides[0].decrements - sides[1].decrements
			for key, place := range sides[0].places {
				if other, both := sides[1].places[key]; both {
					a, b := sides[0].items[place].total, sides[1].items[other].total
					require.GreaterOrEqual(t, a, b)
					steps += a - b
				}
			}
			require.LessOrEqual(t, steps, uint64(m))
		}
	}
	require.Positive(t, saturated)
}
