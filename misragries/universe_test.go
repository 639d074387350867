package misragries

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise"
)

// ties says how a loop over all keys breaks ties.
type ties uint8

const (
	randomTies ties = iota
	smallKeysFirst
	storedFirst
	zerosFirst
)

// topByLoop is the mechanism as it is written: noise on every key, the k largest.
func topByLoop(src *noise.Source, d noise.DiscreteLaplace, k, dim int, values []counter[int], how ties) []counter[int] {
	noisy := make([]int64, dim)
	for key := range noisy {
		noisy[key] = d.SampleInt(src)
	}
	for _, c := range values {
		noisy[c.Key] += c.Count
	}
	ordered := slices.Clone(noisy)
	slices.Sort(ordered)
	cut := ordered[max(dim-k, 0)]
	var released, tied []counter[int]
	for key, v := range noisy {
		if v > cut {
			released = append(released, counter[int]{Key: key, Count: v})
		} else if v == cut {
			tied = append(tied, counter[int]{Key: key, Count: v})
		}
	}
	isZero := func(c counter[int]) int {
		if slices.ContainsFunc(values, func(v counter[int]) bool { return v.Key == c.Key }) {
			return 0
		}
		return 1
	}
	if how != smallKeysFirst {
		for i := range tied {
			j := i + int(src.Uint64N(uint64(len(tied)-i)))
			tied[i], tied[j] = tied[j], tied[i]
		}
	}
	switch how {
	case storedFirst:
		slices.SortStableFunc(tied, func(a, b counter[int]) int { return isZero(a) - isZero(b) })
	case zerosFirst:
		slices.SortStableFunc(tied, func(a, b counter[int]) int { return isZero(b) - isZero(a) })
	}
	return append(released, tied[:min(k, dim)-len(released)]...)
}

// statistics count what releases look like: one number of each release goes into each, so that the
// counts are multinomial.
type statistics map[string]*[64]int64

func newStatistics() statistics {
	s := statistics{}
	for _, name := range []string{"key", "stored key", "value", "key and value", "stored keys", "cut", "key at the cut", "largest", "keys at the cut"} {
		s[name] = new([64]int64)
	}
	return s
}

// add counts a release. The key and its value are those of one of the released ones, picked at
// random.
func (s statistics) add(rng *rand.Rand, released []counter[int], dim int, values []counter[int]) {
	count := func(name string, cell int) { s[name][min(max(cell, 0), 63)]++ }
	place := func(key int) int {
		for i, c := range values {
			if c.Key == key {
				return i
			}
		}
		return 15
	}
	cut, largest, stored := int64(math.MaxInt64), int64(math.MinInt64), 0
	for _, c := range released {
		cut, largest = min(cut, c.Count), max(largest, c.Count)
		if place(c.Key) < 15 {
			stored++
		}
	}
	var atCut []int
	for _, c := range released {
		if c.Count == cut {
			atCut = append(atCut, c.Key)
		}
	}
	one := released[rng.IntN(len(released))]
	count("key", one.Key*64/dim)
	count("stored key", place(one.Key))
	count("value", int(one.Count)+16)
	zero := 0
	if place(one.Key) == 15 {
		zero = 1
	}
	count("key and value", one.Key*4/dim+4*min(max(int(one.Count)+1, 0), 7)+32*zero)
	count("stored keys", stored)
	count("cut", int(cut)+16)
	count("largest", int(largest))
	count("key at the cut", atCut[rng.IntN(len(atCut))]*64/dim)
	count("keys at the cut", len(atCut))
}

// least returns the smallest p-value of the statistics that say anything.
func (s statistics) least(other statistics) float64 {
	p := 1.0
	for name := range s {
		if q := dptest.HomogeneityPValue(s[name][:], other[name][:]); !math.IsNaN(q) {
			p = min(p, q)
		}
	}
	return p
}

// Layers, blocks of tied keys and nameless zeros have together the law of the loop over all keys,
// wherever the first layer begins.
func TestTopOfUniverseIsTheLoop(t *testing.T) {
	dptest.NotShort(t, "not among the short tests")
	rng := rand.New(rand.NewPCG(1, 2))
	var src noise.Source
	for _, c := range []struct {
		k, dim       int
		scale        float64
		values       []counter[int]
		louder, tied bool // whether a scale 3 % larger, and other ties, are to be noticed
	}{
		{20, 500, 15, []counter[int]{{Key: 3, Count: 30}, {Key: 250, Count: 300}, {Key: 400, Count: 50}, {Key: 498, Count: 1}, {Key: 499, Count: 35}}, true, false},
		{20, 400, 1, []counter[int]{{Key: 3, Count: 2}, {Key: 200, Count: 3}, {Key: 300, Count: 4}, {Key: 301, Count: 40}, {Key: 302, Count: 1}, {Key: 399, Count: 4}}, false, true},
		{3, 300, 2, []counter[int]{{Key: 0, Count: 9}, {Key: 1, Count: 9}, {Key: 299, Count: 8}}, false, true},
		{1, 200, 0.5, []counter[int]{{Key: 77, Count: 1}}, false, true},
		// 1 is above the cut, 0 is the cut
		{20, 200, 0.3, []counter[int]{{Key: 10, Count: 1}, {Key: 20, Count: 1}, {Key: 30, Count: 2}, {Key: 198, Count: 50}, {Key: 199, Count: 1}}, false, true},
		{3, 400, 0.2, []counter[int]{{Key: 0, Count: 1}, {Key: 100, Count: 1}, {Key: 200, Count: 1}}, false, true},
		{3, 200, 0.2, nil, false, false},
	} {
		d := dptest.OK(noise.NewDiscreteLaplace(c.scale))(t)
		usual := float64(c.k) + 4*math.Sqrt(float64(c.k)) + 8
		n := dptest.Full(1000, 800)
		// at these two, other ties are noticed in few releases
		controls := c.scale == 1 || c.scale == 0.2
		if dptest.Long() || c.louder && dptest.Long() {
			n, controls = 4000, true
		}
		loop := func(d noise.DiscreteLaplace, how ties) statistics {
			s := newStatistics()
			for range n {
				s.add(rng, topByLoop(&src, d, c.k, c.dim, c.values, how), c.dim, c.values)
			}
			return s
		}
		want := loop(d, randomTies)
		for _, expected := range []float64{0, usual, usual * 0x1p-20} {
			got := newStatistics()
			for range n {
				u := newUniverse(&src, d, c.k, uint64(c.dim), c.values)
				if expected == 0 {
					u.all()
				} else {
					u.layers(expected)
				}
				released := u.top()
				require.Len(t, released, c.k)
				got.add(rng, released, c.dim, c.values)
			}
			for name := range want {
				if !math.IsNaN(dptest.HomogeneityPValue(want[name][:], got[name][:])) {
					dptest.Homogeneity(t, fmt.Sprintf("%+v from %v: %s", c, expected, name), want[name][:], got[name][:], 1e-10)
				}
			}
			if c.louder && expected == usual && controls {
				require.Less(t, loop(dptest.OK(noise.NewDiscreteLaplace(1.03*c.scale))(t), randomTies).least(got), 1e-8, "3 %% of the scale must be noticed")
			}
			if c.tied && expected == usual && controls {
				require.Less(t, loop(d, smallKeysFirst).least(got), 1e-8, "ties broken towards small keys must be noticed: %+v", c)
				require.Less(t, min(loop(d, storedFirst).least(got), loop(d, zerosFirst).least(got)), 1e-8, "ties broken by value must be noticed: %+v", c)
			}
		}
	}
}

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

// A universe far too large for a loop, at the noise of the reduced sketch for ε = 1, in units of
// 1/(k+1): the keys, the cut and the largest value are where they are expected.
func TestHugeUniverse(t *testing.T) {
	var src noise.Source
	for _, k := range []int{64, 1024} {
		d := dptest.OK(noise.NewDiscreteLaplace(float64(2*k - 1)))(t)
		for _, dim := range []uint64{1 << 32, math.MaxUint64} {
			stored := []counter[uint64]{{Key: 0, Count: 3}, {Key: 5, Count: 200 * int64(k+1)}, {Key: dim / 2, Count: 1000 * int64(k+1)}, {Key: dim - 1, Count: 300 * int64(k+1)}}
			released := topOfUniverse(&src, d, k, dim, stored)
			require.Len(t, released, k)
			var top [16]int64
			values := map[uint64]float64{}
			var zeros []float64
			for i, c := range released {
				require.Less(t, c.Key, dim)
				require.True(t, i == 0 || released[i-1].Key < c.Key, "sorted and distinct")
				values[c.Key] = float64(c.Count) / float64(k+1)
				if _, found := slices.BinarySearchFunc(stored, c.Key, func(s counter[uint64], key uint64) int { return cmp.Compare(s.Key, key) }); !found {
					zeros = append(zeros, values[c.Key])
					top[c.Key/(dim/16+1)]++
				}
			}
			for _, c := range stored[1:] { // 40·b are lost with probability e^{−40}
				require.InDelta(t, float64(c.Count)/float64(k+1), values[c.Key], 80)
			}
			require.GreaterOrEqual(t, len(zeros), k-len(stored))
			// The k-th of the zeros is at G = k/d, to a relative error of 1/√k; the
			// largest is Gumbel: within −3.5·b and 20·b but for 1e-8.
			b := d.Scale() / float64(k+1)
			cut, largest := b*math.Log(float64(dim)/2/float64(k)), b*math.Log(float64(dim)/2)
			require.InDelta(t, cut, slices.Min(zeros), b*(6/math.Sqrt(float64(k))+4/float64(k)))
			require.InDelta(t, largest+8*b, slices.Max(zeros), 12*b)
			if dim == 1<<32 && k == 1024 {
				require.InDelta(t, 29.1, slices.Min(zeros), 0.5)
				require.InDelta(t, 29.1, cut, 0.5)
				require.InDelta(t, 42.9, largest, 0.5)
			}
			dptest.ChiSquare(t, "where the keys are", top[:], slices.Repeat([]float64{1.0 / 16}, 16), 1e-10)
		}
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
			for n := range min(dim, uint64(k)) + 1 { // stored keys, all of them at the end
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
				for _, c := range stored {
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
