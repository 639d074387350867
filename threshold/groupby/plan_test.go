package groupby

import "math"

// planned is the Plan of valid Params, and of others one of NaN.
func planned(p Params) Plan {
	plan, err := p.Plan()
	if err != nil {
		return Plan{StdDev: math.NaN(), Threshold: math.NaN(), OthersStdDev: math.NaN()}
	}
	return plan
}
