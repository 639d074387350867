package threshold

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/limits"
	"github.com/dpsketch/dpsketch/noise/budget"
)

func TestInvalidParams(t *testing.T) {
	good := Params{Epsilon: 1, Delta: 1e-6}
	users := Params{Epsilon: 1, Delta: 1e-6, MaxKeys: 3}
	nan, inf, tiny := math.NaN(), math.Inf(1), math.SmallestNonzeroFloat64
	bad := map[string][]Params{}
	set := func(field string, base Params, change func(*Params)) {
		change(&base)
		bad[field] = append(bad[field], base)
	}
	for _, x := range []float64{0, -1, nan, inf, -inf, tiny, 0x1p-31, 1025} {
		set("Epsilon", good, func(p *Params) { p.Epsilon = x })
	}
	for _, x := range []float64{-1, -tiny, nan, inf, tiny, 1e-301, 1, 2} {
		set("Delta", good, func(p *Params) { p.Delta = x })
	}
	for _, x := range []float64{-1, nan, inf, -inf, tiny, 0x1p-201, 0x1p201} {
		set("Sensitivity", good, func(p *Params) { p.Sensitivity = x })
		set("MaxValue", users, func(p *Params) { p.MaxValue = x })
		set("FalseKeys", Params{Epsilon: 1, Dim: 100}, func(p *Params) { p.FalseKeys = map[bool]float64{true: x, false: 26}[!(x >= 0 && x < 25)] })
	}
	for _, x := range []float64{0.5, 1.5, 0x1p31} {
		set("Sensitivity", good, func(p *Params) { p.Integers, p.Sensitivity = true, x })
		set("MaxValue", users, func(p *Params) { p.Integers, p.MaxValue = true, x })
	}
	for _, x := range []int{-1, math.MinInt, 1<<20 + 1, math.MaxInt} {
		set("MaxKeys", good, func(p *Params) { p.MaxKeys = x })
		set("Stored", good, func(p *Params) { p.Stored = x })
	}
	set("MaxValue", good, func(p *Params) { p.MaxValue = 1 })
	set("Dim", good, func(p *Params) { p.Delta = 0 })
	set("FalseKeys", good, func(p *Params) { p.FalseKeys = 1 })
	for _, r := range []budget.Relation{3, 4, 200} {
		set("Relation", users, func(p *Params) { p.Relation = r })
	}
	for _, r := range []budget.Relation{budget.AddRemove, budget.Replace} { // without users
		set("Relation", good, func(p *Params) { p.Relation = r })
	}
	set("Method", good, func(p *Params) { p.Method = lastMethod + 1 })
	// Mechanisms that the rest of the Params do not allow.
	for _, m := range []Method{PureLaplace, DenseLaplace, Laplace, Gaussian, CorrelatedGaussian} {
		set("Method", good, func(p *Params) { p.Method = m })
	}
	set("Method", Params{Epsilon: 1, Dim: 10}, func(p *Params) { p.Method = ExponentialRounding })
	set("Method", Params{Epsilon: 1, Dim: maxDense + 1}, func(p *Params) { p.Method = DenseLaplace })
	set("Method", users, func(p *Params) { p.Method = CorrelatedGaussian })
	for field, list := range bad {
		for _, p := range list {
			_, err := build[int](p)
			require.ErrorIs(t, err, ErrParams, "%+v", p)
			require.Contains(t, err.Error(), "threshold: "+field+" = ", "%+v", p)
			require.True(t, math.IsNaN(p.Threshold()) && math.IsNaN(p.StdDev()) && math.IsNaN(p.ErrorBound(1, 0.9)), "%+v", p)
			require.False(t, p.Guarantee().Promises(), "%+v", p)
			require.Zero(t, p.Size(1), "%+v", p)
			_, err = p.Candidates()
			require.True(t, err != nil || field == "Method", "%+v", p)
			if explained := p.Explain(); !strings.Contains(explained, "not possible") {
				require.Contains(t, explained, field)
			}
		}
	}
}

// The key type must hold all keys of Dim.
func TestKeyTypes(t *testing.T) {
	p := func(dim uint64) Params { return Params{Epsilon: 1, Delta: 1e-6, Dim: dim} }
	_, err := build[string](p(5))
	require.ErrorIs(t, err, ErrParams)
	_, err = build[int64](p(1 << 63))
	require.NoError(t, err)
	for _, dim := range []uint64{1<<63 + 1, math.MaxUint64} {
		_, err = build[int64](p(dim))
		require.ErrorIs(t, err, ErrParams)
	}
	_, err = build[int32](p(1 << 31))
	require.NoError(t, err)
	for _, dim := range []uint64{1<<31 + 1, math.MaxUint64} {
		_, err = build[int32](p(dim))
		require.ErrorIs(t, err, ErrParams)
	}
	_, err = build[uint32](p(1<<32 + 1))
	require.ErrorIs(t, err, ErrParams)
}

// The table of the README: δ = 1e-6, real values under ℓ₁.
func TestThresholdTable(t *testing.T) {
	for _, row := range []struct{ epsilon, classic, linear, exponential float64 }{
		{0.1, 140.2, 118.2, 108.8}, {0.5, 29.6, 26.9, 25.4}, {1, 15.8, 14.1, 13.7}, {2, 8.9, 7.6, 7.5},
	} {
		p := Params{Epsilon: row.epsilon, Delta: 1e-6}
		require.InDelta(t, row.exponential, p.Threshold(), 0.05)
		closed := math.Log(math.Expm1(row.epsilon)/(2e-6*-math.Expm1(-5))) / row.epsilon
		require.InEpsilon(t, closed, p.Threshold(), 1e-4, "the closed form, but for the grid")
		p.Method = LinearRounding
		require.InDelta(t, row.linear, p.Threshold(), 0.05)
		// Algorithm 9 as printed, ln(1/δ)/ε + 2
		require.InDelta(t, row.classic, 2-math.Log(1e-6)/row.epsilon, 0.05)
	}
	// Integers: the least integer T of the closed form for discrete noise.
	for _, epsilon := range []float64{0.1, 0.5, 1, 2} {
		r := math.Round(5 / epsilon)
		closed := math.Log(math.Expm1(epsilon)/(1e-6*(1+math.Exp(-epsilon))*-math.Expm1(-epsilon*r))) / epsilon
		require.Equal(t, math.Ceil(closed), Params{Epsilon: epsilon, Delta: 1e-6, Integers: true}.Threshold())
	}
	// Pure: 2·ln(d)/ε by default, ln(d/(2·false))/ε for a number of false keys.
	d := float64(1 << 40)
	require.InEpsilon(t, 2*math.Log(d), Params{Epsilon: 1, Dim: 1 << 40}.Threshold(), 1e-4)
	require.InEpsilon(t, math.Log(d/6)/0.5, Params{Epsilon: 0.5, Dim: 1 << 40, FalseKeys: 3}.Threshold(), 1e-4)
	require.InEpsilon(t, math.Log(d/3)/0.5, Params{Epsilon: 0.5, Dim: 1 << 40, FalseKeys: 3, Signed: true}.Threshold(), 1e-4)
}

// The thresholds for users of many keys: never above the exact column of the reference.
func TestUserTable(t *testing.T) {
	for _, row := range []struct {
		keys          int
		sigma, atMost float64
	}{{1, 4.22, 21.1}, {3, 7.32, 37.4}, {10, 13.4, 70.5}, {50, 29.9, 165}, {500, 94.5, 557}} {
		p := Params{Epsilon: 1, Delta: 1e-6, MaxKeys: row.keys}
		require.LessOrEqual(t, p.Threshold(), row.atMost*(1+3e-4), "the reference gives three digits")
		p.Method = Gaussian
		require.InDelta(t, row.atMost, p.Threshold(), 0.001*row.atMost)
		require.InEpsilon(t, row.sigma, p.StdDev(), 0.004) // the reference gives three digits
	}
}

// A unit of the data is a unit: everything scales with Sensitivity and MaxValue, by powers of two
// exactly.
func TestScaling(t *testing.T) {
	for _, p := range []Params{
		{Epsilon: 0.7, Delta: 1e-8},
		{Epsilon: 0.7, Delta: 1e-8, MaxKeys: 2, Relation: budget.Replace},
		{Epsilon: 0.7, Dim: 1 << 50},
		{Epsilon: 0.7, Delta: 1e-8, MaxKeys: 7},
		{Epsilon: 0.7, Delta: 1e-8, MaxKeys: 7, Method: Gaussian},
	} {
		scaled := p
		if p.MaxKeys > 0 {
			scaled.MaxValue = 0x1p-20
		} else {
			scaled.Sensitivity = 0x1p-20
		}
		require.Equal(t, p.Threshold()*0x1p-20, scaled.Threshold(), "%+v", p)
		require.Equal(t, p.StdDev()*0x1p-20, scaled.StdDev())
		require.InEpsilon(t, p.ErrorBound(10, 0.99)*0x1p-20, scaled.ErrorBound(10, 0.99), 1e-12)
	}
}

// The scale covers what rounding to the grid adds: rounding at random makes e^{1/b} − 1 of a step's
// share of ε, rounding users' values moves each of their totals by up to a step more.
func TestScaleCoversRounding(t *testing.T) {
	for _, epsilon := range []float64{0.01, 1, 20} {
		for _, m := range []Method{ExponentialRounding, LinearRounding} {
			p := Params{Epsilon: epsilon, Delta: 1e-8, Sensitivity: 3, Method: m}
			c, err := p.choose()
			require.NoError(t, err)
			require.LessOrEqual(t, math.Expm1(1/c.scale)*3/c.step, epsilon)
			require.InEpsilon(t, epsilon, math.Expm1(1/c.scale)*3/c.step, 1e-12)
		}
		p := Params{Epsilon: epsilon, Delta: 1e-8, MaxKeys: 5, MaxValue: 0.7, Method: Laplace}
		for users, relation := range map[float64]budget.Relation{1: budget.AddRemove, 2: budget.Replace} {
			p.Relation = relation
			c, err := p.choose()
			require.NoError(t, err)
			keys := 5 * users
			require.GreaterOrEqual(t, c.scale*epsilon, min(keys*0.7/c.step+keys, keys*math.Ceil(0.7/c.step))*(1-1e-15))
		}
		p = Params{Epsilon: epsilon, Delta: 1e-8, MaxKeys: 5, MaxValue: 0.7, Sensitivity: 1, Method: Laplace}
		c, err := p.choose()
		require.NoError(t, err)
		require.GreaterOrEqual(t, c.scale*epsilon, (1/c.step+5)*(1-1e-15))
	}
}

// Extremes: every valid corner gives finite numbers, thresholds monotone in δ, ε and what a user
// can change.
func TestThresholdExtremes(t *testing.T) {
	for _, epsilon := range []float64{limits.MinEpsilon, 1e-3, 1, 30, limits.MaxEpsilon} {
		for _, base := range []Params{{}, {Integers: true}, {Signed: true, Sensitivity: 0x1p-200}, {Sensitivity: 0x1p200}} {
			for _, m := range []Method{ExponentialRounding, LinearRounding} {
				last := 0.0
				for _, delta := range []float64{1 - 0x1p-53, 0.9, 0.1, 1e-6, 1e-30, limits.MinDelta} {
					p := base
					p.Epsilon, p.Delta, p.Method = epsilon, delta, m
					got := p.Threshold()
					require.False(t, math.IsNaN(got) || math.IsInf(got, 0), "%+v", p)
					require.GreaterOrEqual(t, got, last, "%+v", p)
					require.GreaterOrEqual(t, p.ErrorBound(100, 0.999), got)
					require.GreaterOrEqual(t, p.StdDev(), 0.0)
					last = got
				}
			}
		}
		for _, dim := range []uint64{1, 2, math.MaxUint64} {
			p := Params{Epsilon: epsilon, Dim: dim}
			require.Greater(t, p.Threshold(), 0.0)
			require.GreaterOrEqual(t, p.ErrorBound(1, 0.9), p.Threshold())
		}
	}
	require.True(t, math.IsNaN(Params{Epsilon: 1, Delta: 1e-6}.ErrorBound(1, 1)))
	require.True(t, math.IsNaN(Params{Epsilon: 1, Delta: 1e-6}.ErrorBound(-1, 0.5)))
	require.Equal(t, fixedSize+160, Params{Epsilon: 1, Delta: 1e-6}.Size(10))
}

// The choice is the least threshold of those possible, and is reported.
func TestChoice(t *testing.T) {
	for _, row := range []struct {
		p    Params
		want Method
	}{
		{Params{Epsilon: 1, Delta: 1e-6}, ExponentialRounding},
		{Params{Epsilon: 1, Delta: 1e-6, Dim: 4}, ExponentialRounding},
		{Params{Epsilon: 1, Dim: 4}, PureLaplace},
		{Params{Epsilon: 1, Delta: 1e-6, MaxKeys: 1}, ExponentialRounding},
		{Params{Epsilon: 1, Delta: 1e-6, MaxKeys: 10}, Gaussian},
		{Params{Epsilon: 1, Delta: 1e-6, MaxKeys: 64, Stored: 64}, CorrelatedGaussian},
		{Params{Epsilon: 1, Delta: 1e-6, MaxKeys: 64, Stored: 64, Signed: true}, Gaussian},
		{Params{Epsilon: 1, Delta: 1e-6, MaxKeys: 64, Stored: 64, Relation: budget.Replace}, Gaussian},
		{Params{Epsilon: 1, Delta: 1e-6, MaxKeys: 64, Signed: true, Relation: budget.Replace}, Gaussian},
		{Params{Epsilon: 1, Delta: 1e-6, MaxKeys: 64, Dim: 64}, CorrelatedGaussian},
	} {
		b, err := build[int](row.p)
		require.NoError(t, err)
		v, err := b.Release()
		require.NoError(t, err)
		require.Equal(t, row.want, v.Params().Method, "%+v", row.p)
		require.Contains(t, v.String(), row.want.String())
		require.True(t, strings.HasPrefix(row.p.Explain(), row.want.String()), row.p.Explain())
		list, err := row.p.Candidates()
		require.NoError(t, err)
		require.Len(t, list, int(lastMethod))
		require.Equal(t, row.want, list[0].Method)
		for i, c := range list {
			require.NotEmpty(t, c.String())
			if c.Reason != "" {
				require.True(t, math.IsNaN(c.Threshold))
				continue
			}
			if i > 0 && testing.Short() {
				break
			}
			byName := row.p
			byName.Method = c.Method
			require.Equal(t, c.Threshold, byName.Threshold())
			require.Equal(t, c.StdDev, byName.StdDev())
			if !c.Method.pure() {
				require.GreaterOrEqual(t, c.Threshold, list[0].Threshold, i)
			}
		}
	}
	require.Equal(t, "Method(77)", Method(77).String())
}

// Auto chooses nothing whose guarantee has a condition that the unit does not state, also where it
// has the least threshold: LinearRounding of real values, ε far above 1.
func TestAutoHasNoConditionOfItsOwn(t *testing.T) {
	for _, epsilon := range []float64{1, 8, 30, 300} {
		for _, delta := range []float64{0.3, 1e-6, 1e-30} {
			p := Params{Epsilon: epsilon, Delta: delta, Sensitivity: 0.7}
			list, err := p.Candidates()
			require.NoError(t, err)
			require.Equal(t, ExponentialRounding, list[0].Method)
			b, err := build[int](p)
			require.NoError(t, err)
			require.Equal(t, ExponentialRounding, inside(b.secret).params.Method)
			p.Method = LinearRounding
			if epsilon >= 8 && delta < 0.1 {
				require.Less(t, p.Threshold(), list[0].Threshold)
			}
			require.Less(t, list[0].Threshold, p.Threshold()+0.02*p.Sensitivity/epsilon, "it costs next to nothing")
		}
	}
}

// Guarantees: the unit of the Params, pure where the mechanism is; the same for the Params, a
// Builder and what it releases.
func TestGuarantee(t *testing.T) {
	for _, c := range []struct {
		p    Params
		want budget.Guarantee
	}{
		{Params{Epsilon: 1, Delta: 1e-6}, budget.ApproxDP(1, 1e-6, budget.L1(1))},
		{Params{Epsilon: 1, Delta: 1e-6, Sensitivity: 2.5}, budget.ApproxDP(1, 1e-6, budget.L1(2.5))},
		{Params{Epsilon: 1, Delta: 1e-6, MaxKeys: 2}, budget.ApproxDP(1, 1e-6, budget.User(2, budget.AddRemove))},
		{Params{Epsilon: 1, Delta: 1e-6, MaxKeys: 2, Sensitivity: 0.5}, budget.ApproxDP(1, 1e-6, budget.User(2, budget.AddRemove))},
		{Params{Epsilon: 1, Delta: 1e-6, MaxKeys: 3, Relation: budget.Replace}, budget.ApproxDP(1, 1e-6, budget.User(3, budget.Replace))},
		{Params{Epsilon: 2, Dim: 7}, budget.PureDP(2, budget.L1(1))},
		{Params{Epsilon: 2, Delta: 1e-6, Dim: 7, Method: PureLaplace}, budget.PureDP(2, budget.L1(1))},
		{Params{Epsilon: 2, Delta: 1e-6, Dim: 7}, budget.ApproxDP(2, 1e-6, budget.L1(1))},
	} {
		require.Equal(t, c.want.String(), c.p.Guarantee().String(), "%+v", c.p)
		b, err := build[int](c.p)
		require.NoError(t, err)
		v, err := b.Release()
		require.NoError(t, err)
		require.True(t, c.p.Guarantee().Equal(b.Guarantee()) && c.p.Guarantee().Equal(v.Guarantee()), "%+v", c.p)
	}
	require.False(t, new(Builder[int]).Guarantee().Promises())
	require.False(t, new(Vector[int]).Guarantee().Promises())
}

// A Builder knows nothing of users: what would add one is an error when compiling, and not a key
// that is silently cut.
func TestNoUsers(t *testing.T) {
	_, adds := any(new(Builder[string])).(interface{ AddUser(...string) })
	require.False(t, adds, "a Builder bounds nobody")
}

// Replace is the change of two users, and Signed values can go from one side to the other.
func TestReplaceIsTwoUsers(t *testing.T) {
	for _, m := range []Method{ExponentialRounding, Laplace} {
		one := Params{Epsilon: 1, Delta: 1e-6, MaxKeys: 3, MaxValue: 2, Integers: true, Method: m}
		two := one
		two.Relation = budget.Replace
		c1, _ := one.choose()
		c2, _ := two.choose()
		require.Equal(t, 2*c1.scale, c2.scale, fmt.Sprint(m))
		require.Greater(t, two.Threshold(), one.Threshold())
	}
	// Of normal noise the unit is the most by which a value changes: twice MaxValue if Signed.
	one := Params{Epsilon: 1, Delta: 1e-6, MaxKeys: 6, Signed: true, Method: Gaussian}
	two := Params{Epsilon: 1, Delta: 1e-6, MaxKeys: 3, Signed: true, Method: Gaussian, Relation: budget.Replace}
	require.Equal(t, 2*one.Threshold(), two.Threshold())
	require.Equal(t, 2*one.StdDev(), two.StdDev())
}
