package jl

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/stretchr/testify/require"
)

// reference adds one value after the other by the definition: each to its rows, or to its
// coordinate, saturating or wrapping around, with nothing else in mind.
type reference struct {
	of   *state
	sums []fixed
}

func (r reference) add(index uint64, value float64) {
	s := r.of
	if index >= s.params.Dim {
		return
	}
	if s.params.Integers {
		value = math.RoundToEven(value)
	}
	y, v := value*s.inverse, fixed{}
	switch {
	case y >= s.bound:
		v = fixed{whole: s.limit}
	case y <= -s.bound:
		v = fixed{whole: -s.limit}
	case y == y:
		v = toFixed(y)
	}
	if s.columns == nil {
		r.sums[index] = r.sums[index].add(v).clamped(s.limit)
		return
	}
	for b := range s.params.sparsity() {
		e := s.matrix.(*sjlt).entry(index, b)
		if s.params.wraps() {
			r.sums[e>>1].addOrSubtract(&v, e&1)
		} else {
			r.sums[e>>1] = r.sums[e>>1].subtractOrAdd(v, uint64(e&1))
		}
	}
}

// merge adds the sums of the other one.
func (r reference) merge(o reference) {
	limit := r.of.limit
	if r.of.columns != nil {
		limit = most
	}
	for i, v := range o.sums {
		if r.sums[i] = r.sums[i].add(v); !r.of.params.wraps() {
			r.sums[i] = r.sums[i].clamped(limit)
		}
	}
}

// edges are values at which a loop could go another way: around the sizes that are small for it, at
// halves and around them, at the limit, and what is no number.
func edges(s *state, n int) []float64 {
	l, step := s.small(n), s.noise.Step
	list := []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.MaxFloat64, 5e-324, -5e-324,
		0x1p-63 * step, -0x1p-63 * step, 0x1p-64 * step, 1.5 * 0x1p-63 * step, -1.5 * 0x1p-63 * step, 0x1.fffffffffffffp-11 * step}
	for _, size := range []float64{math.Float64frombits(l.below), 0x1p40, s.bound, float64(s.room-s.load) / 2, 1, 2, 3, 7, 0.5, 1 / step} {
		for _, unit := range []float64{step, 0.5 * step, 0.5, 1.5} {
			x := size * unit
			list = append(list, x, -x, math.Nextafter(x, 0), -math.Nextafter(x, 0), math.Nextafter(x, math.Inf(1)))
		}
	}
	return list
}

// Every way to add leaves the sums of the reference, bit for bit: of one to many entries a column,
// reals and integers, of numbers of values around the lengths of the loops, for values at which
// they stop, with merging, and when the load comes near to the room and passes it.
func TestLoopsAgainstReference(t *testing.T) {
	list := []Params{}
	for _, p := range []Params{{Epsilon: 1}, {Epsilon: 1, Integers: true}, {Rho: 0.5, Integers: true}, {Rho: 0x1p20, Integers: true},
		{Epsilon: 1, Change: L1(0x1p-100)}} {
		for _, sparsity := range []int{1, 2, 4, 7, 8, 16, 28} {
			p.Rows, p.Sparsity = 112, sparsity
			list = append(list, p)
		}
		p.Rows, p.Sparsity, p.Transform = 16, 0, SRHT
		list = append(list, p)
	}
	for _, sparsity := range []int{1, 8} {
		list = append(list, Params{Rho: 0.5, Rows: 16, Sparsity: sparsity, Change: L2(1)}, Params{Rho: 0.5, Rows: 16, Sparsity: sparsity, Change: L2(1), Integers: true})
	}
	for n, p := range list {
		p.Dim, p.Seed = 600, seed(3)
		b := newBuilder(t, p)
		s, r := peek(b), rand.New(rand.NewPCG(41, uint64(n)))
		want := reference{s, make([]fixed, s.size())}
		empty, loops := slices.Clone(want.sums), 0
		for round := range 24 {
			count := []int{1, 2, 63, chunk - 1, chunk, chunk + 1, 2*chunk + 1, 600}[r.IntN(8)]
			special := edges(s, min(count, chunk))
			if round < 16 { // those that leave room
				special = slices.DeleteFunc(special, func(x float64) bool { return math.Abs(x*s.inverse) > float64((s.room-s.load)>>8) })
			}
			x, at := make([]float64, count), make([]uint64, count)
			for i := range x {
				x[i], at[i] = math.Ldexp(r.NormFloat64()*s.noise.Step, r.IntN(37)-1), r.Uint64N(600)
				switch rare := r.IntN(60); {
				case rare == 0 && round%3 > 0:
					x[i] = special[r.IntN(len(special))]
				case rare == 1 && round%3 > 0:
					at[i] = 600 + r.Uint64()>>r.UintN(64)>>1
				}
			}
			if round%3 == 2 { // at the ends
				x[0], x[count-1] = special[r.IntN(len(special))], special[r.IntN(len(special))]
			}
			other := reference{s, empty} // what is merged
			switch round % 4 {
			case 0:
				b.AddDense(x)
			case 1:
				b.AddSparse(at, x)
			case 2:
				for i, index := range at {
					b.Add(index, x[i])
				}
			default: // half of it by a Builder of its own
				part := dptest.OK(b.Sibling())(t)
				other = reference{peek(part), slices.Clone(empty)}
				part.AddSparse(at[count/2:], x[count/2:])
				b.AddSparse(at[:count/2], x) // as far as both go
				require.NoError(t, b.Merge(part))
				for i, index := range at[count/2:] {
					other.add(index, x[count/2+i])
				}
				at = at[:count/2]
			}
			for i, index := range at {
				if round%4 == 0 {
					index = uint64(i)
				}
				want.add(index, x[i])
			}
			want.merge(other)
			require.Equal(t, want.sums, sums(s), "%+v, round %d", p, round)
			for _, v := range want.sums {
				require.True(t, s.load == s.room || v.size() <= s.load+1, "the load is a bound")
			}
			require.LessOrEqual(t, s.load, s.room)
			require.Equal(t, s.columns != nil && s.load < s.room, s.apart)
			if s.load < s.room { // a load that is too high is a load
				switch round {
				case 11:
					s.load = max(s.load, s.room-s.room>>12)
				case 16:
					s.load = max(s.load, s.room-3)
				case 17:
					s.load = s.room - 1
				}
			}
			if s.load < s.room {
				loops++
			}
		}
		require.GreaterOrEqual(t, loops, 12, "%+v: the room is used up too early", p)
		require.Equal(t, s.room, s.load)
		rounded := make([]int64, len(want.sums))
		for i, v := range want.sums {
			rounded[i] = v.rounded()
		}
		require.Equal(t, rounded, s.rounded(), "%+v", p)
	}
}

// quickFixed is toFixed, for random digits of all sizes and at the edges.
func TestQuickFixed(t *testing.T) {
	check := func(y float64) {
		for _, y := range []float64{y, -y, math.Nextafter(y, 0), math.Nextafter(-y, 0)} {
			if toFixed(y) != quickFixed(y) {
				t.Fatalf("%x: %v, want %v", y, quickFixed(y), toFixed(y))
			}
		}
	}
	r := rand.New(rand.NewPCG(42, 43))
	for exponent := -1074; exponent <= 40; exponent++ {
		check(math.Ldexp(1, exponent))
		for range 40 {
			check(math.Ldexp(r.Float64(), exponent))
			check(math.Ldexp(1+math.Ldexp(1, -r.IntN(53)), max(exponent, -1022)-1))
		}
	}
	for i := range 4096 {
		n := float64(i) // halves, and close to them
		for _, y := range []float64{n, n + 0.5, 0x1p39 + n + 0.5} {
			check(y)
			check(math.Nextafter(y, math.Inf(1)))
		}
	}
}

func TestAddingAllocatesNothing(t *testing.T) {
	x, at := make([]float64, 50), make([]uint64, 50)
	for _, p := range kinds() {
		b := newBuilder(t, p)
		require.Zero(t, testing.AllocsPerRun(10, func() { b.AddDense(x); b.AddSparse(at, x); b.Add(3, 4) }), "%+v", p)
		s := dptest.OK(b.Release())(t)
		require.LessOrEqual(t, testing.AllocsPerRun(100, func() { s.SquaredNorm() }), 1.0)
	}
}

// The load is as great as a row to which all values are added with one sign, for each way to add.
func TestLoadOfEqualSigns(t *testing.T) {
	for _, p := range []Params{{}, {Sparsity: 2}, {Sparsity: 8}, {Integers: true}, {Sparsity: 2, Integers: true}, {Sparsity: 8, Integers: true}} {
		p.Dim, p.Rows = 600, p.sparsity()
		dense := newBuilder(t, p)
		sparse, single := dptest.OK(dense.Sibling())(t), dptest.OK(dense.Sibling())(t)
		x, at := make([]float64, p.Dim), make([]uint64, p.Dim)
		for j := range x {
			at[j] = uint64(j)
			x[j] = 3 * float64(1-2*int(peek(dense).table[j*p.Rows]&1))
			single.Add(at[j], x[j])
		}
		dense.AddDense(x)
		sparse.AddSparse(at, x)
		for _, b := range []*Builder{dense, sparse, single} {
			s := peek(b)
			require.EqualValues(t, 1800*s.inverse, s.row(0).whole, "%+v", p)
			require.GreaterOrEqual(t, s.load, s.row(0).size(), "%+v", p)
		}
	}
}
