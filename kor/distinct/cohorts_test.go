package distinct

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/kor"
)

func cohortBuilder(t testing.TB, p Params, days int) *CohortBuilder {
	return dptest.OK(NewCohortBuilder(p, days))(t)
}

// cohortsOf returns the numbers of cells of each class, and then the visits, of two builders that
// are merged, where a history says on which of the days a key comes.
func cohortsOf(t *testing.T, days int, keys []uint64, in []int) numbers {
	shards := []*CohortBuilder{cohortBuilder(t, tiny, days), cohortBuilder(t, tiny, days)}
	for day := 1; day <= days; day++ {
		for i, key := range keys {
			if in[i]>>(day-1)&1 != 0 {
				shards[(i+day)%2].Add(key)
			}
		}
		for _, b := range shards {
			if day < days {
				require.NoError(t, b.Advance(day+1))
			}
		}
	}
	require.NoError(t, shards[0].Merge(shards[1]))
	return held(shards[0].secret).classes()
}

// A key moves the visits of a day by 2 at most, and by 1 on day 2, so those of all days between the
// first and the last by 2D − 5, which happens; their noise has the scale for that at a quarter of
// ε.
func TestVisitsMoveByTwoADay(t *testing.T) {
	const days = 4
	visits := func(keys []uint64, in []int) numbers { return cohortsOf(t, days, keys, in)[pairsOf(days)+1:] }
	moves := moved(visits, 1<<days)
	require.EqualValues(t, 2*days-5, norm(moves))
	for _, by := range moves {
		for day := 2; day < days; day++ {
			of := by[pairsOf(day-2):pairsOf(day-1)]
			require.LessOrEqual(t, norm(map[string]numbers{"": of}), int64(min(day-1, 2)))
		}
	}
	for _, days := range []int{2, 3, 4, 31} {
		p := tiny
		n := dptest.OK(p.cohorts(days))(t)
		spent := 2 / n.pair.Scale()
		if days > 2 {
			spent += float64(2*days-5) / n.visit.Scale()
		}
		require.LessOrEqual(t, spent, p.Epsilon)
		require.InEpsilon(t, p.Epsilon, spent, 1e-12)
		require.Equal(t, p.Epsilon, p.cohortGuarantee(days).Epsilon())
		require.Less(t, p.cohortGuarantee(days).Times(300).EpsilonAt(1e-6), 300*p.Epsilon)
	}
}

// The days are those of a map from cells to first and last days, with duplicates, in any order and
// from shards; and the classes are those of the pairs.
func TestCohortsAreThoseOfAMap(t *testing.T) {
	rng := rand.New(rand.NewPCG(51, 52))
	p := Params{Epsilon: 1, Cells: 100, Levels: 4, Seed: hashing.NewSeed()}
	const days = 9
	shards := []*CohortBuilder{cohortBuilder(t, p, days), cohortBuilder(t, p, days), cohortBuilder(t, p, days)}
	first, last, on := map[uint64]int{}, map[uint64]int{}, map[[2]uint64]bool{}
	place := held(shards[0].secret).place
	for day := 1; day <= days; day++ {
		for range 40 {
			key := rng.Uint64N(300)
			shards[rng.IntN(3)].Add(key, key)
			cell := place.cell(key)
			if first[cell] == 0 {
				first[cell] = day
			}
			last[cell] = day
			on[[2]uint64{cell, uint64(day)}] = true
		}
		for _, b := range shards {
			if day < days {
				require.NoError(t, b.Advance(day+1))
			}
		}
	}
	require.NoError(t, shards[2].Merge(shards[0]))
	require.NoError(t, shards[2].Merge(shards[1]))
	n := held(shards[2].secret).classes()
	c := &Cohorts{release{p.normal(), n}, days}
	sum := func(in func(class int) bool) (sum int64) {
		for class, x := range n {
			if in(class) {
				sum += x
			}
		}
		return sum
	}
	count := func(is func(cell uint64) bool) (want int64) {
		for cell := range first {
			if is(cell) {
				want++
			}
		}
		return want
	}
	for until := 0; until <= days; until++ {
		for from := 1; from <= days+1; from++ {
			want := count(func(cell uint64) bool { return first[cell] <= until || last[cell] >= from })
			require.Equal(t, want, sum(c.seen(until, from, 0)), "%d, %d", until, from)
		}
	}
	require.EqualValues(t, 400-len(first), n[pairsOf(days)])
	for day := 2; day < days; day++ {
		there := func(cell uint64) bool { return on[[2]uint64{cell, uint64(day)}] }
		for from := range day - 1 {
			require.Equal(t, count(func(cell uint64) bool { return first[cell] == from+1 && there(cell) }), n[visitOf(days, from+1, day)])
			require.Equal(t, count(func(cell uint64) bool { return first[cell] <= from || there(cell) }), sum(c.seen(from, days+1, day)))
		}
	}
}

// Each class has noise of the law, drawn by itself, and so has each number of visits. False-reject
// probability 4e-10.
func TestCohortsHaveTheLaw(t *testing.T) {
	full, half := tiny, tiny
	full.Epsilon = tiny.Epsilon / 0.75
	half.Epsilon = full.Epsilon / 2 // of three days the visits move by 1, and have a quarter of ε
	noisy(t, tiny, func() numbers {
		b := cohortBuilder(t, full, 3)
		require.NoError(t, b.Advance(3))
		c := dptest.OK(b.Release())(t)
		c.numbers[6] -= 16
		return c.numbers[:7]
	})
	visits := func() numbers {
		b := cohortBuilder(t, full, 3)
		require.NoError(t, b.Advance(3))
		return dptest.OK(b.Release())(t).numbers[7:]
	}
	noisy(t, half, func() numbers { return append(visits(), visits()...) })
}

// cohortsOn returns the builder of keys that come on the first day, the second, and so on.
func cohortsOn(t testing.TB, p Params, on [][]uint64) *CohortBuilder {
	b := cohortBuilder(t, p, len(on))
	for i, keys := range on {
		if i > 0 {
			require.NoError(t, b.Advance(i+1))
		}
		b.Add(keys...)
	}
	return b
}

// releasedCohorts releases them.
func releasedCohorts(t testing.TB, p Params, on [][]uint64) *Cohorts {
	return dptest.OK(cohortsOn(t, p, on).Release())(t)
}

// simulatedCohorts are users with a first day in 1, …, 14, half on day 1, who come back each day
// with a probability that falls.
func simulatedCohorts(t testing.TB, p Params, rng *rand.Rand, days, users int) (c *Cohorts, returned, there func(day, since int) float64) {
	p.Seed = hashing.NewSeed()
	first, last := make([]int, users), make([]int, users)
	on, seen := make([][]uint64, days+1), make([]uint32, users)
	start := rng.Uint64()
	for i := range users {
		first[i] = 1 + rng.IntN(2)*rng.IntN(days)
		for day := first[i]; day <= days; day++ {
			if day == first[i] || rng.IntN(5+3*(day-first[i])) == 0 {
				on[day] = append(on[day], start+uint64(i))
				seen[i] |= 1 << day
				last[i] = day
			}
		}
	}
	count := func(in func(i, day, other int) bool) func(day, other int) float64 {
		return func(day, other int) (n float64) {
			for i := range users {
				if first[i] == day && in(i, day, other) {
					n++
				}
			}
			return n
		}
	}
	return releasedCohorts(t, p, on[1:]), count(func(i, _, since int) bool { return last[i] >= since }), count(func(i, _, day int) bool { return seen[i]>>day&1 == 1 })
}

// triangle returns all answers.
func (c *Cohorts) triangle() (all []kor.Cardinality) {
	for day := 1; day <= c.days; day++ {
		all = append(all, c.New(day), c.Since(day))
		for since := day; since <= c.days; since++ {
			all = append(all, c.Returned(day, since), c.On(day, since))
		}
	}
	return all
}

// Whatever the numbers are, intervals are not empty and not negative; the sums of cohorts are those
// of sets.
func TestCohortsAtTheEnds(t *testing.T) {
	p := Params{Epsilon: 1, Cells: 64, Levels: 3, Seed: hashing.Seed{1}}.normal()
	for _, n := range []numbers{{1, 2, 3, 4, 5, 6, 171, 3}, {0, 0, 0, 0, 0, 0, 192, -4}, {-9, 900, -9, 4, -70, 6, 10, 1000}, {maxOnes, -maxOnes, 0, 0, maxOnes, 0, 0, maxOnes}} {
		c := &Cohorts{release{p, n}, 3}
		for _, answer := range c.triangle() {
			for _, confidence := range []float64{0, 0.95, 1 - 0x1p-53} {
				lo, hi := answer.Interval(confidence)
				require.True(t, 0 <= lo && lo <= hi, "%v: [%v, %v]", n, lo, hi)
			}
			require.False(t, math.IsNaN(answer.Estimate()) || math.IsNaN(answer.StdErr()))
		}
	}
	c := &Cohorts{release{p, numbers{20, 9, 13, 4, 5, 6, 135, 2}}, 3}
	require.InDelta(t, c.Since(1).Estimate(), c.New(1).Estimate()+c.New(2).Estimate()+c.New(3).Estimate(), 1e-9)
	require.Equal(t, c.On(1, 3).Estimate(), c.Returned(1, 3).Estimate())
	require.Equal(t, c.On(2, 2).Estimate(), c.New(2).Estimate())
	require.InDelta(t, c.Since(3).Estimate(), c.Returned(1, 3).Estimate()+c.Returned(2, 3).Estimate()+c.New(3).Estimate(), 1e-9)
	for _, answer := range []kor.Cardinality{c.New(0), c.New(4), c.Since(0), c.Since(4), c.Returned(2, 1), c.Returned(0, 2), c.Returned(2, 4), c.On(0, 2), c.On(2, 1), c.On(2, 4), new(Cohorts).On(1, 1), new(Cohorts).New(1), new(Cohorts).Since(1)} {
		require.True(t, math.IsNaN(answer.Estimate()))
	}
}

// Where Advance was forgotten, all keys would be new on the first day: Release says so, and the
// builder goes on.
func TestForgottenAdvance(t *testing.T) {
	p := small
	p.CountShare = 0
	b := cohortBuilder(t, p, 3)
	b.Add(run(0, 9)...)
	held := privateBytes(t, b)
	require.ErrorIs(t, dptest.Err(b.Release()), ErrParams)
	require.ErrorContains(t, dptest.Err(b.Release()), "day = 1: want the last one: Advance to 3 before the Release")
	require.Equal(t, held, privateBytes(t, b))
	require.NoError(t, b.Advance(2))
	require.ErrorContains(t, dptest.Err(b.Release()), "day = 2: want the last one")
	require.NoError(t, b.Advance(3))
	dptest.OK(b.Release())(t)
}

func TestCohortBuilder(t *testing.T) {
	p := small
	p.CountShare = 0
	other := p
	other.Cells++
	fresh := func() *CohortBuilder {
		b := cohortBuilder(t, p, 5)
		b.Add(1, 2, 2)
		return b
	}
	last := func(b *CohortBuilder) *CohortBuilder {
		require.NoError(t, b.Advance(5))
		return b
	}
	dptest.Builder(t, func() *CohortBuilder { return last(fresh()) }, func(b *CohortBuilder) { b.Add(5); b.Add(6, 7); AddKey(b, "key") }, last(cohortBuilder(t, other, 5)))
	for _, days := range []int{-1, 0, 1, 32} {
		require.ErrorIs(t, dptest.Err(NewCohortBuilder(p, days)), ErrParams)
	}
	b := fresh()
	for _, day := range []int{1, 0, -1, 6} {
		require.ErrorIs(t, b.Advance(day), ErrParams)
	}
	require.ErrorIs(t, b.Merge(cohortBuilder(t, p, 6)), ErrMismatch)
	require.NoError(t, b.Advance(3))
	require.ErrorIs(t, b.Merge(fresh()), ErrMismatch, "one clock")
	require.ErrorIs(t, new(CohortBuilder).Advance(2), ErrReleased)
	b.Add(2, 9)
	again := cohortBuilder(t, p, 5)
	dptest.Restores(t, b, again, func() { again.Add(1, 2, 3) }, cohortBuilder(t, p, 6), builder(t, p))
	require.Equal(t, held(b.secret).days, held(again.secret).days)
	require.Equal(t, 3, held(again.secret).today)
	copy(held(b.secret).days, []uint32{54321, 43210})
	dptest.Redacted(t, b, "54321 43210")
	c := dptest.OK(last(fresh()).Release())(t)
	require.True(t, c.Guarantee().Equal(b.Guarantee()))
	require.Equal(t, 5, c.Days())
	dptest.Readers(t, c)
}
