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
}
