package groupby

import (
	"math"
	"sync"

	"github.com/dpsketch/dpsketch/internal/loss"
	"github.com/dpsketch/dpsketch/internal/memo"
	"github.com/dpsketch/dpsketch/internal/quantile"
	"github.com/dpsketch/dpsketch/internal/rounding"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/dpsketch/dpsketch/threshold/groupby/internal/ranges"
)

// Fractions: of the budget for Params.Others, of CountShare for the shortfall, and of the rest of
// CountShare for the sums of values.
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
	counts                       // and sums of values
	shortfall float64
	others    float64   // of what is not shown
	spread    spread    // of quantiles
	squaredMu float64   // Σ(Δ/σ)² of all but the keys
	keys      loss.Keys // of all, where keys are found: how a release composes with others
	epsilon   float64   // ε of one release, at its part of δ
}

// nameless returns the scale of the noise of the number of rows without a user.
//
// Each of these rows is a user of its own. Neighbours differ in such a row or in a user with a
// name, never in both: so this number takes nothing from the budget of the others, and noise of
// scale σ would do. A person may have several of these rows. With 8σ the whole budget covers eight,
// and somebody with a name who has one more row loses a sixty-fourth more of ρ.
func (c *calibration) nameless() float64 { return 8 * c.sigma }

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
		c.clips = append(c.clips, clip{full: full, pure: p.pure(), length: counts * up, values: sides * values})
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

// calibrations caches calibrations by their Params: each takes up to 50 ms.
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

// noises are what a reader needs of a calibration, in users: a function of the Params alone.
type noises struct {
	full                            int     // C²
	mix                             float64 // κ
	count, shortfall, value, others float64 // standard deviations
	nameless                        float64 // likewise, in rows
	weight                          float64 // the weights' part of count's, κσ
	lift, escape                    float64 // κR at most, and how likely a lifted key is shown
	spread                          spread
	levels, ranks                   []float64 // and their mean errors in rank
	scale                           scale
}

// noises returns what a reader needs.
//
// Laplace noise has √2 times its scale as standard deviation.
//
// R is at most 1.6 times σ/√(2·ln(1/δ)), where rounding.ForUsers stops. A key below R is shown with
// probability η at most, and η/R² ≤ δ is part of what is proved of a kernel.
func (p Params) noises(c calibration, at choice) (n noises) {
	scale := 1. / unit
	if p.pure() {
		scale *= math.Sqrt2
	}
	n = noises{count: scale * c.rest(at) / fine, shortfall: scale * c.shortfall, value: scale * c.value(at), others: scale * c.others, nameless: scale * unit * c.nameless()}
	if !p.KeysOnly {
		n.full, n.mix = c.clips[at.clip].full, float64(c.clips[at.clip].mix)/fine
	}
	if !p.pure() {
		sigma := c.weight / unit
		from := 1.6 * sigma / math.Sqrt(-2*math.Log(p.Delta))
		n.weight, n.lift, n.escape = n.mix*sigma, n.mix*from, p.Delta*max(from*from, 1)
		n.count = math.Hypot(n.count, n.weight)
	}
	if p.Values {
		n.value = ranges.StdDev(c.value(at) / unit)
	}
	if p.Levels[0] != 0 {
		n.spread, n.levels, n.ranks, n.scale = c.spread, p.levels(), p.ranks(c.spread), p.scale()
	}
	return n
}

// users returns a count from the numbers that are released of it.
func (n *noises) users(rest, weight int64) float64 {
	return (float64(rest)/fine + n.mix*float64(weight)) / unit
}

// normalTail returns the z with Pr[N(0, 1) > z] = alpha, for alpha in (0, ½].
func normalTail(alpha float64) float64 {
	if alpha == missCut {
		return missTail()
	}
	return -standardNormal.Quantile(alpha)
}

// missTail is normalTail(missCut), which each reading of a quantile needs a few dozen times.
var missTail = sync.OnceValue(func() float64 { return -standardNormal.Quantile(missCut) })

var standardNormal, _ = noise.NewGaussian(1)

// Guarantee returns (ε, δ) for one user; for listed keys it is also that of a Gaussian mechanism,
// or pure ε-DP. Invalid Params promise nothing.
func (p Params) Guarantee() budget.Guarantee {
	p = p.normal()
	unit := budget.User(0, p.Relation)
	switch {
	case p.validate() != nil:
		return budget.Guarantee{}
	case p.pure():
		return budget.PureDP(p.Epsilon/float64(p.Releases), unit)
	}
	c, err := p.calibrate()
	switch {
	case err != nil: // what New refuses
		return budget.Guarantee{}
	case p.listed:
		gdp := budget.GDP(math.Sqrt(c.squaredMu)*(1+0x1p-50), unit)
		if p.Releases > 1 {
			return budget.ApproxDP(gdp.EpsilonAt(p.delta())*(1+0x1p-40), p.delta(), unit).WithPair(gdp)
		}
		return budget.ApproxDP(p.Epsilon, p.Delta, unit).WithPair(gdp)
	}
	return budget.ApproxDP(c.epsilon, p.delta(), unit).WithKeys(c.keys)
}

// ranks returns the mean error in rank of each level, in users.
func (p *Params) ranks(s spread) []float64 {
	alone := func(level float64) float64 { return quantile.MeanError(level, s.loss) / spreadUnit }
	return quantile.Errors(p.levels(), alone, math.Hypot)
}

// A quantile is unknown where no more than an eighth of the users that should be on one of its
// sides may be there with a larger probability than mostAstray, by what the count and the weights
// show. Each of up to a dozen other ends and weights that they show is wrong with a probability of
// missCut.
const (
	mostAstray, mostAstrayOfOne = 7e-4, 9.5e-4
	missCut                     = 2.5e-5
	mostAstrayByWeights         = 1e-4 // where the draws alone say nothing
)
