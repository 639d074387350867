package dptest

import (
	"math"
	"slices"
	"testing"
)

// HockeyStick returns the hockey-stick divergence Σ max(p(k) − e^ε·q(k), 0) of two finite
// distributions, the least δ for which p(E) ≤ e^ε·q(E) + δ for all events E. A key missing in a map
// has probability 0. A mechanism is (ε, δ)-private if this is at most δ in both directions for all
// neighbouring inputs.
//
// The masses are taken as they are. Each term is off by at most 2⁻⁵²·p(k) (an ulp of e^ε, a fused
// multiply-add), and n terms are added with compensation, which is off by (2⁻⁵³ + n²·2⁻¹⁰⁶)·δ. So
// the absolute error is at most 2⁻⁵²·p(E) + 2⁻⁵²·δ ≤ 2⁻⁵¹ for n ≤ 2²⁶, E being the keys with a
// positive term. Those of maps are added in ascending order, so that it does not depend on that of
// a map. NaN is returned for a negative or NaN mass, and for an ε that is negative or NaN.
func HockeyStick[K comparable](p, q map[K]float64, epsilon float64) float64 {
	ps, qs := make([]float64, 0, len(p)), make([]float64, 0, len(p))
	for k, mass := range p {
		ps, qs = append(ps, mass), append(qs, q[k])
	}
	terms, ok := excesses(ps, qs, epsilon)
	if !ok {
		return math.NaN()
	}
	slices.Sort(terms)
	return added(terms)
}

// HockeyStickSlices is [HockeyStick] for outputs numbered from 0; the shorter slice is filled with
// zeros.
func HockeyStickSlices(p, q []float64, epsilon float64) float64 {
	terms, ok := excesses(p, q, epsilon)
	if !ok {
		return math.NaN()
	}
	return added(terms)
}

// excesses returns the positive ones of p(k) − e^ε·q(k), and whether all arguments are in range.
func excesses(p, q []float64, epsilon float64) (terms []float64, ok bool) {
	if !(epsilon >= 0) {
		return nil, false
	}
	factor := math.Exp(epsilon)
	terms = make([]float64, 0, len(p))
	for i, mass := range p {
		term := mass
		if i < len(q) && q[i] != 0 {
			if !(q[i] > 0) {
				return nil, false
			}
			term = math.FMA(-factor, q[i], mass)
		}
		if !(mass >= 0) {
			return nil, false
		}
		if term > 0 {
			terms = append(terms, term)
		}
	}
	return terms, true
}

// ApproxDP fails the test unless p and q, the output laws on two neighbouring inputs, are within
// (epsilon, delta) of each other in both directions. slack ≥ 0 is a bound the caller derives for
// the error of the sum of all masses; each law must sum to 1 within slack + 1e-12, so that a
// forgotten part of an output space does not pass as privacy, and δ may be exceeded by slack + 2⁻⁵¹
// + 1e-9·δ.
func ApproxDP[K comparable](t testing.TB, name string, p, q map[K]float64, epsilon, delta, slack float64) {
	t.Helper()
	for i, law := range []map[K]float64{p, q} {
		if total := totalMass(law); !(math.Abs(total-1) <= slack+1e-12) {
			t.Errorf("%s: the masses of law %d sum to %.17g, want 1", name, i+1, total)
		}
	}
	limit := delta + slack + 0x1p-51 + 1e-9*delta
	if d := HockeyStick(p, q, epsilon); !(d <= limit) {
		t.Errorf("%s: hockey-stick divergence %.6g at ε = %g, claimed δ = %.6g", name, d, epsilon, delta)
	}
	if d := HockeyStick(q, p, epsilon); !(d <= limit) {
		t.Errorf("%s: hockey-stick divergence %.6g at ε = %g (swapped), claimed δ = %.6g", name, d, epsilon, delta)
	}
}

func totalMass[K comparable](law map[K]float64) float64 {
	masses := make([]float64, 0, len(law))
	for _, mass := range law {
		masses = append(masses, mass)
	}
	return added(masses)
}

// added adds numbers ≥ 0 with compensation.
func added(x []float64) float64 {
	var total sum
	for _, term := range x {
		total.add(term)
	}
	return total.value()
}

// Memo returns f, which is asked once for each argument.
func Memo(f func(float64) float64) func(float64) float64 {
	known := map[float64]float64{}
	return func(x float64) float64 {
		if _, ok := known[x]; !ok {
			known[x] = f(x)
		}
		return known[x]
	}
}

// Dominated fails the test if at some ε ≥ 0 the output laws p and q on two neighbouring inputs, or
// two independent outputs of small laws, differ by more than delta or twice say: the profile that a
// guarantee claims for one release, and for two. slack is as for [ApproxDP].
func Dominated(t testing.TB, name string, p, q []float64, delta, twice func(epsilon float64) float64, slack float64) {
	t.Helper()
	product := func(p []float64) []float64 {
		all := make([]float64, 0, len(p)*len(p))
		for _, a := range p {
			for _, b := range p {
				all = append(all, a*b)
			}
		}
		return all
	}
	check := func(p, q []float64, claim func(epsilon float64) float64) {
		for _, epsilon := range []float64{0, 0.3, 1, 2.5} {
			most := claim(epsilon)
			for _, d := range []float64{HockeyStickSlices(p, q, epsilon), HockeyStickSlices(q, p, epsilon)} {
				if !(d <= most+slack+0x1p-51+1e-9*most) {
					t.Errorf("%s: hockey-stick divergence %.6g at ε = %g, claimed %.6g", name, d, epsilon, most)
				}
			}
		}
	}
	check(p, q, delta)
	if len(p) <= 1<<8 {
		check(product(p), product(q), twice)
	}
}
