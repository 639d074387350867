package jl

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

func newBuilder(t *testing.T, p Params) *Builder {
	t.Helper()
	if p.Epsilon == 0 && p.Rho == 0 {
		p.Epsilon = 1
	}
	p.Seed = seed(5)
	return dptest.OK(New(p))(t)
}

// kinds are one Builder of each way to sum.
func kinds() []Params {
	return []Params{{Dim: 50, Rows: 8}, {Dim: 50, Rows: 8, Sparsity: 4}, {Dim: 1 << 50, Rows: 8, Sparsity: 2},
		{Dim: 50, Rows: 8, Transform: Rademacher}, {Dim: 50, Rows: 8, Transform: SRHT},
		{Dim: 50, Rows: 8, Transform: FJLT, Input: true}, {Dim: 50, Rows: 8, Integers: true}, {Dim: 50, Rows: 8, Transform: Rademacher,
			Change: L2(1)}}
}

// The order of the values, shards that are merged, a dense vector and what is outside Dim make no
// difference.
func TestStreams(t *testing.T) {
	for _, p := range kinds() {
		a := newBuilder(t, p)
		x := make([]float64, 50)
		for j := range x {
			x[j] = float64(j*j) - 700.25
			a.Add(uint64(j), x[j])
		}
		b, _ := a.Sibling()
		c, _ := a.Sibling()
		d, _ := a.Sibling()
		for j := len(x) - 1; j >= 0; j-- {
			b.Add(uint64(j), x[j]+1)
			if p.Integers {
				c.Add(uint64(j), x[j])
				continue
			}
			c.Add(uint64(j), x[j]/4)
			d.Add(uint64(j), x[j]*0.75)
		}
		for j := range x {
			b.Add(uint64(j), -1)
		}
		b.Add(p.Dim, 1e6)
		b.Add(math.MaxUint64, 1e6)
		b.Add(0, math.NaN())
		require.NoError(t, c.Merge(d))
		e, _ := a.Sibling()
		e.AddDense(append(x, make([]float64, 7)...))
		require.Equal(t, integers(a), integers(e), "%+v", p)
		require.Equal(t, integers(a), integers(c), "%+v", p)
		if !p.Integers { // −700.25 + 1 and − 1 round otherwise
			require.Equal(t, integers(a), integers(b), "%+v", p)
		}
	}
}

// Infinite and huge values saturate and stay finite, whatever is added.
func TestSaturation(t *testing.T) {
	for _, p := range kinds() {
		b := newBuilder(t, p)
		for range 20 {
			b.Add(3, math.Inf(1))
			b.Add(4, -math.MaxFloat64)
			b.Add(5, 1e300)
		}
		s := dptest.OK(b.Release())(t)
		require.Greater(t, s.SquaredNorm(), 1e12, "%+v", p)
		require.False(t, math.IsInf(s.SquaredNorm(), 0))
		for _, v := range s.values {
			require.LessOrEqual(t, max(v, -v), int64(maxValue))
		}
		useAll(t, s, s, 0.9)
	}
}

func TestFixed(t *testing.T) {
	for _, c := range []struct {
		y    float64
		want fixed
	}{
		{0, fixed{}}, {math.Copysign(0, -1), fixed{}}, {1, fixed{1, 0}}, {-1, fixed{-1, 0}}, {1.5, fixed{1, 1 << 63}}, {-1.5,
			fixed{-2, 1 << 63}}, {-0.25, fixed{-1, 3 << 62}},
		{0x1p-63, fixed{0, 2}}, {-0x1p-63, fixed{-1, math.MaxUint64 - 1}}, {0x1p-65, fixed{}}, {-0x1p-65, fixed{}}, {5e-324, fixed{}},
		{math.Nextafter(0x1p61, 0), fixed{1<<61 - 256, 0}},
	} {
		require.Equal(t, c.want, toFixed(c.y), "%v", c.y)
	}
	require.Equal(t, fixed{whole: most}, fixed{whole: most - 1}.subtractOrAdd(fixed{whole: 5}, 0))
	require.Equal(t, fixed{whole: -most}, fixed{whole: 1 - most}.subtractOrAdd(fixed{whole: 5}, 1))
	require.Equal(t, fixed{-1, 1 << 63}, fixed{}.subtractOrAdd(fixed{0, 1 << 63}, 1))
	require.EqualValues(t, 2, fixed{1, 1 << 63}.rounded())
	require.EqualValues(t, -1, fixed{-2, 1 << 63}.rounded())
}

func TestLifecycle(t *testing.T) {
	p := Params{Dim: 50, Rows: 8}
	use := func(b *Builder) { b.Add(1, 1); b.AddDense([]float64{1}); b.AddSparse([]uint64{1}, []float64{1}) }
	dptest.Builder(t, func() *Builder { return newBuilder(t, p) }, use, newBuilder(t, Params{Dim: 50, Rows: 8, Epsilon: 2}), newBuilder(t, Params{Dim: 51, Rows: 8}))
	b := newBuilder(t, p)
	dptest.OK(b.Release())(t)
	require.ErrorIs(t, dptest.Err(b.Sibling()), ErrReleased)
}

func TestRedaction(t *testing.T) {
	b := newBuilder(t, Params{Dim: 50, Rows: 8, Integers: true})
	b.Add(3, 1234567890123)
	dptest.Redacted(t, *b, "1234567890123")
	held := newBuilder(t, Params{Dim: 50, Rows: 8, Integers: true, Transform: SRHT})
	held.Add(3, 1234567890123)
	dptest.Redacted(t, *held, "1234567890123")
}

func TestReaders(t *testing.T) {
	for _, p := range kinds() {
		s := dptest.OK(newBuilder(t, p).Release())(t)
		dptest.Readers(t, s)
	}
}

// Whatever the load says, sums are those of the definition, with saturation: every way to add
// against plain arithmetic, values of all sizes, before and after the load is used up.
func TestSumsAgainstDefinition(t *testing.T) {
	for _, p := range []Params{{Dim: 200, Rows: 8}, {Dim: 200, Rows: 8, Sparsity: 4}, {Dim: 200, Rows: 8, Integers: true},
		{Dim: 200, Rows: 8, Transform: SRHT}} {
		single := newBuilder(t, p)
		dense, _ := single.Sibling()
		s := peek(single)
		limit := s.limit
		if s.columns != nil {
			limit = most
		}
		scale := new(big.Int).Lsh(big.NewInt(1), 64)
		bound := new(big.Int).Mul(big.NewInt(limit), scale)
		want := make([]*big.Int, s.size())
		for i := range want {
			want[i] = new(big.Int)
		}
		r := rand.New(rand.NewPCG(5, 6))
		for round := range 60 {
			x := make([]float64, p.Dim)
			for j := range x {
				x[j] = r.NormFloat64() * math.Ldexp(1, r.IntN(30))
				if round > 20 && r.IntN(50) == 0 {
					x[j] = r.NormFloat64() * math.Ldexp(s.noise.Step, 58+r.IntN(5))
				}
				if round > 30 && r.IntN(50) == 0 {
					x[j] = math.Inf(1 - 2*r.IntN(2))
				}
			}
			for j, value := range x {
				single.Add(uint64(j), value)
				v := s.steps(value)
				add := new(big.Int).Mul(big.NewInt(v.whole), scale)
				add.Add(add, new(big.Int).SetUint64(v.frac))
				one := func(row int, negative bool) {
					if negative {
						want[row].Sub(want[row], add)
					} else {
						want[row].Add(want[row], add)
					}
					if want[row].CmpAbs(bound) >= 0 {
						want[row].Mul(bound, big.NewInt(int64(want[row].Sign())))
					}
				}
				if s.columns == nil {
					one(j, false)
					continue
				}
				for b := range p.sparsity() {
					e := s.matrix.(*sjlt).entry(uint64(j), b)
					one(int(e>>1), e&1 == 1)
				}
			}
			dense.AddDense(x)
			for i, v := range sums(s) {
				got := new(big.Int).Mul(big.NewInt(v.whole), scale)
				require.Zero(t, want[i].Cmp(got.Add(got, new(big.Int).SetUint64(v.frac))), "%+v, round %d", p, round)
			}
			require.Equal(t, sums(s), sums(peek(dense)))
			for _, v := range sums(s) {
				require.LessOrEqual(t, v.size(), min(s.load, peek(dense).load)+1, "the load is a bound")
			}
		}
		require.Equal(t, s.room, s.load, "the load was used up")
	}
}
