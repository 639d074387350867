package misragries

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/misragries/internal/thresholds"
)

// counting is a sketch of k counters of a stream, as somebody else writes it.
type counting func(k int, stream []int) map[int]int64

// misraGries is the sketch as most libraries have it.
func misraGries(k int, stream []int) map[int]int64 {
	c := map[int]int64{}
	for _, key := range stream {
		if _, held := c[key]; held || len(c) < k {
			c[key]++
			continue
		}
		for other := range c {
			if c[other]--; c[other] == 0 {
				delete(c, other)
			}
		}
	}
	return c
}

// smallest returns the key with the smallest counter, and of several the one that pick takes.
func smallest(c map[int]int64, pick func(ties []int) int) (key int, count int64) {
	count = slices.Min(slices.Collect(maps.Values(c)))
	var ties []int
	for _, key := range slices.Sorted(maps.Keys(c)) {
		if c[key] == count {
			ties = append(ties, key)
		}
	}
	return pick(ties), count
}

func first(ties []int) int { return ties[0] }

// spaceSaving has k counters.
func spaceSaving(k int, stream []int, pick func(ties []int) int) map[int]int64 {
	c := map[int]int64{}
	for _, key := range stream {
		if _, held := c[key]; !held && len(c) == k {
			out, count := smallest(c, pick)
			delete(c, out)
			c[key] = count
		}
		c[key]++
	}
	return c
}

// frequentItems purges as DataSketches does: where a key has no room, all counters lose their
// median.
func frequentItems(k int, stream []int) map[int]int64 {
	c := map[int]int64{}
	for _, key := range stream {
		if c[key]++; len(c) <= k {
			continue
		}
		median := slices.Sorted(maps.Values(c))[len(c)/2]
		for other := range c {
			c[other] -= median
		}
		maps.DeleteFunc(c, func(_ int, count int64) bool { return count <= 0 })
	}
	return c
}

// filtered is filtered Space-Saving, less its smallest counter: a key comes in where its cell of
// the filter, a key modulo 5, reaches that.
func filtered(k int, stream []int) map[int]int64 {
	c, filter := map[int]int64{}, map[int]int64{}
	for _, key := range stream {
		if _, held := c[key]; held || len(c) < k {
			c[key]++
			continue
		}
		out, count := smallest(c, first)
		if filter[key%5]+1 < count {
			filter[key%5]++
			continue
		}
		delete(c, out)
		filter[out%5] = count
		c[key] = filter[key%5] + 1
	}
	if len(c) == k {
		_, least := smallest(c, first)
		for key := range c {
			c[key] -= least
		}
	}
	maps.DeleteFunc(c, func(_ int, count int64) bool { return count <= 0 })
	return c
}

// oneDecrement lowers only the smallest counter at a miss.
func oneDecrement(k int, stream []int) map[int]int64 {
	c := map[int]int64{}
	for _, key := range stream {
		if _, held := c[key]; held || len(c) < k {
			c[key]++
		} else if low, _ := smallest(c, first); c[low] > 1 {
			c[low]--
		} else {
			delete(c, low)
		}
	}
	return c
}

// lossy is lossy counting with buckets of k elements.
func lossy(k int, stream []int) map[int]int64 {
	c, since := map[int]int64{}, map[int]int64{}
	for i, key := range stream {
		bucket := int64(i/k) + 1
		if c[key]++; c[key] == 1 {
			since[key] = bucket - 1
		}
		if (i+1)%k == 0 {
			maps.DeleteFunc(c, func(key int, count int64) bool { return count+since[key] <= bucket })
		}
	}
	return c
}

// topList keeps the k keys with the largest counts that a large sketch tells of the keys that come.
func topList(count func(key int) int64) counting {
	return func(k int, stream []int) map[int]int64 {
		c := map[int]int64{}
		for _, key := range stream {
			n := count(key)
			if _, held := c[key]; held || len(c) < k {
				c[key] = n
			} else if out, least := smallest(c, first); n > least {
				delete(c, out)
				c[key] = n
			}
		}
		return c
	}
}

// countMin has three rows, wide enough for few collisions.
func countMin(k int, stream []int) map[int]int64 {
	var rows [3][101]int64
	return topList(func(key int) int64 {
		least := int64(math.MaxInt64)
		for i := range rows {
			cell := &rows[i][key*(7+2*i)%101]
			*cell++
			least = min(least, *cell)
		}
		return least
	})(k, stream)
}

// heavyKeeper has two rows of cells with a key; another key lowers a count c with probability
// 1.08^−c.
func heavyKeeper(k int, stream []int) map[int]int64 {
	type cell struct {
		key   int
		count int64
	}
	var rows [2][101]cell
	rng := rand.New(rand.NewPCG(1, 2))
	return topList(func(key int) (most int64) {
		for i := range rows {
			switch x := &rows[i][key*(7+2*i)%101]; {
			case x.count == 0:
				*x = cell{key, 1}
			case x.key == key:
				x.count++
			case rng.Float64() < math.Pow(1.08, -float64(x.count)):
				x.count--
			}
			if x := rows[i][key*(7+2*i)%101]; x.key == key {
				most = max(most, x.count)
			}
		}
		return most
	})(k, stream)
}

// alike reports whether c, of one element more, differs from d as in the sketch of one stream: in
// one counter by 1, or all k counters of d are 1 lower.
func alike(k int, c, d map[int]int64) bool {
	higher, lower, other := 0, 0, 0
	for key := range 64 {
		switch c[key] - d[key] {
		case 0:
		case 1:
			higher++
		case -1:
			lower++
		default:
			other++
		}
	}
	return other == 0 && (higher+lower == 0 || higher == 1 && lower == 0 || higher == 0 && lower == k && len(d) == k)
}

// Space-Saving with k + 1 counters, less the smallest one, is Misra-Gries with k, whichever of the
// smallest counters a new key takes: for every short stream, and for long ones. Neighbours differ
// as they should. Less 0 they do not.
func TestSpaceSavingIsMisraGries(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	last := func(ties []int) int { return ties[len(ties)-1] }
	any := func(ties []int) int { return ties[rng.IntN(len(ties))] }
	check := func(k int, stream []int) {
		want := misraGries(k, stream)
		p := Params{Counters: k, Epsilon: 1, Delta: 0.01}
		for i, pick := range []func([]int) int{first, last, any} {
			b := dptest.OK(FromSpaceSaving(p, spaceSaving(k+1, stream, pick)))(t)
			got := map[int]int64{}
			for _, c := range peek(b.secret).Sketch.Positive() {
				got[c.Key] = c.Count
			}
			if !maps.Equal(want, got) {
				require.Equal(t, want, got, "k = %d, %v, pick %d", k, stream, i)
			}
		}
	}
	raw := 0
	for k := 1; k <= 3; k++ {
		var extend func(stream []int)
		extend = func(stream []int) {
			check(k, stream)
			if len(stream) > 0 {
				for i := range stream {
					less := slices.Delete(slices.Clone(stream), i, i+1)
					if !alike(k, misraGries(k, stream), misraGries(k, less)) {
						require.Fail(t, "neighbours", "k = %d, %v without %d", k, stream, i)
					}
					if !alike(k, spaceSaving(k, stream, first), spaceSaving(k, less, first)) {
						raw++
					}
				}
			}
			for key := range k + 2 {
				if len(stream) < 5 {
					extend(append(stream[:len(stream):len(stream)], key))
				}
			}
		}
		extend(nil)
	}
	require.Positive(t, raw)
	for range 200 {
		stream := make([]int, rng.IntN(300))
		for i := range stream {
			stream[i] = int(rng.ExpFloat64() * 4)
		}
		check(1+rng.IntN(9), stream)
	}
	p := Params{Counters: 2, Epsilon: 1, Delta: 0.01}
	for _, bad := range []map[int]int64{{1: 1, 2: 2, 3: 3, 4: 4}, {1: -1}, {1: 1<<62 + 1}} {
		require.ErrorIs(t, dptest.Err(FromSpaceSaving(p, bad)), ErrParams)
	}
	require.ErrorIs(t, dptest.Err(FromMisraGries(p, map[int]int64{1: 1, 2: 2, 3: 3})), ErrParams, "three counters are of no sketch with two")
}

// What one element does to other sketches: for each a stream by whose last element a key that is
// shown almost surely is gone. Given to FromMisraGries at ε = 1 and δ = 1e-6, the release tells the
// element with probability .99; that of Misra-Gries on the same streams is (ε, δ)-private for the
// key, exactly.
func TestOtherCounters(t *testing.T) {
	const k, many = 6, 1000
	repeat := func(n int, keys ...int) []int { return slices.Repeat(keys, n) }
	full := repeat(many, 1, 2, 3, 4, 5, 6)
	for name, c := range map[string]struct {
		of     counting
		stream []int
		key    int // which is not shown after the last element, or only then
	}{
		"Space-Saving":        {func(k int, s []int) map[int]int64 { return spaceSaving(k, s, first) }, append(full, 7), 1},
		"frequent items":      {frequentItems, append(full, 7), 1},
		"heap of count-min":   {countMin, append(append(full, repeat(many, 7)...), 7), 1},
		"HeavyKeeper":         {heavyKeeper, append(append(full, repeat(many, 7)...), 7), 1},
		"lossy counting":      {lossy, append(append(repeat(many+1, 1), repeat(many*(k-1)-2, 2, 3)...), 2, 3, 2, 2, 3, 2)[:(many+1)*k], 1},
		"one decrement, last": {oneDecrement, slices.Concat(repeat(2*many, 3, 4, 5, 6), repeat(many, 1, 2), repeat(many, 7)), 1},
		"filtered":            {filtered, slices.Concat(full, repeat(many-1, 10), []int{10}, repeat(many-1, 11)), 11},
	} {
		stream, less := c.stream, c.stream[:len(c.stream)-1]
		switch name {
		case "one decrement, last": // one element of key 2 less, before the misses
			less = slices.Concat(repeat(2*many, 3, 4, 5, 6), repeat(many-1, 1, 2), []int{1}, repeat(many, 7))
		case "filtered": // one element of key 10 less
			less = slices.Concat(full, repeat(many-1, 10), repeat(many-1, 11))
		}
		require.Equal(t, len(stream), len(less)+1, name)
		d, tau := noiseFor(1), thresholds.FreedThreshold(k, 1, 1e-6)
		told := func(of counting) (most float64) {
			shown := func(counters map[int]int64) (sum float64) {
				count, held := counters[c.key]
				if !held {
					return 0
				}
				for x := int64(-80); x <= 80; x++ {
					sum += d.Prob(float64(x)) * drawn{d, tau}.shown(count+x)
				}
				return sum
			}
			with, without := of(k, stream), of(k, less)
			for _, counters := range []map[int]int64{with, without} { // nothing is seen on them
				require.NoError(t, dptest.Err(FromMisraGries(Params{Counters: k, Epsilon: 1, Delta: 1e-6}, counters)), name)
			}
			a, b := shown(with), shown(without)
			return max(a-math.E*b, b-math.E*a)
		}
		require.Greater(t, told(c.of), 0.99, "%s: %v, %v", name, c.of(k, stream), c.of(k, less))
		require.LessOrEqual(t, told(misraGries), 1e-6, "%s: %v, %v", name, misraGries(k, stream), misraGries(k, less))
		require.False(t, alike(k, c.of(k, stream), c.of(k, less)), name)
		require.True(t, alike(k, misraGries(k, stream), misraGries(k, less)), name)
	}
}
