package main

var lossMutations = []mutation{
	{"split weights swapped", "internal/loss/measure.go", "r.mass[int(j)+1] += x*higher + floor\n\t\tr.mass[int(j)] += x*lower + floor", "r.mass[int(j)+1] += x*lower + floor\n\t\tr.mass[int(j)] += x*higher + floor"},
	{"upper tail of a loss dropped", "internal/loss/measure.go", "m.infinite = (m.infinite + tail) * slack(len(m.mass)-last)\n", ""},
	{"lower tail of a loss dropped", "internal/loss/measure.go", "m.mass[0] = (m.mass[0] + tail) * slack(first)", "m.mass[0] *= slack(first)"},
	{"coarser steps: weights swapped", "internal/loss/measure.go", "higher, lower := 1/(1+q), q/(1+q)+floor", "lower, higher := 1/(1+q), q/(1+q)+floor"},
	{"coarser steps: weights to the nearest", "internal/loss/measure.go", "coarse[i] = x*slack(0) + floor", "coarse[i] = x + floor"},
	{"masses of responses to the nearest", "internal/loss/leaves.go", "const above = 1 + 0x1p-49", "const above = 1.0"},
	{"escapes of two laws forgotten", "internal/loss/compose.go", "infinite: a.escape(b),", "infinite: a.infinite,"},
	{"products to the nearest", "internal/loss/compose.go", "c[k] = c[k]*most + floor", "c[k] += 0 * most"},
	{"response by less than its least ρ", "noise/budget/kinds.go", "epsilon*math.Tanh(epsilon/2)*(1+0x1p-50)", "epsilon*math.Tanh(epsilon/4)*(1+0x1p-50)"},
	{"a group keeps the ε of one", "noise/budget/kinds.go", "list[i].epsilon = round.ProductUp(steps, list[i].epsilon)", "list[i].epsilon = round.ProductUp(1, list[i].epsilon)"},
	{"several releases counted once by the accountant", "noise/budget/kinds.go", "list[i].count = low", "list[i].count = min(low, 1)"},
	{"too many kinds rounded down", "noise/budget/kinds.go", "(math.Float64bits(x) + rest) &^ rest", "math.Float64bits(x) &^ rest"},
	{"unknown releases left out of the accountant", "noise/budget/guarantee.go", "known = known && (g.epsilon == 0 || g.kinds != \"\")", "_ = known"},
	{"profile at negative ε taken for that at 0", "noise/budget/account.go", "(-math.Expm1(epsilon)+math.Exp(epsilon)*profile(-epsilon))*round.Up", "profile(-epsilon)*round.Up"},
	{"Gaussian noise beside others forgotten", "noise/budget/account.go", "case a.concentrated() == 0:\n\t\treturn a.law.Delta(epsilon)", "case true:\n\t\treturn a.law.Delta(epsilon)"},
	{"a Ledger forgets kinds", "noise/budget/ledger.go", "makeKinds(append(s.kinds.list(), g.kinds.list()...))", "makeKinds(g.kinds.list())"},
	{"δ of the parts given to the conversion as well", "noise/budget/convert.go", "round.DifferenceDown(delta, min(g.delta, delta)) / (1 - g.delta) * round.Down", "delta / (1 - g.delta) * round.Down"},
}
