package misragries

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/noise"
)

// Sentinel errors, shared by all packages of the library; match them with errors.Is.
var (
	ErrParams   = fault.ErrParams
	ErrFormat   = fault.ErrFormat
	ErrReleased = fault.ErrReleased
)

const (
	maxCounters = 1 << 28
	minEpsilon  = 0x1p-30
	maxEpsilon  = 0x1p10
	minDelta    = 0x1p-1022 // math.Log is not to be trusted below
)

// Params are the public numbers of a release. They are comparable, and every method answers before any data is seen.
type Params struct {
	// Counters is k, the number of counters, in [1, 2²⁸]. A stream of n elements is counted with an
	// error of at most n/(k+1). Memory grows with the distinct keys seen, up to Size.
	Counters int
	// Epsilon is ε, in [2⁻³⁰, 2¹⁰]. There is no default.
	Epsilon float64
	// Delta is δ, in [2⁻¹⁰²², 1). There is no default.
	Delta float64
}

func (p Params) validate() error {
	switch {
	case p.Counters < 1 || p.Counters > maxCounters:
		return fault.Params("misragries", "Counters", p.Counters, "an integer in [1, 2²⁸]")
	case !(p.Epsilon >= minEpsilon && p.Epsilon <= maxEpsilon):
		return fault.Params("misragries", "Epsilon", p.Epsilon, "a number in [2⁻³⁰, 2¹⁰]")
	case !(p.Delta >= minDelta && p.Delta < 1):
		return fault.Params("misragries", "Delta", p.Delta, "a number in [2⁻¹⁰²², 1)")
	}
	return nil
}

// Threshold returns τ, the least integer noisy count that is released: the least τ ≥ 1 for which the
// release is (ε, δ)-differentially private (see [Delta]). NaN if the Params are invalid.
func (p Params) Threshold() float64 {
	if p.validate() != nil {
		return math.NaN()
	}
	return float64(p.threshold())
}

func (p Params) threshold() int64 {
	return leastThreshold(p.Counters, p.Epsilon, p.Delta)
}

// StdDev returns the standard deviation of the noise of one released count: two discrete Laplace
// variables, one of them shared by all counts. NaN if the Params are invalid.
func (p Params) StdDev() float64 {
	if p.validate() != nil {
		return math.NaN()
	}
	return math.Sqrt(2 * p.noise().Variance())
}

// ErrorBound returns a bound on |estimate − true count| for all keys at once that holds with the given
// confidence, for a stream of n elements: n/(k+1) from the sketch, the largest noise of k counters, and the
// threshold, as the estimate of a key that is not released is 0. NaN if an argument is invalid.
func (p Params) ErrorBound(n, confidence float64) float64 {
	if p.validate() != nil || !(n >= 0) || !validConfidence(confidence) {
		return math.NaN()
	}
	// A hidden counter is below τ minus its noise, a shown one off by its noise.
	t := float64(p.sumQuantile((1 - confidence) / (2 * float64(p.Counters))))
	return n/(float64(p.Counters)+1) + t + p.Threshold()
}

// Size returns the bytes that a Builder holds for uint64 keys once all counters are in use: under 32 a
// counter. String keys take 16 bytes more, besides their text. 0 if the Params are invalid.
func (p Params) Size() int {
	if p.validate() != nil {
		return 0
	}
	const entry, zero, slot = 16, 8, 4
	size := int64(p.Counters)*(entry+zero) + int64(indexSize(p.Counters))*slot
	return int(min(size, math.MaxInt)) // 32-bit platforms
}

// noise is the law of η and of every L: of scale 1/ε, rounded up.
func (p Params) noise() noise.DiscreteLaplace {
	scale, err := noise.LaplaceScale(p.Epsilon, 1)
	if err != nil {
		panic("misragries: no scale for a validated Epsilon") // unreachable
	}
	d, err := noise.NewDiscreteLaplace(scale)
	if err != nil {
		panic("misragries: no noise for a validated Epsilon") // unreachable
	}
	return d
}

// validConfidence reports whether confidence is in [0, 1).
func validConfidence(confidence float64) bool { return confidence >= 0 && confidence < 1 }
