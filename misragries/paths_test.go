package misragries

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/cryptotest"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/sparse"
	"github.com/dpsketch/dpsketch/misragries/internal/thresholds"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// releaser is what holds private data.
type releaser interface {
	Release() (*Histogram[int], error)
	Released() bool
}

// prepare makes, by exported functions alone, what holds the stream as the input says. Merged and
// Summed are two servers with every other element, Users have one key each.
func fill(t testing.TB, in input, p Params, stream []int) releaser {
	t.Helper()
	half := func(first int) *Builder[int] {
		var part []int
		for i := first; i < len(stream); i += 2 {
			part = append(part, stream[i])
		}
		return build(t, p, part)
	}
	switch in {
	case givenCounters:
		counts := map[int]int64{}
		for _, key := range stream {
			counts[key]++
		}
		return dptest.OK(FromMisraGries(p, counts))(t)
	case merged:
		a, b := half(0), half(1)
		require.NoError(t, a.Merge(b))
		require.True(t, b.Released())
		return a
	case summed:
		s := dptest.OK(NewSum[int](p))(t)
		for first := range 2 {
			b := half(first)
			require.NoError(t, s.Add(b))
			require.True(t, b.Released())
		}
		return s
	case users:
		b := dptest.OK(NewUserBuilder[int](p))(t)
		for _, key := range stream {
			b.AddUser([]int{key})
		}
		return b
	}
	return build(t, p, stream)
}

// draw releases it.
func draw(t testing.TB, in input, p Params, stream []int) *Histogram[int] {
	t.Helper()
	r := fill(t, in, p, stream)
	h := dptest.OK(r.Release())(t)
	require.True(t, r.Released())
	return h
}

// repeat returns each key as often as it says, in the order of the keys.
func repeat(times ...int) (stream []int) {
	for key, n := range times {
		stream = append(stream, slices.Repeat([]int{key}, n)...)
	}
	return stream
}

// eachPath calls f for every mechanism of every input, with Params that lead to it: by name but for
// SparseVector of merged sketches, which only Auto leads to.
func eachPath(f func(name string, in input, m Method, p Params)) {
	for in, list := range possible {
		for _, m := range list {
			p := Params{Counters: 4, Epsilon: 1, Delta: 0.05, Method: m}
			switch input(in) {
			case merged:
				p.Method = Auto
			case users:
				p.MaxElements = 1
			}
			if m == PureUniverse {
				p.Dim, p.Delta = 1000, 0
			}
			f(fmt.Sprintf("%v/%v", input(in), m), input(in), m, p)
		}
	}
}

// Auto takes KeptZeros, FreedZeros, SparseVector, TrimmedSum, or PureUniverse where δ = 0; for
// users what has the lower threshold.
func TestAuto(t *testing.T) {
	p := Params{Counters: 4, Epsilon: 1, Delta: 0.05, MaxElements: 1}
	for in, m := range map[input]Method{oneStream: KeptZeros, givenCounters: FreedZeros, merged: SparseVector, summed: TrimmedSum, users: KeptZeros} {
		require.Equal(t, m, draw(t, in, p, repeat(300)).Params().Method, in)
	}
	for _, in := range []input{oneStream, givenCounters, merged, summed, users} {
		p := Params{Counters: 4, Epsilon: 1, Dim: 100, MaxElements: 1}
		require.Equal(t, PureUniverse, draw(t, in, p, repeat(300)).Params().Method, in)
	}
	for m, want := range map[int]Method{1: KeptZeros, 2: KeptZeros, 60: SparseVector} {
		b := dptest.OK(NewUserBuilder[int](Params{Counters: 64, Epsilon: 1, Delta: 1e-6, MaxElements: m}))(t)
		require.Equal(t, want, b.calibration.method, "m = %d", m)
	}
}

// A merged sketch of k counters is released as a sparse vector of which a neighbour changes up to k
// keys and which has up to k.
func TestMergedIsASparseVector(t *testing.T) {
	p := Params{Counters: 16, Epsilon: 1, Delta: 1e-6}
	want := dptest.OK(sparse.Params{Epsilon: 1, Delta: 1e-6, Relation: budget.AddRemove, MaxKeys: 16, Stored: 16, Integers: true, Beside: true}.Law())(t)
	for _, in := range []input{merged, users} {
		if in == users {
			p.MaxElements, p.Method = 7, SparseVector // the noise does not depend on m
		}
		h := draw(t, in, p, repeat(5000, 5))
		require.Equal(t, want.Threshold(), h.threshold())
		require.Equal(t, want.StdDev(), h.lowerDev())
		require.InDelta(t, 5000, h.Estimate(0), 40*h.stdDev())
	}
	require.InDelta(t, 1+55.8*math.Sqrt(1+2./20), want.Threshold(), 0.1, "the table of results for k = 16, and D at ω = 2")
	// Elements of one user in a merged sketch are a group.
	h := draw(t, merged, Params{Counters: 4, Epsilon: 1, Delta: 1e-2, MaxElements: 3}, repeat(500))
	v := h.calibration.sparse.Params()
	group := dptest.OK(budget.ApproxDP(v.Epsilon, v.Delta, budget.Element(budget.AddRemove)).Group(3))(t)
	require.LessOrEqual(t, group.EpsilonAt(1e-2), 1.0)
	require.LessOrEqual(t, group.DeltaAt(1), 1e-2)
}

// PureUniverse needs no δ and takes none: by name it is the same with and without.
func TestPureUniverseTakesNoDelta(t *testing.T) {
	for _, in := range []input{oneStream, givenCounters} {
		for _, m := range []int{0, 3} {
			p := Params{Counters: 16, Epsilon: 0.5, Dim: 1 << 30, MaxElements: m, Method: PureUniverse}
			_, pure, err := p.check(in)
			require.NoError(t, err)
			p.Delta = 0.3
			_, named, err := p.check(in)
			require.NoError(t, err)
			require.Equal(t, pure, named)
			require.True(t, budget.PureDP(0.5, draw(t, in, p, repeat(40)).Guarantee().Unit()).Equal(p.Guarantee()))
		}
	}
}

// base returns what the noise is added to for the value v, and with which probability anything is
// shown.
func (c calibration) base(v int64) (base int64, weight float64) {
	if v >= c.From || c.From == 0 {
		return v, 1
	}
	return c.From, math.Expm1(float64(v)/c.Scale) / math.Expm1(float64(c.From)/c.Scale)
}

// tally counts draws of v − start, the first cell is hidden (v = 0), the last is all beyond.
func tally(cells []int64, v, start int64) {
	switch {
	case v == 0:
		cells[0]++
	default:
		cells[min(max(v-start+1, 1), int64(len(cells)-1))]++
	}
}

// What a plan tells of 95 % is the exact probability of a key to be shown, to 2 %, from the masses
// of noise and shifts, of one sketch or three that hold a third each; and of keys beyond the cap.
func TestHidden95(t *testing.T) {
	for _, m := range []Method{ReducedSum, TrimmedSum} {
		for _, k := range []int{1, 4, 64} {
			for _, sketches := range []int{1, 3} {
				p, c, err := Params{Counters: k, Epsilon: 1, Delta: 1e-6, Dim: 1 << 20, Method: m}.check(summed)
				require.NoError(t, err)
				masses := map[int64]float64{0: 1} // of the shifts
				for range sketches {
					if c.Shift == 0 {
						break
					}
					n0, next := discreteLaplace(c.Shift), map[int64]float64{}
					for x, mass := range masses {
						for y := -int64(20 * c.Shift); y <= int64(20*c.Shift); y++ {
							next[x+y+c.Offset] += mass * n0.Prob(float64(y))
						}
					}
					masses = next
				}
				units, shown := int64(math.Round(c.needs(p, sketches)*c.per)), 0.0
				for shift, mass := range masses {
					base, weight := c.base(max(units-shift, 0))
					shown += mass * weight * c.noise().Survival(float64(c.Threshold-base-1))
				}
				require.InDelta(t, 0.95, shown, 0.02, "%v, k = %d, %d sketches", m, k, sketches)
			}
		}
	}
	// The most of ε leaves noise whose variance is below the range of float64.
	for in, list := range possible {
		for _, m := range list {
			p, c, err := Params{Counters: 1, Epsilon: 1024, Delta: 1e-300, Dim: 1 << 20, Method: m, MaxElements: 1}.check(input(in))
			require.NoError(t, err)
			r := p.row(c, 1)
			require.False(t, math.IsNaN(r.Hidden95) || math.IsInf(r.Hidden95, 0) || math.Signbit(r.Threshold), "%v: %+v", input(in), r)
		}
	}
}

// N and the noise of the keys cost ε together at most, exactly, also where δ is so small that N has
// most of it; and T costs ε alone.
func TestShiftsSpendNoMore(t *testing.T) {
	for _, epsilon := range []float64{0.1, 0.7, 1.3, 5, 11, 50} {
		for _, delta := range []float64{0.9, 1e-6, 1e-30, 1e-300} {
			for k := 1; k < 12; k++ {
				p := Params{Counters: k, Epsilon: epsilon, Delta: delta, MaxElements: k % 3 * 7, Method: TrimmedSum}
				epsilon, _, ok := p.element()
				_, l, err := p.check(summed)
				if !ok {
					require.ErrorIs(t, err, ErrParams)
					continue
				}
				require.NoError(t, err)
				inverse := func(x float64) *big.Rat { return new(big.Rat).Inv(new(big.Rat).SetFloat64(x)) }
				spent := inverse(l.Scale)
				spent.Add(spent.Mul(spent, big.NewRat(int64(l.per), 1)), inverse(l.Shift))
				most := new(big.Rat).SetFloat64(epsilon)
				require.LessOrEqual(t, spent.Cmp(most), 0, "%+v", l)
				near, _ := spent.Float64()
				require.InEpsilon(t, epsilon, near, 1e-9)
				require.LessOrEqual(t, inverse(l.CapScale).Cmp(most), 0)
			}
		}
	}
}

// SparseVector by a mechanism with a mass function: discrete Laplace noise of scale k/ε.
func TestSparseVectorLaw(t *testing.T) {
	dptest.NotShort(t, "not among the short tests")
	for _, in := range []input{merged, users} {
		p, c, err := Params{Counters: 2, Epsilon: 1, Delta: 0.3, MaxElements: 1, Method: SparseVector}.check(in)
		require.NoError(t, err)
		q := dptest.OK(p.vector(in, false))(t)
		q.Method = sparse.Laplace
		l := dptest.OK(q.Law())(t)
		c.use(l)
		// D has the rest of ε
		d := dptest.OK(noise.NewDiscreteLaplace(2 * (1 + math.Pow(2, -2./3))))(t)
		tau := int64(c.lowest())
		counts, masses := make([]int64, 60), make([]float64, 60)
		var src noise.Source
		for range 5000 {
			h := release(&src, p, c, 1, contents[int]{counters: []counter[int]{{Key: 0, Count: 9}}})
			tally(counts, int64(h.Lower(0)), tau)
		}
		masses[0], masses[59] = d.CDF(float64(tau-9)-0.5), d.Survival(float64(tau+58-9)-0.5)
		for i := 1; i < 59; i++ {
			masses[i] = d.Prob(float64(tau + int64(i) - 1 - 9))
		}
		dptest.ChiSquare(t, in.String(), counts, masses, 1e-10)
	}
}

// A group of m: ε/m and a δ that adds up to δ; the threshold is that of one element at these.
func TestGroups(t *testing.T) {
	for _, epsilon := range []float64{0x1p-20, 0.1, 1, 8, 900} {
		for _, delta := range []float64{1e-200, 1e-9, 0.01, 0.9} {
			for _, m := range []int{1, 2, 3, 10, 1000} {
				p := Params{Counters: 1024, Epsilon: epsilon, Delta: delta, MaxElements: m}
				one, d1, ok := p.element()
				if !ok {
					require.True(t, epsilon > 100 || delta < 1e-100)
					require.ErrorIs(t, dptest.Err(New[int](p)), ErrParams)
					continue
				}
				g := dptest.OK(budget.ApproxDP(one, d1, budget.Element(budget.AddRemove)).Group(m))(t)
				require.LessOrEqual(t, g.EpsilonAt(delta), epsilon, "%+v", p)
				require.LessOrEqual(t, g.DeltaAt(epsilon), delta, "%+v", p)
				require.InEpsilon(t, epsilon/float64(m), one, 1e-12, "and it is all that there is to spend")
				sum := 0.0
				for i := range m {
					sum += math.Exp(float64(i) * one)
				}
				if !math.IsInf(sum, 1) {
					require.InEpsilon(t, delta/sum, d1, 1e-9)
				}
				if epsilon < 0.01 {
					continue
				}
				tau := thresholds.KeptThreshold(1024, one, d1)
				require.Equal(t, tau, thresholdOf(p))
				if m <= p.Counters {
					p.Method = KeptZeros
					b := dptest.OK(NewUserBuilder[int](p.of(users, m)))(t)
					require.Equal(t, tau, b.calibration.Threshold)
				}
			}
		}
	}
}

// The same randomness gives the same bytes for the same state, in whatever order elements and
// sketches come.
func TestPathsHaveNoTraceOfTheOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	eachPath(func(name string, in input, m Method, p Params) {
		t.Run(name, func(t *testing.T) {
			p.Counters = 40 // no decrements: the state is the counts
			if m == TrimmedSum && in == summed {
				return // each sketch draws its own shift when it is added
			}
			var first []byte
			stream := repeat(70, 10, 50, 33, 90, 8, 17, 44)
			for i := range 4 {
				if in == summed { // the two servers keep theirs
					slices.Reverse(stream)
				} else {
					rng.Shuffle(len(stream), func(i, j int) { stream[i], stream[j] = stream[j], stream[i] })
				}
				r := fill(t, in, p, stream)
				cryptotest.SetGlobalRandom(t, 77)
				h := dptest.OK(r.Release())(t)
				data := dptest.OK(h.MarshalBinary())(t)
				if i == 0 {
					first = data
				}
				require.Equal(t, first, data)
			}
		})
	})
}

// Keys outside Dim do not count, by whatever method they come.
func TestKeysOutsideDimAreIgnored(t *testing.T) {
	const dim = 10
	p := Params{Counters: 5, Epsilon: 900, Delta: 0.5, Dim: dim}
	stray := []int{-1, math.MinInt, dim, math.MaxInt}
	clean := repeat(50, 40)
	one := func() *Builder[int] { return build(t, p, clean) }
	byAdd, bySlice := one(), one()
	for _, key := range stray {
		byAdd.Add(key)
	}
	bySlice.AddSlice(stray)
	given := dptest.OK(FromMisraGries(p, map[int]int64{0: 50, 1: 40}))(t)
	given.AddSlice(stray)
	for _, b := range []*Builder[int]{byAdd, bySlice, given} {
		require.Equal(t, []counter[int]{{Key: 0, Count: 50}, {Key: 1, Count: 40}}, peek(b.secret).Sketch.Positive())
	}
	for _, m := range []Method{KeptZeros, SparseVector} {
		q := p
		q.Method, q.MaxElements = m, 2
		u := dptest.OK(NewUserBuilder[int](q))(t)
		u.AddUser(stray)
		u.AddUser([]int{dim, 3, -5, 4, dim + 7})
		h := dptest.OK(u.Release())(t)
		require.False(t, slices.ContainsFunc(keysOf(h.All()), func(key int) bool { return key != 3 && key != 4 }))
	}
}

// Of a user with more than m distinct keys m are counted, every choice as likely, and a key counts
// once.
func TestUsersKeepAUniformChoice(t *testing.T) {
	const n = 5000
	for _, mechanism := range []Method{KeptZeros, SparseVector} {
		p := Params{Counters: 8, Epsilon: 1, Delta: 1e-6, MaxElements: 2, Method: mechanism}
		counts := make([]int64, 10)
		pairs := map[[2]int]int{}
		for a := range 5 {
			for b := a + 1; b < 5; b++ {
				pairs[[2]int{a, b}] = len(pairs)
			}
		}
		for range n {
			b := dptest.OK(NewUserBuilder[int](p))(t)
			b.AddUser([]int{0, 0, 0, 1, 2, 3, 3, 4, 0, 3})
			s := peek(b.secret)
			kept := s.sketch.Positive()
			require.Len(t, kept, 2)
			require.Equal(t, int64(1), kept[0].Count*kept[1].Count, "once")
			counts[pairs[[2]int{kept[0].Key, kept[1].Key}]]++
		}
		dptest.ChiSquare(t, "pairs", counts, slices.Repeat([]float64{0.1}, 10), 1e-10)
		b := dptest.OK(NewUserBuilder[int](p))(t)
		for range 100 {
			b.AddUser([]int{5, 5, 5, 9, 9})
		}
		b.AddUser(nil)
		s := peek(b.secret)
		require.Equal(t, []counter[int]{{Key: 5, Count: 100}, {Key: 9, Count: 100}}, s.sketch.Positive())
	}
}

func TestPathsDoNotAllocate(t *testing.T) {
	stream, _ := zipfStream(3, 1<<14, 1.1)
	p := Params{Counters: 64, Epsilon: 1, Delta: 1e-6, Dim: 1 << 21}
	merged := build(t, p, stream[:5000])
	require.NoError(t, merged.Merge(build(t, p, stream)))
	given := dptest.OK(FromMisraGries(p, map[int]int64{1: 4}))(t)
	given.AddSlice(stream)
	merged.AddSlice(stream)
	words := make([]string, len(stream))
	for i, key := range stream {
		words[i] = fmt.Sprintf("%016x", key)
	}
	byWord := build(t, Params{Counters: 64, Epsilon: 1, Delta: 1e-6}, words)
	i := 0
	require.Zero(t, testing.AllocsPerRun(10_000, func() {
		byWord.Add(words[i%len(words)])
		merged.Add(stream[i%len(stream)])
		given.Add(stream[i%len(stream)])
		i++
	}))
	require.Zero(t, testing.AllocsPerRun(10, func() { merged.AddSlice(stream); given.AddSlice(stream) }))
	for _, m := range []Method{KeptZeros, SparseVector} {
		p.Method, p.MaxElements = m, 6
		u := dptest.OK(NewUserBuilder[int](p))(t)
		add := func() {
			at := i * 11 % (len(stream) - 12)
			u.AddUser(stream[at : at+i%12]) // also more than six
			i++
		}
		for range 3000 {
			add()
		}
		require.Zero(t, testing.AllocsPerRun(10_000, add), m)
	}
}

// A refused call changes nothing, and both sides still work.
func TestRefusedMerges(t *testing.T) {
	p := Params{Counters: 4, Epsilon: 900, Delta: 0.5}
	other := p
	other.Delta = 0.25
	holds := func(b *Builder[int], f int64) {
		t.Helper()
		require.Equal(t, []counter[int]{{Key: 0, Count: f}}, peek(b.secret).Sketch.Positive())
		require.False(t, peek(b.secret).Merged)
	}
	a, b, stranger, gone := build(t, p, repeat(50)), build(t, p, repeat(60)), build(t, other, repeat(70)), build(t, p, repeat(1))
	dptest.OK(gone.Release())(t)
	copied := *a
	require.ErrorIs(t, a.Merge(&copied), ErrMismatch, "the same behind another pointer")
	for _, m := range []Method{KeptZeros, FreedZeros, ReducedSum, TrimmedSum} {
		q := p
		q.Method = m
		c, d := build(t, q, repeat(50)), build(t, q, repeat(60))
		require.ErrorIs(t, c.Merge(d), ErrParams)
		holds(c, 50)
		holds(d, 60)
	}

	s := dptest.OK(NewSum[int](p))(t)
	m1, m2 := build(t, p, repeat(50)), build(t, p, repeat(60))
	require.NoError(t, m1.Merge(m2))
	for _, c := range []struct {
		b    *Builder[int]
		want error
	}{{nil, ErrReleased}, {gone, ErrReleased}, {stranger, ErrMismatch}, {m1, ErrMismatch}} {
		require.ErrorIs(t, s.Add(c.b), c.want)
	}
	holds(a, 50)
	holds(stranger, 70)
	require.False(t, m1.Released())
	require.Zero(t, peek(s.secret).sketches)
	require.NoError(t, s.Add(a))
	a.Add(0) // ignored
	require.ErrorIs(t, s.Add(a), ErrReleased)
	require.NoError(t, s.Add(b))
	for _, h := range []*Histogram[int]{dptest.OK(s.Release())(t), dptest.OK(m1.Release())(t)} {
		require.InDelta(t, 110, h.Estimate(0), 1)
	}
	require.ErrorIs(t, s.Add(m2), ErrReleased)

	user := func(q Params, n int) *UserBuilder[int] {
		b := dptest.OK(NewUserBuilder[int](q))(t)
		for range n {
			b.AddUser([]int{1, 2})
		}
		return b
	}
	p.MaxElements, p.Method = 2, SparseVector
	other.MaxElements, other.Method = 2, SparseVector
	dptest.Builder(t, func() *UserBuilder[int] { return user(p, 5) }, func(b *UserBuilder[int]) { b.AddUser([]int{1}) }, user(other, 1))
	u := user(p, 50)
	require.NoError(t, u.Merge(user(p, 60)))
	require.InDelta(t, 110, dptest.OK(u.Release())(t).Estimate(1), 1)
	other.Method = KeptZeros
	for _, single := range []Params{other, {Counters: 64, Epsilon: 1, Delta: 1e-6, MaxElements: 1}, {Counters: 64, Epsilon: 1, Dim: 100, MaxElements: 2}} {
		x, y := user(single, 5), user(single, 6)
		dptest.Refused(t, x.Merge(y), ErrParams, "want SparseVector, or PureUniverse with more MaxElements, in both UserBuilders that are to be merged")
		require.False(t, y.Released())
	}
}

// Every mechanism that is not possible for an input is refused, without δ all but PureUniverse, and
// keys that are not those of Dim.
func TestRefusedParams(t *testing.T) {
	for in, try := range map[input]func(p Params) error{
		oneStream:     func(p Params) error { return dptest.Err(New[int](p)) },
		givenCounters: func(p Params) error { return dptest.Err(FromMisraGries(p, map[int]int64{1: 2})) },
		summed:        func(p Params) error { return dptest.Err(NewSum[int](p)) },
		users:         func(p Params) error { return dptest.Err(NewUserBuilder[int](p)) },
	} {
		for m := Auto; m <= lastMethod+1; m++ {
			for _, delta := range []float64{0, 0.01} {
				for _, dim := range []uint64{0, 100} {
					err := try(Params{Counters: 4, Epsilon: 1, Delta: delta, Dim: dim, MaxElements: 2, MaxLength: math.MaxUint64, Method: m})
					pure := m == PureUniverse || m == Auto && delta == 0
					if (m == Auto || slices.Contains(possible[in], m)) && (dim > 0 || !pure) && (delta > 0 || pure) {
						require.NoError(t, err, "%v %v", in, m)
					} else {
						dptest.Refused(t, err, ErrParams, "misragries: ")
					}
				}
			}
		}
	}
	for _, m := range []int{0, 5} {
		require.ErrorIs(t, dptest.Err(NewUserBuilder[int](Params{Counters: 4, Epsilon: 1, Delta: 0.01, MaxElements: m})), ErrParams)
	}
	p := Params{Counters: 4, Epsilon: 1, Delta: 0.01, Dim: 100}
	require.ErrorIs(t, dptest.Err(New[string](p)), ErrParams, "string keys with Dim")
	for dim, fits := range map[uint64][2]bool{1 << 31: {true, true}, 1<<31 + 1: {false, true}, 1 << 63: {false, true}, 1<<63 + 1: {false, false}} {
		p.Dim = dim
		require.Equal(t, fits, [2]bool{dptest.Err(New[int32](p)) == nil, dptest.Err(New[int64](p)) == nil})
		dptest.OK(New[uint64](p))(t)
	}
	require.Equal(t, "Method(77)", fmt.Sprint(Method(77)))
}

// Counters from elsewhere: zeros are left out, and what no stream leads to is refused.
func TestFromMisraGries(t *testing.T) {
	p := Params{Counters: 3, Epsilon: 1, Delta: 0.01}
	holds := func(counts map[string]int64) []counter[string] {
		b := dptest.OK(FromMisraGries(p, counts))(t)
		return peek(b.secret).Sketch.Positive()
	}
	require.Empty(t, holds(nil))
	require.Equal(t, []counter[string]{{Key: "a", Count: 1}, {Key: "d", Count: 1 << 62}}, holds(map[string]int64{"a": 1, "b": 0, "d": 1 << 62}))
	require.Equal(t, []counter[string]{{Key: "a", Count: 9}, {Key: "b", Count: 7}, {Key: "c", Count: 4}}, holds(map[string]int64{"a": 9, "b": 7, "c": 4}))
	for _, bad := range []map[string]int64{{"a": 1, "b": 1, "c": 1, "d": 1}, {"a": -1}, {"a": 5, "b": math.MinInt64}, {"a": 1<<62 + 1}} {
		b, err := FromMisraGries(p, bad)
		require.ErrorIs(t, err, ErrParams)
		require.Nil(t, b)
	}
	_, err := FromMisraGries(Params{Counters: 3, Epsilon: 1, Delta: 0.01, Dim: 50}, map[int]int64{3: 5, 50: 7})
	require.ErrorIs(t, err, ErrParams, "leaving a key out would leave the sketch of no stream")
	many := map[string]int64{}
	for i := range 5000 {
		many[fmt.Sprint(i)] = int64(i + 1)
	}
	large := dptest.OK(FromMisraGries(Params{Counters: 5000, Epsilon: 1, Delta: 0.01}, many))(t)
	for _, c := range peek(large.secret).Sketch.Positive() {
		require.Equal(t, many[c.Key], c.Count)
	}
	require.Len(t, peek(large.secret).Sketch.Positive(), 5000)

	counts := map[string]int64{"a": 9}
	b := dptest.OK(FromMisraGries(p, counts))(t)
	counts["a"] = 100
	b.Add("a")
	b.Add("z")
	require.Equal(t, []counter[string]{{Key: "a", Count: 10}, {Key: "z", Count: 1}}, peek(b.secret).Sketch.Positive(), "a copy, and more can be added")
	h := dptest.OK(b.Release())(t)
	require.Zero(t, h.lost)
	require.True(t, math.IsInf(h.DetectionLimit(0.9), 1), "nobody knows")
}
