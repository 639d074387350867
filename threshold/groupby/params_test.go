package groupby

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/rounding"
	"github.com/dpsketch/dpsketch/noise/budget"
)

var plain = Params{Epsilon: 1, Delta: 1e-6}

// What takes Params refuses each field out of its range, by its name, and what does not go
// together; and they promise nothing.
func TestParamsAreChecked(t *testing.T) {
	answers := map[string]func(Params) error{
		"New": func(p Params) error { return dptest.Err(New[string](p)) }, "NewRows": func(p Params) error { return dptest.Err(NewRows[int, int](p)) },
		"Plan": func(p Params) error { return dptest.Err(p.Plan()) }, "NewDiscovery": func(p Params) error { return dptest.Err(NewDiscovery[int](p)) },
	}
	bad := map[string][]any{
		"Epsilon": {0., -1., 0x1p-11, 65.}, "Delta": {0., -1., 5e-324, 0.02}, "CountShare": {1., -0.5}, "FullKeys": {-2, 4097}, "Relation": {3}, "Passes": {3, -1},
		"Releases": {-1, mostReleases + 1}, "TailIndex": {2.}, "QuantileShare": {0.3}, "Resolution": {0.1}, "Average": {true},
	}
	dptest.Params(t, "groupby", plain, bad, answers)
	delete(answers, "NewDiscovery") // which keeps no users
	dptest.Params(t, "groupby", Params{Epsilon: 1, Delta: 1e-6, Max: 100, Resolution: 1, Levels: [8]float64{0.5}}, map[string][]any{
		"Levels":        {[8]float64{1}, [8]float64{-0.5}, [8]float64{0.5, 0.5}, [8]float64{0.9, 0.5}, [8]float64{0.5, 0, 0.9}, [8]float64{math.NaN()}, [8]float64{0.5, math.NaN()}, [8]float64{0x1p-21}},
		"Resolution":    {-1., 101., 1e-9, 5e-324},
		"QuantileShare": {-0.5, 0x1p-7, 0.7, 1.},
	}, answers)
	for i, change := range []func(p *Params){
		func(p *Params) { p.most = -1 }, func(p *Params) { p.most = mostKeys + 1 },
		func(p *Params) { p.CountShare, p.Others = 63./64, true }, func(p *Params) { p.CountShare, p.Relation = 0.51, budget.Replace },
		func(p *Params) { p.Min, p.Max = 1, 1 }, func(p *Params) { p.Min = 1 }, func(p *Params) { p.Max = 5e-324 },
		func(p *Params) { p.KeysOnly, p.CountShare = true, 0.5 }, func(p *Params) { p.KeysOnly, p.FullKeys = true, 32 }, func(p *Params) { p.KeysOnly, p.Max = true, 1 },
		func(p *Params) { p.Max, p.TailIndex = 1, 2 }, func(p *Params) { p.Levels[0], p.Average = 0.5, true },
		func(p *Params) { p.Levels[0], p.KeysOnly = 0.5, true }, func(p *Params) { p.Levels[0], p.Relation = 0.5, budget.Replace }, func(p *Params) { p.Levels[0], p.Resolution = 0.5, 0.1 },
		func(p *Params) { p.Values, p.Max = true, 5 }, func(p *Params) { p.Values, p.Passes = true, 1 }, func(p *Params) { p.Values, p.KeysOnly = true, true },
		func(p *Params) { p.Values, p.TailIndex = true, 1 }, func(p *Params) { p.Values, p.TailIndex = true, 65 }, func(p *Params) { p.Values, p.TailIndex = true, math.NaN() },
		func(p *Params) { p.Values, p.Delta = true, 0 }, func(p *Params) { p.Values, p.Relation = true, budget.Replace }, func(p *Params) { p.Values, p.Levels[0] = true, 0.5 },
		func(p *Params) { *p = p.ofList(3); p.Passes = 2 },
	} {
		p := plain
		change(&p)
		for name, answer := range answers {
			require.ErrorIs(t, answer(p), ErrParams, "%s, %d", name, i)
		}
		require.Equal(t, budget.Guarantee{}, p.Guarantee(), i)
	}
	for _, wrong := range []Params{
		{}, {Epsilon: 1, Delta: 5e-324}, {Epsilon: 1, Delta: -1}, {Epsilon: 1, KeysOnly: true}, {Epsilon: 1, Delta: 1e-6, Passes: 2}, {Epsilon: 1, CountShare: 0.5}, {Epsilon: 1, FullKeys: 4097},
		{Epsilon: 1, Min: 2, Max: 1}, {Epsilon: 1, FullKeys: AutoFullKeys}, {Epsilon: 1, Delta: 1e-6, Values: true},
	} {
		require.ErrorIs(t, dptest.Err(NewListed(wrong, "a", "b")), ErrParams, "%+v", wrong)
		require.ErrorIs(t, dptest.Err(NewListedRows[int](wrong, "a", "b")), ErrParams, "%+v", wrong)
		require.False(t, wrong.ofList(2).Guarantee().Promises())
	}
	require.ErrorIs(t, dptest.Err(NewListed[string](plain)), ErrParams)
	require.ErrorIs(t, dptest.Err(NewListedRows[int, int](plain)), ErrParams)
	for _, err := range []error{dptest.Err(New[string](plain.ofList(3))), dptest.Err(NewRows[int, int](plain.ofList(3))), dptest.Err(NewDiscovery[string](plain.ofList(3)))} {
		require.ErrorIs(t, err, ErrParams)
	}
	require.ErrorContains(t, dptest.Err(NewDiscovery[int](learning)), "keeps no users")
	p := Params{Epsilon: minEpsilon, Delta: minDelta, Passes: 2, Values: true}
	require.ErrorContains(t, dptest.Err(p.normal().sizes()), "less noise")
	p.Values = false
	require.NoError(t, dptest.Err(p.normal().sizes()), "it is the noise of the values")
}

// extremes are Params at the ends of their ranges.
func extremes() (all []Params) {
	for _, p := range []Params{{Epsilon: minEpsilon, Delta: minDelta}, {Epsilon: maxEpsilon, Delta: minDelta}, {Epsilon: minEpsilon, Delta: maxDelta}, {Epsilon: maxEpsilon, Delta: maxDelta}} {
		for _, r := range []budget.Relation{budget.AddRemove, budget.Replace} {
			p.Relation = r
			keys, large, small := p, p, p
			keys.KeysOnly, keys.Others, keys.most = true, true, mostKeys
			large.CountShare, large.FullKeys, large.Min, large.Max = 1-minShare, mostFull, -0x1p199, 0x1p199
			small.CountShare, small.FullKeys, small.Others, small.most = minShare, 1, true, 1
			worst := large
			// with more there is more noise than can be drawn
			worst.CountShare, worst.FullKeys, worst.Others = minShare, 100, true
			if r == budget.Replace {
				large.CountShare = 0.5
			}
			all = append(all, keys, large, small, worst)
		}
	}
	return all
}

// deltaOf returns the δ of what is calibrated, of which the noise beside the keys takes part.
func (p Params) deltaOf(c calibration) float64 {
	if p.Releases > 1 { // of all together
		all := c.keys.Times(float64(p.Releases))
		mu := math.Sqrt(all.MuSquares())
		normal := distuv.UnitNormal
		return all.Delta(p.Epsilon, func(epsilon float64) float64 {
			return normal.CDF(mu/2-epsilon/mu) - math.Exp(epsilon)*normal.CDF(-mu/2-epsilon/mu)
		})
	}
	if p.Passes == 2 {
		return rounding.TwoPasses{First: c.first, Second: c.kernel}.Delta(p.Epsilon, p.users(c))
	}
	return c.kernel.Delta(p.Epsilon, p.users(c))
}

func TestDefaults(t *testing.T) {
	dptest.NotShort(t, "seconds with the race detector: in the default run")
	full := Params{Epsilon: 1, Delta: 1e-6, most: MaxKeys, Passes: 1, CountShare: 1. / 3, FullKeys: 36, Releases: 1, Relation: budget.AddRemove}
	require.Equal(t, full, plain.normal())
	require.Equal(t, full, full.normal())
	require.Equal(t, planned(plain).Threshold, planned(full).Threshold)
	require.Equal(t, budget.User(0, budget.AddRemove), plain.Guarantee().Unit())
	dptest.OK(plain.Guarantee().For(budget.User(100, budget.AddRemove)))(t)
	keys := Params{Epsilon: 1, Delta: 1e-6, KeysOnly: true}
	require.True(t, math.IsNaN(planned(keys).StdDev))
	require.InEpsilon(t, 21.73, planned(keys).Threshold, 1e-3)
	half := Params{Epsilon: 1, Delta: 1e-6, CountShare: 0.5}
	require.InEpsilon(t, 30.42, planned(half).Threshold, 1e-3)
	require.Equal(t, 0.5, Params{Max: 1}.normal().CountShare)
	// What speaks for the defaults: nearly the least noise for a count at a low threshold, and less
	// of both than a sum of its own at C² = 32 by half of the budget.
	for clip := 4; clip <= defaultFull; clip += 16 {
		at := func(share float64) float64 {
			return planned(Params{Epsilon: 1, Delta: 1e-6, FullKeys: clip, CountShare: share}).StdDev
		}
		least := math.Inf(1)
		for share := 0.1; share < 0.6; share += 0.04 {
			least = min(least, at(share))
		}
		require.Less(t, at(defaultShare), 1.02*least, clip)
	}
	require.InEpsilon(t, 0.87, planned(plain).Threshold/planned(half).Threshold, 0.01)
	require.InEpsilon(t, 0.77, planned(plain).StdDev/(4.22511*math.Sqrt(2*32)), 0.02)
	require.Equal(t, 1./3, Params{Passes: 2}.normal().CountShare)
	require.Equal(t, 0.5, Params{Passes: 2, Max: 1}.normal().CountShare)
}

// The shares add up to the budget: what a user moves, in units of the noise and in the integers
// that AddUser adds, is within Σ(Δ/σ)² as the kernel is told it, for users of all numbers of keys,
// alone or replaced by another one with some of the same keys; and that is within the budget of the
// Gaussian mechanism of (ε, 0.998·δ), and near it.
func TestShares(t *testing.T) {
	for _, p := range []Params{
		plain, {Epsilon: 1, Delta: 1e-6, KeysOnly: true}, {Epsilon: 1, Delta: 1e-6, KeysOnly: true, Others: true},
		{Epsilon: 1, Delta: 1e-6, most: 1}, {Epsilon: 1, Delta: 1e-6, most: 4},
		{Epsilon: 1, Delta: 1e-6, Max: 3, CountShare: 0.3, FullKeys: 5, Others: true},
		{Epsilon: 1, Delta: 1e-6, Max: 3, CountShare: 0.3, FullKeys: 5, Others: true, Relation: budget.Replace},
		{Epsilon: 1, Delta: 1e-6, CountShare: 0.5, FullKeys: 300, most: 300, Relation: budget.Replace},
		{Epsilon: 1, Delta: 1e-6, CountShare: 0.5, FullKeys: 1, Relation: budget.Replace},
		{Epsilon: 1, Delta: 1e-6, Passes: 2, KeysOnly: true, Relation: budget.Replace},
		{Epsilon: 1, Delta: 1e-6, Passes: 2, Max: 3, Others: true, FullKeys: 9},
		{Epsilon: 1, Delta: 1e-6, Passes: 2, Max: 3, Others: true, FullKeys: 9, Relation: budget.Replace},
		{Epsilon: 1, Delta: 1e-6, FullKeys: AutoFullKeys}, {Epsilon: 1, Delta: 1e-6, FullKeys: AutoFullKeys, CountShare: minShare, Others: true},
		{Epsilon: 1, Delta: 1e-6, FullKeys: AutoFullKeys, CountShare: 0.5, Relation: budget.Replace}, {Epsilon: 1, Delta: 1e-6, FullKeys: AutoFullKeys, most: 1},
		{Epsilon: 1, Delta: 1e-6, FullKeys: AutoFullKeys, Passes: 2}, {Epsilon: 1, Delta: 1e-6, FullKeys: AutoFullKeys, Passes: 2, CountShare: minShare, Relation: budget.Replace},
		{Epsilon: 1, Delta: 1e-6, FullKeys: AutoFullKeys, Passes: 2, Max: 3, Others: true}, {Epsilon: 1, Delta: 1e-6, FullKeys: AutoFullKeys, Passes: 2, Max: 3, Relation: budget.Replace},
		{Epsilon: 1, Delta: 1e-6, FullKeys: AutoFullKeys, Max: 3}, {Epsilon: 1, Delta: 1e-6, FullKeys: AutoFullKeys, Max: 3, CountShare: minShare, Relation: budget.Replace},
	} {
		p = p.normal()
		c := dptest.OK(p.sizes())(t)
		norm, sigma := 1.0, 4.22511
		if p.Relation == budget.Replace {
			norm, sigma = 2, sigma*math.Sqrt2 // GaussianSigma is linear in the sensitivity
		}
		keys := 1 / (c.weight * c.weight)
		if p.Passes == 2 {
			keys += 1 / (c.discovery * c.discovery)
			require.InEpsilon(t, firstShare, 1/(c.discovery*c.discovery)/keys, 1e-9)
			sigma *= adaptiveNoise
		}
		total := norm*keys*unit*unit + c.squaredMu
		require.LessOrEqual(t, total, norm/(sigma*sigma)*(1+1e-4))
		require.Greater(t, total, norm/(sigma*sigma)*0.93)

		over := func(x, sigma float64) float64 {
			if sigma == 0 || x == 0 {
				require.True(t, p.KeysOnly || x == 0 || sigma == c.others || c.valueShare == 0)
				return 0
			}
			return (x / sigma) * (x / sigma)
		}
		worst := 0.0
		for _, at := range choices(&c) {
			worst = max(worst, movedBy(t, p, &c, at, keys, over))
		}
		require.LessOrEqual(t, worst, total)
		require.Greater(t, worst, 0.8*total)
	}
}

// choices are all that can become of FullKeys.
func choices(c *calibration) (all []choice) {
	if len(c.clips) < 2 {
		return []choice{{}}
	}
	for asked := range len(c.clips) + 1 {
		for clip := range asked {
			all = append(all, choice{clip, asked})
		}
	}
	return all
}

// movedBy returns Σ(Δ/σ)², over all that is released where at is chosen, of the users who move it
// most.
func movedBy(t *testing.T, p Params, c *calibration, at choice, keys float64, over func(x, sigma float64) float64) (worst float64) {
	full, mix := 0, int64(0)
	if !p.KeysOnly {
		full, mix = c.clips[at.clip].full, c.clips[at.clip].mix
	}
	// user returns what a user of l keys adds to a key, and to the shortfall, the others and what
	// is asked. With two passes all of his keys are hidden in both, or shown, whichever is more.
	user := func(l int) (count int, key [3]float64, all []float64) {
		k := min(l, p.most)
		if p.Passes == 2 {
			count = l
			key[0] = float64(weight(k)) * math.Sqrt(float64(k)/float64(l))
			all = []float64{0, unit * othersLimit}
		} else {
			count = k
			key[0] = float64(weight(k))
			all = []float64{0, float64(residual(l)) * float64(l)}
		}
		if !p.KeysOnly {
			x := clipped(count, full)
			w := weight(count)
			if p.Passes == 2 {
				w = 0
			}
			// a value is between −x and x
			key[1], key[2] = float64(rest(x, w, mix)), float64(x)
			if all[0] = float64(unit - x); l > count {
				all[0] = unit
			}
		}
		for _, asked := range c.clips[:at.asked] {
			short := unit - clipped(count, asked.full)
			if l > count {
				short = unit
			}
			all = append(all, float64(short))
		}
		return count, key, all
	}
	scales := []float64{c.shortfall, c.others}
	for j := range at.asked {
		scales = append(scales, c.question(j)*unit)
	}
	moved := func(n float64, key [3]float64) float64 {
		return n * (key[0]*key[0]*keys + over(key[1], c.rest(at)) + over(key[2], c.value(at)))
	}
	apart := func(all, instead []float64) (sum float64) {
		for i, scale := range scales {
			x := all[i]
			if instead != nil {
				x -= instead[i]
			}
			sum += over(x, scale)
		}
		return sum
	}
	sizes := []int{1, 2, 3, 4, 5, 8, 31, 32, 33, 99, 100, 101, 299, 300, 500, 4097}
	for _, l := range sizes {
		k, key, all := user(l)
		if p.Relation == budget.AddRemove {
			worst = max(worst, moved(float64(k), key)+apart(all, nil))
			continue
		}
		for _, other := range sizes {
			m, instead, total := user(other)
			for _, both := range []int{0, 1, min(k, m) / 2, min(k, m)} {
				differs := [3]float64{key[0] - instead[0], key[1] - instead[1], key[2] + instead[2]}
				worst = max(worst, moved(float64(k-both), key)+moved(float64(m-both), instead)+moved(float64(both), differs)+apart(all, total))
			}
		}
	}
	return worst
}

// Without the weights a count would have √2 times the noise at the same threshold; where users have
// one key each, a weight is the count.
func TestCountsUseTheWeights(t *testing.T) {
	const sigma = 4.22511
	p := Params{Epsilon: 1, Delta: 1e-6, CountShare: 0.5}
	require.InEpsilon(t, sigma*math.Sqrt(37), planned(p).StdDev, 3e-2)
	p.CountShare = 0.25
	require.InEpsilon(t, sigma*math.Sqrt(6.25/(15./64)+12.25/0.75), planned(p).StdDev, 4e-3)
	p.most = 1
	require.InEpsilon(t, sigma/math.Sqrt(63./64), planned(p).StdDev, 1e-4)
	p = p.normal()
	c := dptest.OK(p.calibrate())(t)
	require.Zero(t, c.rest(choice{}))
	// What Groups.Interval takes for granted of a kernel.
	for _, p := range []Params{plain, {Epsilon: 0.1, Delta: 1e-9}, {Epsilon: 3, Delta: 1e-4, most: 8}, {Epsilon: 1, Delta: 1e-2, Relation: budget.Replace}} {
		p = p.normal()
		c := dptest.OK(p.calibrate())(t)
		law := p.noises(c, choice{})
		require.LessOrEqual(t, float64(c.kernel.From)/unit, law.lift/law.mix)
		require.LessOrEqual(t, tailOf((float64(c.kernel.Threshold-c.kernel.From)-0.5)/c.weight), law.escape)
	}
}
