package loss

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/integrate/quad"
)

// MostMove is the largest move of a [Mixture].
const MostMove = 16

// Normal is a part of a mixture: N(Move, 1), with a Weight.
type Normal struct{ Move, Weight float64 }

// Mixture returns the distributions of N(0, 1) on a number that moves by moves[k] with probability
// weights[k], where nobody learns by which: removed bounds P = Σ weights[k]·N(moves[k], 1) against
// Q = N(0, 1), added the other direction. Moves are in [0, MostMove], one of them above 0, and the
// weights, of sum 1, are within a relative 2⁻⁴⁵. Both have that many points, at least 2¹⁴.
//
// It bounds a group of which each member is in a secret sample by himself, see loss_proof.md.
func Mixture(moves, weights []float64, points int) (removed, added *Measure) {
	var p []Normal
	for k, m := range moves {
		p = append(p, Normal{m, weights[k]})
	}
	return mixtures(p, []Normal{{0, 1}}, points)
}

// Replaced returns the distribution, the same in both directions, of a number that moves by μ, in
// [Least, MostMove/2], with probability γ, against one that moves by −μ with that probability, with
// noise N(0, 1): of a unit of a secret sample that is replaced by another. See loss_proof.md.
func Replaced(mu, gamma float64, points int) *Measure {
	removed, _ := mixtures([]Normal{{0, 1 - gamma}, {mu, gamma}}, []Normal{{0, 1 - gamma}, {-mu, gamma}}, points)
	return removed
}

// mixtures returns the distributions of P against Q, and of Q against P, where no move of Q is
// above one of P.
//
// With G = P/Q, which increases, the line is cut into cells [x, x + h]. In each, u = ∫q·(G −
// G(x))/D and v = ∫q·(G(x+h) − G)/D with D = G(x+h) − G(x) are Q-masses at the losses ln G of its
// ends that leave its P- and its Q-mass as they are. With φ the density of N(0, 1), A = P/φ and B =
// Q/φ these are sums over pairs of a part of P and one of Q, m ≥ n the moves:
//
//	q(y)·(G(y) − G(x))   = φ(y)·Σ c·(e^{m(y−x)} − e^{n(y−x)})/B(x),
//	q(y)·(G(x+h) − G(y)) = φ(y)·Σ c·e^{m(y−x)+nh}·(e^{(m−n)(x+h−y)} − 1)/B(x+h),
//	D                    = Σ c·(e^{mh} − e^{nh})/(B(x)·B(x+h)),
//	c                    = w·w′·e^{(m+n)x − (m²+n²)/2}.
//
// All terms are positive, so nothing cancels.
func mixtures(p, q []Normal, points int) (removed, added *Measure) {
	cells := max(points, 1<<14)
	most, least := 0.0, 0.0
	for _, n := range p {
		most = max(most, n.Move)
	}
	for _, n := range q {
		least = min(least, n.Move)
	}
	width := up((2*far + most - least) / float64(cells))
	var nodes, factors [10]float64
	quad.Legendre{}.FixedLocations(nodes[:], factors[:], 0, width)
	type pair struct {
		m, n, weight float64
		// e^{mt} − e^{nt} and e^{mt+nh}·(e^{(m−n)(h−t)} − 1), times the factors
		upper, lower [10]float64
		whole        float64 // e^{mh} − e^{nh}
	}
	var pairs []pair
	for _, a := range p {
		for _, b := range q {
			x := pair{m: a.Move, n: b.Move, weight: a.Weight * b.Weight, whole: math.Exp(b.Move*width) * math.Expm1((a.Move-b.Move)*width)}
			for j, t := range nodes {
				x.upper[j] = factors[j] * math.Exp(b.Move*t) * math.Expm1((a.Move-b.Move)*t)
				x.lower[j] = factors[j] * math.Exp(a.Move*t+b.Move*width) * math.Expm1((a.Move-b.Move)*(width-t))
			}
			if x.whole > 0 {
				pairs = append(pairs, x)
			}
		}
	}
	mass := make([]float64, cells+1) // of Q
	ratio := make([]float64, cells+1)
	below := make([]float64, cells+1) // B
	at := func(i int) float64 { return float64(i)*width - far + least }
	with, without := make([]placed, cells+1), make([]placed, cells+1)
	for i := range mass {
		// A − B; by how much A and B may be off; and A − B beside that
		x, above, excess, offA, offB, rest := at(i), 0.0, 0.0, 0.0, 0.0, 0.0
		for k, n := range slices.Concat(p, q) {
			a := n.Move * (x - n.Move/2)
			g := n.Weight * math.Exp(a)
			off := g * math.Abs(n.Move) * (math.Abs(x) + math.Abs(n.Move)) * 0x1p-48
			if k < len(p) {
				above, offA, excess = above+g, offA+off, excess+n.Weight*math.Expm1(a)
			} else {
				below[i], offB, excess = below[i]+g, offB+off, excess-n.Weight*math.Expm1(a)
			}
			rest += n.Weight * math.Abs(math.Expm1(a)) * 0x1p-43
		}
		ratio[i] = above / below[i]
		excess, rest = excess/below[i], rest/below[i]
		loss := math.Log1p(excess)
		if excess < -0.5 { // all terms of A and B are positive
			loss, rest = math.Log(ratio[i]), ratio[i]*0x1p-43
		}
		off := (offA/above+offB/below[i]+rest/ratio[i])*2 + math.Abs(loss)*0x1p-47
		with[i].loss, without[cells-i].loss = up(loss+off), up(off-loss)
	}
	scale := 1 / math.Sqrt(2*math.Pi)
	for i := range cells {
		x := at(i)
		var density [10]float64
		for j, t := range nodes {
			density[j] = scale * math.Exp(-(x+t)*(x+t)/2)
		}
		upper, lower, whole := 0.0, 0.0, 0.0
		for _, k := range pairs {
			c := k.weight * math.Exp((k.m+k.n)*x-(k.m*k.m+k.n*k.n)/2)
			u, v := 0.0, 0.0
			for j := range density {
				u += density[j] * k.upper[j]
				v += density[j] * k.lower[j]
			}
			upper, lower, whole = upper+c*u, lower+c*v, whole+c*k.whole
		}
		mass[i] += lower / whole * below[i]
		mass[i+1] += upper / whole * below[i+1]
	}
	// Each of q, G and D is off by a relative error of that of an exponent, and a few roundings.
	above := 1 + (4*(far+most-least)*(far+most-least)+512)*0x1p-49
	for i, w := range mass {
		with[i].mass = ratio[i]*w*above + floor
		without[cells-i].mass = w*above + floor
	}
	removed, added = spread(with, cells, 1), spread(without, cells, 1)
	// Beyond the ends, and weights that are no numbers any more.
	removed.infinite += 4*beyond + floor
	added.infinite += 4 * beyond
	return removed, added
}
