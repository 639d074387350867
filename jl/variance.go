package jl

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/calibrated"
	"github.com/dpsketch/dpsketch/internal/hadamard"
)

// cumulants are those of one variable of mean 0, all odd ones being 0: those of independent
// variables add up.
type cumulants struct{ two, four, six, eight float64 }

func (a cumulants) plus(b cumulants) cumulants {
	return cumulants{a.two + b.two, a.four + b.four, a.six + b.six, a.eight + b.eight}
}

// fourth returns E X⁴.
func (a cumulants) fourth() float64 { return a.four + 3*a.two*a.two }

// cumulantsOf returns those of noise, in units of which a step has unit. Normal noise of σ ≥ 2⁹
// steps has those of N + U, U uniform on [−½, ½], up to e^{−2π²σ²}.
func cumulantsOf(n calibrated.Noise, unit float64) cumulants {
	sigma := n.Steps()
	c := cumulants{sigma*sigma + 1.0/12, -1.0 / 120, 1.0 / 252, -1.0 / 240}
	if n.Kind != calibrated.Gaussian {
		m := n.Moments()
		v := m[0] * m[0]
		c = cumulants{two: m[0], four: m[1] - 3*v}
		c.six = m[2] - 15*c.four*m[0] - 15*v*m[0]
		c.eight = m[3] - 28*c.six*m[0] - 35*c.four*c.four - 210*c.four*v - 105*v*v
	}
	v := unit * unit
	return cumulants{c.two * v, c.four * v * v, c.six * v * v * v, c.eight * v * v * v * v}
}

// disturbance is the noise of a sketch or of a sum or difference of sketches, by its cumulants, in
// the units of the data and of the normalised sketch: on each coordinate of the input and on each
// row of the output.
type disturbance struct{ input, output cumulants }

func (a disturbance) plus(b disturbance) disturbance {
	return disturbance{a.input.plus(b.input), a.output.plus(b.output)}
}

// noiseOf returns the disturbance of one sketch, whose noise is on the input or not.
func (p Params) noiseOf(n calibrated.Noise, input bool) disturbance {
	if input {
		return disturbance{input: cumulantsOf(n, n.Step)}
	}
	return disturbance{output: cumulantsOf(n, n.Step*p.factor())}
}

// factor returns c, where S = c·A.
func (p Params) factor() float64 {
	k := float64(p.Rows)
	switch p.Transform {
	case SJLT:
		k = float64(p.sparsity())
	case FJLT:
		k *= float64(hadamard.Size(p.Dim)) * p.density() * normalSecond
	case Normal:
		k *= normalSecond
	}
	return 1 / math.Sqrt(k)
}

// spread holds the numbers of the variance of a transform: Var⟨Sx,
// Sy⟩ = plain·X·Y + crossed·t² + aligned·Q with X = ‖x‖², Y = ‖y‖², t = ⟨x,y⟩, Q = Σx²y². The
// theorems stand with the transforms.
type spread struct {
	plain, crossed, aligned float64
	rows, dim               float64
}

func (p Params) spread() spread {
	k := float64(p.Rows)
	s := spread{1 / k, 1 / k, -2 / k, k, float64(p.Dim)}
	switch p.Transform {
	case SRHT:
		u, f := float64(hadamard.Size(p.Dim)), 0.0
		if u > 1 {
			f = (u - k) / (u - 1)
		}
		s.plain, s.crossed, s.aligned = f/k, f/k, -2*f/k
	case FJLT:
		excess := (normalFourth/(normalSecond*normalSecond)/p.density() - 3) / float64(hadamard.Size(p.Dim))
		s.plain, s.crossed, s.aligned = (1+excess)/k, (1+2*excess)/k, -2*excess/k
	case Normal:
		s.aligned = normalExcess / k
	}
	return s
}

// inner returns Var⟨S(x+η) + φ, S(y+ζ) + ψ⟩ for the noise a of the one and b of the other. With
// α = E η², β = E ζ²: ⟨x+η, y+ζ⟩ has mean t and variance V = βX + αY + Dim·αβ, E‖x+η‖² = X + Dim·α,
// E Σ(x+η)²(y+ζ)² = Q + V, and what φ and ψ add is uncorrelated.
func (s spread) inner(a, b disturbance, xx, yy, xy, aligned float64) float64 {
	alpha, beta := a.input.two, b.input.two
	v := beta*xx + alpha*yy + s.dim*alpha*beta
	ex, ey := xx+s.dim*alpha, yy+s.dim*beta
	return s.plain*ex*ey + s.crossed*(xy*xy+v) + s.aligned*(aligned+v) + v +
		b.output.two*ex + a.output.two*ey + s.rows*a.output.two*b.output.two
}

// distance returns Var(‖S(z+η) + φ‖² − corrections) for Z = ‖z‖₂² and F = ‖z‖₄⁴. With the cumulants
// κ of η: ‖z+η‖² has mean Z + Dim·κ₂ and variance V = 4κ₂Z + Dim·(κ₄ + 2κ₂²), and
// E‖z+η‖₄⁴ = F + 6κ₂Z + Dim·E η⁴. Then φ adds 4·E φ²·E‖z+η‖² + k·Var φ² (Lemma 4.3 of the thesis,
// with both parties' moments).
func (s spread) distance(n disturbance, z, fourth float64) float64 {
	q := s.quadratic(n)
	return (q.a*z+q.b)*z + q.c + s.aligned*fourth - max(s.aligned, 0)*z*z
}

// quadratic is aZ² + bZ + c.
type quadratic struct{ a, b, c float64 }

// quadratic returns the variance at F = 0 as a function of Z. It is an upper bound for every F, as
// F ≤ Z², and aligned ≤ 0 except for a dense FJLT, where it is next to 0 and counted in full.
func (s spread) quadratic(n disturbance) quadratic {
	a, in, out := s.plain+s.crossed+max(s.aligned, 0), n.input, n.output
	v := s.dim * (in.four + 2*in.two*in.two)
	mean := s.dim * in.two
	return quadratic{
		a: a,
		b: a*(2*mean+4*in.two) + s.aligned*6*in.two + 4*in.two + 4*out.two,
		c: a*(mean*mean+v) + s.aligned*s.dim*in.fourth() + v + 4*out.two*mean + s.rows*(out.four+2*out.two*out.two),
	}
}

// correction returns what the noise adds to the mean of the squared length: Dim·E η² + k·E φ².
func (s spread) correction(n disturbance) float64 { return s.dim*n.input.two + s.rows*n.output.two }

// interval returns the numbers z ≥ 0 with (estimate − z)² ≤ reach²·(az² + bz + c), or the least
// interval that holds them.
func (q quadratic) interval(estimate, reach float64) (lo, hi float64) {
	r := reach * reach
	a, b, c := 1-r*q.a, -2*estimate-r*q.b, estimate*estimate-r*q.c // az² + bz + c ≤ 0
	root := math.Sqrt(max(b*b-4*a*c, 0))
	switch {
	case a > 0:
		// the roots by the formula that does not cancel
		if b <= 0 {
			hi = (-b + root) / (2 * a)
			if hi > 0 {
				lo = min(c/(a*hi), hi)
			}
		} else {
			hi = -2 * c / (b + root)
		}
		return max(lo, 0), max(hi, 0)
	case c <= 0:
		return 0, math.Inf(1)
	case b >= 0 && a == 0:
		return 0, math.Inf(1)
	}
	// at 0 it is positive; from its first positive root on it is not
	return 2 * c / (-b + root), math.Inf(1)
}
