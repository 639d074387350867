package series_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"github.com/dpsketch/dpsketch/misragries/series"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// The top pages of each hour, for two weeks: four views a week of each user, of whom two count. A
// ledger records the series once; any hour, day or fortnight is read at any time.
func Example() {
	// ε is large, so that the example shows no noise
	p := series.Params{Epsilon: 10, Delta: 1e-9, MaxElements: 2}
	builder, err := series.New[string](p)
	if err != nil {
		panic(err)
	}
	ledger, err := budget.NewLedger(10, 1e-9, budget.UserWithin(168, 2, budget.AddRemove))
	if err != nil {
		panic(err)
	}
	if err := ledger.Spend(builder.Guarantee()); err != nil {
		panic(err)
	}
	timeline, err := series.NewTimeline[string](p)
	if err != nil {
		panic(err)
	}
	const users = 67_200
	for hour := range 336 {
		for user := hour % 42; user < users; user += 42 {
			page := []string{"/", "/", "/news", "/users/" + strconv.Itoa(user)}[user/42%4]
			builder.AddFor(strconv.Itoa(user), []string{page})
		}
		slice, err := builder.Step()
		if err != nil {
			panic(err)
		}
		if err := timeline.Append(slice); err != nil {
			panic(err)
		}
	}
	for _, c := range []struct {
		from, to int
		rounded  float64 // so that the output is the same every time
	}{{300, 301, 100}, {0, 336, 10_000}} {
		window, err := timeline.Window(c.from, c.to)
		if err != nil {
			panic(err)
		}
		for page, views := range window.Top(2) {
			if lo, _ := window.Interval(page, 1-1e-9); lo > 0 { // else unknown: it may be noise
				fmt.Printf("hours %d to %d, %s: about %.0f views\n", c.from, c.to, page, c.rounded*math.Round(views/c.rounded))
			}
		}
		fmt.Println("shown:", window.Has("/news"), window.Has("/users/67"))
	}
	fmt.Println(timeline.Guarantee())
	timeline.Forget(180) // memory for windows that begin earlier
	fmt.Println("windows begin at hour", timeline.First())
	// Output:
	// hours 300 to 301, /: about 400 views
	// hours 300 to 301, /news: about 200 views
	// shown: true false
	// hours 0 to 336, /: about 150000 views
	// hours 0 to 336, /news: about 80000 views
	// shown: true false
	// ε = 10, δ = 1e-9 for one user within any 168 steps (at most 2 elements), added or removed
	// windows begin at hour 168
}

// What a series will be is known before there are data.
func ExampleParams_Plan() {
	plan, err := series.Params{Epsilon: 1, Delta: 1e-6}.Plan()
	if err != nil {
		panic(err)
	}
	fmt.Println(plan)
	fmt.Printf("a month: %.1f\n", plan.StdErr(720))
	// Output:
	// standard errors 5.5, 12.7 and 16.3 for 1, 24 and 168 steps; unknown keys are shown from a noisy count of 45
	// a month: 18.9
}

// Two elements of a user count in a week, on average, and one at once. Who comes twice a week
// loses none; who brings three at once loses two of them.
func ExampleBuilder_AddFor() {
	builder, err := series.New[string](series.Params{Epsilon: 1, Delta: 1e-9, MaxElements: 2})
	if err != nil {
		panic(err)
	}
	for hour := range 24 * 14 {
		if hour%84 == 0 { // twice a week
			fmt.Println(builder.AddFor("regular", []string{"/"}), builder.AddFor("all at once", []string{"/", "/", "/news"}))
		}
		if _, err := builder.Step(); err != nil {
			panic(err)
		}
	}
	fmt.Println(builder.Guarantee())
	// Output:
	// 1 1
	// 1 1
	// 1 1
	// 1 1
	// ε = 1, δ = 1e-9 for one user within any 168 steps (at most 2 elements), added or removed
}

// Six thousand people view a page 28 times a week each, where ten views a week count. The count
// falls when the first tokens are used up, under constant load: Counted says which share of all it
// is.
func ExampleWindow_Counted() {
	// ε is large, so that the example shows no noise
	p := series.Params{Epsilon: 100, Dim: 1, MaxElements: 10}
	builder, err := series.New[int](p)
	if err != nil {
		panic(err)
	}
	timeline, err := series.NewTimeline[int](p)
	if err != nil {
		panic(err)
	}
	for hour := range 336 {
		for person := hour % 6; person < 6000; person += 6 {
			builder.AddFor(strconv.Itoa(person), []int{0})
		}
		slice, err := builder.Step()
		if err != nil {
			panic(err)
		}
		if err := timeline.Append(slice); err != nil {
			panic(err)
		}
	}
	for _, from := range []int{0, 168} {
		week, err := timeline.Window(from, from+168)
		if err != nil {
			panic(err)
		}
		lo, hi := week.Counted(0.95)
		fmt.Printf("%.0f thousand views count, about %.1f of all\n", week.Estimate(0)/1000, (lo+hi)/2)
	}
	// Output:
	// 88 thousand views count, about 0.5 of all
	// 60 thousand views count, about 0.4 of all
}

// One number a step: a series of the one key 0. A record of each Slice and the state after it,
// written in one piece, makes that a crash neither loses a Slice nor draws one twice.
func ExampleBuilder_AddN() {
	folder, err := os.MkdirTemp("", "series")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	p := series.Params{Epsilon: 1, Dim: 1}
	timeline, err := series.NewTimeline[int](p)
	if err != nil {
		panic(err)
	}
	for run := range 3 { // of the service
		counter, err := series.New[int](p)
		if err != nil {
			panic(err)
		}
		if run > 0 {
			state, err := os.ReadFile(filepath.Join(folder, "state"))
			if err != nil {
				panic(err)
			}
			if err := counter.RestorePrivateState(state, timeline.Len()); err != nil {
				panic(err)
			}
		}
		for range 20 {
			counter.AddN(0, 1000)
			slice, err := counter.Step()
			if err != nil {
				panic(err)
			}
			state, err := counter.AppendPrivateState(nil) // with the Slice, in a service
			if err != nil {
				panic(err)
			}
			if err := os.WriteFile(filepath.Join(folder, "state"), state, 0o600); err != nil {
				panic(err)
			}
			if err := timeline.Append(slice); err != nil {
				panic(err)
			}
		}
	}
	window, err := timeline.Window(10, 50)
	if err != nil {
		panic(err)
	}
	fmt.Printf("about %.0f000\n", window.Estimate(0)/1000)
	fmt.Println(window.Guarantee())
	// Output:
	// about 40000
	// ε = 1 for one element, added or removed
}

// A Slice, the release of one hour: the pages that it found, which count from the next hour on, and
// how many were found before.
func ExampleBuilder_Step() {
	builder, err := series.New[string](series.Params{Epsilon: 1, Delta: 1e-9})
	if err != nil {
		panic(err)
	}
	for range 5 { // the sixth hour is a new page's first
		builder.AddN("/", 3000)
		if _, err := builder.Step(); err != nil {
			panic(err)
		}
	}
	builder.AddN("/", 3000)
	builder.AddN("/new", 1000)
	hour, err := builder.Step()
	if err != nil {
		panic(err)
	}
	for page := range hour.Found() {
		fmt.Println("found:", page)
	}
	fmt.Println(hour.Len(), "page in hour", hour.Step())
	// Output:
	// found: /new
	// 1 page in hour 5
}
