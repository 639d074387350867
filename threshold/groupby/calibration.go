package groupby

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/loss"
	"github.com/dpsketch/dpsketch/internal/memo"
	"github.com/dpsketch/dpsketch/internal/rounding"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/dpsketch/dpsketch/threshold/groupby/internal/ranges"
)

// unit is S: weights, counts and values are integers in steps of 1/S.
const unit = 1 << 20

// FullKeys and CountShare in one pass where nothing is said, from formulas, whatever the data.
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
	clips     []clip             // what FullKeys can be, from the largest down; none with KeysOnly
	sigma     float64            // σ, in users
	share     float64            // of 1/σ² for the counts, as far as they are no weights
	// of 1/σ² for the sums of values
	valueShare float64
	shortfall  float64
	others     float64   // of what is not shown
	spread     spread    // of quantiles
	squaredMu  float64   // Σ(Δ/σ)² of all but the keys
	keys       loss.Keys // of all, where keys are found: how a release composes with others
	epsilon    float64   // ε of one release, at its part of δ
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
	c.weight, c.discovery, c.shortfall, c.others = c.weight*unit, c.discovery*unit, c.shortfall*unit, c.others*unit
	counts := c.rest(c.noisiest())
	if len(c.clips) > 1 {
		counts = max(counts, c.question(0)*unit)
	}
	values := c.value(c.noisiest())
	if p.Values {
		values = ranges.Largest(values / unit)
	}
	if !(max(c.weight, c.discovery, counts, c.shortfall, values, c.others, c.spread.weigh) <= 0x1p46) {
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
//	Values     as much as noise of ratio √f/σ: see internal/ranges
//	others     ⌊S·min(1, 32/l)⌋ in each hidden key of l  32              σ·32/√f
//	quantiles  as much as noise of ratio √f/σ: see spreads
//
// A count is the sum of d and κ times that of w, which is released of every shown key: √k·x is
// between 1 and C, so with κ = (C + 1)/2, in sixteenths, the rests are half as long as the counts.
// C is the root of the most keys if that is less. B is computed as it is in integers.
//
// Under Replace the difference of two users' weights has ‖·‖₂² = 2 − 2p, p the product of the two
// vectors, and that of their rests is at most 2B² + 2p·B² where rests are multiples of weights. So
// 2B² is what counts for the rests as long as their share is no larger than that of the keys: hence
// CountShare is at most ½, of which the shortfall takes more than Others. The values' norm doubles,
// and the two sums in [0, S] and [0, 32·S] differ by no more than one of them.
//
// With two passes there are two weights, and the keys' share is divided. A count is a rest alone,
// κ = 0: x in each of the keys of a user that are shown, however many, so B = C.
func (p Params) foundSizes() (c calibration, err error) {
	const up = 1 + 0x1p-40
	norm, sensitivity := 1.0, 1.0
	if p.Relation == budget.Replace {
		norm, sensitivity = 2, math.Sqrt2*up
	}
	part := 0.998 // of δ; the rest is for keys
	if p.Releases > 1 {
		part = 0.5
	}
	sigma, err := p.gaussian(part, sensitivity)
	if err != nil {
		return c, err
	}
	if p.Passes == 2 && p.Releases == 1 {
		sigma *= adaptiveNoise
	}
	c.sigma = sigma
	keys := 1.0
	if !p.KeysOnly {
		c.shortfall = sigma / math.Sqrt(shortfallShare*p.CountShare) * up
		c.squaredMu += 1 / (c.shortfall * c.shortfall)
		keys -= shortfallShare * p.CountShare
		c.share = (1 - shortfallShare) * p.CountShare
	}
	if p.values() {
		c.valueShare = valuesShare * c.share
		c.squaredMu += norm * c.valueShare / (sigma * sigma) * up
		keys -= c.valueShare
		c.share -= c.valueShare
	}
	if p.QuantileShare > 0 {
		mu := math.Sqrt(p.QuantileShare) / sigma
		c.spread = p.spreads(mu, 0)
		c.squaredMu += mu * mu
		keys -= p.QuantileShare
	}
	if p.Others {
		c.others = sigma * othersLimit / math.Sqrt(othersShare) * up
		c.squaredMu += othersLimit * othersLimit / (c.others * c.others)
		keys -= othersShare
	}
	c.clips = p.clips(keys-c.share, c.share)
	if len(c.clips) == 1 && c.clips[0].length == 0 { // counts are weights alone
		c.share = 0
	}
	keys -= c.share
	c.squaredMu += norm * c.share / (sigma * sigma) * up
	if p.Passes == 2 {
		c.discovery = sigma / math.Sqrt(firstShare*keys) * up
		keys *= 1 - firstShare
	}
	c.weight = sigma / math.Sqrt(keys) * up
	c.squaredMu *= up
	return c, nil
}

// listedSizes returns the calibration for a list.
//
// A user with l ≤ n listed keys moves, in units of S, with C² = min(FullKeys, n), x = 1 for l ≤ C²:
//
//	part       by                      ‖·‖₂² ≤    ‖·‖₁ ≤    share
//	counts     x in each               C²         C²        what is left
//	values     x·z, |z| ≤ 1            C²         C²        ⅔ of what is left
//	shortfall  1 − x                   1          1         1/16; 0 if C² = n < 4096
//	others     min(hidden keys, 32)    32²        32        1/50
//	quantiles  see spreads                                  QuantileShare
//
// Under Replace two users' counts differ by min(2·FullKeys, n) in both norms, as x is in [0, 1],
// and values by 4C² and 2C²; the two numbers in [0, 1] and [0, 32] differ by no more than one of
// them. Normal noise is for x = √(C²/l) beyond C², and has σ·‖·‖₂/√f at a share f of 1/σ²; discrete
// Laplace noise, where δ is 0, is for x = C²/l, with the scale ‖·‖₁/(f·ε). In integers the bounds
// hold as well, as all is rounded towards 0.
func (p Params) listedSizes() (c calibration, err error) {
	const up = 1 + 0x1p-40
	sides := 1.0
	if p.Relation == budget.Replace {
		sides = 2
	}
	epsilon := p.Epsilon / float64(p.Releases) * (1 - 0x1p-50) // of one release, without δ
	var sigma float64
	if !p.pure() {
		if sigma, err = p.gaussian(1, up); err != nil {
			return c, err
		}
	}
	scale := func(share, norm2, norm1 float64) float64 {
		if p.pure() {
			return norm1 / (share * epsilon) * up
		}
		s := sigma * norm2 / math.Sqrt(share) * up
		c.squaredMu += norm2 * norm2 / (s * s)
		return s
	}
	left := 1.0
	if p.shortens() {
		left -= shortfallShare
		c.shortfall = scale(shortfallShare, 1, 1)
	}
	if p.Others {
		left -= othersShare
		c.others = scale(othersShare, othersLimit, othersLimit)
	}
	if p.QuantileShare > 0 {
		left -= p.QuantileShare
		mu := 0.0
		if !p.pure() {
			mu = math.Sqrt(p.QuantileShare) / sigma
		}
		c.spread = p.spreads(mu, p.QuantileShare*epsilon)
		c.squaredMu += mu * mu
	}
	c.sigma, c.share = sigma, left
	c.squaredMu += left / (sigma * sigma)
	if p.values() {
		c.valueShare = valuesShare * left
		c.share -= c.valueShare
	}
	if p.pure() {
		c.sigma, c.share, c.valueShare, c.squaredMu = 1/epsilon*up, c.share*c.share, c.valueShare*c.valueShare, 0
	}
	for _, full := range p.fulls() {
		counts := float64(min(full, p.most))
		if p.Relation == budget.Replace {
			counts = 2 * float64(full)
			if p.most < mostKeys { // else the list may be longer
				counts = min(counts, float64(p.most))
			}
		}
		values := float64(min(full, p.most))
		if !p.pure() {
			counts, values = math.Sqrt(counts), math.Sqrt(values)
		}
		c.clips = append(c.clips, clip{full: full, length: counts * up, values: sides * values})
	}
	c.squaredMu *= up
	return c, nil
}

// clips returns the choices of FullKeys, where keys and counts have these shares.
func (p Params) clips(keys, counts float64) (clips []clip) {
	const up = 1 + 0x1p-40
	for _, full := range p.fulls() {
		c := clip{full: full, values: p.longestValues(full)}
		if p.Passes == 2 {
			c.length = c.root() * up
		} else {
			c.mix = p.mixture(full, keys, counts)
			c.length = p.longest(c)
		}
		clips = append(clips, c)
	}
	return clips
}

// longestValues returns the largest ℓ₂ norm of what a user gives to sums of values, in units of S,
// and √2 times that under Replace, where it doubles and σ is for √2.
func (p Params) longestValues(full int) float64 {
	squared := float64(full)
	switch {
	case p.Values:
		squared = 1
	case p.Passes == 1:
		squared = min(squared, float64(p.most))
	}
	if p.Relation == budget.Replace {
		squared *= 2
	}
	return math.Sqrt(squared)
}

// mixture returns fine·κ: half of C + 1, or, where the counts have their share whatever C is, what
// makes the noise least with three quarters of it.
func (p Params) mixture(full int, keys, counts float64) int64 {
	c := math.Sqrt(float64(min(full, p.most)))
	best := int64(math.Round(fine * (c + 1) / 2))
	if p.FullKeys != AutoFullKeys {
		return best
	}
	variance := func(mix int64) float64 {
		kappa := float64(mix) / fine
		rest := max(math.Abs(c-kappa), math.Abs(kappa-1))
		return kappa*kappa/keys + rest*rest/(0.75*counts)
	}
	for best > 0 && variance(best-1) < variance(best) {
		best--
	}
	return best
}

// longest returns the largest ℓ₂ norm of a user's rests, in units of S and exactly except the last
// roundings, which go up.
func (p Params) longest(c clip) float64 {
	const up = 1 + 0x1p-40
	squared := int64(0)
	for k := 1; k <= p.most; k++ {
		d := rest(clipped(k, c.full), weight(k), c.mix)
		squared = max(squared, int64(k)*d*d) // at most (16·32·S)²
	}
	return math.Sqrt(float64(squared)) / (fine * unit) * up
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
	ok := false
	u := p.users(c)
	switch both := (rounding.TwoPasses{}); {
	case p.Releases > 1:
		both, ok = rounding.ForReleases(c.discovery, c.weight, float64(p.Releases), p.Epsilon, p.Delta, u)
		c.first, c.kernel = both.First, both.Second
	case p.Passes == 2:
		both, ok = rounding.ForTwoPasses(c.discovery, c.weight, p.Epsilon, p.Delta, u)
		c.first, c.kernel = both.First, both.Second
	default:
		c.kernel, ok = rounding.ForUsers(c.weight, p.Epsilon, p.Delta, u)
	}
	if !ok {
		return c, bad("Epsilon", p.Epsilon, "an ε and a δ for which a threshold is found")
	}
	if c.keys = c.kernel.Keys(u); p.Passes == 2 {
		c.keys = rounding.TwoPasses{First: c.first, Second: c.kernel}.Keys(u)
	}
	c.epsilon = p.Epsilon
	if p.Releases > 1 {
		// A bound that is worse than what keys give, and so is not taken.
		far := 4 * p.Epsilon
		one := budget.ApproxDP(far, p.delta(), budget.User(0, p.Relation)).WithKeys(c.keys)
		if c.epsilon = one.EpsilonAt(p.delta()) * (1 + 0x1p-40); !(c.epsilon < far) {
			return c, bad("Releases", p.Releases, "a number for which a threshold is found")
		}
	}
	return c, nil
}

// delta returns δ of one release, rounded down.
func (p Params) delta() float64 {
	if p.Releases == 1 {
		return p.Delta
	}
	return p.Delta / float64(p.Releases) * (1 - 0x1p-50)
}

// gaussian returns σ of which all releases together are (ε, part·δ)-private, without keys.
func (p Params) gaussian(part, sensitivity float64) (float64, error) {
	sigma, err := noise.GaussianSigma(p.Epsilon, p.Delta*part, sensitivity)
	return sigma * math.Sqrt(float64(p.Releases)) * (1 + 0x1p-50), err
}

// users says to the kernel how neighbours differ.
func (p Params) users(c calibration) rounding.Users {
	return rounding.Users{Unit: unit, MaxKeys: p.most, Replace: p.Relation == budget.Replace, Beside: c.squaredMu}
}
