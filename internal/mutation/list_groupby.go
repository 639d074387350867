package main

var groupbyMutations = []mutation{
	{"weights rounded up", "threshold/groupby/user.go", "func weight(l int) int64 { return root(unit * unit / int64(l)) }", "func weight(l int) int64 { return root(unit*unit/int64(l)) + 1 }"},
	{"counts not clipped", "threshold/groupby/user.go", "return min(unit, root(int64(clip)*unit*unit/int64(l)))", "return unit"},
	{"values without a bound", "threshold/groupby/user.go", "return int64(float64(x) * min(max(z, -1), 1))", "return int64(float64(unit) * min(max(z, -1), 1))"},
	{"all keys of a user get weight", "threshold/groupby/builder.go", "range s.keys[:kept] {", "range s.keys {"},
	{"the same keys of a user get weight", "threshold/groupby/builder.go", "subset.Draw(s.keys, kept, s.src.Uint64N)", "subset.Draw(s.keys, kept, func(uint64) uint64 { return 0 })"},
	{"a user's keys counted twice", "threshold/groupby/builder.go", "s.keys = slices.Compact(s.keys)", ""},
	{"counts without noise", "threshold/groupby/release.go", "e.rest+rests()", "e.rest+0*rests()"},
	{"weights without noise", "threshold/groupby/release.go", "r.weight, r.rest = shown,", "r.weight, r.rest = max(e.weight, min(shown, s.law.kernel.Threshold)),"},
	{"shortfall without noise", "threshold/groupby/release.go", "s.shortfall + s.normal(s.law.shortfall)()", "s.shortfall"},
	{"others without noise", "threshold/groupby/release.go", "hidden + s.normal(s.law.others)()", "hidden"},
	{"the keys' noise ignores the counts", "threshold/groupby/calibration.go", "\t\tkeys -= share\n", ""},
	{"the shortfall has no share of the noise", "threshold/groupby/calibration.go", "keys -= shortfallShare * p.CountShare\n", ""},
	{"rests of few keys forgotten", "threshold/groupby/calibration.go", "for k := 1; k <= p.MaxKeys; k++ {", "for k := 4; k <= p.MaxKeys; k++ {"},
	{"half the noise of a rest", "threshold/groupby/calibration.go", "c.rest *= fine * unit", "c.rest *= fine * unit / 2"},
	{"Replace calibrated as AddRemove", "threshold/groupby/calibration.go", "if p.Relation == budget.Replace {", "if false {"},
	{"the threshold ignores what is beside the keys", "threshold/groupby/calibration.go", "Beside: c.beside", "Beside: 0 * c.beside"},
	{"linear rounding", "internal/rounding/quadratic.go", "below(uint64(k.From)*uint64(k.From)) >= uint64(v)*uint64(v)", "below(uint64(k.From)*uint64(k.From)) >= uint64(v)*uint64(k.From)"},
	{"keys without weight draw", "internal/rounding/quadratic.go", "if v <= 0 || v < k.From", "if v < k.From"},
	{"the jump at R forgotten", "internal/rounding/quadratic.go", "h = max(h, rise/", "h = max(1, 0*rise/"},
	{"the smaller input first forgotten", "internal/rounding/quadratic.go", "return max(s.larger(to, mu, 0), gap(", "return max(s.larger(to, mu, 0), 0*gap("},
}
