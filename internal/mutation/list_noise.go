package main

var newNoiseMutations = []mutation{
	{"moment scale for Δ₁ + Δ₂ instead of Δ₁ + 2Δ₂", "noise/approxscale.go", "sumUp(sensitivity, 2*moment) / growth", "sumUp(sensitivity, moment) / growth"},
	{"Student's scale for e^{ε/α} − 1 of the doubled ε", "noise/approxscale.go", "momentScale(y, grown+grown/(1+grown), sensitivity, moment)", "momentScale(y, 2*(grown+grown/(1+grown)), sensitivity, moment)"},
	{"several queries calibrated as one", "noise/approxscale.go", "shift, d := k*delta1/b*(1+0x1p-51), k*delta2/b*(1+0x1p-51)", "shift, d := delta1/b*(1+0x1p-51), k*delta2/b*(1+0x1p-51)"},
	{"rounding of the estimate not paid for", "noise/approxnoise.go", "pick(sumUp(p.sensitivity(), step))", "pick(p.sensitivity())"},
	{"subexponential noise of half the scale", "noise/approxnoise.go", "geometric(src, 2*n.scale/n.step)", "geometric(src, n.scale/n.step)"},
	{"an Approximator answers for ever", "noise/approximation.go", "	a.left--\n", ""},
	{"so little ε for each query that there is no noise on the grid", "noise/approxparams.go", "p.Epsilon < leastQueryEpsilon*float64(p.queries())", "p.Epsilon < leastQueryEpsilon"},
	{"moment of a median rounded up", "noise/median.go", "medianMoment = math.Nextafter(medianMoment, 0)", "medianMoment = math.Nextafter(medianMoment, 2*medianMoment)"},
	{"median bound without its constant", "noise/median.go", "error * math.Exp(log) * (1 + 0x1p-50), nil", "error * (1 + 0x1p-50), nil"},
	{"each round of the search spends half of the budget", "noise/advice.go", "epsilon := full.Epsilon / 2 / float64(s.rounds) * (1 - 0x1p-50)", "epsilon := full.Epsilon / 2 * (1 - 0x1p-50)"},
	{"runs of the search not clamped", "noise/advice.go", "return min(max(estimate(advice, stage.accuracy), 0), stage.reach*advice) }", "return estimate(advice, stage.accuracy) }"},
	{"error of clamped runs declared too small", "noise/advice.go", "MedianMoment(s.params.Moment, most*stage.accuracy, s.params.Runs)", "MedianMoment(s.params.Moment, advice*stage.accuracy, s.params.Runs)"},
	{"digits of Student's law accepted as those of its square", "noise/powergrid.go", "		factor.Quo(factor, big.NewRat(2, 1))\n", ""},
	{"Pareto draw by float64 alone", "noise/paretosample.go", "	err := g.units*(grown+1)*2*dy + v*0x1p-50\n", "	err := 0.0\n"},
	{"Student-type proposals all accepted", "noise/studentsample.go", "if p.shape != 3 { // else all are accepted", "if p.shape < 3 {"},
	{"Student-type proposal of too small a scale", "noise/studentsample.go", "math.Sqrt(3/shape) * (1 + 0x1p-50)", "math.Sqrt(3/shape) * (1 - 0x1p-50)"},
	{"staircase without the position in the step", "noise/staircasesample.go", "start: d.gamma, slope: 1}", "start: 0, slope: 1}"},
	{"core of the staircase by float64 alone", "noise/staircasesample.go", "return d.inCoreExactly(src, newLazy(w, 64))", "return false"},
}
