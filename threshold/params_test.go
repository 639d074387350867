package threshold

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/sparse"
	"github.com/dpsketch/dpsketch/noise/budget"
)

func TestInvalidParams(t *testing.T) {
	good := Params{Epsilon: 1, Delta: 1e-6}
	users, pure, integers := good, Params{Epsilon: 1, Dim: 100}, good
	users.MaxKeys, integers.Integers = 3, true
	usersIntegers := users
	usersIntegers.Integers = true
	const tiny = math.SmallestNonzeroFloat64
	lengths := []any{-1, tiny, 0x1p-201, 0x1p201}
	numbers := []any{-1, math.MinInt, 1<<20 + 1, math.MaxInt}
	fractions := []any{0.5, 1.5, 0x1p31}
	for _, c := range []struct {
		valid Params
		bad   map[string][]any
	}{
		{good, map[string][]any{
			"Epsilon": {0, -1, tiny, 0x1p-31, 1025}, "Delta": {-1, -tiny, tiny, 1e-301, 1, 2}, "Sensitivity": lengths, "MaxKeys": numbers, "Stored": numbers,
			// without users, or Dim
			"MaxValue": {1}, "FalseKeys": {1}, "Relation": {budget.AddRemove, budget.Replace},
			"Method": {DenseLaplace + 1, PureLaplace, DenseLaplace, Laplace, Gaussian, CorrelatedGaussian},
		}},
		{users, map[string][]any{"MaxValue": lengths, "Relation": {3, 4, 200}, "Method": {CorrelatedGaussian}}},
		{pure, map[string][]any{"FalseKeys": {-1, 26}, "Method": {ExponentialRounding}}},
		{integers, map[string][]any{"Sensitivity": fractions}},
		{usersIntegers, map[string][]any{"MaxValue": fractions}},
	} {
		dptest.Params(t, "threshold", c.valid, c.bad, map[string]func(Params) error{
			"New": func(p Params) error { return dptest.Err(build[int](p)) },
			"Plan": func(p Params) error {
				plan, err := p.Plan()
				require.Equal(t, err == nil, p.Guarantee().Promises())
				require.Equal(t, err != nil, math.IsNaN(plan.ErrorBound(1, 0.9)))
				return err
			},
		})
	}
	require.ErrorContains(t, dptest.Err(New[int](Params{Epsilon: 1})), "threshold: Dim = ")
	require.ErrorContains(t, dptest.Err(New[int](Params{Epsilon: 1, Dim: 1<<26 + 1, Method: DenseLaplace})), "threshold: Method = ")
}

// The key type must hold all keys of Dim.
func TestKeyTypes(t *testing.T) {
	p := func(dim uint64) Params { return Params{Epsilon: 1, Delta: 1e-6, Dim: dim} }
	require.ErrorIs(t, dptest.Err(build[string](p(5))), ErrParams)
	dptest.OK(build[int64](p(1 << 63)))(t)
	for _, dim := range []uint64{1<<63 + 1, math.MaxUint64} {
		require.ErrorIs(t, dptest.Err(build[int64](p(dim))), ErrParams)
	}
	dptest.OK(build[int32](p(1 << 31)))(t)
	for _, dim := range []uint64{1<<31 + 1, math.MaxUint64} {
		require.ErrorIs(t, dptest.Err(build[int32](p(dim))), ErrParams)
	}
	require.ErrorIs(t, dptest.Err(build[uint32](p(1<<32+1))), ErrParams)
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
		b := dptest.OK(build[int](row.p))(t)
		v := dptest.OK(b.Release())(t)
		require.Equal(t, row.want, v.Params().Method, "%+v", row.p)
		require.Contains(t, v.String(), row.want.String())
		plan := dptest.OK(row.p.Plan())(t)
		list := plan.Candidates
		require.Len(t, list, int(DenseLaplace))
		require.Equal(t, row.want, plan.Params.Method)
		require.Equal(t, list[0].Threshold, plan.Threshold)
		require.Equal(t, list[0].StdDev, plan.StdDev)
		require.Equal(t, v.ErrorBound(7, 0.9), plan.ErrorBound(7, 0.9))
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
			named := dptest.OK(byName.Plan())(t)
			require.Equal(t, c.Threshold, named.Threshold)
			require.Equal(t, c.StdDev, named.StdDev)
			if c.Method < PureLaplace {
				require.GreaterOrEqual(t, c.Threshold, list[0].Threshold, i)
			}
		}
	}
	require.Equal(t, "Method(77)", Method(77).String())
}

// Plan fills in what a field of 0 stands for, and the constants are those of package sparse.
func TestPlanFillsIn(t *testing.T) {
	for _, c := range []struct{ p, want Params }{
		{Params{Epsilon: 1, Delta: 1e-6}, Params{Epsilon: 1, Delta: 1e-6, Sensitivity: 1, Method: ExponentialRounding}},
		{Params{Epsilon: 1, Dim: 8}, Params{Epsilon: 1, Dim: 8, Sensitivity: 1, FalseKeys: 1. / 16, Method: PureLaplace}},
		{Params{Epsilon: 1, Delta: 1e-6, MaxKeys: 3}, Params{Epsilon: 1, Delta: 1e-6, MaxKeys: 3, MaxValue: 1, Sensitivity: 3, Relation: budget.AddRemove, Method: Gaussian}},
		{
			Params{Epsilon: 1, Delta: 1e-6, MaxKeys: 3, Sensitivity: 2, Method: Laplace},
			Params{Epsilon: 1, Delta: 1e-6, MaxKeys: 3, MaxValue: 2, Sensitivity: 2, Relation: budget.AddRemove, Method: Laplace},
		},
	} {
		plan := dptest.OK(c.p.Plan())(t)
		require.Equal(t, c.want, plan.Params)
		again := dptest.OK(plan.Params.Plan())(t)
		require.Equal(t, plan.Threshold, again.Threshold, "what it stands for")
		require.Equal(t, plan.StdDev, again.StdDev)
		b := dptest.OK(build[uint64](c.p))(t)
		v := dptest.OK(b.Release())(t)
		data := dptest.OK(v.MarshalBinary())(t)
		require.Len(t, data, plan.Bytes+16*v.Len())
	}
	for m, name := range []string{"Auto", "ExponentialRounding", "LinearRounding", "Laplace", "Gaussian", "CorrelatedGaussian", "PureLaplace", "DenseLaplace"} {
		require.Equal(t, name, Method(m).String())
		require.Equal(t, name, sparse.Method(m).String())
	}
	require.Equal(t, [2]Method{DenseLaplace, Gaussian}, [2]Method{Method(sparse.DenseLaplace), Method(sparse.Gaussian)})
}

// Auto chooses nothing whose guarantee has a condition that the unit does not state, also where it
// has the least threshold: LinearRounding of real values, ε far above 1.
func TestAutoHasNoConditionOfItsOwn(t *testing.T) {
	for _, epsilon := range []float64{1, 8, 30, 300} {
		for _, delta := range []float64{0.3, 1e-6, 1e-30} {
			p := Params{Epsilon: epsilon, Delta: delta, Sensitivity: 0.7}
			plan := dptest.OK(p.Plan())(t)
			list := plan.Candidates
			require.Equal(t, ExponentialRounding, list[0].Method)
			b := dptest.OK(build[int](p))(t)
			require.Equal(t, ExponentialRounding, Method(inside(b.secret).law.Params().Method))
			p.Method = LinearRounding
			plan = dptest.OK(p.Plan())(t)
			if epsilon >= 8 && delta < 0.1 {
				require.Less(t, plan.Threshold, list[0].Threshold)
			}
			require.Less(t, list[0].Threshold, plan.Threshold+0.02*p.Sensitivity/epsilon, "it costs next to nothing")
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
		b := dptest.OK(build[int](c.p))(t)
		v := dptest.OK(b.Release())(t)
		require.True(t, c.p.Guarantee().Equal(b.Guarantee()) && c.p.Guarantee().Equal(v.Guarantee()), "%+v", c.p)
	}
	require.False(t, new(Builder[int]).Guarantee().Promises())
	require.False(t, new(Vector[int]).Guarantee().Promises())
}
