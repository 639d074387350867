package distinct

import (
	"github.com/dpsketch/dpsketch/kor"
)

// planned is the Plan of valid Params, and of others the zero Plan.
func planned(p Params) Plan {
	plan, _ := p.Plan()
	return plan
}

// sized is one of the four sizes.
func sized(c *kor.Comparison, place int) kor.Cardinality {
	return kor.Cardinality{Source: c.Parts[place]}
}
