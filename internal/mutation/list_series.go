package main

var seriesMutations = []mutation{
	{"zeros of known keys hidden", "misragries/series/publisher.go", "return count + n.law.known.SampleInt(&n.src) }", "if count == 0 {\n\t\treturn 0\n\t}\n\treturn count + n.law.known.SampleInt(&n.src)\n}"},
	{"counts of known keys without noise", "misragries/series/publisher.go", "return count + n.law.known.SampleInt(&n.src)", "return count"},
	{"late corrections without noise", "misragries/series/publisher.go", "return count + n.law.found.SampleInt(&n.src)", "return count"},
	{"shown counts without noise", "misragries/series/publisher.go", "return count + x, true", "return count + 0*x, true"},
	{"the whole ε for each span", "misragries/series/calibration.go", "round.QuotientUp(float64(shares), epsilon)", "round.QuotientUp(1, epsilon)"},
	{"the whole δ for each discovery span", "misragries/series/calibration.go", "each := delta / float64(shares) * round.Down", "each := delta * round.Down"},
	{"the whole ε for each sketch", "misragries/series/calibration.go", "epsilon/float64(shares)*round.Down, each", "epsilon*round.Down, each"},
	{"δ of an element of many as that of one", "misragries/series/calibration.go", "delta = p.Delta * math.Exp(epsilon-p.Epsilon) * (math.Expm1(-epsilon) / math.Expm1(-p.Epsilon)) * (1 - 0x1p-38)", "delta = p.Delta"},
	{"a threshold lower by one", "misragries/series/calibration.go", "return logs.Reach(b, tau-1) <= want", "return logs.Reach(b, tau) <= want"},
	{"smaller first forgotten", "misragries/series/calibration.go", "min(math.Log(delta), math.Log(-math.Expm1(-1/b)))", "math.Log(delta)"},
	{"known keys feed sketches as well", "misragries/series/builder.go", "s.known[i].sums.raise(1)\n\t\treturn", "s.known[i].sums.raise(1)"},
	{"a user's elements without a limit", "misragries/series/builder.go", "n = min(n, s.params.MaxElements-had)", "n = min(n, s.params.MaxElements)"},
	{"elements without a user count", "misragries/series/builder.go", "if s.params.MaxElements == 0 {\n\t\ts.add(key)", "if true {\n\t\ts.add(key)"},
	{"keys that are late corrected only if they have elements", "misragries/series/step.go", "\tlate := func(m *member[K]) {\n", "\tlate := func(m *member[K]) {\n\t\tif s.unknown.of(m.key, j) == 0 {\n\t\t\treturn\n\t\t}\n"},
	{"a sketch that goes on after its release", "misragries/series/step.go", "s.sketches[j] = next", "_ = next"},
	{"the cap by private counts", "misragries/series/step.go", "cmp.Compare(b.rate.perStep(), a.rate.perStep())", "cmp.Compare(b.sums[0], a.sums[0])"},
	{"an old state taken", "misragries/series/private.go", "case steps < max(published, s.steps):", "case steps < 0:"},
	{"counts that go on into the next node", "misragries/series/nodes.go", "\ts[i] = 0\n", ""},
	{"unknown keys counted in nodes that have ended", "misragries/series/nodes.go", "*t = tally[K]{}", "_ = t"},
	{"one user's period never ends", "noise/budget/unit.go", "\tu.period = steps\n", ""},
}
