package jl

// planned is the Plan of valid Params with Rows, and of others the zero Plan.
func planned(p Params) Plan {
	plan, _ := p.Plan(0)
	return plan
}
