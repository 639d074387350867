package groupby

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/rounding"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// unit is S: weights, counts and values are integers in steps of 1/S.
const unit = 1 << 20

// othersShare is the fraction of the budget that Params.Others takes.
const othersShare = 0.02

// calibration holds what a release draws from: standard deviations in steps, 0 for what is not part
// of the release.
type calibration struct {
	kernel rounding.Quadratic // of the keys
	count  float64            // of a count, and of the shortfall
	value  float64            // of a sum of values
	others float64            // of what is not shown
	weight float64            // of the keys
	beside float64            // Σ(Δ/σ)² of all but the keys
}

// sizes returns the calibration without the kernel.
//
// Let 1/σ² be the budget: σ is the noise at which a Gaussian mechanism of ℓ₂ sensitivity 1 (√2
// under Replace) is (ε, 0.998·δ)-private. Each part of the release takes its share f of it.
//
//	part     what a user moves                            ‖·‖₂ ≤    noise
//	keys     a weight ⌊S/√l⌋ in min(l, m) keys            1         σ/√f
//	counts   x = ⌊S·min(1, C/√l)⌋ in l keys, and 1 − x    √(C²+1)   σ·√(C²+1)/√f
//	         in the shortfall, if l > 0
//	values   x·z, |z| ≤ 1, rounded towards 0              C         σ·C/√f, ·√2 under Replace
//	others   ⌊S·min(1, B/l)⌋ in each hidden key           B         σ·B/√f
//
// Under Replace the difference of two such vectors has norm ≤ √2 times the bound where all
// coordinates are ≥ 0, 2 times for values, and 1 times for others, which are sums in [0, B]. So
// Σ(Δ/σ)² is at most 1/σ², or 2/σ².
func (p Params) sizes() (c calibration, err error) {
	if err = p.validate(); err != nil {
		return c, err
	}
	const up = 1 + 0x1p-40
	norm, sensitivity := 1.0, 1.0
	if p.Relation == budget.Replace {
		norm, sensitivity = 2, math.Sqrt2*up
	}
	sigma, err := noise.GaussianSigma(p.Epsilon, p.Delta*0.998, sensitivity)
	if err != nil {
		return c, err
	}
	keys := 1.0
	if !p.KeysOnly {
		share, clip := p.CountShare, float64(p.Clip)
		keys -= share
		if p.values() {
			share /= 2
			c.value = sigma * math.Sqrt(norm*clip/share) * up
			c.beside += norm * norm * clip / (c.value * c.value)
		}
		c.count = sigma * math.Sqrt((clip+1)/share) * up
		c.beside += norm * (clip + 1) / (c.count * c.count)
	}
	if p.Others {
		keys -= othersShare
		c.others = sigma * othersLimit / math.Sqrt(othersShare) * up
		c.beside += othersLimit * othersLimit / (c.others * c.others)
	}
	c.weight, c.beside = sigma/math.Sqrt(keys)*up*unit, c.beside*up
	c.count, c.value, c.others = c.count*unit, c.value*unit, c.others*unit
	if !(max(c.weight, c.count, c.value, c.others) <= 0x1p46) { // what noise.Gaussian draws at step 1
		return c, bad("Epsilon", p.Epsilon, "an ε, a δ, a Clip and a CountShare with less noise")
	}
	return c, nil
}

// calibrate returns the whole calibration of normal Params.
func (p Params) calibrate() (calibration, error) {
	c, err := p.sizes()
	if err != nil {
		return c, err
	}
	var ok bool
	c.kernel, ok = rounding.ForUsers(c.weight, p.Epsilon, p.Delta, p.users(c))
	if !ok {
		return c, bad("Epsilon", p.Epsilon, "an ε and a δ for which a threshold is found")
	}
	return c, nil
}

// users says to the kernel how neighbours differ.
func (p Params) users(c calibration) rounding.Users {
	return rounding.Users{Unit: unit, MaxKeys: p.MaxKeys, Replace: p.Relation == budget.Replace, Beside: c.beside}
}
