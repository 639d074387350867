package groupby

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// rowsOf is NewRows, by the calibration that builder keeps.
func rowsOf[U, K string | int](t testing.TB, p Params) *Rows[U, K] {
	t.Helper()
	if p.Passes == 0 {
		p.Passes = 2
	}
	b := builder[K](t, p)
	return &Rows[U, K]{holding(b.params, newRows[U, K](b.params, held(b).calibrated, nil))}
}

func heldRows[U, K string | int](r *Rows[U, K]) *rowData[U, K] {
	data := private.Enter(r.secret)
	data.flush()
	private.Leave(r.secret)
	return data
}

// visit is a row.
type visit struct {
	user  string
	key   int
	value float64
}

// visits are rows of users of whom some have many keys, and repeat most of them.
func visits(rng *rand.Rand, users int) (all []visit) {
	for u := range users {
		for range 1 + rng.IntN(12)*rng.IntN(8) {
			all = append(all, visit{fmt.Sprint("user ", u), rng.IntN(40), math.Ldexp(rng.NormFloat64(), rng.IntN(9))})
		}
	}
	return all
}

func (v visit) into(r *Rows[string, int]) {
	if r.params.valued() {
		r.AddValue(v.user, v.key, v.value)
	} else {
		r.Add(v.user, v.key)
	}
}

// However rows are ordered, split into shards with users in several, and merged or moved: the same
// bytes; and what is released of them is, except for numbers, the state of a Builder whose AddUser
// got each user. Rows over another list do not mix with them.
func TestRowsAreUsers(t *testing.T) {
	list := []int{31, 4, 1, 9, 16, 25, 4, 77}
	for name, c := range map[string]struct {
		p      Params
		listed bool
	}{
		"values": {twice, false}, "learned": {learning, false}, "counts": {Params{Epsilon: 1, Delta: 1e-6, Passes: 2, Others: true}, false},
		"one pass": {Params{Epsilon: 1, Delta: 1e-6, Passes: 1, Max: 5, Others: true}, false}, "keys": {Params{Epsilon: 1, Delta: 1e-6, Passes: 1, KeysOnly: true}, false},
		"listed": {Params{Epsilon: 1, Delta: 1e-6, FullKeys: 3}, true}, "listed sums": {Params{Epsilon: 1, Delta: 1e-6, FullKeys: 3, Max: 5, Others: true}, true},
		"without δ": {Params{Epsilon: 1, Max: 2, Others: true}, true}, "replaced": {Params{Epsilon: 1, FullKeys: 2, Relation: budget.Replace}, true},
	} {
		empty := func() *Rows[string, int] { return rowsOf[string, int](t, c.p) }
		users := func() *Builder[int] { return builder[int](t, empty().params) }
		if c.listed {
			empty = func() *Rows[string, int] { return dptest.OK(NewListedRows[string](c.p, list...))(t) }
			users = func() *Builder[int] { return dptest.OK(NewListed(c.p, list...))(t) }
		}
		rng := rand.New(rand.NewPCG(5, 7))
		one, b, all := empty(), users(), visits(rng, 300)
		keys, values := map[string][]int{}, map[string][]float64{}
		for _, v := range all {
			v.into(one)
			keys[v.user], values[v.user] = append(keys[v.user], v.key), append(values[v.user], v.value)
		}
		for user := range keys {
			valued(b)(keys[user], values[user])
		}
		want := dptest.OK(one.AppendPrivateState(nil))(t)
		require.Equal(t, want, dptest.OK(one.AppendPrivateState(nil))(t), "a state is only read")
		for _, shards := range []int{1, 2, 7} {
			rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			var tree []*Rows[string, int]
			for range shards {
				tree = append(tree, empty())
			}
			for _, v := range all {
				v.into(tree[rng.IntN(shards)])
			}
			for len(tree) > 1 {
				i := rng.IntN(len(tree) - 1)
				require.NoError(t, tree[i].Merge(tree[i+1]))
				require.True(t, tree[i+1].Released())
				tree = slices.Delete(tree, i+1, i+2)
			}
			require.Equal(t, want, dptest.OK(tree[0].AppendPrivateState(nil))(t), name)
			require.Equal(t, dptest.OK(b.AppendPrivateState(nil))(t), heldRows(tree[0]).state().appendState(nil), name)
		}
		restored := empty()
		visit{"somebody", 1, 2}.into(restored)
		require.NoError(t, restored.RestorePrivateState(want))
		require.Equal(t, want, dptest.OK(restored.AppendPrivateState(nil))(t))
		for n := range min(len(want), 400) {
			require.ErrorIs(t, restored.RestorePrivateState(want[:n]), ErrFormat)
		}
		visit{"somebody", 1, 2}.into(restored)
		require.NotEqual(t, want, dptest.OK(restored.AppendPrivateState(nil))(t))
		if c.listed {
			other := dptest.OK(NewListedRows[string](c.p, 31, 4, 1, 9, 16, 25, 78))(t)
			require.ErrorIs(t, other.RestorePrivateState(want), ErrMismatch)
			require.ErrorIs(t, other.Merge(restored), ErrMismatch)
		}
	}
}

// Rows choose FullKeys by default, of a list and in one pass, and clip by whatever is chosen: what
// a user of any number of keys moves, in units of the noise and in the integers that are added, is
// within the budget, and near it.
func TestRowsAreClipped(t *testing.T) {
	for _, p := range []Params{{Epsilon: 1, Delta: 1e-6}, {Epsilon: 1, Delta: 1e-6, Max: 1}, {Epsilon: 1, Delta: 1e-9, Max: 1, Others: true}, {Epsilon: 1, Delta: 1e-6, Max: 1, Passes: 1}} {
		list := make([]int, 50)
		for i := range list {
			list[i] = i
		}
		template, runs := dptest.OK(NewListedRows[int](p, list...))(t), 150
		if p.Passes == 1 {
			template, list, runs = dptest.OK(NewRows[int, int](p))(t), nil, 350
			require.Len(t, heldRows(template).calibrated.clips, 11) // 1000, 512, …, 1
		}
		require.Equal(t, AutoFullKeys, template.params.FullKeys)
		worst, chosen := 0.0, map[int]bool{}
		for n := range runs {
			r := &Rows[int, int]{holding(template.params, newRows[int](template.params, heldRows(template).calibrated, list))}
			keys := 1 + n%50
			if p.Passes == 1 {
				keys = MaxKeys + 1
			}
			for key := range keys {
				r.addOf(1, key)
			}
			for key := range 50 * min(len(list), 1) { // that are not listed
				r.addOf(1, 100+key)
			}
			s := heldRows(r).state()
			chosen[s.clip().full] = true
			over := func(x int64, sd float64) float64 {
				if x == 0 {
					return 0
				}
				return float64(x) / sd * float64(x) / sd
			}
			sum := over(s.shorts[s.chosen.clip], s.calibrated.shortfall) + over(s.others, s.calibrated.others)
			for j := range s.chosen.asked {
				sum += over(s.shorts[j], s.calibrated.question(j)*unit)
			}
			for i, e := range s.table.cells {
				sum += over(e.weight, s.calibrated.weight) + over(s.restOf(i), s.calibrated.rest(s.chosen)) + over(e.value, s.calibrated.value(s.chosen))
			}
			total := s.calibrated.squaredMu
			if list == nil {
				total += over(unit, s.calibrated.weight)
				require.Equal(t, slices.Repeat([]int64{unit}, 11), s.shorts, "each user gives the shortfall once, of a key that does not count all of it")
			}
			worst = max(worst, sum/total)
		}
		require.LessOrEqual(t, worst, 1+1e-12)
		require.Greater(t, worst, 0.8)
		dptest.Alarm(t, 1e-11) // FullKeys 2 has a probability of .08 in one pass
		require.Greater(t, len(chosen), 1)
	}
}

// addOf adds a row, with the largest value where there are values.
func (r *Rows[U, K]) addOf(user U, key K) {
	if r.params.valued() {
		r.AddValue(user, key, 1)
	} else {
		r.Add(user, key)
	}
}

// What a user's rows of a key come to depends on these rows alone: not on their order, on whose
// rows come between them, or on how they are split; and so with the slices of a Builder. The values
// are those at which sums of 64 bits overflow on the way.
func TestRowsOfAPairJoinAlone(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for name, p := range map[string]Params{"range": {Epsilon: 1, Delta: 1e-6, Min: -1, Max: 1}, "learned": learning} {
		var values []float64
		for i := range 7001 {
			values = append(values, []float64{math.Inf(1), math.Inf(-1), 1e300, -1e300, 0.75}[min(i/1700, 4)])
		}
		var want, slice []int64
		for others := range 6 {
			r, b := []*Rows[int, int]{rowsOf[int, int](t, p), rowsOf[int, int](t, p)}, builder[int](t, rowsOf[int, int](t, p).params)
			if others > 0 {
				rng.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
			}
			for _, v := range values {
				r[rng.IntN(1+others%2)].AddValue(64, 7, v)
				for range rng.IntN(1 + others) { // in the same part
					r[0].AddValue(128+64*rng.IntN(100), rng.IntN(9), v)
				}
			}
			require.NoError(t, r[0].Merge(r[1]))
			b.AddUserValues(slices.Repeat([]int{7}, len(values)), values)
			s := heldRows(r[0])
			got := make([]int64, len(s.numbers))
			user, _ := s.users.find(64)
			for q, of := range s.pairs.all {
				if q.words[of.from]>>32 == uint64(user) {
					q.row(of.from, got)
				}
			}
			if others == 0 {
				want, slice = got, slices.Clone(held(b).users.sums)
			}
			require.Equal(t, want, got, name)
			require.Equal(t, slice, held(b).users.sums, name)
			require.Equal(t, want, slice)
		}
	}
}

// What a user repeats counts once, and the rows of nobody not at all.
func TestRowsOfAUser(t *testing.T) {
	r := rowsOf[string, string](t, Params{Epsilon: 1, Delta: 1e-6, Passes: 1, Min: -1, Max: 3})
	for range 1000 {
		r.AddValue("", "nobody's", 1)
		r.AddValue("ann", "a", 0)
	}
	r.AddValue("bob", "a", 50)
	r.AddValue("bob", "a", -48.5)
	r.AddValue("bob", "a", math.NaN())
	r.AddValue("bob", "b", math.Inf(1))
	s := heldRows(r).state()
	require.Equal(t, []string{"a", "b"}, s.table.keys)
	require.Equal(t, cell{weight(1) + weight(2), 2 * unit, -unit/2 + unit/4, 0}, s.table.cells[0])
	require.Equal(t, cell{weight(2), unit, unit, 0}, s.table.cells[1])

	// An integer has no value for nobody; an array has.
	users := rowsOf[int, int](t, Params{Epsilon: 1, Delta: 1e-6})
	users.Add(0, 0)
	require.Len(t, heldRows(users).state().users.ends, 1)
	arrays := newRows[[16]byte, int](users.params, heldRows(users).calibrated, nil)
	arrays.add([16]byte{}, 1, nil)
	arrays.add([16]byte{15: 1}, 1, nil)
	require.Len(t, arrays.state().users.ends, 1)
}

// Rows without a user are counted, whatever their key, in merged and restored Rows as well, and the
// number is published, with noise that covers eight of them by the budget of a user.
func TestRowsWithoutUser(t *testing.T) {
	p := Params{Epsilon: 1, Delta: 1e-6, Max: 3}
	give := func(r *Rows[string, string], rows int) *Rows[string, string] {
		for i := range rows {
			r.AddValue("", fmt.Sprint(i%7), float64(i%2))
		}
		r.AddValue("", "a", math.NaN()) // is no row
		r.AddValue("ann", "a", 1)
		return r
	}
	r := give(rowsOf[string, string](t, p), 5000)
	require.NoError(t, r.Merge(give(rowsOf[string, string](t, p), 2000)))
	restored := rowsOf[string, string](t, p)
	require.NoError(t, restored.RestorePrivateState(dptest.OK(r.AppendPrivateState(nil))(t)))
	dptest.Alarm(t, 4e-11)
	for _, r := range []*Rows[string, string]{r, restored, give(dptest.OK(NewListedRows[string](Params{Epsilon: 1, Max: 3}, "a"))(t), 7000)} {
		state := heldRows(r).state()
		require.EqualValues(t, 7000, state.nameless)
		require.Equal(t, r.params.listed, len(state.table.keys) == 1 && state.table.keys[0] == "a" && state.found == 1)
		drawn := map[int64]bool{} // by noise that is 0 once in 70 times
		for range 8 {
			drawn[lastPass[string]{}.release(heldRows(r).state()).nameless] = true
		}
		require.Greater(t, len(drawn), 1)
		g := dptest.OK(r.Release())(t)
		low, high := g.RowsWithoutUser(1 - 1e-11)
		require.True(t, low <= 7000 && 7000 <= high, "%v %v", low, high)
		require.InDelta(t, 2*g.reach(g.noises.nameless, 5e-12)+2, high-low, 1e-3)
		require.Contains(t, g.String(), "rows that have no user")
		low, high = g.RowsWithoutUser(wire.Confidence)
		var shown struct {
			RowsWithoutUser struct{ Estimate, Low, High float64 }
		}
		require.NoError(t, json.Unmarshal(dptest.OK(json.Marshal(g))(t), &shown))
		require.Equal(t, [2]float64{low, high}, [2]float64{shown.RowsWithoutUser.Low, shown.RowsWithoutUser.High})
		require.InDelta(t, shown.RowsWithoutUser.Estimate, (low+high)/2, 1e-6)
	}

	// Integers all name users; under Replace a user may be a row without one before.
	replaced := p
	replaced.Relation = budget.Replace
	for _, g := range []*Groups[string]{dptest.OK(rowsOf[int, string](t, p).Release())(t), dptest.OK(give(rowsOf[string, string](t, replaced), 9).Release())(t), dptest.OK(builder[string](t, p).Release())(t)} {
		low, high := g.RowsWithoutUser(0.5)
		require.True(t, math.IsNaN(low) && math.IsNaN(high))
		require.Zero(t, g.nameless)
		require.NotContains(t, string(dptest.OK(json.Marshal(g))(t)), "rowsWithoutUser")
	}
}

// The noise of the rows without a user, which is no part of the others' budget: one row has at
// most a sixty-fourth of the ρ that the guarantee adds up, and eight are (ε, δ)-private, in all
// releases.
func TestNamelessShare(t *testing.T) {
	for _, p := range append(extremes(), plain, twice, learning, percentiles, Params{Epsilon: 1, Delta: 1e-6, Passes: 2, Releases: 30}, Params{Epsilon: 2, listed: true, most: 5, Releases: 3}, Params{Epsilon: 2, Delta: 1e-9, listed: true, most: 5, Releases: 3}) {
		p = p.normal()
		c := dptest.OK(p.sizes())(t)
		n := float64(p.Releases)
		if p.pure() {
			require.LessOrEqual(t, 8/c.nameless(), p.Epsilon/n, "%+v", p)
			continue
		}
		parts := c.squaredMu
		if !p.listed {
			norm := 1.
			if p.Relation == budget.Replace {
				norm = 2
			}
			parts += norm * unit * unit / (c.weight * c.weight)
			if c.discovery > 0 {
				parts += norm * unit * unit / (c.discovery * c.discovery)
			}
		}
		require.LessOrEqual(t, 64/(c.nameless()*c.nameless()), parts*(1+1e-9), "%+v", p)
		delta := dptest.OK(noise.GaussianDelta(c.nameless(), p.Epsilon, 8*math.Sqrt(n)))(t)
		require.LessOrEqual(t, delta, p.Delta*(1+1e-11), "%+v", p)
	}
}

func TestRowsOnce(t *testing.T) {
	p := Params{Epsilon: 1, Delta: 1e-6, Max: 1}
	fresh := func() *Rows[string, string] {
		r := rowsOf[string, string](t, p)
		r.AddValue("ann", "a", 0)
		return r
	}
	use := func(r *Rows[string, string]) {
		r.AddValue("bob", "b", 0)
		r.AddValue("bob", "b", 1)
	}
	other := p
	other.Max = 2
	dptest.Builder(t, fresh, use, rowsOf[string, string](t, other))
	secret := fresh()
	secret.AddValue("the secret name of somebody", "the secret key of somebody", 1)
	dptest.Redacted(t, secret, "the secret name of somebody", "the secret key of somebody")

	// Values without a range.
	wrong := rowsOf[string, string](t, Params{Epsilon: 1, Delta: 1e-6})
	wrong.AddValue("ann", "a", 1)
	_, err := wrong.Release()
	require.ErrorIs(t, err, ErrReleased)
	require.Contains(t, err.Error(), "no Min and Max")
	require.NotContains(t, err.Error(), "ann")
	// A range, levels or Values without values.
	for _, p := range []Params{p, learning, percentiles, twice} {
		wrong := rowsOf[string, string](t, p)
		wrong.AddValue("ann", "a", 1)
		wrong.Add("ann", "a")
		require.True(t, wrong.Released())
		dptest.Refused(t, dptest.Err(wrong.Release()), ErrReleased, "by Add, and its Params have Min and Max, Values or Levels: call AddValue")
	}
}

// A value of NaN leaves no trace, in whatever takes values: neither of the row nor of its user or
// key, among a user's other rows or alone.
func TestNaNIsNoRow(t *testing.T) {
	nan := math.NaN()
	for name, p := range map[string]Params{"sums": {Epsilon: 1, Delta: 1e-6, Min: 18, Max: 99, Others: true}, "learned": learning, "quantiles": percentiles, "two passes": twice} {
		if !p.Values {
			p.FullKeys = defaultFull // or the two choose by noise of their own
		}
		var builders []*Builder[int]
		for range 2 {
			builders = append(builders, builder[int](t, p))
		}
		if !p.Values && p.Passes < 2 {
			for range 2 {
				listed := p
				listed.most = 0
				builders = append(builders, dptest.OK(NewListed(listed, 1, 2, 3))(t))
			}
			d, _ := passes(t, func() Params { q := p; q.Passes = 2; return q }())
			b := dptest.OK(d.Release())(t)
			b.SecondPass()
			builders = append(builders, b, fresh(held(b)))
		}
		for i := 0; i < len(builders); i += 2 {
			with, without := builders[i], builders[i+1]
			with.AddUserValues([]int{9, 1, 1, 4, 2, 8}, []float64{nan, 20, nan, nan, 30, nan})
			with.AddUserValues([]int{5, 3}, []float64{nan, nan})
			with.AddUserValues([]int{4}, []float64{40})
			without.AddUserValues([]int{1, 2}, []float64{20, 30})
			without.AddUserValues(nil, nil)
			without.AddUserValues([]int{4}, []float64{40})
			require.Equal(t, dptest.OK(without.AppendPrivateState(nil))(t), dptest.OK(with.AppendPrivateState(nil))(t), name)
		}
		with, without := rowsOf[int, int](t, p), rowsOf[int, int](t, p)
		for _, row := range [][3]float64{{1, 9, nan}, {1, 1, 20}, {1, 1, nan}, {1, 4, nan}, {1, 2, 30}, {2, 5, nan}, {3, 4, 40}} {
			with.AddValue(int(row[0]), int(row[1]), row[2])
			if row[2] == row[2] {
				without.AddValue(int(row[0]), int(row[1]), row[2])
			}
		}
		require.Equal(t, []int{1, 3}, heldRows(with).users.keys)
		require.Equal(t, heldRows(without).state().appendState(nil), heldRows(with).state().appendState(nil), name)
	}
}

func TestRowsRestore(t *testing.T) {
	p := twice
	from, to := rowsOf[string, int](t, p), rowsOf[string, int](t, p)
	for _, v := range visits(rand.New(rand.NewPCG(1, 2)), 3) {
		v.into(from)
	}
	users := rowsOf[int, int](t, p)
	dptest.Restores(t, from, to, func() { to.AddValue("x", 1, 1) }, users, rowsOf[string, string](t, p), builder[int](t, p), rowsOf[string, int](t, Params{Epsilon: 1, Delta: 1e-6}))
}

func FuzzRestoreRows(f *testing.F) {
	r := rowsOf[string, int](f, twice)
	for _, v := range visits(rand.New(rand.NewPCG(1, 2)), 2) {
		v.into(r)
	}
	f.Add(dptest.OK(r.AppendPrivateState(nil))(f))
	f.Fuzz(func(t *testing.T, data []byte) { dptest.RestoresOrStays(t, r, data) })
}

// Pairs are joined whatever comes when, in all parts, and take little more room than they need.
func TestPairs(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 3))
	log := &pairLog{join: []func(a, b int64) int64{sum, func(a, b int64) int64 { return max(a, b) }}}
	want := map[uint64][2]int64{}
	for i := range 200_000 {
		user, key, x := uint32(rng.IntN(1+i/40)), uint32(rng.IntN(9)), rng.Int64N(1000)-500
		log.add(user, key, []int64{x, x})
		word := uint64(user)<<32 | uint64(key)
		was, found := want[word]
		if !found {
			was[1] = x
		}
		want[word] = [2]int64{was[0] + x, max(was[1], x)}
	}
	got, room, seen := map[uint64][2]int64{}, 0, map[uint64]bool{}
	for q, of := range log.all {
		user := q.words[of.from] >> 32
		require.False(t, seen[user])
		seen[user] = true
		require.True(t, slices.IsSorted(q.words[of.from:of.to]))
		for at := of.from; at < of.to; at++ {
			require.Equal(t, user, q.words[at]>>32)
			got[q.words[at]] = [2]int64(q.row(at, make([]int64, 2)))
		}
	}
	require.Equal(t, want, got)
	for i := range log.shards {
		room += cap(log.shards[i].words)
		require.Equal(t, cap(log.shards[i].words), cap(log.shards[i].columns[1]))
	}
	require.LessOrEqual(t, room, len(want)*5/4+1984*len(log.shards))
}

// Neither a user nor a row is an allocation of its own.
func TestNoAllocationForAUser(t *testing.T) {
	const users, each = 20_000, 10
	keys := make([]int, each)
	add := map[string]func() any{
		"AddUser": func() any {
			b := dptest.OK(New[int](Params{Epsilon: 1, Delta: 1e-9}))(t)
			for user := range users {
				for i := range keys {
					keys[i] = (user*7 + i*i) % 1000
				}
				b.AddUser(keys)
			}
			return b
		},
		"Rows": func() any {
			r := dptest.OK(NewRows[int, int](Params{Epsilon: 1, Delta: 1e-9}))(t)
			for i := range users * each {
				r.Add(i%users, (i*7+i/users)%1000)
			}
			return r
		},
	}
	for name, run := range add {
		var kept any
		allocations := testing.AllocsPerRun(1, func() { kept = run() })
		t.Logf("%s: %.0f allocations for %d users", name, allocations, users)
		require.Less(t, allocations, 0.1*users, name) // of tables that grow
		require.NotNil(t, kept)
	}
}

// Keys that are looked up together have the numbers that they have alone, also where another key's
// entry stands in the place of one, with the same upper half of the hash.
func TestKeysTogether(t *testing.T) {
	x := newIndex[string](0)
	var keys []string
	for i := range 1000 {
		keys = append(keys, fmt.Sprint("key ", i))
		_, ok := x.number(keys[i])
		require.True(t, ok)
	}
	met := 0
	for i := 0; i+ahead <= len(keys); i += 7 {
		numbers, _ := x.seek(keys[i : i+ahead])
		for j, n := range numbers {
			if n > 0 {
				met++
				require.Equal(t, keys[i+j], x.keys[n-1])
			}
		}
	}
	require.Greater(t, met, 1000, "most are found at once")
	another, h := "", uint64(0)
	for i := 0; h == 0 || x.slots.Word(h) != 0; i++ {
		another = fmt.Sprint("another ", i)
		h = x.hasher.Hash(another)
	}
	slot, n := x.slots.First(h)
	require.Zero(t, n)
	x.slots.Set(slot, h, 1)
	numbers, _ := x.seek([]string{another})
	require.Zero(t, numbers[0])
}
