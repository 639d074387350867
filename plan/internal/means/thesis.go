package means

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/quantile"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// thesis fills in the steps of Algorithm 17 as sections 5.7 and 5.D instantiate it, where the
// Params leave them open: 25 % of ρ for the centre and the scales, of these a quarter for the
// centre; a quarter of the rest for C; all else for the sum. Quantiles are uniform over all
// possible values. Scales come from Algorithm 18, or Means if NonNegative, and are regularised;
// there the origin is the centre, and no variance is below d^{−2/5}. Unlike in the script behind
// the published tables, the quantiles spend what they are said to spend.
func (p Params) thesis() Params {
	s := &p.Steps
	s.Base, s.Undivided, s.Unshrunk, s.Regularized = quantile.Uniform, true, true, true
	if s.Scaling == AutoScaling {
		s.Scaling = Scaled
	}
	if s.Spread == AutoSpread {
		switch {
		case p.NonNegative:
			s.Spread = Means
		case p.Relation == budget.AddRemove:
			s.Spread = Direct
		default:
			s.Spread = Pairs
		}
	}
	if p.NonNegative && s.Floor == 0 {
		s.Floor = p.Max * math.Pow(float64(p.Dim), -0.2)
	}
	if p.Shares == (Shares{}) {
		p.Shares = Shares{Centre: 0.25 * 0.25, Scale: 0.75 * 0.25, Clip: 0.75 * 0.25}
		if s.Centre == Origin {
			p.Shares.Centre, p.Shares.Scale = 0, 0.25
		}
	}
	return p.noNegativeZeros()
}

// thesisDepth returns the depth of line 5 of Algorithm 17 with Lemma 5.4: k = √n +
// √(T·ln(T/0.1)/(2ρ₂)), T = ln 2M, at most half of the rows.
func (p Params) thesisDepth(n float64) depth {
	rho := p.Shares.Clip * p.Rho
	if rho == 0 {
		rho = leastDepthShare * p.Rho
	}
	t := max(math.Log(2*p.Max), 1)
	return depth{rows: min(math.Sqrt(n)+math.Sqrt(t*math.Log(t/0.1)/(2*rho)), n/2), rho: rho}
}
