package main

var columnMutations = []mutation{
	{"reach of the simplex a thousandth too small", "elliptical/column/scheme.go", "ceil(82*h*h, 5), 1/(16", "ceil(82*h*h, 5)-h*h/64, 1/(16"},
	{"Σt² with the weight of another simplex", "elliptical/column/scheme.go", "-0.6 * w, w, w", "-0.4 * w, w, w"},
	{"the second moment under zCDP and Replace with too little noise", "elliptical/column/scheme.go", "h*h + ceil(13*h*h, 64)", "h*h + ceil(12*h*h, 64)"},
	{"reach of a replaced value that of an added one", "elliptical/column/scheme.go", "{{[3]int64{0, 1, 0}, 2 * h}}, first", "{{[3]int64{0, 1, 0}, h}}, first"},
	{"rounded sums without their unit", "elliptical/column/law.go", "r *= (1 + excess) * round.Up * round.Up", "r *= round.Up"},
	{"noise too small", "elliptical/column/law.go", "noise.LaplaceScale(p.Epsilon, r)", "noise.LaplaceScale(p.Epsilon*1.05, r)"},
	{"a coordinate without noise", "elliptical/column/law.go", "big.NewInt(l.sample(&src, i))", "big.NewInt(l.sample(&src, i)*int64(i))"},
	{"values not clamped", "elliptical/column/grid.go", "(min(max(x, g.lo), g.hi)-g.zero)", "(x-g.zero)"},
	{"the Builder survives its release", "elliptical/column/builder.go", "s, err := private.Take(b.secret, \"column: Release: the Builder\")", "s, err := private.Enter(b.secret), error(nil)"},
	{"restore ignores the Params", "elliptical/column/private.go", "p != s.params && r.Done() == nil", "p.Want != s.params.Want && r.Done() == nil"},
	{"restored quantiles ignore the Params", "elliptical/column/quantile_private.go", "p != s.params && r.Done() == nil", "p.Rho != s.params.Rho && r.Done() == nil"},
	{"restored cells out of range", "elliptical/column/quantile_private.go", "case last >= s.params.cells():", "case last >= maxCells:"},
	{"intervals a fifth too narrow", "elliptical/column/interval.go", "return top * max(x, 0) * (1 + 0x1p-30)", "return top * max(x, 0) * 0.8"},
	{"quantiles with all of the loss in each round", "elliptical/column/quantile_params.go", "loss := p.Epsilon / rounds", "loss := p.Epsilon"},
	{"quantiles under Replace as under AddRemove", "elliptical/column/quantile_params.go", "loss /= 2", "loss /= 1"},
	{"weights with twice the exponent", "elliptical/column/exponential.go", "(loss/2-0x1p-43)/share", "(loss-0x1p-43)/share"},
	{"weights that forget the level", "elliptical/column/exponential.go", "share := float64(max(a, whole-a)) / whole", "share := 0.5"},
	{"a row in both parts", "elliptical/column/exponential.go", "within(middle+1, to, x, hi, cut, last,", "within(middle+1, to, x, hi, max(cut-1, first), last,"},
	{"a cell split into fixed halves", "elliptical/column/jitter.go", "left := halved(j.src, rows.count)", "left := rows.count / 2"},
}
