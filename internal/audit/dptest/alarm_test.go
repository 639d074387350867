package dptest

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The whole default run fails by chance with a probability below 1e-6: the sum of the budgets.
func TestBudgets(t *testing.T) {
	var total sum
	for name, budget := range budgets {
		require.DirExists(t, filepath.Join("..", "..", "..", filepath.FromSlash(name)))
		total.add(budget)
	}
	t.Logf("the default run gives a false alarm with probability at most %.3g", total.value())
	require.Less(t, total.value(), 1e-6)
}

func TestAlarm(t *testing.T) {
	require.Equal(t, "internal/audit/dptest", packageName())
	const name = "noise/approx"
	var r registry
	half := budgets[name] / 2
	require.False(t, fails(func(t testing.TB) { r.add(t, half, name, 1, false) }))
	require.False(t, fails(func(t testing.TB) { r.add(t, half, name, 1, false) }), "exactly the budget")
	require.True(t, fails(func(t testing.TB) { r.add(t, budgets[name]/1000, name, 1, false) }), "more than the budget")
	require.False(t, fails(func(t testing.TB) { r.add(t, budgets[name]/1000, name, 1, true) }), "-long")
	require.False(t, fails(func(t testing.TB) { r.add(t, half, name, 2, false) }), "-count 2")
	require.Equal(t, 5, r.alarms)
	require.True(t, fails(func(t testing.TB) { new(registry).add(t, 1e-12, "a new package", 1, false) }), "it has no budget yet")
	require.False(t, fails(func(t testing.TB) { new(registry).add(t, 0.1, "hashing", 1, false) }), "all seeds are fixed")
	for _, p := range []float64{0, -1, 1, 2} {
		require.True(t, fails(func(t testing.TB) { r.add(t, p, name, 1, false) }))
	}
	// The wrappers register: also the two p-values of Moments, and both directions of an audit by
	// itself.
	before := registered.sum.value()
	fails(func(t testing.TB) {
		Tail(t, "", 5, 10, 0.5, 0.001)
		ChiSquare(t, "", []int64{50, 50}, []float64{0.5, 0.5}, 0.002)
		Moments(t, "", []float64{1, 2, 3}, 2, 1, 3, 0.004)
		Audit(t, "", 5, 10, 5, 10, 1, 0, 0.008)
		require.True(t, Control(t, true, 0.016))
	})
	require.InDelta(t, 0.031, registered.sum.value()-before, 1e-9)
	FalseAlarms(t)
}
