package misragries_test

import (
	"fmt"
	"log"
	"math"
	"slices"
	"sync"

	"github.com/dpsketch/dpsketch/misragries"
)

// visits returns so many visits of each page.
func visits(home, docs, blog int) []string {
	return slices.Concat(slices.Repeat([]string{"/"}, home), slices.Repeat([]string{"/docs"}, docs), slices.Repeat([]string{"/blog"}, blog))
}

// show prints noisy counts rounded to thousands, so that the output is the same every time.
func show(h *misragries.Histogram[string]) {
	for key, count := range h.All() {
		fmt.Printf("%s %.0f\n", key, 1000*math.Round(count/1000))
	}
	fmt.Println("by", h.Params().Method)
}

// Three servers count their own streams. One of them, or a fourth, adds the sketches up and
// releases the sum.
func ExampleSum() {
	p := misragries.Params{Counters: 1024, Epsilon: 1, Delta: 1e-6}
	sum, err := misragries.NewSum[string](p)
	if err != nil {
		log.Fatal(err)
	}
	for _, stream := range [][]string{visits(7000, 2000, 0), visits(4000, 0, 0), visits(9000, 1000, 3)} {
		server, err := misragries.New[string](p)
		if err != nil {
			log.Fatal(err)
		}
		server.AddSlice(stream)
		if err := sum.Add(server); err != nil { // the server's sketch is used up
			log.Fatal(err)
		}
	}
	h, err := sum.Release()
	if err != nil {
		log.Fatal(err)
	}
	show(h)
	// Output:
	// / 20000
	// /docs 3000
	// by TrimmedSum
}

// A service counts the bytes that it sends of each page, in units of 100 bytes, from as many
// goroutines as it has: a Builder each. No answer counts for more than 20 units.
func ExampleSum_Add() {
	p := misragries.Params{Counters: 1024, Epsilon: 1, Delta: 1e-6, MaxElements: 20}
	sum, err := misragries.NewSum[string](p)
	if err != nil {
		log.Fatal(err)
	}
	var parts [32]*misragries.Builder[string]
	var answers sync.WaitGroup
	for i := range parts {
		if parts[i], err = misragries.New[string](p); err != nil {
			log.Fatal(err)
		}
		answers.Go(func() {
			for range 1000 {
				parts[i].AddN("/", 12)
				parts[i].AddN("/docs", 300) // counts as 20
			}
		})
	}
	answers.Wait()
	for _, part := range parts {
		if err := sum.Add(part); err != nil {
			log.Fatal(err)
		}
	}
	h, err := sum.Release()
	if err != nil {
		log.Fatal(err)
	}
	for page, units := range h.All() {
		fmt.Printf("%s %.0f\n", page, 10000*math.Round(units/10000))
	}
	fmt.Println(h.Guarantee())
	// Output:
	// / 380000
	// /docs 640000
	// ε = 1, δ = 1e-6 for one user (at most 20 elements), added or removed
}

// Sketches that one trusted server may see can be merged. That takes no more memory than one, and
// far more noise than a Sum.
func ExampleBuilder_Merge() {
	p := misragries.Params{Counters: 64, Epsilon: 1, Delta: 1e-6}
	east, err := misragries.New[string](p)
	if err != nil {
		log.Fatal(err)
	}
	west, err := misragries.New[string](p)
	if err != nil {
		log.Fatal(err)
	}
	east.AddSlice(visits(7000, 2000, 3))
	west.AddSlice(visits(13000, 1000, 0))
	if err := east.Merge(west); err != nil {
		log.Fatal(err)
	}
	fmt.Println("west is used up:", west.Released())
	h, err := east.Release()
	if err != nil {
		log.Fatal(err)
	}
	show(h)
	// Output:
	// west is used up: true
	// / 20000
	// /docs 3000
	// by SparseVector
}

// Each user has a set of up to three pages, and the release hides all of a user.
func ExampleNewUserBuilder() {
	b, err := misragries.NewUserBuilder[string](misragries.Params{Counters: 256, Epsilon: 1, Delta: 1e-6, MaxElements: 3})
	if err != nil {
		log.Fatal(err)
	}
	for user := range 6000 {
		if user%2 == 0 {
			b.AddUser([]string{"/", "/docs", "/", "/"}) // each key of a user counts once
		} else {
			b.AddUser([]string{"/"})
		}
	}
	h, err := b.Release()
	if err != nil {
		log.Fatal(err)
	}
	show(h)
	// Output:
	// / 6000
	// /docs 3000
	// by KeptZeros
}

// Counters of a Misra-Gries sketch that something else has computed.
func ExampleFromMisraGries() {
	counters := map[string]int64{"/": 20000, "/docs": 3000, "/blog": 2}
	b, err := misragries.FromMisraGries(misragries.Params{Counters: 64, Epsilon: 1, Delta: 1e-6}, counters)
	if err != nil {
		log.Fatal(err)
	}
	h, err := b.Release()
	if err != nil {
		log.Fatal(err)
	}
	show(h)
	// Output:
	// / 20000
	// /docs 3000
	// by FreedZeros
}

// Counters of a Space-Saving sketch of one counter more, whose smallest one is 40: at most that
// much of each may be of other keys.
func ExampleFromSpaceSaving() {
	counters := map[string]int64{"/": 20040, "/docs": 3040, "/blog": 40}
	b, err := misragries.FromSpaceSaving(misragries.Params{Counters: 2, Epsilon: 1, Delta: 1e-6}, counters)
	if err != nil {
		log.Fatal(err)
	}
	h, err := b.Release()
	if err != nil {
		log.Fatal(err)
	}
	show(h)
	// Output:
	// / 20000
	// /docs 3000
	// by FreedZeros
}

// A UserBuilder on another machine: its private state travels, and both are merged.
func ExampleUserBuilder_Merge() {
	p := misragries.Params{Counters: 64, Epsilon: 1, Delta: 1e-6, MaxElements: 60}
	var machines [2]*misragries.UserBuilder[string]
	for i := range machines {
		b, err := misragries.NewUserBuilder[string](p)
		if err != nil {
			log.Fatal(err)
		}
		for range 10_000 {
			b.AddUser([]string{"/", "/docs"})
		}
		machines[i] = b
	}
	state, err := machines[1].AppendPrivateState(nil) // as private as the users' keys
	if err != nil {
		log.Fatal(err)
	}
	here, err := misragries.NewUserBuilder[string](p)
	if err != nil {
		log.Fatal(err)
	}
	if err := here.RestorePrivateState(state); err != nil {
		log.Fatal(err)
	}
	if err := machines[0].Merge(here); err != nil {
		log.Fatal(err)
	}
	h, err := machines[0].Release()
	if err != nil {
		log.Fatal(err)
	}
	show(h)
	// Output:
	// / 20000
	// /docs 20000
	// by SparseVector
}

// Two owners who trust nobody release a histogram each, and anyone adds them up.
func ExampleCombine() {
	var parts []*misragries.Histogram[string]
	for _, stream := range [][]string{visits(7000, 2000, 0), visits(13000, 0, 900)} {
		b, err := misragries.New[string](misragries.Params{Counters: 1024, Epsilon: 1, Delta: 1e-6})
		if err != nil {
			log.Fatal(err)
		}
		b.AddSlice(stream)
		h, err := b.Release()
		if err != nil {
			log.Fatal(err)
		}
		parts = append(parts, h)
	}
	all, err := misragries.Combine(parts...)
	if err != nil {
		log.Fatal(err)
	}
	for page, count := range all.Top(1) {
		lo, hi := all.Interval(page, 0.999_999)
		fmt.Printf("%s %.0f, in the interval: %v\n", page, 1000*math.Round(count/1000), lo <= 20_000 && 20_000 <= hi)
	}
	found := map[string]float64{}
	for page, count := range all.All() {
		found[page] = count
	}
	fmt.Println(all.Len(), "pages;", found["/docs"] == all.Estimate("/docs"), all.Has("/docs"), all.Has("/a rare page"))
	fmt.Println(all.Guarantee())
	// Output:
	// / 20000, in the interval: true
	// 3 pages; true true false
	// ε = 1, δ = 1e-6 for one element, added or removed
}
