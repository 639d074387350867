package sets

import "github.com/dpsketch/dpsketch/noise"

// Size is an estimated size of a set.
type Size interface {
	// Estimate may be negative, so that sums are unbiased. NaN where there is none.
	Estimate() float64
	// StdErr is +Inf where there is no estimate.
	StdErr() float64
	// Interval is called with a confidence in [0, 1).
	Interval(confidence float64) (lo, hi float64)
}

// OrZero returns what p points to, for nil a zero value.
func OrZero[T any](p *T) *T {
	if p == nil {
		return new(T)
	}
	return p
}

// Parts are the sizes of A∪B, A∩B, A∖B and B∖A.
type Parts [4]Size

// The places of Parts.
const (
	Union = iota
	Intersection
	OnlyA
	OnlyB
)

// Laplace returns the ε-private noise of a number that a key moves by at most that much.
func Laplace(epsilon, by float64) (law noise.DiscreteLaplace, err error) {
	scale, err := noise.LaplaceScale(epsilon, by)
	if err == nil {
		law, err = noise.NewDiscreteLaplace(scale)
	}
	return law, err
}
