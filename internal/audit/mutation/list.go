package main

import "slices"

// mutations returns all edits.
func mutations() []mutation {
	return slices.Concat(noiseMutations, newNoiseMutations, budgetMutations, lossMutations, privateMutations, viewMutations, thresholdMutations, misragriesMutations, alpMutations, korMutations, jlMutations,
		areteMutations, ellipticalMutations, planMutations,
		columnMutations, distinctMutations, groupbyMutations, seriesMutations)
}

var noiseMutations = []mutation{
	{"Laplace scale half", "noise/laplace.go", "return checkScale(exact.QuotientUp(sensitivity, epsilon)", "return checkScale(exact.QuotientUp(sensitivity/2, epsilon)"},
	{"Gaussian σ for zCDP too small by √2", "noise/gaussian.go", "exact.SqrtDown(2*rho)", "exact.SqrtDown(4*rho)"},
	{"a wrong term of the slope of the normal tail", "noise/normal.go", "even := n[1] + s*(3*n[3]", "even := n[1] + s*(2*n[3]"},
	{"five points for long intervals", "noise/normal.go", "if mu <= (1+max(t, 0))/16 {", "if mu <= 1+max(t, 0) {"},
	{"analytic σ for half the sensitivity", "noise/gaussian.go", "return checkScale(exact.QuotientUp(sensitivity, mu)", "return checkScale(exact.QuotientUp(sensitivity/2, mu)"},
	{"analytic σ slightly too small", "noise/gaussian.go", "return logDelta+deltaMargin <= target", "return logDelta-0x1p-20 <= target"},
	{"randomized response rounded down", "noise/bernoulli.go", "p := 1 / (math.Exp(epsilon) + 1) * (1 + 0x1p-49)", "p := 1 / (math.Exp(epsilon) + 1) * (1 - 0x1p-49)"},
	{"randomized response with p too small", "noise/bernoulli.go", "return BernoulliAtLeast(min(p, 0.5))", "return BernoulliAtLeast(0.999 * min(p, 0.5))"},
	{"flips of the last digits forgotten", "noise/bernoulli.go", "for open != 0 && read < t.length {", "for open != 0 && read < 4 {"},
	{"random rounding to the nearest", "noise/bernoulli.go", "if bernoulliScaled(src, y-whole, 1) {", "if y-whole >= 0.5 {"},
	{"Laplace noise of half the scale", "noise/laplace.go", "g, coins := geometric(src, 2*b)", "g, coins := geometric(src, b)"},
	{"zero of discrete Laplace twice as likely", "noise/discretelaplace.go", "k != 0 || coins&2 != 0", "k != 0 || coins&4 != 8"},
	{"digits beyond 2²⁰ not drawn", "noise/geometric.go", "return u + v<<m, next", "return v << m, next"},
	{"float logarithm trusted on a boundary", "noise/quicklog.go", "\t}\n\tfloor = int64(t - err)\n\treturn floor, floor == int64(t+err)", "\t}\n\treturn int64(t), true"},
	{"shared noise drawn anew for each key", "noise/correlated.go", "n := drawNormal(src)\n", "n := drawNormal(src)\n\t\tz = drawNormal(src)\n\t\tleast, most = toShared.interval(&z)\n"},
	{"own noise left out", "noise/correlated.go", "lo, hi := toOwn.interval(&n)", "lo, hi := toOwn.interval(&n)\n\t\t\tlo, hi = exact.Int128{}, exact.Int128{Lo: 1}"},
}

var thresholdMutations = []mutation{
	{"noise of half the scale", "internal/sparse/calibration.go", "c.scale, err = noise.LaplaceScale(epsilon, total)", "c.scale, err = noise.LaplaceScale(epsilon, total/2)"},
	{"rounding at random taken for free", "internal/sparse/calibration.go", "math.Log1p(p.Epsilon/total)", "(p.Epsilon/total)"},
	{"slack of rounding users' values left out", "internal/sparse/calibration.go", "total += keys\n", "total += 0 * keys\n"},
	{"rounding: threshold lower by one", "internal/sparse/calibration.go", "c.scale, c.from, c.threshold = k.Scale, k.From, k.Threshold", "c.scale, c.from, c.threshold = k.Scale, k.From, k.Threshold-1"},
	{"linear rounding: δ too small", "internal/rounding/rounding.go", "return k.LogReach() + math.Log(d/float64(k.From))", "return k.LogReach() + math.Log(d/float64(k.From)) - 0.5"},
	{"exponential rounding: δ too small", "internal/rounding/rounding.go", "exact.LogExpm1(float64(k.From)/k.Scale) + exact.LogExpm1(loss)", "exact.LogExpm1(float64(k.From)/k.Scale) + math.Log(loss)"},
	{"plain threshold for one key of many", "internal/sparse/calibration.go", "math.Log1p(-delta) / m)", "math.Log1p(-delta))"},
	{"δ rounded to the unsafe side", "internal/rounding/rounding.go", "return logDelta - 0x1p-40*max(1, -logDelta)", "return logDelta + 0x1p-8*max(1, -logDelta)"},
	{"false keys counted for one tail only", "internal/sparse/calibration.go", "each -= math.Ln2 // both tails", ""},
	{"small values always rounded up", "internal/rounding/rounding.go", "if !ok || size < k.From && small()%k.From < k.From-size {", "if !ok {"},
	{"zeros released as well", "internal/sparse/release.go", "return e.Steps == 0 || e.Steps < 0 && !signed", "return e.Steps < 0 && !signed"},
	{"negative values let through", "internal/sparse/release.go", "return e.Steps == 0 || e.Steps < 0 && !signed", "return e.Steps == 0"},
	{"keys in the order of arrival", "internal/sparse/release.go", "\tSortEntries(entries)\n", ""},
	{"texts sorted by eight bytes", "internal/sparse/release.go", "if longer && len(same) >= radixFrom/8 {\n\t\t\tsortByWords(same, room, records[start:], keys, from+8)\n\t\t} else if len(same) > 1 {", "if len(same) < 0 {"},
	{"hidden keys behind the slice's end", "internal/sparse/release.go", "values: append(make([]Entry[K], 0, len(released)), released...)", "values: released"},
	{"normal noise: threshold lower by one", "internal/sparse/release.go", "v >= c.threshold || e.Steps < 0 && v <= -c.threshold", "v >= c.threshold-1 || e.Steps < 0 && v <= -c.threshold"},
	{"false keys have no noise", "internal/sparse/release.go", "v := s.numbers.threshold + beyond.SampleInt(s.src)", "v := s.numbers.threshold + 0*beyond.SampleInt(s.src)"},
	{"no false keys", "internal/sparse/release.go", "count(s.src, zeros, s.numbers.threshold)", "0*count(s.src, zeros, s.numbers.threshold)"},
	{"the number beside the keys without noise", "internal/sparse/release.go", "beside -= shared", "beside -= 0 * shared"},
	{"the number beside the keys without Laplace noise", "internal/sparse/release.go", "beside += c.number().Sample(src)", "beside += 0 * c.number().Sample(src)"},
	{"the number beside the keys for nothing, by shared noise", "internal/sparse/correlated.go", "own, rest := float64(moved)*weight, float64(1-moved)*weight", "own, rest := 0*float64(moved), weight"},
	{"a search among τ that are cut off", "internal/sparse/gaussian.go", "tries >= e.scan {", "tries < 0 {"},
	{"a search's quadrature for what is verified", "internal/sparse/correlated.go", "nats: exactNats", "nats: roughNats"},
	{"the number beside the keys for nothing, by normal noise", "internal/sparse/gaussian.go", "sensitivity := exact.SqrtUp(float64(l-u1) + weight)", "sensitivity := exact.SqrtUp(float64(l-u1) + 0*weight)"},
	{"the number beside the keys for nothing, by Laplace noise", "internal/sparse/calibration.go", "epsilon = (epsilon - spent) * (1 - 0x1p-50)", "epsilon *= 1 - 0x1p-50"},
	{"a number beside the keys that nobody asked for", "internal/sparse/release.go", "if !l.params.Beside {\n\t\tbeside = 0\n\t}\n", ""},
	{"the accountant ignores the number beside the keys", "internal/sparse/calibration.go", "mu = math.Hypot(mu, most/c.beside)", "mu = math.Hypot(mu, 0*most/c.beside)"},
	{"keys outside a list released", "threshold/builder.go", "return !listed", "return !listed && false"},
	{"dense: zeros without noise", "internal/sparse/release.go", "Steps: d.SampleInt(s.src)}", "Steps: 0 * d.SampleInt(s.src)}"},
	{"intervals for one tail of the noise", "internal/sparse/calibration.go", "return int64(c.noise().Reach(tail))", "return int64(-c.laplace().Quantile(tail))"},
	{"values rounded to the nearest step", "threshold/builder.go", "y = noise.RandomizedRound(&s.src, value, step) / step", "y = math.Round(y)"},
	{"totals of keys with one half hash summed", "internal/keytable/keytable.go", "e.Key == key {", "e.Key == key || true {"},
	{"a total overflows", "internal/keytable/keytable.go", "e.Steps = min(max(e.Steps+steps, -t.limit), t.limit)", "e.Steps += steps"},
	{"released twice", "internal/private/private.go", "*c = cell[S]{why: released}", "c.busy = false"},
	{"Params that differ taken for the same", "internal/check/params.go", "if a == b {\n\t\treturn nil", "if a == b || true {\n\t\treturn nil"},
	{"a Builder prints its state", "internal/private/private.go", "(State[S]) Format(f fmt.State, _ rune) { fmt.Fprint(f, redacted[S]()) }", "(s State[S]) Format(f fmt.State, _ rune) { fmt.Fprint(f, (*s.at).data) }"},
}
