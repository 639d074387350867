package threshold

import (
	"encoding"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"testing/cryptotest"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/sparse"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// sample is a Vector of five keys.
func sample(t testing.TB) *Vector[string] { return decoded[string](t, "words") }

// decoded returns the Vector of a golden file of package sparse.
func decoded[K hashing.Key](t testing.TB, name string) *Vector[K] {
	v := new(Vector[K])
	require.NoError(t, v.UnmarshalBinary(golden(t, name)))
	return v
}

// golden returns an encoding of package sparse.
func golden(t testing.TB, name string) []byte {
	data := dptest.OK(os.ReadFile("../internal/sparse/testdata/" + name + ".hex"))(t)
	var digits strings.Builder
	for line := range strings.Lines(string(data)) { // of hex.Dump
		for _, b := range strings.Fields(line[8:60]) {
			digits.WriteString(b)
		}
	}
	return dptest.OK(hex.DecodeString(digits.String()))(t)
}

func TestVector(t *testing.T) {
	v := sample(t)
	require.Equal(t, 5, v.Len())
	require.Equal(t, 45.0, v.Estimate("apple"))
	require.Equal(t, -45.0, v.Estimate("pear"))
	require.Zero(t, v.Estimate("fig"))
	require.True(t, v.Has("") && v.Has("pear") && !v.Has("fig"))
	require.True(t, budget.ApproxDP(1, 1e-6, budget.L1(1)).Equal(v.Guarantee()))
	var keys []string
	for key, x := range v.All() {
		keys = append(keys, key)
		require.Equal(t, v.Estimate(key), x)
	}
	require.Equal(t, []string{"", "apple", "pear", "plum", "zebra"}, keys)
	top := func(n int) (keys []string) {
		for key := range v.Top(n) {
			keys = append(keys, key)
		}
		return keys
	}
	require.Equal(t, []string{"apple", "plum", ""}, top(3))
	require.Equal(t, []string{"apple", "plum", "", "zebra", "pear"}, top(99))
	require.Empty(t, top(0))
	require.Empty(t, top(-1))
	for range v.All() {
		break
	}
	for range v.Top(2) {
		break
	}
	require.Contains(t, v.String(), "5 keys of value ≥ 15 by ExponentialRounding")
}

// One user's value in many parts, all the parts together within the limit, never moves a total by
// more than the limit.
func TestSplitValues(t *testing.T) {
	for _, m := range []Method{Gaussian, Laplace, ExponentialRounding} {
		b := dptest.OK(build[int](Params{Epsilon: 100, Delta: 1e-6, MaxKeys: 1, Method: m}))(t)
		for range 1 << 18 {
			b.Add(1, 0x1p-18)
		}
		s := inside(b.secret)
		require.LessOrEqual(t, float64(s.totals.Entries()[0].Steps)*s.law.Step(), 1.0, m)
	}
}

// The zero Vector answers, and has no encoding.
func TestZeroVector(t *testing.T) {
	var v Vector[string]
	lo, hi := v.Interval("a", 0.9)
	require.True(t, math.IsNaN(lo) && math.IsNaN(hi) && math.IsNaN(v.ErrorBound(1, 0.5)))
	require.Zero(t, v.Len())
	require.Zero(t, v.Estimate("a"))
	require.False(t, v.Has("a"))
	require.Equal(t, "threshold.Vector (not released)", v.String())
	require.False(t, v.Guarantee().Promises())
	require.ErrorIs(t, dptest.Err(v.MarshalBinary()), ErrFormat)
}

func TestReleaseOnce(t *testing.T) {
	fresh := func() *Builder[string] {
		b := dptest.OK(build[string](Params{Epsilon: 1, Delta: 1e-6}))(t)
		b.Add("a", 1)
		return b
	}
	dptest.Builder(t, fresh, func(b *Builder[string]) { b.Add("a", 1) })
}

func TestEmpty(t *testing.T) {
	for _, p := range []Params{{Epsilon: 1, Delta: 1e-6}, {Epsilon: 1, Delta: 0.5, MaxKeys: 9}, {Epsilon: 1, Dim: 1 << 60}} {
		b := dptest.OK(build[int](p))(t)
		v := dptest.OK(b.Release())(t)
		require.Zero(t, v.Len()) // at most 1/(2·Dim) for the pure one
		require.True(t, p.Guarantee().Equal(v.Guarantee()))
	}
}

// Keys without a value are never released where δ > 0, however low the threshold; what sums to 0
// has none.
func TestOnlyKeysWithAValue(t *testing.T) {
	for range 300 {
		b := dptest.OK(build[int](Params{Epsilon: 0.01, Delta: 1 - 1e-9, Integers: true}))(t)
		for _, key := range []int{5, -3, 8} {
			b.Add(key, 3)
		}
		b.Add(9, 2)
		b.Add(9, -2)
		b.Add(10, -5)
		b.Add(11, 0)
		b.Add(12, 0.3)
		b.Add(13, math.NaN())
		v := dptest.OK(b.Release())(t)
		for key := range v.All() {
			require.Contains(t, []int{5, -3, 8}, key)
		}
	}
}

// Real values under ℓ₁ are rounded at random, with the right mean, also far off the grid; on the
// grid nothing is drawn.
func TestRoundingToTheGrid(t *testing.T) {
	b := dptest.OK(build[int](Params{Epsilon: 1, Delta: 1e-6}))(t)
	s := inside(b.secret)
	step := s.law.Step()
	for _, x := range []float64{0.25, 0.9, -0.25, 17.6, 1e-2} {
		const n = 20_000
		up := int64(0)
		low := math.Floor(x)
		for range n {
			got := float64(s.steps(x * step))
			require.True(t, got == low || got == low+1)
			up += int64(got - low)
		}
		dptest.ChiSquare(t, fmt.Sprint(x), []int64{up, n - up}, []float64{x - low, 1 - x + low}, 1e-10)
	}
	for _, x := range []float64{0, 1, -5, 1 << 40} {
		require.Equal(t, int64(x), s.steps(x*step))
	}
	require.Zero(t, s.steps(5e-324), "all but impossible to round up")
	require.Zero(t, s.steps(math.NaN()))
	for _, x := range []float64{math.MaxFloat64, math.Inf(1)} { // and sums saturate: see keytable
		require.EqualValues(t, int64(sparse.MaxTotal), s.steps(x))
		require.EqualValues(t, int64(-sparse.MaxTotal), s.steps(-x))
	}
	b = dptest.OK(build[int](Params{Epsilon: 1, Delta: 1e-6, MaxKeys: 1}))(t)
	s = inside(b.secret)
	require.EqualValues(t, 17, s.steps(17.6*s.law.Step()), "towards 0")
	require.Zero(t, s.steps(-5), "users do not take back")
	b = dptest.OK(build[int](Params{Epsilon: 1, Delta: 1e-6, MaxKeys: 1, Signed: true}))(t)
	require.EqualValues(t, -17, inside(b.secret).steps(-17.6*inside(b.secret).law.Step()), "towards 0")
}

func TestVectorIsSafeForReaders(t *testing.T) {
	dptest.Readers(t, sample(t))
}

func FuzzUnmarshal(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		dptest.Decoded[Vector[string]](t, data)
		dptest.Decoded[Vector[int64]](t, data)
	})
}

// The encoding is that of package sparse, whose tests have its layout and spoil it. A number beside
// the keys is none of a Vector.
func TestEncoding(t *testing.T) {
	dptest.GoldenDumps(t, map[string]encoding.BinaryMarshaler{
		"words.hex": sample(t), "ints.hex": decoded[int64](t, "ints"), "pure.hex": decoded[uint64](t, "pure"), "dense.hex": decoded[int32](t, "dense"),
	})
	dptest.Codec(t, sample(t), dptest.DeepEqual)
	dptest.Codec(t, decoded[int64](t, "ints"), dptest.DeepEqual)
	dptest.Codec(t, decoded[uint64](t, "pure"), dptest.DeepEqual)
	dptest.Codec(t, decoded[int32](t, "dense"), dptest.DeepEqual)
	var v Vector[int64]
	require.ErrorIs(t, v.UnmarshalBinary(golden(t, "beside")), ErrFormat)
	require.Equal(t, Vector[int64]{}, v)
}

// Keys of all of Dim are released, and no others.
func TestHugeDimension(t *testing.T) {
	for _, dim := range []uint64{1 << 40, math.MaxUint64} {
		b := dptest.OK(build[uint64](Params{Epsilon: 1, Dim: dim}))(t)
		b.Add(dim-1, 500)
		b.Add(0, 700)
		b.Add(dim, 1e9)
		v := dptest.OK(b.Release())(t)
		dptest.Alarm(t, 1e-12) // a false key is less likely than 2⁻⁴⁰ each
		require.InDelta(t, 700, v.Estimate(0), 60)
		require.InDelta(t, 500, v.Estimate(dim-1), 60)
		require.Zero(t, v.Estimate(dim))
	}
}

// The same randomness gives the same bytes, whatever the order of arrival.
func TestReleaseHasNoTraceOfTheOrder(t *testing.T) {
	for _, p := range []Params{
		{Epsilon: 1, Delta: 0.1, Integers: true},
		{Epsilon: 1, Delta: 0.1, MaxKeys: 3},
		{Epsilon: 1, Delta: 0.1, MaxKeys: 30, Stored: 2000},
		{Epsilon: 1, Dim: 1 << 30, FalseKeys: 20},
	} {
		keys := make([]int, 3000)
		for i := range keys {
			keys[i] = i * 7 % 1009
		}
		var first []byte
		for range 4 {
			rand.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
			b := dptest.OK(build[int](p))(t)
			for _, key := range keys {
				b.Add(key, float64(key%40))
			}
			cryptotest.SetGlobalRandom(t, 11)
			v := dptest.OK(b.Release())(t)
			data := dptest.OK(v.MarshalBinary())(t)
			if first == nil {
				first = data
			}
			require.Equal(t, first, data)
			require.Greater(t, v.Len(), 10)
		}
	}
}
