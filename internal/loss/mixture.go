package loss

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/integrate/quad"
)

// MostMove is the largest move of a [Mixture].
const MostMove = 16

// Mixture returns the laws of N(0, 1) on a number that moves by moves[k] with probability
// weights[k], where nobody learns by which: removed bounds P = Σ weights[k]·N(moves[k], 1) against
// Q = N(0, 1), added the other direction. Moves are in [0, MostMove], one of them above 0, and the
// weights, of sum 1, are within a relative 2⁻⁴⁵. Both have that many points, at least 2¹⁴.
//
// It bounds a group of which each member is in a secret sample by himself, see loss_proof.md. With
// G = P/Q, which increases, the line is cut into cells [x, x + h]. In each, u = ∫q·(G − G(x))/D and
// v = ∫q·(G(x+h) − G)/D with D = G(x+h) − G(x) are Q-masses at the losses ln G of its ends that
// leave its P- and its Q-mass as they are; all terms of the integrands are positive, so nothing
// cancels.
func Mixture(moves, weights []float64, points int) (removed, added *Measure) {
	cells := max(points, 1<<14)
	most := slices.Max(moves)
	width := up((2*far + most) / float64(cells))
	var nodes, factors [10]float64
	quad.Legendre{}.FixedLocations(nodes[:], factors[:], 0, width)
	type part struct {
		move, weight float64
		upper, lower [10]float64 // e^{mt} − 1 and e^{mh} − e^{mt}, times the factors
		whole        float64     // e^{mh} − 1
	}
	parts := make([]part, len(moves))
	for k, m := range moves {
		p := part{move: m, weight: weights[k], whole: math.Expm1(m * width)}
		for j, t := range nodes {
			p.upper[j] = factors[j] * math.Expm1(m*t)
			p.lower[j] = factors[j] * math.Exp(m*t) * math.Expm1(m*(width-t))
		}
		parts[k] = p
	}
	mass := make([]float64, cells+1) // of Q
	ratio := make([]float64, cells+1)
	with, without := make([]placed, cells+1), make([]placed, cells+1)
	scale := 1 / math.Sqrt(2*math.Pi)
	for i := range mass {
		x := float64(i)*width - far
		var q [10]float64
		for j, t := range nodes {
			q[j] = scale * math.Exp(-(x+t)*(x+t)/2)
		}
		upper, lower, whole := 0.0, 0.0, 0.0
		excess, off, rest := 0.0, 0.0, 0.0 // G − 1; by how much G may be off; and G − 1 beside that
		for _, p := range parts {
			a := p.move * (x - p.move/2)
			g := p.weight * math.Exp(a)
			ratio[i] += g
			excess += p.weight * math.Expm1(a)
			off += g * p.move * (math.Abs(x) + p.move) * 0x1p-48
			rest += p.weight * math.Abs(math.Expm1(a)) * 0x1p-43
			u, v := 0.0, 0.0
			for j := range q {
				u += q[j] * p.upper[j]
				v += q[j] * p.lower[j]
			}
			upper, lower, whole = upper+g*u, lower+g*v, whole+g*p.whole
		}
		if i < cells {
			mass[i] += lower / whole
			mass[i+1] += upper / whole
		}
		loss := math.Log1p(excess)
		if excess < -0.5 { // all terms of G are positive
			loss, rest = math.Log(ratio[i]), ratio[i]*0x1p-43
		}
		off = (off+rest)/ratio[i]*2 + math.Abs(loss)*0x1p-47
		with[i].loss, without[cells-i].loss = up(loss+off), up(off-loss)
	}
	// Each of q, G and D is off by a relative error of that of an exponent, and a few roundings.
	above := 1 + (4*(far+most)*(far+most)+256)*0x1p-49
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
