package arete

import (
	"math"
	"sort"

	"github.com/dpsketch/dpsketch/internal/check"
)

const (
	// leastArete is the ε from which Arete noise is smaller than Laplace noise of scale Δ/ε. A
	// search over all three parameters finds the crossing at ε ≈ 3.5.
	leastArete = 3.6
	// mostArete is the ε at which the parameters stay for all larger ones: the noise is 5e-14·Δ
	// there.
	mostArete = 64
)

// shapes holds, for some ε and Δ = 1, parameters near the least E|Z|, found by a compass search
// over α and θ. They are no more than a start: E|Z| is flat around its minimum, so what lies
// between is interpolated, and Calibrate scales θ and λ until the certificate holds.
var shapes = []struct{ epsilon, alpha, theta, lambda float64 }{
	{3.6, 0.60458, 0.3565, 0.072263},
	{3.8, 0.47202, 0.3798, 0.084585},
	{4, 0.44244, 0.3714, 0.080518},
	{4.2, 0.38746, 0.3780, 0.078994},
	{4.4, 0.33361, 0.3887, 0.077833},
	{4.6, 0.2812, 0.4064, 0.076019},
	{4.8, 0.2337, 0.4295, 0.073973},
	{5, 0.19196, 0.4580, 0.071616},
	{5.5, 0.12127, 0.5297, 0.063939},
	{6, 0.079166, 0.6012, 0.055356},
	{7, 0.03784, 0.7175, 0.038746},
	{8, 0.019806, 0.8030, 0.025692},
	{10, 0.006242, 0.9070, 0.010376},
	{12, 0.0021404, 0.9606, 0.0039737},
	{14, 0.00076917, 0.9800, 0.0014853},
	{16, 0.00027901, 0.9927, 0.00055002},
	{20, 3.7408e-05, 0.9997, 7.4862e-05},
	{24, 5.0507e-06, 1.0, 1.0137e-05},
	{28, 6.8514e-07, 1.0, 1.3705e-06},
}

// shape returns the parameters for ε and Δ = 1 to start from. For large ε, α = λ/2 = e^{(1−ε)/2}/2
// and θ = 1: with f(0) ≈ 1/(2λ), f(1) ≈ α·e^{−1/θ} and E|Z| ≈ λ + 2αθ these minimise E|Z|, and the
// rows of the table approach them.
func shape(epsilon float64) Arete {
	last := shapes[len(shapes)-1]
	if epsilon >= last.epsilon {
		fall := math.Exp((last.epsilon - epsilon) / 2)
		return Arete{last.alpha * fall, last.theta, last.lambda * fall}
	}
	i := max(1, sort.Search(len(shapes), func(i int) bool { return shapes[i].epsilon >= epsilon }))
	a, b := shapes[i-1], shapes[i]
	part := (epsilon - a.epsilon) / (b.epsilon - a.epsilon)
	between := func(x, y float64) float64 { return x * math.Pow(y/x, part) }
	return Arete{between(a.alpha, b.alpha), between(a.theta, b.theta), between(a.lambda, b.lambda)}
}

// Calibrate returns Arete noise that makes a real-valued release of sensitivity Δ, in the units of
// the data, ε-differentially private, proved for the parameters as returned. Its E|Z| is within a
// few 1e-4 of the minimum over all parameters, about 3.3·Δ·e^(−ε/2) for large ε. The error wraps
// [ErrParams] unless sensitivity is in [2⁻²⁰⁰, 2²⁰⁰] and epsilon in [3.6, 1024]: below, Laplace
// noise is smaller. Above ε = 64 the noise is that of 64.
func Calibrate(epsilon, sensitivity float64) (Arete, error) {
	if !(epsilon >= leastArete && epsilon <= check.MaxEpsilon) {
		return Arete{}, bad("epsilon", epsilon, "a number in [3.6, 1024]; below, Laplace noise of scale Δ/ε is smaller than Arete noise")
	}
	if !(sensitivity >= check.MinReal && sensitivity <= check.MaxReal) {
		return Arete{}, bad("sensitivity", sensitivity, "a number in [2⁻²⁰⁰, 2²⁰⁰]")
	}
	epsilon = min(epsilon, mostArete)
	// The distribution is fitted for the fraction of Δ, so that scaling it by the power of two is
	// exact.
	fraction, exponent := math.Frexp(sensitivity)
	law, ok := fitArete(epsilon, fraction)
	if !ok {
		// unreachable: a test tries many
		return Arete{}, bad("epsilon", epsilon, "a number for which the search succeeds")
	}
	return Arete{law.alpha, math.Ldexp(law.theta, exponent), math.Ldexp(law.lambda, exponent)}, nil
}

// fitArete scales the shape for ε until the certificate holds with next to nothing to spare. A
// larger scale is a smaller sensitivity: the loss falls.
func fitArete(epsilon, sensitivity float64) (law Arete, ok bool) {
	const goal, rounds = 1e-5, 24
	start := shape(epsilon)
	slope := -(1 + 1/start.theta) // of the loss in ln scale, where t = 0 binds and α is small
	scale, low, high := sensitivity, 0.0, math.Inf(1)
	for range rounds {
		law = Arete{start.alpha, start.theta * scale, start.lambda * scale}
		worst, proved := law.certify(epsilon, sensitivity)
		over := worst - epsilon
		if proved && over >= -2*goal {
			return law, true
		}
		if proved {
			high = scale
		} else {
			low = scale
		}
		next := scale * math.Exp(-(over+goal)/slope)
		if !(next > low && next < high) {
			next = (low + min(high, 2*low)) / 2
		}
		scale = next
	}
	scale = high
	law = Arete{start.alpha, start.theta * scale, start.lambda * scale}
	return law, !math.IsInf(high, 1)
}
