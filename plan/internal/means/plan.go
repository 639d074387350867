package means

import (
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/internal/quantile"
	"gonum.org/v1/gonum/stat/distuv"
)

// Plan is what can be said of a release before any data is touched. Package plan documents it.
type Plan struct {
	Method                       Method // that Auto chooses
	StdDev                       float64
	Centre, Scale, Clip, Clipped float64
	Failure                      float64
	Enough                       bool
	LeastRows                    int
	Noise, Plain, Sampling       float64
}

// Plan says what a release of these Params can be expected to do, for guesses of the scales: Dim of
// them, one for all, or none.
func (p Params) Plan(scales []float64) (Plan, error) {
	all, err := p.guesses(scales)
	if err != nil {
		return Plan{}, err
	}
	if p.Rows == 0 {
		return Plan{}, bad("Rows", p.Rows, "a number of rows to plan with")
	}
	q := p.adaptable(false)
	o := p.planAt(float64(p.Rows), q.spreadOf(all))
	if len(scales) == 0 {
		o = o.unscaled(p.Relative)
	}
	o.LeastRows = int(exact.LeastInt(1, func(n int64) bool { return q.stagesAt(float64(n)).Enough }))
	return o, nil
}

// unscaled returns the Plan without what depends on scales that nobody gave. The noise of Plain
// depends on them only if errors are relative, all other errors only if they are not.
func (o Plan) unscaled(relative bool) Plan {
	nan := math.NaN()
	if relative {
		o.Plain = nan
	} else {
		o.Sampling = nan
	}
	if relative == (o.Method == Plain) {
		o.StdDev, o.Noise = nan, nan
	}
	return o
}

// Fit returns the least number of rows for which the noise is at most the given ℓₚ norm, and Enough
// for the method, unless that is Plain.
func (p Params) Fit(noise float64, scales []float64) (int, error) {
	all, err := p.guesses(scales)
	if err != nil {
		return 0, err
	}
	if len(scales) == 0 && !p.Relative && p.Method != Plain {
		return 0, bad("scales", len(scales), "one for all or as many as Dim: the noise depends on them")
	}
	if !(noise > 0) {
		return 0, bad("noise", noise, "a positive number")
	}
	guessed := p.adaptable(false).spreadOf(all)
	enough := func(n int64) bool {
		o := p.planAt(float64(n), guessed)
		return (o.Enough || o.Method == Plain) && o.Noise <= noise
	}
	if !enough(MaxRows) {
		return 0, bad("noise", noise, "more, as 2³⁶ rows have more than that")
	}
	return int(exact.LeastInt(1, enough)), nil
}

// planAt is the Plan for n rows and guesses of the scales, without LeastRows.
func (p Params) planAt(n float64, guessed spread) Plan {
	o := p.adaptable(false).stagesAt(n)
	chosen := p.Resolved().chosen(n, false, nil)
	o.Method = chosen.Method
	o.Noise, o.Plain, o.Sampling = chosen.errorsOf(n, guessed, o, nil, false)
	o.StdDev = o.Noise / math.Pow(float64(p.Dim), 1/chosen.P) / normError([]float64{1}, chosen.P)
	return o
}

// spread is what planning needs of the scales, for rows of independent Gaussian coordinates.
type spread struct {
	exponent float64 // of the scale, to which the noise of a coordinate is in proportion
	// ‖y‖² has this mean and, up to a factor of 2, this variance in units of the square of unit
	unit, mean, squares float64
	// ℓₚ norms of errors in proportion to noise and to the scales, and of an error of 1 in each
	// coordinate
	shaped, plain, even float64
}

// spreadOf returns the spread of scales that each stand for d/len(scales) coordinates, for resolved
// Params.
func (p Params) spreadOf(scales []float64) spread {
	each := float64(p.Dim) / float64(len(scales))
	out := spread{exponent: p.exponent(scales)}
	out.unit = math.Pow(scales[0], 1-out.exponent)
	shaped := make([]float64, len(scales))
	for i, s := range scales {
		shaped[i] = math.Pow(s, out.exponent)
		v := s / shaped[i] / out.unit
		out.mean, out.squares = out.mean+v*v*each, out.squares+v*v*v*v*each
	}
	grow := math.Pow(each, 1/p.P)
	one := make([]float64, len(scales))
	for i, s := range scales {
		one[i] = 1
		if p.Relative {
			shaped[i], one[i] = shaped[i]/s, 1/s
		}
	}
	out.shaped, out.even, out.plain = grow*normError(shaped, p.P), grow*normError(one, p.P), grow*normError(scales, p.P)
	if p.Relative {
		out.plain = math.Pow(float64(p.Dim), 1/p.P) * normError([]float64{1}, p.P)
	}
	return out
}

// norm returns a quantile of ‖y‖: that of the χ² distribution with its mean and variance.
func (s spread) norm(level float64) float64 {
	degrees := s.mean * s.mean / s.squares
	return s.unit * math.Sqrt(s.mean*distuv.ChiSquared{K: degrees}.Quantile(level)/degrees)
}

// errorsOf returns the ℓₚ norms of the noise of the sum, of that of the plain mechanism, and of the
// error of the sample.
func (p Params) errorsOf(n float64, guessed spread, o Plan, public *ranges, sparse bool) (noise, plain, sampling float64) {
	c := guessed.norm(1 - min(max(o.Clipped/n, 0x1p-40), 0.5))
	c *= p.marginFor(c, guessed.norm(0.5), o.Clipped, n, p.noiseRows())
	unit := p.sumSensitivity() / (n * math.Sqrt(2*p.Rho))
	looked := o.Scale
	if guessed.exponent == 0 && p.Steps.Scaling == AutoScaling && p.Dim >= leastDim {
		// then no more than the pilot is paid for
		looked *= pilotSize / float64(p.Dim)
	}
	left := 1 - min(o.Centre+looked+o.Clip, 0.99)
	noise = unit * c / math.Sqrt(left) * guessed.shaped
	q := p
	q.Method, q.Steps.Centre = Plain, Origin
	plain = unit / p.sumSensitivity() * q.sumSensitivity() * public.bound(q, sparse) * guessed.even
	if p.Method == Plain {
		noise = plain
	}
	return noise, plain, guessed.plain / math.Sqrt(n)
}

// guesses returns Dim scales, or one that stands for all.
func (p Params) guesses(scales []float64) ([]float64, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	p = p.filled()
	switch {
	case len(scales) == 0 && p.NonNegative:
		scales = []float64{p.Max / 2}
	case len(scales) == 0:
		scales = []float64{p.Resolution}
	case len(scales) != 1 && len(scales) != p.Dim:
		return nil, bad("scales", len(scales), "none, one or as many as Dim")
	}
	all := slices.Clone(scales)
	for i := range all {
		if !(all[i] > 0 && all[i] <= maxMax) {
			return nil, bad("scales", all[i], "positive numbers of at most 2¹⁰⁰")
		}
		all[i] = max(all[i], leastPart*p.Resolution)
	}
	return all, nil
}

// exponent returns the power of the scale that the noise of a coordinate is in proportion to:
// 2/(p+2), or 0 if scaling would not pay.
func (p Params) exponent(scales []float64) float64 {
	switch {
	case p.Steps.Scaling == Unscaled:
		return 0
	case p.Relative:
		return 1
	}
	if p.Steps.Scaling == AutoScaling && noiseRatio(scales, p.P) > scaleGain {
		return 0
	}
	return 2 / (p.P + 2)
}

// typicalGain is how much less L is behind a pilot (window.go) than without: from 5 where centres
// are all alike to 2 where they differ in scale by factors of a thousand. Scales that differ by a
// factor of 64 have none. So the shares and Auto count on it, and Failure does not.
const typicalGain = 3

// stagesAt plans the shares for n rows, with a Failure that counts on no gain.
func (p Params) stagesAt(n float64) Plan { return p.stagesBehind(n, 0) }

// stagesBehind plans the shares for n rows, with a Failure that counts on a gain of up to certain.
func (p Params) stagesBehind(n, certain float64) Plan {
	o := Plan{Enough: true}
	d, ch, gain := float64(p.Dim), p.ranks(), 0.0
	if p.times() > 1 {
		gain = typicalGain
	}
	stage := func(slope, least, times float64) float64 {
		l := quantile.LogSum(d, p.Failure/stages, slope)
		share := func(l float64) float64 {
			return min(max(p.medianBudget(d, l, n, ch)/p.Rho, least), mostShare)
		}
		safe := max(l-min(gain, certain), leastRank)
		have := quantile.Reach(share(safe)*p.Rho/d, 0.5, n, ch)
		o.Enough = o.Enough && d*quantile.Need(safe, 0.5, n, ch) <= mostShare*p.Rho
		o.Failure += times * math.Exp(safe-have) * max(have/safe, 1) * p.Failure / stages
		return share(l - gain)
	}
	if p.Method != Plain && p.Method != TwoPass {
		if p.Steps.Centre != Origin {
			o.Centre = stage(p.centreSlope(min(moderate*p.Resolution, p.Max)), leastShare, 2)
		}
		if t, rho := p.relativeTail(d, n, relativeShare, ch); p.Relative {
			o.Scale = min(rho/p.Rho, mostShare)
			o.Enough = o.Enough && rho <= mostShare*p.Rho
			o.Failure += 2 * math.Exp(p.relativeNeed(d, t)-quantile.Reach(o.Scale*p.Rho/d, 1-t, n, ch)) * p.Failure / stages
		} else if p.Steps.Scaling != Unscaled {
			o.Scale = stage(p.scaleSlope(), 0, p.times())
		}
	}
	o.clip(p, n)
	o.Failure = min(o.Failure, 1)
	return o
}

// times returns how often a step may be taken: behind a pilot scales are released in two parts, and
// C may be released again for rows that are scaled. So may a centre, with and without a pilot.
func (p Params) times() float64 {
	if p.Method == Adaptive && p.Dim >= leastDim && !p.Relative {
		return 2
	}
	return 1
}

// clip plans the choice of C, the last of two.
func (o *Plan) clip(p Params, n float64) {
	if p.Method == Plain {
		return
	}
	passes := []pass{only}
	if p.Method == TwoPass {
		passes = []pass{first, second}
	}
	for _, at := range passes {
		d := p.depth(n, at)
		o.Clip, o.Clipped = o.Clip+(d.rho+d.typical)/p.Rho, d.rows
		if l, have := p.depthNeed(), math.Sqrt(2*d.rho)*d.rows; have < l*(1-0x1p-30) {
			o.Enough = false
			o.Failure += math.Exp(l-have) * p.Failure / stages
			continue
		}
		o.Failure += p.times() * farLimit
	}
}

// normError returns (Σ E|N(0, σᵢ²)|^p)^{1/p}: E|Z|^p = 2^{p/2}·Γ((p+1)/2)/√π.
func normError(sigmas []float64, p float64) float64 {
	top := 0.0
	for _, s := range sigmas {
		top = max(top, s)
	}
	sum := 0.0
	for _, s := range sigmas {
		sum += math.Pow(s/top, p)
	}
	moment, _ := math.Lgamma((p + 1) / 2)
	return top * math.Pow(sum, 1/p) * math.Sqrt2 * math.Exp((moment-math.Log(math.Pi)/2)/p)
}
