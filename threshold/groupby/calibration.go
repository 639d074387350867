package groupby

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/memo"
	"github.com/dpsketch/dpsketch/internal/rounding"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// unit is S: weights, counts and values are integers in steps of 1/S.
const unit = 1 << 20

// What Clip and CountShare are in one pass where nothing is said, from formulas, whatever the data.
//
// A count has the variance σ²·(B²/f + κ²/(1−f)) at a share f, with B and κ as below: least at f =
// (C − 1)/(2C), where it is σ²C², while the threshold of the keys grows as 1/√(1−f). At f = ⅓ the
// noise is within 2 % of the least up to C² = 36, and the threshold .87 of that at ½.
//
// C² = 32 is right for a sum of its own over the shown keys, by half of the budget: its noise is
// √2·σC (the 99th percentile of the shown keys of a user is 19 to 29 in the four data sets that
// papers take; an error grows as C beyond the best C, but below it as what is clipped, so err
// upwards). The noise here is 1.02·σC, so C² = 36 has .77 of the noise and clips less. It has to
// clip less: in one pass a user's hidden keys count as well. TestDefaults has these figures.
const (
	defaultFull  = 36
	defaultShare = 1. / 3
)

// Fractions of the budget: what Params.Others takes, and of CountShare what the shortfall takes,
// and of what is then left what the sums of values take.
const (
	othersShare    = 1. / 50
	shortfallShare = 1. / 16
	valuesShare    = 2. / 3
)

// Of two passes the first takes this fraction of what the keys take, and both together have this
// factor more noise: the second may depend on the first, which the proof pays for.
const (
	firstShare    = 1. / 8
	adaptiveNoise = 1.02
)

// calibration holds what a release draws from: standard deviations in steps, 0 for what is not part
// of the release or has no noise.
type calibration struct {
	kernel    rounding.Quadratic // of the keys, in the last pass
	weight    float64            // of the keys, in the last pass
	first     rounding.Quadratic // the first of two passes
	discovery float64            // of the keys, in the first of two passes
	mix       int64              // a count is (rests + mix·weights)/fine
	gives     []gift             // what a user of k keys that count gives, for k up to the most
	rest      float64            // of the rests, in 1/fine of a step
	shortfall float64
	value     float64 // of a sum of values
	others    float64 // of what is not shown
	beside    float64 // Σ(Δ/σ)² of all but the keys
}

// sizes returns the calibration without the kernel.
func (p Params) sizes() (c calibration, err error) {
	if err = p.validate(); err != nil {
		return c, err
	}
	if p.listed {
		c, err = p.listedSizes()
	} else {
		c, err = p.foundSizes()
	}
	if err != nil {
		return c, err
	}
	c.weight, c.discovery, c.shortfall, c.value, c.others = c.weight*unit, c.discovery*unit, c.shortfall*unit, c.value*unit, c.others*unit
	c.rest *= fine * unit
	if !(max(c.weight, c.discovery, c.rest, c.shortfall, c.value, c.others) <= 0x1p46) {
		// what package noise draws at step 1
		return c, bad("Epsilon", p.Epsilon, "an ε, a δ, a FullKeys and a CountShare with less noise")
	}
	return c, nil
}

// foundSizes returns the calibration for keys that have to be found, without the kernel and in
// units of S.
//
// Let 1/σ² be the budget: σ is the noise at which a Gaussian mechanism of ℓ₂ sensitivity 1 (√2
// under Replace) is (ε, 0.998·δ)-private. Each part of the release takes its share f of it. A user
// with k keys that count, k ≤ m, moves
//
//	part       by                                        ‖·‖₂ ≤          noise
//	keys       w = ⌊S/√k⌋ in each                        1               σ/√f
//	rests      d = x − κ·w, x = ⌊S·min(1, C/√k)⌋         B = (C − 1)/2   σ·B/√f
//	shortfall  1 − x, or 1 if he has more than m keys    1               σ/√f
//	values     x·z, |z| ≤ 1, rounded towards 0           C               σ·C/√f, ·√2 under Replace
//	others     ⌊S·min(1, 32/l)⌋ in each hidden key of l  32              σ·32/√f
//
// A count is the sum of d and κ times that of w, which is released of every shown key: √k·x is
// between 1 and C, so with κ = (C + 1)/2, in sixteenths, the rests are half as long as the counts.
// C is the root of the most keys if that is less. B is computed as it is in integers.
//
// Under Replace the difference of two users' weights has ‖·‖₂² = 2 − 2p, p the product of the two
// vectors, and that of their rests is at most 2B² + 2p·B² where rests are multiples of weights. So
// 2B² is what counts for the rests as long as their share is no larger than that of the keys, and
// what is above counts twice more. The values' norm doubles, and the two sums in [0, S] and [0,
// 32·S] differ by no more than one of them.
//
// With two passes there are two weights, and the keys' share is divided. A count is a rest alone,
// κ = 0: x in each of the keys of a user that are shown, however many, so B = C.
func (p Params) foundSizes() (c calibration, err error) {
	const up = 1 + 0x1p-40
	norm, sensitivity := 1.0, 1.0
	if p.Relation == budget.Replace {
		norm, sensitivity = 2, math.Sqrt2*up
	}
	sigma, err := noise.GaussianSigma(p.Epsilon, p.Delta*0.998, sensitivity)
	if err != nil {
		return c, err
	}
	if p.Passes == 2 {
		sigma *= adaptiveNoise
	}
	keys, share := 1.0, 0.0
	length, ratio := 0.0, 0.0
	c.mix = p.mixture()
	c.gives = p.gifts(c.mix)
	if !p.KeysOnly {
		length, ratio = longest(c.gives)
		if p.Passes == 2 {
			length, ratio = math.Sqrt(float64(p.FullKeys))*up, 0
		}
		c.shortfall = sigma / math.Sqrt(shortfallShare*p.CountShare) * up
		c.beside += 1 / (c.shortfall * c.shortfall)
		keys -= shortfallShare * p.CountShare
		share = (1 - shortfallShare) * p.CountShare
	}
	if p.values() {
		squared := float64(p.FullKeys)
		if p.Passes == 1 {
			squared = min(squared, float64(p.most))
		}
		c.value = sigma * math.Sqrt(norm*squared/(valuesShare*share)) * up
		c.beside += norm * norm * squared / (c.value * c.value)
		keys -= valuesShare * share
		share -= valuesShare * share
	}
	if p.Others {
		c.others = sigma * othersLimit / math.Sqrt(othersShare) * up
		c.beside += othersLimit * othersLimit / (c.others * c.others)
		keys -= othersShare
	}
	if length > 0 {
		keys -= share
		c.rest = sigma * length / math.Sqrt(share) * up
		c.beside += norm * length * length / (c.rest * c.rest)
	}
	if p.Passes == 2 {
		c.discovery = sigma / math.Sqrt(firstShare*keys) * up
		keys *= 1 - firstShare
	}
	c.weight = sigma / math.Sqrt(keys) * up
	if c.rest > 0 && p.Relation == budget.Replace {
		above := ratio * c.weight / c.rest
		c.beside += 2 * max(0, above*above-1) / (c.weight * c.weight)
	}
	c.beside *= up
	return c, nil
}

// mixture returns fine·κ.
func (p Params) mixture() int64 {
	if p.Passes == 2 {
		return 0
	}
	return int64(math.Round(fine * (math.Sqrt(float64(min(p.FullKeys, p.most))) + 1) / 2))
}

// gift is what a user with k keys that count gives to each of them: weight, rest and count.
type gift struct{ weight, rest, count int64 }

// gifts returns those of one pass for k = 0, …, p.most.
func (p Params) gifts(mix int64) []gift {
	gifts := make([]gift, p.most+1)
	for k := 1; k <= p.most; k++ {
		g := gift{weight: weight(k)}
		if !p.KeysOnly {
			g.count = clipped(k, p.FullKeys)
			g.rest = rest(g.count, g.weight, mix)
		}
		gifts[k] = g
	}
	return gifts
}

// longest returns the largest ℓ₂ norm of a user's rests and the largest ratio of a rest and a
// weight, in units of S and exactly but for the last roundings, which go up.
func longest(gifts []gift) (norm, ratio float64) {
	const up = 1 + 0x1p-40
	squared := int64(0)
	for k := 1; k < len(gifts); k++ {
		d := gifts[k].rest
		squared = max(squared, int64(k)*d*d) // at most (16·32·S)²
		ratio = max(ratio, math.Abs(float64(d))/float64(gifts[k].weight)/fine)
	}
	return math.Sqrt(float64(squared)) / (fine * unit) * up, ratio * up
}

// calibrations are those that were made: that takes up to 50 ms.
var calibrations memo.Table[Params, calibration]

// calibrate returns the whole calibration of normal Params.
func (p Params) calibrate() (calibration, error) { return calibrations.Get(p, p.calibrateAnew) }

func (p Params) calibrateAnew() (calibration, error) {
	c, err := p.sizes()
	if err != nil || p.listed {
		return c, err
	}
	var ok bool
	if p.Passes == 2 {
		var both rounding.TwoPasses
		both, ok = rounding.ForTwoPasses(c.discovery, c.weight, p.Epsilon, p.Delta, p.users(c))
		c.first, c.kernel = both.First, both.Second
	} else {
		c.kernel, ok = rounding.ForUsers(c.weight, p.Epsilon, p.Delta, p.users(c))
	}
	if !ok {
		return c, bad("Epsilon", p.Epsilon, "an ε and a δ for which a threshold is found")
	}
	return c, nil
}

// users says to the kernel how neighbours differ.
func (p Params) users(c calibration) rounding.Users {
	return rounding.Users{Unit: unit, MaxKeys: p.most, Replace: p.Relation == budget.Replace, Beside: c.beside}
}
