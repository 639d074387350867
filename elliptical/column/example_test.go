package column_test

import (
	"fmt"

	"github.com/dpsketch/dpsketch/elliptical/column"
)

// Ages of 10,000 people: five numbers, one spend. How exact they are is known before.
func Example() {
	p := column.Params{Epsilon: 1, Min: 0, Max: 100}
	plan, err := p.Plan()
	if err != nil {
		panic(err)
	}
	b, err := column.New(p)
	if err != nil {
		panic(err)
	}
	for i := range 10_000 {
		b.Add(float64(20 + i%41)) // private data
	}
	s, err := b.Release()
	if err != nil {
		panic(err)
	}
	fmt.Println(s)
	fmt.Printf("planned: the mean to %.2f years; no worse: %v\n", plan.StdErr(column.Mean, 10_000), s.StdErr(column.Mean) < 0.03)
	for of, want := range map[column.Statistic]float64{column.Count: 10_000, column.Mean: 39.98, column.StdDev: 11.83} {
		lo, hi := s.Interval(of, 1-1e-9)
		if want < lo || want > hi || hi-lo > 0.1*want {
			fmt.Println(of, "is not near", want)
		}
	}
	// Output:
	// column.Summary: count, sum, mean and variance of values in [0, 100], ε = 1 for one row, added or removed
	// planned: the mean to 0.02 years; no worse: true
}

// A count and nothing else, with noise of standard deviation √2/ε.
func ExampleParams_only() {
	b, err := column.New(column.Params{Epsilon: 1, Want: column.Count})
	if err != nil {
		panic(err)
	}
	for range 500 {
		b.Add(1) // whatever the value
	}
	s, err := b.Release()
	if err != nil {
		panic(err)
	}
	fmt.Println(s.Guarantee(), s.Value(column.Count) > 450 && s.Value(column.Count) < 550)
	// Output:
	// ε = 1 for one row, added or removed true
}

// The median age, and the quartiles, each with an interval, in years and in ranks.
func ExampleNewQuantiles() {
	b, err := column.NewQuantiles(column.Params{Epsilon: 1, Min: 0, Max: 100, Resolution: 1}, 0.25, 0.5, 0.75)
	if err != nil {
		panic(err)
	}
	for i := range 10_000 {
		b.Add(float64(20 + i%41)) // private data
	}
	q, err := b.Release()
	if err != nil {
		panic(err)
	}
	fmt.Println(q)
	for level, value := range q.All() {
		lo, hi := q.Interval(level, 0.99)
		if want := 20 + 40*level; value < want-2 || value > want+2 || lo > value || hi < value {
			fmt.Println(level, "is far from", want)
		}
	}
	fewer, more := q.RankInterval(0.5, 0.99)
	fmt.Println(q.Len(), "quantiles; the median is", q.Quantile(0.5), "and at most 300 ranks off:", fewer > -300, more < 300)
	// Output:
	// column.Quantiles: 3 of values in [0, 100], in steps of 1, ε = 1 for one row, added or removed
	// 3 quantiles; the median is 40 and at most 300 ranks off: true true
}

// Amounts of which nobody knows the largest: the range is learned. Interval assumes that amounts
// thin out at least like a Pareto tail of index 1.5 beyond the last group that can be seen;
// IntervalTail takes another index, and IntervalBounded holds for all values up to Bound.
func ExampleSummary_Range() {
	b, err := column.New(column.Params{Epsilon: 1, Bound: 1e9})
	if err != nil {
		panic(err)
	}
	mean := 0.0
	for i := range 100_000 {
		amount := float64(i%1000) / 10 // private data
		if i%1000 == 0 {
			amount = 5000
		}
		b.Add(amount)
		mean += amount / 100_000
	}
	s, err := b.Release()
	if err != nil {
		panic(err)
	}
	lo, hi := s.Range()
	fmt.Println("a range that is wide enough, and not much wider:", lo < 1, hi > 90, hi < 20_000)
	visible := 0.0
	for _, bin := range s.Tail() {
		visible += bin.Rows
	}
	fmt.Println("groups of rows that can be seen hold most of them:", visible > 50_000)
	from, to := s.Interval(column.Mean, 1-1e-9)
	steep, thin := s.IntervalTail(column.Mean, 1-1e-9, 3)
	least, most := s.IntervalBounded(column.Mean, 1-1e-9)
	fmt.Println(from < mean && mean < to, thin-steep < to-from, least <= from && to <= most)
	// Output:
	// a range that is wide enough, and not much wider: true true true
	// groups of rows that can be seen hold most of them: true
	// true true true
}

// A histogram from elsewhere: so many rows of each value.
func ExampleBuilder_AddN() {
	b, err := column.New(column.Params{Epsilon: 1, Max: 5})
	if err != nil {
		panic(err)
	}
	for stars, rows := range []int{0, 900, 600, 1500, 4000, 3000} { // private data
		b.AddN(float64(stars), rows)
	}
	s, err := b.Release()
	if err != nil {
		panic(err)
	}
	mean := s.Value(column.Mean)
	fmt.Println(mean > 3.7 && mean < 3.82)
	// Output:
	// true
}

// The same for quantiles.
func ExampleQuantileBuilder_AddN() {
	b, err := column.NewQuantiles(column.Params{Epsilon: 1, Max: 5, Resolution: 1}, 0.5)
	if err != nil {
		panic(err)
	}
	for stars, rows := range []int{0, 900, 600, 1500, 4000, 3000} { // private data
		b.AddN(float64(stars), rows)
	}
	q, err := b.Release()
	if err != nil {
		panic(err)
	}
	fmt.Println(q.Quantile(0.5))
	// Output:
	// 4
}
