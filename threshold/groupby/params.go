package groupby

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/internal/limits"
	"github.com/dpsketch/dpsketch/noise/budget"
)

const (
	minEpsilon = 0x1p-10
	maxEpsilon = 64
	minDelta   = 1e-100
	maxDelta   = 0.01
	maxKeys    = 1 << 12
	maxClip    = 1 << 12
	minShare   = 1. / 64
)

// Params are the public numbers of a release. They are comparable, and every method answers before
// any data is seen. Builders that are merged have equal Params.
type Params struct {
	// Epsilon is ε of the whole release, in [2⁻¹⁰, 64].
	Epsilon float64
	// Delta is δ of the whole release, in [1e-100, 0.01], or 0 with Listed.
	Delta float64
	// MaxKeys is m, in [1, 4096]: of a user with more keys, m random ones count.
	// 0 means 100. A larger m hardly raises the threshold, nor the noise of a
	// count if it is above Clip.
	MaxKeys int
	// Passes is 1 or 2; 0 means 1. A second pass looks for keys that the first
	// has not found, and users give all their weight to those: more keys, the
	// more keys users have, under one guarantee. A Builder of New then keeps each
	// user in memory: 8 bytes, and 4 for each key, or 8 with values. Where the
	// data can be read twice, see [NewDiscovery].
	Passes int
	// CountShare is the fraction of the budget, in [1/64, 63/64], for the counts
	// (and sums) of the shown keys alone. The rest pays for the list of keys; with
	// one pass it helps the counts as well. At most ½ under Replace. 0 means ⅓, or
	// ½ for sums.
	CountShare float64
	// Clip is C², in [1, 4096]: a user with l ≤ C² keys counts 1 in each of
	// them, one with more √(C²/l). 0 means 36. Noise grows as C.
	Clip int
	// Min and Max are the range of a user's value in a key, for
	// [Builder.AddUserValues]: |Min|, |Max| and Max − Min are at most 2²⁰⁰, the
	// last at least 2⁻²⁰⁰. Both 0: no sums, no means.
	Min, Max float64
	// Relation says whether neighbours differ in a user who is added or removed,
	// [budget.AddRemove], or replaced, [budget.Replace]. 0 means AddRemove.
	Relation budget.Relation
	// KeysOnly spends the whole budget on the list of keys: there are no counts.
	// CountShare, Clip, Min and Max are 0 then.
	KeysOnly bool
	// Others spends a fiftieth of the budget on counting what is not shown: see
	// [Groups.Others].
	Others bool
	// Listed says that the keys are those of a public list, of MaxKeys keys: see
	// [NewListed], which sets both. Passes is 1 then, and CountShare 0.
	Listed bool
}

// bad returns the error for a field.
func bad(field string, value any, want string) error {
	return fault.Params("groupby", field, value, want)
}

// normal returns the Params with all defaults filled in, and without −0.
func (p Params) normal() Params {
	if p.MaxKeys == 0 && !p.Listed {
		p.MaxKeys = 100
	}
	if p.Relation == 0 {
		p.Relation = budget.AddRemove
	}
	if p.Passes == 0 {
		p.Passes = 1
	}
	if !p.KeysOnly && !p.Listed && p.CountShare == 0 {
		p.CountShare = defaultShare
		if p.values() {
			p.CountShare = 0.5
		}
	}
	if !p.KeysOnly && p.Clip == 0 {
		p.Clip = defaultClip
	}
	p.CountShare, p.Min, p.Max = p.CountShare+0, p.Min+0, p.Max+0
	return p
}

// validate checks the fields of normal Params.
func (p Params) validate() error {
	width := p.Max - p.Min
	switch {
	case !(p.Epsilon >= minEpsilon && p.Epsilon <= maxEpsilon):
		return bad("Epsilon", p.Epsilon, "a number in [2⁻¹⁰, 64]")
	case !(p.Delta >= minDelta && p.Delta <= maxDelta || p.Listed && p.Delta == 0):
		return bad("Delta", p.Delta, "a number in [1e-100, 0.01]; or 0, where keys are listed")
	case p.Listed && p.MaxKeys < 1:
		return bad("MaxKeys", p.MaxKeys, "the number of keys where they are listed, or 4096 if there are more")
	case p.MaxKeys < 1 || p.MaxKeys > maxKeys:
		return bad("MaxKeys", p.MaxKeys, "0 or an integer in [1, 4096]")
	case p.Passes != 1 && p.Passes != 2:
		return bad("Passes", p.Passes, "0, 1 or 2")
	case p.Listed && p.Passes != 1:
		return bad("Passes", p.Passes, "0 or 1 where keys are listed")
	case p.Listed && p.KeysOnly:
		return bad("KeysOnly", p.KeysOnly, "false where keys are listed")
	case p.Listed && p.CountShare != 0:
		return bad("CountShare", p.CountShare, "0 where keys are listed")
	case p.KeysOnly && p.CountShare != 0:
		return bad("CountShare", p.CountShare, "0 with KeysOnly")
	case p.KeysOnly && p.Clip != 0:
		return bad("Clip", p.Clip, "0 with KeysOnly")
	case p.KeysOnly && p.values():
		return bad("Max", p.Max, "0, as Min, with KeysOnly")
	case !p.KeysOnly && !p.Listed && !(p.CountShare >= minShare && p.CountShare <= 1-minShare):
		return bad("CountShare", p.CountShare, "0 or a number in [1/64, 63/64]")
	case p.Others && p.CountShare > 0.97:
		return bad("CountShare", p.CountShare, "at most 0.97 with Others")
	case p.Relation == budget.Replace && p.CountShare > 0.5:
		return bad("CountShare", p.CountShare, "at most ½ under Replace")
	case !p.KeysOnly && (p.Clip < 1 || p.Clip > maxClip):
		return bad("Clip", p.Clip, "0 or an integer in [1, 4096]")
	case !(math.Abs(p.Min) <= limits.MaxReal):
		return bad("Min", p.Min, "a number in [−2²⁰⁰, 2²⁰⁰]")
	case !(math.Abs(p.Max) <= limits.MaxReal):
		return bad("Max", p.Max, "a number in [−2²⁰⁰, 2²⁰⁰]")
	case p.values() && !(width >= limits.MinReal && width <= limits.MaxReal):
		return bad("Max", p.Max, "Min = Max = 0, or a Max that exceeds Min by 2⁻²⁰⁰ to 2²⁰⁰")
	}
	return limits.Relation("groupby", p.Relation)
}

// values reports whether users give values.
func (p Params) values() bool { return p.Min != 0 || p.Max != 0 }

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
		return budget.PureDP(p.Epsilon, unit)
	}
	c, err := p.calibrate()
	switch {
	case err != nil: // what New refuses
		return budget.Guarantee{}
	case p.Listed:
		return budget.ApproxDP(p.Epsilon, p.Delta, unit).WithPair(budget.GDP(math.Sqrt(c.beside)*(1+0x1p-50), unit))
	}
	return budget.ApproxDP(p.Epsilon, p.Delta, unit)
}

// Threshold returns the total weight at which a key is shown with probability ½, where a user of l
// keys gives each the weight 1/√l: so a key of users who have l keys each is, with probability ½,
// at Threshold·√l users. With two passes it is that of the second, where l is the number of the
// user's keys that the first has not found. −Inf where keys are listed. NaN if the Params are
// invalid. It calibrates the release, as [New] does.
func (p Params) Threshold() float64 {
	c, err := p.normal().calibrate()
	if err != nil {
		return math.NaN()
	}
	if p.Listed {
		return math.Inf(-1)
	}
	return (float64(c.kernel.Threshold) - 0.5) / unit
}

// StdDev returns the standard deviation of the noise of a count, in users; NaN if the Params are
// invalid or KeysOnly.
func (p Params) StdDev() float64 {
	p = p.normal()
	c, err := p.sizes()
	if err != nil || p.KeysOnly {
		return math.NaN()
	}
	return p.noises(c).count
}
