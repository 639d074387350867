package groupby

import (
	"encoding/json"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// everything has all that a release can have.
var everything = Params{Epsilon: 1, Delta: 1e-6, most: 6, FullKeys: 3, Min: -1, Max: 3, Others: true}

// laws are the calibrations that tests have asked for.
var laws = map[Params]calibration{}

// builder is New, which calibrates each Params once for all tests.
func builder[K string | int](t testing.TB, p Params) *Builder[K] {
	t.Helper()
	p = p.normal()
	if _, found := laws[p]; !found {
		b := dptest.OK(New[K](p))(t)
		laws[p] = held(b).calibrated
	}
	var w pass[K] = onePass[K]{}
	if p.Passes == 2 {
		w = twoPasses[K]{}
	}
	return &Builder[K]{holding(p, newState(p, laws[p], w, newIndex[K](0), 0))}
}

// entry is a key with its cell.
type entry[K any] struct {
	key K
	cell
}

// entries are the keys with their cells.
func (t *table[K]) entries() (all []entry[K]) {
	for i, key := range t.keys {
		all = append(all, entry[K]{key, t.cells[i]})
	}
	return all
}

// add adds to the cell of the key.
func (t *table[K]) add(key K, c cell) {
	i, _ := t.entry(key, t.hasher.Hash(key))
	t.cells[i].add(c)
}

// held returns what a Builder holds.
func held[K string | int](b *Builder[K]) *state[K] {
	data := private.Enter(b.secret)
	private.Leave(b.secret)
	return data
}

// pairs yields the keys with value(key).
func pairs(keys []int, value func(int) float64) func(func(int, float64) bool) {
	return func(yield func(int, float64) bool) {
		for _, key := range keys {
			if !yield(key, value(key)) {
				return
			}
		}
	}
}

// given is what a user with k of l keys that count adds to one of them.
func given(p Params, k, l int, value int64) cell {
	p = p.normal()
	x := clipped(k, p.FullKeys)
	return cell{weight(k), x, value, residual(l)}
}

// A user's keys count once each; what he gives is that of his distinct keys.
func TestAddUser(t *testing.T) {
	b := builder[int](t, everything)
	give(b)
	require.Empty(t, held(b).table.entries())
	give(b, 7, 5, 7, 7)
	two := given(everything, 2, 2, -unit/2)
	require.Equal(t, []entry[int]{{5, two}, {7, two}}, entriesOf(held(b)))
	require.Zero(t, held(b).shorts[0])
	valued(b)(split(func(yield func(int, float64) bool) {
		_ = yield(5, 2) && yield(8, 0) && yield(5, 7) && yield(9, -100) && yield(10, 1)
	}))
	x := clipped(4, 3)
	both := given(everything, 4, 4, x)
	both = cell{two.weight + both.weight, two.count + both.count, two.value + both.value, two.others + both.others}
	require.Equal(t, []entry[int]{
		{5, both}, {7, two}, {8, given(everything, 4, 4, -x/2)}, {9, given(everything, 4, 4, -x)}, {10, given(everything, 4, 4, 0)},
	}, entriesOf(held(b)))
	require.EqualValues(t, unit-x, held(b).shorts[0])
	b.AddUserValues(nil, nil)
	require.Len(t, held(b).table.entries(), 5)
}

// Of a user with more than MaxKeys keys, MaxKeys count, each with the same probability; all are in
// the others.
func TestManyKeys(t *testing.T) {
	const users, keys = 6000, 24
	b := builder[int](t, everything)
	order := rand.New(rand.NewPCG(1, 1)).Perm(keys)
	kept := make([]int64, keys)
	for range users {
		give(b, order...)
	}
	each := given(everything, 6, keys, -unit/2)
	for _, e := range held(b).table.entries() {
		n := e.weight / weight(6)
		kept[e.key] = n
		require.Equal(t, n*weight(6), e.weight)
		require.Equal(t, n*each.count, e.count)
		require.Equal(t, users*residual(keys), e.others)
	}
	total := int64(0)
	for _, n := range kept { // Binomial(6000, ¼) each: 7 standard deviations are 2.6e-12
		require.InDelta(t, users/4, n, 7*math.Sqrt(users*3./16))
		total += n
	}
	require.EqualValues(t, users*6, total)
	require.EqualValues(t, int64(users*unit), held(b).shorts[0])
}

// Sums are exact: order and shards leave no trace, nor does a move between machines, whatever is
// summed.
func TestShardsAndMerge(t *testing.T) {
	for name, p := range map[string]Params{
		"everything": everything, "chosen": {Epsilon: 1, Delta: 1e-6, FullKeys: AutoFullKeys, most: 6, Others: true}, "keys": {Epsilon: 1, Delta: 1e-6, KeysOnly: true, most: 6, Others: true},
		"chosen in two passes": {Epsilon: 1, Delta: 1e-6, Passes: 2, FullKeys: AutoFullKeys, most: 6, Others: true},
	} {
		t.Run(name, func(t *testing.T) { shardsAndMerge(t, p) })
	}
}

func shardsAndMerge(t *testing.T, p Params) {
	rng := rand.New(rand.NewPCG(5, 6))
	one, again := builder[int](t, p), builder[int](t, p)
	var shards []*Builder[int]
	for range 64 {
		shards = append(shards, fresh(held(one)))
	}
	var users [][]int
	for range 500 {
		users = append(users, rng.Perm(40)[:rng.IntN(7)])
	}
	value := func(key int) float64 { return float64(key%9) - 2.3 }
	for _, user := range users {
		valued(one)(split(pairs(user, value)))
		valued(shards[rng.IntN(64)])(split(pairs(user, value)))
	}
	rng.Shuffle(len(users), func(i, j int) { users[i], users[j] = users[j], users[i] })
	for _, user := range users {
		valued(again)(split(pairs(user, value)))
	}
	for _, shard := range shards[1:] {
		require.NoError(t, shards[0].Merge(shard))
		require.True(t, shard.Released())
	}
	want := dptest.OK(one.AppendPrivateState(nil))(t)
	require.Equal(t, want, dptest.OK(again.AppendPrivateState(nil))(t))
	require.Equal(t, want, dptest.OK(shards[0].AppendPrivateState(nil))(t))
	restored := builder[int](t, p)
	give(restored, 1, 2, 3)
	require.NoError(t, restored.RestorePrivateState(want))
	require.Equal(t, want, dptest.OK(restored.AppendPrivateState(nil))(t))
	give(restored, 3)
	require.NotEqual(t, want, dptest.OK(restored.AppendPrivateState(nil))(t))
}

// Slots hold half of a hash, in which about ten pairs of 300,000 keys agree: they stay apart.
func TestKeysOfOneHalfHash(t *testing.T) {
	const n = 300_000
	tb, random := newTable(newIndex[int](0), 0), rand.New(rand.NewPCG(6, 7))
	var keys [n]int
	for i := range keys {
		keys[i] = int(random.Uint64()) // some are equal where int has 32 bits
	}
	slices.Sort(keys[:])
	different := slices.Compact(keys[:])
	for range 2 {
		for i, key := range different {
			tb.add(key, cell{weight: int64(i)})
		}
	}
	require.Len(t, tb.keys, len(different))
	for i, e := range tb.entries() {
		at, ok := tb.find(e.key)
		require.True(t, ok && at == uint32(i) && e.key == different[i] && e.weight == 2*int64(i))
	}
}

func TestSaturation(t *testing.T) {
	tb := newTable(newIndex[int](0), 0)
	for range 5 {
		tb.add(1, cell{limit, limit, -limit, limit})
	}
	require.Equal(t, []entry[int]{{1, cell{limit, limit, -limit, limit}}}, tb.entries())
	tb.add(1, cell{count: -limit})
	require.Zero(t, tb.cells[0].count)
	tb.add(1, cell{value: limit})
	require.Zero(t, tb.cells[0].value)
}

func TestReleaseOnce(t *testing.T) {
	fresh := func() *Builder[string] {
		b := builder[string](t, plain)
		b.AddUser([]string{"a"})
		return b
	}
	use := func(b *Builder[string]) {
		b.AddUser([]string{"b"})
		valued(b)(split(func(yield func(string, float64) bool) { yield("c", 1) }))
	}
	var others []*Builder[string]
	for _, p := range []Params{
		{Epsilon: 2, Delta: 1e-6}, {Epsilon: 1, Delta: 1e-7}, {Epsilon: 1, Delta: 1e-6, most: 3}, {Epsilon: 1, Delta: 1e-6, CountShare: 0.3},
		{Epsilon: 1, Delta: 1e-6, FullKeys: 3}, {Epsilon: 1, Delta: 1e-6, Max: 1}, {Epsilon: 1, Delta: 1e-6, Min: -1}, {Epsilon: 1, Delta: 1e-6, Others: true},
		{Epsilon: 1, Delta: 1e-6, KeysOnly: true}, {Epsilon: 1, Delta: 1e-6, Relation: budget.Replace},
	} {
		p = p.normal()
		others = append(others, &Builder[string]{holding(p, newState(p, calibration{}, onePass[string]{}, newIndex[string](0), 0))})
	}
	dptest.Builder(t, fresh, use, others...)
	held, b := dptest.OK(fresh().AppendPrivateState(nil))(t), fresh()
	for n := range held {
		require.ErrorIs(t, b.RestorePrivateState(held[:n]), ErrFormat)
	}
	require.ErrorIs(t, builder[int](t, plain).RestorePrivateState(held), ErrFormat)
}

func TestBuilderIsRedacted(t *testing.T) {
	b := builder[string](t, everything)
	for range 50 {
		valued(b)(split(func(yield func(string, float64) bool) { yield("the secret key of somebody", 0.123456789) }))
	}
	dptest.Redacted(t, b, "the secret key of somebody", "123456789")
}

// The zero value has no numbers.
func TestZeroGroups(t *testing.T) {
	var g Groups[string]
	require.False(t, g.Guarantee().Promises())
	require.ErrorIs(t, dptest.Err(g.MarshalBinary()), ErrFormat)
	require.Zero(t, g.Len())
	require.False(t, g.Has("a"))
	lo, hi := g.Interval("a", 0.9)
	low, high := g.Shortfall(0.9)
	least, most := g.SumInterval("a", 0.9)
	bottom, top := g.MeanInterval("a", 0.9)
	for _, x := range []float64{g.Estimate("a"), g.Sum("a"), g.Mean("a"), g.Others(), lo, hi, low, high, least, most, bottom, top} {
		require.True(t, math.IsNaN(x))
	}
}

// split returns the keys and values of one user for AddUserValues.
func split[K comparable](user iter.Seq2[K, float64]) (keys []K, values []float64) {
	for key, value := range user {
		keys, values = append(keys, key), append(values, value)
	}
	return keys, values
}

// valued returns what adds a user with values where the Builder takes them, and without elsewhere.
func valued[K string | int](b *Builder[K]) func(keys []K, values []float64) {
	if b.params.values() {
		return b.AddUserValues
	}
	return func(keys []K, _ []float64) { b.AddUser(keys) }
}

// give adds a user, with values of 0 where the Builder takes values.
func give[K string | int](b *Builder[K], keys ...K) {
	if b.params.valued() {
		b.AddUserValues(keys, make([]float64, len(keys)))
	} else {
		b.AddUser(keys)
	}
}

// Values that would be dropped in silence take the Builder its data, and Release says why; so do
// users without the values that the Params ask for.
func TestValuesWithoutARange(t *testing.T) {
	for name, c := range map[string]struct {
		p    Params
		add  func(b *Builder[string])
		text string
	}{
		"no range":    {plain, func(b *Builder[string]) { b.AddUserValues([]string{"a"}, []float64{1}) }, "given values by AddUserValues, and its Params have no Min and Max"},
		"keys only":   {Params{Epsilon: 1, Delta: 1e-6, KeysOnly: true}, func(b *Builder[string]) { b.AddUserValues(nil, nil) }, "given values"},
		"more values": {everything, func(b *Builder[string]) { b.AddUserValues([]string{"a"}, []float64{1, 2}) }, "not of one length"},
		"no values":   {everything, func(b *Builder[string]) { b.AddUserValues([]string{"a"}, nil) }, "not of one length"},
		"a range":     {everything, func(b *Builder[string]) { b.AddUser([]string{"a"}) }, "call AddUserValues"},
		"no keys":     {everything, func(b *Builder[string]) { b.AddUser(nil) }, "by AddUser, and its Params have Min and Max"},
		"learned":     {learning, func(b *Builder[string]) { b.AddUser([]string{"a"}) }, "call AddUserValues"},
		"quantiles":   {percentiles, func(b *Builder[string]) { b.AddUser([]string{"a"}) }, "call AddUserValues"},
	} {
		b := dptest.OK(New[string](c.p))(t)
		for range 1000 {
			give(b, "a")
		}
		c.add(b)
		give(b, "a")
		dptest.Refused(t, dptest.Err(b.Release()), ErrReleased, c.text, name)
	}
}

// Guarantee promises nothing for Params that New refuses, at the ends of their ranges too.
func TestGuaranteeAndNewAgree(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 3)) // test data
	between := func(low, high float64) float64 { return low * math.Pow(high/low, rng.Float64()) }
	all := []Params{{Epsilon: 0x1p-10, Delta: 1.5e-45, Passes: 2, CountShare: 0.04, FullKeys: 3942}}
	for range dptest.Full(60, 4) {
		all = append(all, Params{
			Epsilon: between(minEpsilon, maxEpsilon), Delta: between(minDelta, maxDelta), Passes: 1 + rng.IntN(2), CountShare: between(minShare, 1-minShare),
			FullKeys: 1 + rng.IntN(mostFull), most: 1 + rng.IntN(mostKeys), Others: rng.IntN(2) == 0,
		})
	}
	for _, p := range all {
		b, err := New[int](p)
		require.Equal(t, err == nil, p.Guarantee().Promises(), "%+v: %v", p, err)
		require.Equal(t, err != nil, math.IsNaN(planned(p).Threshold), "%+v", p)
		if err == nil {
			require.Equal(t, p.Guarantee(), b.Guarantee())
		}
	}
}

// The view of a release has all that was released.
func TestJSONHasSumsAndOthers(t *testing.T) {
	p := Params{Epsilon: 8, Delta: 1e-6, Max: 10, Others: true}
	b := dptest.OK(New[string](p))(t)
	for range 3000 {
		b.AddUserValues([]string{"a"}, []float64{5})
	}
	g := dptest.OK(b.Release())(t)
	text := dptest.OK(json.Marshal(g))(t)
	type estimated struct{ Estimate, Low, High float64 }
	var shown struct {
		Keys []struct {
			Key string
			estimated
			Sum, Mean *estimated
		}
		Others *estimated
	}
	require.NoError(t, json.Unmarshal(text, &shown))
	require.Len(t, shown.Keys, 1)
	low, high := g.SumInterval("a", 0.95)
	require.Equal(t, estimated{g.Sum("a"), low, high}, *shown.Keys[0].Sum)
	low, high = g.MeanInterval("a", 0.95)
	require.Equal(t, estimated{g.Mean("a"), low, high}, *shown.Keys[0].Mean)
	require.Equal(t, g.Others(), shown.Others.Estimate)
	require.LessOrEqual(t, shown.Others.Low, max(g.Others(), 0))
	require.GreaterOrEqual(t, shown.Others.High, g.Others())
}
