package noise_test

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/dpsketch/dpsketch/noise"
)

// A number that one person changes by at most 20 is released with ε = 1. It is a whole number, so
// the noise is rounded to whole numbers too.
func Example() {
	const number = 123_456 // private
	scale, err := noise.LaplaceScale(1, 20)
	if err != nil {
		panic(err)
	}
	laplace, err := noise.NewLaplace(scale)
	if err != nil {
		panic(err)
	}
	var secret noise.Source
	released := number + laplace.Sample(&secret, 1)

	fmt.Printf("noise of standard deviation %.1f\n", math.Sqrt(laplace.Variance()))
	fmt.Printf("within %.0f of the truth with 95 %% confidence\n", laplace.Quantile(0.975)+0.5)
	fmt.Println("a whole number within 1000:", released == math.Trunc(released) && math.Abs(released-number) < 1000)
	// Output:
	// noise of standard deviation 28.3
	// within 60 of the truth with 95 % confidence
	// a whole number within 1000: true
}

// A vector whose neighbours are at ℓ₂ distance 1: the σ of (ε, δ) and of ρ, and what a σ is worth.
func ExampleGaussianSigma() {
	sigma := must(noise.GaussianSigma(1, 1e-6, 1))
	fmt.Printf("σ = %.4f at (1, 1e-6), %.4f at ρ = 0.1\n", sigma, must(noise.GaussianSigmaZCDP(0.1, 1)))
	fmt.Printf("δ = %.1e at ε = 2, e^%.0f at ε = 50\n", must(noise.GaussianDelta(sigma, 2, 1)), must(noise.GaussianLogDelta(sigma, 50, 1)))
	gaussian := must(noise.NewGaussian(sigma))
	fmt.Printf("95 %% of the noise is within %.1f of 0\n", gaussian.Quantile(0.975))
	// Output:
	// σ = 4.2247 at (1, 1e-6), 2.2361 at ρ = 0.1
	// δ = 1.1e-18 at ε = 2, e^-22298 at ε = 50
	// 95 % of the noise is within 8.3 of 0
}

// Counts, of which a user changes one by 1, are integers: discrete noise of scale 1/ε. Where only
// large counts matter, the noise of a million empty cells is drawn in the time of those that pass.
func ExampleNewDiscreteLaplace() {
	laplace := must(noise.NewDiscreteLaplace(1 / 0.5))
	var src noise.Source
	count := 120 + laplace.SampleInt(&src)
	fmt.Printf("within 30 of 120: %v, by noise of scale %v\n", 90 < count && count < 150, laplace.Scale())

	const cells, threshold = 1_000_000, 20
	far := laplace.CountTail(&src, cells, 2*threshold) // so many pass twice the threshold
	near := laplace.CountLayer(&src, cells-far, threshold, 2*threshold)
	fmt.Println("some 28 pass it:", 0 < far+near && far+near < 70)
	above := must(noise.NewGeometric(laplace.Scale())) // by how much each does
	fmt.Println(threshold+above.SampleInt(&src) < 2*threshold+40)
	_, passes := laplace.SampleTail(&src, 100) // of one cell
	fmt.Println(passes, laplace.CountTails(&src, cells, 100))
	// Output:
	// within 30 of 120: true, by noise of scale 2
	// some 28 pass it: true
	// true
	// false 0
}

// A discrete Gaussian has the σ of a Gaussian, and values that are integers.
func ExampleNewDiscreteGaussian() {
	gaussian := must(noise.NewDiscreteGaussian(must(noise.GaussianSigmaZCDP(0.5, 3))))
	fmt.Printf("σ = %.4f, variance %.4f\n", gaussian.Sigma(), gaussian.Variance())
	// Output:
	// σ = 3.0000, variance 9.0000
}

// Randomized response: each bit is flipped with a probability that is a multiple of 2⁻⁶⁴, rounded
// towards privacy. Flip and Fill serve tables of bits, 64 at once.
func ExampleRandomizedResponse() {
	flip := must(noise.RandomizedResponse(1))
	var src noise.Source
	table := make([]uint64, 1000)
	flip.Flip(&src, table) // of 64,000 private bits, here all 0
	ones := 0
	for _, word := range table {
		ones += bits.OnesCount64(word)
	}
	fmt.Printf("flipped with probability %.6f: %v\n", flip.Prob(), math.Abs(float64(ones)/64_000-flip.Prob()) < 0.02)

	sample := must(noise.BernoulliAtLeast(0.25)) // who is in a sample of at least a quarter
	fmt.Println(noise.NewBernoulli(sample.K()) == sample, sample.K() == 1<<62)
	// Output:
	// flipped with probability 0.268941: true
	// true true
}

// Noise that is partly the same for all keys: half the standard deviation for many keys of a user.
func ExampleNewCorrelatedGaussian() {
	correlated := must(noise.NewCorrelatedGaussian(0.5, 2))
	fmt.Printf("together %.2f\n", math.Sqrt(correlated.Marginal().Variance()))
	var src noise.Source
	key := correlated.Sampler(&src, 1)
	fmt.Println("whole numbers:", math.Mod(key(), 1) == 0)
	// and the number of users, with more noise of its own
	key, number := correlated.SamplerBeside(&src, 1, 8)
	fmt.Println(math.Abs(key()-number()) < 100)
	// Output:
	// together 2.06
	// whole numbers: true
	// true
}

// Staircase noise of one real number: at ε = 4 half the mean error of Laplace noise.
func ExampleNewStaircase() {
	least := must(noise.NewStaircase(4, 1, must(noise.StaircaseGamma(4))))
	epsilon, sensitivity, gamma := least.Parameters()
	fmt.Printf("γ = %.3f, E|Z| = %.3f for Δ = %v at ε = %v\n", gamma, least.MeanAbs(), sensitivity, epsilon)
	square := must(noise.NewStaircase(4, 1, must(noise.StaircaseGammaVariance(4))))
	fmt.Printf("variance %.4f, or %.4f of the shape that makes it least\n", least.Variance(), square.Variance())
	// Output:
	// γ = 0.119, E|Z| = 0.138 for Δ = 1 at ε = 4
	// variance 0.0730, or 0.0650 of the shape that makes it least
}

// Heavy tails, for estimators whose error is only known by a moment: see package noise/approx.
func ExampleNewStudent() {
	student, pareto := must(noise.NewStudent(4, 10)), must(noise.NewPareto(4, 10))
	fmt.Println(student.Shape() == pareto.Shape(), student.Scale() == pareto.Scale())
	fmt.Printf("E|Z| = %.2f and %.2f\n", student.MeanAbs(), pareto.MeanAbs())
	var src noise.Source
	steps, ok := student.SampleSteps(&src, 0.25) // to be added to an integer number of quarters
	fmt.Println(ok, math.Abs(float64(steps)/4) < 1e6)
	// Output:
	// true true
	// E|Z| = 6.37 and 5.00
	// true true
}

// Values are rounded to a grid before noise is added, without bias.
func ExampleRandomizedRound() {
	var src noise.Source
	sum := 0.0
	for range 10_000 {
		sum += noise.RandomizedRound(&src, 0.3, 1)
	}
	fmt.Println("about 3000:", math.Abs(sum-3000) < 400)
	// Output: about 3000: true
}

// must returns x, of arguments that are constants and in range.
func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

// A sum of durations in nanoseconds, in which one user may change a day.
func ExampleCheckStep() {
	laplace, err := noise.NewLaplace(24 * 3600 * 1e9) // ε = 1
	if err != nil {
		panic(err)
	}
	for _, step := range []float64{1, 2} {
		fmt.Println(step, noise.CheckStep(laplace, step))
	}
	// Output:
	// 1 noise: step = 1: want a power of two that is at least 2⁻⁴⁶ of the scale, which a constructor accepted: parameter out of range
	// 2 <nil>
}
