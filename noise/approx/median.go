package approx

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/exact"
)

// mostRuns is the largest number of runs a median is taken of.
const mostRuns = 1 << 20

// MedianMoment returns a bounded moment of the median of runs = 2k−1 independent executions of an
// estimator that has a bounded moment itself. If one execution has (E|R|^c)^{1/c} ≤ Δ, the median
// has (E|R|^{ck})^{1/(ck)} ≤ Δ·C(2k−1, k)^{1/(ck)}, which is below 4^{1/c}·Δ. So five runs of an
// estimator with a bounded variance give six moments, at 1.47 times the bound, and [StudentNoise]
// with a finite variance.
//
// It is Tětek's Lemma 3 with its constant.
//
// moment c is without unit, error and the second result in the units of the data. The moment is
// rounded down and the bound up. The error wraps [ErrParams] unless moment is above 0 and its
// result at most 2¹⁰, error 0 or in [2⁻⁹⁰⁰, 2⁹⁰⁰], and runs odd and in [1, 2²⁰]. With an error both
// results are NaN.
func MedianMoment(moment, error float64, runs int) (medianMoment, medianError float64, err error) {
	// Proof: if |median − g| > t, then k of the runs lie that far on one side, so |median − g|
	// is at most the k-th largest of W₁, …, W_{2k−1}, W = |R|. Its ck-th power is at most the
	// product of the k largest Wᵢ^c, hence at most the sum of these products over all C(2k−1, k)
	// subsets, each of mean (E W^c)^k ≤ Δ^{ck}. ∎
	if err := checkRuns(runs); err != nil {
		return math.NaN(), math.NaN(), err
	}
	k := (runs + 1) / 2
	medianMoment = moment * float64(k)
	if math.FMA(moment, float64(k), -medianMoment) < 0 {
		// rounded up: nothing is known of that moment
		medianMoment = math.Nextafter(medianMoment, 0)
	}
	if !(moment > 0 && medianMoment <= mostMoment) {
		return math.NaN(), math.NaN(), check.ParamsError("approx", "moment", moment, "a positive number, at most 2¹⁰ after multiplication by (runs+1)/2")
	}
	if error != 0 && !(error >= leastParam && error <= mostParam) {
		return math.NaN(), math.NaN(), check.ParamsError("approx", "error", error, "0 or "+wantParam)
	}
	if runs == 1 || error == 0 {
		return medianMoment, error + 0, nil
	}
	// C(2k−1, k) = Π (k−1+i)/i. The k terms of its logarithm are within a relative 2⁻⁵², and each
	// of the k sums adds 2⁻⁵³ of no more than the last.
	log := 0.0
	for i := 1; i <= k; i++ {
		log += math.Log1p((float64(k) - 1) / float64(i))
	}
	log = log / medianMoment * (1 + float64(k+8)*0x1p-52)
	return medianMoment, error * math.Exp(log) * (1 + 0x1p-50), nil
}

func checkRuns(runs int) error {
	if runs < 1 || runs > mostRuns || runs%2 == 0 {
		return check.ParamsError("approx", "runs", runs, "an odd number in [1, 2²⁰]")
	}
	return nil
}

// MedianRuns returns the least odd number of runs whose median fails with probability at most beta,
// if one run fails with probability at most failure, independently: the least 2k−1 with
// Pr[Binomial(2k−1, failure) ≥ k] ≤ beta. A run fails if its error is larger than wanted.
//
// It is the amplification of Tětek's Lemma 15. The median of private releases is post-processing.
// It costs the composition of the runs: give each run ε/(2k−1). If the error is subexponential
// (Lemma 16), one release with a smaller Error costs less: see [Params.Fit].
//
// The error wraps [ErrParams] unless failure is in (0, ½), beta in (0, 1), and the result at most
// 2²⁰.
func MedianRuns(failure, beta float64) (int, error) {
	if !(failure > 0 && failure < 0.5) {
		return 0, check.ParamsError("approx", "failure", failure, "a probability in (0, ½)")
	}
	if !(beta > 0 && beta < 1) {
		return 0, check.ParamsError("approx", "beta", beta, "a probability in (0, 1)")
	}
	fails := func(k int) float64 { // Pr[Binomial(2k−1, p) ≥ k] = I_p(k, k), rounded up
		return mathext.RegIncBeta(float64(k), float64(k), failure) * (1 + 1e-9)
	}
	const most = mostRuns / 2
	k := exact.LeastInt(1, func(k int64) bool { return k > most || fails(int(k)) <= beta })
	if k > most {
		return 0, check.ParamsError("approx", "failure", failure, "a probability for which 2²⁰ runs are enough")
	}
	return 2*int(k) - 1, nil
}

// Median runs estimate an odd number of times and returns the median. An estimate of NaN counts as
// 0. Median returns NaN unless runs is odd and in [1, 2²⁰]. The runs must use independent
// randomness.
func Median(runs int, estimate func() float64) float64 {
	if checkRuns(runs) != nil {
		return math.NaN()
	}
	values := make([]float64, runs)
	for i := range values {
		if x := estimate(); x == x {
			values[i] = x
		}
	}
	slices.Sort(values)
	return values[runs/2]
}
