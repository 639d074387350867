package budget

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// told is randomized response at ε on whether a count is above 0: what n rows say of a part.
func told(count int, epsilon float64) [2]float64 {
	p := 1 / (1 + math.Exp(epsilon))
	if count > 0 {
		return [2]float64{p, 1 - p}
	}
	return [2]float64{1 - p, p}
}

// spent is a release of the tiny mechanism of TestPartsExactly: on the rows of part 0 or 1, or of
// both where it is 2.
type spent struct {
	part    int
	epsilon float64
}

// law returns the output law of the releases, for the numbers of rows in both parts: the second and
// later ones may be on another part by the first output, if other has one.
func law(rows [2]int, plan []spent, other map[int]int) map[string]float64 {
	all := map[string]float64{"": 1}
	for i, s := range plan {
		next := map[string]float64{}
		for seen, p := range all {
			part := s.part
			if to, ok := other[i]; ok && seen[0] == '1' {
				part = to
			}
			count := rows[0] + rows[1]
			if part < 2 {
				count = rows[part]
			}
			for out, q := range told(count, s.epsilon) {
				next[seen+fmt.Sprint(out)] += p * q
			}
		}
		all = next
	}
	return all
}

// Releases on two parts of a handful of rows, with all neighbours enumerated: the exact divergence
// is within the budget that the ledger accepted them under, for rows that are added or removed and
// for rows that are replaced, who may move. Charging only one of the two parts would be too little.
func TestPartsExactly(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 42))
	attained, moved, apart := 0, 0, 0
	for n := range dptest.Full(3000, 600) {
		relation := []Relation{AddRemove, Replace}[n%2]
		adaptive := n%3 == 0
		rule := []Rule{SumRule()}
		if !adaptive && n%4 < 2 {
			rule = nil
		}
		l := dptest.OK(NewLedger(1, 0, Row(relation), rule...))(t)
		ledgers := []*Ledger{l.Part("a"), l.Part("b"), l}
		var plan []spent
		for range 5 {
			s := spent{rng.IntN(3), []float64{0.1, 0.25, 0.5, 1}[rng.IntN(4)]}
			if ledgers[s.part].Spend(PureDP(s.epsilon, ledgers[s.part].Unit())) == nil {
				plan = append(plan, s)
			}
		}
		// By the first output one of the later releases is on the other part: a ledger with a rule
		// that accepts either course.
		other := map[int]int{}
		if i := 1 + rng.IntN(4); adaptive && i < len(plan) && plan[i].part < 2 {
			second := dptest.OK(NewLedger(1, 0, Row(relation), rule...))(t)
			ledgers := []*Ledger{second.Part("a"), second.Part("b"), second}
			ok := true
			for j, s := range plan {
				if j == i {
					s.part = 1 - s.part
				}
				ok = ok && ledgers[s.part].Spend(PureDP(s.epsilon, ledgers[s.part].Unit())) == nil
			}
			if ok {
				other[i] = 1 - plan[i].part
			}
		}
		worst, sums := 0.0, [3]float64{}
		for _, s := range plan {
			sums[s.part] += s.epsilon
		}
		for a := range 3 {
			for b := range 3 {
				neighbours := [][2]int{{a + 1, b}, {a, b + 1}}
				if relation == Replace {
					neighbours = [][2]int{{a - 1, b + 1}, {a + 1, b - 1}}
				}
				for _, c := range neighbours {
					if min(c[0], c[1]) < 0 {
						continue
					}
					p, q := law([2]int{a, b}, plan, other), law(c, plan, other)
					for out := range p {
						worst = max(worst, math.Abs(math.Log(p[out]/q[out])))
					}
				}
			}
		}
		require.LessOrEqual(t, worst, 1+1e-9, "%v %v %v", relation, plan, other)
		if worst > 1-1e-9 {
			attained++
		}
		if relation == Replace && worst > sums[2]+max(sums[0], sums[1])+1e-9 {
			moved++ // one part alone is too little
		}
		if relation == AddRemove && sums[0]+sums[1]+sums[2] > 1+1e-9 {
			apart++ // the sum would have been refused
		}
	}
	t.Logf("attained %d times, %d moves, %d with more than ε in all", attained, moved, apart)
	require.Greater(t, attained, 20)
	require.Greater(t, moved, 5)
	require.Greater(t, apart, 20)
}

func TestParts(t *testing.T) {
	// Twenty endpoints, each with its statistics: the budget of one.
	l := dptest.OK(NewLedger(1, 0, Row(AddRemove)))(t)
	each := DiscreteLaplace(0.5, 1000, Row(AddRemove))
	for i := range 20 {
		part := l.Part(fmt.Sprintf("/page/%d", i))
		for range 2 {
			require.NoError(t, part.Spend(each), "endpoint %d", i)
		}
		require.ErrorIs(t, part.Spend(each), ErrBudget)
	}
	require.InDelta(t, 1, l.Epsilon(), 1e-9)
	require.ErrorIs(t, l.Spend(PureDP(0.01, Row(AddRemove))), ErrBudget, "every part has spent all")
	require.EqualValues(t, 0, l.Remaining().Epsilon())
	require.InDelta(t, 1, l.Part("new").Remaining().Epsilon(), 1e-9)
	require.Equal(t, 40, l.releases())
	require.Equal(t, "ε = 1 of 1 at δ = 0, 40 releases, for one row, added or removed", l.String())

	// What the whole spends counts in all, before and after.
	l = dptest.OK(NewLedger(1, 0, Row(AddRemove)))(t)
	a, b := l.Part("a"), l.Part("b")
	require.NoError(t, l.Spend(PureDP(0.25, Row(AddRemove))))
	require.NoError(t, a.Spend(PureDP(0.5, Row(AddRemove))))
	require.NoError(t, b.Spend(PureDP(0.25, Row(AddRemove))))
	require.Equal(t, 0.25, l.Remaining().Epsilon())
	require.Equal(t, 0.25, a.Remaining().Epsilon())
	require.Equal(t, 0.5, b.Remaining().Epsilon())
	require.Equal(t, 0.75, l.Epsilon())
	require.Equal(t, 0.5, b.Epsilon())
	require.True(t, l.Accepts(PureDP(0.25, Row(AddRemove))))
	require.False(t, l.Accepts(PureDP(0.26, Row(AddRemove))))
	half := dptest.OK(b.Split(5, PureDP(1, Row(AddRemove))))(t)
	require.InDelta(t, 0.1, half.Epsilon(), 1e-12)
	require.False(t, l.Part("a").Accepts(half.Times(3)))

	// Under Replace: what moves is charged in both, and what stays twice.
	l = dptest.OK(NewLedger(1, 0, Row(Replace)))(t)
	a, b = l.Part("a"), l.Part("b")
	require.Equal(t, Row(AddRemove), a.Unit())
	require.ErrorIs(t, a.Spend(PureDP(0.1, Row(Replace))), ErrMismatch)
	require.NoError(t, a.Spend(PureDP(0.5, Row(AddRemove))))
	require.False(t, a.Accepts(PureDP(0.01, Row(AddRemove))))
	require.True(t, b.Accepts(PureDP(0.5, Row(AddRemove))))
	require.False(t, b.Accepts(PureDP(0.51, Row(AddRemove))))
	require.NoError(t, b.Spend(PureDP(0.25, Row(AddRemove))))
	require.False(t, l.Accepts(PureDP(0.01, Row(Replace))))
	require.InDelta(t, 1, l.Epsilon(), 1e-12)
	// A sample tells added from removed: what it says of both is not used for a move.
	l = dptest.OK(NewLedger(2, 1e-6, Element(Replace)))(t)
	sample := dptest.OK(GDP(1, Element(AddRemove)).Subsampled(0.01))(t)
	require.NoError(t, l.Part("a").Spend(ApproxDP(0.1, 1e-8, Element(AddRemove)).WithPair(sample)))
	require.Empty(t, l.spent["a"][0].Kinds)
	// So where units move, both parts cost more than a unit that is replaced within one.
	l = dptest.OK(NewLedger(50, 1e-6, Element(Replace)))(t)
	require.NoError(t, l.Part("a").Spend(sample))
	require.NoError(t, l.Part("b").Spend(sample))
	for _, of := range []*Ledger{l, l.Part("a"), l.Part("b")} {
		require.InEpsilon(t, GDP(math.Sqrt2, one).EpsilonAt(1e-6), of.Epsilon(), 1e-9)
	}
	require.Equal(t, Element(AddRemove), dptest.OK(NewLedger(1, 0, OwnElement()))(t).Part("a").Unit())

	// Parts of what has none.
	u := User(3, AddRemove)
	l = dptest.OK(NewLedger(1, 1e-6, u))(t)
	for name, p := range map[string]*Ledger{
		"users": l.Part("a"), "no name": l.PartOfUsers(""), "a part of a part": l.PartOfUsers("a").PartOfUsers("b"), "vectors": dptest.OK(NewLedger(1, 0, L1(1)))(t).Part("a"),
		"the zero Ledger": new(Ledger).Part("a"), "rows": dptest.OK(NewLedger(1, 0, Row(AddRemove)))(t).PartOfUsers("a"), "a name of two words": dptest.OK(NewLedger(1, 0, Row(AddRemove)))(t).Part("a b"),
	} {
		for _, g := range []Guarantee{PureDP(0.1, u), PureDP(0.1, Row(AddRemove)), PureDP(0.1, L1(1))} {
			require.Error(t, p.Spend(g), name)
			require.False(t, p.Accepts(g), name)
			require.Error(t, p.SpendOnce("x", g), name)
			require.Error(t, dptest.Err(p.Split(2, g)), name)
		}
		_, _, _ = p.Remaining(), p.String(), p.Epsilon()
	}
	require.NoError(t, l.PartOfUsers("nl").Spend(PureDP(1, u)))
	require.NoError(t, l.PartOfUsers("de").Spend(PureDP(1, u)))
	require.ErrorIs(t, l.Spend(PureDP(0.1, u)), ErrBudget)
}

// Journals and encodings keep parts, records and their order.
func TestPartsAreKept(t *testing.T) {
	for _, relation := range []Relation{AddRemove, Replace} {
		d := new(disk)
		l, err := CreateJournal(d, dptest.OK(NewLedger(3, 1e-6, Row(relation)))(t))
		require.NoError(t, err)
		for i := range 12 {
			of := []*Ledger{l, l.Part("a"), l.Part("b")}[i%3]
			g := []Guarantee{PureDP(0.1, of.Unit()), GDP(0.1, of.Unit()), ApproxDP(0.1, 1e-9, of.Unit())}[i%3]
			if i%2 == 0 {
				err = of.SpendOnce(fmt.Sprint("2026-11-", 10+i, "/x"), g)
			} else {
				err = of.Spend(g)
			}
			require.NoError(t, err)
		}
		again := dptest.OK(OpenJournal(d, 12))(t)
		require.True(t, equalLedgers(l, again))
		require.Equal(t, l.String(), again.String())
		for _, part := range []string{"a", "b", "c"} {
			require.Equal(t, l.Part(part).Remaining(), again.Part(part).Remaining())
		}
		require.ErrorIs(t, again.Part("b").SpendOnce("2026-11-10/x", PureDP(0.1, again.Part("b").Unit())), ErrMismatch, "a name of another part")

		whole, most := 0.0, map[string]float64{}
		i := 0
		for r := range again.All() {
			require.Equal(t, []string{"", "a", "b"}[i%3], r.Part)
			require.Equal(t, i%2 == 0, r.Name != "")
			require.Equal(t, 1, r.Releases)
			require.Greater(t, r.Share, 0.0)
			if r.Part == "" {
				whole += r.Share
			} else {
				most[r.Part] += r.Share
			}
			i++
		}
		require.Equal(t, 12, i)
		require.InEpsilon(t, again.Epsilon()/3, whole+max(most["a"], most["b"]), 1e-9)
		for range again.All() { // may be left
			break
		}
	}

	for range new(Ledger).All() {
		t.Fatal("nothing was spent")
	}
	require.Zero(t, new(Ledger).Epsilon())
}

// ExampleLedger_Part has a budget for events and releases by endpoint.
func ExampleLedger_Part() {
	event := Element(AddRemove)
	ledger, err := NewLedger(1, 0, event)
	if err != nil {
		panic(err)
	}
	fmt.Println(ledger.Spend(PureDP(0.25, event)))                 // of all events
	fmt.Println(ledger.Part("/buy").Spend(PureDP(0.5, event)))     // of those at /buy
	fmt.Println(ledger.Part("/search").Spend(PureDP(0.75, event))) // and at /search
	fmt.Println(ledger.Epsilon(), ledger.Part("/buy").Epsilon())
	// Output:
	// <nil>
	// <nil>
	// <nil>
	// 1 0.75
}

// Users of one country, if nobody has data in two.
func ExampleLedger_PartOfUsers() {
	user := User(20, AddRemove)
	ledger, err := NewLedger(1, 0, user)
	if err != nil {
		panic(err)
	}
	fmt.Println(ledger.Part("nl").Spend(PureDP(1, user)) != nil)
	fmt.Println(ledger.PartOfUsers("nl").Spend(PureDP(1, user)), ledger.PartOfUsers("de").Spend(PureDP(1, user)))
	// Output:
	// true
	// <nil> <nil>
}

// What was spent, on what.
func ExampleLedger_All() {
	user := User(20, AddRemove)
	ledger, err := NewLedger(10, 1e-6, user)
	if err != nil {
		panic(err)
	}
	err1 := ledger.SpendOnce("2026-11-22/visits", PureDP(0.5, user))
	err2 := ledger.SpendOnce("2026-11-23/visits", PureDP(0.5, user))
	fmt.Println(err1, err2)
	for r := range ledger.All() {
		fmt.Printf("%s %.0f %% %v\n", r.Name, 100*r.Share, r.Guarantee)
	}
	// Output:
	// <nil> <nil>
	// 2026-11-22/visits 5 % ε = 0.5 for one user (at most 20 keys), added or removed
	// 2026-11-23/visits 5 % ε = 0.5 for one user (at most 20 keys), added or removed
}
