package main

var korMutations = []mutation{
	{"flips with p a thousandth too small", "kor/params.go", "\treturn noise.RandomizedResponse(epsilon)", "\tlaw, err := noise.RandomizedResponse(epsilon)\n\treturn noise.NewBernoulli(law.K() - law.K()>>10), err"},
	{"ε of the bits not reduced by the count's", "kor/params.go", "return math.Nextafter(p.Epsilon-count, 0), count", "return p.Epsilon, count"},
	{"count without noise", "kor/builder.go", "s.members.sum()+s.count.SampleInt(&s.src)", "s.members.sum()+0*s.count.SampleInt(&s.src)"},
	{"the Builder survives its release", "kor/builder.go", "s, err := private.Take(b.secret, \"kor: Release: the Builder\")\n", "s, err := private.Enter(b.secret), error(nil)\n"},
	{"streams: p half of what it must be", "kor/stream.go", "math.Exp(-p.Epsilon)/2*(1+0x1p-49)", "math.Exp(-p.Epsilon)/4*(1+0x1p-49)"},
	{"shares rounded down", "kor/share.go", "/2*(1+0x1p-47)))", "/2*(1-0x1p-40)))"},
	{"a key flips two bits", "kor/place.go", "i < uint64(len(table)) {\n\t\ttable[i] ^= bit\n\t}\n}\n\n// set sets it.", "i < uint64(len(table)) {\n\t\ttable[i] ^= bit\n\t\ttable[0] ^= 2\n\t}\n}\n\n// set sets it."},
	{"restore ignores the Params", "kor/private.go", "\tcase p != want:", "\tcase p.Cells != want.Cells || p.Levels != want.Levels:"},
	{"share promises ε of the aggregate", "kor/share.go", "b.params, shareGuarantee(law)}, nil", "b.params, b.params.Guarantee()}, nil"},
	{"decoder takes less noise than ε needs", "kor/encode.go", "return p.logSign() <= most*(1-1e-9)", "return p.logSign() <= most*(1-1e-2)"},
	{"merged guarantee is the largest instead of the sum", "kor/parts.go", "\tg, _ := budget.Compose(all...) // one unit, so no error\n\treturn g", "\treturn all[0]"},
	{"the release is not flipped", "kor/builder.go", "\ts.randomize(s.law)\n\tr := &Sketch", "\tr := &Sketch"},
	{"streams: the cells of keys are shown", "kor/stream.go", "\ttossCoins(s.table, s.src.Uint64)\n", ""},
	{"streams: a word of coins is one coin", "kor/stream.go", "table[i] = word & coins()", "table[i] = word & -(coins() & 1)"},
	{"streams: the second occurrence of a key removes it", "kor/place.go", "h.at(key); i < uint64(len(table)) {\n\t\ttable[i] |= bit", "h.at(key); i < uint64(len(table)) {\n\t\ttable[i] ^= bit"},
	{"streams: keys of two streams cancel", "kor/stream.go", "\tor(s.table, o.table)", "\txor(s.table, o.table)"},
	{"two releases of one Builder count as one", "kor/parts.go", "parts[n].origin() == parts[0].origin()", "false"},
	{"merged and kept", "kor/builder.go", "from, err = private.Take(b, \"kor: Merge: the other Builder\"); err != nil {\n\t\treturn nil, nil, err\n\t}", "from = private.Enter(b); from == nil {\n\t\treturn nil, nil, err\n\t}\n\tprivate.Leave(b)"},
	{"streams: the StreamBuilder survives its release", "kor/stream.go", "s, err := private.Take(b.secret, \"kor: Release: the StreamBuilder\")\n", "s, err := private.Enter(b.secret), error(nil)\n"},
	{"streams: the release is not flipped", "kor/stream.go", "\ts.randomize(s.law)\n", ""},
}
