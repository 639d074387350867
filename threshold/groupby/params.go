package groupby

import (
	"cmp"
	"fmt"
	"math"

	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/internal/limits"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/dpsketch/dpsketch/threshold/groupby/internal/ranges"
)

const (
	minEpsilon = 0x1p-10
	maxEpsilon = 64
	minDelta   = 1e-100
	maxDelta   = 0.01
	mostKeys   = 1 << 12
	mostFull   = 1 << 12

	mostReleases = 1 << 16
	minShare     = 1. / 64
)

// MaxKeys is the most keys of one user that count: of a user with more, that many random ones. A
// larger one would hardly raise the threshold, nor the noise of a count; it bounds what New
// calibrates.
const MaxKeys = 1000

// Params are the public numbers of a release. They are comparable, and every method answers before
// any data is seen. Builders that are merged have equal Params.
type Params struct {
	// Epsilon is ε of the whole release, in [2⁻¹⁰, 64].
	Epsilon float64
	// Delta is δ of the whole release, in [1e-100, 0.01], or 0 with [NewListed].
	Delta float64
	// Min and Max are the range of a user's value in a key, for
	// [Builder.AddUserValues]: |Min|, |Max| and Max − Min are at most 2²⁰⁰, the
	// last at least 2⁻²⁰⁰. Both 0: no sums and no means, except with Values.
	Min, Max float64
	// Values has sums and means of values of which nobody knows the range:
	// it is learned, for each key, within the budget that sums have. Values
	// may have both signs, are multiples of 2⁻³⁰, and count as ±2⁵⁶ beyond.
	// It is for [NewRows], and [New] with Passes 2; not with Min and Max,
	// Levels, Replace, KeysOnly or AutoFullKeys. See Plan.Blind for how
	// many users that needs.
	Values bool
	// Levels are those of the quantiles of the users' values in each shown key,
	// ascending in [2⁻²⁰, 1 − 2⁻²⁰], with 0 after the last: {.5, .9, .99} asks for
	// the median, p90 and p99. They need no Min and Max, but are better with a
	// range that is not far too wide. Not with KeysOnly or Replace.
	Levels [8]float64
	// Resolution is the least difference between values that matters to
	// quantiles: they are Min, Min + Resolution, and so on. It needs Min and Max,
	// and suits ages. 0 means .2 to .4 % of the value, which suits amounts and
	// latencies: from a millionth of the larger end of the range on, or without
	// one from 2⁻³² to 2⁶⁴.
	Resolution float64
	// QuantileShare is the fraction of the budget, in [1/64, 63/64], for
	// quantiles. 0 means ⅓ where there are Levels.
	QuantileShare float64
	// Relation says whether neighbours differ in a user who is added or removed,
	// [budget.AddRemove], or replaced, [budget.Replace]. 0 means AddRemove.
	Relation budget.Relation
	// Passes is 1 or 2; 0 means 1, and 2 for [NewRows], [NewDiscovery] and Values.
	// A second pass looks for keys that the first has not found, and users give
	// all their weight to those: more keys, the more keys users have, under one
	// guarantee. A Builder of New then keeps each user in memory: 8 bytes, and 4
	// for each key, 12 with Min and Max, 20 with Values. Where the data can be
	// read twice, see [NewDiscovery].
	Passes int
	// CountShare is the fraction of the budget, in [1/64, 63/64], for the counts
	// (and sums) of the shown keys alone. The rest pays for the list of keys; with
	// one pass it helps the counts as well. At most ½ under Replace. 0 means ⅓, or
	// ½ for sums without quantiles.
	CountShare float64
	// FullKeys is C², in [1, 4096]: a user with l ≤ C² keys counts 1 in
	// each of them, one with more √(C²/l). Noise grows as C. [AutoFullKeys]
	// has C² chosen from the data, for at most a quarter of what the counts
	// have; not with Min and Max, Values or Levels, nor without δ. 0 means
	// 36, and AutoFullKeys for [NewRows] without these.
	FullKeys int
	// Releases is how many equal releases of the same users, one a day say, share
	// Epsilon and Delta, in [1, 65536]; 0 means 1. They are calibrated together:
	// 30 have 5.6 times the noise of one, where a thirtieth of ε and δ for each
	// has 23 times. Guarantee, Plan and intervals are those of one. What is asked
	// may depend on earlier releases, the Params may not.
	Releases int
	// KeysOnly spends the whole budget on the list of keys: there are no counts.
	// CountShare, FullKeys, Min and Max are 0 then.
	KeysOnly bool
	// Others spends a fiftieth of the budget on counting what is not shown: see
	// [Groups.Others].
	Others bool

	listed bool // by NewListed, of so many keys: then Passes is 1, CountShare 0
	most   int  // of one user that count; 0 means MaxKeys
}

// bad returns the error for a field.
func bad(field string, value any, want string) error {
	return fault.Params("groupby", field, value, want)
}

// normal returns the Params with all defaults filled in, and without −0.
func (p Params) normal() Params {
	if p.most == 0 && !p.listed {
		p.most = MaxKeys
	}
	p.Relation = cmp.Or(p.Relation, budget.AddRemove)
	switch {
	case p.Passes == 0 && p.Values && !p.listed:
		p.Passes = 2
	case p.Passes == 0:
		p.Passes = 1
	}
	p.Releases = cmp.Or(p.Releases, 1)
	if !p.KeysOnly && !p.listed && p.CountShare == 0 {
		p.CountShare = defaultShare
		if p.values() && p.Levels[0] == 0 {
			p.CountShare = 0.5
		}
	}
	if p.Levels[0] != 0 && p.QuantileShare == 0 {
		p.QuantileShare = defaultShare
	}
	if !p.KeysOnly && p.FullKeys == 0 {
		p.FullKeys = defaultFull
	}
	p.CountShare, p.Min, p.Max = p.CountShare+0, p.Min+0, p.Max+0
	p.Resolution, p.QuantileShare = p.Resolution+0, p.QuantileShare+0
	for i := range p.Levels {
		p.Levels[i] += 0
	}
	return p
}

// validate checks the fields of normal Params.
func (p Params) validate() error {
	width := p.Max - p.Min
	switch {
	case !(p.Epsilon >= minEpsilon && p.Epsilon <= maxEpsilon):
		return bad("Epsilon", p.Epsilon, "a number in [2⁻¹⁰, 64]")
	case !(p.Delta >= minDelta && p.Delta <= maxDelta || p.listed && p.Delta == 0):
		return bad("Delta", p.Delta, "a number in [1e-100, 0.01]; or 0, where keys are listed")
	case p.most < 1 || p.most > mostKeys:
		return bad("number of keys", p.most, "an integer in [1, 4096]")
	case p.Releases < 1 || p.Releases > mostReleases:
		return bad("Releases", p.Releases, "0 or an integer in [1, 65536]")
	case p.Passes != 1 && p.Passes != 2:
		return bad("Passes", p.Passes, "0, 1 or 2")
	case p.listed && p.Passes != 1:
		return bad("Passes", p.Passes, "0 or 1 where keys are listed")
	case p.listed && p.KeysOnly:
		return bad("KeysOnly", p.KeysOnly, "false where keys are listed")
	case p.listed && p.CountShare != 0:
		return bad("CountShare", p.CountShare, "0 where keys are listed")
	case p.KeysOnly && p.CountShare != 0:
		return bad("CountShare", p.CountShare, "0 with KeysOnly")
	case p.KeysOnly && p.FullKeys != 0:
		return bad("FullKeys", p.FullKeys, "0 with KeysOnly")
	case p.Values && (p.Min != 0 || p.Max != 0):
		return bad("Values", p.Values, "false with Min and Max: a range is given, or it is learned")
	case p.Values && (p.Passes != 2 || p.listed):
		return bad("Values", p.Values, "false, except for NewRows, and New with Passes 2, which keep the users")
	case p.Values && (p.KeysOnly || p.Relation == budget.Replace || p.Levels[0] != 0):
		return bad("Values", p.Values, "false with KeysOnly, Replace and Levels")
	case p.KeysOnly && p.values():
		return bad("Max", p.Max, "0, as Min, with KeysOnly")
	case !p.KeysOnly && !p.listed && !(p.CountShare >= minShare && p.CountShare <= 1-minShare):
		return bad("CountShare", p.CountShare, "0 or a number in [1/64, 63/64]")
	case p.Others && p.CountShare > 0.97:
		return bad("CountShare", p.CountShare, "at most 0.97 with Others")
	case p.Relation == budget.Replace && p.CountShare > 0.5:
		return bad("CountShare", p.CountShare, "at most ½ under Replace")
	case p.FullKeys == AutoFullKeys && (p.valued() || p.pure()):
		return bad("FullKeys", p.FullKeys, "a number in [1, 4096] with Min and Max, Values or Levels, and without δ")
	case !p.KeysOnly && p.FullKeys != AutoFullKeys && (p.FullKeys < 1 || p.FullKeys > mostFull):
		return bad("FullKeys", p.FullKeys, "0, an integer in [1, 4096], or AutoFullKeys")
	case !(math.Abs(p.Min) <= limits.MaxReal):
		return bad("Min", p.Min, "a number in [−2²⁰⁰, 2²⁰⁰]")
	case !(math.Abs(p.Max) <= limits.MaxReal):
		return bad("Max", p.Max, "a number in [−2²⁰⁰, 2²⁰⁰]")
	case p.values() && !p.Values && !(width >= limits.MinReal && width <= limits.MaxReal):
		return bad("Max", p.Max, "Min = Max = 0, or a Max that exceeds Min by 2⁻²⁰⁰ to 2²⁰⁰")
	case p.badLevels():
		return bad("Levels", p.Levels, "ascending numbers in [2⁻²⁰, 1 − 2⁻²⁰], and 0 after the last")
	case p.Levels[0] != 0 && p.KeysOnly:
		return bad("Levels", p.Levels, "none with KeysOnly")
	case p.Levels[0] != 0 && p.Relation == budget.Replace:
		return bad("Levels", p.Levels, "none under Replace")
	case p.Levels[0] == 0 && p.QuantileShare != 0:
		return bad("QuantileShare", p.QuantileShare, "0 without Levels")
	case p.Levels[0] != 0 && !(p.QuantileShare >= minShare && p.QuantileShare+max(p.CountShare, minShare) <= 0.97):
		return bad("QuantileShare", p.QuantileShare, "0 or a number from 1/64 on, at most 0.97 together with CountShare")
	case p.Resolution != 0 && p.Levels[0] == 0:
		return bad("Resolution", p.Resolution, "0 without Levels")
	case p.Resolution != 0 && !(p.Resolution > 0 && p.Resolution <= width && width/p.Resolution <= maxCells-2):
		return bad("Resolution", p.Resolution, "0 or a number that goes into [Min, Max] once, and at most 2³⁰ − 2 times")
	}
	return limits.Relation("groupby", p.Relation)
}

// values reports whether there are sums of values.
func (p *Params) values() bool { return p.Min != 0 || p.Max != 0 || p.Values }

// columns returns how many numbers of a user's values in a key are summed: with Values two halves.
func (p *Params) columns() int {
	switch {
	case p.Values:
		return 2
	case p.values():
		return 1
	}
	return 0
}

// valued reports whether users give values.
func (p *Params) valued() bool { return p.values() || p.Levels[0] != 0 }

// badLevels reports whether there are Levels that are not as they have to be.
func (p Params) badLevels() bool {
	n := len(p.levels())
	for i, level := range p.Levels {
		if i >= n && level != 0 || i < n && !(level >= minLevel && level <= 1-minLevel) || i > 0 && i < n && level <= p.Levels[i-1] {
			return true
		}
	}
	return false
}

// Guarantee returns what a release of these Params promises: (ε, δ) for one user with all keys and
// values, however many these are; see the package's documentation. For listed keys it is also that
// of a Gaussian mechanism, or of pure ε-DP. Invalid Params promise nothing.
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
		pair := budget.GDP(math.Sqrt(c.beside)*(1+0x1p-50), unit)
		if p.Releases > 1 {
			return budget.ApproxDP(pair.EpsilonAt(p.delta())*(1+0x1p-40), p.delta(), unit).WithPair(pair)
		}
		return budget.ApproxDP(p.Epsilon, p.Delta, unit).WithPair(pair)
	}
	return budget.ApproxDP(c.epsilon, p.delta(), unit).WithKeys(c.keys)
}

// Plan is what a release will be, before any data is seen.
type Plan struct {
	Params Params // filled in
	// StdDev is that of the noise of a count, in users; NaN with KeysOnly, and
	// where FullKeys is chosen.
	StdDev float64
	// Threshold is the total weight at which a key is shown with probability ½,
	// where a user of l keys gives each the weight 1/√l: so a key of users who
	// have l keys each is, with probability ½, at Threshold·√l users. With two
	// passes it is that of the second, where l is the number of the user's keys
	// that the first has not found. −Inf where keys are listed.
	Threshold float64
	// OthersStdDev is that of [Groups.Others]; NaN unless the Params ask for it.
	OthersStdDev float64
	// RankError is, for each of the Levels, by how many users the rank of a
	// quantile is off, on average, where users have up to 4 keys, and the key
	// many times as many of them on either side. Of a key of n users quantiles
	// are unknown where too few are on one: see [Groups.Quantile].
	RankError [8]float64
	// Blind is, with Values, about how many users with values in shown keys it
	// takes to learn anything of their range, where that spans a factor of ten or
	// so: 2000 at ε = 1 and δ = 1e-6. With fewer users, sums are 0 and their
	// intervals infinite. 0 without Values.
	Blind float64
	// Bytes is the length of the encoding where no key is shown. Each adds 8 for
	// itself, if it is a number, and for each of its own; and for quantiles 8,
	// and 44 for each level. With Values it is one number of each key more.
	Bytes int
}

// Plan returns what a release by [New] will be. [NewRows] takes two passes where Passes is 0: ask
// the Plan of [Rows.Params]. It calibrates, as New does. The error wraps [ErrParams].
func (p Params) Plan() (Plan, error) {
	p = p.normal()
	c, err := p.calibrate()
	if err != nil {
		return Plan{}, err
	}
	plan := Plan{Params: p, StdDev: math.NaN(), Threshold: math.Inf(-1), OthersStdDev: math.NaN(), Bytes: fixedSize}
	law := p.noises(c, choice{})
	if len(c.clips) == 1 {
		plan.StdDev = law.count
	}
	if p.Others {
		plan.OthersStdDev = law.others
	}
	copy(plan.RankError[:], law.ranks)
	if p.Values {
		plan.Blind, plan.Bytes = 8*ranges.Blind(c.value/unit), plan.Bytes+16
	}
	if !p.listed {
		plan.Threshold = (float64(c.kernel.Threshold) - 0.5) / unit
	}
	return plan, nil
}

// String says it in a line.
func (p Plan) String() string {
	return fmt.Sprintf("keys from a weight of %.4g on, noise of a count %.4g, %v", p.Threshold, p.StdDev, p.Params.Guarantee())
}
