package sparse

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/noise"
)

// releaser returns a function that releases totals, in steps, by a calibration of the test's
// choice.
func releaser(p Params, c calibration) func(values map[int]int64) *Vector[int] {
	p.Method = c.method
	var src noise.Source // one for all: a new one costs a keystream
	return func(values map[int]int64) *Vector[int] {
		entries := make([]Entry[int], 0, len(values))
		for key, steps := range values {
			entries = append(entries, Entry[int]{Key: key, Steps: steps})
		}
		return Release(&src, Law{p, c}, entries, 0, nil)
	}
}

// lawOf returns the law of Params that are valid.
func lawOf(t testing.TB, p Params) Law {
	return dptest.OK(p.Law())(t)
}

// The law of a released value is the one that the exact test enumerates: every mechanism, values
// below R, at R and above, of both signs.
func TestReleasedValuesFollowTheirLaw(t *testing.T) {
	dptest.NotShort(t, "many releases")
	n := dptest.Full(20_000, 8_000)
	for _, m := range []Method{ExponentialRounding, LinearRounding, Laplace, PureLaplace, Gaussian} {
		p := Params{Epsilon: 0.8, Delta: 0.2, Integers: true, Signed: true, Method: m}
		switch m {
		case PureLaplace:
			p.Delta, p.Dim, p.FalseKeys = 0, 4, 0.9
		case Gaussian:
			p.MaxKeys = 1
		}
		c := dptest.OK(p.choose())(t)
		if m == Gaussian {
			c = normalOnGrid(m, 2, 0, 1.5, 1, 0)
		}
		release := releaser(p, c)
		reach := max(c.threshold, c.from) + 12
		for _, v := range []int64{1, c.from - 1, c.from, c.threshold + 2, -2, -c.threshold - 1} {
			if v == 0 {
				continue
			}
			counts := make([]int64, 2*reach+1)
			for range n {
				o := int64(release(map[int]int64{2: v}).Estimate(2) / c.step)
				counts[reach+min(max(o, -reach), reach)]++
			}
			dptest.ChiSquare(t, fmt.Sprint(m, " of ", v), counts, coordinateLaw(c, v, reach, true), 1e-10)
		}
	}
}

// loop is Algorithm 6 as it is written: noise on every coordinate.
func loop(src *noise.Source, p Params, c calibration, totals map[int]int64) (released []Entry[int]) {
	d := c.laplace()
	for key := range int(p.Dim) {
		v := totals[key] + d.SampleInt(src)
		if v >= c.threshold || p.Signed && -v >= c.threshold {
			released = append(released, Entry[int]{Key: key, Steps: v})
		}
	}
	return released
}

// The binomial count, the uniform set and the memoryless tail have together the law of the loop
// over all d: the number of released keys, where they are, and their values.
func TestPureIsTheLoop(t *testing.T) {
	dptest.NotShort(t, "many releases")
	const d = 1000
	n := dptest.Full(4000, 1500)
	totals := map[int]int64{3: 4, 500: 9, 997: -6}
	for _, signed := range []bool{false, true} {
		p := Params{Epsilon: 0.7, Dim: d, Integers: true, Signed: signed, FalseKeys: 6, Method: PureLaplace}
		c := dptest.OK(p.choose())(t)
		var src noise.Source
		const bins = 40
		var counts, places, values [2][bins]int64
		var zeros float64
		release := releaser(p, c)
		for i := range 2 * n {
			side := i & 1
			released := loop(&src, p, c, totals)
			if side == 1 {
				released = release(map[int]int64{3: 4, 500: 9, 997: -6}).values
			}
			counts[side][min(len(released), bins-1)]++
			for _, e := range released {
				places[side][e.Key*bins/d]++
				values[side][min(max(e.Steps+bins/2, 0), bins-1)]++
				if _, stored := totals[e.Key]; !stored {
					zeros++
				}
			}
		}
		for name, h := range map[string][2][bins]int64{"counts": counts, "places": places, "values": values} {
			dptest.Homogeneity(t, fmt.Sprint(name, " signed ", signed), h[0][:], h[1][:], 1e-10)
		}
		require.Greater(t, zeros, 4.0*2*float64(n), "the test sees false keys")
	}
}

// Where most keys have a value the zeros are listed, and still every one of them is as likely as
// the next, also one that was added with a total of 0.
func TestPureWithFewZeros(t *testing.T) {
	p := Params{Epsilon: 1, Dim: 10, Integers: true, FalseKeys: 2.5, Method: PureLaplace}
	c := dptest.OK(p.choose())(t)
	release := releaser(p, c)
	for _, stored := range []int{0, 4, 5, 6, 9, 10} {
		n := dptest.Full(20_000, 6_000)
		var shown [10]int64
		for range n {
			totals := map[int]int64{}
			if stored < 10 {
				totals[9] = 0
			}
			for key := range stored {
				totals[key] = 1000
			}
			for key := range release(totals).All() {
				shown[key]++
			}
		}
		for key := range 10 {
			if key < stored {
				require.EqualValues(t, n, shown[key])
				continue
			}
			g := c.laplace().Survival(float64(c.threshold) - 0.5)
			dptest.ChiSquare(t, fmt.Sprint("key ", key), []int64{shown[key], int64(n) - shown[key]}, []float64{g, 1 - g}, 1e-10)
		}
	}
}

func TestDense(t *testing.T) {
	n := dptest.Full(30_000, 10_000)
	p := Params{Epsilon: 1, Dim: 3, Integers: true, Method: DenseLaplace}
	c := dptest.OK(p.choose())(t)
	require.Equal(t, math.Inf(-1), c.lowest())
	release := releaser(p, c)
	var counts [3][41]int64
	for range n {
		v := release(map[int]int64{1: 5, 2: -7})
		require.Equal(t, 3, v.Len())
		for key, x := range v.All() {
			counts[key][min(max(int(x)+20, 0), 40)]++
		}
	}
	for key, total := range []float64{0, 5, 0} { // a negative total counts as 0 here
		want := make([]float64, 41)
		for i := range want {
			want[i] = c.laplace().Prob(float64(i) - 20 - total)
		}
		want[0], want[40] = c.laplace().CDF(-20-total), c.laplace().Survival(19-total)
		dptest.ChiSquare(t, fmt.Sprint("key ", key), counts[key][:], want, 1e-10)
	}
}

func TestSortEntries(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, radixFrom - 1, radixFrom, 5000} {
		for _, bits := range []int{4, 20, 62} {
			checkSort(t, n, func() int64 { return rng.Int64N(1<<bits) - 1<<(bits-1) })
			checkSort(t, n, func() int32 { return int32(rng.Uint64N(1 << bits)) })
			checkSort(t, n, func() uint64 { return rng.Uint64N(1<<bits) << 1 })
			checkSort(t, n, func() string { return fmt.Sprint(rng.Uint64N(1 << bits)) })
			checkSort(t, n, func() string { // common beginnings, zeros at the end
				return strings.Repeat("https://", rng.IntN(4)) + fmt.Sprint(rng.Uint64N(1<<bits)) + strings.Repeat("\x00", rng.IntN(20))
			})
			checkSort(t, n, func() string { return strings.Repeat("\x00", rng.IntN(40)) })
			checkSort(t, n, func() (key [16]byte) {
				binary.LittleEndian.PutUint64(key[rng.IntN(9):], rng.Uint64N(1<<bits))
				return key
			})
		}
	}
}

func checkSort[K wire.Key](t *testing.T, n int, draw func() K) {
	t.Helper()
	entries := make([]Entry[K], n)
	for i := range entries {
		entries[i] = Entry[K]{Key: draw(), Steps: int64(i)}
	}
	want := slices.Clone(entries)
	slices.SortStableFunc(want, func(a, b Entry[K]) int { return wire.Compare(a.Key, b.Key) })
	SortEntries(entries)
	for i := range entries {
		require.Equal(t, want[i], entries[i])
	}
}

// Hidden keys do not lie behind the released ones, in memory that a Vector keeps.
func TestHiddenKeysAreGone(t *testing.T) {
	var entries []Entry[int]
	for key := range 100 {
		entries = append(entries, Entry[int]{Key: key, Steps: int64(1 + key%2*1_000_000)})
	}
	v := Release(new(noise.Source), lawOf(t, Params{Epsilon: 1, Delta: 1e-6, Integers: true}), entries, 0, nil)
	require.Equal(t, 50, v.Len())
	require.Equal(t, 50, cap(v.values))
}
