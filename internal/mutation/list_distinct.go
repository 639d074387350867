package main

var distinctMutations = []mutation{
	{"flips with p a thousandth too small", "kor/distinct/params.go", "l.flips, err = noise.RandomizedResponse(bits)", "l.flips, err = noise.RandomizedResponse(bits * 1.001)"},
	{"noise of the count too small", "kor/distinct/params.go", "noise.LaplaceScale(count, 1)", "noise.LaplaceScale(count*1.001, 1)"},
	{"ε of the bits not reduced by the count's", "kor/distinct/params.go", "return math.Nextafter(p.Epsilon-count, 0), count", "return math.Nextafter(p.Epsilon, 0), count"},
	{"count without noise", "kor/distinct/builder.go", "ones(s.table) + s.laws.count.SampleInt(&s.src)", "ones(s.table) + 0*s.laws.count.SampleInt(&s.src)"},
	{"bits released without flips", "kor/distinct/builder.go", "\t\ts.laws.flips.Flip(&s.src, s.table)\n", ""},
	{"bits released where all of ε buys the count", "kor/distinct/params.go", "return p.CountShare > 0 && p.CountShare < 1", "return true"},
	{"a key sets two bits", "kor/distinct/place.go", "table[word] |= 1 << (cell & 63)", "table[word] |= 3 << (cell & 63)"},
	{"a duplicate removes its key", "kor/distinct/place.go", "table[word] |= 1 << (cell & 63)", "table[word] ^= 1 << (cell & 63)"},
	{"the Builder survives its release", "kor/distinct/builder.go", "s, err := private.Take(b.secret, \"distinct: Release: the Builder\")", "s, err := private.Enter(b.secret), error(nil)"},
	{"merged and kept", "kor/distinct/builder.go", "o, err := private.Take(other.secret, \"distinct: Merge: the other Builder\")", "o, err := private.Enter(other.secret), error(nil)"},
	{"restore ignores the Params", "kor/distinct/private.go", "\tcase p != params:", "\tcase p.Cells != params.Cells || p.Levels != params.Levels:"},
	{"a release compared with itself", "kor/distinct/compare.go", "if a.id == b.id {", "if false {"},
	{"the flips of the second release forgotten", "kor/distinct/fit.go", "p, r := m.flips[0], m.flips[1]", "p, r := m.flips[0], 0*m.flips[1]"},
	{"running: noise for half the sensitivity", "kor/distinct/running.go", "noise.LaplaceScale(p.Epsilon, 2)", "noise.LaplaceScale(p.Epsilon, 1)"},
	{"running: no noise in a slot", "kor/distinct/running.go", "now - s.ones + s.law.SampleInt(&s.src)", "now - s.ones + 0*s.law.SampleInt(&s.src)"},
	{"running: the noise of earlier slots is taken back", "kor/distinct/running.go", "s.released += now - s.ones +", "s.released = now +"},
	{"windows: no noise in a class", "kor/distinct/windows.go", "\t\tw.classes[i] += s.law.SampleInt(&s.src)", "\t\tw.classes[i] += 0 * s.law.SampleInt(&s.src)"},
	{"windows: released twice a day", "kor/distinct/windows.go", "\ts.done = true\n", ""},
	{"windows: stamps wrap", "kor/distinct/windows.go", "stamps[i] = max(stamp, by) - by", "stamps[i] = stamp - by"},
	{"windows: clocks may differ", "kor/distinct/windows.go", "if ours != theirs {", "if false {"},
}
