package threshold

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/dptest"
	"github.com/dpsketch/dpsketch/internal/private"
)

// inside returns what a Builder holds.
func inside[K hashing.Key](data secret[K]) *state[K] {
	s := private.Enter(data)
	private.Leave(data)
	return s
}

// A user's keys outside Dim do not count, nor do they take the place of others.
func TestAddUserIgnoresKeysOutsideDim(t *testing.T) {
	for _, p := range []Params{{Epsilon: 1, Dim: 10, MaxKeys: 2}, {Epsilon: 1, Delta: 1e-6, Dim: 10, MaxKeys: 2}} {
		b, err := NewUserBuilder[int](p)
		require.NoError(t, err)
		b.AddUser(3, 10, -1, 9, math.MaxInt, math.MinInt)
		b.AddUserValues(maps.All(map[int]float64{11: 1, -3: 1, 0: 1}))
		var keys []int
		for _, e := range inside(b.secret).totals.Entries() {
			keys = append(keys, e.Key)
		}
		require.ElementsMatch(t, []int{0, 3, 9}, keys)
	}
}

func TestAddUser(t *testing.T) {
	totals := func(p Params, add func(b *UserBuilder[string])) map[string]float64 {
		b, err := NewUserBuilder[string](p)
		require.NoError(t, err)
		add(b)
		sums := map[string]float64{}
		for _, e := range inside(b.secret).totals.Entries() {
			sums[e.Key] = float64(e.Steps) * inside(b.secret).law.step
		}
		return sums
	}
	p := Params{Epsilon: 1, Delta: 1e-6, MaxKeys: 3}
	require.Equal(t, map[string]float64{"a": 1, "b": 1}, totals(p, func(b *UserBuilder[string]) { b.AddUser("a", "b", "a") }))
	p.MaxValue = 2
	require.Equal(t, map[string]float64{"a": 2, "b": 1}, totals(p, func(b *UserBuilder[string]) { b.AddUser("a", "b", "a", "a") }))
	values := map[string]float64{"a": 5, "b": -7, "c": 0.5, "d": math.NaN()}
	require.Equal(t, map[string]float64{"a": 2, "c": 0.5}, totals(p, func(b *UserBuilder[string]) { b.AddUserValues(all(values)) }))
	many := map[string]float64{}
	for i := range 20 {
		many[fmt.Sprint(i)] = 0x1p-4
	}
	require.Len(t, totals(p, func(b *UserBuilder[string]) { b.AddUserValues(all(many)) }), 3, "MaxKeys holds for small values as well")
	p.Signed = true
	require.Equal(t, map[string]float64{"a": 2, "b": -2, "c": 0.5}, totals(p, func(b *UserBuilder[string]) { b.AddUserValues(all(values)) }))
	p.Sensitivity = 1
	for range 100 {
		sum := 0.0
		for _, x := range totals(p, func(b *UserBuilder[string]) { b.AddUserValues(all(values)) }) {
			sum += math.Abs(x)
		}
		require.LessOrEqual(t, sum, 1.0)
	}
	// Integers are rounded first, so that their sum is within Sensitivity as well.
	p = Params{Epsilon: 1, Delta: 1e-6, MaxKeys: 5, Sensitivity: 3, Integers: true}
	for range 100 {
		sum := 0.0
		for _, x := range totals(p, func(b *UserBuilder[string]) {
			b.AddUserValues(all(map[string]float64{"a": 0.6, "b": 0.7, "c": 0.8, "d": 1.6}))
		}) {
			require.Equal(t, math.Trunc(x), x)
			sum += x
		}
		require.Equal(t, 3.0, sum)
	}
}

func all(m map[string]float64) func(func(string, float64) bool) {
	return func(yield func(string, float64) bool) {
		for key, x := range m {
			if !yield(key, x) {
				return
			}
		}
	}
}

// Which keys of a user are kept is uniform over the subsets, and not up to the map or the order.
func TestBoundingIsUniform(t *testing.T) {
	p := Params{Epsilon: 1, Delta: 1e-6, MaxKeys: 2, Integers: true, Mechanism: Laplace}
	const n = 15_000
	counts := map[string]int64{}
	for range n {
		b, err := NewUserBuilder[string](p)
		require.NoError(t, err)
		b.AddUser("d", "a", "c", "b", "a")
		var kept []string
		for _, e := range inside(b.secret).totals.Entries() {
			require.Equal(t, 1.0, float64(e.Steps)*inside(b.secret).law.step)
			kept = append(kept, e.Key)
		}
		slices.Sort(kept)
		counts[fmt.Sprint(kept)]++
	}
	require.Len(t, counts, 6)
	var seen []int64
	for _, c := range counts {
		seen = append(seen, c)
	}
	dptest.ChiSquare(t, "subsets", seen, []float64{1. / 6, 1. / 6, 1. / 6, 1. / 6, 1. / 6, 1. / 6}, 1e-10)
}
