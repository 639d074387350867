package means

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/internal/quantile"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// The improved PLAN, and Algorithm 17 as it stands with its own steps selected.
//
// 1. A pilot of 64 random coordinates: their centres and scales, at the budget per coordinate that
//    they need.
// 2. Centres of all others, with a base measure that has learnt from the pilot.
// 3. If scaling pays, scales of all others, likewise.
// 4. C, a quantile of the norms of the centred and scaled rows, and γ, the mean of min(1, C/‖y‖).
// 5. The sum of the clipped rows, with Gaussian noise from all that is left of the budget.
//
// Each is released, and may depend on what was released before: see run.go.

const (
	pilotSize  = 64
	leastDim   = 8 * pilotSize // below, a pilot costs more than it gains
	leastShare = 0.02          // of ρ for the centres, below which their own error would show
	mostShare  = 0.45          // of ρ for the centres, and for the scales
	pilotShare = 0.10          // of ρ for the pilot, at most
	gammaShare = 0.002         // of ρ for γ
	leastRank  = 8             // the least L: a median then has an error of .22σ
	spareNeed  = 15            // what L is more, so that no median misses,
	spareShare = 0.01          // as far as a step affords that for this part of ρ
	// Units that a mean is assumed to be away from 0 where the whole of [−Max, Max] would cost too
	// much
	moderate   = 16
	scaleGain  = 0.97 // scaling must bring the noise below that
	heavyRatio = 1.3  // C²/(d·median σ̂²) from which on scales pay that the pilot did not see
	// of Σσ̂^{2p/(p+2)}, the square of the norm: a coordinate that has more is heavy
	zeroWeight = 1 << 24 // of a centre of 0 if no Resolution is given, in cells: an octave
	heavyPart  = 0.005
	heavyShare = 0.01 // of ρ for the centres of heavy coordinates
	stages     = 3    // that may fail, each with probability β/3
)

// adaptive runs Adaptive and Thesis.
func (r *run) adaptive() (*Mean, error) {
	pilot, rest := r.choosePilot()
	if err := r.pilot(pilot, len(rest) > 0); err != nil {
		return nil, err
	}
	if err := r.centres(pilot, rest); err != nil {
		return nil, err
	}
	scaled := r.scalingPays(pilot, len(rest))
	if scaled {
		if err := r.scaleAll(pilot, rest); err != nil {
			return nil, err
		}
	}
	limit, err := r.limit(r.depth(only))
	if err != nil {
		return nil, err
	}
	if !scaled && r.escaped(limit/r.margin, pilot) {
		if err := r.scaleAll(pilot, rest); err != nil {
			return nil, err
		}
		if limit, err = r.limit(r.depth(only)); err != nil {
			return nil, err
		}
	}
	return r.clippedMean(limit)
}

// scaleAll releases all scales, and scales by them.
func (r *run) scaleAll(pilot, rest []int) error {
	if err := r.scales(pilot, rest); err != nil {
		return err
	}
	if err := r.recentre(); err != nil {
		return err
	}
	r.shape()
	return nil
}

// choosePilot splits the coordinates into the pilot, chosen at random, and the others. Below
// leastDim, and where there is nothing to decide, all are the pilot.
func (r *run) choosePilot() (pilot, rest []int) {
	order := exact.Indices(r.p.Dim)
	learn := r.p.Method == Adaptive && !r.p.Relative && r.p.Dim >= leastDim && r.p.Steps.Base == quantile.AutoBase
	if !learn {
		return order, nil
	}
	return exact.DrawSubset(order, pilotSize, r.samplers[0].Src.Uint64N), order[pilotSize:]
}

// pilot releases the centres and, if they may be used, the scales of the listed coordinates: all,
// or the part that is to teach.
func (r *run) pilot(list []int, part bool) error {
	most := mostShare
	if part {
		most = pilotShare
	}
	m := float64(len(list))
	if r.p.Steps.Centre == Median {
		rho := r.fixPart(r.p.Shares.Centre, most, m, func() float64 {
			moderately := min(moderate*r.p.Resolution, r.p.Max)
			cautious := r.stageNeed(m, r.p.centreSlope(r.p.Max))
			wanted := min(cautious, max(most/2*r.p.Rho, r.stageNeed(m, r.p.centreSlope(moderately))))
			if part {
				return wanted
			}
			return max(wanted, leastShare*r.p.Rho)
		})
		if err := r.medians(list, rho, r.p.centreBase()); err != nil {
			return err
		}
	}
	if r.given != nil || r.p.Steps.Scaling == Unscaled && !part {
		return r.stop()
	}
	if r.p.Relative {
		return r.relativeSpreads()
	}
	rho := r.fixPart(r.p.Shares.Scale, most, m, func() float64 { return r.stageNeed(m, r.p.scaleSlope()) })
	return r.spreads(list, rho, r.p.scaleAxis().Plain())
}

// stageNeed returns the budget of medians of m coordinates with a plain base measure, of which
// slope/L lies within 1/c ranks.
func (r *run) stageNeed(m, slope float64) float64 {
	return r.p.medianBudget(m, quantile.LogSum(m, r.p.Failure/stages, slope), r.n, r.ranks())
}

// medianBudget returns the budget of medians of m coordinates of n rows that need L: what L+15
// needs, or what L needs and a hundredth of ρ. The probability of a miss, d·(A/a)·e^{−L} by (2)
// of need.go, falls with L so fast that a share that nobody notices takes it from β/3 to 10⁻⁹.
func (p Params) medianBudget(m, l, n float64, ch quantile.Change) float64 {
	need := func(l float64) float64 { return m * quantile.Need(l, 0.5, n, ch) }
	l = max(l, leastRank)
	return min(need(l+spareNeed), need(l)+spareShare*p.Rho)
}

// centreAxis returns the axis of the centres.
func (p Params) centreAxis() quantile.Axis {
	if p.Steps.Base == quantile.Uniform {
		return quantile.UniformAxis(-p.Max, p.Max)
	}
	return quantile.AsinhAxis(p.Resolution, p.Max)
}

// centreSlope returns the part of the axis, times L, that the candidates within 1/c ranks of the
// median of N(x, Resolution²) take: 1/(2L) of the data on either side lie within √(π/2)/L of that
// scale. A uniform axis has its cells for a Resolution.
func centreSlope(a quantile.Axis, x float64) float64 {
	const widths = 1 << 10
	within := 1.2533 * a.Unit / widths
	return (math.Asinh((x+within)/a.Unit) - math.Asinh((x-within)/a.Unit)) * widths / (2 * math.Asinh(a.Max/a.Unit))
}

// centreSlope is that of the axis at x; if no Resolution is given, for all x that are no more than
// mostOffset standard deviations.
func (p Params) centreSlope(x float64) float64 {
	a := p.centreAxis()
	if p.scaleFree() && a.Base == quantile.Asinh {
		return 1.2533 / mostOffset / math.Asinh(a.Max/a.Unit)
	}
	return centreSlope(a, x)
}

// centreBase returns the base measure of centres. If no Resolution is given, most of the axis lies
// between 0 and the entries of a column that is mostly 0, so 0 itself has the measure of an octave.
func (p Params) centreBase() []quantile.Region {
	a := p.centreAxis()
	if !p.scaleFree() || a.Base != quantile.Asinh {
		return a.Plain()
	}
	zero := uint64(a.Key(0))
	return []quantile.Region{{End: zero, Weight: 1}, {Start: zero, End: zero + 1, Weight: zeroWeight}, {Start: zero + 1, End: a.Keys, Weight: 1}}
}

// medians releases the medians of the listed coordinates with the budget rho for all together.
func (r *run) medians(list []int, rho float64, base []quantile.Region) error {
	rho = r.budget.take(rho)
	r.spent.Centre += rho
	a := r.p.centreAxis()
	values, err := r.quantiles(list, &quantile.Keying{Axis: a}, base, 0.5, each(rho, float64(len(list))))
	if err != nil {
		return err
	}
	for at, i := range list {
		r.centre[i] = r.clean(i, values[at])
	}
	return nil
}

// each returns rho/n, rounded down.
func each(rho, n float64) float64 { return rho / cap1(n) * (1 - 0x1p-50) }

// centres releases the centres of the coordinates that were not in the pilot.
func (r *run) centres(pilot, rest []int) error {
	if r.p.Steps.Centre != Median || len(rest) == 0 {
		return r.stop()
	}
	a := r.p.centreAxis()
	base := a.Window(pick(r.centre, pilot))
	m := float64(len(rest))
	rho := r.fixPart(r.p.Shares.Centre, mostShare, m, func() float64 {
		l := a.Requirement(base, m, r.p.Failure/stages, len(pilot), func(i int, width float64) (lo, hi float64) {
			x, s := r.centre[pilot[i]], r.scaleOrUnit(pilot[i])
			return x - 2.5066*width*s, x + 2.5066*width*s // 1/φ(0)
		}, func(i int) (lo, hi float64) {
			x, s := r.centre[pilot[i]], r.scaleOrUnit(pilot[i])
			return x - 10*s, x + 10*s
		})
		return max(r.p.medianBudget(m, l, r.n, r.ranks()), leastShare*r.p.Rho)
	})
	return r.medians(rest, rho, base)
}

// recentre releases the medians of heavy coordinates again, with more budget. Where one coordinate
// is a good part of the norm, rows that are far out in it are the ones that are clipped, and the
// mean is drawn towards the centre more than γ makes up for; so its centre should be good.
func (r *run) recentre() error {
	if r.p.Method != Adaptive || r.p.Relative || r.p.Steps.Centre != Median || r.given != nil {
		return nil
	}
	e, sum := 2*r.p.P/(r.p.P+2), 0.0
	for _, s := range r.scale {
		sum += math.Pow(s, e)
	}
	var heavy []int
	for i, s := range r.scale {
		if part := math.Pow(s, e) / sum; part > heavyPart && part > 4/float64(r.p.Dim) {
			heavy = append(heavy, i)
		}
	}
	rho := min(heavyShare*r.p.Rho, clipPart*r.budget.left())
	wanted := r.stageNeed(float64(len(heavy)), r.p.centreSlope(r.p.Max))
	if len(heavy) == 0 || wanted > rho {
		return r.stop()
	}
	return r.medians(heavy, rho, r.p.centreAxis().Plain())
}

// scaleOrUnit returns the released standard deviation of the coordinate, or Unit.
func (r *run) scaleOrUnit(i int) float64 {
	if s := r.scale[i]; s > 0 {
		return s
	}
	return r.p.Resolution
}

// pick returns the values at the listed places.
func pick(x []float64, list []int) []float64 {
	out := make([]float64, len(list))
	for at, i := range list {
		out[at] = x[i]
	}
	return out
}

// plain runs the Gaussian mechanism on rows that no step has shaped.
func (r *run) plain() (*Mean, error) {
	if r.ranges.centred(r.p, r.sparse) {
		r.centre, _ = r.ranges.middles()
	}
	r.p.Steps.Undivided = r.p.Steps.Undivided || r.p.Relation == budget.Replace
	return r.clippedMean(r.ranges.bound(r.p, r.sparse))
}
