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
// summed. What one list, or other Params, hold does not mix with another.
func TestShardsAndMerge(t *testing.T) {
	quantiles := percentiles
	quantiles.Passes = 2
	for name, p := range map[string]Params{
		"everything": everything, "chosen": {Epsilon: 1, Delta: 1e-6, FullKeys: AutoFullKeys, most: 6, Others: true}, "keys": {Epsilon: 1, Delta: 1e-6, KeysOnly: true, most: 6, Others: true},
		"chosen in two passes": {Epsilon: 1, Delta: 1e-6, Passes: 2, FullKeys: AutoFullKeys, most: 6, Others: true}, "learned": learning, "quantiles": percentiles, "quantiles in two passes": quantiles,
	} {
		t.Run(name, func(t *testing.T) { sharded(t, func() *Builder[int] { return builder[int](t, p) }) })
	}
	list := func(keys ...int) *Builder[int] {
		return dptest.OK(NewListed(Params{Epsilon: 1, Delta: 1e-6, FullKeys: 3, Min: -1, Max: 3, Others: true}, keys...))(t)
	}
	restored, want := sharded(t, func() *Builder[int] { return list(4, 1, 9, 16, 25) })
	require.Positive(t, held(restored).others)
	for _, other := range []*Builder[int]{list(4, 1, 9, 16, 26), list(1, 4), builder[int](t, everything)} {
		require.ErrorIs(t, restored.Merge(other), ErrMismatch)
		require.ErrorIs(t, other.Merge(restored), ErrMismatch)
		require.ErrorIs(t, other.RestorePrivateState(want), ErrMismatch)
		require.False(t, other.Released())
	}
	require.Equal(t, want, dptest.OK(restored.AppendPrivateState(nil))(t))
}

// sharded gives users to empty Builders. It checks that they hold the same bytes: one that gets
// all, one that gets them, and their keys, in another order, and the merged shards. It returns one
// that was restored from the bytes, and these.
func sharded(t *testing.T, empty func() *Builder[int]) (restored *Builder[int], want []byte) {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 6))
	one, again, shards := empty(), empty(), make([]*Builder[int], 8)
	for i := range shards {
		shards[i] = empty()
	}
	type user struct {
		keys   []int
		values []float64
	}
	var users []user
	for range 300 {
		u := user{keys: rng.Perm(40)[:rng.IntN(7)]}
		if len(u.keys) > 1 && one.params.Levels[0] == 0 { // one of two values is drawn
			u.keys = append(u.keys, u.keys[1])
		}
		for range u.keys {
			u.values = append(u.values, [...]float64{math.Exp(3 * rng.NormFloat64()), -3, 0, math.Inf(1), math.Inf(-1), math.NaN(), 1e300}[max(rng.IntN(30)-23, 0)])
		}
		valued(one)(u.keys, u.values)
		valued(shards[rng.IntN(len(shards))])(u.keys, u.values)
		users = append(users, u)
	}
	rng.Shuffle(len(users), func(i, j int) { users[i], users[j] = users[j], users[i] })
	for _, u := range users {
		rng.Shuffle(len(u.keys), func(i, j int) {
			u.keys[i], u.keys[j] = u.keys[j], u.keys[i]
			u.values[i], u.values[j] = u.values[j], u.values[i]
		})
		valued(again)(u.keys, u.values)
	}
	for _, shard := range shards[1:] {
		require.NoError(t, shards[0].Merge(shard))
		require.True(t, shard.Released())
	}
	want = dptest.OK(one.AppendPrivateState(nil))(t)
	restored = empty()
	give(restored, 1, 2, 3)
	require.NoError(t, restored.RestorePrivateState(want))
	for _, b := range []*Builder[int]{again, shards[0], restored} {
		require.Equal(t, want, dptest.OK(b.AppendPrivateState(nil))(t))
	}
	for n := 0; n < len(want); n += 1 + len(want)/100 {
		require.ErrorIs(t, restored.RestorePrivateState(want[:n]), ErrFormat)
	}
	give(again, 3)
	require.NotEqual(t, want, dptest.OK(again.AppendPrivateState(nil))(t))
	return restored, want
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
	secret := builder[string](t, everything)
	secret.AddUserValues([]string{"the secret key of somebody"}, []float64{0.123456789})
	dptest.Redacted(t, secret, "the secret key of somebody", "123456789")
	held, b := dptest.OK(fresh().AppendPrivateState(nil))(t), fresh()
	for n := range held {
		require.ErrorIs(t, b.RestorePrivateState(held[:n]), ErrFormat)
	}
	require.ErrorIs(t, builder[int](t, plain).RestorePrivateState(held), ErrFormat)
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
	if b.params.valued() {
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

// Guarantee promises nothing for Params that New refuses, at the ends of their ranges too; what is
// calibrated has their δ at most; and what a release gives decodes to the same groups, in the bytes
// that were planned, empty ones too.
func TestGuaranteeAndNewAgree(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 3)) // test data
	between := func(low, high float64) float64 { return low * math.Pow(high/low, rng.Float64()) }
	all := []Params{{Epsilon: 0x1p-10, Delta: 1.5e-45, Passes: 2, CountShare: 0.04, FullKeys: 3942}, plain, {Epsilon: 1, Delta: 1e-6, Passes: 2, Others: true, Max: 1}, {Epsilon: 1, Delta: 1e-6, Max: 1, CountShare: math.Copysign(0, -1), Min: math.Copysign(0, -1)}}
	for i, p := range extremes() {
		if i%3 == 0 || dptest.Long() {
			all = append(all, p)
		}
	}
	valid := len(all)
	for range dptest.Full(60, 4) {
		all = append(all, Params{
			Epsilon: between(minEpsilon, maxEpsilon), Delta: between(minDelta, maxDelta), Passes: 1 + rng.IntN(2), CountShare: between(minShare, 1-minShare),
			FullKeys: 1 + rng.IntN(mostFull), most: 1 + rng.IntN(mostKeys), Others: rng.IntN(2) == 0, Releases: 1 + rng.IntN(3)*rng.IntN(30), Relation: budget.Relation(1 + rng.IntN(2)), Max: float64(rng.IntN(2)),
		})
	}
	for i, p := range all {
		b, err := New[int](p)
		require.Equal(t, err == nil, p.Guarantee().Promises(), "%+v: %v", p, err)
		require.Equal(t, err != nil, math.IsNaN(planned(p).Threshold), "%+v", p)
		if err != nil {
			require.False(t, 0 < i && i < valid, "%+v: %v", p, err)
			continue
		}
		require.LessOrEqual(t, p.normal().deltaOf(held(b).calibrated), p.Delta, "%+v", p)
		for _, users := range []int{0, 300} {
			for range users {
				give(b, -5, 0, 7)
			}
			g := dptest.OK(again(t, b).Release())(t)
			require.True(t, g.Guarantee().Equal(p.Guarantee()) && b.Guarantee().Equal(p.Guarantee()))
			decoded, size := dptest.RoundTrip(t, g, "%+v", p)
			require.Equal(t, g, decoded)
			require.Equal(t, planned(p).Bytes+g.Len()*8*(1+len(p.normal().sums())), size)
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
