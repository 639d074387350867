package groupby

import (
	"fmt"
	"math"

	"github.com/dpsketch/dpsketch/threshold/groupby/internal/ranges"
)

// Plan is what a release will be, before any data is seen.
type Plan struct {
	Params Params // filled in
	// StdDev is that of a count's noise, in users; with AutoFullKeys for the
	// largest that may be chosen. NaN with KeysOnly.
	StdDev float64
	// OneKeyStdDev is StdDev with FullKeys 1, given or chosen.
	OneKeyStdDev float64
	// Threshold is the weight at which a key is shown with probability ½: that of
	// Threshold·√l users with l keys each, with two passes l that the first did
	// not find. −Inf if keys are listed.
	Threshold float64
	// OthersStdDev is that of [Groups.Others], or NaN.
	OthersStdDev float64
	// RankError is, by level, the average error of a quantile's rank, in users, if
	// they have up to 4 keys each and the key has many more on either side.
	RankError [8]float64
	// Known is, by level, about how many users of the key make the quantile known
	// in nine of ten releases, if they have up to 4 keys each and values are
	// spread smoothly.
	Known [8]float64
	// Blind is, with Values, about how many users with values in shown keys it
	// takes to learn a range that spans a factor of ten or so. With fewer, sums
	// are NaN and their intervals infinite.
	Blind float64
	// Bytes is the length of the encoding if no key is shown.
	Bytes int
}

// Plan returns what a release by [New] will be, calibrated as New does. For [NewRows], whose
// defaults differ, call [Rows.Params]().Plan(). The error wraps [ErrParams].
func (p Params) Plan() (Plan, error) {
	p = p.normal()
	c, err := p.calibrate()
	if err != nil {
		return Plan{}, err
	}
	plan := Plan{Params: p, StdDev: math.NaN(), OneKeyStdDev: math.NaN(), Threshold: math.Inf(-1), OthersStdDev: math.NaN(), Bytes: fixedSize}
	noises := p.noises(c, c.noisiest())
	if !p.KeysOnly {
		if plan.StdDev, plan.OneKeyStdDev = noises.count, noises.count; len(c.clips) > 1 {
			plan.OneKeyStdDev = p.noises(c, choice{len(c.clips) - 1, len(c.clips)}).count
		} else if p.FullKeys > 1 {
			one := p
			one.FullKeys = 1
			if c, err := one.sizes(); err == nil {
				plan.OneKeyStdDev = one.noises(c, choice{}).count
			}
		}
	}
	if p.Others {
		plan.OthersStdDev = noises.others
	}
	copy(plan.RankError[:], noises.ranks)
	plan.Known = noises.knownFrom(p)
	if p.Values {
		plan.Blind, plan.Bytes = 8*ranges.Blind(c.value(c.noisiest())/unit), plan.Bytes+32
	}
	if !p.listed {
		plan.Threshold = (float64(c.kernel.Threshold) - 0.5) / unit
	}
	return plan, nil
}

// String returns the Plan in a line.
func (p Plan) String() string {
	return fmt.Sprintf("keys from a weight of %.4g on, noise of a count %.4g (%.4g with one key a user), %v", p.Threshold, p.StdDev, p.OneKeyStdDev, p.Params.Guarantee())
}
