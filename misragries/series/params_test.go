package series

import (
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise/budget"
)

var plain = Params{Epsilon: 1, Delta: 1e-6}

func spansOf(spans ...int) (all [maxSpans]int) {
	copy(all[:], spans)
	return all
}

// The thresholds of one to five discovery spans at ε = 1, δ = 1e-6.
func TestThresholds(t *testing.T) {
	spans := []int{4, 24, 168, 672, 1344}
	for n, want := range []float64{15, 30, 45, 60, 76} {
		p := plain
		p.Discovery = spansOf(spans[:n+1]...)
		require.Equal(t, want, dptest.OK(p.Plan())(t).Threshold)
	}
	sketched := plain
	sketched.Counters, sketched.Discovery = 1024, spansOf(24)
	require.Equal(t, 17., dptest.OK(sketched.Plan())(t).Threshold)
	users := plain
	users.MaxElements = 20
	plan := dptest.OK(users.Plan())(t)
	require.Equal(t, 2231., plan.Threshold)
	// the table of the page
	for steps, want := range map[int]float64{1: 228, 24: 527, 168: 677, 720: 782} {
		require.InDelta(t, want, plan.StdErr(steps), 0.5)
	}
	require.Zero(t, dptest.OK((Params{Epsilon: 1, Dim: 3}).Plan())(t).Threshold)
	require.ErrorIs(t, dptest.Err(Params{}.Plan()), ErrParams)
}

// Standard errors of windows by least squares, in units of the noise of the whole ε: the table of
// the package's documentation.
func TestStdErr(t *testing.T) {
	for _, c := range []struct {
		spans []int
		want  [4]float64 // 1, 24, 168, 720 steps
	}{
		{[]int{1, 4, 24, 168}, [4]float64{1.95, 4.51, 5.80, 6.69}},
		{[]int{1, 24, 168}, [4]float64{1.73, 6.89, 7.67, 8.21}},
		{[]int{1, 24, 168, 672}, [4]float64{2.00, 7.96, 8.86, 9.25}},
		{[]int{1, 2, 4, 8, 16, 32, 64, 128}, [4]float64{}},
	} {
		p := plain
		p.Spans = spansOf(c.spans...)
		plan := dptest.OK(p.Plan())(t)
		unit := plan.StdDev / math.Sqrt(float64(len(c.spans)))
		for i, n := range []int{1, 24, 168, 720} {
			got := plan.StdErr(n) / unit
			if c.want[i] > 0 {
				require.InEpsilon(t, c.want[i], got, 0.005, "%v, %d steps", c.spans, n)
			}
			require.Less(t, got, 12.)
		}
	}
	require.InDelta(t, math.Sqrt(1/(2*math.Pow(math.Sinh(1./8), 2))), dptest.OK(plain.Plan())(t).StdDev, 1e-12)
	for _, n := range []int{0, -1, maxSpan + 1} {
		require.True(t, math.IsNaN(dptest.OK(plain.Plan())(t).StdErr(n)))
	}
	require.True(t, math.IsNaN(Plan{}.StdErr(1)))
	require.Equal(t, "standard errors 5.5, 12.7 and 16.3 for 1, 24 and 168 steps; unknown keys are shown from a noisy count of 45", dptest.OK(plain.Plan())(t).String())
}

// Some positions stand for all: the stated error is that of a loop over every one, and the longest
// spans take less than a second.
func TestStdErrOfLongSpans(t *testing.T) {
	for _, spans := range [][]int{{1, 4, 24, 168, 8736}, {1, 2, 6, 3000, 9000}, {1, 1 << 11}, {1, 8, 1 << 12}} {
		p := plain
		p.Spans = spansOf(spans...)
		plan, longest := dptest.OK(p.Plan())(t), spans[len(spans)-1]
		for _, steps := range []int{1, 24, 168, longest / 2} {
			sum := 0.0
			for at := 1; at <= longest; at++ {
				now := longest + at
				f := leastSquares{spans: spans, vars: wholes(spans), until: now, from: now - steps, to: now}
				sum += f.window().partVar
			}
			require.InEpsilon(t, math.Sqrt(sum/float64(longest))*plan.StdDev, plan.StdErr(steps), 0.002, "%v, %d steps", spans, steps)
		}
	}
	p := plain
	p.Spans = spansOf(1, maxSpan)
	plan, start := dptest.OK(p.Plan())(t), time.Now()
	require.InEpsilon(t, math.Sqrt(1000), plan.StdErr(1000)/plan.StdDev, 0.01)
	require.Less(t, time.Since(start), 5*time.Second)
}

// The ε and δ that are spent sum up to no more than those of the Params, in exact arithmetic.
func TestSharesAreRoundedDown(t *testing.T) {
	rat := func(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }
	many := func(n int, x *big.Rat) *big.Rat { return new(big.Rat).Mul(big.NewRat(int64(n), 1), x) }
	for _, p := range []Params{
		plain, {Epsilon: 0.1, Delta: 1e-9}, {Epsilon: 7, Delta: 0.3}, {Epsilon: 0.1, Delta: 0.9}, {Epsilon: 1.0 / 3, Delta: 1e-300, Spans: spansOf(1, 3, 9), Discovery: spansOf(1, 5)},
		{Epsilon: 700, Delta: 1e-12, MaxElements: 7}, {Epsilon: 3, Delta: 1e-6, MaxElements: 1000}, {Epsilon: 300, Delta: 1e-100, MaxElements: 3},
		{Epsilon: 2, Delta: 1e-6, MaxElements: 3, Burst: 100}, {Epsilon: 2, Delta: 1e-6, MaxElements: 300, Burst: 1},
		{Epsilon: 1, Delta: 1e-6, Counters: 64}, {Epsilon: 0.3, Delta: 1e-6, Counters: 2, MaxElements: 10},
	} {
		p = p.normal()
		c := dptest.OK(p.calibrate())(t)
		// elements that move, and those of them that may show a key
		group, larger := max(2*p.Burst+p.MaxElements, 1), max(p.Burst+p.MaxElements, 1)
		if p.Counters > 0 {
			larger = group
		}
		inverse := new(big.Rat).Inv(rat(c.known.Scale()))
		require.LessOrEqual(t, many(group*len(used(&p.Spans)), inverse).Cmp(rat(p.Epsilon)), 0)
		shares := len(used(&p.Discovery))
		each, delta := new(big.Rat), 0.0
		if p.Counters > 0 {
			each, delta = rat(c.sketch.Epsilon), c.sketch.Delta
			require.True(t, c.sketch.Guarantee().Unit() == budget.Element(budget.AddRemove))
		} else {
			each = new(big.Rat).Inv(rat(c.found.Scale()))
			delta = c.found.Survival(float64(c.threshold)-2) * (1 + 1e-14)
			require.LessOrEqual(t, delta, -math.Expm1(-1/c.found.Scale()), "η ≤ 1 − q")
			if lower := c.found.Survival(float64(c.threshold) - 3); c.threshold > 2 {
				_, one := p.element()
				require.Greater(t, lower, min(one/float64(shares), -math.Expm1(-1/c.found.Scale()))*(1-1e-6), "no threshold is higher than it must be")
			}
		}
		require.LessOrEqual(t, many(group*shares, each).Cmp(rat(p.Epsilon)), 0)
		// the group: Σ e^(i·ε₁), i < n, at 200 bits by its own series
		e1, _ := p.element()
		sum := new(big.Float).SetPrec(300)
		for i := range larger {
			sum.Add(sum, bigExp(float64(i)*e1))
		}
		sum.Mul(sum, new(big.Float).SetPrec(300).SetFloat64(delta*float64(shares)))
		require.LessOrEqual(t, sum.Cmp(new(big.Float).SetPrec(300).SetFloat64(p.Delta*(1+1e-9))), 0, "%+v", p)
	}
}

// bigExp returns e^x for x ≥ 0.
func bigExp(x float64) *big.Float {
	prec := uint(1700)
	term, sum := new(big.Float).SetPrec(prec).SetInt64(1), new(big.Float).SetPrec(prec)
	y := new(big.Float).SetPrec(prec).SetFloat64(x / 1024)
	for i := 1; i < 120; i++ {
		sum.Add(sum, term)
		term.Quo(term.Mul(term, y), new(big.Float).SetInt64(int64(i)))
	}
	for range 10 {
		sum.Mul(sum, sum)
	}
	return sum
}

func TestInvalidParams(t *testing.T) {
	dptest.Params(t, "series", plain, map[string][]any{
		"Epsilon":     {0, -1, 1025},
		"Delta":       {0, -1, 1},
		"Spans":       {spansOf(2, 4), spansOf(1, 4, 6), spansOf(1, 4, 4), spansOf(1, 1), spansOf(1, 0, 4), spansOf(1, -4), spansOf(0, 4), spansOf(1, 1<<21)},
		"Discovery":   {spansOf(-1), spansOf(5, 7), spansOf(0, 7)},
		"Counters":    {-1, maxCounters + 1},
		"MaxKnown":    {-1, maxKnown + 1},
		"Retire":      {-1, maxRetire + 1},
		"MaxElements": {-1, maxElements + 1},
		"Burst":       {-1, 1, maxElements + 1},
		"Dim":         {-1, 5, maxElements + 1},
	}, map[string]func(Params) error{
		"New": func(p Params) error {
			b, err := New[int](p)
			require.Equal(t, err == nil, p.Guarantee().Promises())
			require.True(t, b == nil || b.Guarantee().Equal(p.Guarantee()))
			return err
		},
		"NewTimeline": func(p Params) error { return dptest.Err(NewTimeline[int](p)) },
		"Plan":        func(p Params) error { return dptest.Err(p.Plan()) },
	})
	for _, p := range []Params{
		{Epsilon: 1, Dim: 5, Delta: 1e-6}, {Epsilon: 1, Dim: 5, Discovery: spansOf(24)}, {Epsilon: 1, Dim: 5, Counters: 3}, {Epsilon: 1, Dim: 5, MaxKnown: 3}, {Epsilon: 1, Dim: 5, Retire: 3},
		{Epsilon: 0x1p-30, Delta: 1e-6, MaxElements: maxElements, Spans: spansOf(1, 2, 4, 8)}, {Epsilon: 1024, Delta: 1e-290, MaxElements: 2}, {Epsilon: 1, Delta: 1e-6, MaxElements: 2, Burst: -1},
	} {
		require.ErrorIs(t, dptest.Err(New[int](p)), ErrParams, "%+v", p)
		require.Equal(t, budget.Guarantee{}, p.Guarantee())
	}
	require.ErrorIs(t, dptest.Err(New[string](Params{Epsilon: 1, Dim: 5})), ErrParams)
	for _, p := range []Params{
		{Epsilon: 1024, Delta: 0.999}, {Epsilon: 0x1p-30, Delta: 1e-300}, {Epsilon: 1, Dim: 1, Delta: math.Copysign(0, -1)},
		{Epsilon: 1, Delta: 1e-6, Spans: spansOf(1, 2, 4, 8, 16, 32, 64, 1<<20), Discovery: spansOf(1, 2, 4, 8, 16, 32, 64, 1<<20)},
	} {
		s := dptest.OK(dptest.OK(New[int](p))(t).Step())(t)
		again, _ := dptest.RoundTrip(t, s)
		require.Equal(t, s, again)
	}
}
