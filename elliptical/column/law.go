package column

import (
	"math"
	"math/big"

	"github.com/dpsketch/dpsketch/internal/round"
	"github.com/dpsketch/dpsketch/internal/wide"
	"github.com/dpsketch/dpsketch/noise"
)

// law is a scheme with its noise. It is public.
type law struct {
	scheme
	gaussian bool
	noises   []drawn // of each coordinate
}

// drawn is the noise of one coordinate.
type drawn struct {
	shift   uint // a unit is 2^shift
	laplace noise.DiscreteLaplace
	normal  noise.DiscreteGaussian
	scale   float64 // in units: the Laplace scale, or σ
}

const maxScale = 0x1p48 // of the noise, in units: it is drawn exactly up to 2⁵⁰

// law calibrates the noise of valid Params for τ in {−h, …, h}.
//
// Where the noise is large a coordinate is released in units of 2^s: ⌊(y + 2^{s−1})/2^s⌋ of the
// exact sum y, and noise on that. Two integers that differ by d differ then by at most |d|/2^s + 1.
// So with r = reach/2^s, the sums of [scheme] become at most 1 + Σ 1/rᵢ, for zCDP by the triangle
// inequality of ℓ₂ and √(Σ 1/rᵢ²) ≤ Σ 1/rᵢ: all reaches are taken so much larger, which is a factor
// of 1 + 2⁻¹⁷ at most. Where no coordinate is rounded the factor is 1.
func (p Params) law(h int64) (law, error) {
	l := law{scheme: p.scheme(h), gaussian: p.gaussian()}
	loss := p.Epsilon
	if l.gaussian {
		loss = math.Sqrt(2 * p.rho())
	}
	excess := 0.0
	l.noises = make([]drawn, len(l.at))
	for i, c := range l.at {
		n := &l.noises[i]
		for float64(c.reach) > maxScale*loss*math.Ldexp(1, int(n.shift)) {
			n.shift++
		}
		if n.shift > 0 {
			excess += math.Ldexp(1, int(n.shift)) / float64(c.reach)
		}
	}
	for i, c := range l.at {
		n := &l.noises[i]
		r := math.Ldexp(float64(c.reach), -int(n.shift))
		if excess > 0 || c.reach >= 1<<53 {
			r *= (1 + excess) * round.Up * round.Up
		}
		var err error
		if l.gaussian {
			if n.scale, err = noise.GaussianSigmaZCDP(p.rho(), r); err == nil {
				n.normal, err = noise.NewDiscreteGaussian(n.scale)
			}
		} else if n.scale, err = noise.LaplaceScale(p.Epsilon, r); err == nil {
			n.laplace, err = noise.NewDiscreteLaplace(n.scale)
		}
		if err != nil {
			return law{}, err
		}
	}
	return l, nil
}

// sample draws the noise.
func (l law) sample(src *noise.Source, i int) int64 {
	if l.gaussian {
		return l.noises[i].normal.SampleInt(src)
	}
	return l.noises[i].laplace.SampleInt(src)
}

// exact returns coordinate i of the totals without noise, in units.
func (l law) exact(t *totals, i int) *big.Int {
	of := l.at[i].of
	y := new(big.Int).Mul(big.NewInt(of[0]), big.NewInt(t.rows))
	y.Add(y, new(big.Int).Mul(big.NewInt(of[1]), t.first.Big()))
	y.Add(y, new(big.Int).Mul(big.NewInt(of[2]), t.second.Big()))
	if s := l.noises[i].shift; s > 0 {
		y.Add(y, new(big.Int).Lsh(big.NewInt(1), s-1))
		y.Rsh(y, s) // downwards, also below 0
	}
	return y
}

// release returns the totals with noise: all that is ever seen of them.
func (l law) release(t *totals) []wide.Int {
	var src noise.Source
	values := make([]wide.Int, len(l.at))
	for i := range values {
		y := l.exact(t, i)
		values[i] = wide.OfBig(y.Add(y, big.NewInt(l.sample(&src, i))))
	}
	return values
}
