package plan

import "fmt"

// Plan is what is known about a release before any data is touched.
type Plan struct {
	// Params are those of the call with every default filled in, and with the
	// Method that Auto chooses for these Rows. If that is Plain because there
	// are too few rows, all other fields except StdDev and Noise describe the
	// method that needs more rows.
	Params Params
	// StdDev is the standard deviation of the noise of a coordinate: the mean of
	// order p over all of them, p = 2 or if NonNegative 1. Errors are in the
	// units of the data, or, if Relative, in standard deviations of their
	// columns. An error is NaN if it depends on scales and none were given:
	// StdDev, Noise and Sampling, or, if Relative, Plain, and Noise of the Method
	// Plain.
	StdDev float64
	// Bytes is the largest size of the encoding of the Mean.
	Bytes int
	// Centre, Scale and Clip are the parts of ρ that the centres, the scales, if
	// they are estimated, and the clipping norm C will take.
	Centre, Scale, Clip float64
	// Clipped is the number of rows to be clipped, at most. A mean
	// may move towards the centre, by up to Clipped/n of what these rows exceed
	// C by; for symmetric rows that cancels. Neither Noise nor
	// [Mean.NoiseInterval] includes it.
	Clipped float64
	// Failure is a bound on the probability of a gross error: that some centre
	// or scale lies outside the data, or C misses. Where n is several times
	// LeastRows it is 0.0002 (from 512 columns on 0.0004), all of it for C. It
	// holds for coordinates that spread like normal ones of scale at least
	// Resolution, with means within 16 times the Resolution of 0, or of the
	// mean that most of the others have; if Resolution was 0, with means of at
	// most 1000 standard deviations. C misses if it is
	// more than 20 times as long as the longest row, or clips more than 13
	// times Clipped rows. That holds if most rows are not 0, and the longest
	// rows are within 25 times the median, or all differ (limit.go). Rare
	// events need a Resolution: without it, events in fewer than 4 to 9 times
	// Clipped rows are clipped to a mean of 0. If there are more, C is at least
	// ten times as long as they are with a probability of at most 0.03 (for
	// more than 64 columns 0.12, if they are shorter than 8·Dim·Resolution). A
	// release that fails is private, too, but its error may be many times
	// larger: with a larger n or Rho fewer centres and scales fail.
	Failure float64
	// Enough reports whether n is so large compared with √(d/ρ) that each of
	// three steps fails with a probability of at most 0.0017. From 512 columns
	// on, a sixth fewer rows suffice if the columns are alike, and Auto relies
	// on that.
	Enough bool
	// LeastRows is the least n that is enough.
	LeastRows int
	// Noise is the expected ℓₚ norm of the noise of the sum, and Plain that of
	// the Gaussian mechanism that clips at √d·Max. In addition, γ or a private
	// number of rows adds noise of up to 16·|mean − centre|/(n·√ρ) to each
	// coordinate. That matters where few coordinates have means far from the
	// centre, and [Mean.StdDev] includes it. Scales count as known: TwoPass
	// cannot see those of rare columns, and has 1.8 times this noise over the
	// words of a text.
	Noise, Plain float64
	// Sampling is the ℓₚ norm of the error of a sample of n rows of independent
	// Gaussian coordinates: no release is nearer than that to the mean of the
	// distribution.
	Sampling float64
}

// String says what to expect, and warns.
func (o Plan) String() string {
	if !o.Enough {
		return fmt.Sprintf("too few rows: want at least %d, or a larger Rho or Resolution, or a smaller Dim; a quantile misses with probability up to %.2g; by %v, noise %s",
			o.LeastRows, o.Failure, o.Params.Method, known(o.Noise))
	}
	return fmt.Sprintf("%v: noise %s (plain Gaussian mechanism %s), sampling error %s; %.2g of ρ for centres, %.2g for scales, %.2g for C; failure ≤ %.2g; "+
		"clips about %.3g rows, and what they lose moves skewed means towards the centre", o.Params.Method, known(o.Noise), known(o.Plain), known(o.Sampling), o.Centre, o.Scale, o.Clip, o.Failure, o.Clipped)
}

// known returns an error in words.
func known(x float64) string {
	if x != x {
		return "unknown without scales"
	}
	return fmt.Sprintf("%.4g", x)
}

// Plan says what to expect of a release of these Params, in which Rows must be given. scales are
// guesses of the root mean squares of the coordinates around the centre: Dim numbers, or one for
// all. Without any, errors that depend on them are NaN. Scales below Resolution/16 count as that.
// The Plan is for dense rows, or for sparse ones if the Method is TwoPass. The error wraps
// [ErrParams].
func (p Params) Plan(scales ...float64) (Plan, error) {
	if err := p.validate(); err != nil {
		return Plan{}, err
	}
	of, err := p.engine().Plan(scales)
	if err != nil {
		return Plan{}, err
	}
	p = paramsOf(p.engine().Resolved())
	p.Method, p.Workers = Method(of.Method), 0
	return Plan{
		Params: p, StdDev: of.StdDev, Bytes: fixedSize + 6*8*p.Dim, Centre: of.Centre, Scale: of.Scale, Clip: of.Clip, Clipped: of.Clipped,
		Failure: of.Failure, Enough: of.Enough, LeastRows: of.LeastRows, Noise: of.Noise, Plain: of.Plain, Sampling: of.Sampling,
	}, nil
}

// Fit returns the Params with the least Rows for which the Noise of the Plan is at most the given
// ℓₚ norm and which are Enough for the method, unless that is Plain. scales are those of Plan. The
// noise falls as 1/n, the error of the sample as 1/√n. The error wraps [ErrParams], also without
// scales, unless errors are Relative or the Method is Plain, and if 2³⁶
// rows are not enough.
func (p Params) Fit(noise float64, scales ...float64) (Params, error) {
	if err := p.validate(); err != nil {
		return Params{}, err
	}
	rows, err := p.engine().Fit(noise, scales)
	if err != nil {
		return Params{}, err
	}
	p.Rows = rows
	return p, nil
}
