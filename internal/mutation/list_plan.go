package main

var planMutations = []mutation{
	{"half the sensitivity of the sum under Replace", "plan/params.go", "math.Nextafter(math.Sqrt2, 2)\n	}\n	return 2\n}", "math.Nextafter(math.Sqrt2, 2)\n	}\n	return 1\n}"},
	{"√2 becomes 1 for rows without negative entries", "plan/params.go", "math.Nextafter(math.Sqrt2, 2)", "1"},
	{"the norm of a clipped row is checked against too much", "plan/clip.go", "squares, most := int64(0), c.most*c.most", "squares, most := int64(0), c.most*c.most*2"},
	{"γ has too little noise", "plan/divisor.go", "law := zcdpNoise(weightSteps, rho)", "law := zcdpNoise(weightSteps/2, rho)"},
	{"a private number of rows has too little noise", "plan/run.go", "zcdpNoise(1, rho)", "zcdpNoise(0.5, rho)"},
	{"quantiles under Replace calibrated as for a row more", "plan/weights.go", "	if ch == added {\n		u = max(w.num, w.den-w.num)", "	if ch != either {\n		u = max(w.num, w.den-w.num) / 2"},
	{"weights fall too fast", "plan/weights.go", "fall -= min(less+1, fall)", "fall += min(less+1, fall)"},
	{"a step of the binary search forgets that there are T", "plan/search.go", "rho/float64(steps)*(1-0x1p-50)", "rho*(1-0x1p-50)"},
	{"the budget is not counted", "plan/budget.go", "b.spent = math.Nextafter(b.spent+rho, math.Inf(1)) // at least the exact sum", "b.spent += rho / 2"},
	{"noisy means have too little noise", "plan/pairs.go", "law := zcdpNoise(steps, rho)", "law := zcdpNoise(steps/2, rho)"},
	{"the rarer end of a piece is accepted too often", "plan/quantile.go", "if s.src.Uint64N(p.bound) < w.at(w.score(target, lo, hi)) {", "if s.src.Uint64N(p.bound) <= 2*w.at(w.score(target, lo, hi)) {"},
	{"negative entries are kept where none should be", "plan/mechanism.go", "	if m.params.NonNegative {\n		return 0\n	}\n", ""},
	{"a quantile of each column gets the budget of all", "plan/adaptive.go", "return rho / cap1(n) * (1 - 0x1p-50)", "return rho"},
	{"a sparse row without entries counts as missing", "plan/run.go", "ch == replaced || r.x.sparse == nil", "ch != either || r.x.sparse == nil"},
	{"noise is added after rounding", "plan/run.go", "float64(sum + int64(z))", "float64(sum) + z"},
	{"the first pass forgets the noise of n", "plan/twopass.go", "math.Hypot(sd/n, a*r.relative)", "math.Hypot(sd/n, 0)"},
	{"rows of no whole group are a group", "plan/pairs.go", "e < len(v) && row(e) < 2*k*groups; {", "e < len(v); {"},
	{"a row is in the pair of its neighbour", "plan/pairs.go", "if e+1 < len(v) && row(e+1)/2 == row(e)/2 {", "if e+1 < len(v) && row(e+1) == row(e)+1 {"},
	{"a zero Mechanism releases", "plan/mechanism.go", "if p.Dim == 0 {\n\t\treturn nil, notMade(\"Mechanism\")\n\t}\n\tif p.Relation", "if p.Relation"},
}
