package approx

// planned is the Plan of valid Params, and of others the zero Plan.
func planned(p Params) Plan {
	plan, _ := p.Plan()
	return plan
}
