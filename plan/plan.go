package plan

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpsketch/dpsketch/internal/search"
)

// Plan is what can be said of a release before any data is touched.
type Plan struct {
	// Params are those asked about, with the Method that Auto chooses for so
	// many rows. Where that is Plain for want of rows, what follows is of the
	// method that needs more of them, but for Noise.
	Params Params
	// Centre and Scale are the parts of ρ that the centres and the scales will
	// take, if scales are estimated.
	Centre, Scale float64
	// Failure is a bound on the probability that some centre, scale or C misses
	// the data, for coordinates of scale at least Unit with means within 16
	// Units of 0, or of what most of the others have. C misses if it is more
	// than (5/β)^{1/3} times as long as the longest row, 10 by default, or clips
	// more than 13 times Clipped rows, β being the Failure of the Params, not
	// below 0.001. That holds for rows of which most are not 0 and the longest
	// are within 25 times the median, or all differ (depth.go). Rare events
	// need a Unit: without it, those of fewer than 4 to 8 times Clipped rows are
	// clipped to a mean of 0, and where they are more C is ten times as long as
	// they are, or more, with a probability of up to 0.03 (of several columns
	// 0.12, if they are shorter than 8·Dim Units). A release that fails is
	// private all the same, but its error may be many times larger.
	Failure float64
	// Clip is the part of ρ that C will take, and Clipped how many rows are to
	// be clipped, before the Margin. A mean may move by up to Clipped/n of what
	// these rows are beyond C, towards the centre: for symmetric rows that
	// cancels. Neither Noise nor [Mean.NoiseInterval] knows of it.
	Clip, Clipped float64
	// Enough reports whether n is large enough against √(d/ρ) that Failure is
	// at most that of the Params. From 512 columns on a sixth fewer rows do
	// where these are alike, and Auto counts on that.
	Enough bool
	// LeastRows is the least n that is enough.
	LeastRows int
	// Noise is the expected ℓₚ norm of the noise of the sum, and Plain what the
	// Gaussian mechanism would have that clips at [Params.NormBound]. Besides,
	// γ or a private number of rows adds noise of up to
	// 16·|mean − centre|/(n·√ρ) to each coordinate, where it gets 0.002 of ρ as
	// usual: that matters where few coordinates have means far from the centre,
	// and [Mean.StdDev] knows it. Scales count as known: TwoPass cannot see those
	// of rare columns, and has 1.8 times as much over the words of a text.
	Noise, Plain float64
	// Sampling is the ℓₚ norm of the error of a sample of n rows of independent
	// Gaussian coordinates: no release is better than that to the mean behind
	// the sample.
	Sampling float64
}

// String tells what to expect, and warns.
func (o Plan) String() string {
	if !o.Enough {
		return fmt.Sprintf("too few rows: want at least %d, or a larger Rho, Failure or Unit, or a smaller Dim; a quantile misses with probability up to %.2g; by %v, noise %.4g",
			o.LeastRows, o.Failure, o.Params.Method, o.Noise)
	}
	return fmt.Sprintf("%v: noise %.4g (plain Gaussian mechanism %.4g), sampling error %.4g; %.2g of ρ for centres, %.2g for scales, %.2g for C; failure ≤ %.2g; "+
		"clips about %.3g rows, and what they lose moves skewed means towards the centre", o.Params.Method, o.Noise, o.Plain, o.Sampling, o.Centre, o.Scale, o.Clip, o.Failure, o.Clipped)
}

// Plan says what a release of these Params, with Rows given, can be expected to do. scales are
// guesses of the root mean squares of the coordinates around the centre: Dim of them, or one for
// all, or none, for which Unit stands (Max/2 if NonNegative); those below Unit/16 count as that.
// The error wraps [ErrParams].
func (p Params) Plan(scales ...float64) (Plan, error) {
	if err := p.validate(); err != nil {
		return Plan{}, err
	}
	if p.Rows == 0 {
		return Plan{}, bad("Rows", p.Rows, "a number of rows to plan with")
	}
	all, err := p.guesses(scales)
	if err != nil {
		return Plan{}, err
	}
	n, q := float64(p.Rows), p.adaptable(false)
	o := p.planAt(n, q.spreadOf(all))
	o.LeastRows = int(search.Least(1, func(n int64) bool { return q.stagesAt(float64(n)).Enough }))
	return o, nil
}

// planAt is the Plan for n rows and guesses of the scales, but for LeastRows.
func (p Params) planAt(n float64, guessed spread) Plan {
	o := p.adaptable(false).stagesAt(n)
	chosen := p.resolved().chosen(n, false, nil)
	o.Params, o.Params.Method = p, chosen.Method
	o.Noise, o.Plain, o.Sampling = chosen.errorsOf(n, guessed, o, nil)
	return o
}

// RowsFor returns how many rows a release needs for the Noise of its Plan to be at most the
// given ℓₚ norm, and to be Enough for the method, unless that is Plain; one row less does not do.
// Rows need not be given; scales are those of Plan. The noise falls as 1/n, the error of the sample
// as 1/√n. The error wraps [ErrParams], also where 2³⁶ rows would not do.
func (p Params) RowsFor(noise float64, scales ...float64) (int, error) {
	if err := p.validate(); err != nil {
		return 0, err
	}
	if !(noise > 0) {
		return 0, bad("noise", noise, "a positive number")
	}
	all, err := p.guesses(scales)
	if err != nil {
		return 0, err
	}
	guessed := p.adaptable(false).spreadOf(all)
	enough := func(n int64) bool {
		o := p.planAt(float64(n), guessed)
		return (o.Enough || o.Params.Method == Plain) && o.Noise <= noise
	}
	if !enough(maxRows) {
		return 0, bad("noise", noise, "more, as 2³⁶ rows have more than that")
	}
	return int(search.Least(1, enough)), nil
}

// spread is what planning needs of the scales, for rows of independent Gaussian coordinates.
type spread struct {
	exponent float64 // of the scale, to which the noise of a coordinate is in proportion
	// ‖y‖² has this mean and, but for a factor 2, this variance in units of the square of unit
	unit, mean, squares float64
	shaped, plain       float64 // ℓₚ norms of errors in proportion to noise, and to the scales
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
	out.shaped, out.plain = grow*normError(shaped, p.P), grow*normError(scales, p.P)
	return out
}

// norm returns a quantile of ‖y‖: that of the χ² law with its mean and variance.
func (s spread) norm(quantile float64) float64 {
	degrees := s.mean * s.mean / s.squares
	return s.unit * math.Sqrt(s.mean*distuv.ChiSquared{K: degrees}.Quantile(quantile)/degrees)
}

// errorsOf returns the ℓₚ norms of the noise of the sum, of that of the plain mechanism, and of the
// error of the sample.
func (p Params) errorsOf(n float64, guessed spread, o Plan, public *ranges) (noise, plain, sampling float64) {
	c := guessed.norm(1 - min(max(o.Clipped/n, 0x1p-40), 0.5))
	c *= p.marginFor(c, guessed.norm(0.5), o.Clipped, n)
	unit := p.sumSensitivity() / (n * math.Sqrt(2*p.Rho))
	looked := o.Scale
	if guessed.exponent == 0 && p.Steps.Scaling == AutoScaling && p.Dim >= leastDim {
		// then no more than the pilot is paid for
		looked *= pilotSize / float64(p.Dim)
	}
	left := 1 - min(o.Centre+looked+o.Clip, 0.99)
	noise = unit * c / math.Sqrt(left) * guessed.shaped
	q := p
	q.Steps.Centre = Origin
	plain = unit / p.sumSensitivity() * q.sumSensitivity() * public.bound(p) * math.Pow(float64(p.Dim), 1/p.P) * normError([]float64{1}, p.P)
	if p.Method == Plain {
		noise = plain
	}
	return noise, plain, guessed.plain / math.Sqrt(n)
}

// guesses returns Dim scales, or one that stands for all.
func (p Params) guesses(scales []float64) ([]float64, error) {
	switch {
	case len(scales) == 0 && p.NonNegative:
		scales = []float64{p.max() / 2}
	case len(scales) == 0:
		scales = []float64{p.unit()}
	case len(scales) != 1 && len(scales) != p.Dim:
		return nil, bad("scales", len(scales), "none, one or as many as Dim")
	}
	all := slices.Clone(scales)
	for i := range all {
		if !(all[i] > 0 && all[i] <= maxMax) {
			return nil, bad("scales", all[i], "positive numbers of at most 2¹⁰⁰")
		}
		all[i] = max(all[i], leastUnits*p.unit())
	}
	return all, nil
}

// exponent returns the power of the scale that the noise of a coordinate is in proportion to:
// 2/(p+2), or 0 if scaling would not pay.
func (p Params) exponent(scales []float64) float64 {
	if p.Steps.Scaling == Unscaled || p.Steps.Scaling == AutoScaling && noiseRatio(scales, p.P) > scaleGain {
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
	stage := func(l, gain, q, m, share float64, ch change) float64 {
		most, safe := share*p.Rho, max(l-min(gain, certain), leastRank)
		if m*need(safe, q, n, ch) > most {
			o.Enough = false
			o.Failure += math.Exp(safe-reach(most/m, q, n, ch)) * p.Failure / stages
		} else {
			o.Failure += p.Failure / stages
		}
		return min(m*need(max(l-gain, leastRank), q, n, ch)/p.Rho, share)
	}
	d := float64(p.Dim)
	gain := 0.0
	if p.Method == Adaptive && p.Dim >= leastDim {
		gain = typicalGain
	}
	r := &run{p: p}
	if p.Method != Plain && p.Method != TwoPass {
		if p.Steps.Centre != Origin {
			a := r.centreAxis()
			l := logSum(d, p.Failure/stages, centreSlope(a, min(moderate*p.Unit, p.Max)))
			o.Centre = max(stage(l, gain, 0.5, d, p.planned(p.Shares.Centre), p.ranks()), min(leastShare, p.planned(p.Shares.Centre)))
		}
		if p.Steps.Scaling != Unscaled && p.Steps.Spread != Means {
			o.Scale = stage(logSum(d, p.Failure/stages, r.scaleSlope()), gain, 0.5, d, p.planned(p.Shares.Scale), p.ranks())
		}
	}
	o.clip(p, n)
	o.Failure = min(o.Failure, 1)
	return o
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
		o.Failure += p.Failure / stages
	}
}

// planned returns the most that a stage may take: its given share, or mostShare.
func (p Params) planned(share float64) float64 {
	if share > 0 {
		return share
	}
	return mostShare
}
