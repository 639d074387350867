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

// In 10,000 releases, 2,000 by default, no number contradicts another, in one of four every
// estimate of a pair is in its interval, and errors are no larger than those of the numbers by
// themselves. Without the projection most releases of these sets contradict themselves.
func TestNoContradictions(t *testing.T) {
	rng := rand.New(rand.NewPCG(63, 64))
	p := Params{Epsilon: 0.3, Cells: 128, Levels: 8, Seed: hashing.Seed{1}}.normal()
	law := dptest.OK(p.classLaw())(t)
	contradictory := 0
	var before, after [5]float64
	runs := dptest.Full(10_000, 2000)
	for run := range runs {
		// 300 keys in A, 10 in both, 3 in B alone; and as windows: today, this week, this month
		p.Seed = hashing.NewSeed()
		a, b := builder(t, p), builder(t, p)
		month := rng.Uint64()
		for i := range uint64(303) {
			if i < 300 {
				a.Add(month + i)
			}
			if i >= 290 {
				b.Add(month + i)
			}
		}
		n := classesOf(held(a.secret).table, held(b.secret).table, p)
		windows := numbers{n[inBoth], n[inA], n[inB], n[inNone]}
		for i := range n {
			z := int64(law.Quantile(rng.Float64()))
			n[i], windows[i] = n[i]+z, windows[i]+z
		}
		pair := &Pair{release{p, n}}
		all := []float64{pair.A().Estimate(), pair.B().Estimate(), pair.Either().Estimate(), pair.Both().Estimate(), pair.OnlyA().Estimate(), pair.OnlyB().Estimate()}
		require.GreaterOrEqual(t, slices.Min(all), 0.0)
		require.InDelta(t, all[0], all[3]+all[4], 1e-6*all[2])
		require.InDelta(t, all[1], all[3]+all[5], 1e-6*all[2])
		require.InDelta(t, all[2], all[3]+all[4]+all[5], 1e-6*all[2])
		for _, answer := range pair.all() {
			if run%4 != 0 && !dptest.Long() {
				break // the intervals take most of the time
			}
			lo, hi := answer.Interval(0.95)
			e := answer.Estimate()
			require.True(t, lo <= e && e <= hi || math.IsNaN(e), "%v in [%v, %v]", e, lo, hi)
		}
		single := func(in func(int) bool) float64 { c := p.union(n, in); return c.Estimate() }
		own := []float64{single(ofA), single(ofB), single(ofEither)}
		if own[2] < own[0] || own[2] < own[1] || own[0]+own[1] < own[2] {
			contradictory++
		}
		for i, truth := range []float64{300, 13, 303} {
			before[i] += (own[i] - truth) * (own[i] - truth)
			after[i] += (all[i] - truth) * (all[i] - truth)
		}
		for i, truth := range []float64{10, 3} {
			raw := []float64{own[0] + own[1] - own[2], own[2] - own[0]}[i] - truth
			before[3+i] += raw * raw
			after[3+i] += (all[3+2*i] - truth) * (all[3+2*i] - truth)
		}
		q := p
		q.Spans = [8]int{1, 7, 30}
		w := &Windows{release{q, windows}, 40}
		day, week, long := w.Estimate(1), w.Estimate(7), w.Estimate(30)
		require.True(t, day <= week && week <= long)
		if run < 100 { // so that 1 in 2 would contradict themselves
			require.Contains(t, string(dptest.OK(w.MarshalJSON())(t)), fmt.Sprintf(`"days":7,"estimate":%v,`, wire.Number(week)))
		}
		for _, days := range []int{1, 7, 30} {
			lo, hi := w.Interval(days, 0.95)
			require.True(t, lo <= max(w.Estimate(days), 0) && w.Estimate(days) <= hi)
		}
	}
	t.Log(contradictory, "of", runs, "contradict themselves without it")
	require.Greater(t, contradictory, runs/2)
	for i := range before {
		t.Logf("rms %.1f before, %.1f after", math.Sqrt(before[i]/float64(runs)), math.Sqrt(after[i]/float64(runs)))
		dptest.Alarm(t, 2e-11)
		require.Less(t, after[i], 1.02*before[i])
	}
}

// In 10,000 releases, 400 by default, cohorts do not contradict themselves, and numbers have no
// larger errors than by themselves, by which all releases contradict themselves. In one of eight
// the estimates are in their intervals, which cover, and standard errors are those of the
// estimates, up to a factor of 2.5. All random numbers are the same in every run.
func TestCohortsAgree(t *testing.T) {
	rng := rand.New(rand.NewPCG(69, 70))
	const users = 300
	runs, contradictory := dptest.Full(10_000, 400), 0
	var before, after, asked, covered, told, off [4]float64 // of New, Returned, On, Since
	for run := range runs {
		days := 2 + run%5
		p := Params{Epsilon: []float64{0.3, 1, 4}[run%3], Cells: 64, Levels: 8}.normal()
		for i := range p.Seed {
			p.Seed[i] = byte(rng.Uint32())
		}
		b := cohortBuilder(t, p, days)
		seen := [users][8]bool{}
		start := rng.Uint64()
		for day := 1; day <= days; day++ {
			if day > 1 {
				require.NoError(t, b.Advance(day))
			}
			for i := range seen {
				if seen[i][day] = i%days+1 == day || i%days < day && rng.IntN(4) == 0; seen[i][day] {
					b.Add(start + uint64(i))
				}
			}
		}
		n := held(b.secret).classes()
		noises := dptest.OK(p.cohorts(days))(t)
		for i := range n {
			law := noises.pair
			if i > pairsOf(days) {
				law = noises.visit
			}
			n[i] += int64(law.Quantile(rng.Float64()))
		}
		c := &Cohorts{release{p, n}, days}
		fit, contradicts := c.agreed(), false
		check := func(kind int, answer kor.Cardinality, alone float64, is func(i int) bool) float64 {
			e, truth := answer.Estimate(), 0.0
			for i := range seen {
				if is(i) {
					truth++
				}
			}
			require.GreaterOrEqual(t, e, 0.0)
			before[kind] += (alone - truth) * (alone - truth)
			after[kind] += (e - truth) * (e - truth)
			if run%8 == 0 {
				lo, hi := answer.Interval(0.95)
				require.True(t, lo <= e && e <= hi)
				if asked[kind]++; lo <= truth && truth <= hi {
					covered[kind]++
				}
				told[kind] += answer.StdErr() * answer.StdErr()
				off[kind] += (e - truth) * (e - truth)
			}
			return e
		}
		all, late := 0.0, make([]float64, days+2)
		for first := 1; first <= days; first++ {
			from := func(day int) func(i int) bool {
				return func(i int) bool { return i%days+1 == first && slices.Contains(seen[i][day:days+1], true) }
			}
			alone := c.alone(first, first, false).Estimate()
			last := check(0, c.answer(fit, first, first, false), alone, from(first))
			contradicts = contradicts || alone < 0
			all += last
			for day := 1; day <= first; day++ {
				late[day] += last
			}
			for day := first + 1; day <= days; day++ {
				by, on := c.alone(first, day, false).Estimate(), c.alone(first, day, true).Estimate()
				returned := check(1, c.answer(fit, first, day, false), by, from(day))
				there := check(2, c.answer(fit, first, day, true), on, func(i int) bool { return i%days+1 == first && seen[i][day] })
				require.LessOrEqual(t, returned, last)
				require.LessOrEqual(t, there, returned)
				next := 0.0
				if day < days {
					next = fit[first][day+1]
				}
				require.GreaterOrEqual(t, there, returned-next)
				contradicts = contradicts || by < 0 || by > alone || on > by || on < 0
				last = returned
				late[day] += returned
			}
		}
		for day := 1; day <= days; day++ {
			since := check(3, c.since(fit, day), c.count(0, day).Estimate(), func(i int) bool { return slices.Contains(seen[i][day:days+1], true) })
			require.InDelta(t, late[day], since, 1e-6)
			require.LessOrEqual(t, since, all+1e-6)
		}
		if contradicts {
			contradictory++
		}
	}
	t.Log(contradictory, "of", runs, "contradict themselves without it")
	require.Greater(t, contradictory, runs/2)
	for i := range before {
		stated := math.Sqrt(told[i] / off[i])
		t.Logf("rms %.2f of before, stated as %.2f of that; %.3f covered", math.Sqrt(after[i]/before[i]), stated, covered[i]/asked[i])
		require.Less(t, after[i], 1.02*before[i])
		require.Greater(t, covered[i]/asked[i], 0.93)
		require.True(t, stated > 0.85 && stated < 2.5, "%d: %v", i, stated)
	}
}

// Shares sum to 1, also where noise hides most of them, and AtLeast falls from 1.
func TestSharesSumToOne(t *testing.T) {
	rng := rand.New(rand.NewPCG(65, 66))
	p := Params{Epsilon: 0.1, Cells: 1024, Levels: 8}
	const runs, most = 6, 30
	known := 0
	for range runs {
		p.Seed = hashing.NewSeed()
		b := frequencyBuilder(t, p, most)
		first := rng.Uint64()
		for i := range uint64(1000) {
			for range 1 + i%4 { // 2.5 on average
				b.Add(first + i)
			}
		}
		f := dptest.OK(b.Release())(t)
		if math.IsNaN(f.Share(1)) {
			require.True(t, math.IsNaN(f.AtLeast(2)))
			continue
		}
		known++
		sum := 0.0
		for times := 1; times <= most; times++ {
			require.GreaterOrEqual(t, f.Share(times), 0.0)
			sum += f.Share(times)
			lo, hi := f.AtLeastInterval(times, 0.95)
			require.True(t, 0 <= lo && lo <= f.AtLeast(times) && f.AtLeast(times) <= hi && hi <= 1)
			require.True(t, times == 1 || f.AtLeast(times) <= f.AtLeast(times-1)+1e-12)
		}
		require.InDelta(t, 1, sum, 1e-9)
		require.Equal(t, 1.0, f.AtLeast(1))
		for _, times := range []int{0, -1, most + 1} {
			lo, hi := f.AtLeastInterval(times, 0.95)
			require.True(t, math.IsNaN(f.AtLeast(times)) && math.IsNaN(lo) && math.IsNaN(hi))
		}
	}
	require.Positive(t, known)
}
