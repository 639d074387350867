package main

var alpMutations = []mutation{
	{"a Plan of values in the middles of their bins", "alp/plan.go", "whole, part := math.Modf(min(max(place, 0)", "whole, part := math.Modf(min(max(math.Round(place), 0)"},
	{"a Plan's Large of integers not rounded", "alp/plan.go", "if s.params.Integers { // rounded", "if false { // rounded"},
	{"an interval without its estimate", "alp/read_interval.go", "return min(s.inUnits(lo), estimate), max(s.inUnits(hi), estimate)", "return s.inUnits(lo), max(s.inUnits(hi), 0*estimate)"},
	{"the columns take the list's share of the budget, too", "alp/write_budget.go", "return (p.tableEta() - p.listEta()) * (1 - 0x1p-50)", "return p.tableEta()"},
	{"closeness from the value on not inverted", "alp/read_list.go", "dst = append(dst, level/f.tilt[b])", "dst = append(dst, f.tilt[b]/level)"},
	{"what passes the list's filter only is 0 in a batch", "alp/read_batch.go", "to[i] = d.direct.estimates[d.direct.key(index)]", "to[i] = 0"},
	{"nothing is added to the masses for their rounding", "alp/write_code.go", "return uint64(math.Ceil(3 * 0x1p64 / float64(loss) * (1 + 0x1p-40)))", "return 1 + loss>>63"},
	{"linear rounding: p a tenth too small", "alp/write_linear.go", "float64(width)*kappa+2", "float64(width)*kappa*1.1+2"},
	{"the columns may end below the list's rounding radius", "alp/choose.go", "turn*float64(a) >= least {", "turn*float64(a) >= least/8 {"},
	{"an entry falls into the columns of values above it", "alp/write_table.go", "return int(min(max(s.point(v)-int64(column)*int64(s.width), 0), int64(s.width)))", "return int(min(max(s.point(v), 0), int64(s.width)))"},
	{"the estimate of the Sparsity is free of charge", "alp/write_budget.go", "return (p.eta() - p.sparsityEta()) * (1 - 0x1p-50)", "return p.eta()"},
	{"totals are not clamped to Max", "alp/builder.go", "e.Steps = min(max(e.Steps, -limit), limit)", "e.Steps = min(max(e.Steps, -maxTotal), maxTotal)"},
	{"a step costs the square of what it may: noise halved", "alp/write_code.go", "loss := -math.Expm1(-eta) * (1 - 0x1p-50)", "loss := -math.Expm1(-2*eta) * (1 - 0x1p-50)"},
	{"real values are rounded to the nearest grid point", "alp/builder.go", "y = noise.RandomizedRound(&s.src, value, s.shape.step) / s.shape.step", "y = math.Round(y)"},
	{"the list's δ is that of the whole, not of a step", "alp/write_budget.go", "math.Log(p.Delta)+math.Log(each)-logs.Expm1(p.Epsilon)", "math.Log(p.Delta)+0*math.Log(each)-0*logs.Expm1(p.Epsilon)"},
	{"the columns kept follow unlisted entries' true values", "alp/write_budget.go", "return s.kept(int64(value))", "return s.kept(int64(value)) + 1"},
	{"values refuted by weaker evidence", "alp/read_interval.go", "unlisted*float64(v.upper[at+after(x)]) <= high", "unlisted*float64(v.upper[at+after(x)]) <= 4*high"},
	{"a cell holds its least entry instead of the largest", "alp/write_table.go", "cmp.Compare(b.size, a.size))", "cmp.Compare(a.size, b.size))"},
}
