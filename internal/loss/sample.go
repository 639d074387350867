package loss

import "math"

// Poisson returns the distributions of a release on a secret sample that every unit is in with
// probability γ in (0, 1), independently, where m bounds the release on the sample in both
// directions and is symmetric: a leaf as it was made. removed bounds P = the release with the unit
// against Q = without it, added the other direction; both have that many points.
//
// Given the others' sample the release is (1−γ)Q + γP with the unit and Q without, and a divergence
// is at most the mean of those given the sample, so the pairs ((1−γ)Q + γP, Q) and (Q, (1−γ)Q + γP)
// bound all. A loss l becomes ln(1 − γ + γe^l) in the first, where its mass is (1−γ)q(l) + γp(l)
// with q(l) = p(−l); and −l becomes −ln(1 − γ + γe^{−l}) in the second, of mass q(−l) = p(l).
func (m *Measure) Poisson(gamma float64, points int) (removed, added *Measure) {
	n, rest := len(m.mass), up(1-gamma)
	with, without := make([]placed, n), make([]placed, n)
	for i := range n {
		l, off := sampled(gamma, m.at(i))
		with[i] = placed{up(l + off), (rest*m.mass[n-1-i] + gamma*m.mass[i]) * slack(0)}
		l, off = sampled(gamma, -m.at(i))
		without[i] = placed{up(off - l), m.mass[i]}
	}
	// Where P alone has mass w, and Q elsewhere: the first has γw there and (1−γ)w at ln(1−γ),
	// below all others; the second w at −ln(1−γ), above.
	with[0].mass = (with[0].mass + rest*m.infinite) * slack(0)
	removed = spread(with, points, m.releases)
	removed.infinite = gamma * m.infinite * slack(0)
	added = spread(without, points, m.releases)
	added.infinite = m.infinite
	return removed, added
}

// sampled returns ln(1 − γ + γe^l) and a bound on how far it is off.
func sampled(gamma, l float64) (x, off float64) {
	const tiny = 0x1p-48
	if l > 700 {
		x = math.Log(gamma) + l + math.Log1p((1-gamma)/gamma*math.Exp(-l))
		return x, tiny * (math.Abs(x) + 2*l)
	}
	y := gamma * math.Expm1(l)
	if y < -0.5 { // all terms positive
		x = math.Log(1 - gamma + gamma*math.Exp(l))
		return x, tiny * (1 + math.Abs(x))
	}
	x = math.Log1p(y) // where y > 0, y/(1+y) ≤ ln(1+y)
	return x, 4 * tiny * math.Abs(x)
}

// placed is mass at a loss.
type placed struct{ loss, mass float64 }

// spread returns the distribution of masses at increasing losses, on a lattice of so many points.
func spread(list []placed, points int, releases float64) *Measure {
	first, last := list[0].loss, list[len(list)-1].loss
	step := up((last - first) / float64(max(points, 3)-2))
	if len(list) == 2 || !(step > 0) { // nothing has to be moved
		return &Measure{base: first, step: max(up(last-first), math.SmallestNonzeroFloat64), mass: []float64{list[0].mass, list[len(list)-1].mass}, releases: releases}
	}
	m := &Measure{base: first, step: step, mass: make([]float64, max(points, 3)+1), releases: releases, points: float64(points)}
	whole := math.Expm1(-step)
	for _, x := range list {
		at := 0.0
		if x.loss > first {
			at = up(x.loss - first)
		}
		put(m.mass, at, step, whole, x.mass)
	}
	most := slack(len(list))
	for i := range m.mass {
		m.mass[i] *= most
	}
	m.trim()
	return m
}
