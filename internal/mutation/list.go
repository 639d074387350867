package main

import "slices"

// mutations returns all edits.
func mutations() []mutation {
	return slices.Concat(noiseMutations, newNoiseMutations, budgetMutations, lossMutations, privateMutations, viewMutations, thresholdMutations, misragriesMutations, alpMutations, korMutations, jlMutations,
		areteMutations, ellipticalMutations, planMutations,
		columnMutations, distinctMutations, groupbyMutations, seriesMutations)
}

var noiseMutations = []mutation{
	{"Laplace scale half", "noise/calibrate.go", "return checkScale(round.QuotientUp(sensitivity, epsilon)", "return checkScale(round.QuotientUp(sensitivity/2, epsilon)"},
	{"Gaussian σ for zCDP too small by √2", "noise/calibrate.go", "round.SqrtDown(2*rho)", "round.SqrtDown(4*rho)"},
	{"a wrong term of the slope of the normal tail", "noise/mills.go", "even := n[1] + s*(3*n[3]", "even := n[1] + s*(2*n[3]"},
	{"five points for long intervals", "noise/gaussian_calibrate.go", "if mu <= (1+max(t, 0))/16 {", "if mu <= 1+max(t, 0) {"},
	{"analytic σ for half the sensitivity", "noise/gaussian_calibrate.go", "return checkScale(round.QuotientUp(sensitivity, mu)", "return checkScale(round.QuotientUp(sensitivity/2, mu)"},
	{"analytic σ slightly too small", "noise/gaussian_calibrate.go", "return logDelta+deltaMargin <= target", "return logDelta-0x1p-20 <= target"},
	{"randomized response rounded down", "noise/bernoulli.go", "p := 1 / (math.Exp(epsilon) + 1) * (1 + 0x1p-49)", "p := 1 / (math.Exp(epsilon) + 1) * (1 - 0x1p-49)"},
	{"randomized response with p too small", "noise/bernoulli.go", "return BernoulliAtLeast(min(p, 0.5))", "return BernoulliAtLeast(0.999 * min(p, 0.5))"},
	{"flips of the last digits forgotten", "noise/bernoulli.go", "for open != 0 && read < t.length {", "for open != 0 && read < 4 {"},
	{"random rounding to the nearest", "noise/bernoulli.go", "if bernoulliScaled(src, y-whole, 1) {", "if y-whole >= 0.5 {"},
	{"Laplace noise of half the scale", "noise/sample.go", "g, coins := geometric(src, 2*b)", "g, coins := geometric(src, b)"},
	{"zero of discrete Laplace twice as likely", "noise/sample.go", "k != 0 || coins&2 != 0", "k != 0 || coins&4 != 8"},
	{"digits beyond 2²⁰ not drawn", "noise/geometric.go", "return u + v<<m, next", "return v << m, next"},
	{"float logarithm trusted on a boundary", "noise/geometric.go", "return floor, floor == int64(t+err)", "return int64(t), true"},
	{"shared noise drawn anew for each key", "noise/correlated.go", "n := drawNormal(src)\n", "n := drawNormal(src)\n\t\tz = drawNormal(src)\n\t\tleast, most = toShared.interval(&z)\n"},
	{"own noise left out", "noise/correlated.go", "lo, hi := toOwn.interval(&n)", "lo, hi := toOwn.interval(&n)\n\t\t\tlo, hi = wide.Int{}, wide.Int{Lo: 1}"},
}

var thresholdMutations = []mutation{
	{"noise of half the scale", "threshold/laplace.go", "c.scale, err = noise.LaplaceScale(p.Epsilon, total)", "c.scale, err = noise.LaplaceScale(p.Epsilon, total/2)"},
	{"rounding at random taken for free", "threshold/laplace.go", "math.Log1p(p.Epsilon/total)", "(p.Epsilon/total)"},
	{"slack of rounding users' values left out", "threshold/laplace.go", "total += keys\n", "total += 0 * keys\n"},
	{"rounding: threshold lower by one", "threshold/calibration.go", "c.scale, c.from, c.threshold = k.Scale, k.From, k.Threshold", "c.scale, c.from, c.threshold = k.Scale, k.From, k.Threshold-1"},
	{"linear rounding: δ too small", "internal/rounding/rounding.go", "return k.LogReach() + math.Log(d/float64(k.From))", "return k.LogReach() + math.Log(d/float64(k.From)) - 0.5"},
	{"exponential rounding: δ too small", "internal/rounding/rounding.go", "logs.Expm1(float64(k.From)/k.Scale) + logs.Expm1(loss)", "logs.Expm1(float64(k.From)/k.Scale) + math.Log(loss)"},
	{"plain threshold for one key of many", "threshold/laplace.go", "math.Log1p(-delta) / m)", "math.Log1p(-delta))"},
	{"δ rounded to the unsafe side", "internal/rounding/rounding.go", "return logDelta - 0x1p-40*max(1, -logDelta)", "return logDelta + 0x1p-8*max(1, -logDelta)"},
	{"false keys counted for one tail only", "threshold/laplace.go", "each -= math.Ln2 // both tails", ""},
	{"small values always rounded up", "internal/rounding/rounding.go", "if !ok || size < k.From && small()%k.From < k.From-size {", "if !ok {"},
	{"zeros released as well", "threshold/release.go", "if e.Steps > 0 || e.Steps < 0 && s.params.Signed {", "if e.Steps >= 0 || e.Steps < 0 && s.params.Signed {"},
	{"negative values let through", "threshold/release.go", "if e.Steps > 0 || e.Steps < 0 && s.params.Signed {", "if e.Steps != 0 {"},
	{"keys in the order of arrival", "threshold/release.go", "sortEntries(entries, s.keys)\n\treturn entries", "return entries"},
	{"hidden keys behind the slice's end", "threshold/release.go", "values: append(make([]entry[K], 0, len(released)), released...)", "values: released"},
	{"normal noise: threshold lower by one", "threshold/release.go", "v >= c.threshold || e.Steps < 0 && v <= -c.threshold", "v >= c.threshold-1 || e.Steps < 0 && v <= -c.threshold"},
	{"false keys have no noise", "threshold/zeros.go", "v := s.law.threshold + beyond.SampleInt(&s.src)", "v := s.law.threshold + 0*beyond.SampleInt(&s.src)"},
	{"no false keys", "threshold/zeros.go", "count(&s.src, zeros, s.law.threshold)", "0*count(&s.src, zeros, s.law.threshold)"},
	{"keys outside a list released", "threshold/builder.go", "return !s.listed.has(key)", "return false"},
	{"dense: zeros without noise", "threshold/zeros.go", "Steps: d.SampleInt(&s.src)}", "Steps: 0 * d.SampleInt(&s.src)}"},
	{"values rounded to the nearest step", "threshold/builder.go", "y = noise.RandomizedRound(&s.src, value, s.law.step) / s.law.step", "y = math.Round(y)"},
	{"totals of keys with one half hash summed", "internal/totals/totals.go", "e.Key == key {", "e.Key == key || true {"},
	{"a total overflows", "internal/totals/totals.go", "e.Steps = min(max(e.Steps+steps, -t.limit), t.limit)", "e.Steps += steps"},
	{"released twice", "internal/private/private.go", "\t*s.at = nil\n\treturn data, nil", "\t(*s.at).busy = false\n\treturn data, nil"},
	{"a Builder prints its state", "internal/private/private.go", "(State[S]) Format(f fmt.State, _ rune) { fmt.Fprint(f, redacted[S]()) }", "(s State[S]) Format(f fmt.State, _ rune) { fmt.Fprint(f, (*s.at).data) }"},
}

var misragriesMutations = []mutation{
	{"shared noise left out", "misragries/keptzeros.go", "eta := d.SampleInt(src)", "eta := int64(0)"},
	{"own noise left out", "misragries/keptzeros.go", "counter[K]{c.key, y + x}", "counter[K]{c.key, y + 0*x}"},
	{"the true number of decrements told", "misragries/keptzeros.go", "return released, cutSum(decrements, -eta)", "return released, decrements"},
	{"threshold lower by one", "misragries/keptzeros_delta.go", "return search.Least(1, func(tau int64) bool { return logDelta(k, epsilon, float64(tau)) <= want })", "return search.Least(1, func(tau int64) bool { return logDelta(k, epsilon, float64(tau)) <= want }) - 1"},
	{"reduced: small values always rounded up", "misragries/reducedsum.go", "kernel.Show(c.count, tail, small)", "kernel.Show(max(c.count, l.from), tail, small)"},
	{"the private shift left out", "misragries/shiftedsum.go", "discreteLaplace(c.shift).SampleInt(src)+c.offset", "c.offset"},
	{"counters cut off before the shared noise", "misragries/keptzeros.go", "y := cutSum(c.count, eta)", "y := min(c.count, limit) + eta"},
	{"counters cut off before they are reduced", "misragries/sketch_merge.go", "all[i] = counter[K]{e.key, int64(e.total - s.decrements)}", "all[i] = counter[K]{e.key, saturate(e.total - s.decrements)}"},
	{"Guarantee without the check of New", "misragries/params.go", "c, err := p.check(OneStream)\n\tif err != nil {\n\t\treturn budget.Guarantee{}\n\t}\n\treturn p.guarantee(c)", "return p.guarantee(calibration{mechanism: KeptZeros})"},
	{"users promised as elements", "misragries/guarantee.go", "if in == Users || p.MaxKeys > 1 {", "if false {"},
	{"the true length of streams told", "misragries/units.go", "h.lost = cutSum(held.lost, discreteLaplace(h.law.lost).SampleInt(src))", "h.lost = held.lost"},
	{"the length released for nothing", "misragries/units.go", "calibrate((epsilon - spent) * (1 - 0x1p-50))", "calibrate(epsilon * (1 - 0x1p-50))"},
	{"merged sketches reduced as one stream is", "misragries/pureuniverse.go", "moves, length = k*(k+1)/2, k+1", "moves, length = 2*k-1, 1"},
	{"the lower reading for the upper", "misragries/estimate.go", "return 1 - float64(s)/2", "return float64(s) / 2"},
	{"no zero counters kept", "misragries/sketch.go", "for _, key := range zeros {\n\t\tall = append(all, counter[K]{key, 0})\n\t}", ""},
	{"zero counters of the wrong keys", "misragries/sketch.go", "return remaining[evicted:]", "return remaining[:len(remaining)-evicted]"},
	{"counters in the order of arrival", "misragries/sketch.go", "all = append(all, counter[K]{key, 0})\n\t}\n\tsortCounters(all)", "all = append(all, counter[K]{key, 0})\n\t}"},
	{"merged: counters in the order of arrival", "misragries/sketch_merge.go", "sortCounters(all)\n\treturn all", "return all"},
	{"merge subtracts one too little", "misragries/sketch_merge.go", "v = largest(sums, k+1)", "v = max(largest(sums, k+1), 1) - 1"},
	{"the sum is not subtracted", "misragries/sketch_reduced.go", "lo, borrow := bits.Sub64(lo, sumLo, 0)", "lo, borrow := bits.Sub64(lo, sumLo/2, 0)"},
	{"a user's keys counted twice", "misragries/users.go", "distinct := slices.Compact(given)", "distinct := given"},
	{"a user's keys not limited", "misragries/users.go", "distinct = subset.Draw(distinct, m, s.src.Uint64N)", "subset.Draw(distinct, m, s.src.Uint64N)"},
	{"the first keys of a user instead of random ones", "misragries/users.go", "subset.Draw(distinct, m, s.src.Uint64N)", "subset.Draw(distinct, m, func(uint64) uint64 { return 0 })"},
	{"merged after release", "misragries/sum.go", "o, err := private.Take(b.secret, \"misragries: Sum.Add: the Builder\")", "o, err := private.Enter(b.secret), error(nil)"},
	{"events not cut", "misragries/weights.go", "if n = min(n, b.params.most()); n > 0", "if n > 0"},
	{"an event for the price of one element", "misragries/choose.go", "if p.MaxKeys <= 1 {\n\t\treturn p.Epsilon", "if p.MaxKeys <= maxKeys {\n\t\treturn p.Epsilon"},
	{"an event that takes the last counter leaves no zeros", "misragries/sketch_weights.go", "w.zeros = append(w.zeros, it.key)", "_ = it"},
	{"an event that stays though all counters are higher", "misragries/sketch_weights.go", "w.decrements = min(total, w.least())", "w.decrements = w.least()"},
	{"all shards but one empty", "misragries/sharded.go", "keyhash.Reduce(rand.Uint64(), len(s.lanes))", "keyhash.Reduce(rand.Uint64()/2, 1)"},
	{"merged sketches added to a sum", "misragries/sum.go", "case b.holds() == Merged: // its neighbours differ in other ways", "case false:"},
}
