package groupby

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// listed returns the Params that NewListed makes of these for a list of n keys.
func (p Params) ofList(n int) Params {
	p.most, p.listed = n, true
	return p
}

func keysOf(g *Groups[string]) (keys []string) {
	for key := range g.All() {
		keys = append(keys, key)
	}
	return keys
}

// moves are what a user adds to all that is released: the numbers that noise is added to, and the
// scale of that.
func moves(t testing.TB, template *Builder[int], keys []int, value float64) (moved, scales []float64) {
	s := held(template)
	b := fresh(s)
	held(b).table, held(b).found = newTable(indexOf(listOf(s)), s.table.width), s.found
	valued(b)(split(pairs(keys, func(key int) float64 { return value * float64(1-key%2*2) })))
	s = held(b)
	add := func(x int64, scale float64) {
		if moved = append(moved, float64(x)); scale == 0 {
			require.Zero(t, x)
			scale = 1
		}
		scales = append(scales, scale)
	}
	for _, e := range s.table.entries() {
		add(fine*e.count, s.calibrated.rest(s.chosen))
		add(e.value, s.calibrated.value(choice{}))
	}
	add(s.shorts[0], s.calibrated.shortfall)
	add(s.others, s.calibrated.others)
	return moved, scales
}

func listOf(s *state[int]) (keys []int) {
	for _, e := range s.table.entries() {
		keys = append(keys, e.key)
	}
	return keys
}

// Exactly, in the integers that AddUser adds: of all neighbours over a list of four keys, and other
// keys, with values at both ends of the range, none is farther apart than (ε, δ). It is nearly
// attained, so much less noise would not do: to .6 where values that differ by their sign come from
// users with the same counts, else to .7 and more.
func TestListedNeighbours(t *testing.T) {
	list := []int{0, 1, 2, 3}
	const near = 0.6
	for _, p := range []Params{
		{FullKeys: 1}, {FullKeys: 2}, {FullKeys: 36}, {FullKeys: 2, Others: true}, {FullKeys: 2, Min: -5, Max: 5}, {FullKeys: 3, Min: 0, Max: 5, Others: true},
	} {
		for _, r := range []budget.Relation{budget.AddRemove, budget.Replace} {
			for _, delta := range []float64{0, 1e-2} {
				p.Epsilon, p.Delta, p.Relation = 0.7, delta, r
				b := dptest.OK(NewListed(p, list...))(t)
				var users [][]float64
				var scales []float64
				for set := range 1 << len(list) {
					for _, others := range []int{0, 40} {
						var keys []int
						for _, key := range list {
							if set>>key&1 == 1 {
								keys = append(keys, key)
							}
						}
						for i := range others {
							keys = append(keys, 100+i)
						}
						for _, value := range []float64{-5, 0, 5} {
							var user []float64
							user, scales = moves(t, b, keys, value)
							users = append(users, user)
						}
					}
				}
				nobody := make([]float64, len(scales))
				worst, square := 0.0, 0.0 // Σ|Δ|/b and Σ(Δ/σ)²
				apart := func(a, b []float64) {
					one, two := 0.0, 0.0
					for i, scale := range scales {
						d := math.Abs(a[i]-b[i]) / scale
						one, two = one+d, two+d*d
					}
					worst, square = max(worst, one), max(square, two)
				}
				for _, a := range users {
					apart(a, nobody)
					for _, b := range users {
						if r == budget.Replace {
							apart(a, b)
						}
					}
				}
				name := fmt.Sprintf("%+v: %v %v", p, worst, square)
				if delta == 0 {
					require.LessOrEqual(t, worst, p.Epsilon, name)
					require.Greater(t, worst, near*p.Epsilon, name)
					continue
				}
				require.LessOrEqual(t, square, held(b).calibrated.squaredMu, name)
				require.Greater(t, square, near*held(b).calibrated.squaredMu, name)
				exact := dptest.OK(noise.GaussianDelta(1, p.Epsilon, math.Sqrt(held(b).calibrated.squaredMu)))(t)
				require.LessOrEqual(t, exact, delta)
				require.Greater(t, exact, 0.99*delta)
				require.LessOrEqual(t, b.Guarantee().DeltaAt(p.Epsilon), delta)
			}
		}
	}
}

// Noise has its law on all listed keys, whether anybody has them, and on what is beside them.
func TestListedNoise(t *testing.T) {
	const n, bins = 3000, 20
	keys := make([]int, n)
	for i := range keys {
		keys[i] = i
	}
	for _, delta := range []float64{0, 1e-6} {
		p := Params{Epsilon: 1, Delta: delta, FullKeys: 4, Max: 2}
		b := dptest.OK(NewListed(p, keys...))(t)
		for i := range n / 4 {
			give(b, keys[2*i:2*i+2]...) // half of the keys
		}
		law := held(b).calibrated
		g := dptest.OK(b.Release())(t)
		require.Len(t, g.groups, n)
		uniform := func(x, scale float64) float64 { // by the distribution function
			if delta > 0 {
				return tailOf(-x / scale)
			}
			return distuv.Laplace{Scale: scale}.CDF(x)
		}
		for _, scale := range []float64{1, 0.5} {
			var seen [2][bins]int64
			for i, e := range g.groups {
				users := 0.0
				if i < n/2 {
					users = unit
				}
				seen[0][int(bins*uniform(float64(e.rest)-fine*users, law.rest(choice{})*scale)*(1-1e-12))]++
				seen[1][int(bins*uniform(float64(e.value)+users, law.value(choice{})*scale)*(1-1e-12))]++
			}
			for _, h := range seen {
				even := slices.Repeat([]float64{1. / bins}, bins)
				if scale == 1 {
					dptest.ChiSquare(t, "noise", h[:], even, 1e-10)
				} else {
					require.Less(t, dptest.ChiSquarePValue(h[:], even), 1e-9)
				}
			}
		}
	}
}

func TestListsOfKeys(t *testing.T) {
	// The figures of NewListed, and what the shares allow.
	require.InEpsilon(t, 1.5*8, planned(Params{Epsilon: 1, FullKeys: 8}.ofList(100)).StdDev, 0.01)
	require.InEpsilon(t, 4.36*math.Sqrt(8), planned(Params{Epsilon: 1, Delta: 1e-6, FullKeys: 8}.ofList(100)).StdDev, 0.01)
	// Over a short list nobody counts less than in full, so no noise is drawn for that, and
	// intervals are as far up as down.
	require.InEpsilon(t, 15./16*planned(Params{Epsilon: 1, FullKeys: 5}.ofList(100)).StdDev, planned(Params{Epsilon: 1}.ofList(5)).StdDev, 1e-9)
	for _, delta := range []float64{0, 1e-6} {
		some := dptest.OK(NewListed(Params{Epsilon: 1, Delta: delta}, 1, 2))(t)
		for range 500 {
			some.AddUser([]int{1, 2})
		}
		few := dptest.OK(some.Release())(t)
		low, high := few.Interval(1, 0.95)
		require.InDelta(t, 2*few.Estimate(1), low+high, 0.01)
		low, high = few.Shortfall(0.95)
		require.Zero(t, max(low, high))
	}
	list := []string{"b", "a"}
	b := dptest.OK(NewListed(Params{Epsilon: 1}, list...))(t)
	list[0] = "c"
	g := dptest.OK(b.Release())(t)
	require.Equal(t, []string{"a", "b"}, keysOf(g))
}
