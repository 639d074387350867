package groupby

import (
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// This file counts users in keys of a public list. Nothing has to be found, so there are no weights
// and no threshold: the whole budget is for counts, of every key.

// maxListed is the most keys of a list.
const maxListed = 1 << 26

// NewListed returns an empty Builder for users and a public list of keys, of any key type: the
// countries of the world, say. Every listed key is released with its count, even if nobody has it.
// Keys that are not listed are ignored; with Params.Others, [Groups.Others] estimates how many
// there were. The list must not come from the data, or the release says who is in them.
//
// If rows come in any order, use [NewListedRows].
//
// No δ is spent on finding keys. With δ > 0 the noise is normal, and the guarantee is also that of
// a Gaussian mechanism, which composes better. With δ = 0 the noise is discrete Laplace, and the
// release is ε-private. Which noise is smaller depends on C², the smaller of FullKeys and the
// length of the list: at ε = 1 a count has a standard deviation of 1.5·C² with Laplace noise, and
// of 4.4·C with normal noise and δ = 1e-6. So if users have at most eight listed keys, and FullKeys
// is 8, the noise is as small with δ = 0.
//
// All listed keys of a user count, by less than 1 each where they are more than FullKeys. A key
// that is listed twice counts once.
//
// The error wraps [ErrParams], also for an empty list, for a list of more than 2²⁶ keys, and if
// Passes is 2 or CountShare or KeysOnly is set.
//
// For experiments an ε above 20 is accepted too, which protects hardly anybody.
func NewListed[K hashing.Key](p Params, keys ...K) (*Builder[K], error) {
	p, keys, err := listed(p, keys)
	if err == nil {
		err = p.validateSums()
	}
	if err != nil {
		return nil, err
	}
	calibrated, err := p.calibrate()
	if err != nil {
		return nil, err
	}
	return &Builder[K]{holding(p, newState(p, calibrated, listedPass, indexOf(keys), len(keys)))}, nil
}

// NewListedRows returns empty [Rows] for a public list of keys: [NewListed] for rows in any order.
// Every listed key is released, even one that nobody has, and rows of other keys are ignored,
// except that Params.Others counts them. The list must not come from the data.
//
// Rows keep the users, so with δ > 0 FullKeys is chosen where it is 0, with Min and Max too. With δ
// = 0 it is 36. The error wraps [ErrParams], for what [NewListed] refuses.
//
// For experiments an ε above 20 is accepted too, which protects hardly anybody.
func NewListedRows[U, K hashing.Key](p Params, keys ...K) (*Rows[U, K], error) {
	if p.FullKeys == 0 && !p.pure() {
		p.FullKeys = AutoFullKeys
	}
	p, keys, err := listed(p, keys)
	if err != nil {
		return nil, err
	}
	calibrated, err := p.calibrate()
	if err != nil {
		return nil, err
	}
	return &Rows[U, K]{holding(p, newRows[U](p, calibrated, keys))}, nil
}

// listed returns the normal Params of a list, and its keys sorted, each once.
func listed[K hashing.Key](p Params, keys []K) (Params, []K, error) {
	keys = slices.Clone(keys)
	wire.Sort(keys)
	keys = slices.Compact(keys)
	if len(keys) == 0 || len(keys) > maxListed {
		return p, nil, bad("list", len(keys), "one of 1 to 2²⁶ keys")
	}
	p.most, p.listed = min(len(keys), mostKeys), true
	return p.normal(), keys, nil
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

// addListed adds a user with the listed keys in s.numbers, and the others in s.keys.
func (s *state[K]) addListed() {
	if s.params.Others {
		wire.Sort(s.keys)
		s.others = sum(s.others, int64(min(len(slices.Compact(s.keys)), othersLimit))*unit)
	}
	l := len(s.numbers)
	if l == 0 {
		return
	}
	losses := s.lose(l, false)
	s.giveAll(s.numbers, s.sums, cell{count: s.counts(losses)}, losses)
	s.spread(s.numbers, s.samples, l)
}
