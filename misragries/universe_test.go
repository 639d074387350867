package misragries

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise"
)

// released is an output of the method: the keys, as a set of binary digits, and their noisy
// values in order, 0 behind.
type released struct {
	keys   uint
	values [2]int64
}

// topLaw returns the probability of every output with k ≤ 2 values within reach, for a universe of
// len(values) keys, in closed form: if w is the least of the released values, r the number of those
// that are w, then those that are not released are below w, or some, s of them, are w and lost
// C(r+s, r) times out of one.
func topLaw(d noise.DiscreteLaplace, k int, values []int64, reach int64) (outputs []released, law []float64) {
	masses, tails := make([][]float64, len(values)), make([][]float64, len(values))
	for key, x := range values {
		for v := -reach; v <= reach; v++ {
			masses[key] = append(masses[key], d.Prob(float64(v-x)))
			tails[key] = append(tails[key], d.CDF(float64(v-x)-0.5))
		}
	}
	mass := func(key int, v int64) float64 { return masses[key][v+reach] }
	below := func(key int, v int64) float64 { return tails[key][v+reach] }
	lost := func(keys uint, w int64, r int) float64 { // all keys that are not released
		by := make([]float64, len(values)+1) // the number of those that are w
		by[0] = 1
		for key := range values {
			if keys>>key&1 != 0 {
				continue
			}
			for s := key + 1; s >= 0; s-- {
				by[s] *= below(key, w)
				if s > 0 {
					by[s] += by[s-1] * mass(key, w)
				}
			}
		}
		sum, choices := 0.0, 1.0
		for s, p := range by {
			sum += p / choices
			choices *= float64(r+s+1) / float64(s+1)
		}
		return sum
	}
	for keys := range uint(1) << len(values) {
		if bits.OnesCount(keys) != k {
			continue
		}
		first := bits.TrailingZeros(keys)
		second := bits.Len(keys) - 1
		for v := -reach; v <= reach; v++ {
			if k == 1 {
				outputs = append(outputs, released{keys, [2]int64{v}})
				law = append(law, mass(first, v)*lost(keys, v, 1))
				continue
			}
			for w := -reach; w <= reach; w++ {
				r := 1
				if v == w {
					r = 2
				}
				outputs = append(outputs, released{keys, [2]int64{v, w}})
				law = append(law, mass(first, v)*mass(second, w)*lost(keys, min(v, w), r))
			}
		}
	}
	return outputs, law
}

// The sampler has the law that the exact test of privacy enumerates: by the loop, and by layers
// down to negative values.
func TestTopOfUniverseFollowsItsLaw(t *testing.T) {
	dptest.NotShort(t, "not among the short tests")
	n := dptest.Full(20_000, 5_000)
	var src noise.Source
	for _, c := range []struct {
		k      int
		scale  float64
		values []int64
	}{{1, 1.3, []int64{0, 2, 0}}, {2, 1.3, []int64{0, 2, 1}}, {2, 0.4, []int64{0, 1, 0, 0, 1}}, {1, 0.2, []int64{0, 0, 0, 0, 0, 0}}, {2, 3, []int64{0, 0, 4}}} {
		d := dptest.OK(noise.NewDiscreteLaplace(c.scale))(t)
		var stored []counter[uint32]
		for key, v := range c.values {
			if v > 0 {
				stored = append(stored, counter[uint32]{Key: uint32(key), Count: v})
			}
		}
		outputs, law := topLaw(d, c.k, c.values, 30)
		place := map[released]int{}
		for i, o := range outputs {
			place[o] = i
		}
		for _, expected := range []float64{0, 0.01, 1} {
			observed := make([]int64, len(outputs)+1)
			for range n {
				u := newUniverse(&src, d, c.k, uint64(len(c.values)), stored)
				if expected == 0 {
					u.all()
				} else {
					u.layers(expected)
				}
				var o released
				for i, r := range u.top() {
					o.keys |= 1 << r.Key
					o.values[i] = r.Count
				}
				i, found := place[o]
				require.True(t, found || math.Abs(float64(o.values[0])) > 30 || math.Abs(float64(o.values[1])) > 30)
				if !found {
					i = len(outputs)
				}
				observed[i]++
			}
			dptest.ChiSquare(t, fmt.Sprintf("%+v from %v", c, expected), observed, law, 1e-10)
			if !dptest.Long() && c.scale != 0.4 { // where it takes the fewest releases
				continue
			}
			_, louder := topLaw(dptest.OK(noise.NewDiscreteLaplace(1.2*c.scale))(t), c.k, c.values, 30)
			require.Less(t, dptest.ChiSquarePValue(observed, louder), 1e-10, "20 %% of the scale must be noticed: %+v", c)
		}
	}
}

// One of many tied keys: a key with the value 1 among so many of 0 that they are drawn in blocks.
// The largest, k = 1, is v and the stored key with probability p·Σ_j C(n, j)·z^j·b^(n−j)/(j+1): it
// has v with probability p, each of the n zero keys has v with z, less with b. A tie is not broken
// for stored keys.
func TestTopOfManyTies(t *testing.T) {
	const dim, reach = 200, 8
	var src noise.Source
	for _, scale := range []float64{0.2, 0.5} {
		d := dptest.OK(noise.NewDiscreteLaplace(scale))(t)
		observed, law, first := make([]int64, 2*reach+2), make([]float64, 2*reach+1), make([]float64, 2*reach+1)
		for v := -reach; v <= reach; v++ {
			z, b, p := d.Prob(float64(v)), d.CDF(float64(v)-0.5), d.Prob(float64(v-1))
			law[v+reach] = p * (math.Pow(b+z, dim) - math.Pow(b, dim)) / (dim * z)
			first[v+reach] = p * math.Pow(b+z, dim-1)
		}
		for range dptest.Full(40_000, 10_000) {
			u := newUniverse(&src, d, 1, dim, []counter[int]{{Key: 77, Count: 1}})
			u.layers(0.01)
			if one := u.top()[0]; one.Key == 77 {
				observed[min(max(one.Count, -reach), reach)+reach]++
			} else {
				observed[2*reach+1]++
			}
		}
		dptest.ChiSquare(t, "the stored key", observed, law, 1e-10)
		require.Less(t, dptest.ChiSquarePValue(observed, first), 1e-10, "ties broken for stored keys must be noticed")
	}
}

// Theorem: with noise of scale Δ/ε the release is ε-private for values at an ℓ₁ distance of at most
// Δ. For a universe of three keys, every pair of neighbours with values up to 2 and every output,
// the far ones too: no mass is more than e^ε times the other. All masses are sums of positive
// numbers, so each is good to a relative 1e-12.
func TestTopOfUniverseIsPrivateExactly(t *testing.T) {
	const epsilon, sensitivity, reach = 1.0, 2, 65
	var vectors [][]int64
	for i := range int64(3 * 3 * 3) {
		v := []int64{i % 3, i / 3 % 3, i / 9}
		if slices.IsSorted(v) || dptest.Long() { // these alone are pairs enough to attain the bound
			vectors = append(vectors, v)
		}
	}
	for k := 1; k <= 2; k++ {
		worst := func(scale float64) float64 {
			d := dptest.OK(noise.NewDiscreteLaplace(scale))(t)
			laws := make([][]float64, len(vectors))
			for i, values := range vectors {
				_, laws[i] = topLaw(d, k, values, reach)
				total := 0.0
				for _, p := range laws[i] {
					total += p
				}
				require.InDelta(t, 1, total, 1e-12, "%v: all outputs", values)
			}
			largest := 0.0
			for i, a := range vectors {
				for j, b := range vectors {
					distance := int64(0)
					for key := range a {
						distance += max(a[key]-b[key], b[key]-a[key])
					}
					if distance > sensitivity {
						continue
					}
					for o, p := range laws[i] {
						largest = max(largest, p/laws[j][o])
					}
				}
			}
			return largest
		}
		require.InEpsilon(t, math.Exp(epsilon), worst(sensitivity/epsilon), 1e-9, "ε is kept, and attained")
		require.Greater(t, worst(sensitivity/epsilon/2), math.Exp(1.9*epsilon), "half the noise must be noticed")
	}
}

// So little noise that a single value belongs to far more keys than could be drawn: with b = 0.05,
// 2⁶⁴·e^{−20} = 3.8e10 keys reach 1, of which 78 reach 2; with b = 0.5, 2.8e4 reach 17, of which
// 3769 reach 18.
func TestHugeUniverseOfTies(t *testing.T) {
	// how many released keys have a value, but for a probability of 1e-8
	type limits map[int64][2]int
	var src noise.Source
	for _, c := range []struct {
		scale float64
		k     int
		want  limits
	}{
		{0.05, 3, limits{70: {1, 1}, 2: {2, 2}}},
		{0.05, 500, limits{70: {1, 1}, 2: {20, 180}, 1: {319, 479}}},
		{0x1p-20, 500, limits{70: {1, 1}, 1: {2, 2}, 0: {497, 497}}},
		{0.5, 20_000, limits{17: {15_850, 16_610}}},
	} {
		released := topOfUniverse(&src, dptest.OK(noise.NewDiscreteLaplace(c.scale))(t), c.k, math.MaxUint64, []counter[uint64]{{Key: 17, Count: 70}, {Key: 18, Count: 1}, {Key: 19, Count: 1}})
		require.Len(t, released, c.k)
		counts := map[int64]int{}
		var places [16]int64
		for _, r := range released {
			counts[r.Count]++
			if r.Key > 19 {
				places[r.Key>>60]++
			}
		}
		for v, limits := range c.want {
			require.True(t, counts[v] >= limits[0] && counts[v] <= limits[1], "scale %v: %v", c.scale, counts)
		}
		if c.k >= 500 {
			dptest.ChiSquare(t, "where the keys are", places[:], slices.Repeat([]float64{1.0 / 16}, 16), 1e-10)
		}
	}
}

// Keys that are drawn again when they are stored or drawn already: a quarter of them here, and all
// that are left are equally likely.
func TestZeroKeysAreUniformAndDistinct(t *testing.T) {
	const k, dim, n = 2000, 4*2000 + 4097, 30
	var src noise.Source
	var stored []counter[int64]
	for i := range int64(k) {
		stored = append(stored, counter[int64]{Key: i * i % 6007, Count: 1})
	}
	slices.SortFunc(stored, func(a, b counter[int64]) int { return cmp.Compare(a.Key, b.Key) })
	stored = slices.CompactFunc(stored, func(a, b counter[int64]) bool { return a.Key == b.Key })
	hasValue := map[int64]bool{}
	for _, c := range stored {
		hasValue[c.Key] = true
	}
	const cells = 32
	observed, want := make([]int64, cells), make([]float64, cells)
	for key := range int64(dim) {
		if !hasValue[key] {
			want[key*cells/dim] += 1 / float64(dim-len(stored))
		}
	}
	u := newUniverse(&src, dptest.OK(noise.NewDiscreteLaplace(2))(t), k, dim, stored)
	require.False(t, u.isSmall())
	for range n {
		drawn := map[int64]bool{}
		for _, key := range u.distinctZeros(k) {
			require.False(t, drawn[key] || hasValue[key])
			drawn[key] = true
			observed[key*cells/dim]++
		}
	}
	// without replacement: less scattered than χ² allows
	dptest.ChiSquare(t, "zero keys", observed, want, 1e-10)
	uniform := slices.Repeat([]float64{1.0 / cells}, cells)
	require.Less(t, dptest.ChiSquarePValue(observed, uniform), 1e-10, "stored keys among them must be noticed")
}

func TestTopOfUniverseEdges(t *testing.T) {
	var src noise.Source
	d := dptest.OK(noise.NewDiscreteLaplace(2))(t)
	for _, k := range []int{1, 2, 7} {
		for dim := uint64(1); dim < 9; dim++ {
			for n := range dim + 1 { // stored keys, all of them at the end
				var stored []counter[int32]
				for i := range n {
					stored = append(stored, counter[int32]{Key: int32(dim - n + i), Count: int64(1000 * (i + 1))})
				}
				released := topOfUniverse(&src, d, k, dim, stored)
				require.Len(t, released, int(min(uint64(k), dim)))
				seen := map[int32]bool{}
				for _, c := range released {
					require.True(t, c.Key >= 0 && uint64(c.Key) < dim)
					seen[c.Key] = true
				}
				require.Len(t, slices.Collect(maps.Keys(seen)), len(released), "distinct")
				for _, c := range stored[max(int(n)-k, 0):] {
					require.True(t, seen[c.Key], "far above the noise")
				}
			}
		}
	}
	// Values of the greatest size, on both sides of the least dimension that is not a loop.
	for _, dim := range []uint64{4*5 + 4096, 4*5 + 4097} {
		for _, scale := range []float64{0x1p-900, 0.1, 1, 10, 0x1p50} {
			released := topOfUniverse(&src, dptest.OK(noise.NewDiscreteLaplace(scale))(t), 5, dim, []counter[int32]{{Key: 1, Count: 1 << 62}, {Key: 4000, Count: 1 << 62}})
			require.Len(t, released, 5)
			big := 0
			for _, c := range released {
				if c.Count > 1<<61 {
					big++
				}
			}
			require.Equal(t, 2, big)
		}
	}
}
