package main

var korMutations = []mutation{
	{"flips with p a thousandth too small", "kor/params.go", "\treturn noise.RandomizedResponse(epsilon)", "\tlaw, err := noise.RandomizedResponse(epsilon)\n\treturn noise.NewBernoulli(law.K() - law.K()>>10), err"},
	{"ε of the bits not reduced by the count's", "kor/params.go", "return math.Nextafter(p.Epsilon-count, 0), count", "return p.Epsilon, count"},
	{"count without noise", "kor/count.go", "return sum + p.countLaw().SampleInt(src)", "return sum + 0*p.countLaw().SampleInt(src)"},
	{"the Builder survives its release", "kor/builder.go", "\ts := *b.state\n\t*b.state = nil\n\ts.randomize(s.law)", "\ts := *b.state\n\ts.randomize(s.law)"},
	{"streams: p half of what it must be", "kor/stream.go", "math.Exp(-p.Epsilon)/2*(1+0x1p-49)", "math.Exp(-p.Epsilon)/4*(1+0x1p-49)"},
	{"shares rounded down", "kor/share.go", "/2*(1+0x1p-47)))", "/2*(1-0x1p-40)))"},
	{"a key flips two bits", "kor/place.go", "\tif i := uint64(bits.TrailingZeros64(u|1<<63))*h.stride + cell>>6; i < uint64(len(table)) {", "\tif i := uint64(bits.TrailingZeros64(u|1<<63))*h.stride + cell>>6; i < uint64(len(table)) {\n\t\ttable[0] ^= 2"},
	{"restore ignores the Params", "kor/private.go", "\tcase p != want:", "\tcase p.Cells != want.Cells || p.Levels != want.Levels:"},
	{"share promises ε of the aggregate", "kor/share.go", "\treturn budget.PureDP(math.Log1p(2*float64(1<<63-k)/float64(k))*(1+0x1p-48), budget.AddRemove)", "\treturn budget.PureDP(s.params.Epsilon, budget.AddRemove)"},
	{"decoder takes less noise than ε needs", "kor/encode.go", "return p.logSign() <= most*(1-1e-9)", "return p.logSign() <= most*(1-1e-2)"},
	{"merged guarantee is the largest instead of the sum", "kor/parts.go", "\tg, _ := budget.Compose(all...) // one relation, so no error\n\treturn g", "\treturn all[0]"},
	{"Builder prints its state", "kor/builder.go", "fmt.Fprint(f, redacted)", "fmt.Fprint(f, (**b.state).table)"},
	{"the release is not flipped", "kor/builder.go", "\ts.randomize(s.law)\n\tr := &Sketch", "\tr := &Sketch"},
	{"streams: every occurrence flips", "kor/stream.go", "if s.coin() {\n\t\ts.place.flip(s.table, key)", "if s.coin() || true {\n\t\ts.place.flip(s.table, key)"},
	{"streams: every weighted occurrence flips", "kor/stream.go", "if s.coin() {\n\t\ts.place.flipWeighted", "if s.coin() || true {\n\t\ts.place.flipWeighted"},
	{"streams: a word of coins is one coin", "kor/stream.go", "s.coins >>= 1\n", ""},
	{"streams: merged and kept", "kor/stream.go", "*other.state = nil\n\txor(", "xor("},
	{"streams: the StreamBuilder survives its release", "kor/stream.go", "\ts := *b.state\n\t*b.state = nil\n\ts.randomize", "\ts := *b.state\n\ts.randomize"},
	{"streams: the release is not flipped", "kor/stream.go", "\ts.randomize(s.law)\n", ""},
}
