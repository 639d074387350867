package plan

import (
	"fmt"
	"math"

	"github.com/dpsketch/dpsketch/internal/search"
)

// Outlook is what can be said of a release before any data is touched.
type Outlook struct {
	// Centre and Scale are the parts of ρ that the centres and the scales will
	// take, if scales are estimated.
	Centre, Scale float64
	// Failure is a bound on the probability that some centre, scale or C misses
	// the data, for coordinates of scale at least Unit with means within 16
	// Units of 0, or of what most of the others have. A release that fails is
	// private all the same, but its error may be many times larger.
	Failure float64
	// Enough reports whether n is large enough against √(d/ρ) that Failure is
	// at most that of the Params.
	Enough bool
	// LeastRows is the least n that is enough.
	LeastRows int
	// Noise is the expected ℓₚ norm of the noise of the sum, and Plain what the
	// Gaussian mechanism would have that clips at [Params.NormBound]. Besides,
	// γ or a private number of rows adds noise of up to
	// 16·|mean − centre|/(n·√ρ) to each coordinate, where it gets 0.002 of ρ as
	// usual: that matters where few coordinates have means far from the centre,
	// and [Mean.StdDev] knows it.
	Noise, Plain float64
	// Sampling is the ℓₚ norm of the error of a sample of n rows of independent
	// Gaussian coordinates: no release is better than that to the mean behind
	// the sample.
	Sampling float64
}

// String tells what to expect, and warns.
func (o Outlook) String() string {
	if !o.Enough {
		return fmt.Sprintf("too few rows: want at least %d, or a larger Rho, Failure or Unit, or a smaller Dim; a quantile misses with probability up to %.2g", o.LeastRows, o.Failure)
	}
	return fmt.Sprintf("noise %.4g (plain Gaussian mechanism %.4g), sampling error %.4g; %.2g of ρ for centres, %.2g for scales; failure ≤ %.2g",
		o.Noise, o.Plain, o.Sampling, o.Centre, o.Scale, o.Failure)
}

// Plan says what a release of these Params, with Rows given, can be expected to do. scales are
// guesses of the root mean squares of the coordinates around the centre: Dim of them, or one for
// all, or none, for which Unit stands (Max/2 if NonNegative); those below Unit/16 count as that.
// The error wraps [ErrParams].
func (p Params) Plan(scales ...float64) (Outlook, error) {
	if err := p.validate(); err != nil {
		return Outlook{}, err
	}
	if p.Rows == 0 {
		return Outlook{}, bad("Rows", p.Rows, "a number of rows to plan with")
	}
	all, err := p.guesses(scales)
	if err != nil {
		return Outlook{}, err
	}
	p = p.resolved()
	o := p.stagesAt(float64(p.Rows))
	o.LeastRows = int(search.Least(1, func(n int64) bool { return p.stagesAt(float64(n)).Enough }))
	n := float64(p.Rows)
	root := math.Sqrt(2 * p.Rho)
	plain, shaped, errors := make([]float64, p.Dim), make([]float64, p.Dim), make([]float64, p.Dim)
	limit, e, gain := 0.0, p.exponent(all), 1-min(o.Centre+o.Scale, 0.99)
	for _, s := range all {
		limit += math.Pow(s, 2-2*e)
	}
	for i, s := range all {
		plain[i] = p.sumSensitivity() * p.NormBound() / (n * root)
		shaped[i] = p.sumSensitivity() * math.Sqrt(limit/gain) * math.Pow(s, e) / (n * root)
		errors[i] = s / math.Sqrt(n)
	}
	if p.Method == Plain {
		shaped = plain
	}
	o.Noise, o.Plain, o.Sampling = normError(shaped, p.P), normError(plain, p.P), normError(errors, p.P)
	return o, nil
}

// guesses returns Dim scales.
func (p Params) guesses(scales []float64) ([]float64, error) {
	switch {
	case len(scales) == 0 && p.NonNegative:
		scales = []float64{p.max() / 2}
	case len(scales) == 0:
		scales = []float64{p.unit()}
	case len(scales) != 1 && len(scales) != p.Dim:
		return nil, bad("scales", len(scales), "none, one or as many as Dim")
	}
	all := make([]float64, p.Dim)
	for i := range all {
		all[i] = scales[i%len(scales)]
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
// are all alike to 2 where they differ in scale by factors of a thousand.
const typicalGain = 3

// stagesAt plans the shares for n rows.
func (p Params) stagesAt(n float64) Outlook {
	o := Outlook{Enough: true}
	stage := func(l, q, m, share float64, ch change) float64 {
		wanted := m * need(max(l, leastRank), q, n, ch)
		if most := share * p.Rho; wanted > most {
			o.Enough = false
			o.Failure += math.Exp(max(l, leastRank)-reach(most/m, q, n, ch)) * p.Failure / stages
			return share
		}
		o.Failure += p.Failure / stages
		return wanted / p.Rho
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
			l := logSum(d, p.Failure/stages, centreSlope(a, min(moderate*p.Unit, p.Max))) - gain
			o.Centre = max(stage(l, 0.5, d, p.planned(p.Shares.Centre), p.ranks()), min(leastShare, p.planned(p.Shares.Centre)))
		}
		if p.Steps.Scaling != Unscaled && p.Steps.Spread != Means {
			o.Scale = stage(logSum(d, p.Failure/stages, r.scaleSlope())-gain, 0.5, d, p.planned(p.Shares.Scale), p.ranks())
		}
	}
	if p.Method != Plain {
		r.n = n
		share := p.Shares.Clip
		if share == 0 {
			share = clipPart
		}
		stage(logSum(1, p.Failure/stages, 0.1), r.clipQuantile(share*p.Rho), 1, share, either)
	}
	o.Failure = min(o.Failure, 1)
	return o
}

// planned returns the most that a stage may take: its given share, or mostShare.
func (p Params) planned(share float64) float64 {
	if share > 0 {
		return share
	}
	return mostShare
}
