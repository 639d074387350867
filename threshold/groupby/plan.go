package groupby

import (
	"fmt"
	"math"

	"github.com/dpsketch/dpsketch/threshold/groupby/internal/ranges"
)

// Plan is what a release will be, before any data is seen.
type Plan struct {
	Params Params // filled in
	// StdDev is the standard deviation of the noise of a count, in users; NaN with
	// KeysOnly. With AutoFullKeys it is that of the largest number that may be
	// chosen.
	StdDev float64
	// OneKeyStdDev is StdDev with FullKeys 1, for users of one key each, or with
	// AutoFullKeys once it has chosen 1.
	OneKeyStdDev float64
	// Threshold is the total weight at which a key is shown with probability ½: a
	// key whose users have l keys each reaches it at Threshold·√l users. With two
	// passes it is the second pass's, and l counts the user's keys that the first
	// pass did not find. −Inf if keys are listed.
	Threshold float64
	// OthersStdDev is the standard deviation of [Groups.Others]; NaN without it.
	OthersStdDev float64
	// RankError is, for each of the Levels, the average error of a quantile's
	// rank, in users, if users have up to 4 keys each and the key has many more
	// users than that on either side.
	RankError [8]float64
	// Known is, for each of the Levels, about how many users of the key it takes
	// for the quantile to be known in nine of ten releases, if users have up to 4
	// keys each and values are spread smoothly.
	Known [8]float64
	// Blind is, with Values, about how many users with values in shown keys are
	// needed to learn a range that spans a factor of ten or so: 2000 at ε = 1 and
	// δ = 1e-6. With fewer, sums are NaN and their intervals infinite.
	Blind float64
	// Bytes is the length of the encoding if no key is shown.
	Bytes int
}

// Plan returns what a release by [New] will be. For [NewRows], whose defaults differ, call
// [Rows.Params]().Plan(). Plan calibrates, as New does. The error wraps [ErrParams].
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
