package main

var distinctMutations = []mutation{
	{"flips with p a thousandth too small", "kor/distinct/params.go", "l.flips, err = noise.RandomizedResponse(bits)", "l.flips, err = noise.RandomizedResponse(bits * 1.001)"},
	{"noise of the count too small", "kor/distinct/params.go", "noise.LaplaceScale(count, 1)", "noise.LaplaceScale(count*1.001, 1)"},
	{"ε of the bits not reduced by the count's", "kor/distinct/params.go", "return math.Nextafter(p.Epsilon-count, 0), count", "return math.Nextafter(p.Epsilon, 0), count"},
	{"count without noise", "kor/distinct/builder.go", "ones(s.table) + s.laws.count.SampleInt(&s.src)", "ones(s.table) + 0*s.laws.count.SampleInt(&s.src)"},
	{"bits released without flips", "kor/distinct/builder.go", "\t\ts.laws.flips.Flip(&s.src, s.table)\n", ""},
	{"bits released where all of ε buys the count", "kor/distinct/params.go", "return p.CountShare > 0 && p.CountShare < 1", "return true"},
	{"a key sets two bits", "kor/distinct/builder.go", "\t\t\ttable[word] |= bit\n", "\t\t\ttable[word] |= bit | bit<<1\n"},
	{"a duplicate removes its key", "kor/distinct/builder.go", "\t\t\ttable[word] |= bit\n", "\t\t\ttable[word] ^= bit\n"},
	{"the Builder survives its release", "kor/distinct/builder.go", "s, err := private.Take(b.secret, \"distinct: Release: the Builder\")", "s, err := private.Enter(b.secret), error(nil)"},
	{"merged and kept", "kor/distinct/builder.go", "o, err := private.Take(other.secret, \"distinct: Merge: the other Builder\")", "o, err := private.Enter(other.secret), error(nil)"},
	{"restore ignores the Params", "kor/distinct/private.go", "\tcase p != s.params:", "\tcase p.Cells != s.params.Cells || p.Levels != s.params.Levels:"},
	{"a release compared with itself", "kor/distinct/compare.go", "if a.id == b.id {", "if false {"},
	{"the flips of the second release forgotten", "kor/distinct/fit.go", "p, r := m.flips[0], m.flips[1]", "p, r := m.flips[0], 0*m.flips[1]"},
}
