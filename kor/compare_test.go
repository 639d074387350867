package kor

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/kor/internal/sets"
	"github.com/stretchr/testify/require"
)

// tally collects errors and coverage of an estimate.
type tally struct{ n, sum, squares, predicted, covered float64 }

func (t *tally) add(c Cardinality, truth float64) {
	e := c.Estimate() - truth
	lo, hi := c.Interval(0.95)
	t.n++
	t.sum += e
	t.squares += e * e
	t.predicted += c.StdErr()
	if lo <= truth && truth <= hi {
		t.covered++
	}
}

// check asserts a bias below a tenth of the standard deviation, a standard error that is right
// within 20 % and a coverage of 0.93, each with 7 standard errors for the simulation, and 8 for the
// coverage. Below n keys the standard error is too large, by up to the factor over.
func (t *tally) check(tb testing.TB, name string, over float64) {
	tb.Helper()
	dptest.Alarm(tb, 1e-9)
	mean, root := t.sum/t.n, math.Sqrt(t.n)
	sd := math.Sqrt(t.squares/t.n - mean*mean)
	tb.Logf("%s: bias/sd %+.3f, sd %.4g, standard error %.4g, covered %.3f", name, mean/sd, sd, t.predicted/t.n, t.covered/t.n)
	if math.Abs(mean) > sd*(0.1+7/root) {
		tb.Errorf("%s: bias of %.3f standard deviations", name, mean/sd)
	}
	if ratio, noise := t.predicted/t.n/sd, 7/root; ratio < 0.8-noise || ratio > 1.2*over+noise {
		tb.Errorf("%s: standard error %.4g, deviation %.4g", name, t.predicted/t.n, sd)
	}
	if t.covered/t.n < 0.93-8*math.Sqrt(0.93*0.07)/root {
		tb.Errorf("%s: covered %.3f", name, t.covered/t.n)
	}
}

// Union, intersection and difference of sets with a large and with a small overlap, from the
// sketches alone and with counts.
func TestUnionAndIntersection(t *testing.T) {
	runs := max(dptest.Full(3000, 100), 40)
	for _, c := range []struct {
		name         string
		share        float64
		both, a, b   uint64
		epsilon      float64
		cells, level int
	}{
		{"sketches", 0, 3000, 3000, 2000, 2, 512, 16}, {"counts", 0.1, 3000, 3000, 2000, 2, 512, 16}, {"disjoint", 0.1, 0, 2000, 1000, 1, 1024, 14},
		{"nearly equal", 0.2, 4000, 50, 20, 2, 512, 16}, {"nearly equal, sketches", 0, 4000, 50, 20, 2, 512, 16},
	} {
		var union, intersection, difference tally
		for range runs {
			p := Params{Epsilon: c.epsilon, Cells: c.cells, Levels: c.level, Seed: hashing.NewSeed(), CountShare: c.share}
			a := released(t, p, run(0, c.both+c.a)...)
			b := released(t, p, append(run(0, c.both), run(1e6, 1e6+c.b)...)...)
			c2 := dptest.OK(Compare(a, b))(t)
			u, i, d := c2.Union(), c2.Intersection(), c2.OnlyA()
			union.add(u, float64(c.both+c.a+c.b))
			intersection.add(i, float64(c.both))
			difference.add(d, float64(c.a))
			require.InDelta(t, u.Estimate()-i.Estimate(), difference2(a, b, t), 1e-6*u.Estimate())
		}
		union.check(t, c.name+", union", 1)
		intersection.check(t, c.name+", intersection", 1)
		difference.check(t, c.name+", difference", 1.2)
	}
}

// difference2 returns |A∆B|, which is |A∪B| − |A∩B|.
func difference2(a, b *Sketch, t *testing.T) float64 { return difference(t, a, b).Estimate() }

func TestStreamAlgebra(t *testing.T) {
	runs := 150
	if testing.Short() {
		runs = 40
	}
	var union, intersection, difference tally
	for range runs {
		p := Params{Epsilon: 2, Cells: 512, Levels: 16, Seed: hashing.NewSeed()}
		a := releasedStream(t, p, append(run(0, 4000), run(0, 500)...)...)
		b := releasedStream(t, p, append(run(2000, 5000), 2000, 2000, 2001)...)
		u := dptest.OK(a.Union(b))(t)
		require.Equal(t, 2, u.Releases())
		require.Equal(t, 4.0, u.Guarantee().EpsilonAt(0))
		c := dptest.OK(CompareStreams(a, b))(t)
		require.InDelta(t, u.Estimate(), c.Union().Estimate(), 1e-9)
		union.add(c.Union(), 5000)
		intersection.add(c.Intersection(), 2000)
		difference.add(c.OnlyA(), 2000)
	}
	union.check(t, "union", 1)
	intersection.check(t, "intersection", 1)
	difference.check(t, "difference", 1)
}

// The maximum of the likelihood can lie past the last point of the grid, x = 2^{L+2}: the upper end
// is beyond it, not before.
func TestIntervalPastTheGrid(t *testing.T) {
	for _, levels := range []int{1, 4, 16} {
		const cells = 1 << 30
		l := likelihood{law: setLaw(math.Log(math.Tanh(10)), cells, levels)}
		x := 1.1 * math.Exp2(float64(levels+pastEnd))
		for i := range levels {
			l.ones[i] = int(cells / 2 * -math.Expm1(-x*rate(i)))
		}
		size := x * cells
		for _, confidence := range []float64{0.01, 0.5, 0.9, 0.99} {
			lo, hi := l.interval(confidence)
			require.True(t, lo <= size && size <= hi, "%d levels, %v: %v not in [%v, %v]", levels, confidence, size, lo, hi)
			if z, sd := normalQuantile(confidence), l.stdErr(size); z > 1 {
				require.InEpsilon(t, 2*z*sd, hi-lo, 0.2)
			}
		}
	}
}

// fixed is a size with these answers.
type fixed [4]float64

func (f fixed) Estimate() float64                         { return f[0] }
func (f fixed) Interval(float64) (lo float64, hi float64) { return f[1], f[2] }
func (f fixed) StdErr() float64                           { return f[3] }

// The JSON of a comparison is its four sizes, and of what is not known or not bounded null.
func TestSizesHaveJSON(t *testing.T) {
	c := Comparison{[4]sets.Size{fixed{8, 5, 9, 1}, fixed{-1, 0, 2, 3}, fixed{math.NaN(), 4, math.Inf(1), math.Inf(1)}}}
	const first = `{"estimate":8,"low":5,"high":9,"stdErr":1}`
	const none = `{"estimate":null,"low":null,"high":null,"stdErr":null}`
	const want = `{"union":` + first + `,"intersection":{"estimate":-1,"low":0,"high":2,"stdErr":3},` +
		`"onlyA":{"estimate":null,"low":4,"high":null,"stdErr":null},"onlyB":` + none + `}`
	require.Equal(t, want, string(dptest.OK(json.Marshal(c))(t)))
	require.Equal(t, want, string(dptest.OK(json.Marshal(&c))(t)))
	require.Equal(t, first, string(dptest.OK(json.Marshal(c.Union()))(t)))
	require.Equal(t, none, string(dptest.OK(json.Marshal(Cardinality{}))(t)))
}
