package loss

import "math"

// The range of ε in which the leaves are computed.
const (
	Least = 0x1p-200
	Most  = 0x1p20
)

// Response returns the distribution of randomized response, ±ε with P-mass 1/(1 + e^{∓ε}): what
// bounds every ε-DP release (Kairouz, Oh, Viswanath). ε is in [Least, Most].
func Response(epsilon float64) *Measure {
	// an Exp, a sum and a quotient; the error counts as often as the release
	const above = 1 + 0x1p-49
	q := math.Exp(-epsilon)
	return &Measure{base: -epsilon, step: 2 * epsilon, mass: []float64{q/(1+q)*above + floor, 1 / (1 + q) * above}, releases: 1}
}

// Laplace returns the distribution of Laplace noise of scale 1/ε on a number that moves by 1:
// P-mass ½ at ε, ½e^{−ε} at −ε and the density ¼e^{−(ε−l)/2} between. It bounds Laplace noise of
// scales bᵢ on coordinates that move by dᵢ where Σ|dᵢ|/bᵢ ≤ ε. ε is in [Least, Most], and the
// lattice has so many cells.
//
// The lattice starts at −ε, so all cells are whole. A cell [L, L+h] has mass
// ¼e^{−(ε−L)/2}·∫e^{t/2}(…)dt; split, with s = e^{h/2}, the upper end gets
// ½e^{−(ε−L)/2}·s·(s−1)/(s+1) and the lower one ½e^{−(ε−L)/2}·(s−1)/(s+1), where (s−1)/(s+1) =
// tanh(h/4): nothing cancels.
func Laplace(epsilon float64, cells int) *Measure {
	cells = max(cells, 1)
	h := 2 * epsilon / float64(cells)
	// The last point must not lie below ε: a lattice that is wider by roundings moves mass up only.
	for math.FMA(float64(cells), h, -2*epsilon) < 0 {
		h = up(h)
	}
	m := &Measure{base: -epsilon, step: h, mass: make([]float64, cells+1), releases: 1}
	t := math.Tanh(h/4) / 2
	for i := range cells {
		lower, upper := float64(i)*h, float64(i+1)*h // above −ε
		// e^{−(ε−L)/2} with L = −ε + i·h.
		m.mass[i] += t * math.Exp(lower/2-epsilon)
		m.mass[i+1] += t * math.Exp(upper/2-epsilon)
	}
	m.mass[0] += math.Exp(-epsilon) / 2
	m.mass[cells] += 0.5
	for i := range m.mass {
		m.mass[i] = m.mass[i]*(above*above)*(1+(2*epsilon+1)*0x1p-50) + floor
	}
	return m
}

// Lattice returns the distribution of discrete Laplace noise of P-mass ∝ e^{−|x|ε/steps} on the
// integers, on a number that moves by steps: losses ε·(steps − 2j)/steps for j = 0 … steps. With
// steps = 1 it is Response(ε). It also bounds a group of so many of an (ε/steps)-DP release. More
// than 4,096 steps are taken several at once, as one of a coarser lattice, which bounds them.
func Lattice(epsilon float64, steps int) *Measure {
	const most = 1 << 12
	steps = max(steps, 1)
	if steps > most {
		each := (steps-1)/most + 1
		many := (steps-1)/each + 1
		epsilon *= float64(each) * float64(many) / float64(steps) * (1 + 0x1p-50)
		steps = many
	}
	each := epsilon / float64(steps)
	for math.FMA(float64(steps), each, -epsilon) < 0 {
		each = up(each) // less noise: a larger profile
	}
	q := math.Exp(-each)
	m := &Measure{base: up(-float64(steps) * each), step: 2 * each, mass: make([]float64, steps+1), releases: 1}
	rest := -math.Expm1(-each) / (1 + q)
	for j := range m.mass { // the loss (2j − steps)·each, at the value steps − j
		switch x := float64(steps - j); j {
		case 0:
			m.mass[j] = math.Exp(-x*each) / (1 + q)
		case steps:
			m.mass[j] = 1 / (1 + q)
		default:
			m.mass[j] = rest * math.Exp(-x*each)
		}
		m.mass[j] = m.mass[j]*above*(1+(epsilon+1)*0x1p-50) + floor
	}
	return m
}
