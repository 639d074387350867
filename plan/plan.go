package plan

import "fmt"

// Plan is what is known before a release.
type Plan struct {
	// Params are filled in, with the Method that Auto chooses. If that is Plain
	// for want of rows, all fields except StdDev and Noise describe the method
	// that needs more.
	Params Params
	// StdDev is the standard deviation of the noise of a coordinate: the mean
	// of order p over all, p = 2 or if NonNegative 1. Errors are in the units
	// of the data, or, if Relative, in standard deviations of their columns;
	// NaN if they depend on scales and none were given.
	StdDev float64
	// Bytes is the largest size of the encoding of the Mean.
	Bytes int
	// Centre, Scale and Clip are the parts of ρ that these steps will take.
	Centre, Scale, Clip float64
	// Clipped is the number of rows to be clipped, at most. A mean may move by up
	// to Clipped/n of what these rows exceed C by.
	Clipped float64
	// Failure is a bound on the probability of a gross error: that some centre or
	// scale lies outside the data, or that C is more than 20 times as long as the
	// longest row or clips more than 13 times Clipped rows. It holds for
	// coordinates like normal ones of scale at least Resolution with means within
	// 16 Resolutions of 0 or of most others (if it is 0, of at most 1000 standard
	// deviations), if most rows are not 0, and the longest are within 25 times the
	// median or all differ.
	Failure float64
	// Enough reports whether each of three steps fails with a probability of at
	// most 0.0017.
	Enough bool
	// LeastRows is the least n that is enough.
	LeastRows int
	// Noise is the expected ℓₚ norm of the noise of the sum, and Plain that of the
	// Gaussian mechanism that clips at √d·Max. The divisor adds up to 16·|mean −
	// centre|/(n·√ρ) to each coordinate. Scales count as known: TwoPass has 1.8
	// times this noise over the words of a text.
	Noise, Plain float64
	// Sampling is the ℓₚ norm of the error of a sample of n rows of
	// independent Gaussian coordinates.
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

// Plan says what to expect of a release with Rows. scales are guesses of the root mean squares of
// the coordinates around the centre: Dim numbers, one for all, or none. Rows are dense, or sparse
// if the Method is TwoPass. The error wraps [ErrParams].
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
// ℓₚ norm and which are Enough. The error wraps [ErrParams], also without scales that the Noise
// depends on, and if 2³⁶ rows are not enough.
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
