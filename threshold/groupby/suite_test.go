package groupby

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// prepared returns what draws a release of a key whose users have these values, and no other key.
func prepared(t *testing.T, c dptest.QuantileCase) (*state[int], func() *Groups[int]) {
	p := Params{Epsilon: c.Epsilon, Delta: 1e-6, Min: c.LeastEnd, Max: c.MostEnd}
	copy(p.Levels[:], c.Levels)
	s, weights := held(builder[int](t, p)), map[uint32]int64{}
	for _, x := range c.Sorted {
		weights[s.scale.cell(x)] += spreadUnit
	}
	noise := s.noise(s.calibrated.rest(choice{}))
	return s, func() *Groups[int] {
		g := &Groups[int]{params: s.params, noises: s.params.noises(s.calibrated, choice{})}
		g.groups = []group[int]{s.key(weights, int64(len(c.Sorted))*fine*unit+noise())}
		return g
	}
}

// counted returns of how many releases of a case something holds.
func counted(t *testing.T, c dptest.QuantileCase, runs int, holds func(g *Groups[int]) bool) (n int64) {
	_, release := prepared(t, c)
	for range runs {
		if holds(release()) {
			n++
		}
	}
	return n
}

// No quantile by key is far outside of where values are, and intervals hold, for all laws,
// ranges, ε and sets of levels; where nothing were unknown, one release in a hundred and more
// would be. In long runs these are 12,240 releases, and at most 12 are.
func TestNoAbsurdQuantile(t *testing.T) {
	ns, epsilons, runs := []int{2000, 25_000}, []float64{1}, 2
	if dptest.Long() {
		ns, epsilons, runs = []int{500, 2000, 5000, 25_000, 100_000}, []float64{.1, 1, 4}, 4
	}
	releases, astray, unguarded := dptest.QuantileSuite(t, ns, epsilons, [][]float64{{.5}, {.99}, {.5, .9, .99}, {.5, .9, .95, .99, .999}}, runs,
		func(c dptest.QuantileCase) (func() []dptest.QuantileAnswer, func(float64) int64) {
			s, release := prepared(t, c)
			return func() (answers []dptest.QuantileAnswer) {
				g := release()
				for i, level := range c.Levels {
					lo, hi := g.QuantileInterval(0, level, .95)
					answers = append(answers, dptest.QuantileAnswer{Value: g.Quantile(0, level), Low: lo, High: hi, Cell: int64(g.groups[0].cells[3*i+1])})
				}
				return answers
			}, func(x float64) int64 { return int64(s.scale.cell(x)) }
		})
	t.Logf("%d of %d releases are astray; %d without the guard", astray, releases, unguarded)
	require.True(t, dptest.Control(t, unguarded > releases/20, 1e-12), "without the guard: %d of %d", unguarded, releases)
	if dptest.Long() {
		require.LessOrEqual(t, astray, releases/1000)
	}
}

// At ε = 1, p95 of 3000 users, p99 of 15,000 and the median of 300 are known in nine of ten
// releases of the smooth laws, whatever the range; so Plan says, and with a fifth fewer users they
// are not. So it is of several levels.
func TestKnownQuantiles(t *testing.T) {
	runs := dptest.Full(60, 3)
	for level, users := range map[float64]int{.5: 300, .95: 3000, .99: 15_000} {
		plan := dptest.OK(Params{Epsilon: 1, Delta: 1e-6, Levels: [8]float64{level}}.Plan())(t)
		require.InEpsilon(t, float64(users), plan.Known[0], .2, "p%v", 100*level)
		known, all, fewer := int64(0), int64(0), int64(0)
		for _, column := range dptest.Columns {
			if !column.Smooth {
				continue
			}
			for _, wide := range []float64{0, 1} {
				for _, n := range []int{users, users * 6 / 5, users * 4 / 3, users * 7 / 10} {
					c := dptest.QuantileCase{Column: column, Epsilon: 1, Levels: []float64{level}, Sorted: column.Values(n), LeastEnd: wide * column.Min, MostEnd: wide * column.Max}
					seen := counted(t, c, runs, func(g *Groups[int]) bool { return !math.IsNaN(g.Quantile(0, level)) })
					if n < users {
						fewer += seen
					} else {
						known += seen
					}
				}
				all += 3 * int64(runs)
			}
		}
		t.Logf("p%v: known in %d of %d releases, with fewer users in %d", 100*level, known, all, fewer)
		_, most := dptest.ClopperPearson(known, all, 1-1e-11)
		dptest.Alarm(t, 1e-11)
		require.GreaterOrEqual(t, most, .9)
		least, _ := dptest.ClopperPearson(fewer, all, 1-1e-11)
		dptest.Alarm(t, 1e-11)
		require.LessOrEqual(t, least, .5)
	}
	for _, levels := range [][8]float64{{.5, .9, .99}, {.5, .9, .95, .99, .999}} {
		p := Params{Epsilon: 1, Delta: 1e-6, Levels: levels}
		for i, users := range dptest.OK(p.Plan())(t).Known {
			if i == 0 { // the other levels are not drawn there
				require.LessOrEqual(t, users, 460.)
			}
			if users == 0 || users > 50_000 {
				continue
			}
			known, all := int64(0), int64(0)
			for _, column := range dptest.Columns[:6] {
				c := dptest.QuantileCase{Column: column, Epsilon: 1, Levels: p.levels(), Sorted: column.Values(int(users))}
				known += counted(t, c, 2*runs, func(g *Groups[int]) bool { return !math.IsNaN(g.Quantile(0, p.Levels[i])) })
				all += 2 * int64(runs)
			}
			t.Logf("p%v of %d: known of %v in %d of %d", 100*p.Levels[i], len(p.levels()), users, known, all)
			_, most := dptest.ClopperPearson(known, all, 1-1e-11)
			dptest.Alarm(t, 1e-11)
			require.GreaterOrEqual(t, most, .85)
		}
	}
}

// Where a quantile is known its interval has two finite ends, whatever else is asked for: a level
// that too few users are beyond is not drawn, and so its weights do not hide where the others are.
// Excepted are medians of fewer than 350 users, and of fewer than 4000 in two clusters.
func TestKnownHasTwoEnds(t *testing.T) {
	for _, c := range []struct {
		users  int
		levels []float64
		all    bool
	}{{500, []float64{.5}, false}, {2000, []float64{.5, .9, .99}, false}, {3000, []float64{.5, .9, .95, .99, .999}, false}, {10_000, []float64{.5}, true}} {
		for _, column := range dptest.Columns {
			if !column.Smooth && !c.all {
				continue
			}
			known, runs := int64(0), dptest.Full(1000, 40)
			open := counted(t, dptest.QuantileCase{Column: column, Epsilon: 1, Levels: c.levels, Sorted: column.Values(c.users)}, runs, func(g *Groups[int]) (open bool) {
				for _, level := range c.levels {
					if lo, hi := g.QuantileInterval(0, level, .95); !math.IsNaN(g.Quantile(0, level)) {
						known, open = known+1, open || math.IsInf(lo, 0) || math.IsInf(hi, 0)
					}
				}
				return open
			})
			least, _ := dptest.ClopperPearson(open, known, 1-1e-11)
			dptest.Alarm(t, 1e-11)
			require.LessOrEqual(t, least, .02, "%d users, %v, %s: %d of %d intervals are open", c.users, c.levels, column.Name, open, known)
		}
	}
}

// The ends of intervals are where users are, or infinite: a hundred times beyond all users, and 16
// times beyond the cuts at 64, are 2 in 100 at most, where a cut was one in four and the next level
// two in three.
func TestNoAbsurdEnds(t *testing.T) {
	for _, c := range []struct {
		users  int
		levels []float64
	}{{2300, []float64{.5}}, {3800, []float64{.5}}, {2000, []float64{.5, .9, .99}}, {20_000, []float64{.5, .9, .99}}} {
		far, all, runs := int64(0), int64(0), dptest.Full(400, 20)
		for _, column := range dptest.Columns[:8] {
			sorted := column.Values(c.users)
			most := 100 * max(sorted[c.users-1], -sorted[0], 1024)
			for _, level := range c.levels {
				far += counted(t, dptest.QuantileCase{Column: column, Epsilon: 1, Levels: c.levels, Sorted: sorted}, runs, func(g *Groups[int]) bool {
					lo, hi := g.QuantileInterval(0, level, .95)
					return lo < -most && !math.IsInf(lo, 0) || hi > most && !math.IsInf(hi, 0)
				})
				all += int64(runs)
			}
		}
		least, _ := dptest.ClopperPearson(far, all, 1-1e-11)
		dptest.Alarm(t, 1e-11)
		require.LessOrEqual(t, least, .02, "%d users, %v: %d of %d", c.users, c.levels, far, all)
	}
}
