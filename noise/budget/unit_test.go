package budget

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// allUnits are one unit of each kind, and of some kinds more.
var allUnits = []Unit{
	Element(AddRemove), Element(Replace), OwnElement(), User(0, AddRemove), User(1, AddRemove), User(20, AddRemove), User(20, Replace), Key(AddRemove), Key(Replace),
	UserWithin(168, 3, AddRemove), UserWithin(168, 0, Replace), UserWithin(24, 3, AddRemove), UserElements(20, AddRemove), UserElements(1, AddRemove), UserElements(20, Replace),
	Row(AddRemove), Row(Replace), Party(AddRemove), Party(Replace), L1(1), L1(2), L2(1), L2(0.5), Row(AddRemove).times(3),
}

// A user of at most m elements has at most m keys, and no user of m keys as few elements.
func TestUserElements(t *testing.T) {
	u := UserElements(10, AddRemove)
	require.Equal(t, "one user (at most 10 elements), added or removed", u.String())
	require.Equal(t, "one user (at most 1 element), replaced", UserElements(1, Replace).String())
	require.NotEqual(t, User(10, AddRemove), u)
	require.Equal(t, 10, u.Max())
	require.False(t, UserElements(0, AddRemove).Valid() || UserElements(-1, AddRemove).Valid() || UserElements(1, 0).Valid())
	g := PureDP(1, u)
	for to, steps := range map[Unit]int{
		User(10, AddRemove): 0, User(1, AddRemove): 0, User(0, AddRemove): 0, UserElements(11, AddRemove): 0, Element(AddRemove): 2,
		UserElements(3, AddRemove): 1, UserElements(10, Replace): 2, UserWithin(7, 10, AddRemove): 0,
	} {
		of, err := g.For(to)
		require.Equal(t, steps == 0, err != nil, "%v", to)
		if steps > 0 {
			require.Equal(t, float64(steps), of.Epsilon(), "%v", to)
		}
	}
	require.Equal(t, 1.0, dptest.OK(PureDP(1, User(10, AddRemove)).For(u))(t).Epsilon())
	require.Equal(t, 10.0, dptest.OK(PureDP(1, Element(AddRemove)).For(u))(t).Epsilon())
	two := dptest.OK(g.Group(2))(t)
	require.Equal(t, "2 users (at most 10 elements each), added or removed", two.Unit().String())
	for _, x := range []Unit{u, two.Unit(), UserElements(1<<30, Replace)} {
		data := dptest.OK(x.MarshalBinary())(t)
		var back Unit
		require.NoError(t, back.UnmarshalBinary(data))
		require.Equal(t, x, back)
		data[2], data[3], data[4], data[5] = 0, 0, 0, 0
		require.ErrorIs(t, back.UnmarshalBinary(data), ErrFormat, "any number of elements")
	}
	data := dptest.OK(Element(Replace).MarshalBinary())(t)
	data[len(data)-1] = 0x80
	require.ErrorIs(t, new(Unit).UnmarshalBinary(data), ErrFormat)
}

func TestInvalidUnits(t *testing.T) {
	for _, u := range []Unit{
		{}, Element(0), Element(3), User(-1, AddRemove), User(math.MaxInt, AddRemove), User(3, 0), UserWithin(0, 1, AddRemove), UserWithin(-1, 1, AddRemove), UserWithin(1<<30+1, 1, AddRemove),
		UserWithin(7, -1, AddRemove), UserWithin(7, 1, 0), Key(9), Row(0), Party(0),
		L1(0), L1(-1), L1(math.NaN()), L1(math.Inf(1)), L1(0x1p-901), L2(0), L2(0x1p901), Row(Replace).times(0), L1(1).times(math.MaxInt), Unit{}.times(2),
	} {
		require.Equal(t, Unit{}, u)
		require.False(t, u.Valid())
		require.Equal(t, "no unit", u.String())
		for _, g := range []Guarantee{PureDP(1, u), ApproxDP(1, 1e-6, u), ZCDP(1, u), GDP(1, u)} {
			require.Equal(t, Guarantee{}, g)
		}
		for _, other := range allUnits {
			_, ok := u.steps(other)
			require.False(t, ok)
			_, ok = other.steps(u)
			require.False(t, ok)
		}
		require.ErrorIs(t, dptest.Err(PureDP(1, Row(Replace)).For(u)), ErrParams)
		require.ErrorIs(t, dptest.Err(PureDP(1, Row(Replace)).Stable(u, 1)), ErrParams)
	}
}

// person is what one user has of the keys 0 and 1; neither is a user who is not there.
type person [2]int

func (p person) size() int { return p[0] + p[1] }

// table is an input of two users with up to two elements each.
type table [2]person

// tables returns all inputs: 6 of each user.
func tables() (all []table) {
	var people []person
	for a := range 3 {
		for b := range 3 - a {
			people = append(people, person{a, b})
		}
	}
	for _, x := range people {
		for _, y := range people {
			all = append(all, table{x, y})
		}
	}
	return all
}

// neighbours reports whether two tables differ in one u. It follows the words of the unit and knows
// nothing of the code.
func (u Unit) neighbours(x, y table) bool {
	switch u.kind {
	case element, own:
		added, gone := 0, 0
		for i := range x {
			for k := range x[i] {
				added += max(0, y[i][k]-x[i][k])
				gone += max(0, x[i][k]-y[i][k])
			}
		}
		if u.relation == AddRemove {
			return added+gone <= u.many
		}
		for i := range x {
			if u.kind == own && x[i].size() != y[i].size() {
				return false
			}
		}
		return added == gone && added <= u.many
	case user, row, party:
		var c changes
		for i := range x {
			if x[i] != y[i] {
				if u.max > 0 && max(u.most(x[i]), u.most(y[i])) > u.max {
					return false
				}
				c.add(x[i].size(), y[i].size())
			}
		}
		return c.within(u)
	case key:
		keys := 0
		for k := range 2 {
			a, b := [2]int{x[0][k], x[1][k]}, [2]int{y[0][k], y[1][k]}
			if a == b {
				continue
			}
			keys++
			if (u.relation == AddRemove) != (a == [2]int{} || b == [2]int{}) {
				return false
			}
		}
		return keys <= u.many
	}
	return false
}

// changes are what units of two inputs have that is not the same: units that are there on one side
// only, and units with other content.
type changes struct{ came, left, other int }

func (c *changes) add(before, after int) {
	switch {
	case before == 0:
		c.came++
	case after == 0:
		c.left++
	default:
		c.other++
	}
}

// within reports whether neighbours for u may differ so. Who is replaced may be another, with
// another place.
func (c changes) within(u Unit) bool {
	if u.relation == AddRemove {
		return c.other == 0 && c.came+c.left <= u.many
	}
	return c.came == c.left && c.came+c.other <= u.many
}

// most returns what of a user's content has a most number: elements, or keys.
func (u Unit) most(c person) int {
	if u.elements {
		return c.size()
	}
	keys := 0
	for _, elements := range c {
		keys += min(elements, 1)
	}
	return keys
}

// inside reports whether a table is an input of a mechanism that protects u: no user has more than
// its max.
func (u Unit) inside(x table) bool { return u.max == 0 || max(u.most(x[0]), u.most(x[1])) <= u.max }

// distances returns the lengths of the shortest paths from the input at start, −1 where there is
// none.
func distances[T any](inputs []T, start int, neighbours func(x, y T) bool) []int {
	far := slices.Repeat([]int{-1}, len(inputs))
	far[start] = 0
	for queue := []int{start}; len(queue) > 0; queue = queue[1:] {
		for j := range inputs {
			if far[j] < 0 && neighbours(inputs[queue[0]], inputs[j]) {
				far[j] = far[queue[0]] + 1
				queue = append(queue, j)
			}
		}
	}
	return far
}

// checkConversion converts the guarantee of a mechanism from one unit to another, and compares the
// result with the exact hockey-stick divergence of all inputs that are neighbours for the other.
// For each input x₀ the mechanism is the one that gives a bit, true with probability p_j at a
// distance of j steps from x₀, where the chain p₀, p₁, … is as far apart as (ε, δ) allows: so it is
// (ε, δ)-DP for the first unit, and no such mechanism is worse at that distance. It returns the
// most steps that were met.
func checkConversion[T any](t *testing.T, name string, inputs []T, from, to func(x, y T) bool, convert func(Guarantee) Guarantee, unit Unit) (most int) {
	const epsilon, delta = 0.3, 1e-3
	p := chain(t, epsilon, delta, 12)
	converted := convert(ApproxDP(epsilon, delta, unit))
	require.True(t, converted.Promises(), name)
	for i := range inputs {
		far := distances(inputs, i, from)
		for j := range inputs {
			if !to(inputs[i], inputs[j]) {
				continue
			}
			require.GreaterOrEqual(t, far[j], 0, "%s: no path from %v to %v", name, inputs[i], inputs[j])
			most = max(most, far[j])
			a, b := []float64{p[0], 1 - p[0]}, []float64{p[far[j]], 1 - p[far[j]]}
			for _, e := range []float64{converted.asked.Epsilon, converted.asked.Epsilon / 2, 0} {
				exact := max(dptest.HockeyStickSlices(a, b, e), dptest.HockeyStickSlices(b, a, e))
				require.LessOrEqual(t, exact, converted.DeltaAt(e)+1e-14, "%s at ε = %g: %v and %v", name, e, inputs[i], inputs[j])
			}
		}
	}
	return most
}

// Every pair of units: where For converts, no pair of neighbours in 36 inputs exceeds what is
// promised; and each number of steps is met by some pair, so one less would be false, but where a
// step stands for units that these inputs do not have.
func TestConversionsAreExact(t *testing.T) {
	units := []Unit{
		Element(AddRemove), Element(Replace), OwnElement(), User(0, AddRemove), User(0, Replace), User(1, AddRemove), User(1, Replace), User(2, AddRemove), User(2, Replace),
		Key(AddRemove), Key(Replace), Row(AddRemove), Row(Replace), Party(AddRemove), Party(Replace),
		UserElements(1, AddRemove), UserElements(1, Replace), UserElements(2, AddRemove), UserElements(2, Replace),
		User(2, AddRemove).times(2), User(1, Replace).times(2), Row(Replace).times(2), Key(AddRemove).times(2), Element(Replace).times(2), OwnElement().times(2),
	}
	all := tables()
	converted, tight := 0, 0
	for _, from := range units {
		for _, to := range units {
			n, ok := from.steps(to)
			g, err := PureDP(1, from).For(to)
			require.Equal(t, ok, err == nil)
			if !ok {
				require.ErrorIs(t, err, ErrMismatch, "%v to %v", from, to)
				continue
			}
			require.Equal(t, PureDP(float64(n), to).asked, g.asked)
			require.Equal(t, DiscreteLaplace(float64(n), 1, to).releases().Pair, g.releases().Pair)
			converted++
			inputs := slices.DeleteFunc(slices.Clone(all), func(x table) bool { return !from.inside(x) || !to.inside(x) })
			most := checkConversion(t, fmt.Sprintf("%v to %v", from, to), inputs, from.neighbours, to.neighbours,
				func(g Guarantee) Guarantee { g, _ = g.For(to); return g }, from)
			require.LessOrEqual(t, most, n)
			if most == n {
				tight++
			}
		}
	}
	require.Equal(t, 147, converted)
	require.Greater(t, tight, converted*3/4)
	for _, c := range []struct {
		from, to Unit
		n        int
	}{
		{Element(AddRemove), UserElements(20, AddRemove), 20}, {Element(AddRemove), UserElements(20, Replace), 40}, {Element(AddRemove), User(20, AddRemove), 0}, {Element(AddRemove), User(1, AddRemove), 0},
		{User(20, AddRemove), UserElements(20, AddRemove), 1}, {User(20, AddRemove), UserWithin(7, 20, AddRemove), 0}, {UserElements(20, AddRemove), UserWithin(7, 20, AddRemove), 0}, {User(1, AddRemove), UserWithin(7, 1, AddRemove), 0}, {Element(AddRemove), Element(Replace), 2},
		{User(5, AddRemove), Element(AddRemove), 2}, {User(5, AddRemove), Element(Replace), 4}, {User(5, AddRemove), OwnElement(), 2},
		{User(5, Replace), Element(Replace), 0}, {User(5, Replace), OwnElement(), 1}, {UserElements(1, Replace), Element(Replace), 1}, {UserElements(1, AddRemove), Element(Replace), 2}, {User(1, Replace), Element(Replace), 0}, {User(1, AddRemove), Element(Replace), 4},
		{OwnElement(), Element(Replace), 0}, {Element(Replace), OwnElement(), 1}, {OwnElement(), User(1, Replace), 0}, {Element(AddRemove), OwnElement(), 2},
		{UserElements(1, AddRemove), Element(AddRemove), 1}, {User(1, AddRemove), Element(AddRemove), 2}, {Element(Replace), User(1, Replace), 0}, {User(20, AddRemove), User(3, AddRemove), 1},
		{User(0, Replace), User(3, Replace), 1}, {User(3, AddRemove), User(20, AddRemove), 0}, {User(3, AddRemove), User(0, AddRemove), 0},
		{Row(AddRemove), Row(Replace), 2}, {Row(Replace), Row(AddRemove), 0}, {Row(AddRemove), User(1, AddRemove), 0}, {Key(AddRemove), User(1, AddRemove), 0},
		{Key(AddRemove), Element(AddRemove), 2}, {Party(AddRemove), Element(AddRemove), 0}, {L1(1), Row(Replace), 0}, {Row(Replace), L1(1), 0},
		{L1(1), L1(2.5), 3}, {L1(2), L1(1), 1}, {L2(1), L1(1), 1}, {L2(1), L1(4), 4}, {L1(1), L2(1), 0}, {L1(1), L1(0x1p40), 0},
		{Row(AddRemove).times(2), Row(AddRemove).times(5), 3}, {Element(AddRemove), UserElements(3, AddRemove).times(2), 6},
	} {
		n, ok := c.from.steps(c.to)
		require.Equal(t, c.n > 0, ok, "%v to %v", c.from, c.to)
		if ok {
			require.Equal(t, c.n, n, "%v to %v", c.from, c.to)
		}
	}
}

// stream is an input of one key in two steps, so far apart that no steps of a unit hold both, with
// up to two elements of each of two users in each.
type stream [2][2]int // by step and user

// neighboursInTime reports whether two streams differ in one u, an element or a user. It follows
// the words of the unit.
func (u Unit) neighboursInTime(x, y stream) bool {
	var c changes
	added, gone := 0, 0
	for i := range 2 {
		before, after := []int{x[0][i], x[1][i]}, []int{y[0][i], y[1][i]} // of a user, by step
		for k := range 2 {
			added, gone = added+max(0, after[k]-before[k]), gone+max(0, before[k]-after[k])
			if before[k] != after[k] && u.period > 0 {
				c.add(before[k], after[k])
			}
		}
		if u.period == 0 && u.kind == user && !slices.Equal(before, after) {
			c.add(before[0]+before[1], after[0]+after[1])
		}
		if u.kind == own && before[0]+before[1] != after[0]+after[1] {
			return false
		}
	}
	switch {
	case u.kind == user:
		return c.within(u)
	case u.relation == AddRemove:
		return added+gone <= u.many
	}
	return added == gone && added <= u.many
}

// insideInTime reports whether a stream is an input of a mechanism that protects u.
func (u Unit) insideInTime(x stream) bool {
	for i := range 2 {
		most := max(x[0][i], x[1][i])
		if u.kind == user && u.period == 0 {
			most = x[0][i] + x[1][i]
		}
		if u.max > 0 && most > u.max {
			return false
		}
	}
	return true
}

// Users with all they have, users within some steps, and elements that are added or removed: where
// For converts no pair of 81 streams is worse, and each number of steps is met.
func TestConversionsInTime(t *testing.T) {
	var all []stream
	for n := range 81 {
		all = append(all, stream{{n % 3, n / 3 % 3}, {n / 9 % 3, n / 27}})
	}
	tight := 0
	for _, c := range []struct {
		from, to Unit
		n        int // 0 where no rule is known
	}{
		{UserWithin(7, 0, AddRemove), UserWithin(7, 0, AddRemove), 1},
		{UserWithin(7, 2, AddRemove), UserWithin(7, 1, AddRemove), 1},
		{UserWithin(7, 0, AddRemove), UserWithin(7, 2, Replace), 2},
		{Element(AddRemove), UserWithin(7, 2, AddRemove), 2},
		{Element(AddRemove), UserWithin(7, 1, AddRemove), 1},
		{Element(AddRemove), UserWithin(7, 2, AddRemove).times(2), 4},
		{User(0, AddRemove), UserWithin(7, 2, AddRemove), 2},
		{User(1, AddRemove), UserWithin(7, 1, AddRemove), 0},
		{User(0, AddRemove), UserWithin(7, 2, AddRemove).times(2), 4},
		{User(0, Replace), UserWithin(7, 2, Replace), 0},
		{User(0, AddRemove), UserWithin(7, 2, Replace), 4},
		{User(0, AddRemove), Element(Replace), 4},
		{User(0, AddRemove), OwnElement(), 2},
		{UserElements(1, AddRemove), Element(Replace), 2},
		{User(0, Replace), OwnElement(), 1},
		{UserWithin(7, 0, AddRemove), Element(Replace), 4},
		{UserWithin(7, 0, AddRemove), OwnElement(), 4},
		{UserWithin(7, 1, AddRemove), OwnElement(), 2},
		{UserWithin(7, 0, Replace), OwnElement(), 0},
		{UserWithin(7, 0, AddRemove), Element(AddRemove), 2},
		{UserWithin(7, 1, AddRemove), Element(AddRemove), 1},
		{UserWithin(7, 1, AddRemove), UserWithin(7, 2, AddRemove), 0},
		{UserWithin(7, 2, AddRemove), UserWithin(8, 2, AddRemove), 0},
		{UserWithin(7, 0, AddRemove), User(2, AddRemove), 0},
		{UserWithin(7, 0, Replace), UserWithin(7, 0, AddRemove), 0},
		{Element(AddRemove), UserWithin(7, 0, AddRemove), 0},
		{Element(Replace), UserWithin(7, 1, Replace), 0},
		{Row(AddRemove), UserWithin(7, 1, AddRemove), 0},
	} {
		n, ok := c.from.steps(c.to)
		require.Equal(t, c.n, n, "%v to %v", c.from, c.to)
		if require.Equal(t, c.n > 0, ok); !ok {
			continue
		}
		inputs := slices.DeleteFunc(slices.Clone(all), func(x stream) bool { return !c.from.insideInTime(x) || !c.to.insideInTime(x) })
		most := checkConversion(t, fmt.Sprintf("%v to %v", c.from, c.to), inputs, c.from.neighboursInTime, c.to.neighboursInTime,
			func(g Guarantee) Guarantee { g, _ = g.For(c.to); return g }, c.from)
		require.LessOrEqual(t, most, n)
		if most == n {
			tight++
		}
	}
	require.GreaterOrEqual(t, tight, 9)
	require.Equal(t, "one user within any 168 steps (at most 3 elements), added or removed", UserWithin(168, 3, AddRemove).String())
	require.Equal(t, "2 users within any 24 steps, replaced", UserWithin(24, 0, Replace).times(2).String())
}

// Vectors: all integer vectors of a square in ℓ₁ and ℓ₂, at distances that are and are not
// multiples.
func TestConversionsOfVectors(t *testing.T) {
	var square [][2]float64
	for a := range 5 {
		for b := range 5 {
			square = append(square, [2]float64{float64(a), float64(b)})
		}
	}
	within := func(u Unit) func(x, y [2]float64) bool {
		return func(x, y [2]float64) bool {
			a, b := math.Abs(x[0]-y[0]), math.Abs(x[1]-y[1])
			if u.kind == l1 {
				return a+b <= u.distance
			}
			return math.Hypot(a, b) <= u.distance
		}
	}
	for _, from := range []Unit{L1(1), L1(2), L2(1), L2(2)} {
		for _, to := range []Unit{L1(1), L1(1.5), L1(2), L1(3), L1(4), L1(4.25)} {
			n, ok := from.steps(to)
			require.True(t, ok)
			require.Equal(t, int(math.Ceil(to.distance/from.distance)), n)
			most := checkConversion(t, fmt.Sprintf("%v to %v", from, to), square, within(from), within(to), func(g Guarantee) Guarantee { g, _ = g.For(to); return g }, from)
			if from.kind == l1 {
				require.Equal(t, int(math.Ceil(math.Floor(to.distance)/from.distance)), most)
			}
		}
	}
	// ℓ₂ to ℓ₂ on a line.
	line := make([][2]float64, 40)
	for i := range line {
		line[i][0] = float64(i) / 8
	}
	for _, to := range []float64{0.5, 1, 1.25, 2, 3.5} {
		most := checkConversion(t, fmt.Sprint(to), line, within(L2(1)), within(L2(to)), func(g Guarantee) Guarantee { g, _ = g.For(L2(to)); return g }, L2(1))
		require.Equal(t, int(math.Ceil(to)), most)
	}
	// One step less is false: ℓ₁ to ℓ₂ needs √d times the distance.
	require.ErrorIs(t, dptest.Err(PureDP(1, L1(1)).For(L2(1))), ErrMismatch)
	require.True(t, within(L2(1.5))([2]float64{0, 0}, [2]float64{1, 1}))
	require.False(t, within(L1(1.5))([2]float64{0, 0}, [2]float64{1, 1}))
}

// The distance of a group of vectors is never rounded up: more would be promised.
func TestGroupDistanceRoundsDown(t *testing.T) {
	for _, d := range []float64{0.1, 1.0 / 3, 0.7, 1e-30, 12345.678} {
		for m := 2; m < 300; m++ {
			got := L1(d).times(m)
			require.LessOrEqual(t, math.FMA(-d, float64(m), got.distance), 0.0)
			n, ok := L1(d).steps(got)
			require.True(t, ok)
			require.LessOrEqual(t, n, m)
		}
	}
}

func TestStable(t *testing.T) {
	u := User(20, AddRemove)
	for _, c := range []struct {
		g        Guarantee
		distance float64
		want     Guarantee
	}{
		{PureDP(1, L1(1)), 20, PureDP(20, u)},
		{PureDP(1, L1(20)), 20, PureDP(1, u)},
		{ZCDP(0.5, L2(2)), 3, ZCDP(2, u)},
		{PureDP(1, Row(AddRemove)), 1, PureDP(1, u)},
		{PureDP(1, Key(AddRemove)), 20, PureDP(20, u)},
		{PureDP(1, Row(AddRemove).times(3)), 4, PureDP(2, u)},
		{GDP(0.5, L2(1)), 2, GDP(1, u)},
		{Guarantee{}, 3, Guarantee{}},
	} {
		got := dptest.OK(c.g.Stable(u, c.distance))(t)
		text, _, _ := strings.Cut(got.String(), ", if each user ")
		require.Equal(t, c.want.String(), text) // the sums are rounded up
		require.LessOrEqual(t, got.DeltaAt(1), c.want.DeltaAt(1)*(1+1e-12))
		require.GreaterOrEqual(t, got.DeltaAt(1), 0.8*c.want.DeltaAt(1))
	}
	for _, distance := range []float64{0, -1, math.NaN(), math.Inf(1), 0x1p31} {
		require.ErrorIs(t, dptest.Err(PureDP(1, L1(1)).Stable(u, distance)), ErrParams)
	}
	replaced := dptest.OK(ZCDP(0.5, Row(AddRemove)).For(Row(Replace)))(t)
	require.Equal(t, ZCDP(2, Row(Replace)), replaced)
	again := dptest.OK(replaced.For(Row(Replace)))(t)
	require.Equal(t, replaced, again)
}
