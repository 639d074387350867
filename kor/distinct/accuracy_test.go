package distinct

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/cryptotest"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/kor/internal/sets"
	"github.com/stretchr/testify/require"
)

// simulated returns a released count for n keys of a fresh seed: real keys and placement.
func simulated(t testing.TB, p Params, rng *rand.Rand, n int) *Sketch {
	p.Seed = hashing.NewSeed()
	b := builder(t, p)
	start := rng.Uint64()
	for i := range uint64(n) {
		b.Add(start + i)
	}
	return dptest.OK(b.Release())(t)
}

// answer is an estimate with what is true.
type answer struct {
	sets.Size
	truth float64
}

// windowSize is one number of Windows.
type windowSize struct {
	*Windows
	days int
}

func (w windowSize) Estimate() float64 { return w.Windows.Estimate(w.days) }
func (w windowSize) StdErr() float64   { return w.Windows.StdErr(w.days) }
func (w windowSize) Interval(confidence float64) (lo, hi float64) {
	return w.Windows.Interval(w.days, confidence)
}

// Estimates are unbiased and have the errors that StdErr, Plan or a table says, and intervals
// cover: real keys up to 10⁵, and Poisson numbers of keys in the cells beyond. Figures of n = 2048
// are those of -long.
//
// By default the mean is off by more than 7 standard errors, the mean square by more than
// 9·√(5/runs) (of squares with the kurtosis 6 of Laplace noise), and a coverage of .94 is seen
// below .94 − 3.8/√runs, with a probability below 1e-10 together.
func TestAccuracy(t *testing.T) {
	rng, fixed := rand.New(rand.NewPCG(1, 2)), false
	check := func(name string, runs int, stated []float64, draw func() []answer) {
		var sum, squares, relative, covered [13]float64
		count := 0
		for range runs {
			answers := draw()
			count = len(answers)
			for i, a := range answers {
				e := a.Estimate() - a.truth
				sum[i], squares[i] = sum[i]+e, squares[i]+e*e
				relative[i] += e * e / (a.StdErr() * a.StdErr())
				if lo, hi := a.Interval(0.95); lo <= a.truth && a.truth <= hi {
					covered[i]++
				}
			}
		}
		n := float64(runs)
		slack, limit := 9*math.Sqrt(5/n), 9*math.Sqrt(5/n)
		if fixed {
			limit = 0.06 + 4/math.Sqrt(n)
		}
		for i := range count {
			rms := math.Sqrt(squares[i] / n)
			t.Logf("%s, %d: rms %.4g, %.3f of StdErr, coverage %.3f", name, i, rms, math.Sqrt(relative[i]/n), covered[i]/n)
			dptest.Alarm(t, 1e-10)
			if !strings.HasPrefix(name, "cohorts") { // whose bounds bias them
				require.InDelta(t, 0, sum[i]/n, rms*(7/math.Sqrt(n)+0.1), "%s, %d", name, i)
			}
			require.InDelta(t, 1, relative[i]/n, slack, "%s, %d", name, i)
			require.Greater(t, covered[i]/n, 0.94-3.8/math.Sqrt(n), "%s, %d", name, i)
			if i < len(stated) {
				require.InDelta(t, 1, squares[i]/n/(stated[i]*stated[i]), limit, "%s, %d", name, i)
			}
		}
	}
	p := Params{Epsilon: 1, Cells: 64, Levels: 9}
	for _, n := range []int{0, 3, 30, 300, 2000} {
		check(fmt.Sprint(n, " keys"), 1200, []float64{planned(p).StdErr(float64(n))}, func() []answer { return []answer{{simulated(t, p, rng, n), float64(n)}} })
	}
	check("running totals", 400, []float64{planned(p).RunningStdErr(120, 1), planned(p).RunningStdErr(240, 2), planned(p).RunningStdErr(1080, 9)}, func() (all []answer) {
		p := p
		p.Seed = hashing.NewSeed()
		b := runningBuilder(t, p)
		for slot := 1; slot <= 9; slot++ {
			shard := builder(t, p)
			for range 60 {
				key := rng.Uint64()
				b.Add(key)
				shard.Add(key, key^1)
			}
			require.NoError(t, b.Merge(shard))
			if r := dptest.OK(b.Step())(t); slot < 3 || slot == 9 {
				all = append(all, answer{r, float64(120 * slot)})
			}
		}
		return all
	})
	w := Params{Epsilon: 1, Cells: 64, Levels: 6, Spans: [8]int{1, 7, 28, 40}}
	var stated []float64
	for _, days := range w.windows() {
		stated = append(stated, planned(w).WindowStdErr(float64(20*days), days))
	}
	check("windows", 300, stated, func() (all []answer) {
		w := w
		w.Seed = hashing.NewSeed()
		b := windowBuilder(t, w, 1)
		for day := 1; day <= 45; day++ {
			if day > 1 {
				require.NoError(t, b.Advance(day))
			}
			for range 20 {
				b.Add(rng.Uint64())
			}
		}
		r := dptest.OK(b.Release())(t)
		for _, days := range w.windows() {
			all = append(all, answer{windowSize{r, days}, float64(20 * days)})
		}
		return all
	})
	pairs := func(p Params, a, b, both int) func() []answer {
		return func() (all []answer) {
			pair, union := released2(t, p, rng, a-both, b-both, both), a+b-both
			truths := []int{both, a, b, union, a - both, b - both}
			for i, x := range []sets.Size{pair.Both(), pair.A(), pair.B(), pair.Either(), pair.OnlyA(), pair.OnlyB()} {
				all = append(all, answer{x, float64(truths[i])})
			}
			return append(all, answer{pair.Jaccard(), float64(both) / float64(union)})
		}
	}
	for _, c := range [][4]int{{64, 200, 200, 50}, {64, 30, 310, 10}, {256, 15, 15, 5}} {
		check(fmt.Sprint("pair ", c), 300, nil, pairs(Params{Epsilon: 1, Cells: c[0], Levels: 8}, c[1], c[2], c[3]))
	}
	check("cohorts", 200, nil, func() (all []answer) {
		c, returned, there := simulatedCohorts(t, Params{Epsilon: 1, Cells: 128, Levels: 7}, rng, 6, 1000)
		for _, at := range [][2]int{{1, 1}, {1, 2}, {1, 6}, {3, 3}, {3, 4}, {3, 6}, {6, 6}} {
			all = append(all, answer{c.Returned(at[0], at[1]), returned(at[0], at[1])})
		}
		for _, at := range [][2]int{{1, 2}, {1, 4}, {2, 3}, {2, 5}, {4, 5}, {3, 6}} {
			all = append(all, answer{c.On(at[0], at[1]), there(at[0], at[1])})
		}
		return all
	})
	if !dptest.Long() {
		return
	}
	cryptotest.SetGlobalRandom(t, 1) // limits are a few percent above what is stated
	fixed = true
	for _, c := range []struct{ share, keys, percent float64 }{
		{1, 100, 1.65}, {1, 1e4, 1.21}, {1, 1e5, 1.5}, {1, 1e6, 1.53}, {1, 1e8, 1.53}, {1, 1e9, 1.53}, {0.05, 1e6, 1.81},
	} {
		p := Params{Epsilon: 1, Cells: 2048, Levels: 22, CountShare: c.share, Seed: hashing.Seed{1}}
		check(fmt.Sprint(c.keys, " keys"), 1000, []float64{c.percent * c.keys / 100}, func() []answer {
			if c.keys <= 1e5 {
				return []answer{{simulated(t, p, rng, int(c.keys)), c.keys}}
			}
			b := builder(t, p)
			poissonKeys(b, rng, c.keys)
			return []answer{{dptest.OK(b.Release())(t), c.keys}}
		})
	}
	for _, c := range []struct {
		epsilon           float64
		cells, a, b, both int
		stated            float64
	}{{1, 2048, 20_000, 20_000, 10_000, 228}, {0.1, 2048, 1000, 1000, 300, 29.7}, {1, 2048, 2000, 100_000, 1000, 198}, {1, 32, 200, 200, 50, 24.5}} {
		check(fmt.Sprint(c), 500, []float64{c.stated}, pairs(Params{Epsilon: c.epsilon, Cells: c.cells, Levels: 22}, c.a, c.b, c.both))
	}
	// Users come first after a time that is exponential of mean 3 days, and last after one of mean
	// 5 more: 14,070 of 17,200 who are new on day 1 are back on day 2 or later, 4230 from day 8 on,
	// 1270 on day 14; and 2840 of those who are new on day 4, from day 8 on. ¾ of ε are for these.
	for epsilon, stated := range map[float64][]float64{0.2: {446, 461, 325, 591}, 1: {294, 314, 198, 250}, 4: {287, 307, 192, 227}} {
		check(fmt.Sprint("cohorts at ", epsilon), 150, stated, func() (all []answer) {
			const days, users = 14, 60_000
			on, counts := make([][]uint64, days), map[[2]int]float64{}
			asked := [][2]int{{1, 2}, {1, 8}, {1, 14}, {4, 8}}
			for user := range uint64(users) {
				first := days + 1
				for first > days {
					first = 1 + int(3*rng.ExpFloat64())
				}
				last := min(first+int(5*rng.ExpFloat64()), days)
				on[first-1], on[last-1] = append(on[first-1], user), append(on[last-1], user)
				for _, at := range asked {
					if first == at[0] && last >= at[1] {
						counts[at]++
					}
				}
			}
			c := releasedCohorts(t, Params{Epsilon: epsilon / 0.75, Cells: 2048, Levels: 22, Seed: hashing.NewSeed()}, on)
			for _, at := range asked {
				all = append(all, answer{c.Returned(at[0], at[1]), counts[at]})
			}
			return all
		})
	}
}

// An interval holds its own estimate, for tables from empty to more than full, and all noise.
func TestIntervalHoldsTheEstimate(t *testing.T) {
	for _, epsilon := range []float64{0.01, 1, 20} {
		p := Params{Epsilon: epsilon, Cells: 64, Levels: 3, Seed: hashing.Seed{1}}
		for ones := int64(-20); ones <= 64*3+40; ones += 3 {
			for _, r := range []interface {
				Estimate() float64
				Interval(float64) (lo, hi float64)
			}{&total{release{p, numbers{ones}}, 0}, &total{release{p, numbers{ones}}, 9}} {
				for _, confidence := range []float64{0, 0.5, 0.95, 1 - 0x1p-53} {
					lo, hi := r.Interval(confidence)
					e := max(r.Estimate(), 0)
					require.True(t, 0 <= lo && lo <= e && e <= hi, "ε %v, %d ones, %v: %v in [%v, %v]", epsilon, ones, confidence, e, lo, hi)
				}
			}
		}
	}
}

// figures collects errors.
type figures struct {
	squares float64
	covered int
	runs    int
}

func (f *figures) add(estimate, truth, lo, hi float64) {
	f.squares += (estimate - truth) * (estimate - truth)
	if lo <= truth && truth <= hi {
		f.covered++
	}
	f.runs++
}

func (f *figures) rmse() float64     { return math.Sqrt(f.squares / float64(f.runs)) }
func (f *figures) coverage() float64 { return float64(f.covered) / float64(f.runs) }

// poissonKeys fills the table as a large number of random keys would.
func poissonKeys(b *Builder, rng *rand.Rand, keys float64) {
	s := held(b.secret)
	for i := range s.params.Levels {
		full := -math.Expm1(-keys * rate(i, s.params.Levels) / float64(s.params.Cells))
		for j := range s.params.Cells {
			if rng.Float64() < full {
				s.table[i*s.params.stride()+j>>6] |= 1 << (j & 63)
			}
		}
	}
}

// deep returns full with -deep, else few.
func deep(full, few int) int {
	if dptest.Deep() {
		return full
	}
	return few
}
