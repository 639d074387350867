package groupby

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/private"
)

// twice has all that a release in two passes can have.
var twice = Params{Epsilon: 1, Delta: 1e-6, most: 6, FullKeys: 3, Min: -1, Max: 3, Others: true, Passes: 2}

// passes are a Discovery and what New makes, calibrated once for all tests.
func passes(t testing.TB, p Params) (*Discovery[int], *Builder[int]) {
	b := builder[int](t, p)
	d := &Discovery[int]{holding(b.params, newState(b.params, held(b).calibrated, firstPass[int]{}, newIndex[int](0), 0))}
	return d, b
}

// fresh returns an empty Builder for the same pass as the template, without calibrating it anew.
func fresh(s *state[int]) *Builder[int] {
	return &Builder[int]{base[state[int]]{privateState(s), s.params, s.params.Guarantee()}}
}

func entriesOf(s *state[int]) []entry[int] {
	return slices.SortedFunc(slices.Values(s.table.entries()), func(a, b entry[int]) int { return a.key - b.key })
}

// What users give to each of the two passes: weight to keys that are not found, as many as MaxKeys,
// and counts to all.
func TestGivenInTwoPasses(t *testing.T) {
	d, _ := passes(t, twice)
	for range 500 {
		d.AddUser([]int{7, 5, 7})
	}
	d.AddUser(nil)
	d.AddUser([]int{1, 2, 3})
	s := private.Enter(d.secret)
	private.Leave(d.secret)
	require.Equal(t, []entry[int]{
		{1, cell{weight: weight(3)}}, {2, cell{weight: weight(3)}}, {3, cell{weight: weight(3)}},
		{5, cell{weight: 500 * weight(2)}}, {7, cell{weight: 500 * weight(2)}},
	}, entriesOf(s))
	require.True(t, d.Guarantee().Equal(twice.Guarantee()) && d.Guarantee().Promises())
	b := dptest.OK(d.Release())(t)
	b.SecondPass()
	require.True(t, d.Released() && !b.Released())
	require.True(t, b.Guarantee().Equal(twice.Guarantee()))
	valued(b)(split(pairs([]int{7, 1, 2}, func(key int) float64 { return float64(key) })))
	give(b, 5, 7)
	x := clipped(3, 3)
	require.Equal(t, int64(unit), x)
	require.Equal(t, 2, held(b).found)
	require.Equal(t, []entry[int]{
		{1, cell{weight(2), x, 0, residual(2)}}, {2, cell{weight(2), x, x / 2, residual(2)}},
		{5, cell{0, unit, -unit / 2, 0}}, {7, cell{0, unit + x, -unit/2 + x, 0}},
	}, entriesOf(held(b)))
	require.Zero(t, held(b).shorts[0])

	many := make([]int, 40)
	for i := range many {
		many[i] = i
	}
	b = fresh(held(b))
	give(b, many...)
	n := 0
	for _, e := range held(b).table.entries() {
		require.Equal(t, clipped(40, 3), e.count)
		require.EqualValues(t, unit*othersLimit/40, e.others)
		if e.weight > 0 {
			require.Equal(t, weight(6), e.weight)
			n++
		}
	}
	require.Equal(t, 6, n)
	require.Equal(t, unit-clipped(40, 3), held(b).shorts[0])
}

// Sums of what is kept are those of a second pass that finds the same keys, but for l, which is
// then the number of shown keys.
func TestKeptUsersCount(t *testing.T) {
	_, b := passes(t, twice)
	valued(b)(split(pairs([]int{1, 2, 3, 4, 5, 6, 7, 8}, func(key int) float64 { return float64(key) - 4 })))
	give(b, 3, 3, 9)
	give(b)
	s := held(b)
	require.Equal(t, []int{8, 10}, s.users.ends)
	found := []uint8{1, 0, 1, 1, 1, 0, 0, 0, 1} // 1, 3, 4, 5, 9
	s.chooseClip(found)
	for from, to := range s.users.all {
		s.count(found, from, to)
	}
	x := clipped(4, 3)
	require.Equal(t, cell{count: x, value: -x}, s.table.cells[0])
	require.Equal(t, cell{}, s.table.cells[1])
	require.Equal(t, cell{count: x + unit, value: -x - unit/2}, s.table.cells[2])
	require.Equal(t, cell{count: x, value: -x / 2}, s.table.cells[3])
	require.Equal(t, cell{count: x, value: 0}, s.table.cells[4])
	require.Equal(t, cell{count: unit, value: -unit / 2}, s.table.cells[8])
	require.Equal(t, unit-x, s.shorts[0])
	require.EqualValues(t, 4*unit, s.others)
	_, b = passes(t, twice)
	many := make([]int, 40)
	for i := range many {
		many[i] = i
	}
	give(b, many...)
	s = held(b)
	s.count(make([]uint8, 40), 0, 40)
	require.EqualValues(t, othersLimit*unit, s.others)

	// A pass gives weight to what is not found, at most MaxKeys keys of each user.
	_, b = passes(t, twice)
	give(b, 1, 2, 3, 4, 5, 6, 7, 8, 9)
	s = held(b)
	found = []uint8{1, 0, 0, 0, 0, 0, 0, 0, 1}
	var seen []int64
	s.find(found, func(i int, weight int64) (int64, bool) {
		seen = append(seen, weight)
		return 0, i == 3
	})
	slices.Sort(seen)
	require.Equal(t, []int64{0, weight(6), weight(6), weight(6), weight(6), weight(6), weight(6)}, seen)
	require.Equal(t, []uint8{1, 0, 0, 1, 0, 0, 0, 0, 1}, found)
}

// The bytes of a state depend neither on the order of users nor on shards, for each of the passes;
// what they were taken from can be restored, and nothing else.
func TestStatesOfTwoPasses(t *testing.T) {
	template, kept := passes(t, twice)
	template.AddUser([]int{3})
	for range 1000 {
		template.AddUser([]int{1, 29})
	}
	following := dptest.OK(template.Release())(t)
	following.SecondPass()
	discovery := fresh(held(kept))
	private.Enter(discovery.secret).pass = firstPass[int]{}
	private.Leave(discovery.secret)

	begin := dptest.OK(following.AppendPrivateState(nil))(t)
	for _, empty := range []*Builder[int]{kept, following, discovery} {
		start := dptest.OK(empty.AppendPrivateState(nil))(t)
		_, want := sharded(t, func() *Builder[int] {
			b := fresh(held(empty))
			require.NoError(t, b.RestorePrivateState(start))
			return b
		})
		// a Builder is no Discovery
		other := fresh(held(discovery))
		if empty == discovery {
			other = fresh(held(kept))
		}
		require.ErrorIs(t, other.RestorePrivateState(want), ErrFormat)
	}
	// Other passes, and a second pass after another first one, do not merge.
	require.ErrorIs(t, kept.Merge(following), ErrMismatch)
	other := fresh(held(following))
	require.ErrorIs(t, following.Merge(other), ErrMismatch)
	require.False(t, other.Released() || following.Released())
	require.NoError(t, other.RestorePrivateState(begin))
	require.NoError(t, following.Merge(other))
	onePass := builder[int](t, plain)
	require.ErrorIs(t, onePass.RestorePrivateState(begin), ErrMismatch)
}

func TestDiscoveryOnce(t *testing.T) {
	other := twice
	other.Epsilon *= 2
	dptest.Builder(t, func() *Discovery[int] { return dptest.OK(NewDiscovery[int](twice))(t) }, func(d *Discovery[int]) { d.AddUser([]int{1, 2}) }, dptest.OK(NewDiscovery[int](other))(t))
	require.ErrorIs(t, dptest.Err(NewDiscovery[int](Params{Epsilon: 1, Delta: 1e-6, Passes: 1})), ErrParams)
	d := dptest.OK(NewDiscovery[int](plain))(t)
	require.Equal(t, 2, d.params.Passes, "the default")
	d = dptest.OK(NewDiscovery[int](twice))(t)
	d.AddUser([]int{123456789})
	dptest.Redacted(t, d, "123456789")
	d = dptest.OK(NewDiscovery[int](twice))(t)
	state := dptest.OK(d.AppendPrivateState(nil))(t)
	require.NoError(t, d.RestorePrivateState(state))
	next := dptest.OK(d.Release())(t)
	next.SecondPass()
	require.ErrorIs(t, next.RestorePrivateState(state), ErrFormat)
	g := dptest.OK(next.Release())(t)
	require.Zero(t, g.Len())
}

// What Discovery.Release returns is not released before SecondPass, whoever was found, nor takes
// users; its state is that of a pass that was not begun.
func TestSecondPassIsBegunByName(t *testing.T) {
	for _, users := range []int{0, 1, 5000} {
		first := func() *Builder[int] {
			d, _ := passes(t, Params{Epsilon: 1, Delta: 1e-6, Passes: 2})
			for range users {
				d.AddUser([]int{1, 2})
			}
			return dptest.OK(d.Release())(t)
		}
		b := first()
		dptest.Refused(t, dptest.Err(b.Release()), ErrReleased, "has not begun its second pass: call SecondPass")
		require.False(t, b.Released())
		copied := fresh(held(b))
		require.NoError(t, copied.RestorePrivateState(dptest.OK(b.AppendPrivateState(nil))(t)))
		dptest.Refused(t, dptest.Err(copied.Release()), ErrReleased, "call SecondPass")
		b.SecondPass()
		require.ErrorIs(t, b.Merge(copied), ErrMismatch)
		copied.SecondPass()
		for range users {
			b.AddUser([]int{1, 2})
		}
		b.SecondPass() // changes nothing
		require.NoError(t, b.Merge(copied))
		g := dptest.OK(b.Release())(t)
		dptest.Alarm(t, 1e-10)
		require.InDelta(t, users, g.Estimate(1), 6.5*g.noises.count)

		early := first()
		early.AddUser(nil)
		early.SecondPass()
		dptest.Refused(t, dptest.Err(early.Release()), ErrReleased, "before its second pass")
	}
	new(Builder[int]).SecondPass()
	alone := builder[int](t, plain)
	alone.SecondPass()
	require.Equal(t, pass[int](onePass[int]{}), held(alone).pass)
	// A state that awaits its users has none.
	b, other := builder[int](t, twice), builder[int](t, twice)
	held(other).pass = unbegun[int]()
	held(other).table.add(5, cell{count: 1})
	require.ErrorIs(t, b.RestorePrivateState(dptest.OK(other.AppendPrivateState(nil))(t)), ErrFormat)
	// Nor has a second pass Values, as it has no users.
	b, other = builder[int](t, learning), builder[int](t, learning)
	held(other).pass, held(other).chosen = secondPass[int]{begun: true}, choice{0, 1}
	require.ErrorIs(t, b.RestorePrivateState(dptest.OK(other.AppendPrivateState(nil))(t)), ErrFormat)
}
