package distinct

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/kor"
	"github.com/dpsketch/dpsketch/kor/internal/sets"
	"github.com/dpsketch/dpsketch/noise"
)

// The projections are the nearest numbers that can be: no small move that stays allowed is nearer.
func TestProjections(t *testing.T) {
	rng := rand.New(rand.NewPCG(61, 62))
	for range 2000 {
		var x vector
		var root, covariance matrix
		for i := range x {
			x[i] = rng.NormFloat64() * 3
			for j := range root {
				root[i][j] = rng.NormFloat64()
			}
		}
		for i := range root {
			for j := range root {
				covariance[i][j] = root[i].dot(root[j])
			}
			covariance[i][i] += 0.1
		}
		inverse, ok := covariance.inverse()
		require.True(t, ok)
		distance := func(v vector) float64 {
			d := vector{x[0] - v[0], x[1] - v[1], x[2] - v[2]}
			return inverse.times(d).dot(d)
		}
		fit := nonNegativeFit(x, covariance)
		least := distance(fit)
		require.GreaterOrEqual(t, slices.Min(fit[:]), 0.0)
		for range 30 {
			near := fit
			for i := range near {
				near[i] = max(near[i]+rng.NormFloat64()*math.Pow(10, -4*rng.Float64()), 0)
			}
			require.LessOrEqual(t, least, distance(near)+1e-9)
		}
		up, weight := ascendingFit(x[:], []float64{1, 2, 0.5}), vector{1, 2, 0.5}
		require.True(t, slices.IsSorted(up))
		of := func(v []float64) (d float64) {
			for i := range v {
				d += weight[i] * (v[i] - x[i]) * (v[i] - x[i])
			}
			return d
		}
		for range 30 {
			near := slices.Clone(up)
			for i := range near {
				near[i] += rng.NormFloat64() * 0.1
			}
			slices.Sort(near)
			require.LessOrEqual(t, of(up), of(near)+1e-9)
		}
	}
}

// agreement compares estimates that agree with others of their release with those of each number
// by itself, which have errors before.
type agreement struct{ before, after, alone, covered, asked, told, off float64 }

// add counts an estimate; with its intervals, which take most of the time, if that is wanted.
func (a *agreement) add(t *testing.T, answer sets.Size, truth float64, intervals bool) {
	fit := answer.(fitted)
	alone, e := fit.Size, fit.Estimate()
	if v, ok := alone.(visitors); ok {
		alone = v.Size
	}
	if math.IsNaN(e) {
		return // the ratio of nothing to nothing
	}
	before := alone.Estimate() - truth
	a.before, a.after = a.before+before*before, a.after+(e-truth)*(e-truth)
	if !intervals {
		return
	}
	lo, hi := fit.Interval(0.95)
	require.True(t, lo <= max(e, 0) && e <= hi)
	low, high := alone.Interval(0.95)
	a.asked++
	for covered, ends := range map[*float64][2]float64{&a.covered: {lo, hi}, &a.alone: {low, high}} {
		if ends[0] <= truth && truth <= ends[1] {
			*covered++
		}
	}
	stated := fit.StdErr()
	a.told, a.off = a.told+stated*stated, a.off+(e-truth)*(e-truth)
}

// check wants errors that are no larger than before, intervals that cover, and standard errors of
// the estimates, up to a factor of 2.5.
func (a *agreement) check(t *testing.T, name string, runs int) {
	stated := math.Sqrt(a.told / a.off)
	t.Logf("%-9s rms %.2f of before; %.3f covered, %.3f before; standard error %.2f of the rms", name, math.Sqrt(a.after/a.before), a.covered/a.asked, a.alone/a.asked, stated)
	require.Less(t, a.after, (1.01+0.5/math.Sqrt(float64(runs)))*a.before, name)
	require.Greater(t, a.covered/a.asked, 0.94-0.6/math.Sqrt(a.asked), name)
	require.True(t, stated > 0.8 && stated < 2.6, "%s: %v", name, stated)
}

// In 10,000 releases of pairs, of windows and of cohorts, 2,000 and 400 by default, no number
// contradicts another, errors are no larger than those of the numbers by themselves, by which most
// releases contradict themselves, and estimates are in their intervals, which cover. All random
// numbers are the same in every run.
func TestNoContradictions(t *testing.T) {
	rng := rand.New(rand.NewPCG(63, 64))
	newSeed := func() (seed hashing.Seed) {
		for i := range seed {
			seed[i] = byte(rng.Uint32())
		}
		return seed
	}
	noisy := func(n numbers, law noise.DiscreteLaplace) {
		for i := range n {
			n[i] += int64(law.Quantile(rng.Float64()))
		}
	}
	check := func(t *testing.T, runs, contradictory int, names []string, all []agreement) {
		t.Log(contradictory, "of", runs, "contradict themselves without it")
		require.Greater(t, contradictory, runs/2)
		for i, name := range names {
			all[i].check(t, name, runs)
		}
	}
	t.Run("pairs and windows", func(t *testing.T) {
		p := Params{Epsilon: 0.3, Cells: 128, Levels: 8, Seed: hashing.Seed{1}}.normal()
		law := dptest.OK(p.classLaw())(t)
		var all [10]agreement
		runs, contradictory := dptest.Full(10_000, 2000), 0
		for run := range runs {
			// 300 keys in A, 10 in both, 3 in B alone; and as windows: today, this week, this month
			p.Seed = newSeed()
			a, b := builder(t, p), builder(t, p)
			for i := range uint64(303) {
				if i < 300 {
					a.Add(i)
				}
				if i >= 290 {
					b.Add(i)
				}
			}
			n := classesOf(held(a.secret).table, held(b.secret).table, p)
			noisy(n, law)
			intervals := run%4 == 0 || dptest.Long()
			pair, e := &Pair{release{p, n}}, [7]float64{}
			for i, answer := range pair.all() {
				all[i].add(t, answer.Source, []float64{300, 13, 303, 10, 290, 3, 10. / 303}[i], intervals)
				e[i] = answer.Estimate()
			}
			sizeA, sizeB, either, both, onlyA, onlyB := e[0], e[1], e[2], e[3], e[4], e[5]
			require.GreaterOrEqual(t, slices.Min(e[:6]), 0.0)
			require.InDelta(t, sizeA, both+onlyA, 1e-6*either)
			require.InDelta(t, sizeB, both+onlyB, 1e-6*either)
			require.InDelta(t, either, both+onlyA+onlyB, 1e-6*either)
			single := func(in func(int) bool) float64 { return p.union(n, in).Estimate() }
			if own := single(ofEither); own < single(ofA) || own < single(ofB) || single(ofA)+single(ofB) < own {
				contradictory++
			}
			q := p
			q.Spans = [8]int{1, 7, 30}
			w := &Windows{release{q, numbers{n[inBoth], n[inA], n[inB], n[inNone]}}, 40}
			for i, truth := range []float64{10, 300, 303} {
				all[7+i].add(t, w.fit(q.Spans[i]), truth, intervals)
				require.True(t, i == 0 || w.Estimate(q.Spans[i-1]) <= w.Estimate(q.Spans[i]))
			}
			if run < 100 { // so that 1 in 2 would contradict themselves
				require.Contains(t, string(dptest.OK(w.MarshalJSON())(t)), fmt.Sprintf(`"days":7,"estimate":%v,`, wire.Number(w.Estimate(7))))
			}
		}
		check(t, runs, contradictory, []string{"A", "B", "either", "both", "only A", "only B", "Jaccard", "1 day", "7 days", "30 days"}, all[:])
	})
	t.Run("cohorts", func(t *testing.T) {
		const users = 300
		var all [4]agreement
		runs, contradictory := dptest.Full(10_000, 400), 0
		for run := range runs {
			days := 2 + run%5
			p := Params{Epsilon: []float64{0.3, 1, 4}[run%3], Cells: 64, Levels: 8, Seed: newSeed()}.normal()
			on, seen := make([][]uint64, days), [users][8]bool{}
			for i := range seen {
				for day := 1; day <= days; day++ {
					if seen[i][day] = i%days+1 == day || i%days < day && rng.IntN(4) == 0; seen[i][day] {
						on[day-1] = append(on[day-1], uint64(i))
					}
				}
			}
			n := held(cohortsOn(t, p, on).secret).classes()
			noises := dptest.OK(p.cohorts(days))(t)
			noisy(n[:pairsOf(days)+1], noises.pair)
			noisy(n[pairsOf(days)+1:], noises.visit)
			c := &Cohorts{release{p, n}, days}
			fit, contradicts := c.agreed(), false
			add := func(kind int, answer kor.Cardinality, is func(i int) bool) float64 {
				truth := 0.0
				for i := range seen {
					if is(i) {
						truth++
					}
				}
				all[kind].add(t, answer.Source, truth, run%8 == 0)
				require.GreaterOrEqual(t, answer.Estimate(), 0.0)
				return answer.Estimate()
			}
			whole, late := 0.0, make([]float64, days+2)
			for first := 1; first <= days; first++ {
				from := func(day int) func(i int) bool {
					return func(i int) bool { return i%days+1 == first && slices.Contains(seen[i][day:days+1], true) }
				}
				alone := c.alone(first, first, false).Estimate()
				last := add(0, c.answer(fit, first, first, false), from(first))
				contradicts = contradicts || alone < 0
				whole += last
				for day := 1; day <= first; day++ {
					late[day] += last
				}
				for day := first + 1; day <= days; day++ {
					by, visits := c.alone(first, day, false).Estimate(), c.alone(first, day, true).Estimate()
					returned := add(1, c.answer(fit, first, day, false), from(day))
					there := add(2, c.answer(fit, first, day, true), func(i int) bool { return i%days+1 == first && seen[i][day] })
					require.LessOrEqual(t, returned, last)
					require.LessOrEqual(t, there, returned)
					require.GreaterOrEqual(t, there, returned-fit[first][day+1])
					contradicts = contradicts || by < 0 || by > alone || visits > by || visits < 0
					last = returned
					late[day] += returned
				}
			}
			for day := 1; day <= days; day++ {
				since := add(3, c.since(fit, day), func(i int) bool { return slices.Contains(seen[i][day:days+1], true) })
				require.InDelta(t, late[day], since, 1e-6)
				require.LessOrEqual(t, since, whole+1e-6)
			}
			if contradicts {
				contradictory++
			}
		}
		check(t, runs, contradictory, []string{"New", "Returned", "On", "Since"}, all[:])
	})
}
