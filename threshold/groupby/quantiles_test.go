package groupby

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/quantile"
)

// percentiles are the Params of most tests here.
var percentiles = Params{Epsilon: 1, Delta: 1e-6, Levels: [8]float64{0.5, 0.9, 0.99}}

// A user's weights in all of his keys are within what quantiles are calibrated for, with and
// without δ, whatever their number; whoever has more than 1024 keys has none.
func TestSpreadWeights(t *testing.T) {
	p, pure := Params{Delta: 1e-6}, Params{listed: true}
	for l := 1; l <= 4096; l++ {
		x, y := p.spreadWeight(l), pure.spreadWeight(l)
		if l > spreadMost {
			require.Zero(t, x+y)
			continue
		}
		require.LessOrEqual(t, int64(l)*x*x, int64(spreadFull*spreadUnit*spreadUnit))
		require.LessOrEqual(t, int64(l)*y, int64(spreadFull*spreadUnit))
		require.True(t, x >= p.spreadWeight(spreadMost) && y >= pure.spreadWeight(spreadMost) && min(x, y) > 0 && max(x, y) <= spreadUnit)
	}
	require.EqualValues(t, spreadUnit, p.spreadWeight(4))
	require.EqualValues(t, spreadUnit, pure.spreadWeight(4))
}

// What draws and weights are calibrated for is the quantiles' share of the budget, and nearly all
// of it: k steps of a window of ε₀ are Gaussian noise of ratio c_k·ε₀·√k/2.
func TestSpreadShares(t *testing.T) {
	for _, p := range []Params{
		percentiles, {Epsilon: 0.1, Delta: 1e-9, Levels: [8]float64{0.5}, QuantileShare: 0.1}, {Epsilon: 4, Delta: 1e-6, Levels: [8]float64{.1, .2, .3, .4, .5, .6, .7, .8}},
		{Epsilon: 1, Delta: 1e-6, Passes: 2, Levels: [8]float64{0.9}, Others: true}, {Epsilon: 1, Delta: 1e-6, listed: true, most: 3, Levels: [8]float64{0.5, 0.9}},
		{Epsilon: 60, Delta: 1e-6, Levels: [8]float64{0.5}, QuantileShare: 0.6, CountShare: minShare},
	} {
		p = p.normal()
		c := dptest.OK(p.sizes())(t)
		none := p
		none.Levels, none.QuantileShare = [8]float64{}, 0
		without := dptest.OK(none.sizes())(t)
		full, s := float64(min(spreadFull, p.most)), c.spread
		steps := func(loss, k float64) float64 { // μ²
			e := loss * spreadUnit
			constant := 1 + (0.2+0.06*math.Log(k))/k
			if e > 1 {
				constant = math.Sqrt(math.Pi / 2)
			}
			mu := constant * e * math.Sqrt(k) / 2
			return mu * mu
		}
		draws := steps(s.loss, full*float64(quantile.Rounds(len(p.levels()))))
		cuts, weights, alone := full*steps(s.cutLoss, 2), full*spreadUnit*spreadUnit/(s.weigh*s.weigh), full*spreadUnit*spreadUnit/(s.alone*s.alone)
		require.InEpsilon(t, cuts+weights, alone, 1e-6, "a key without cuts has their part")
		spent := draws + max(cuts+weights, alone)
		share := c.squaredMu - without.squaredMu
		if p.listed { // all is beside: the others give way
			share = p.QuantileShare * without.squaredMu
		}
		require.LessOrEqual(t, spent, share*(1+1e-12))
		require.Greater(t, spent, 0.99*share, "%+v", p)
	}
}

// All that a user with four keys moves keeps (ε, δ): the noise of the keys, of counts and of
// weights as one Gaussian, beside the coins that four draws of quantiles come to at most. Where the
// keys' noise does not make room for the quantiles it does not. With p and q the masses of the
// coins, the divergence is Σ q·E(p/q·Λ − e^ε)₊.
func TestQuantilesBesideKeys(t *testing.T) {
	for _, p := range []Params{{Epsilon: 1, Delta: 1e-3, Levels: [8]float64{0.5}}, {Epsilon: 0.5, Delta: 1e-2, Levels: [8]float64{0.5}, QuantileShare: 0.6, CountShare: 0.2}} {
		p = p.normal()
		c := dptest.OK(p.sizes())(t)
		e := c.spread.loss * spreadUnit
		constant := 1 + (0.2+0.06*math.Log(spreadFull))/spreadFull
		draws := constant * constant * e * e * spreadFull / 4
		delta := func(mu float64) (sum float64) {
			a := 1 / (1 + math.Exp(-e/2))
			q := func(x float64) float64 { return math.Erfc(x/math.Sqrt2) / 2 }
			for heads, ways := range []float64{1, 4, 6, 4, 1} {
				up, down := math.Pow(a, float64(heads))*math.Pow(1-a, float64(4-heads)), math.Pow(1-a, float64(heads))*math.Pow(a, float64(4-heads))
				at := p.Epsilon - math.Log(up/down)
				sum += ways * (up*q(at/mu-mu/2) - down*math.Exp(p.Epsilon)*q(at/mu+mu/2))
			}
			return sum
		}
		keys := unit * unit / (c.weight * c.weight)
		require.LessOrEqual(t, delta(math.Sqrt(keys+c.squaredMu-draws)), p.Delta)
		require.Greater(t, delta(math.Sqrt(keys+c.squaredMu-draws)), 0.5*p.Delta)
		require.Greater(t, delta(math.Sqrt(keys+c.squaredMu)), 1.2*p.Delta, "the quantiles cost nothing")
	}
}

// key returns what is released of a key with these weights by cell, and this number of users in
// steps.
func (s *state[K]) key(weights map[uint32]int64, users int64) group[K] {
	s.cellWeights = cellWeights{}
	for cell, w := range weights {
		s.cellWeights.add(uint64(cell), w)
	}
	var key K
	s.table = newTable(indexOf([]K{key}), 0)
	groups := []group[K]{{rest: users}}
	s.quantiles(groups, []uint32{1})
	return groups[0]
}

// groupsOf returns Groups of one key, 0, that so many users have, whose values have these weights.
func groupsOf(t testing.TB, p Params, users int, weights map[uint32]int64) *Groups[int] {
	s := held(builder[int](t, p))
	g := &Groups[int]{params: s.params, noises: s.params.noises(s.calibrated, choice{}), groups: []group[int]{s.key(weights, int64(users)*fine*unit)}}
	return g
}

// Where a quantile came out beyond all values the end of its interval is not there but infinite,
// though the weights show that it is above the quantile of the data.
func TestEndsAreWhereUsersAre(t *testing.T) {
	g := groupsOf(t, percentiles, 20_000, nil)
	s, e := percentiles.scale(), &g.groups[0]
	for i, x := range []float64{50, 100, 200, 250, 300, 400, 500, 1e15, 1e16} {
		e.cells[i] = s.cell(x)
	}
	for i, users := range []int64{9000, 1000, 0, 1000, 5000, 2000, 0, 500, 1000, 500, 0, 0, 0} {
		e.weights[i] = users * spreadUnit
	}
	lo, hi := g.QuantileInterval(0, .99, .95)
	require.Equal(t, [2]float64{500, math.Inf(1)}, [2]float64{lo, hi})
	lo, hi = g.QuantileInterval(0, .9, .95)
	require.True(t, lo >= 100 && hi <= 404, "%v, %v", lo, hi)
}

// Values that all users share answer themselves: at every level, in one release with others; and
// the interval is that value, where enough users have it.
func TestAtomsAnswerThemselves(t *testing.T) {
	p := percentiles
	p.Levels = [8]float64{0.4, 0.5, 0.6}
	s := p.scale()
	const users = 12_000
	at := func(x float64) uint32 { return s.cell(x) }
	for range 20 {
		// the one at the ranks .3 to .7; an error of a draw is 1/κ = 30 users at most here
		g := groupsOf(t, p, users, map[uint32]int64{at(1): users * spreadUnit * 3 / 10, at(404): users * spreadUnit * 4 / 10, at(5000): users * spreadUnit * 3 / 10})
		dptest.Alarm(t, 3e-11) // 40 errors away, with 1000 cells in e^7 and 4 draws
		for _, level := range p.levels() {
			require.Equal(t, 404., g.Quantile(0, level))
		}
		dptest.Alarm(t, 1e-10) // the ends are 2400 users away, 20 deviations of their ranks
		lo, hi := g.QuantileInterval(0, 0.5, 0.99)
		require.Equal(t, [2]float64{404, 405}, [2]float64{lo, hi})
		low, high := g.RankInterval(0, 0.5, 0.99)
		require.Equal(t, [2]float64{0, 0}, [2]float64{low, high})
	}
	// all users; and half of them at either end of a range
	one := groupsOf(t, p, users, map[uint32]int64{at(-3): users * spreadUnit})
	require.Equal(t, -3., one.Quantile(0, 0.6))
	p.Min, p.Max = -10, 90
	s = p.scale()
	ends := groupsOf(t, p, users, map[uint32]int64{0: users * spreadUnit / 2, uint32(s.cells - 1): users * spreadUnit / 2})
	require.Equal(t, [2]float64{-10, 90}, [2]float64{ends.Quantile(0, 0.4), ends.Quantile(0, 0.6)})
	lo, hi := ends.QuantileInterval(0, 0.5, 1-1e-9)
	require.True(t, lo <= -9.9 && hi >= 89)
}

// Of a key whose users give no values, or which has few users, nothing is known: the values that
// are drawn are anywhere, Quantile is NaN, and the intervals are everything.
func TestNothingIsKnownOfFew(t *testing.T) {
	p := percentiles
	p.Min, p.Max = 1, 1000
	s := p.scale()
	anywhere, expected := make([]int64, 4), make([]float64, 4)
	for cell := range s.cells {
		expected[cell*4/s.cells] += (1 - 1e-12) / float64(s.cells)
	}
	everything, shown := 0, int64(0)
	const runs = 1000
	st := held(builder[int](t, p))
	for range runs {
		g := &Groups[int]{params: st.params, noises: st.params.noises(st.calibrated, choice{}), groups: []group[int]{st.key(nil, 40*fine*unit)}}
		anywhere[int64(g.groups[0].cells[4])*4/s.cells]++ // the first that is drawn
		for _, level := range p.levels() {
			if x := g.Quantile(0, level); x == x {
				shown++
			}
		}
		if lo, hi := g.QuantileInterval(0, 0.5, 0.95); lo == 1 && hi == 1000 {
			everything++
		}
	}
	dptest.ChiSquare(t, "a key without values", anywhere, expected, 1e-9)
	dptest.Alarm(t, 2e-9)
	least, _ := dptest.ClopperPearson(int64(runs-everything), runs, 1-1e-9)
	require.LessOrEqual(t, least, 0.05)
	least, _ = dptest.ClopperPearson(shown, 3*runs, 1-1e-9)
	require.LessOrEqual(t, least, 0.001, "%d are shown", shown)
	// a key that is not shown
	g := groupsOf(t, p, 10_000, nil)
	require.True(t, math.IsNaN(g.Quantile(5, 0.5)))
	lo, hi := g.QuantileInterval(5, 0.5, 0.9)
	require.Equal(t, [2]float64{1, 1000}, [2]float64{lo, hi})
	lo, hi = g.RankInterval(5, 0.5, 0.9)
	require.Equal(t, [2]float64{math.Inf(-1), math.Inf(1)}, [2]float64{lo, hi})
	// no such level, no such confidence
	for _, of := range [][2]float64{{0.4, 0.9}, {0, 0.9}, {math.NaN(), 0.9}, {0.5, 1}} {
		require.True(t, of[0] == 0.5 || math.IsNaN(g.Quantile(0, of[0])))
		lo, hi = g.QuantileInterval(0, of[0], of[1])
		low, high := g.RankInterval(0, of[0], of[1])
		require.True(t, math.IsNaN(lo) && math.IsNaN(hi) && math.IsNaN(low) && math.IsNaN(high))
	}
}

// A key that nobody has is known of at no level, however far below 0 the noise of its count and
// weights is, for normal noise and for Laplace noise.
func TestNobodysQuantile(t *testing.T) {
	for _, delta := range []float64{1e-6, 0} {
		b := dptest.OK(NewListed(Params{Epsilon: 2, Delta: delta, Levels: [8]float64{.5, .9}, Min: .1, Max: 1000}, 0))(t)
		s := held(b)
		g := &Groups[int]{params: s.params, noises: s.params.noises(s.calibrated, choice{}), groups: []group[int]{s.key(nil, 0)}}
		for users := -60.; users <= 0; users += 5 {
			for weight := -60 * int64(spreadUnit); weight <= 0; weight += 5 * spreadUnit {
				e := g.groups[0]
				e.rest, e.weights = int64(users*fine*unit), slices.Repeat([]int64{weight}, len(e.weights))
				require.False(t, g.known(g.read(e), 0, 0) || g.known(g.read(e), 1, 0), "δ = %v: %v users, %v in weights", delta, users, weight)
			}
		}
	}
}

// The evidence against a number of users is a p-value: the probability that it is at most p is at
// most p, and about that for normal noise. One without the noise of the other weights is none. And
// what is no number shows nothing.
func TestEvidenceIsAPValue(t *testing.T) {
	// rest is an eighth of those from the median on
	const users, rest, p, runs = 400., 25., .01, 20_000
	for _, delta := range []float64{1e-6, 0} {
		b := dptest.OK(NewListed(Params{Epsilon: 1, Delta: delta, Levels: [8]float64{.5}}, 0))(t)
		s := held(b)
		g := &Groups[int]{params: s.params, noises: s.params.noises(s.calibrated, choice{})}
		count, weight := s.noise(g.noises.count*fine*unit), s.noise(g.noises.spread.alone)
		several := func(n int) (sum float64) {
			for range n {
				sum += float64(weight()) / spreadUnit
			}
			return sum
		}
		for _, noisy := range [][2]int{{1, 2}, {3, 2}} { // below the quantile, and from it on
			for _, slope := range []float64{0, .05} {
				seen, without := int64(0), int64(0)
				for range runs {
					w := weighed{edges: make([]uint32, 3), noise: g.noises.spread.alone / spreadUnit}
					w.before, w.noisy = []float64{0, users - rest + several(noisy[0]), 0}, []int{0, noisy[0], noisy[0] + noisy[1]}
					w.before[2] = w.before[1] + rest + several(noisy[1])
					counted := users + float64(count())/fine/unit
					if g.evidence(w, 1, 2, .5, slope, counted, users, users) <= math.Log(p) {
						seen++
					}
					w.noisy = []int{0, 0, noisy[1]}
					if g.evidence(w, 1, 2, .5, slope, counted, users, users) <= math.Log(p) {
						without++
					}
				}
				least, most := dptest.ClopperPearson(seen, runs, 1-1e-12)
				dptest.Alarm(t, 1e-12)
				require.LessOrEqual(t, least, p, "%d of %d", seen, runs)
				if delta > 0 {
					require.GreaterOrEqual(t, most, .8*p, "%d of %d", seen, runs)
					require.True(t, dptest.Control(t, without > runs/10, 1e-12), "%d of %d", without, runs)
				}
			}
		}
	}
	s := percentiles.scale()
	g := groupsOf(t, percentiles, 10_000, map[uint32]int64{s.cell(404): 10_000 * spreadUnit})
	require.Equal(t, 404., g.Quantile(0, .5))
	g.noises.spread.loss = math.NaN()
	require.True(t, math.IsNaN(g.Quantile(0, .5)))
}

// Intervals hold the quantile and its rank at the confidence, of smooth data, of few values, and
// where noise is Laplace noise; and they are about as wide as the errors they come of.
func TestQuantileIntervals(t *testing.T) {
	rng := rand.New(rand.NewPCG(37, 11))
	pure := Params{Epsilon: 1, Levels: percentiles.Levels, Min: 0.01, Max: 1000, listed: true, most: 1}.normal()
	law := dptest.OK(pure.sizes())(t)
	p := percentiles
	p.Min, p.Max = 0.01, 1000
	normal := held(builder[int](t, p))
	laplace := &state[int]{params: pure, scale: pure.scale(), calibrated: law}
	for name, s := range map[string]*state[int]{"normal": normal, "Laplace": laplace} {
		const users = 3000
		values := make([]float64, users)
		misses, rankMisses, runs := int64(0), int64(0), int64(dptest.Full(2000, 60))
		width := 0.0
		for range runs {
			weights := map[uint32]int64{}
			for i := range values {
				if values[i] = math.Exp(rng.NormFloat64()); name == "normal" && i%3 == 0 {
					values[i] = math.Round(values[i])
				}
				weights[s.scale.cell(values[i])] += spreadUnit
			}
			slices.Sort(values)
			g := &Groups[int]{params: s.params, noises: s.params.noises(s.calibrated, choice{}), groups: []group[int]{s.key(weights, users*fine*unit)}}
			for _, level := range s.params.levels() {
				lo, hi := g.QuantileInterval(0, level, 0.9)
				if x := values[int(level*users)]; !(lo <= x && x <= hi) {
					misses++
				}
				low, high := g.RankInterval(0, level, 0.9)
				i := slices.Index(s.params.levels(), level)
				cell := int64(g.groups[0].cells[3*i+1])
				from, _ := slices.BinarySearch(values, s.scale.edge(cell))
				to, _ := slices.BinarySearch(values, s.scale.edge(cell+1))
				if want := level * users; !(low+want <= float64(to) && float64(from) <= high+want) {
					rankMisses++
				}
			}
			lo, hi := g.QuantileInterval(0, 0.5, 0.9)
			from, _ := slices.BinarySearch(values, lo)
			to, _ := slices.BinarySearch(values, hi)
			width += float64(to-from) / float64(runs)
		}
		for _, n := range []int64{misses, rankMisses} {
			dptest.Alarm(t, 1e-9)
			least, _ := dptest.ClopperPearson(n, 3*runs, 1-1e-9)
			require.LessOrEqual(t, least, 0.1, "%s: %d misses", name, n)
		}
		t.Logf("%s: %d and %d misses of %d, p50 in an interval of %.0f users on average", name, misses, rankMisses, 3*runs, width)
		require.Less(t, width, map[string]float64{"normal": 1000, "Laplace": 2800}[name])
	}
}

// Of several values of a user in a key one counts, each as likely: in one call, in rows of shards
// that are merged, and in one of two passes.
func TestOneValueOfAUser(t *testing.T) {
	const runs = 3000
	p := percentiles
	p.Passes = 2
	b := builder[string](t, p)
	s := b.params.scale()
	at := map[uint32]int{s.cell(1): 0, s.cell(5): 1}
	observed := [2][]int64{make([]int64, 2), make([]int64, 2)}
	for range runs {
		b.AddUserValues([]string{"a", "b", "a", "a"}, []float64{1, 7, 5, 1})
		one, two := rowsOf[string, string](t, percentiles), rowsOf[string, string](t, percentiles)
		one.AddValue("u", "a", 1)
		two.AddValue("u", "a", 5)
		one.AddValue("u", "a", 1)
		two.AddValue("u", "a", math.NaN())
		require.NoError(t, two.Merge(one))
		kept := heldRows(two).state().users
		observed[1][at[kept.cells[0]]]++
	}
	for i, cell := range held(b).users.cells {
		if i%2 == 0 {
			observed[0][at[cell]]++
		}
	}
	for _, o := range observed {
		dptest.ChiSquare(t, "picks", o, []float64{2. / 3 * (1 - 1e-6), 1. / 3 * (1 - 1e-6)}, 1e-9)
	}
	// A key without a value has no weight; sums go on adding.
	p = Params{Epsilon: 1, Delta: 1e-6, Levels: [8]float64{0.5}, Min: -1, Max: 100}
	c := builder[string](t, p)
	c.AddUserValues([]string{"a"}, []float64{math.NaN()})
	c.AddUserValues([]string{"a", "b", "a"}, []float64{2, 3, 2})
	s = c.params.scale()
	require.Equal(t, cellWeights{uint64(s.cell(2)): spreadUnit, 1<<32 | uint64(s.cell(3)): spreadUnit}, held(c).cellWeights)
}

// What a Builder releases of quantiles is what its users' values say, by all ways: one pass and
// two, in memory or not, rows, a list with and without δ.
func TestQuantilesOfABuilder(t *testing.T) {
	const users = 5000
	p := Params{Epsilon: 1, Delta: 1e-6, Levels: [8]float64{0.5, 0.9}, Min: 0.1, Max: 1000}
	feed := func(add func(user int, keys []string, values []float64)) {
		for i := range users {
			u := (float64(i) + 0.5) / users
			add(i, []string{"a", "b"}, []float64{1 + u, 100 * (1 + u)})
		}
	}
	groups := map[string]*Groups[string]{}
	for _, passes := range []int{1, 2} {
		p.Passes = passes
		r := rowsOf[int, string](t, p)
		feed(func(user int, keys []string, values []float64) {
			for i, key := range keys {
				r.AddValue(user, key, values[i])
			}
		})
		groups[fmt.Sprint("Rows, ", passes)] = dptest.OK(r.Release())(t)
	}
	d, one := dptest.OK(NewDiscovery[string](p))(t), p
	feed(func(_ int, keys []string, _ []float64) { d.AddUser(keys) })
	following := dptest.OK(d.Release())(t)
	following.SecondPass()
	one.Passes = 1
	pure := Params{Epsilon: 2, Levels: p.Levels, Min: p.Min, Max: p.Max}
	normal := pure
	normal.Delta = 1e-6
	for name, b := range map[string]*Builder[string]{
		"one pass": builder[string](t, one), "two passes": builder[string](t, p), "Discovery": following,
		"list": dptest.OK(NewListed(normal, "a", "b", "nobody's"))(t), "without δ": dptest.OK(NewListed(pure, "a", "b", "nobody's"))(t),
	} {
		feed(func(_ int, keys []string, values []float64) { b.AddUserValues(keys, values) })
		groups[name] = dptest.OK(b.Release())(t)
	}
	for name, g := range groups {
		dptest.Alarm(t, 1e-10) // 1000 users are 25 errors of a draw
		for key, scale := range map[string]float64{"a": 1, "b": 100} {
			require.InDelta(t, 1.5*scale, g.Quantile(key, 0.5), 0.2*scale, name)
			require.InDelta(t, 1.9*scale, g.Quantile(key, 0.9), 0.2*scale, name)
		}
		require.True(t, math.IsNaN(g.Quantile("nobody's", 0.5)))
		require.Contains(t, string(dptest.OK(json.Marshal(g))(t)), `"quantiles":[{"level":0.5,"estimate":1.`)
		dptest.RoundTrip(t, g, name)
		require.Contains(t, g.String(), ", and quantiles")
	}
}

// Plan says how far off ranks are: c·max(q, 1 − q)·√D·U, U = Cσ/√f, of the part that draws.
func TestRankErrors(t *testing.T) {
	for _, p := range []Params{percentiles, {Epsilon: 1, Delta: 1e-6, Levels: [8]float64{.1, .2, .3, .4, .5, .6, .7, .8}, QuantileShare: 0.6}} {
		plan := dptest.OK(p.Plan())(t)
		require.Equal(t, planned(p).RankError, plan.RankError)
		require.True(t, plan.RankError[0] > 10 && plan.RankError[0] < 60)
	}
	one := planned(Params{Epsilon: 1, Delta: 1e-6, Levels: [8]float64{0.9}})
	require.InEpsilon(t, 1.070795*0.9*2*4.22511/math.Sqrt(.7375/3), one.RankError[0], 1e-3)
}

// What kept users weigh is what they weigh where each is added by himself, of the keys that are
// shown: with one key and many, with and without values, and of none.
func TestKeptSpots(t *testing.T) {
	p := percentiles
	p.Passes = 2
	rng := rand.New(rand.NewPCG(7, 3))
	s := held(builder[int](t, p))
	place := make([]uint32, 40) // every third key is hidden
	for i := range place {
		if i%3 > 0 {
			place[i] = uint32(i - i/3)
		}
	}
	cellWeights := func() (all []numbered) {
		weights := s.retainedWeights(place, 26)
		for i := range 26 {
			for _, c := range weights(i, nil) {
				all = append(all, numbered{uint64(i+1)<<32 | uint64(c.Index), c.Weight})
			}
		}
		return all
	}
	require.Empty(t, cellWeights())
	for range 300 {
		for _, key := range rng.Perm(40)[:1+rng.IntN(30)] {
			s.users.keys = append(s.users.keys, uint32(key))
			s.users.cells = append(s.users.cells, rng.Uint32N(5)*min(rng.Uint32N(4), 1))
		}
		s.users.ends = append(s.users.ends, len(s.users.keys))
	}
	for from, to := range s.users.all {
		var numbers []uint32
		var samples []int64
		for j := from; j < to; j++ {
			if at := place[s.users.keys[j]]; at > 0 {
				numbers, samples = append(numbers, at), append(samples, int64(s.users.cells[j]))
			}
		}
		s.giveSamples(numbers, samples, len(numbers))
	}
	require.Equal(t, s.cellWeights.sorted(func(n uint32) (uint32, bool) { return n, true }), cellWeights())
}

// The weights between the edges have the noise that they are planned with, in keys that nobody has,
// and what the quantiles of a list have of ε the counts do not have.
func TestNoiseOfWeights(t *testing.T) {
	const n = 500
	p := Params{Epsilon: 1, Delta: 1e-6, Max: 100, Levels: [8]float64{0.5}}
	keys := make([]int, n)
	for i := range keys {
		keys[i] = i
	}
	b := dptest.OK(NewListed(p, keys...))(t)
	sd := held(b).calibrated.spread.weigh
	g := dptest.OK(b.Release())(t)
	dptest.Alarm(t, 2e-12) // Chernoff: exp(−n/2·(x − ln(1 + x))) at x = .55
	for _, last := range []bool{false, true} {
		squares := 0.0
		for _, group := range g.groups {
			x := float64(group.weights[0])
			if last {
				x = float64(group.weights[len(group.weights)-1])
			}
			squares += x * x
		}
		require.InEpsilon(t, n*sd*sd, squares, 0.55)
	}
	without := p
	without.Levels = [8]float64{}
	require.InEpsilon(t, math.Sqrt(1/(1-p.ofList(n).normal().QuantileShare)), planned(p.ofList(n)).StdDev/planned(without.ofList(n)).StdDev, 0.02)
}
