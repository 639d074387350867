package groupby_test

import (
	"fmt"
	"math"

	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/dpsketch/dpsketch/threshold/groupby"
)

// Every user has viewed some pages, nobody knows which pages there are, and the pages with many
// viewers are published.
func Example() {
	b, err := groupby.New[string](groupby.Params{Epsilon: 1, Delta: 1e-12})
	if err != nil {
		panic(err)
	}
	for user := range 9000 {
		b.AddUser([]string{"/", fmt.Sprintf("/products/%d", user%3), fmt.Sprintf("/users/%d", user)})
	}
	groups, err := b.Release()
	if err != nil {
		panic(err)
	}
	for page, viewers := range groups.All() {
		fmt.Printf("%s: about %.0f000\n", page, viewers/1000)
	}
	for page := range groups.Top(1) {
		fmt.Printf("%s is the most viewed; users of up to %d pages count whole\n", page, groups.FullKeys())
	}
	fmt.Println(groups.Guarantee())
	// Output:
	// /: about 9000
	// /products/0: about 3000
	// /products/1: about 3000
	// /products/2: about 3000
	// / is the most viewed; users of up to 36 pages count whole
	// ε = 1, δ = 1e-12 for one user, added or removed
}

// Rows of a log come in any order, some of them twice, and from two machines: a user who is in both
// is one user. A visit has seconds, of which an hour counts at most.
func ExampleNewRows() {
	p := groupby.Params{Epsilon: 1, Delta: 1e-12, Max: 3600}
	here, err := groupby.NewRows[int, string](p)
	if err != nil {
		panic(err)
	}
	there, err := groupby.NewRows[int, string](p)
	if err != nil {
		panic(err)
	}
	for visit := range 81000 {
		user, page := visit%27000, fmt.Sprintf("/products/%d", visit%3)
		here.AddValue(user, "/", 100)
		there.AddValue(user, page, 200)
		there.AddValue(user, page, 1100)
	}
	if err := here.Merge(there); err != nil {
		panic(err)
	}
	groups, err := here.Release()
	if err != nil {
		panic(err)
	}
	for page, viewers := range groups.All() {
		fmt.Printf("%s: about %.0f000 users, %.1f hours each\n", page, viewers/1000, groups.Mean(page)/3600)
	}
	// Output:
	// /: about 27000 users, 0.1 hours each
	// /products/0: about 9000 users, 1.0 hours each
	// /products/1: about 9000 users, 1.0 hours each
	// /products/2: about 9000 users, 1.0 hours each
}

// What users spend by shop, where nobody knows the largest sale: the range is learned, for each
// shop its own. A Max of a million, for three typing errors, would have 3000 times the noise; here
// they are clipped, and the intervals are those of values as clipped.
func ExampleParams_values() {
	rows, err := groupby.NewRows[int, string](groupby.Params{Epsilon: 1, Delta: 1e-9, Values: true})
	if err != nil {
		panic(err)
	}
	for user := range 60_000 {
		rows.AddValue(user, "groceries", 20+float64(user%21))
		rows.AddValue(user, "bicycles", 200+float64(user%200))
		if user%20_000 == 7 {
			rows.AddValue(user, "groceries", 1e6)
		}
	}
	groups, err := rows.Release()
	if err != nil {
		panic(err)
	}
	for shop, users := range groups.All() {
		mean := groups.Mean(shop)
		low, high := groups.MeanInterval(shop, 0.95)
		fmt.Printf("%s: about %.0f0000 users spend %.0f0 each, to within 2 %%: %v\n", shop, users/10_000, mean/10, high-low < 0.04*mean)
	}
	// values up to scale·(1 + radius) count as they are; Lost estimates what was clipped off others
	most := groups.Scale("groceries") * (1 + groups.Radius())
	fmt.Println("a million is clipped:", most < 1000, "and three of them are too few to be seen:", groups.Lost("groceries") < 10_000)
	fmt.Println(groups.Guarantee())
	// Output:
	// bicycles: about 60000 users spend 300 each, to within 2 %: true
	// groceries: about 60000 users spend 30 each, to within 2 %: true
	// a million is clipped: true and three of them are too few to be seen: true
	// ε = 1, δ = 1e-9 for one user, added or removed
}

// Percentiles of the load times of a page, from rows in any order. The 20 slowest users are too few
// for p99.9: it is unknown, and its interval says as much.
func ExampleGroups_Quantile() {
	p := groupby.Params{Epsilon: 1, Delta: 1e-9, Levels: [8]float64{0.5, 0.9, 0.999}, Min: 1, Max: 60_000}
	rows, err := groupby.NewRows[int, string](p)
	if err != nil {
		panic(err)
	}
	for user := range 20_000 {
		milliseconds := 100.0
		if user%5 == 0 {
			milliseconds = 450
		}
		rows.AddValue(user, "/", milliseconds)
	}
	groups, err := rows.Release()
	if err != nil {
		panic(err)
	}
	for _, level := range p.Levels[:2] {
		low, high := groups.QuantileInterval("/", level, 0.95)
		fmt.Printf("p%v: %v ms, between %v and %v\n", 100*level, groups.Quantile("/", level), low, high)
	}
	fewer, more := groups.RankInterval("/", 0.5, 0.95)
	fmt.Printf("the rank of p50 is off by %v to %v users\n", fewer, more)
	fmt.Printf("p99.9: %v\n", groups.Quantile("/", 0.999))
	// Output:
	// p50: 100 ms, between 100 and 100.25
	// p90: 450 ms, between 450 and 451
	// the rank of p50 is off by 0 to 0 users
	// p99.9: NaN
}

// Three releases about the same users share ε and δ: the countries, the cities of the countries
// that were shown, and then those cities that the second has not found, to which users now give all
// their weight. What is asked may depend on what was shown.
func ExampleParams_releases() {
	p := groupby.Params{Epsilon: 2, Delta: 1e-12, Passes: 1, Releases: 3}
	ledger, err := budget.NewLedger(p.Epsilon, p.Delta, budget.User(0, budget.AddRemove))
	if err != nil {
		panic(err)
	}
	// ask counts the users of the keys that are wanted.
	ask := func(key func(country, city string) string, wanted func(country, key string) bool) *groupby.Groups[string] {
		rows, err := groupby.NewRows[int, string](p)
		if err != nil {
			panic(err)
		}
		for user := range 30000 {
			for trip := range 2 {
				country := []string{"France", "Italy", "Tuvalu"}[min(user%5, 1)+user/29990]
				city := fmt.Sprintf("%s %d", country, (user>>(3*trip))%4)
				if wanted(country, key(country, city)) {
					rows.Add(user, key(country, city))
				}
			}
		}
		groups, err := budget.Release(ledger, rows)
		if err != nil {
			panic(err)
		}
		return groups
	}
	countries := ask(func(country, _ string) string { return country }, func(string, string) bool { return true })
	city := func(_, city string) string { return city }
	cities := ask(city, func(country, _ string) bool { return countries.Has(country) })
	more := ask(city, func(country, city string) bool { return countries.Has(country) && !cities.Has(city) })
	fmt.Println(countries.Len(), "countries,", cities.Len(), "cities, and", more.Len(), "more")
	fmt.Println(ledger)
	// Output:
	// 2 countries, 8 cities, and 0 more
	// ε = 2 of 2 at δ = 1e-12, 3 releases, for one user, added or removed
}

// Films whose director is unknown belong to no director, so they count nowhere. How many they are
// is published.
func ExampleGroups_RowsWithoutUser() {
	films, err := groupby.NewRows[string, string](groupby.Params{Epsilon: 1, Delta: 1e-9})
	if err != nil {
		panic(err)
	}
	for i := range 30000 {
		director := fmt.Sprint("director ", i%2000)
		if i%3 == 0 {
			director = ""
		}
		films.Add(director, []string{"drama", "comedy"}[i%2])
	}
	groups, err := films.Release()
	if err != nil {
		panic(err)
	}
	low, high := groups.RowsWithoutUser(0.99)
	fmt.Println("a third of 30,000 left out:", low > 9500 && high < 10500)
	// Output:
	// a third of 30,000 left out: true
}

// The keys are public: every one of them is released, also the one that nobody has.
func ExampleNewListed() {
	b, err := groupby.NewListed(groupby.Params{Epsilon: 1, FullKeys: 3}, "bus", "train", "bicycle", "balloon")
	if err != nil {
		panic(err)
	}
	for user := range 9000 {
		b.AddUser([]string{"bus", "train", "bicycle"}[:1+user%3])
	}
	groups, err := b.Release()
	if err != nil {
		panic(err)
	}
	for means, users := range groups.All() {
		fmt.Printf("%s: about %.0f000\n", means, math.Abs(users/1000))
	}
	fmt.Println(groups.Guarantee())
	// Output:
	// balloon: about 0000
	// bicycle: about 3000
	// bus: about 9000
	// train: about 6000
	// ε = 1 for one user, added or removed
}

// Rows of a log, in any order, of countries that everybody knows. A user's orders in a country are
// summed; nobody orders in Malta.
func ExampleNewListedRows() {
	rows, err := groupby.NewListedRows[int](groupby.Params{Epsilon: 1, Delta: 1e-9, Max: 100}, "France", "Italy", "Malta")
	if err != nil {
		panic(err)
	}
	for order := range 40_000 {
		rows.AddValue(order%20_000, []string{"France", "Italy"}[order%2], 20)
	}
	groups, err := rows.Release()
	if err != nil {
		panic(err)
	}
	for country, users := range groups.All() {
		fmt.Printf("%s: %.0f000 users, in total %.0f00,000\n", country, math.Abs(users/1000), math.Abs(groups.Sum(country)/100_000))
	}
	// Output:
	// France: 10000 users, in total 400,000
	// Italy: 10000 users, in total 400,000
	// Malta: 0000 users, in total 000,000
}

// The latency of a request in each region: users have many requests, and a user's average counts,
// so Max is that of one request.
func ExampleParams_average() {
	rows, err := groupby.NewRows[int, string](groupby.Params{Epsilon: 1, Delta: 1e-9, Max: 1000, Average: true})
	if err != nil {
		panic(err)
	}
	for request := range 300_000 {
		user := request % 20_000
		rows.AddValue(user, []string{"east", "west"}[user%2], 100+200*float64(user%2))
	}
	groups, err := rows.Release()
	if err != nil {
		panic(err)
	}
	for region := range groups.All() {
		fmt.Printf("%s: about %.0f00 ms\n", region, groups.Mean(region)/100)
	}
	// Output:
	// east: about 100 ms
	// west: about 300 ms
}

// The users are read twice: in the second pass they give all their weight to what the first has not
// found, here pages that 60 of them have beside many that everybody has.
func ExampleDiscovery() {
	first, err := groupby.NewDiscovery[string](groupby.Params{Epsilon: 2, Delta: 1e-9, KeysOnly: true, Passes: 2})
	if err != nil {
		panic(err)
	}
	users := func(yield func([]string) bool) {
		for user := range 6000 {
			keys := []string{fmt.Sprintf("/products/%d", user/60)}
			for page := range 24 {
				keys = append(keys, fmt.Sprintf("/page/%d", page))
			}
			if !yield(keys) {
				return
			}
		}
	}
	for keys := range users {
		first.AddUser(keys)
	}
	second, err := first.Release()
	if err != nil {
		panic(err)
	}
	second.SecondPass()
	for keys := range users {
		second.AddUser(keys)
	}
	groups, err := second.Release()
	if err != nil {
		panic(err)
	}
	fmt.Println(groups.Len(), groups.Has("/page/7"), groups.Has("/products/77"))
	fmt.Println(groups.Guarantee())
	// Output:
	// 124 true true
	// ε = 2, δ = 1e-9 for one user, added or removed
}

// Before any data is seen: from how many users on is a key shown, and how noisy is its count, where
// FullKeys is not left to the data?
func ExampleParams_Plan() {
	rows, err := groupby.NewRows[int, string](groupby.Params{Epsilon: 1, Delta: 1e-6, FullKeys: 4})
	if err != nil {
		panic(err)
	}
	plan, err := rows.Params().Plan()
	if err != nil {
		panic(err)
	}
	fmt.Printf("%d passes, keys of users who have 4 keys each: from about %.0f users on, ± %.0f\n", plan.Params.Passes, 2*plan.Threshold, plan.StdDev)
	// Output:
	// 2 passes, keys of users who have 4 keys each: from about 58 users on, ± 15
}

// Users one by one, with the minutes that each spends in a room; how many visits are in rooms that
// are not shown; and what clipping users of many rooms may have cost each count.
func ExampleGroups_SumInterval() {
	b, err := groupby.New[string](groupby.Params{Epsilon: 2, Delta: 1e-9, Max: 100, Others: true})
	if err != nil {
		panic(err)
	}
	for user := range 20_000 {
		b.AddUserValues([]string{"hall", fmt.Sprint("office ", user)}, []float64{30, 60})
	}
	groups, err := b.Release()
	if err != nil {
		panic(err)
	}
	const sure = 1 - 1e-9
	low, high := groups.Interval("hall", sure)
	fmt.Println("users:", low <= 20_000 && 20_000 <= high, low <= groups.Estimate("hall"))
	low, high = groups.SumInterval("hall", sure)
	fmt.Println("minutes:", low <= 600_000 && 600_000 <= high, groups.Sum("hall") <= high)
	_, most := groups.Shortfall(sure)
	fmt.Println("nobody has many rooms:", most < 1000)
	fmt.Println("in rooms that are not shown:", groups.Others() > 10_000 && groups.Others() < 30_000)
	// Output:
	// users: true true
	// minutes: true true
	// nobody has many rooms: true
	// in rooms that are not shown: true
}
