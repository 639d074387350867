package distinct_test

import (
	"fmt"
	"math"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/kor"
	"github.com/dpsketch/dpsketch/kor/distinct"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// Two servers see the visits of one site, and one number is published: how many visitors there
// were.
func Example() {
	// the Seed is public: hashing.NewSeed(). An error of 2 %, up to 10⁹ visitors
	p, err := distinct.Params{Epsilon: 1, Seed: hashing.Seed{1, 2, 3}}.Fit(0.02, 1e9, 1)
	if err != nil {
		panic(err)
	}
	server := func(from, to int) *distinct.Builder {
		b, err := distinct.New(p)
		if err != nil {
			panic(err)
		}
		for visit := range 3 * (to - from) { // everybody comes three times
			distinct.AddKey(b, fmt.Sprintf("user %d", from+visit/3))
		}
		return b
	}
	all := server(0, 30_000)
	if err := all.Merge(server(20_000, 50_000)); err != nil {
		panic(err)
	}
	s, err := all.Release()
	if err != nil {
		panic(err)
	}
	lo, hi := s.Interval(1 - 1e-9)
	fmt.Println("between 43000 and 57000:", s.Estimate() > 43_000 && s.Estimate() < 57_000)
	fmt.Println("50000 is in the interval:", lo <= 50_000 && 50_000 <= hi)
	fmt.Println("to 2 %:", s.StdErr() < 0.02*s.Estimate())
	fmt.Println(s)
	// Output:
	// between 43000 and 57000: true
	// 50000 is in the interval: true
	// to 2 %: true
	// distinct.Sketch: a count of keys, no bits, 22 levels of 1216 cells, ε = 1 for one key with all its occurrences, added or removed
}

// Two parties that show each other nothing but releases learn how many users they have together and
// in common.
func ExampleCompare() {
	// an error of 5 % for the union; the Seed is agreed on before anybody looks at data
	p, err := distinct.Params{Epsilon: 2, Seed: hashing.Seed{1, 2, 3}}.Fit(0.05, 1e6, 2)
	if err != nil {
		panic(err)
	}
	party := func(from, to uint64) []byte {
		b, err := distinct.New(p)
		if err != nil {
			panic(err)
		}
		for key := from; key < to; key++ {
			b.Add(key, key)
		}
		s, err := b.Release()
		if err != nil {
			panic(err)
		}
		data, err := s.MarshalBinary()
		if err != nil {
			panic(err)
		}
		return data
	}
	var a, b distinct.Sketch
	if a.UnmarshalBinary(party(0, 60_000)) != nil || b.UnmarshalBinary(party(40_000, 90_000)) != nil {
		panic("not a sketch")
	}
	c, err := distinct.Compare(&a, &b)
	if err != nil {
		panic(err)
	}
	near := func(size kor.Cardinality, want float64) bool {
		lo, hi := size.Interval(1 - 1e-9)
		return lo <= want && want <= hi && hi-lo < 60_000
	}
	fmt.Println("90000 together:", near(c.Union(), 90_000))
	fmt.Println("20000 in common:", near(c.Intersection(), 20_000))
	fmt.Println("40000 in the first only:", near(c.OnlyA(), 40_000))
	all, err := distinct.Union(&a, &b) // of up to 12 parties
	fmt.Println("90000 together:", near(all, 90_000), err)
	// Output:
	// 90000 together: true
	// 20000 in common: true
	// 40000 in the first only: true
	// 90000 together: true <nil>
}

// What a sketch of the default size tells.
func ExampleParams_Plan() {
	plan, err := distinct.Params{Epsilon: 1}.Plan()
	if err != nil {
		panic(err)
	}
	fmt.Println(plan)
	fmt.Printf("1000 keys ± %.0f\n", plan.StdErr(1000))
	// Output:
	// 24 levels of 2048 cells, 70 bytes a release: error 1.5 %, up to 8.59e+09 keys
	// 1000 keys ± 9
}

// A total after every day, all of them for one ε.
func ExampleRunningBuilder() {
	b, err := distinct.NewRunningBuilder(distinct.Params{Epsilon: 1, Cells: 4096, Levels: 12, Seed: hashing.Seed{1}})
	if err != nil {
		panic(err)
	}
	for day := range 3 {
		for user := range 10_000 { // half of them come again
			b.Add(uint64(day*5_000 + user))
		}
		total, err := b.Step()
		if err != nil {
			panic(err)
		}
		lo, hi := total.Interval(1 - 1e-9)
		users := float64(10_000 + 5_000*day)
		near := lo <= users && users <= hi && math.Abs(total.Estimate()-users) < 7*total.StdErr()
		fmt.Printf("day %d: %v users so far in the interval: %v\n", total.Slots(), users, near)
	}
	// Output:
	// day 1: 10000 users so far in the interval: true
	// day 2: 15000 users so far in the interval: true
	// day 3: 20000 users so far in the interval: true
}

// Users of the last 1, 7 and 30 days, every day for ε.
func ExampleWindowBuilder() {
	b, err := distinct.NewWindowBuilder(distinct.Params{Epsilon: 1, Cells: 4096, Levels: 12, Seed: hashing.Seed{1}}, 20_000)
	if err != nil {
		panic(err)
	}
	for day := 20_000; day < 20_060; day++ {
		if day > 20_000 {
			if err := b.Advance(day); err != nil {
				panic(err)
			}
		}
		for user := range 1000 { // new ones each day
			b.Add(uint64(day*1000 + user))
		}
	}
	w, err := b.Release()
	if err != nil {
		panic(err)
	}
	for _, days := range []int{1, 7, 30} {
		lo, hi := w.Interval(days, 1-1e-9)
		users := float64(1000 * days)
		near := lo <= users && users <= hi && math.Abs(w.Estimate(days)-users) < 7*w.StdErr(days)
		fmt.Printf("%d days: %v users in the interval: %v\n", days, users, near)
	}
	fmt.Println("until day", w.Day())
	// Output:
	// 1 days: 1000 users in the interval: true
	// 7 days: 7000 users in the interval: true
	// 30 days: 30000 users in the interval: true
	// until day 20059
}

// Distinct users for each of a public list of groups, 64 bytes a group. A user in several groups is
// seen in the release of each, so his groups are bounded before he is added: here at 2, and both
// releases together cost ε = 1.
func Example_groups() {
	p := distinct.Params{Epsilon: 0.5, Cells: 64, Levels: 8, Seed: hashing.Seed{1}}
	groups := map[string]*distinct.Builder{}
	for _, country := range []string{"BE", "DK", "IS"} { // public, not from the data
		b, err := distinct.New(p)
		if err != nil {
			panic(err)
		}
		groups[country] = b
	}
	visit := func(user int, countries ...string) {
		for _, country := range countries[:min(len(countries), 2)] {
			if b := groups[country]; b != nil {
				distinct.AddKey(b, user)
			}
		}
	}
	for user := range 100 {
		visit(user, "BE", "DK")
		visit(user, "BE") // again, which changes nothing
	}
	for user := range 50 {
		visit(1000+user, "DK")
	}
	for _, country := range []string{"BE", "DK", "IS"} {
		s, err := groups[country].Release()
		if err != nil {
			panic(err)
		}
		lo, hi := s.Interval(1 - 1e-9)
		users := map[string]float64{"BE": 100, "DK": 150}[country]
		fmt.Printf("%s: %v users in the interval: %v\n", country, users, lo <= users && users <= hi)
	}
	// Output:
	// BE: 100 users in the interval: true
	// DK: 150 users in the interval: true
	// IS: 0 users in the interval: true
}

// How many of yesterday's users came back today, and how many are new: one ε for both days.
func ExampleReleasePair() {
	p := distinct.Params{Epsilon: 1, Seed: hashing.Seed{1, 2, 3}} // public: hashing.NewSeed()
	day := func(from, to int) *distinct.Builder {
		b, err := distinct.New(p)
		if err != nil {
			panic(err)
		}
		for user := from; user < to; user++ {
			distinct.AddKey(b, fmt.Sprintf("user %d", user))
		}
		return b
	}
	plan, err := p.Plan()
	if err != nil {
		panic(err)
	}
	ledger, err := budget.NewLedger(1, 0, budget.Key(budget.AddRemove))
	if err != nil {
		panic(err)
	}
	pair, err := budget.ReleaseFunc(ledger, plan.Pair, func() (*distinct.Pair, error) {
		return distinct.ReleasePair(day(0, 20_000), day(10_000, 30_000))
	})
	if err != nil {
		panic(err)
	}
	lo, hi := pair.Both().Interval(1 - 1e-9)
	fmt.Println("10000 came back:", lo <= 10_000 && 10_000 <= hi)
	fmt.Println("by one percent or so:", pair.Both().StdErr() < 300)
	lo, hi = pair.OnlyB().Interval(1 - 1e-9)
	fmt.Println("10000 are new:", lo <= 10_000 && 10_000 <= hi)
	lo, hi = pair.Jaccard().Interval(1 - 1e-9)
	fmt.Println("a third of all came on both days:", lo <= 1./3 && 1./3 <= hi)
	for _, size := range []kor.Cardinality{pair.A(), pair.B(), pair.Either(), pair.OnlyA()} {
		fmt.Printf("about %.0f0000\n", size.Estimate()/10_000)
	}
	// Output:
	// 10000 came back: true
	// by one percent or so: true
	// 10000 are new: true
	// a third of all came on both days: true
	// about 20000
	// about 20000
	// about 30000
	// about 10000
}

// How many users came once, twice, three times, four times, five times or more.
func ExampleFrequencyBuilder() {
	b, err := distinct.NewFrequencyBuilder(distinct.Params{Epsilon: 1, Seed: hashing.Seed{1, 2, 3}}, 5)
	if err != nil {
		panic(err)
	}
	for user := range 30_000 { // a half came once, a third twice, the others ten times
		times := 1
		if user%6 > 2 {
			times = 2
		}
		if user%6 == 5 {
			times = 10
		}
		for range times {
			distinct.AddKey(b, user)
		}
	}
	f, err := b.Release()
	if err != nil {
		panic(err)
	}
	lo, hi := f.Users().Interval(1 - 1e-9)
	fmt.Println("30000 users:", lo <= 30_000 && 30_000 <= hi)
	fmt.Printf("%d times or more: about %.1f\n", f.Most(), f.Share(f.Most()))
	lo, hi = f.AtLeastInterval(2, 1-1e-9)
	fmt.Printf("more than once: about %.1f, %v\n", f.AtLeast(2), lo <= 0.5 && 0.5 <= hi)
	for times, share := range map[int]float64{1: 1. / 2, 2: 1. / 3, 3: 0, 5: 1. / 6} {
		if lo, hi := f.ShareInterval(times, 1-1e-9); share < lo || share > hi || f.Share(times) > share+0.05 {
			fmt.Println(times, share, lo, hi, f.Share(times))
		}
	}
	// Output:
	// 30000 users: true
	// 5 times or more: about 0.2
	// more than once: about 0.5, true
}

// The retention of two weeks: how many of the users who were new on a day were back later, for one
// ε.
func ExampleCohortBuilder() {
	b, err := distinct.NewCohortBuilder(distinct.Params{Epsilon: 1, Seed: hashing.Seed{1, 2, 3}}, 14)
	if err != nil {
		panic(err)
	}
	for day := 1; day <= 14; day++ {
		if day > 1 {
			if err := b.Advance(day); err != nil {
				panic(err)
			}
		}
		for user := range 1000 * day {
			// 1000 users are new each day; every third is back on day 14, and half on day 9
			if user >= 1000*(day-1) || day == 14 && user%3 == 0 || day == 9 && user%2 == 0 {
				distinct.AddKey(b, user)
			}
		}
	}
	c, err := b.Release()
	if err != nil {
		panic(err)
	}
	fmt.Println(c.Days(), "days")
	for _, x := range []struct {
		what  string
		size  kor.Cardinality
		truth float64
	}{{"new on day 4", c.New(4), 1000}, {"of these there on day 9", c.On(4, 9), 500}, {"of these back in the last three days", c.Returned(4, 12), 333}, {"seen on day 14", c.Since(14), 1000 + 13_000./3}} {
		lo, hi := x.size.Interval(1 - 1e-9)
		fmt.Println(x.what, lo <= x.truth && x.truth <= hi)
	}
	// Output:
	// 14 days
	// new on day 4 true
	// of these there on day 9 true
	// of these back in the last three days true
	// seen on day 14 true
}
