package alp

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"testing/cryptotest"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/stretchr/testify/require"
)

func TestBuilderIsRedacted(t *testing.T) {
	b := dptest.OK(New(Params{Epsilon: 1, Delta: 1e-6, Sparsity: 10, Integers: true}))(t)
	b.Add(123456789123, 987654321987)
	dptest.Redacted(t, b, "123456789123", "987654321987")
	dptest.Redacted(t, *b, "123456789123", "987654321987")
	require.Equal(t, "alp.Builder (private)", fmt.Sprintf("%+v", b))
}

func TestReleaseIsFinal(t *testing.T) {
	fresh := func() *Builder { return dptest.OK(New(Params{Epsilon: 1, Delta: 1e-6, Sparsity: 10}))(t) }
	dptest.Builder(t, fresh, func(b *Builder) { b.Add(1, 1) })
}

func TestAddDoesNotAllocate(t *testing.T) {
	b := dptest.OK(New(Params{Epsilon: 1, Delta: 1e-6, Sparsity: 10}))(t)
	for i := range uint64(200) {
		b.Add(i, 1)
	}
	i := uint64(0)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		// on the grid; off it, noise.Source takes a new key once in 1,024 words
		b.Add(i%200, 0.5)
		i++
	}))
}

// The order of arrival, and how a total is split into values on the grid, leave no trace.
func TestReleaseDoesNotDependOnTheOrder(t *testing.T) {
	for _, p := range []Params{
		{Epsilon: 1, Delta: 1e-6, Sparsity: 50}, {Epsilon: 1, Dim: 1000, Sparsity: 50, Signed: true}, {Epsilon: 1, Max: 20, Sparsity: 50, Variant: Variant{Independent: true}},
		{Epsilon: 1, Delta: 1e-6, share: 0.1},
	} {
		p.Seed[3] = 9
		var encodings [2][]byte
		for turn := range encodings {
			cryptotest.SetGlobalRandom(t, 5)
			b := dptest.OK(New(p))(t)
			for i := range 300 {
				index := uint64(i)
				if turn == 1 {
					index = uint64(299 - i)
				}
				for range 1 + turn {
					b.Add(index, float64(index%40)/float64(1+turn))
				}
			}
			v := dptest.OK(b.Release())(t)
			encodings[turn] = dptest.OK(v.MarshalBinary())(t)
		}
		require.Equal(t, encodings[0], encodings[1], "%+v", p)
	}
}

// Totals are clamped, saturate and ignore what is not a number.
func TestTotals(t *testing.T) {
	totalsOf := func(p Params, values ...float64) []total {
		b := dptest.OK(New(p))(t)
		for _, v := range values {
			b.Add(7, v)
		}
		b.Add(p.Dim, 5) // ignored
		s := private.Enter(b.secret)
		return clamped(s.totals.sums(), s.shape.limit, p.Signed)
	}
	p := Params{Epsilon: 1, Delta: 1e-6, Dim: 100, Sparsity: 10, Integers: true, Max: 1000}
	require.Equal(t, []total{{Key: 7, Steps: 3}}, totalsOf(p, 1, 2))
	require.Equal(t, []total{{Key: 7, Steps: 3}}, totalsOf(p, 2.6, math.NaN(), 0.4), "rounded to the nearest integers")
	require.Equal(t, []total{{Key: 7, Steps: 1000}}, totalsOf(p, 2000), "above Max")
	require.Equal(t, []total{{Key: 7, Steps: 1000}}, totalsOf(p, math.Inf(1)))
	require.Equal(t, []total{{Key: 7, Steps: 500}}, totalsOf(p, 2000, -1500), "clamped as a total, not value by value")
	require.Empty(t, totalsOf(p, -5), "below 0")
	require.Empty(t, totalsOf(p, math.Inf(-1), 5))
	p.Signed = true
	require.Equal(t, []total{{Key: 7, Steps: -5}}, totalsOf(p, -5))
	require.Equal(t, []total{{Key: 7, Steps: -1000}}, totalsOf(p, math.Inf(-1)))
	p.Max = 0
	require.Equal(t, []total{{Key: 7, Steps: maxTotal}}, totalsOf(p, 1e300, 1e300))
	require.Equal(t, []total{{Key: 7, Steps: 0}}[:0], totalsOf(p, 1e300, -1e300))
}

// Values off the grid keep their mean.
func TestRandomRounding(t *testing.T) {
	b := dptest.OK(New(Params{Epsilon: 1, Delta: 1e-6, Sparsity: 10, Signed: true}))(t)
	s := private.Enter(b.secret)
	const n = 100000
	up := int64(0)
	for range n {
		up += s.onGrid(-2.3*s.shape.step) + 3
	}
	dptest.Tail(t, "rounded up", up, n, 0.7, 1e-10)
}

// The log and the sums that it is merged into are one table: the values of an index are added in
// their order, as a map would, and each sum saturates.
func TestTotalsAsInAMap(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, keys := range []uint64{1, 300, 3 * leastLog, 1 << 40} {
		var sums totals
		want := map[uint64]int64{}
		for i := range 8*leastLog + 7 {
			index, steps := mixBits(rng.Uint64N(keys)), rng.Int64N(9)-4
			if i%3 == 0 {
				index, steps = 5, [...]int64{maxTotal, maxTotal, -maxTotal}[i/3%3]
			}
			sums.add(index, steps)
			want[index] = min(max(want[index]+steps, -maxTotal), maxTotal)
		}
		require.LessOrEqual(t, cap(sums.added), max(2*leastLog, len(sums.sorted)/4))
		got, last := sums.sums(), uint64(0)
		require.Len(t, got, len(want))
		for i, e := range got {
			require.True(t, i == 0 || last < e.Key)
			require.Equal(t, want[e.Key], e.Steps)
			last = e.Key
		}
	}
}
