package jl

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/exact"
)

// An interval of ‖z‖² = Z consists of all Z within a reach r(Z) of the estimate, where
// Pr[|error| > r(Z)] ≤ miss for every vector of that length. The reach is the smallest of three:
// Chebyshev's inequality (variance.go), and two by fourth moments, for the error T + W of the
// matrix and of the noise: moments_proof.md.
//
//   - E W⁴ ≤ aY² + bY + c given S, Y = ‖Sz‖², so Pr[|W| > w] ≤ E W⁴/w⁴; the rest of miss is for T,
//     by Chebyshev's inequality. It holds for every transform, with noise on the rows.
//   - E (T + W)⁴ in full, where the hash functions are 8-wise independent.

// quartic is a polynomial in Z with coefficients ≥ 0, the constant first: a bound on a fourth
// moment.
type quartic [5]float64

// root returns its fourth root at z.
func (q *quartic) root(z float64) float64 {
	return math.Sqrt(math.Sqrt((((q[4]*z+q[3])*z+q[2])*z+q[1])*z + q[0]))
}

// margin covers what float64 arithmetic loses in a moment.
const margin = 1 + 0x1p-30

// rowNoise holds the moments of the noise φ of a row: E φ², its fourth cumulant where that is
// positive, the second and fourth moment of φ² − E φ², and E φ²(φ² − E φ²)².
type rowNoise struct{ two, excess, v2, v4, cross float64 }

func (c cumulants) rowNoise() rowNoise {
	m2, m4 := c.two, c.fourth()
	m6 := c.six + 15*c.four*c.two + 15*c.two*c.two*c.two
	m8 := c.eight + 28*c.six*c.two + 35*c.four*c.four + 210*c.four*c.two*c.two + 105*c.two*c.two*c.two*c.two
	return rowNoise{
		two: m2, excess: max(c.four, 0),
		v2:    m4 - m2*m2,
		v4:    m8 - 4*m6*m2 + 6*m4*m2*m2 - 3*m2*m2*m2*m2,
		cross: m6 - 2*m4*m2 + m2*m2*m2,
	}
}

// noiseFourth returns the bound on E W⁴ as a polynomial in Z: E Y = Z and E Y² ≤ (1 + t)Z².
func (s spread) noiseFourth(n disturbance) quartic {
	m, k := n.output.rowNoise(), s.rows
	return quartic{
		margin * k * max(m.v4+3*(k-1)*m.v2*m.v2, 0),
		margin * 24 * (m.cross + (k-1)*m.two*m.v2),
		margin * 16 * (m.excess + 3*m.two*m.two) * (1 + s.square()),
	}
}

// square returns t, where E (‖Sz‖² − Z)² ≤ t·Z².
func (s spread) square() float64 { return s.plain + s.crossed + max(s.aligned, 0) }

// fourth returns the bound on E (T + W)⁴, and whether there is one.
func (p Params) fourth(n disturbance) (quartic, bool) {
	density := math.Exp(float64(p.Dim) * float64(p.Rows) * 0x1p-59)
	if p.independence() < 8 || !p.hashed() || density > 2 {
		return quartic{}, false
	}
	k, s := float64(p.Rows), float64(p.sparsity())
	if p.Transform == Rademacher {
		s = k
	}
	sp, m := p.spread(), n.output.rowNoise()
	t, w := 2/k, sp.noiseFourth(n)
	w[4] = lengthFourth(k, s)
	w[3] = 6 * 4 * m.two * (t + 8/(k*k))
	w[2] += 6*k*m.v2*t + 48*m.v2*t
	for i := range w {
		w[i] *= density * margin
	}
	return w, true
}

// lengthFourth returns a bound on E (‖Sx‖² − 1)⁴ at ‖x‖ = 1, for k rows and s entries ±1 a column.
func lengthFourth(k, s float64) float64 {
	return 12/(k*k) + 48/(k*k*k) + max(0, 1-3*s/k)/(s*s*k)
}

// shares are the fractions of miss that T may have; W has the rest.
var shares = [...]float64{0x1p-1, 0x1p-2, 0x1p-4, 0x1p-6, 0x1p-9, 0x1p-12}

// reaches returns r(Z) without Chebyshev's inequality. It rises with Z, and r(Z)/Z falls.
func (p Params) reaches(n disturbance, miss float64) func(z float64) float64 {
	sp := p.spread()
	w := sp.noiseFourth(n)
	all, whole := p.fourth(n)
	var slope, factor [len(shares)]float64
	for i, share := range shares {
		slope[i] = math.Sqrt(sp.square() / (share * miss))
		factor[i] = 1 / math.Sqrt(math.Sqrt((1-share)*miss))
	}
	total := 1 / math.Sqrt(math.Sqrt(miss))
	return func(z float64) float64 {
		r, root := math.Inf(1), w.root(z)
		for i := range shares {
			r = min(r, slope[i]*z+factor[i]*root)
		}
		if whole {
			r = min(r, total*all.root(z))
		}
		return r
	}
}

// interval returns bounds of Z that fail with a probability of at most miss.
func (p Params) interval(n disturbance, estimate, miss float64) (lo, hi float64) {
	lo, hi = p.spread().quadratic(n).interval(estimate, 1/math.Sqrt(miss))
	if n.input != (cumulants{}) {
		return lo, hi
	}
	reach := p.reaches(n, miss)
	// Z + r(Z) rises, so the least Z with |estimate − Z| ≤ r(Z) is where it is the estimate.
	if reach(0) < estimate {
		lo = max(lo, exact.Root(estimate, 0, bisections, func(z float64) float64 { return estimate - z - reach(z) }))
	}
	// Z − r(Z) = Z(1 − r(Z)/Z) rises where it is positive: above an end all is beyond reach.
	least := max(estimate, 0)
	beyond := func(z float64) float64 { return z - reach(z) - least }
	low, high := least, max(least+reach(0), 0x1p-1000)
	for beyond(high) <= 0 {
		if low, high = high, 2*high; high > 0x1p1000 {
			return lo, hi
		}
	}
	high = exact.Root(low, high, bisections, beyond)
	for range bisections { // where the estimate is negative: each step stays above all of reach
		high = max(0, min(high, estimate+reach(high)))
	}
	return lo, max(lo, min(hi, high))
}

const bisections = 50

// innerReach returns a bound on |⟨Sx + φ, Sy + ψ⟩ − ⟨x, y⟩| that fails with probability at most
// miss, for ‖x‖² ≤ xx and ‖y‖² ≤ yy.
func (s spread) innerReach(a, b disturbance, xx, yy, miss float64) float64 {
	root := math.Sqrt(xx) * math.Sqrt(yy)
	r := math.Sqrt(s.inner(a, b, xx, yy, root, 0) / miss)
	if a.input != (cumulants{}) || b.input != (cumulants{}) {
		return r
	}
	transform := math.Sqrt(s.inner(disturbance{}, disturbance{}, xx, yy, root, 0) / miss)
	noise := math.Sqrt(math.Sqrt(s.productFourth(a, b, xx, yy) / miss))
	for _, share := range shares {
		r = min(r, transform/math.Sqrt(share)+noise/math.Sqrt(math.Sqrt(1-share)))
	}
	return r
}

// productFourth returns a bound on the fourth moment of what the noise φ, ψ of the rows does to
// ⟨Sx, Sy⟩: of the sum over the rows x, y of xψ + yφ + φψ.
func (s spread) productFourth(a, b disturbance, xx, yy float64) float64 {
	m, n, t := a.output, b.output, 1+s.square()
	linear, both := n.two*xx+m.two*yy, s.rows*m.two*n.two
	heavy := max(n.four, 0)*xx*xx + max(m.four, 0)*yy*yy
	mixed := m.two*(n.fourth()-n.two*n.two)*xx + n.two*(m.fourth()-m.two*m.two)*yy
	own := s.rows * max(m.fourth()*n.fourth()-3*m.two*m.two*n.two*n.two, 0)
	return margin * (t*heavy + 3*(t*linear*linear+2*linear*both+both*both) + 6*mixed + own)
}
