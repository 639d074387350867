package misragries

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/misragries/internal/sketch"
	"github.com/dpsketch/dpsketch/noise"
)

// The scale and the share of the length spend ε exactly, on every input, and the largest loss of
// the witness is ε. With half the noise of either it is more.
func TestPureReleasesSpendTheirBudget(t *testing.T) {
	for _, k := range []int{1, 2, 3, 16, 64} {
		for _, m := range []int{1, 2, 17, 64} {
			for _, in := range []input{oneStream, givenCounters, merged, summed, users} {
				if in == users && m > k {
					continue
				}
				p := Params{Counters: k, Epsilon: 0.7, Dim: 100_000}.of(in, m)
				_, c, err := p.check(in)
				require.NoError(t, err)
				require.Equal(t, PureUniverse, c.method)
				steps, units, length := float64(m), float64(2*k-1), 1.0
				if in == merged {
					units, length = float64(k*(k+1)/2), float64(k+1)
				}
				if in == users && steps*units > float64(k*(k+1)/2) {
					steps, units, length = 1, float64(k*(k+1)/2), float64(k+1)
					require.True(t, c.together)
				}
				loss := func(c calibration) float64 { // of the worst neighbour and the worst output
					sum := units / c.Scale
					if c.lost > 0 {
						sum += length / c.lost
					}
					return steps * sum
				}
				require.Equal(t, in == givenCounters, c.lost == 0)
				require.LessOrEqual(t, loss(c), 0.7)
				require.InEpsilon(t, 0.7, loss(c), 1e-12)
				half := c
				half.Scale /= 2
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
		in   input
		want float64
	}{
		{64, 0, summed, 1.95}, {64, 0, merged, 32}, {64, 17, users, 32}, {64, 4, users, 7.8}, {1024, 0, summed, 2}, {1024, 0, merged, 512}, {1024, 4, users, 8}, {1024, 16, users, 32},
	} {
		_, c, err := Params{Counters: row.k, Epsilon: 1, Dim: 100_000}.of(row.in, row.m).check(row.in)
		require.NoError(t, err)
		d, u := c.Scale/c.per, row.want
		require.Greater(t, d, 0.99*u)
		require.Less(t, d, 1.13*u, "a part of ε is that of the length")
	}
}

// The exact law of a release of all Dim keys: for neighbours at the witness the largest loss is
// that of the noise of the units and of the length, and no output has more than ε.
func TestPureReleaseOfMergedSketchesExactly(t *testing.T) {
	for k := 1; k <= 3; k++ {
		p := Params{Counters: k, Epsilon: 1.3, Dim: uint64(k + 2)}
		_, c, err := p.check(merged)
		require.NoError(t, err)
		worst := func(c calibration) float64 {
			low, high, common := sketch.New[int](k), sketch.New[int](k), sketch.New[int](k)
			for key := range k {
				low.Add(key)
				high.Add(key)
			}
			high.Add(k)
			m := (k + 1) / 2
			for key := m; key < k+m; key++ {
				for range k + 3 {
					common.Add(key % (k + 2))
				}
			}
			low.Merge(common, k)
			high.Merge(common, k)
			values := func(s *sketch.Sketch[int]) (v []int64) {
				v = make([]int64, k+2)
				for _, x := range sketch.Reduced(s.Positive(), k) {
					v[x.Key] = x.Count
				}
				return append(v, s.Length(k))
			}
			a, b, loss := values(low), values(high), 0.0
			for i := range a { // coordinates are independent, so their largest losses add up
				d := discreteLaplace(c.Scale)
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
		half.Scale /= 2
		require.Greater(t, worst(half), 1.3, "half the noise")
	}
}

// With all of ε for the keys of a reduced sketch, k counters at 1 and one more element have a loss
// of ε in the keys, exactly, and a noisy length adds its own: there is none that is free. With δ,
// one counter is enough, and the length takes δ beyond any that is asked for.
func TestLengthOfReducedSketchesIsNotFree(t *testing.T) {
	for k := 1; k <= 3; k++ {
		low := sketch.New[int](k)
		for key := range k {
			low.Add(key)
		}
		a, length := low.Unsorted(), low.Length(k)
		low.Add(0)
		require.Equal(t, length+1, low.Length(k))
		r, high := map[int]int64{}, sketch.Reduced(low.Unsorted(), k)
		for _, c := range sketch.Reduced(a, k) {
			r[c.Key] = c.Count
		}
		for _, c := range high {
			r[c.Key] -= c.Count
		}
		moved := int64(0)
		for _, d := range r {
			moved += max(d, -d)
		}
		require.EqualValues(t, 2*k-1, moved)
		c := dptest.OK(Params{Counters: k, Epsilon: 1.3, Dim: 1000}.calibrate(PureUniverse, givenCounters, true))(t)
		require.InEpsilon(t, 1.3, float64(moved)/c.Scale, 1e-12)
	}
	p := Params{Counters: 1, Epsilon: 1, Delta: 1e-6}
	c := dptest.OK(p.calibrate(ReducedSum, givenCounters, true))(t)
	with := dptest.OK(p.calibrate(ReducedSum, summed, false))(t)
	joint := func(lost float64) (h float64) { // of a key far above R that moves by 1
		d, e := c.noise(), discreteLaplace(lost)
		for x := -100.0; x <= 100; x++ {
			for y := -100.0; y <= 100; y++ {
				h += max(d.Prob(x)*e.Prob(y)-math.E*d.Prob(x-1)*e.Prob(y-1), 0)
			}
		}
		return h
	}
	require.Greater(t, joint(with.lost), 0.05)
	require.Greater(t, joint(100), 1e-3, "also with more noise than is of use")
}

// The released length follows its law, on every input that has one, and is left out for given
// counters, also of one sketch of a sum.
func TestLengthHasItsNoise(t *testing.T) {
	dptest.NotShort(t, "not among the short tests")
	for _, in := range []input{oneStream, merged, summed, users} {
		p := Params{Counters: 3, Epsilon: 1, Dim: 50}
		if in == users {
			p.MaxElements = 3
		}
		_, c, err := p.check(in)
		require.NoError(t, err)
		stream := repeat(90, 40, 30, 20, 10)
		s := fill(t, in, p, stream)
		var length int64
		switch b := s.(type) {
		case *Builder[int]:
			length = peek(b.secret).Sketch.Length(3)
		case *Sum[int]:
			length = peek(b.secret).lost
			require.EqualValues(t, len(stream), length)
		case *UserBuilder[int]:
			length = peek(b.secret).sketch.Length(3)
		}
		d := discreteLaplace(c.lost)
		counts, masses := make([]int64, 41), make([]float64, 41)
		for i := range masses {
			masses[i] = d.Prob(float64(i - 20))
		}
		masses[0], masses[40] = d.CDF(-20), d.Survival(19)
		for range 3000 {
			h := release(new(noise.Source), p, c, 1, contents[int]{lost: length})
			counts[min(max(h.lost-length, -20), 20)+20]++
		}
		dptest.ChiSquare(t, in.String(), counts, masses, 1e-10)
	}
}

// Of given counters D is not known, so a sum with one such sketch tells nothing of what it lost,
// also if elements came after, or its private state was moved: no length, and no W, which would
// tell D. Nor does a sketch that they were merged into have a length.
func TestSumOfGivenCountersTellsNothing(t *testing.T) {
	p := Params{Counters: 3, Epsilon: 1, Dim: 50}
	for _, first := range []bool{true, false} {
		b, other := dptest.OK(FromMisraGries(p, map[int]int64{1: 500}))(t), build(t, p, repeat(500))
		if first {
			b, other = other, b
		}
		require.NoError(t, b.Merge(other))
		for _, b := range []*Builder[int]{restored(t, b, p), b} {
			h := dptest.OK(b.Release())(t)
			require.Zero(t, h.calibration.lost)
			_, hi := h.Interval(1, 0.9)
			require.True(t, math.IsInf(hi, 1))
		}
	}
	for _, m := range []Method{ReducedSum, TrimmedSum} {
		for _, length := range []uint64{0, 2000} {
			p := Params{Counters: 3, Epsilon: 1, Delta: 1e-3, Method: m, MaxLength: length}
			sum := dptest.OK(NewSum[int](p))(t)
			given := dptest.OK(FromMisraGries(p, map[int]int64{1: 500}))(t)
			given.AddSlice(repeat(0, 7))
			require.NoError(t, sum.Add(given))
			require.NoError(t, sum.Add(build(t, p, repeat(0, 500))))
			state := dptest.OK(sum.AppendPrivateState(nil))(t)
			moved := dptest.OK(NewSum[int](p))(t)
			require.NoError(t, moved.RestorePrivateState(state))
			for _, sum := range []*Sum[int]{sum, moved} {
				h := dptest.OK(sum.Release())(t)
				require.False(t, h.known)
				require.Zero(t, h.lost)
				require.Zero(t, h.calibration.lost)
				require.Equal(t, h.Lower(1), h.Estimate(1))
				_, hi := h.Interval(1, 0.9)
				require.Equal(t, length == 0, math.IsInf(hi, 1))
				require.GreaterOrEqual(t, hi, 1007.0)
				decoded, _ := dptest.RoundTrip(t, h)
				require.Equal(t, h, decoded)
			}
		}
	}
}
