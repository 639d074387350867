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
	for _, transform := range []Transform{SJLT, SRHT} { // the latter holds the vector
		secret := newBuilder(t, Params{Dim: 50, Rows: 8, Integers: true, Transform: transform})
		secret.Add(3, 1234567890123)
		dptest.Redacted(t, *secret, "1234567890123")
	}
	b := newBuilder(t, p)
	dptest.OK(b.Release())(t)
	require.ErrorIs(t, dptest.Err(b.Sibling()), ErrReleased)
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
