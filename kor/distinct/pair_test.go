package distinct

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/kor"
	"github.com/dpsketch/dpsketch/noise"
)

// released2 releases random sets of these sizes under a fresh seed.
func released2(t testing.TB, p Params, rng *rand.Rand, onlyA, onlyB, both int) *Pair {
	t.Helper()
	p.Seed = hashing.NewSeed()
	a, b := builder(t, p), builder(t, p)
	start := rng.Uint64()
	for i := range uint64(onlyA + onlyB + both) {
		if int(i) < onlyA+both {
			a.Add(start + i)
		}
		if int(i) >= onlyA {
			b.Add(start + i)
		}
	}
	return dptest.OK(ReleasePair(a, b))(t)
}

// pairOf returns the numbers of cells of each class, where the history of a key says in which sets
// it is.
func pairOf(t *testing.T, keys []uint64, in []int) numbers {
	a, b := builder(t, tiny), builder(t, tiny)
	for i, key := range keys {
		if in[i]&1 != 0 {
			a.Add(key, key)
		}
		if in[i]&2 != 0 {
			b.Add(key)
		}
	}
	return classesOf(held(a.secret).table, held(b.secret).table, tiny)
}

// Each class has noise of the law, drawn by itself. False-reject probability 2e-10.
func TestPairHasTheLaw(t *testing.T) {
	noisy(t, tiny, func() numbers {
		pair := dptest.OK(ReleasePair(builder(t, tiny), builder(t, tiny)))(t)
		pair.numbers[inNone] -= 16
		return pair.numbers
	})
}

// Of equal sets without noise what is in both is A, and so is its interval, up to 1.5 %: where more
// keys are in both than the counts say, more are in A and B, with larger errors. With 64 cells,
// too, intervals of nested sets cover; the random numbers are the same in every run.
func TestBothOfEqualSets(t *testing.T) {
	p := Params{Epsilon: 40, Cells: 64, Levels: 16, Seed: hashing.Seed{1}}.normal()
	for _, ones := range []int64{200, 400, 600} {
		pair := &Pair{release{p, numbers{0, 0, ones, 64*16 - ones}}}
		low, high := pair.A().Interval(0.95)
		lo, hi := pair.Both().Interval(0.95)
		t.Logf("%.0f in [%.0f, %.0f] or [%.0f, %.0f]", pair.A().Estimate(), low, high, lo, hi)
		require.InEpsilon(t, low, lo, 0.015)
		require.InEpsilon(t, high, hi, 0.015)
	}
	rng := rand.New(rand.NewPCG(37, 38))
	runs := dptest.Full(3000, 500)
	for _, keys := range [][3]int{{0, 0, 1000}, {0, 1500, 500}} {
		covered := [7]int{}
		for range runs {
			for i := range p.Seed {
				p.Seed[i] = byte(rng.Uint32())
			}
			p.Epsilon = 2
			a, b := builder(t, p), builder(t, p)
			for i := range uint64(keys[1] + keys[2]) {
				if b.Add(i); i < uint64(keys[2]) {
					a.Add(i)
				}
			}
			n := classesOf(held(a.secret).table, held(b.secret).table, p)
			law := dptest.OK(p.classLaw())(t)
			for i := range n {
				n[i] += int64(law.Quantile(rng.Float64()))
			}
			all := float64(keys[1] + keys[2])
			truths := []float64{float64(keys[2]), all, all, float64(keys[2]), 0, float64(keys[1]), float64(keys[2]) / all}
			for i, answer := range (&Pair{release{p, n}}).all() {
				if lo, hi := answer.Interval(0.95); lo <= truths[i] && truths[i] <= hi {
					covered[i]++
				}
			}
		}
		t.Log(keys, covered)
		require.GreaterOrEqual(t, slices.Min(covered[:]), 935*runs/1000)
	}
}

// all returns A, B, either, both, only A, only B and the Jaccard index.
func (p *Pair) all() []kor.Cardinality {
	return []kor.Cardinality{p.A(), p.B(), p.Either(), p.Both(), p.OnlyA(), p.OnlyB(), p.Jaccard()}
}

// The noise of the union, of three of four classes, is √6/ε, that of A √8/ε, and that of both, one
// class as A + B − the union, √6/ε where sets are small; and the sum of the parts is the union.
func TestNoiseOfPairs(t *testing.T) {
	p := &Pair{release{Params{Epsilon: 0.01, Seed: hashing.Seed{1}}.normal(), numbers{300, 200, 100, 48552}}}
	for want, in := range map[float64]func(int) bool{math.Sqrt(6): ofEither, math.Sqrt(8): ofA} {
		c := p.params.union(p.numbers, in)
		require.InEpsilon(t, want, math.Sqrt(c.variance)*0.01, 1e-5)
	}
	s := p.params.sumOf(p.numbers, nil, noise.DiscreteLaplace{}, []term{{1, ofA, 0}, {1, ofB, 0}, {-1, ofEither, 0}})
	for i := range s.terms {
		s.terms[i].x = 0
	}
	_, _, noise := s.at(0)
	require.InEpsilon(t, math.Sqrt(6), math.Sqrt(noise)*0.01, 1e-3)
	require.InDelta(t, p.Either().Estimate(), p.OnlyA().Estimate()+p.OnlyB().Estimate()+p.Both().Estimate(), 1e-9)
	require.InDelta(t, p.Both().Estimate()/p.Either().Estimate(), p.Jaccard().Estimate(), 1e-12)
}

// The variance of |A∩B| is that of 20,000 random placements of a few keys in one level, within 10
// %: the standard error of a variance is 1 %, and the formula is that of Poisson numbers of keys,
// less what these contribute.
func TestVarianceOfSums(t *testing.T) {
	p := Params{Epsilon: 40, Cells: 64, Levels: 1, Seed: hashing.Seed{1}}.normal()
	rng := rand.New(rand.NewPCG(35, 36))
	const runs = 20_000
	onlyA, onlyB, both := 6, 9, 5
	var sum, squares float64
	for range runs {
		var a, b uint64
		for i := range onlyA + onlyB + both {
			bit := uint64(1) << rng.IntN(64)
			if i < onlyA+both {
				a |= bit
			}
			if i >= onlyA {
				b |= bit
			}
		}
		e := (&Pair{release{p, classesOf([]uint64{a}, []uint64{b}, p)}}).Both().Estimate()
		sum, squares = sum+e, squares+e*e
	}
	mean := sum / runs
	variance := squares/runs - mean*mean
	dptest.Alarm(t, 1e-11)
	require.InDelta(t, float64(both), mean, 7*math.Sqrt(variance/runs)+0.1)
	s := p.sumOf(make(numbers, allClasses), nil, noise.DiscreteLaplace{}, []term{{1, ofA, 0}, {1, ofB, 0}, {-1, ofEither, 0}})
	for i, x := range []int{onlyA + both, onlyB + both, onlyA + onlyB + both} {
		s.terms[i].x = float64(x)
	}
	_, stated, noise := s.at(float64(both))
	require.InEpsilon(t, stated-noise, variance, 0.1)
}

// What no answer may do: leave its range, be empty, or be anything but NaN where there is nothing.
func TestPairAtTheEnds(t *testing.T) {
	for _, epsilon := range []float64{0.01, 1, 40} {
		p := Params{Epsilon: epsilon, Cells: 64, Levels: 3, Seed: hashing.Seed{1}}.normal()
		for _, n := range []numbers{
			{0, 0, 0, 192}, {0, 0, 192, 0}, {192, 0, 0, 0}, {64, 64, 0, 64}, {-5000, 3, 7, 1}, {1e6, 1e6, 1e6, 1e6}, {-1e6, -1e6, -1e6, -1e6},
			{1, 0, 0, 191}, {0, 0, 3, 189}, {10, 0, -9, 191}, {maxOnes, -maxOnes, maxOnes, -maxOnes},
		} {
			pair := &Pair{release{p, n}}
			for i, answer := range pair.all() {
				for _, confidence := range []float64{0, 0.5, 0.95, 1 - 1e-9, 1 - 0x1p-53} {
					lo, hi := answer.Interval(confidence)
					require.True(t, lo >= 0 && lo <= hi, "%v, %d at %v: [%v, %v]", n, i, confidence, lo, hi)
					e := answer.Estimate()
					require.True(t, i == 6 || !math.IsNaN(e) && !math.IsInf(e, 0), "%v, %d", n, i)
					require.True(t, math.IsNaN(e) || e < 0 || lo <= e && e <= hi, "%v, %d: %v in [%v, %v]", n, i, e, lo, hi)
					require.True(t, i < 6 || hi <= 1)
				}
				require.False(t, math.IsNaN(answer.StdErr()), "%v, %d", n, i)
			}
		}
	}
	// an estimate that no number of keys explains still leaves more than one number possible
	beyond := &Pair{release{Params{Epsilon: 1, Cells: 64, Levels: 3, Seed: hashing.Seed{1}}.normal(), numbers{40, 40, -30, 142}}}
	lo, hi := beyond.Both().Interval(0.95)
	require.True(t, beyond.Both().Estimate() == 0 && lo == 0 && hi > 0.1, "[%v, %v]", lo, hi)
	var zero Pair
	for _, answer := range zero.all() {
		lo, hi := answer.Interval(0.9)
		require.True(t, math.IsNaN(answer.Estimate()) && math.IsNaN(answer.StdErr()) && math.IsNaN(lo) && math.IsNaN(hi))
	}
	require.False(t, zero.Guarantee().Promises())
}

// Both Builders give up their data; after an error nothing has changed.
func TestReleasePairRefuses(t *testing.T) {
	p := small
	p.CountShare = 0
	a, b := builder(t, p, 1), builder(t, p, 2)
	before := privateBytes(t, a)
	other := p
	other.Seed[5]++
	released := builder(t, p)
	dptest.OK(released.Release())(t)
	bits := builder(t, small)
	for _, c := range []struct {
		a, b *Builder
		want error
	}{
		{a, a, ErrMismatch}, {a, nil, ErrReleased}, {nil, b, ErrReleased}, {a, &Builder{}, ErrReleased}, {released, b, ErrReleased}, {a, released, ErrReleased},
		{a, builder(t, other), ErrMismatch}, {a, bits, ErrMismatch}, {bits, builder(t, small), ErrParams},
	} {
		pair, err := ReleasePair(c.a, c.b)
		require.ErrorIs(t, err, c.want)
		require.Nil(t, pair)
		require.False(t, a.Released() || b.Released() || bits.Released())
	}
	require.Equal(t, before, privateBytes(t, a))
	pair := dptest.OK(ReleasePair(a, b))(t)
	require.True(t, a.Released() && b.Released())
	require.True(t, pair.Guarantee().Equal(planned(p).Pair))
	require.Equal(t, p.normal(), pair.Params())
	require.ErrorIs(t, dptest.Err(ReleasePair(a, b)), ErrReleased)
	require.False(t, planned(small).Pair.Promises(), "no pairs with bits")
	dptest.Readers(t, pair)
}

// Of sets that fill the table the counts bound no part, so no interval ends: of a pair, with a
// third, and of two releases, where nothing tells whether they are equal or disjoint.
func TestPartsOfFullTables(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 34))
	p := Params{Epsilon: 4, Cells: 64, Levels: 1, CountShare: 0.5, Seed: hashing.Seed{1}}
	alone := p
	alone.CountShare = 1
	confidence := 1 - 1e-9
	unbounded := func(answer interface {
		Interval(float64) (float64, float64)
	}, size float64) {
		lo, hi := answer.Interval(confidence)
		require.True(t, lo <= size && math.IsInf(hi, 1), "%v is not in [%v, %v], or bounded", size, lo, hi)
	}
	for range 10 {
		both := released2(t, alone, rng, 2500, 2500, 2500)
		unbounded(both.Either(), 7500)
		unbounded(both.Both(), 2500)
		unbounded(both.OnlyA(), 2500)
		unbounded(both.OnlyB(), 2500)
		for _, both := range []int{0, 2500, 5000} {
			a, b := pair(t, p, rng, 5000-both, 5000-both, both)
			c := dptest.OK(Compare(a, b))(t)
			unbounded(c.Union(), float64(10_000-both))
			unbounded(c.Intersection(), float64(both))
			unbounded(c.OnlyA(), float64(5000-both))
			unbounded(c.OnlyB(), float64(5000-both))
		}
		sketches, keys := parties(t, rng, p, 3, 10_000)
		unbounded(dptest.OK(Union(sketches...))(t), keys)
	}
}
