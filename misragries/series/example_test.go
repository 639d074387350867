package series_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/dpsketch/dpsketch/misragries/series"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// Views of pages, hour by hour: a ledger records the series once, and any window of hours is
// answered at any time.
func Example() {
	ledger, err := budget.NewLedger(1, 1e-9, budget.Element(budget.AddRemove))
	if err != nil {
		panic(err)
	}
	p := series.Params{Epsilon: 1, Delta: 1e-9}
	builder, err := series.New[string](p)
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
	for hour := range 200 {
		for view := range 2000 {
			builder.Add([]string{"/", "/", "/news", "/users/" + fmt.Sprint(hour*2000+view)}[view%4])
		}
		slice, err := builder.Step()
		if err != nil {
			panic(err)
		}
		if err := timeline.Append(slice); err != nil {
			panic(err)
		}
	}
	for _, hours := range []int{24, 168} {
		window, err := timeline.Window(timeline.Len()-hours, timeline.Len())
		if err != nil {
			panic(err)
		}
		for page, views := range window.Top(2) {
			fmt.Printf("last %d hours, %s: about %.0f000\n", hours, page, views/1000)
		}
	}
	day, err := timeline.Window(100, 124)
	if err != nil {
		panic(err)
	}
	lo, hi := day.Interval("/", 1-1e-9)
	fmt.Println("the fifth day:", lo <= 24_000 && 24_000 <= hi, hi-lo < 1000)
	fmt.Println("shown:", day.Has("/news"), day.Has("/users/240003"))
	fmt.Println(timeline.Guarantee())
	timeline.Forget(180) // memory for windows that begin earlier
	fmt.Println("windows begin at hour", timeline.First())
	// Output:
	// last 24 hours, /: about 24000
	// last 24 hours, /news: about 12000
	// last 168 hours, /: about 168000
	// last 168 hours, /news: about 84000
	// the fifth day: true true
	// shown: true false
	// ε = 1, δ = 1e-9 for one element, added or removed
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
	// 84 thousand views count, about 0.5 of all
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
