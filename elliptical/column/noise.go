package column

import (
	"math"
	"math/big"

	"github.com/dpsketch/dpsketch/internal/calibrated"
	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/noise"
)

// law is a scheme with its noise. It is public.
type law struct {
	scheme
	gaussian bool
	noises   []drawn // of each coordinate
}

// drawn is the noise of one coordinate, in units.
type drawn struct {
	shift uint // a unit is 2^shift
	calibrated.Noise
}

const (
	maxScale     = 0x1p48 // of discrete noise, in units: it is drawn exactly up to 2⁵⁰
	maxRealScale = 0x1p45
)

// law calibrates the noise of valid Params for τ in {−h, …, h}.
//
// Where the noise is large a coordinate is released in units of 2^s: ⌊(y + 2^{s−1})/2^s⌋ of the
// exact sum y, and noise on that. Two integers that differ by d differ then by at most |d|/2^s + 1.
// So with r = reach/2^s, the sums of [scheme] become at most 1 + Σ 1/rᵢ, for Gaussian noise by the
// triangle inequality of ℓ₂ and √(Σ 1/rᵢ²) ≤ Σ 1/rᵢ: all reaches are taken so much larger, which is
// a factor of 1 + 2⁻¹⁷ at most. Where no coordinate is rounded the factor is 1.
//
// The noise is discrete under ε and ρ. For (ε, δ) it is that of the analytic Gaussian mechanism,
// rounded to whole units, which is rounding the noisy sum: the discrete one has up to twice its δ.
func (p Params) law(h int64) (law, error) {
	if p.learns() {
		return p.lawOf(h, sumShare)
	}
	return p.lawOf(h, share{1, 1})
}

// lawOf is law for a share of the budget.
func (p Params) lawOf(h int64, s share) (law, error) {
	l := law{scheme: p.scheme(h), gaussian: p.gaussian()}
	if s != (share{1, 1}) {
		p = p.spending(s)
	}
	one, err := p.drawn(1)
	if err != nil {
		return law{}, err
	}
	most, excess := maxScale, 0.0
	if p.Delta > 0 {
		most = maxRealScale
	}
	l.noises = make([]drawn, len(l.at))
	for i, c := range l.at {
		n := &l.noises[i]
		for float64(c.reach)*one.Scale > most*math.Ldexp(1, int(n.shift)) {
			n.shift++
		}
		if n.shift > 0 {
			excess += math.Ldexp(1, int(n.shift)) / float64(c.reach)
		}
	}
	for i, c := range l.at {
		shift := l.noises[i].shift
		r := math.Ldexp(float64(c.reach), -int(shift))
		if excess > 0 || c.reach >= 1<<53 {
			r *= (1 + excess) * exact.Up * exact.Up
		}
		if l.noises[i], err = p.drawn(r); err != nil {
			return law{}, err
		}
		l.noises[i].shift = shift
	}
	return l, nil
}

// drawn returns the noise for a reach in units.
func (p Params) drawn(reach float64) (n drawn, err error) {
	kind := calibrated.DiscreteLaplace
	switch {
	case p.Rho > 0:
		kind = calibrated.DiscreteGaussian
	case p.Delta > 0:
		kind = calibrated.Gaussian
	}
	n.Noise, err = calibrated.Calibrate(kind, p.Epsilon, p.Delta, p.Rho, reach)
	return n, err
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
func (l law) release(t *totals) []exact.Int128 {
	var src noise.Source
	values := make([]exact.Int128, len(l.at))
	for i := range values {
		y := l.exact(t, i)
		values[i] = exact.Int128OfBig(y.Add(y, big.NewInt(l.noises[i].Sample(&src))))
	}
	return values
}
