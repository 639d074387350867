package misragries

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/sparse"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// apartInUnits returns how far two sketches are apart, in ℓ₁ after they are reduced and in length.
func apartInUnits(a, b *sketch[int], k int) (units, length int64) {
	sum := map[int]int64{}
	for _, c := range reduced(a.positive(), k) {
		sum[c.key] += c.count
	}
	for _, c := range reduced(b.positive(), k) {
		sum[c.key] -= c.count
	}
	for _, x := range sum {
		units += max(x, -x)
	}
	length = a.length(k) - b.length(k)
	return units, max(length, -length)
}

// Reduced sketches of neighbours are 2k−1 apart for one stream, and k(k+1)/2 after merges and for
// sets of users, and their lengths 1 and at most k+1: over random trees of merges, where the bounds
// 1, 3, 6 are attained.
func TestReducedSensitivityAfterMerges(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for k := 1; k <= 3; k++ {
		p := Params{Counters: k, Epsilon: 1, Dim: 10, MaxElements: 2}
		_, most, mostLength, _ := p.universe(Merged)
		worst, worstLength := int64(0), int64(0)
		for range full(400_000, 6_000) {
			// Up to three sketches of short streams; one of them has one element more.
			n, more := 1+rng.IntN(3), rng.IntN(k+2)
			var a, b *sketch[int]
			for i := range n {
				stream := make([]int, rng.IntN(9))
				for j := range stream {
					stream[j] = rng.IntN(k + 2)
				}
				x, y := newSketch[int](k), newSketch[int](k)
				at := rng.IntN(len(stream) + 1)
				for j := 0; j <= len(stream); j++ {
					if i == 0 && j == at {
						x.add(more)
					}
					if j < len(stream) {
						x.add(stream[j])
						y.add(stream[j])
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
		require.LessOrEqual(t, float64(worst), most, "k = %d", k)
		if k < 3 || full(1, 0) == 1 {
			require.EqualValues(t, most, worst, "k = %d: attained", k)
		}
		require.LessOrEqual(t, float64(worstLength), mostLength, "k = %d", k)
	}
}

// The witness for every k: k keys at 1 and one element of another key more, merged with a sketch of
// large counters that shares half of the keys.
func TestReducedSensitivityIsAttained(t *testing.T) {
	for k := 1; k <= 64; k++ {
		low, high, common := newSketch[int](k), newSketch[int](k), newSketch[int](k)
		for key := range k {
			low.add(key)
			high.add(key)
		}
		high.add(k)
		m := (k + 1) / 2
		for key := m; key < k+m; key++ { // k keys, k − m of the first
			for range k + 3 {
				common.add(key)
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
			for range full(100_000, 3_000) {
				a, b := newUserSketch[int](k, m), newUserSketch[int](k, m)
				x, y := newSketch[int](k), newSketch[int](k)
				users, more := rng.IntN(7), rng.IntN(7)
				for u := range users + 1 {
					keys := rng.Perm(k + 3)[:1+rng.IntN(m)]
					a.addUser(keys)
					x.addSlice(keys)
					if u != min(more, users) {
						b.addUser(keys)
						y.addSlice(keys)
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

// The scale and the share of the length spend ε exactly, on every input, and the largest loss of
// the witness is ε. With half the noise of either it is more.
func TestPureReleasesSpendTheirBudget(t *testing.T) {
	for _, k := range []int{1, 2, 3, 16, 64} {
		for _, m := range []int{1, 2, 17, 64} {
			for _, in := range []Input{OneStream, GivenCounters, Merged, Summed, Users} {
				if in == Users && m > k {
					continue
				}
				p := Params{Counters: k, Epsilon: 0.7, Dim: 100_000}.of(in, m)
				c, err := p.choose(in)
				require.NoError(t, err)
				require.Equal(t, PureUniverse, c.method)
				steps, units, length := float64(m), float64(2*k-1), 1.0
				if in == Merged {
					units, length = float64(k*(k+1)/2), float64(k+1)
				}
				if in == Users && steps*units > float64(k*(k+1)/2) {
					steps, units, length = 1, float64(k*(k+1)/2), float64(k+1)
					require.True(t, c.together)
				}
				loss := func(c calibration) float64 { // of the worst neighbour and the worst output
					sum := units / c.scale
					if c.lost > 0 {
						sum += length / c.lost
					}
					return steps * sum
				}
				require.Equal(t, in == GivenCounters, c.lost == 0)
				require.LessOrEqual(t, loss(c), 0.7)
				require.InEpsilon(t, 0.7, loss(c), 1e-12)
				half := c
				half.scale /= 2
				require.Greater(t, loss(half), 0.7)
				if half = c; c.lost > 0 {
					half.lost /= 2
					require.Greater(t, loss(half), 0.7*1.0001)
				}
			}
		}
	}
	// Scales in counts at ε = 1, and of users with few keys.
	for _, row := range []struct {
		k, m int
		in   Input
		want float64
	}{
		{64, 0, Summed, 1.95}, {64, 0, Merged, 32}, {64, 17, Users, 32}, {64, 4, Users, 7.8}, {1024, 0, Summed, 2}, {1024, 0, Merged, 512}, {1024, 4, Users, 8}, {1024, 16, Users, 32},
	} {
		c, err := Params{Counters: row.k, Epsilon: 1, Dim: 100_000}.of(row.in, row.m).choose(row.in)
		require.NoError(t, err)
		d, u := c.scale/c.per, row.want
		require.Greater(t, d, 0.99*u)
		require.Less(t, d, 1.13*u, "a part of ε is that of the length")
	}
}

// The exact law of a release of all Dim keys: for neighbours at the witness the largest loss is
// that of the noise of the units and of the length, and no output has more than ε.
func TestPureReleaseOfMergedSketchesExactly(t *testing.T) {
	for k := 1; k <= 3; k++ {
		p := Params{Counters: k, Epsilon: 1.3, Dim: uint64(k + 2)}
		c, err := p.choose(Merged)
		require.NoError(t, err)
		worst := func(c calibration) float64 {
			low, high, common := newSketch[int](k), newSketch[int](k), newSketch[int](k)
			for key := range k {
				low.add(key)
				high.add(key)
			}
			high.add(k)
			m := (k + 1) / 2
			for key := m; key < k+m; key++ {
				for range k + 3 {
					common.add(key % (k + 2))
				}
			}
			low.merge(common)
			high.merge(common)
			values := func(s *sketch[int]) (v []int64) {
				v = make([]int64, k+2)
				for _, x := range reduced(s.positive(), k) {
					v[x.key] = x.count
				}
				return append(v, s.length(k))
			}
			a, b, loss := values(low), values(high), 0.0
			for i := range a { // coordinates are independent, so their largest losses add up
				d := discreteLaplace(c.scale)
				if i == len(a)-1 {
					d = discreteLaplace(c.lost)
				}
				most := 0.0
				for x := min(a[i], b[i]) - 30; x <= max(a[i], b[i])+30; x++ {
					most = max(most, math.Log(d.Prob(float64(x-a[i]))/d.Prob(float64(x-b[i]))))
				}
				loss += most
			}
			return loss
		}
		require.LessOrEqual(t, worst(c), 1.3*(1+1e-9), "k = %d", k)
		half := c
		half.scale /= 2
		require.Greater(t, worst(half), 1.3, "half the noise")
	}
}

// NewSum, Merge and users release without δ, with noise as planned.
func TestPureReleases(t *testing.T) {
	p := Params{Counters: 64, Epsilon: 1, Dim: 100_000}
	sum, err := NewSum[int](p)
	require.NoError(t, err)
	require.Equal(t, budget.PureDP(1, budget.Element(budget.AddRemove)), sum.Guarantee())
	plan, err := p.Plan(2)
	require.NoError(t, err)
	require.InEpsilon(t, 2.8, plan.Costs[0].StdDev, 0.08)
	for range 2 {
		b, err := New[int](p)
		require.NoError(t, err)
		b.AddSlice(repeat(3000, 1000, 500))
		require.NoError(t, sum.Add(b))
	}
	h, err := sum.Release()
	require.NoError(t, err)
	require.Equal(t, 64, h.Len())
	require.InDelta(t, 6000, h.Estimate(0), 40*h.StdDev())
	require.InDelta(t, 1000, h.Estimate(2), 40*h.StdDev())
	dptest.Alarm(t, 1e-10)
	lo, hi := h.Interval(1, 1-1e-10)
	require.LessOrEqual(t, lo, 2000.0)
	require.GreaterOrEqual(t, hi, 2000.0)
	require.Less(t, hi-lo, 9000./65+160)

	a, b := build(t, p, repeat(30_000, 10_000)), build(t, p, repeat(20_000))
	require.NoError(t, a.Merge(b))
	h, err = a.Release()
	require.NoError(t, err)
	require.Equal(t, Merged, h.Input())
	require.InEpsilon(t, 32*math.Sqrt2, h.StdDevAs(Lower), 0.12)
	require.InDelta(t, 50_000, h.Estimate(0), 40*h.StdDev())

	p.MaxKeys = 17
	u, err := NewUserBuilder[int](p)
	require.NoError(t, err)
	v, err := NewUserBuilder[int](p)
	require.NoError(t, err)
	for range 20_000 {
		u.AddUser([]int{1, 2, 3})
		v.AddUser([]int{2})
	}
	require.NoError(t, u.Merge(v))
	h, err = u.Release()
	require.NoError(t, err)
	require.Equal(t, budget.PureDP(1, budget.User(17, budget.AddRemove)), h.Guarantee())
	require.InDelta(t, 40_000, h.Estimate(2), 40*h.StdDev())
}

// The largest of more values than are released, by the loop and by layers alike.
func TestTopOfManyValues(t *testing.T) {
	d := discreteLaplace(3)
	var src noise.Source
	for _, dim := range []uint64{50, 1 << 40} {
		var values []counter[int]
		for key := range 40 {
			values = append(values, counter[int]{key, int64(1000 + 200*key)})
		}
		top := topOfUniverse(&src, d, 5, dim, values)
		require.Equal(t, []int{35, 36, 37, 38, 39}, func() (keys []int) {
			for _, c := range top {
				keys = append(keys, c.key)
			}
			return keys
		}())
		require.True(t, slices.IsSortedFunc(top, func(a, b counter[int]) int { return int(a.count - b.count) }))
	}
}

// The released length follows its law, on every input that has one, and is left out for given
// counters, also of one sketch of a sum.
func TestLengthHasItsNoise(t *testing.T) {
	notShort(t)
	for _, in := range []Input{OneStream, Merged, Summed, Users} {
		p := Params{Counters: 3, Epsilon: 1, Dim: 50}
		c, err := p.choose(in)
		if in == Users {
			p.MaxKeys = 3
			c, err = p.choose(in)
		}
		require.NoError(t, err)
		stream := repeat(90, 40, 30, 20, 10)
		s := prepare(t, in, p, stream)
		var length int64
		switch b := s.(type) {
		case *Builder[int]:
			length = peek(b.secret).sketch.length(3)
		case *Sum[int]:
			length = peek(b.sumSecret).length
			require.EqualValues(t, len(stream), length)
		case *UserBuilder[int]:
			length = peek(b.userSecret).users.table.length(3)
		}
		d := discreteLaplace(c.lost)
		counts, masses := make([]int64, 41), make([]float64, 41)
		for i := range masses {
			masses[i] = d.Prob(float64(i - 20))
		}
		masses[0], masses[40] = d.CDF(-20), d.Survival(19)
		for range 3000 {
			h := newHistogram[int](p, c)
			var src noise.Source
			h.releaseLength(&src, contents[int]{lost: length})
			counts[min(max(h.lost-length, -20), 20)+20]++
		}
		dptest.ChiSquare(t, in.String(), counts, masses, 1e-10)
	}
	p := Params{Counters: 3, Epsilon: 1, Delta: 1e-3}
	sum, err := NewSum[int](p)
	require.NoError(t, err)
	given, err := FromCounters(p, map[int]int64{1: 500})
	require.NoError(t, err)
	require.NoError(t, sum.Add(given))
	require.NoError(t, sum.Add(build(t, p, repeat(500))))
	h, err := sum.Release()
	require.NoError(t, err)
	require.Zero(t, h.lost)
	require.Zero(t, h.law.lost)
	require.Equal(t, h.EstimateAs(1, Lower), h.Estimate(1))
	_, hi := h.Interval(1, 0.9)
	require.True(t, math.IsInf(hi, 1))
	dptest.Codec[Histogram[int]](t, h, dptest.DeepEqual)
}

// Of given counters D is not known, so neither is the length of a sketch that they were merged
// into, also after its private state was moved.
func TestMergedWithGivenCountersHasNoLength(t *testing.T) {
	p := Params{Counters: 3, Epsilon: 1, Dim: 50}
	for _, first := range []bool{true, false} {
		given, err := FromCounters(p, map[int]int64{1: 500})
		require.NoError(t, err)
		b := build(t, p, repeat(500))
		if first {
			given, b = b, given
		}
		require.NoError(t, b.Merge(given))
		state, err := b.AppendPrivateState(nil)
		require.NoError(t, err)
		moved, err := New[int](p)
		require.NoError(t, err)
		require.NoError(t, moved.RestorePrivateState(state))
		for _, b := range []*Builder[int]{b, moved} {
			h, err := b.Release()
			require.NoError(t, err)
			require.Zero(t, h.law.lost)
			_, hi := h.Interval(1, 0.9)
			require.True(t, math.IsInf(hi, 1))
		}
	}
}

// Merged sketches and those of users tell D as one number more: their intervals end, and a
// key that comes all the time is off by the noise alone.
func TestSparseVectorsTellD(t *testing.T) {
	for _, in := range []Input{OneStream, Merged, Users} {
		p := Params{Counters: 16, Epsilon: 1, Delta: 1e-3, Sparse: sparse.Laplace, Method: SparseVector}
		switch in {
		case Merged:
			p.Method = Auto
		case Users:
			p.MaxKeys = 2
		}
		var stream []int
		for i := range 15_000 {
			stream = append(stream, 0, 0, 1+i%100, 1+i%100)
		}
		s := prepare(t, in, p, stream)
		h, err := s.Release()
		require.NoError(t, err)
		require.Greater(t, h.Undercount(0), 1000.0)
		require.InDelta(t, 30_000, h.Estimate(0), 40*h.StdDev(), in)
		dptest.Alarm(t, 1e-10)
		lo, hi := h.Interval(0, 1-1e-10)
		require.LessOrEqual(t, lo, 30_000.0)
		require.GreaterOrEqual(t, hi, 30_000.0)
		require.Less(t, hi-lo, 60_000./17+60*h.StdDev())
	}
}
