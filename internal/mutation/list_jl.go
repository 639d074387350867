package main

var jlMutations = []mutation{
	{"noise for half the sensitivity", "jl/calibrate.go", "c.law.scale = up(unit * (norm*(delta/c.law.step+before) + after))", "c.law.scale = up(unit * (norm*(delta/c.law.step+before) + after) / 2)"},
	{"slack of rounding left out", "jl/calibrate.go", "c.law.scale = up(unit * (norm*(delta/c.law.step+before) + after))", "c.law.scale = unit * norm * (delta / c.law.step)"},
	{"discrete noise for one row of several", "jl/calibrate.go", "c.law.scale, err = p.scale(kind, norm*delta)", "c.law.scale, err = p.scale(kind, delta)"},
	{"Laplace noise by the ℓ₂ norm", "jl/calibrate.go", "norm, delta := n.one, p.sensitivity()", "norm, delta := n.two, p.sensitivity()"},
	{"ℓ₂ neighbours treated as ℓ₁ ones", "jl/sjlt.go", "if r == noise.L1 {", "if r != 0 {"},
	{"mean row load for the greatest", "jl/sjlt.go", "heaviest = max(heaviest, n)", "heaviest += n / uint32(m.rows)"},
	{"operator norm below the truth", "jl/operatornorm.go", "if certain(g, lambda*(1+margin)) {\n\t\t\treturn up(math.Sqrt(lambda", "if certain(g, lambda*(1+margin)) {\n\t\t\treturn up(math.Sqrt(0.99 * lambda"},
	{"columns of a Normal matrix by their mean", "jl/fjlt.go", "n.one, n.two = max(n.one, float64(size)), max(n.two, c.squares[j])", "n.one, n.two = n.one+float64(size)/float64(len(c.sizes)), n.two+c.squares[j]/float64(len(c.sizes))"},
	{"values rounded to whole steps one by one", "jl/fixed.go", "return fixed{whole + rest>>63, uint64(rest) << 1}", "return fixed{whole + rest>>62&1, 0}"},
	{"values not limited", "jl/accumulate.go", "if -p.bound < y && y < p.bound {", "if -4*p.bound < y && y < 4*p.bound {"},
	{"sums do not saturate", "jl/accumulate.go", "s.load = most // so that it does not wrap around\n\treturn false", "s.load = 0\n\treturn true"},
	{"load not counted", "jl/builder.go", "s.load += v.size()", ""},
	{"the noise of one row for all", "jl/builder.go", "for i := range values {\n\t\t\tvalues[i] += draw()", "z := draw()\n\t\tfor i := range values {\n\t\t\tvalues[i] += z"},
	{"the last row without noise", "jl/builder.go", "for i := range values {\n\t\t\tvalues[i] += draw()", "for i := range values[1:] {\n\t\t\tvalues[i] += draw()"},
	{"noise on the input forgotten", "jl/builder.go", "values[j] = min(max(values[j]+draw(), -s.limit), s.limit)", "values[j] = min(max(values[j]+0*draw(), -s.limit), s.limit)"},
	{"released twice", "jl/builder.go", "s := *b.state\n\t*b.state = nil\n\treturn s.release(), nil", "s := *b.state\n\treturn s.release(), nil"},
	{"merged and kept", "jl/builder.go", "*other.state = nil\n\ts.merge(o)", "s.merge(o)"},
	{"a guarantee of one term for a sum", "jl/sketch.go", "if len(all) == 1 {", "if len(all) >= 1 {"},
	{"coarse noise for real values", "jl/params.go", "case p.Noise == DiscreteLaplace && !p.Integers:", "case p.Noise == DiscreteLaplace && !p.Integers && p.Dim == 0:"},
	{"distances corrected for one party only", "jl/estimate.go", "return squares(s.difference(other)) - s.params.spread().correction(s.noise().plus(other.noise())), nil", "return squares(s.difference(other)) - s.params.spread().correction(s.noise()), nil"},
}
