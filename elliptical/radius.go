package elliptical

import (
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/internal/exact"
)

// The radius r of a group of m coordinates has Pr[r] ∝ e^{−εr}·rᵐ on γ, γ+1, …. Where a standard
// deviation holds many of these values, expectations are sums over every k-th of them only. For
// functions without jumps such a sum is off by a relative (k/deviation)²/12, which is less than
// 2⁻¹³ for fine sums. At z deviations from the mean, where tails fall by a factor e^z per
// deviation, the error is z² times as large. Values beyond 12 deviations and 60/ε are left out;
// their probability is below 2⁻⁸⁰. To be on the safe side, the tail probabilities that are asked
// for are reduced by more than the error at z = 8 (fine) or z = 5 (coarse), which makes intervals
// wider by a part in 500.
const (
	fine, fineSafety     = 32, 1 - 0x1p-7 // values in a standard deviation
	coarse, coarseSafety = 8, 1 - 0x1p-5  // where many are needed
)

// eachRadius yields values x of r in ascending order with the weights e^{−εx}·x^size, times
// e^{−log}.
func eachRadius(size, epsilon, gamma, perDeviation float64, yield func(x, weight float64)) (log float64) {
	mode, deviation := size/epsilon, math.Sqrt(size+1)/epsilon
	stride := max(math.Floor(deviation/perDeviation), 1)
	first := gamma + max(math.Floor((mode-12*deviation-gamma)/stride), 0)*stride
	last := max(mode, gamma) + 12*deviation + 60/epsilon + 1
	top := max(mode, first)
	for x := first; x <= last; x += stride {
		yield(x, math.Exp(size*math.Log(x/top)-epsilon*(x-top)))
	}
	return size*math.Log(top) - epsilon*top + math.Log(stride)
}

// logRadiusMoment returns ln E rᵖ.
func logRadiusMoment(m int, epsilon, gamma, power float64) float64 {
	size := float64(m)
	if power > 0x1p20 { // the moment of K-norm noise, finite or not
		above, _ := math.Lgamma(size + 1 + power)
		below, _ := math.Lgamma(size + 1)
		return above - below - power*math.Log(epsilon)
	}
	sum := func(size float64) float64 {
		total := 0.0
		log := eachRadius(size, epsilon, gamma, fine, func(_, weight float64) { total += weight })
		return log + math.Log(total)
	}
	return sum(size+power) - sum(size)
}

// radii is the distribution of r: ascending values and their probabilities.
type radii struct{ values, probs []float64 }

func newRadii(m int, epsilon, gamma, perDeviation float64) (r radii) {
	sum := 0.0
	eachRadius(float64(m), epsilon, gamma, perDeviation, func(x, weight float64) {
		r.values, r.probs = append(r.values, x), append(r.probs, weight)
		sum += weight
	})
	kept := 0
	for i, x := range r.values {
		if p := r.probs[i] / sum; p > 0x1p-70 {
			r.values[kept], r.probs[kept] = x, p
			kept++
		}
	}
	r.values, r.probs = r.values[:kept], r.probs[:kept]
	return r
}

// mean returns E f(r).
func (r radii) mean(f func(float64) float64) float64 {
	sum := 0.0
	for i, x := range r.values {
		sum += r.probs[i] * f(x)
	}
	return sum
}

// reach returns the least t with Pr[|r·u| > t] ≤ tail, for u uniform in [−1, 1]. That probability
// is E max(1 − t/r, 0), which is linear in t between two values of r.
func (r radii) reach(tail float64) float64 {
	tail *= fineSafety
	mass, inverse := 0.0, 0.0
	for i := len(r.values) - 1; i > 0; i-- {
		mass, inverse = mass+r.probs[i], inverse+r.probs[i]/r.values[i]
		if mass-r.values[i-1]*inverse >= tail {
			return (mass - tail) / inverse
		}
	}
	return max(mass+r.probs[0]-tail, 0) / (inverse + r.probs[0]/r.values[0])
}

// reachAll returns a t with Pr[r·max|uᵢ| > t] ≤ tail for m independent uᵢ and coarse radii.
func (r radii) reachAll(m int, tail float64) float64 {
	tail *= coarseSafety
	outside := func(t float64) float64 {
		return r.mean(func(x float64) float64 {
			if x <= t {
				return 0
			}
			return -math.Expm1(float64(m) * math.Log(t/x))
		})
	}
	return exact.Root(0, r.values[len(r.values)-1], 20, func(t float64) float64 { return tail - outside(t) })
}

// pair is a sum a·u + b·v of two uniform variables in [−1, 1].
func pairTail(a, b, t float64) float64 { // Pr[|a·u + b·v| > t]
	if a < b {
		a, b = b, a
	}
	switch {
	case t >= a+b:
		return 0
	case t > a-b:
		return square(a+b-t) / (4 * a * b)
	}
	return 1 - t/a
}

// pairMoment returns E|a·u + b·v|ᵖ = ((a+b)^{p+2} − |a−b|^{p+2})/(2ab(p+1)(p+2)).
func pairMoment(a, b, power float64) float64 {
	if a < b {
		a, b = b, a
	}
	if b < 0x1p-20*a { // the difference would lose its digits; b is worth a part in 2³⁸
		return math.Pow(a, power) / (power + 1)
	}
	ratio := (a - b) / (a + b)
	return math.Pow(a+b, power) * (1 + b/a) * (a + b) / b * -math.Expm1((power+2)*math.Log(ratio)) / (2 * (power + 1) * (power + 2))
}

// boxReach returns a t with Pr[|noise| > t] ≤ tail.
func (l gridNoise) boxReach(own, shared part, tail float64) float64 {
	if shared.scale == 0 {
		return own.scale * l.groups[own.group].radii(fine).reach(tail)
	}
	apart := l.boxReach(own, part{}, tail/2) + l.boxReach(shared, part{}, tail/2)
	if own.group == shared.group {
		r := l.groups[own.group].radii(fine)
		return exact.Root(0, apart, 20, func(t float64) float64 {
			return tail*fineSafety - r.mean(func(x float64) float64 { return pairTail(own.scale*x, shared.scale*x, t) })
		})
	}
	first, outer := newExcess(own.scale, l.groups[own.group].radii(fine)), l.groups[shared.group].radii(coarse)
	if shared.scale*outer.values[len(outer.values)-1] < 0x1p-20*apart {
		// the differences below would lose their digits
		return l.boxReach(own, part{}, tail*(1-0x1p-10)) + l.boxReach(shared, part{}, tail*0x1p-10)
	}
	return exact.Root(0, apart, 20, func(t float64) float64 {
		return tail*coarseSafety - outer.mean(func(y float64) float64 {
			b := shared.scale * y
			return (first.above(t-b) - first.above(t+b)) / b
		})
	})
}

// excess is E max(X − s, 0) as a function of s, for X = scale·r·u with u uniform in [−1, 1]. For s
// ≥ 0 it is the sum of (x−s)²/4x over the radii x > s, weighted by their probabilities; three sums
// over the radii give it for every s. For v uniform in [−1, 1], Pr[|X + b·v| > t] is the difference
// of its values at t − b and t + b, divided by b.
type excess struct {
	values              []float64 // scale·r
	mass, mean, inverse []float64 // Σ p, Σ p·x and Σ p/x over the values from each on
}

func newExcess(scale float64, r radii) excess {
	n := len(r.values)
	e := excess{make([]float64, n), make([]float64, n+1), make([]float64, n+1), make([]float64, n+1)}
	for i := n - 1; i >= 0; i-- {
		x, p := scale*r.values[i], r.probs[i]
		e.values[i], e.mass[i], e.mean[i], e.inverse[i] = x, e.mass[i+1]+p, e.mean[i+1]+p*x, e.inverse[i+1]+p/x
	}
	return e
}

func (e excess) above(s float64) float64 {
	if s < 0 { // E max(X + |s|, 0) = |s| + E max(−X − |s|, 0), and X is symmetric
		return e.above(-s) - s
	}
	i, _ := slices.BinarySearch(e.values, s)
	return e.mean[i]/4 - s*e.mass[i]/2 + s*s*e.inverse[i]/4
}

// boxMoment returns E|noise|ᵖ.
func (l gridNoise) boxMoment(own, shared part, power float64) float64 {
	if shared.scale == 0 {
		return math.Exp(power*math.Log(own.scale)+l.groups[own.group].logMoment(power)) / (power + 1)
	}
	if own.group == shared.group {
		return pairMoment(own.scale, shared.scale, power) * math.Exp(l.groups[own.group].logMoment(power))
	}
	inner := l.groups[shared.group].radii(coarse)
	return l.groups[own.group].radii(coarse).mean(func(x float64) float64 {
		return inner.mean(func(y float64) float64 { return pairMoment(own.scale*x, shared.scale*y, power) })
	})
}
