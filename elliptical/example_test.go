package elliptical_test

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/dpsketch/dpsketch/elliptical"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// Ages and incomes of 1000 people: two ranges, one release.
func Example() {
	b, err := elliptical.NewBuilder(elliptical.Params{
		Min: elliptical.VectorOf(0, 0),
		Max: elliptical.VectorOf(100, 200_000),
		Rho: 0.5,
	})
	if err != nil {
		panic(err)
	}
	for i := range 1000 {
		b.Add([]float64{float64(20 + i%50), float64(30_000 + 10*i)}) // private data
	}
	s, err := b.Release()
	if err != nil {
		panic(err)
	}
	fmt.Println(s.Guarantee())
	// Within six standard deviations of the noise:
	fmt.Println(math.Abs(s.Estimate(0)-44_500) < 6*s.StdDev(0), math.Abs(s.Estimate(1)-34_995_000) < 6*s.StdDev(1))
	// Output:
	// ρ = 0.5 (zCDP) for one row, added or removed
	// true true
}

// Figure 4.1 of the thesis: the mean squared error for ranges of 4 and 1, for three shapes.
func ExampleParams_Plan() {
	p := elliptical.Params{Min: elliptical.VectorOf(-2, -0.5), Max: elliptical.VectorOf(2, 0.5), Rho: 1, Relation: budget.Replace}
	for _, shape := range []struct {
		name    string
		weights elliptical.Vector
	}{{"optimal", elliptical.Vector{}}, {"spherical", elliptical.VectorOf(4, 1)}, {"of minimum volume", elliptical.VectorOf(1, 1)}} {
		p.Weights = shape.weights
		plan, err := p.Plan()
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s: %.4g\n", shape.name, plan.Error(2))
	}
	// Output:
	// optimal: 12.5
	// spherical: 17
	// of minimum volume: 17
}

// Under pure ε coordinates that share one radius have a fraction of the error of independent
// Laplace noise, here for ten columns of equal range.
func ExampleShape() {
	p := elliptical.Params{Min: elliptical.VectorOf(make([]float64, 10)...), Max: elliptical.VectorOf(1, 1, 1, 1, 1, 1, 1, 1, 1, 1), Epsilon: 1}
	best, err := p.Plan()
	if err != nil {
		panic(err)
	}
	p.Shape = elliptical.Independent
	apart, err := p.Plan()
	if err != nil {
		panic(err)
	}
	fmt.Println(best)
	fmt.Printf("%.2f of the error of %v\n", best.Error(2)/apart.Error(2), apart.Params.Shape)
	// Output:
	// box noise, Box, for 10 coordinates, E‖η‖² = 440, 514 bytes
	// 0.22 of the error of Independent
}

// Mean and interval of each column where the number of rows is private.
func ExampleSum_Mean() {
	b, err := elliptical.NewBuilder(elliptical.Params{
		Min: elliptical.VectorOf(0, 0), Max: elliptical.VectorOf(100, 80), // ages, hours a week
		Epsilon: 1, Relation: budget.AddRemove, Count: true,
	})
	if err != nil {
		panic(err)
	}
	for i := range 10_000 {
		b.Add([]float64{float64(20 + i%50), float64(i % 41)}) // private data
	}
	s, err := b.Release()
	if err != nil {
		panic(err)
	}
	lo, hi := s.MeanInterval(0, 1-1e-9)
	fmt.Println(math.Abs(s.Mean(0)-44.5) < 0.5, lo <= 44.5 && 44.5 <= hi)
	fmt.Println("people:", math.Abs(s.Count()-10_000) < 100)
	// Output:
	// true true
	// people: true
}

// Where the number of rows is private and values are not negative, releasing it too pays.
func ExampleParams_count() {
	most := make([]float64, 1000)
	for i := range most {
		most[i] = math.Pow(float64(i+1), -0.8)
	}
	p := elliptical.Params{Min: elliptical.VectorOf(make([]float64, 1000)...), Max: elliptical.VectorOf(most...), Rho: 1, Relation: budget.AddRemove}
	plain, err := p.Plan()
	if err != nil {
		panic(err)
	}
	p.Count = true
	counted, err := p.Plan()
	if err != nil {
		panic(err)
	}
	fmt.Printf("%.3f\n", counted.Error(2)/plain.Error(2))
	// Output:
	// 0.301
}

// The mean of embeddings of length 1, of an unknown number of people.
func ExampleParams_normBound() {
	b, err := elliptical.NewBuilder(elliptical.Params{Rho: 0.5, NormBound: 1, Dim: 2, Count: true})
	if err != nil {
		panic(err)
	}
	for range 10_000 {
		b.Add([]float64{0.6, 0.8}) // private data
	}
	s, err := b.Release()
	if err != nil {
		panic(err)
	}
	fmt.Printf("%.2f %.2f\n", s.Mean(0), s.Mean(1))
	// Output:
	// 0.60 0.80
}

// Two servers count sparse rows, and one of them releases the sums of all.
func ExampleBuilder_Merge() {
	p := elliptical.Params{Rho: 1, Min: elliptical.VectorOf(0, 0, 0), Max: elliptical.VectorOf(1, 10, 100)}
	here, err := elliptical.NewBuilder(p)
	if err != nil {
		panic(err)
	}
	there, err := elliptical.NewBuilder(p)
	if err != nil {
		panic(err)
	}
	for i := range 10_000 { // most coordinates are 0
		here.AddSparse([]int{i % 3}, []float64{1})
		there.AddSparse([]int{1, 2}, []float64{5, 50})
	}
	if err := here.Merge(there); err != nil {
		panic(err)
	}
	s, err := here.Release()
	if err != nil {
		panic(err)
	}
	truth, held := []float64{3334, 53_333, 503_333}, true
	for i, sum := range s.All() {
		lo, hi := s.SimultaneousInterval(i, 1-1e-9) // of all at once
		held = held && lo <= truth[i] && truth[i] <= hi && lo <= sum && sum <= hi
	}
	fmt.Println("all sums are within their intervals:", held, len(s.Values()), s.Len())
	// Output:
	// all sums are within their intervals: true 3 3
}

// Sums that exist already, of counts: the caller guarantees that a row changes each by at most its
// width.
func ExampleNew() {
	most := elliptical.VectorOf(1, 10)
	m, err := elliptical.New(elliptical.Params{Epsilon: 1, Min: elliptical.VectorOf(0, 0), Max: most})
	if err != nil {
		panic(err)
	}
	s, err := m.Release([]float64{1000, 4000}) // private
	if err != nil {
		panic(err)
	}
	for i, width := range most.Values() {
		lo, hi := s.Interval(i, 0.999_999)
		fmt.Println(i+1, "of", most.Len(), "sums: at most", width, "of", most.At(i), "a row;", lo < hi && hi-lo < 1000*width)
	}
	// Output:
	// 1 of 2 sums: at most 1 of 1 a row; true
	// 2 of 2 sums: at most 10 of 10 a row; true
}

// Heights in metres and weights in units of 50 kg, from their middles, are correlated, so rows lie
// in an ellipse: the noise has its shape.
func ExamplePackSymmetric() {
	ellipse := mat.NewSymDense(2, []float64{4, 3, 3, 4})
	b, err := elliptical.NewBuilder(elliptical.Params{Rho: 0.5, Ellipsoid: elliptical.PackSymmetric(ellipse)})
	if err != nil {
		panic(err)
	}
	for range 1000 {
		b.Add([]float64{0.5, 0.4}) // private data
	}
	s, err := b.Release()
	if err != nil {
		panic(err)
	}
	noise := s.Covariance()
	fmt.Printf("correlation of the noise: %.2f\n", noise.At(0, 1)/noise.At(0, 0))
	// Output: correlation of the noise: 0.75
}
