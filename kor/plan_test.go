package kor

import "math"

// planned is the Plan of valid Params, and of others the zero Plan.
func planned(p Params) Plan {
	plan, _ := p.Plan()
	return plan
}

// relativeError is the closed form for the XOR of that many releases.
func relativeError(p Params, sketches int) float64 {
	l, _ := p.releaseLaw(sketches, false)
	return math.Sqrt(l.variance())
}

// streamRelativeError is relativeError for the union of streams.
func streamRelativeError(p Params, sketches int) float64 {
	l, _ := p.releaseLaw(sketches, true)
	return math.Sqrt(l.variance())
}
